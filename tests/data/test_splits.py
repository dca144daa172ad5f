"""Parts are disjoint, complete, fixed by content where promised and balanced where promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.data import digits, splits
from conquer.judges import rewards_of
from conquer.rows import Rounds
from conquer.simulation import simulate


@given(st.lists(st.sampled_from([1.0, 2.0, 4.0, 5.0]), min_size=40, max_size=200), st.integers(0, 5))
def test_parts(stars: list[float], seed: int) -> None:
    values = np.array(stars)
    hashes = splits.content_hashes(str(i).encode() for i in range(values.size))
    kept = splits.balanced(values, hashes)
    counts = np.unique(values[kept], return_counts=True)[1]
    assert len(set(counts)) == 1
    assert counts[0] == np.unique(values, return_counts=True)[1].min()
    held = splits.development(values, hashes, 0.15)
    parts = splits.repetition(values.size, held, 0, seed, "d", 0.1)
    everyone = np.sort(np.concatenate([parts.development, parts.training, parts.test]))
    assert np.array_equal(everyone, np.arange(values.size))
    assert parts.test.size == round(0.1 * values.size)
    for fold in splits.folds(held, "d", seed):
        assert np.array_equal(np.sort(np.concatenate([fold.learning, fold.evaluation])), held)


def test_development_follows_the_content_not_the_order() -> None:
    texts = [f"review {i}".encode() for i in range(100)]
    stars = np.arange(100) % 5 + 1.0
    held = {texts[i] for i in splits.development(stars, splits.content_hashes(texts), 0.15)}
    order = np.random.default_rng(0).permutation(100)
    mixed = [texts[i] for i in order]
    again = {mixed[i] for i in splits.development(stars[order], splits.content_hashes(mixed), 0.15)}
    assert held == again
    assert len(held) == 15


def test_repetitions_differ_and_too_few_is_an_error() -> None:
    one, two = (splits.repetition(100, np.arange(15), number, 0, "d", 0.1) for number in (0, 1))
    assert not np.array_equal(one.test, two.test)
    with pytest.raises(ValueError, match="too few"):
        splits.repetition(4, np.arange(1), 0, 0, "d", 0.1)


def test_digits_blocks() -> None:
    data = digits.load()
    dense = data.rows.take(data.groups[3]).dense().reshape(10, 10, 64)
    for c in range(10):
        assert np.count_nonzero(dense[c].any(axis=1)) == 1
        assert np.allclose(dense[c, c], dense[0, 0])
    assert np.allclose(np.linalg.norm(dense.reshape(10, -1), axis=1), 1.0)


def test_digits_have_the_papers_rewards() -> None:
    """1 for the right label and 0 for the nine others; the linear judge is then right three times in four."""
    data = digits.load()
    rewards = rewards_of(data.stars)[data.groups]
    assert np.array_equal(np.sort(rewards, axis=1), np.tile([0.0] * 9 + [1.0], (len(rewards), 1)))
    rounds = Rounds(data.rows, data.groups, rewards_of(data.stars))
    trace = simulate("random", rounds, judge="linear", seed=4)
    one, two = trace.rewards[:, 0], trace.rewards[:, 1]
    decided = one != two
    right = np.where(one > two, trace.answers == 1, trace.answers == -1)[decided]
    margin = 4 * np.sqrt(0.75 * 0.25 / right.size)
    assert right.size > 300
    assert abs(right.mean() - 0.75) < margin < 0.1
