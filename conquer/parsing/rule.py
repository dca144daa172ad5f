"""How a parser asks and how it learns: the settings of a learner, checked and named."""

from dataclasses import dataclass

from conquer.checks import number, one_of
from conquer.kernels.parsing import questions as kernel

ASK = {
    "pair": kernel.PAIR,
    "gnc": kernel.GNC,
    "margin": kernel.MARGIN,
    "confusion": kernel.CONFUSION,
    "random": kernel.RANDOM,
}
NEITHER = {"skip": kernel.SKIP, "tie": kernel.TIE, "coin": kernel.COIN}
SCALE = {"edge": 0, "tree": 1}


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """How to ask and how to learn.

    `ask`: "confusion" (widest), "margin" (closest race), "gnc" (likeliest better), "pair" (gnc that prefers pairs
    with a lead over the third candidate, so that fewer answers are "neither") or "random". `neither`: an answer of 0
    is skipped, learnt as a tie, or as a coin's toss. `scale`: steps of an edge, or of an edge over the sentence's
    length. `silent`: ask nothing when the tree's edge leads by more than the width sqrt(eta c).
    """

    ask: str = "gnc"
    eta: float = 0.5
    neither: str = "skip"
    scale: str = "edge"
    silent: bool = False
    several_roots: bool = False

    def __post_init__(self) -> None:
        one_of("ask", self.ask, ASK)
        one_of("neither", self.neither, NEITHER)
        one_of("scale", self.scale, SCALE)
        number("eta", self.eta, 0.0)
        for name in ("silent", "several_roots"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
