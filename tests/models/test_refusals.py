"""What a model refuses leaves it as it was, whatever it is; what it takes it can save and read again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from conquer.kernels.rounds import settings as st
from conquer.models import full, kernel
from conquer.models.diagonal import Diagonal, Perceptron
from conquer.models.full import Full
from conquer.models.kernel import Kernel

DIM = 4
KINDS = {
    "diagonal": lambda lam: Diagonal(DIM, lam=lam),
    "margin": lambda lam: Diagonal(DIM, lam=lam, update="margin"),
    "coordinate": lambda lam: Diagonal(DIM, lam=lam, update="coordinate"),
    "full": lambda lam: Full(DIM, lam=lam),
    "linear": lambda lam: Kernel(DIM, lam=lam, kernel="linear"),
    "rbf": lambda lam: Kernel(DIM, lam=lam, budget=3),
    "perceptron": lambda lam: Perceptron(DIM),
}
sizes = some.sampled_from([0.0, 1e-300, 1e-160, 1e-9, 0.3, 1.0, 1e4, 1e7, 1e9, 1e15, 1e60, 1e100, 1e300])
signs = some.sampled_from([-1.0, 1.0])
entries = some.builds(lambda size, sign: size * sign, sizes, signs)
rows = some.lists(some.lists(entries, min_size=DIM, max_size=DIM), min_size=2, max_size=3)


def state(model):
    return {name: array.copy() for name, array in model.arrays().items()}


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)


def walk(model):
    """Some steps along all directions."""
    rng = np.random.default_rng(0)
    for turn in range(5):
        model.update(rng.normal(size=(2, DIM)), {0: 0.5, 1: -0.5}, (-1.0) ** turn)
    return model


@pytest.mark.parametrize("kind", list(KINDS))
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    steps=some.lists(some.tuples(rows, some.sampled_from([1.0, -1.0, 0.0, 1e99, 1e150, 1e300])), max_size=6),
    lam=some.sampled_from([1e-15, 1e-3, 1.0, 1e15]),
)
def test_after_any_error_every_array_is_what_it_was(kind, steps, lam):
    model = KINDS[kind](lam)
    for X, target in steps:
        before = state(model)
        try:
            model.update(X, {0: 0.5, 1: -0.5}, target)
        except (ArithmeticError, ValueError):
            assert same(before, state(model))
        twin = KINDS[kind](lam)
        twin.restore(model.arrays())  # whatever can be saved can be read
        assert same(state(model), state(twin))


@pytest.mark.parametrize("kind", ["full", "linear"])
@pytest.mark.parametrize(("size", "lam"), [(1e9, 1.0), (1e60, 1.0), (1.0, 1e-18)])
def test_what_sixteen_digits_cannot_hold_is_refused_by_name(kind, size, lam):
    model = KINDS[kind](lam)
    X = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 3.0, -1.0]]) * size
    longest = np.linalg.norm(X, axis=1).max()
    with pytest.raises(ArithmeticError, match="was not learnt") as refusal:
        model.update(X, {0: 0.5, 1: -0.5}, 1.0)
    assert f"rows up to {longest:g} long and lam = {lam:g}; scale the rows down or raise lam" in str(refusal.value)
    assert not model.stats.any()
    model.update(X * (1e-3 / size) * np.sqrt(lam), {0: 0.5, 1: -0.5}, 1.0)
    assert model.stats[st.LEARNT] == 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    seed=some.integers(0, 2**32),
    size=some.sampled_from([1.0, 1e3, 1e5, 1e6, 1e7]),
    rank=some.integers(1, DIM),
)
def test_a_full_model_stays_positive_however_often_it_is_taught_the_same(seed, size, rank):
    rng = np.random.default_rng(seed)
    model, X = Full(DIM), rng.normal(size=(2 * rank, DIM)) * size
    refused = 0
    for turn in range(300):
        pair = rng.choice(2 * rank, 2, replace=False)
        try:
            model.update(X, {int(pair[0]): 0.5, int(pair[1]): -0.5}, (-1.0) ** turn)
        except ArithmeticError:
            refused += 1
    root = np.sqrt(model.inverse.diagonal())
    assert (root > 0).all()
    assert np.linalg.eigvalsh(model.inverse / np.outer(root, root))[0] > 0
    assert refused == 0 or size >= 1e6


def test_no_advice_names_an_update_that_the_model_has_not():
    for model in (Full(2), Kernel(2)):
        with pytest.raises(ArithmeticError, match=r"not finite; scale the rows down or raise lam$"):
            model.update(np.eye(2), {0: 1.0}, 1e300)
    with pytest.raises(ArithmeticError, match="update='implicit'"):
        Diagonal(2, update="margin").update(np.eye(2), {0: 1.0}, 1e300)


class Scarce:
    """numpy, of which the call number `left` for memory fails."""

    def __init__(self, left):
        self.left = left

    def __getattr__(self, name):
        value = getattr(np, name)
        return self._counted(value) if name in ("zeros", "empty") else value

    def _counted(self, make):
        def allocate(*arguments, **settings):
            self.left -= 1
            if self.left < 0:
                raise MemoryError("no memory")
            return make(*arguments, **settings)

        return allocate


@pytest.mark.parametrize("left", range(10))
def test_a_kernel_model_that_cannot_grow_is_what_it_was(monkeypatch, left):
    model, rng = Kernel(DIM), np.random.default_rng(1)
    for _ in range(16):
        model.update(rng.normal(size=(2, DIM)), {0: 0.5, 1: -0.5}, 1.0)
    before, X = state(model), rng.normal(size=(2, DIM))
    scores = model.scores(X)
    scarce = Scarce(left)
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "np", scarce)
        patch.setattr("conquer.models.model.np", scarce)
        try:
            model.update(X, {0: 0.5, 1: -0.5}, 1.0)
            assert scarce.left >= 0
            return
        except MemoryError:
            pass
    assert same(before, state(model))
    np.testing.assert_array_equal(model.scores(X), scores)
    twin = Kernel(DIM)
    twin.restore(model.arrays())
    model.update(X, {0: 0.5, 1: -0.5}, 1.0)


@pytest.mark.parametrize(("module", "kind"), [(full, "full"), (kernel, "rbf")])
@pytest.mark.parametrize("left", [0, 1])
def test_scratch_grows_as_one_or_not_at_all(monkeypatch, module, kind, left):
    model, X = walk(KINDS[kind](1.0)), np.random.default_rng(2).normal(size=(40, DIM))
    scarce = Scarce(left)
    with monkeypatch.context() as patch:
        patch.setattr(module, "np", scarce)
        patch.setattr("conquer.models.model.np", scarce)
        with pytest.raises(MemoryError):
            model.reserve(model_rows(X))
    assert model.work.shape[1] == model.room.shape[1] < len(X)
    assert model.variances(X).shape == (40,)


def model_rows(X):
    from conquer.rows import as_rows

    return as_rows(X, X.shape[1])


def test_a_merge_that_is_refused_half_way_is_undone():
    mine, theirs = walk(KINDS["linear"](1.0)), walk(KINDS["linear"](1.0))
    theirs.pair[0, 2] = 1e300  # the third pair's answer: the first two are merged before it
    before = state(mine)
    with pytest.raises(ArithmeticError, match="diverged"):
        mine.merge(theirs)
    assert same(before, state(mine))
    mine.merge(walk(KINDS["linear"](1.0)))
    np.testing.assert_allclose(mine.weights(), doubled(Full(DIM)).weights(), atol=1e-9)


def doubled(model):
    return walk(walk(model))


def test_a_merge_beyond_the_arithmetic_is_refused():
    mine, other = Diagonal(1, update="coordinate"), Diagonal(1, update="coordinate")
    other.table[0] = 1e300, 1e-300
    before = state(mine)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="must be finite numbers"):
        mine.merge(other)
    assert same(before, state(mine))
    one, two = walk(Full(DIM)), walk(Full(DIM))
    two.w[0] = 1e308
    two.w[1] = 1e308
    before = state(one)
    with np.errstate(all="ignore"), pytest.raises(ArithmeticError, match="singular in double precision"):
        one.merge(two)
    assert same(before, state(one))
