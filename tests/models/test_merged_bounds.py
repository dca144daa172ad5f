"""What a bound needs of two models survives their merge."""

import numpy as np
import pytest

from conquer.kernels.rounds import settings as st
from conquer.models.full import Full
from conquer.models.kernel import Kernel


def taught(kind, seed, answers):
    rng = np.random.default_rng(seed)
    model = kind(3) if kind is Full else kind(3, kernel="linear")
    for _ in range(answers):
        model.update(rng.normal(size=(2, 3)), {0: 0.5, 1: -0.5}, float(rng.choice([-1.0, 1.0])))
    return model


def test_the_losses_of_two_full_models_become_those_of_their_sum():
    one, two = Full(1), Full(1)
    for model in (one, two):
        model.update([[1.0], [-1.0]], {0: 0.5, 1: -0.5}, 1.0)
    one.merge(two)
    # Two answers 1 to u = 1, both predicted 0: E = 2, Y = 2, b = 2, A = 3.
    assert one.stats[st.SUM_LOSS_H] == pytest.approx(4 / 3)


@pytest.mark.parametrize("kind", [Full, Kernel])
def test_a_merged_bound_is_not_tighter_than_some_order_of_the_answers_gives(kind):
    """E - Y + b'A^-1 b with predictions made before each answer: for any such the bound holds, for less it may not."""
    one, two = taught(kind, 1, 20), taught(kind, 2, 15)
    learnt = one.stats[st.LEARNT] + two.stats[st.LEARNT]
    one.merge(two)
    u, y = [], []
    for seed, answers in ((1, 20), (2, 15)):
        rng = np.random.default_rng(seed)
        for _ in range(answers):
            rows = rng.normal(size=(2, 3))
            u.append((rows[0] - rows[1]) / 2)
            y.append(float(rng.choice([-1.0, 1.0])))
    apart = kind is Full  # a kernel model learns the other's pairs one after the other
    losses, A, b = 0.0, np.eye(3), np.zeros(3)
    for k, (x, answer) in enumerate(zip(u, y, strict=True)):
        if apart and k == 20:
            saved, A, b = (A, b), np.eye(3), np.zeros(3)
        losses += (answer - x @ np.linalg.solve(A, b)) ** 2
        A, b = A + np.outer(x, x), b + answer * x
    if apart:
        A, b = A + saved[0] - np.eye(3), b + saved[1]
    wanted = losses - np.square(y).sum() + b @ np.linalg.solve(A, b)
    assert one.stats[st.SUM_LOSS_H] == pytest.approx(wanted)
    assert one.stats[st.LEARNT] == learnt
