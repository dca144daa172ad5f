from typing import Any

import numpy as np
import pytest
from features.literal import dict_weights, dicts, read, unit
from hypothesis import given
from hypothesis import strategies as st

from conquer.features.featurizer import Featurizer, featurize
from conquer.features.hashing import PAIR, POSITION, feature_hash, signed_column


def _crossed(row: list[tuple[int, float]], context: dict[int, float], base: int, dim: int, seed: int) -> Any:
    """The row's own entries, then each times each of the context's, in the column of the pair's hash."""
    row, values = unit(row), unit(list(context.items()))
    found = dict(row)
    for column, value in row:
        for hashed, weight in values:
            where, sign = signed_column(feature_hash([hashed, column], seed, PAIR), dim - base)
            found[base + where] = found.get(base + where, 0.0) + sign * (value * weight)
    return unit([(column, value) for column, value in found.items() if value != 0.0])


@given(
    st.lists(dicts, min_size=1, max_size=3),
    dicts,
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 5, 100, 2**20]),
)
def test_compiled_crossing_equals_the_literal_one(items: list[Any], context: Any, seed: int, dim: int) -> None:
    own = read(Featurizer(dim=dim, seed=seed, unit=False)(items))
    expected = [_crossed(row, dict_weights(context, seed, True), 0, dim, seed) for row in own]
    assert read(Featurizer(dim=dim, seed=seed)(items, context)) == expected


def test_vectors_cross_above_their_own_columns() -> None:
    items, context = [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]], [0.0, 3.0, 4.0]
    weights = {feature_hash([position], 0, POSITION): context[position] for position in (1, 2)}
    expected = [_crossed([(0, 1.0), (2, 2.0)], weights, 3, 50, 0), []]
    assert read(featurize(items, dim=50, context=context)) == expected
    assert read(featurize(items, dim=50, context=np.array(context))) == expected


def test_a_context_changes_every_item_and_so_can_change_the_order() -> None:
    items = [{"drink": "tea"}, {"drink": "coffee"}]
    morning, evening = (featurize(items, context={"time": time}).dense() for time in ("morning", "evening"))
    # In the morning coffee is wanted, in the evening tea: no weights on the drinks alone can say so.
    wanted = (morning[1] - morning[0]) + (evening[0] - evening[1])
    assert (morning @ wanted).argmax() == 1
    assert (evening @ wanted).argmax() == 0
    np.testing.assert_allclose(np.linalg.norm([*morning, *evening], axis=1), 1.0)


def test_texts_take_any_kind_of_context() -> None:
    plain = read(featurize(["good food"]))
    for context in ("dinner for two", {"user": "ann"}, [0.5, 1.0], np.array([1, 2])):
        rows = read(featurize(["good food"], context=context))
        assert len(rows[0]) > len(plain[0])
    for nothing in ("", {}, [0.0]):
        np.testing.assert_allclose(read(featurize(["good food"], context=nothing)), plain)


def test_an_item_without_features_stays_a_row_of_zeros() -> None:
    assert read(featurize(["", "x"], context="y"))[0] == []


@pytest.mark.parametrize(
    ("featurizer", "items", "context", "error", "message"),
    [
        (Featurizer(dim=2), [[1.0, 2.0]], "x", ValueError, "dim must exceed 2, got 2"),
        (
            Featurizer(dim=3, columns="vocabulary").fit(["a b"]),
            ["a"],
            "x",
            ValueError,
            "dim must exceed 3, got 3",
        ),
        (Featurizer(), ["a"], 7, TypeError, "must be a str, a dict or a list of numbers, got 7"),
        (Featurizer(), ["a"], [[1.0, 2.0]], ValueError, r"got shape \(1, 1, 2\)"),
        (Featurizer(), ["a"], {"x": float("nan")}, ValueError, "'x' must be finite, got nan"),
        (Featurizer(), ["a"], [float("inf")], ValueError, "not finite"),
        (Featurizer(), ["a"], [], ValueError, "got 0"),
    ],
)
def test_bad_contexts(featurizer: Any, items: Any, context: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        featurizer(items, context)


def test_too_many_products_are_refused() -> None:
    featurizer = Featurizer()
    rows, cells = featurizer.rows_and_cost(["a", "b"], context="x y", most=8)
    assert (len(rows), cells) == (2, 2 * (1 + 3))
    with pytest.raises(ValueError, match="give 9 products, expected at most 8"):
        featurizer.rows_and_cost(["a b"], context="x y", most=8)
