"""A simulated annotator: knows the right tree, errs and refuses at given rates."""

from dataclasses import dataclass

import numpy as np

from conquer.kernels.parsing import questions as kernel

ANSWERS = ("first", "second", "neither", "refused")


@dataclass(frozen=True, slots=True)
class Annotator:
    """Answers "is `first` or `second` the head of this word?" with one of `ANSWERS`.

    With chance `refusal` there is no answer; otherwise, with chance `error`, it is one of the two wrong ones.

    >>> Annotator()(gold=2, first=2, second=0, ticket=7)
    'first'
    >>> Annotator(refusal=1.0)(gold=2, first=2, second=0, ticket=7)
    'refused'
    """

    error: float = 0.0
    refusal: float = 0.0

    def __post_init__(self) -> None:
        for name in ("error", "refusal"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a rate in [0, 1], got {value!r}")

    def __call__(self, gold: int, first: int, second: int, ticket: int) -> str:
        return ANSWERS[kernel.reply(gold, first, second, float(self.error), float(self.refusal), np.uint64(ticket))]
