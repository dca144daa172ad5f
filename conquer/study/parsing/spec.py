"""What a parsing study is: a treebank, the rules that ask, who answers, how much and how often."""

from dataclasses import dataclass, field
from pathlib import Path

CEILING = "full-supervision"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingSpec:
    """One study of one treebank; the fields with a help text are the options of `conquer parse study`.

    Every error rate goes with the first refusal rate and the other way round, so that each has curves of its own
    without a run for every pair. `points`: how often a pass is measured. The other fields are those of a `Recipe`, its
    `EdgeRule` and `Features`; None leaves their defaults.
    """

    treebank: Path = field(metadata={"help": "A folder with the train, dev and test files of a treebank."})
    ask: tuple[str, ...] = field(
        default=("pair", "gnc", "margin", "confusion", "random"), metadata={"help": "Rules, comma-separated."}
    )
    questions: int = field(default=1, metadata={"help": "Questions per sentence."})
    passes: int = field(default=1, metadata={"help": "Passes over the sentences."})
    seeds: int = field(default=5, metadata={"help": "Runs of each rule, in other orders."})
    error: tuple[float, ...] = field(default=(0.0,), metadata={"help": "Shares of wrong answers, comma-separated."})
    refusal: tuple[float, ...] = field(
        default=(0.0,), metadata={"help": "Shares of questions left unanswered, comma-separated."}
    )
    replay: int = field(
        default=8,
        metadata={
            "help": "Rehearsals of earlier answers after each question; 0 learns every answer once, as the paper does."
        },
    )
    scale: str = field(
        default="edge",
        metadata={
            "help": "A step of an edge, or with tree of an edge over the sentence's length, as the paper has it."
        },
    )
    neither: str = field(
        default="skip",
        metadata={
            "help": 'What "neither" teaches: skip nothing, tie an even answer, coin a toss, as the paper has it.'
        },
    )
    punctuation: bool = field(default=False, metadata={"help": "Ask about punctuation as well."})
    matrix: str = field(
        default="diagonal", metadata={"help": "diagonal, or full: all of A, for few features (see --bits)."}
    )
    projection: str | None = field(
        default=None,
        metadata={"help": "sequential (the listing's) or exact: hold every edge of a sentence within [-1, 1]."},
    )
    prior: tuple[str, ...] = field(
        default=("none",),
        metadata={"help": "What the weights start from: none, or upos, rules over tags; comma-separated."},
    )
    lam: float | None = field(default=None, metadata={"help": "What A starts with; 1 in the paper.  [0.3]"})
    bits: int = field(
        default=16, metadata={"help": "Features are hashed into blocks of 2^bits cells, or an eighth of that."}
    )
    longest: int | None = field(default=None, metadata={"help": "Leave out training sentences of more words."})
    eta: float | None = None
    average: bool | None = None
    features: str = "standard"
    points: int = 12

    def __post_init__(self) -> None:
        for name in ("questions", "passes", "seeds", "points"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("ask", "error", "refusal", "prior"):
            if not getattr(self, name):
                raise ValueError(f"{name} must name at least one, got nothing")
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest must be at least 1 word, got {self.longest}")
