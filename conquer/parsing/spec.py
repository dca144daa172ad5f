"""The settings of training a parser; the fields with a help text are the options of `conquer parse train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FULL = "full-supervision"


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """How to train a parser. All fields have defaults and are keyword-only.

    The main ones: `ask`, the rule that chooses questions ("gnc", "margin", "confusion", "random" or
    "full-supervision"); `questions` per sentence and pass; `passes` over the treebank; `prior` "upos" to start from
    rules over tags; `answers`, a file of recorded answers. `conquer parse train --help` describes each.

    >>> TrainSpec(ask="margin").questions
    1
    """

    ask: str = _option("gnc", "Which question to ask; full-supervision learns whole trees.")
    questions: int = _option(1, "Questions per sentence and pass.")
    passes: int = _option(1, "Passes over the treebank.")
    seed: int = _option(0, "Seed of all random draws.")
    answers: Path | None = field(default=None, metadata={"help": "Learn from this file of recorded answers instead."})
    save_answers: Path | None = field(default=None, metadata={"help": "Write the simulated answers to this file."})
    error: float = _option(0.0, "Share of simulated answers that are wrong.")
    refusal: float = _option(0.0, "Share of simulated questions left unanswered.")
    replay: int = _option(8, "Rehearsals of earlier answers after each question; 0 in the paper.")
    scale: str = _option("edge", "Size of a step: edge, or tree: divided by the sentence's length, as in the paper.")
    neither: str = _option("skip", '"neither" is learnt as: skip (nothing), tie, or coin (a random answer, the paper).')
    punctuation: bool = _option(False, "Ask about punctuation as well.")
    settled: bool | None = _option(
        None, "Fit the weights to all answers at the end. Default: yes, except with a full matrix or projection."
    )
    prior: str = _option("none", "Initial weights: none, or upos: rules over tags.")
    several_roots: bool = _option(False, "Trees may have several words under the root.")
    matrix: str = _option("diagonal", "diagonal, or full: the full matrix A, for few features (see --bits).")
    projection: str | None = _option(None, "sequential (the paper's) or exact: keep all scores within [-1, 1].")
    lam: float | None = _option(None, "A starts at lam I; 1 in the paper.  [0.3; 1 with full-supervision]")
    bits: int = _option(16, "Features are hashed into blocks of 2^bits cells, or an eighth of that.")
    longest: int | None = _option(None, "Leave out sentences with more words.")
    eta: float = 0.5
    features: str = "standard"

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, got {self.passes}")
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest must be at least 1 word, got {self.longest}")
        if self.prior != "none" and self.ask == FULL and self.answers is None:
            raise ValueError(f"ask={FULL!r} learns from whole trees only: prior must be 'none', got {self.prior!r}")
        plain = self.matrix == "diagonal" and self.projection is None
        if not plain and (self.settled or self.answers is not None or self.ask == FULL):
            raise ValueError(
                f"matrix={self.matrix!r} with projection={self.projection!r} learns question by question: {FULL}, "
                "recorded answers and settled weights need matrix='diagonal' without projection"
            )
