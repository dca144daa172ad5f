"""Whether to ask at all: silence when one item is surely the best, to be put before any selector."""

from collections.abc import Callable

import numpy as np

from conquer.rivals.contextual.view import View, plausible
from conquer.tickets import Draws

Gate = Callable[[View, float, Draws], int | None]
"""(view, eta, draws) -> the item to show alone, or None: ask. Widths are sqrt(eta) |z|."""


def aurora(view: View, eta: float, draws: Draws) -> int | None:
    """Silent where at most one item is plausibly the best.

    Ayush Sekhari, Karthik Sridharan, Wen Sun and Runzhe Wu: Contextual bandits and imitation learning via
    preference-based active queries, 2023.

    >>> [aurora(View(np.array([m, 0.0]), np.ones(2), 0.2 - 0.2 * np.eye(2)), 1.0, Draws(7)) for m in (0.1, 9.0)]
    [None, 0]
    """
    candidates = np.flatnonzero(plausible(view, eta**0.5, strict=False))
    return None if candidates.size > 1 else int(candidates[0]) if candidates.size else draws.largest(view.mean)


def confident(view: View, eta: float, draws: Draws) -> int | None:
    """GNC's gate: silent where the best mean leads its likeliest better by more than the width of the two.

    >>> [confident(View(np.array([m, 0.0]), np.ones(2), 0.2 - 0.2 * np.eye(2)), 1.0, Draws(7)) for m in (0.1, 9.0)]
    [None, 0]
    """
    best = draws.largest(view.mean)
    widths = eta**0.5 * view.pairwidth[best]
    other = draws.largest(view.mean + widths, tie=1, skip=best)
    return best if view.mean[best] - view.mean[other] > widths[other] else None


def selective(view: View, eta: float, draws: Draws) -> int | None:
    """Ask where the squared margin of the two best is at most the width term.

    Ofer Dekel, Claudio Gentile and Karthik Sridharan: Selective sampling and active learning from single and multiple
    teachers, 2012.

    >>> [selective(View(np.array([m, 0.0]), np.ones(2), 0.2 - 0.2 * np.eye(2)), 1.0, Draws(7)) for m in (0.1, 9.0)]
    [None, 0]
    """
    best = draws.largest(view.mean)
    other = draws.largest(view.mean, tie=1, skip=best)
    margin = float(view.mean[best] - view.mean[other])
    return None if margin * margin <= eta * float(view.pairwidth[best, other]) ** 2 else best


GATES: dict[str | None, Gate | None] = {None: None, "aurora": aurora, "gnc": confident, "selective": selective}
