"""What a parsing study is: a treebank, the rules that ask, the annotators, and how much is asked."""

from dataclasses import dataclass, field
from pathlib import Path

from conquer.study.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingSpec:
    """One study of one treebank; the fields with a help text are the options of `conquer parse study`.

    Every error rate is combined with the first refusal rate and vice versa, so that each has its own curve without a
    run for every pair. `points` is the number of measurements in a pass. The other fields are those of a `Recipe`, its
    `EdgeRule` and `Features`; None keeps the default.
    """

    treebank: Path = field(metadata={"help": "A folder with the train, dev and test files of a treebank."})
    ask: tuple[str, ...] = option(("gnc", "margin", "confusion", "random"), "Rules, comma-separated.")
    questions: int = option(1, "Questions per sentence.")
    passes: int = option(1, "Passes over the sentences.")
    seeds: int = option(5, "Runs of each rule, each in another order of sentences.")
    error: tuple[float, ...] = option((0.0,), "Shares of wrong answers, comma-separated.")
    refusal: tuple[float, ...] = option((0.0,), "Shares of questions left unanswered, comma-separated.")
    replay: int = option(
        8, "Rehearsals of earlier answers after each question; 0 learns every answer once, as the paper does."
    )
    scale: str = option(
        "edge", "edge: a step is an edge's features; tree: divided by the sentence's length, as in the paper."
    )
    neither: str = option("skip", 'How "neither" is learnt: skip it, as a tie, or as a coin toss, as in the paper.')
    punctuation: bool = option(False, "Ask about punctuation as well.")
    matrix: str = option("diagonal", "diagonal, or full: all of A, for few features (see --bits).")
    projection: str | None = option(
        None, "sequential (the paper's listing) or exact: keep the scores of all edges within [-1, 1]."
    )
    prior: tuple[str, ...] = option(("none",), "Initial weights: none, or upos: rules over tags; comma-separated.")
    lam: float | None = option(None, "The start of A; 1 in the paper.  [0.3]")
    bits: int = option(16, "Features are hashed into blocks of 2^bits columns, or an eighth of that.")
    longest: int | None = option(None, "Leave out training sentences of more words.")
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
