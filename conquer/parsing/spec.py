"""What one training of a parser is; the fields with a help text are the options of `conquer parse train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FULL = "full-supervision"


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """One parser from one treebank. `lam` None is the recipe's own, `settled` None the model's.

    >>> TrainSpec(treebank=Path("train.conllu"), model=Path("parser"), ask="pair").questions
    1
    """

    treebank: Path = field(metadata={"help": "CoNLL-U, plain, gz or xz."})
    model: Path = field(metadata={"help": "The file to write."})
    ask: str = _option("gnc", "Which question to ask; full-supervision learns whole trees.")
    questions: int = _option(1, "Questions per sentence and pass.")
    passes: int = _option(1, "How often every sentence is visited.")
    seed: int = _option(0, "What every draw depends on.")
    answers: Path | None = field(default=None, metadata={"help": "Learn from recorded answers instead."})
    save_answers: Path | None = field(default=None, metadata={"help": "Record the simulated answers here."})
    error: float = _option(0.0, "Share of simulated answers that are wrong.")
    refusal: float = _option(0.0, "Share of simulated questions left unanswered.")
    replay: int = _option(8, "Rehearsals of earlier answers after each question; 0: each answer once, as the paper.")
    scale: str = _option("edge", "A step of an edge, or with tree of an edge over the sentence's length, as the paper.")
    neither: str = _option("skip", 'What "neither" teaches: skip nothing, tie an even answer, coin a toss (the paper).')
    punctuation: bool = _option(False, "Ask about punctuation as well.")
    settled: bool | None = _option(
        None, "In the end fit the weights anew to all answers: yes, but for a full matrix or projection."
    )
    prior: str = _option("none", "What the weights start from: none, or upos, rules over tags.")
    several_roots: bool = _option(False, "Trees may have several words under the root.")
    matrix: str = _option("diagonal", "diagonal, or full: all of A, for few features (see --bits).")
    projection: str | None = _option(None, "sequential (the listing's) or exact: hold every edge within [-1, 1].")
    lam: float | None = _option(None, "What A starts with; 1 in the paper.  [0.3; 1 with full-supervision]")
    bits: int = _option(16, "Features are hashed into blocks of 2^bits cells, or an eighth of that.")
    longest: int | None = _option(None, "Leave out sentences of more words.")
    eta: float = 0.5
    average: bool = False
    features: str = "standard"

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, got {self.passes}")
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest must be at least 1 word, got {self.longest}")
        if self.prior != "none" and self.ask == FULL and self.answers is None:
            raise ValueError(f"ask={FULL!r} learns from whole trees alone: prior must be 'none', got {self.prior!r}")
        plain = self.matrix == "diagonal" and self.projection is None
        if not plain and (self.settled or self.answers is not None or self.ask == FULL):
            raise ValueError(
                f"matrix={self.matrix!r} with projection={self.projection!r} learns question by question: {FULL}, "
                "recorded answers and settled weights are fitted by the diagonal model without projection"
            )
