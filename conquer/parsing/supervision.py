"""Training on known heads, in a compiled loop: whole trees are the ceiling, a few heads what annotators have said."""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from conquer import tickets
from conquer.kernels.parsing import training as kernel
from conquer.kernels.parsing.sentences import Text
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import DiagonalState
from conquer.models.diagonal import Diagonal
from conquer.models.model import CompiledModel
from conquer.parsing.edges import Features
from conquer.parsing.prior import begin
from conquer.types import Floats

SETTLE_PASSES = 5
"""More make no difference that the development parts would show."""


def averaged(model: CompiledModel, sums: Floats, clock: int) -> Floats:
    """w, or the mean of w over time if it was summed."""
    w = model.weights()
    return w - sums / clock if sums.size else w


def check_trees(text: Text, partly: bool = False) -> None:
    """Raise unless there is something to train on: a head for every word, or with `partly` for some."""
    if text.offsets.size < 2:
        raise ValueError("no sentences to train on")
    inner = np.ones(text.heads.size, bool)
    inner[text.offsets[:-1]] = False
    known = text.heads[inner] >= 0
    if not (known.any() if partly else known.all()):
        raise ValueError("training needs heads; these sentences were read without them")


def check_status(status: int, sentence: int) -> None:
    """Raise what a kernel's status means."""
    if status != st.OK:
        raise ArithmeticError(
            f"the model diverged at sentence {sentence + 1}: a larger lam or update='implicit' keeps it finite"
        )


def supervise(
    text: Text,
    features: Features,
    *,
    lam: float = 1.0,
    update: str = "margin",
    average: bool = True,
    seed: int = 0,
    prior: str = "none",
) -> Iterator[tuple[Diagonal, Floats]]:
    """Full supervision, pass after pass without end: (model, weights to parse with) after each.

    Every word with a known head is learnt against its best rival, by the same step as a remembered answer.
    """
    check_trees(text, partly=True)
    model = Diagonal(features.dim, lam=lam, update=update)
    begin(model, features, prior)
    sums = np.zeros(features.dim if average else 0)
    clock, number = 1, 0
    while True:
        rng = np.random.default_rng(tickets.stream("order", seed, number))
        order = rng.permutation(text.offsets.size - 1).astype(np.int64)
        status, sentence, clock = kernel.supervise(
            DiagonalState(model.cells, model.stats), model.plan, model.knobs, text, features.table, features.value,
            order, False, sums, clock,
        )  # fmt: skip
        check_status(status, sentence)
        number += 1
        yield model, averaged(model, sums, int(clock))


def last_weights(
    passes: Iterator[tuple[Diagonal, Floats]], count: int, progress: Callable[[int], None] | None = None
) -> Floats:
    """(D,): the weights after `count` passes; `progress(done)` is called after each."""
    for number, (_, found) in enumerate(islice(passes, count), start=1):
        weights = found
        if progress:
            progress(number)
    return weights


def settle(
    text: Text,
    features: Features,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    prior: str = "none",
) -> Floats:
    """(D,): weights fitted to the heads that are known, however few, from those of the prior on."""
    return last_weights(supervise(text, features, average=False, seed=seed, prior=prior), SETTLE_PASSES, progress)
