"""Items with a text, a vector and features at once: what is learnt of them, against rows put together by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from conquer.features.featurizer import Featurizer, featurize
from conquer.items import PARTS, ItemParts, checked_learn, has_parts, kind_and_items, learnt_parts
from conquer.registry import make
from conquer.session import Session, load, save

DIM = 1 << 12
TEXTS = ["good green tea", "stale dust"]
DICTS = [{"price": 3.5, "brand": "x"}, {"price": 2.0, "brand": "y"}]
VECTORS = [[0.5, 0.0, 2.0], [1.0, 1.0, -1.0]]


def items(**parts) -> list[dict]:
    return [dict(zip(parts, values, strict=True)) for values in zip(*parts.values(), strict=True)]


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def test_which_parts_are_learnt():
    """By the rule in words, for every set of parts and every setting."""
    for bits in range(1, 8):
        has = [part for k, part in enumerate(PARTS) if bits >> k & 1]
        expected = {"features", "vector" if "vector" in has else "text"} & {*has}
        assert {*learnt_parts(has, None)} == expected
        for learn in (["text"], ["features"], ["vector"], ["text", "features"], ["features", "vector"]):
            if {*learn} & {*has}:
                assert {*learnt_parts(has, learn)} == {*learn} & {*has}
            else:
                with pytest.raises(ValueError, match="no learnable part"):
                    learnt_parts(has, learn)


@pytest.mark.parametrize("learn", [["words"], [], "text", ["text", "text"], ["text", "vector"], 3])
def test_settings_that_name_no_parts_are_refused(learn):
    with pytest.raises(ValueError, match="learn"):
        checked_learn(learn)


def test_a_text_beside_a_vector_changes_nothing():
    featurizer = Featurizer(dim=DIM)
    alone = featurizer(VECTORS).dense()
    assert np.array_equal(featurizer(items(text=TEXTS, vector=VECTORS, label=["A", "B"])).dense(), alone)
    told = Featurizer(dim=DIM, learn=("text",))
    assert np.array_equal(told(items(text=TEXTS, vector=VECTORS)).dense(), featurizer(TEXTS).dense())


@pytest.mark.parametrize("kind", ["binary", "counts"])
def test_texts_and_features_are_hashed_into_one_row_each_as_long_as_the_other(kind):
    featurizer = Featurizer(dim=DIM, kind=kind)
    both = featurizer(items(text=TEXTS, features=DICTS, meta=[{"a": 1}, {"b": 2}])).dense()
    assert np.allclose(both, unit(featurizer(TEXTS).dense() + featurizer(DICTS).dense()), atol=1e-12)


def test_features_beside_vectors_have_the_columns_after_them():
    featurizer, width = Featurizer(dim=DIM), len(VECTORS[0])
    both = featurizer(items(vector=VECTORS, features=DICTS)).dense()
    beside = Featurizer(dim=DIM - width)(DICTS).dense()
    assert np.allclose(both, unit(np.hstack([unit(np.array(VECTORS)), beside])), atol=1e-12)
    for name, (column, sign) in featurizer.explain(DICTS[0], width).items():
        assert both[0, column] * sign > 0, name
    with pytest.raises(ValueError, match="dim must exceed 3, got 3; or leave them out"):
        Featurizer(dim=width)(items(vector=VECTORS, features=DICTS))


def test_fitted_features_know_the_words_and_the_names():
    fitted = Featurizer(dim=DIM, kind="tfidf", columns="vocabulary").fit(items(text=TEXTS, features=DICTS))
    assert {"green", "brand=x"} <= {*fitted.explain("good green tea"), *fitted.explain(DICTS[0])}
    assert np.allclose(np.linalg.norm(fitted(items(text=TEXTS, features=DICTS)).dense(), axis=1), 1)
    with pytest.raises(TypeError, match="got vectors"):
        Featurizer(kind="tfidf").fit(items(vector=VECTORS, features=DICTS))
    assert featurize(items(vector=VECTORS, features=DICTS), dim=DIM, kind="tfidf").dense().any()


def test_all_items_have_the_same_parts():
    with pytest.raises(TypeError, match=r"item 0 has vector, item 1 text"):
        kind_and_items([{"vector": [1.0]}, {"text": "tea"}])
    with pytest.raises(TypeError, match="item 1 must have text, features or vector"):
        kind_and_items([{"vector": [1.0]}, {"price": 3.0}])
    with pytest.raises(ValueError, match="item 0 has no learnable part: expected text, got vector"):
        kind_and_items([{"vector": [1.0]}], ["text"])


plain = st.dictionaries(
    st.text(max_size=3) | st.sampled_from(["text", "vector", "features", "label"]),
    st.none() | st.text(max_size=3) | st.floats(-9, 9) | st.booleans() | st.lists(st.text(max_size=2), max_size=2),
    max_size=4,
)


@given(plain)
def test_what_was_features_before_still_is(item):
    assert not has_parts(item)
    assert not isinstance(learnt_or_plain(item), ItemParts)


def learnt_or_plain(item):
    kind, values = kind_and_items([item])
    assert kind == "dicts"
    return values[0]


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_matching_products_are_those_of_the_same_place(width, seed):
    rng = np.random.default_rng(seed)
    X, context = rng.normal(size=(3, width)), rng.normal(size=width)
    context[rng.random(width) < 0.3] = 0
    featurizer = Featurizer(dim=2 * width, products="matching")
    own, about = unit(X), unit(context[None])[0] * np.sqrt(np.count_nonzero(context))
    assert np.allclose(featurizer(X, context.tolist()).dense(), unit(np.hstack([own, own * about])), atol=1e-12)


def test_contexts_with_parts():
    featurizer = Featurizer(dim=DIM)
    beside = {"text": "for two", "vector": [1.0, 2.0]}
    assert np.array_equal(featurizer(VECTORS, beside).dense(), featurizer(VECTORS, [1.0, 2.0]).dense())
    told = Featurizer(dim=DIM, learn=("text",))
    assert np.array_equal(told(TEXTS, beside).dense(), featurizer(TEXTS, "for two").dense())
    assert featurizer(TEXTS, {"text": "for two", "features": {"user": "ann"}}).indices.size > 0
    matching = Featurizer(dim=DIM, products="matching")
    assert np.array_equal(matching(VECTORS, "for two").dense(), featurizer(VECTORS, "for two").dense())
    with pytest.raises(ValueError, match="got 3 and 2 numbers"):
        matching(VECTORS, [1.0, 2.0])
    with pytest.raises(ValueError, match="got features too"):
        matching(items(vector=VECTORS, features=DICTS), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="dim must be at least 6, got 5"):
        Featurizer(dim=5, products="matching")(VECTORS, [1.0, 2.0, 3.0])


def test_settings_travel(tmp_path):
    featurizer = Featurizer(dim=64, learn=["text"], products="matching")
    again = Featurizer.from_settings(featurizer.settings())
    assert (again.learn, again.products) == (("text",), "matching")
    session = Session(make("gnr", dim=64), featurizer=featurizer)
    save(session, tmp_path / "session")
    assert load(tmp_path / "session").featurizer.settings() == featurizer.settings()


def test_a_session_learns_vectors_as_they_are_and_shows_ids():
    def told(*rounds):
        session = Session(make("gnr", dim=3), seed=4)
        for one in rounds:
            session.tell(session.ask(one).id, "first")
        return session.learner.model.weights()

    whole = [{"text": text, "vector": vector, "label": text[:1]} for text, vector in zip(TEXTS, VECTORS, strict=True)]
    expected = told(*[VECTORS] * 5)
    assert np.array_equal(told(*[whole] * 5), expected)
    assert np.array_equal(told(*[dict(zip("ab", whole, strict=True))] * 5), expected)


CONTAINERS = {
    "list": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "iterator": lambda X: iter(X.tolist()),
    "arrays": list,
    "array": lambda X: X,
    "dict": lambda X: dict(zip("abc", X.tolist(), strict=True)),
    "parts": lambda X: [{"vector": vector} for vector in X.tolist()],
    "csr": sparse.csr_array,
    "dok": sparse.dok_matrix,
    "dok_array": sparse.dok_array,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_session_takes_vectors_as_they_are_in_any_container(container):
    X = np.array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.5]])
    learner, session = make("gnr", dim=2), Session(make("gnr", dim=2), seed=4)
    offer = session.ask(CONTAINERS[container](X))
    session.tell(offer.id, "first")
    learner.learn(X, offer.choice, 1)
    assert np.array_equal(session.learner.model.weights(), learner.model.weights())


@pytest.mark.parametrize("container", sorted({*CONTAINERS} - {"dict", "parts"}))
def test_a_featurizer_scales_vectors_in_any_container(container):
    X = np.array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.5]])
    assert np.allclose(np.linalg.norm(Featurizer(dim=2)(CONTAINERS[container](X)).dense(), axis=1), 1)
    assert np.array_equal(Featurizer(dim=2, unit=False)(CONTAINERS[container](X)).dense(), X)


def test_masked_values_are_refused():
    masked = np.ma.masked_array(np.eye(2), np.eye(2))
    for items in (masked, list(masked)):
        with pytest.raises(ValueError, match="masked values"):
            Featurizer(dim=2)(items)
        with pytest.raises(ValueError, match="masked values"):
            Session(make("gnr", dim=2)).ask(items)


def test_no_ids_are_not_ids_of_two_items():
    with pytest.raises(ValueError, match="one id per item, got 0 ids for 2 items"):
        Session(make("gnr", dim=2)).ask(np.eye(2), ids=[])
