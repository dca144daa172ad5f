"""What `fit` learns from a table is ridge regression, solved here by numpy; and what is no table of votes is told."""

import csv

import numpy as np
import pytest
from fits import fit_in_parts
from hypothesis import given, settings
from hypothesis import strategies as st

import conquer

NAMES = ("tea", "mug", "pot", "cup")
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "pair": st.permutations(range(4)),
            "winner": st.sampled_from(["left", "RIGHT", "Tie", "tie (bothbad)", "skip", "itself"]),
            "strength": st.sampled_from(["", "0", "0.25", "1"]),
            "votes": st.sampled_from(["", "1", "3"]),
            "weight": st.sampled_from(["", "0", "0.5", "1"]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from([0.1, 1.0, 5.0]), st.booleans(), st.sampled_from([40, 1 << 20]), st.booleans())
def test_a_table_gives_dense_ridge(tmp_path_factory, rows, lam, vectors, part, tie):
    X = np.random.default_rng(5).normal(size=(4, 3)) if vectors else np.eye(4)
    A, b, answers = lam * np.eye(X.shape[1]), np.zeros(X.shape[1]), 0
    path = tmp_path_factory.getbasetemp() / "ridge.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("left", "right", "winner", "strength", "votes", "weight"))
        for row in rows:
            i, j = row["pair"][:2]
            said = NAMES[i] if row["winner"] == "itself" else row["winner"]
            table.writerow((NAMES[i], NAMES[j], said, row["strength"], row["votes"], row["weight"]))
            y = {"left": 1.0, "itself": 1.0, "RIGHT": -1.0, "Tie": 0.0, "tie (bothbad)": 0.0 if tie else None}.get(
                row["winner"]
            )
            if y is None:
                continue
            count, rho = int(row["votes"] or 1), float(row["weight"] or 1)
            u = rho * (X[i] - X[j]) / 2
            A, b = A + count * np.outer(u, u), b + count * y * float(row["strength"] or 1) * u
            answers += count
    if not answers:
        with pytest.raises(ValueError, match="no vote"):
            conquer.fit(path, lam=lam)
        return
    items = {name: X[k].tolist() for k, name in enumerate(NAMES)} if vectors else None
    session = fit_in_parts(part, path, items, lam=lam, both_bad="tie" if tie else "skip")
    places = [NAMES.index(name) for name in session.catalog]
    np.testing.assert_allclose(
        session.learner.scores(session.catalog.rows), X[places] @ np.linalg.solve(A, b), atol=1e-10, rtol=0
    )
    V, _, _ = session.learner.model.pairs(session.catalog.rows)
    gaps = X[places][:, None] - X[places]
    np.testing.assert_allclose(V, np.einsum("ijd,de,ije->ij", gaps, np.linalg.inv(A), gaps), atol=1e-10, rtol=0)
    assert session.learner.answers == answers


@pytest.mark.parametrize(
    ("package", "remedy"), [("pandas", r'frame.to_dict\("records"\)'), ("polars", r"frame.to_dicts\(\)")]
)
def test_a_frame_is_told_how_to_give_its_rows(package, remedy):
    frame = pytest.importorskip(package).DataFrame
    with pytest.raises(TypeError, match=f"pass the rows of a frame: {remedy}"):
        conquer.fit(frame({"left": ["tea"], "right": ["mug"], "winner": ["left"]}))


def test_features_may_be_numpy_numbers_of_any_kind():
    votes = [({"price": np.float32(0.5)}, {"price": np.int64(2), "new": np.bool_(True)}, 1)]
    session = conquer.fit(votes, dim=32)
    assert list(session.catalog) == ['{"price": 0.5}', '{"new": true, "price": 2}']
    with pytest.raises(ValueError, match="vote 1: feature 'price' must be a finite number"):
        conquer.fit([({"price": np.float32("inf")}, {"price": 1}, 1)], dim=32)


@pytest.mark.parametrize("how", [{"model": "full"}, {"model": "diagonal", "update": "coordinate"}])
def test_weights_and_counts_of_votes_between_vectors_scale_their_rows(how):
    """Summed at once as learnt one by one; without the weight the weights of the model are others."""
    votes = [
        {"left": [1.0, 0.5], "right": [0.0, 2.0], "winner": "left", "weight": 0.5, "votes": 3},
        {"left": [0.5, 0.0], "right": [1.0, 1.0], "winner": "left"},
    ]
    bulk, each = conquer.fit(votes, **how), conquer.fit(votes, one_by_one=True, **how)
    np.testing.assert_allclose(bulk.learner.model.weights(), each.learner.model.weights(), atol=1e-12)
    assert bulk.learner.answers == each.learner.answers == 4
    plain = conquer.fit([{**vote, "weight": 1.0} for vote in votes], **how)
    assert not np.allclose(bulk.learner.model.weights(), plain.learner.model.weights(), atol=1e-3)


def test_a_lam_that_is_lost_beside_the_votes_is_refused():
    votes = [{"left": "tea", "right": "mug", "winner": "left", "votes": 10**12}]
    assert conquer.fit(votes, lam=1.0).learner.answers == 10**12
    with pytest.raises(ArithmeticError, match=r"A cannot be stored in sixteen digits with lam = 0.001 and entries of"):
        conquer.fit(votes, lam=0.001)
