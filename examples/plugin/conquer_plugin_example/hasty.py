"""A judge who prefers the better item, but says "first" without looking in one of five rounds."""

import numpy as np

from conquer.extending import Choice, Floats, Query, draw_ticket


def hasty(choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
    """The answer in [-1, 1]; None when nothing was asked. All chance comes from one ticket."""
    ticket = draw_ticket(rng)
    if choice.query == Query.NONE:
        return None
    if choice.query == Query.BEST:
        return 1.0 if rewards[choice.shown[0]] >= rewards.max() else -1.0
    if ticket % 5 == 0:
        return 1.0
    return float(np.sign(rewards[choice.shown[0]] - rewards[choice.shown[1]]))
