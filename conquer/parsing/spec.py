"""What one training of a parser is; the fields with a help text are the options of `conquer parse train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """One parser from one treebank. `lam` None is the recipe's own.

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
    settled: bool = _option(True, "In the end fit the weights anew to all answers.")
    several_roots: bool = _option(False, "Trees may have several words under the root.")
    eta: float = 0.5
    lam: float | None = None
    average: bool = False
    features: str = "standard"
    bits: int = 16

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, got {self.passes}")
