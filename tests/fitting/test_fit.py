"""What `fit` learns is what the same votes teach one by one, and the session goes on from there."""

import json

import numpy as np
import pytest
from fits import tally_of
from hypothesis import given
from hypothesis import strategies as st

import conquer
from conquer.data.compression import DataError
from conquer.data.votes import VoteTally
from conquer.kernels.rounds import settings
from conquer.session import replay
from conquer.types import Choice, Query

NAMES = ("tea", "mug", "pot", "cup", "can")
VALUES = st.sampled_from([1.0, -1.0, 0.0, 0.5, -0.25])


@st.composite
def some_votes(draw):
    pairs = draw(st.lists(st.permutations(NAMES).map(lambda p: (p[0], p[1])), min_size=1, max_size=30))
    return [(one, two, draw(VALUES)) for one, two in pairs]


def stepwise(votes, rows, places, **parameters):
    """A learner that learnt the votes one after the other."""
    learner = conquer.make("gnr", dim=rows.dim, **parameters)
    for one, two, value in votes:
        learner.learn(rows.take([places[one], places[two]]), Choice((0, 1), Query.DUEL, 0), value)
    return learner


@given(some_votes(), st.sampled_from([0.1, 1.0, 10.0]))
def test_ids_give_what_one_by_one_learning_gives(votes, lam):
    session = conquer.fit(votes, lam=lam)
    known = session.catalog
    expected = stepwise(votes, known.rows, known.positions, model="full", lam=lam)
    np.testing.assert_allclose(session.learner.model.weights(), expected.model.weights(), atol=1e-9, rtol=0)
    np.testing.assert_allclose(session.learner.model.inverse, expected.model.inverse, atol=1e-9, rtol=0)
    assert session.learner.answers == expected.answers == len(votes)


@given(some_votes(), st.sampled_from(["full", "coordinate"]))
def test_items_give_what_one_by_one_learning_gives(votes, how):
    parameters = {"model": "full"} if how == "full" else {"model": "diagonal", "update": "coordinate"}
    rng = np.random.default_rng(3)
    items = {name: rng.normal(size=3).tolist() for name in NAMES}
    session = conquer.fit(votes, items, **parameters)
    expected = stepwise(votes, session.catalog.rows, session.catalog.positions, **parameters)
    np.testing.assert_allclose(session.learner.model.weights(), expected.model.weights(), atol=1e-9, rtol=0)
    assert session.catalog.names == NAMES


@pytest.mark.parametrize("how", [{"dim": 64}, {"dim": 64, "model": "diagonal", "update": "coordinate"}])
def test_texts_give_what_one_by_one_learning_gives(how):
    texts = ["green leaf tea", "a blue mug", "an old iron pot", "tea in a mug"]
    votes = [{"chosen": texts[i], "rejected": texts[j]} for i, j in [(0, 1), (1, 2), (3, 2), (0, 3), (1, 0)]]
    session = conquer.fit(votes, content="texts", **how)
    made = {"model": "full", "lam": 10.0, **{k: v for k, v in how.items() if k != "dim"}}
    expected, featurizer = conquer.make("gnr", dim=64, **made), conquer.Featurizer(dim=64, length=True)
    for vote in votes:
        rows = featurizer([vote["chosen"], vote["rejected"]])
        expected.learn(rows, Choice((0, 1), Query.DUEL, 0), 1)
    np.testing.assert_allclose(session.learner.model.weights(), expected.model.weights(), atol=1e-9, rtol=0)
    assert set(session.catalog.names) == set(texts)


def test_other_learners_learn_in_the_order_of_the_votes():
    votes = [("tea", "mug", 1), ("mug", "pot", -1), ("tea", "pot", 0), ("pot", "tea", 1)]
    session = conquer.fit(votes, model="diagonal", update="implicit")
    expected = stepwise(votes, session.catalog.rows, session.catalog.positions, model="diagonal", update="implicit")
    assert np.array_equal(session.learner.model.weights(), expected.model.weights())
    kernel = conquer.fit(votes, model="kernel", kernel="linear")
    full = conquer.fit(votes)
    rows = full.catalog.rows
    np.testing.assert_allclose(kernel.learner.scores(rows), full.learner.scores(rows), atol=1e-9)


@pytest.mark.parametrize("name", ["rucb", "double-thompson", "maxinp", "colstim", "toptwo"])
def test_rivals_learn_votes_too(name):
    votes = [("tea", "mug", 1), ("mug", "pot", 1), ("tea", "pot", 1)] * 5
    session = conquer.fit(votes, algorithm=name)
    assert session.learner.answers == 15
    assert session.learner.name == name


def test_statistics_are_those_of_sums():
    votes = [("tea", "mug", 1), ("mug", "pot", -1), ("tea", "pot", 0), ("pot", "tea", 0.5)]
    session = conquer.fit(votes, lam=0.5)
    model = session.learner.model
    A = np.linalg.inv(model.inverse)
    b = A @ model.weights()
    assert model.stats[settings.LEARNT] == 4
    assert model.stats[settings.SUM_LOSS_H] == pytest.approx(b @ model.inverse @ b)
    assert model.stats[settings.SUM_H] == pytest.approx(np.linalg.slogdet(A / 0.5)[1])


def test_statistics_of_a_diagonal_model_are_those_of_sums():
    votes = [("tea", "mug", 1), ("mug", "pot", -1), ("tea", "pot", 0.5)]
    model = conquer.fit(votes, lam=0.5, model="diagonal", update="coordinate").learner.model
    A = 0.5 + np.array([2, 2, 2]) / 4
    assert model.stats[settings.SUM_H] == pytest.approx(np.log(A / 0.5).sum())
    assert model.stats[settings.SUM_LOSS_H] == pytest.approx((A * model.weights() ** 2).sum())


@pytest.mark.parametrize(("side", "share"), [("first", 1.0), ("second", 0.0)])
def test_the_side_of_a_vote_reaches_a_learner_that_weighs_voters(side, share):
    row = {"first": "tea", "second": "mug", "winner": "first", "voter": "ann", "shown_left": side}
    (voter,) = conquer.fit([row] * 5, model="full", believe="voters").learner.voters()
    assert (voter.name, voter.answers, voter.left) == ("ann", 5, share)


def test_several_equal_votes_on_a_line_are_that_many():
    one = conquer.fit([{"left": "a1x", "right": "b1x", "winner": "left", "votes": 3}])
    three = conquer.fit([("a1x", "b1x", "first")] * 3)
    assert np.array_equal(one.learner.model.inverse, three.learner.model.inverse)
    assert one.learner.answers == 3


def test_weights_scale_the_row():
    session = conquer.fit([{"left": "tea", "right": "mug", "winner": "left", "weight": 0.5}])
    expected = conquer.make("gnr", dim=2, model="full")
    expected.model.update(np.eye(2), {0: 0.25, 1: -0.25}, 1.0)
    np.testing.assert_allclose(session.learner.model.inverse, expected.model.inverse, atol=1e-12)
    slow = conquer.fit([{"left": "tea", "right": "mug", "winner": "left", "weight": 0.5}], model="diagonal")
    expected = conquer.make("gnr", dim=2)
    expected.model.update(np.eye(2), {0: 0.25, 1: -0.25}, 1.0)
    np.testing.assert_allclose(slow.learner.model.weights(), expected.model.weights(), atol=1e-12)


def test_a_fitted_session_is_asked_told_saved_loaded_and_continued(tmp_path):
    session = conquer.fit([("tea", "mug", "tea"), ("mug", "pot", "mug"), ("tea", "pot", "tea")], algorithm="gnc")
    conquer.save(session, tmp_path / "one.safetensors")
    again = conquer.load(tmp_path / "one.safetensors", ledger=conquer.MemoryLedger())
    assert again.catalog.names == session.catalog.names == ("tea", "mug", "pot")
    assert again.catalog.ids_only
    for one in (session, again):
        for items in (one.catalog, ["pot", "tea"], {"x": "mug", "y": "tea"}):
            offer = one.ask(items)
            if offer.choice.query == Query.DUEL:
                assert one.tell(offer.id, "first") == "learnt"
    assert np.array_equal(session.learner.model.weights(), again.learner.model.weights())
    assert np.array_equal(replay(again.ledger).model.weights(), session.learner.model.weights())


def test_a_session_of_ids_refuses_what_it_cannot_know():
    session = conquer.fit([("tea", "mug", "tea")])
    for items in (["tea", "can"], {"tea": "tea", "x": "green tea"}, [{"a": 1}, {"a": 2}]):
        with pytest.raises(ValueError, match="by their ids|unknown item"):
            session.ask(items)
    with pytest.raises(ValueError, match="context"):
        session.ask(["tea", "mug"], context="noon")
    assert session.ordinal == 0
    assert session.ask(np.eye(2)).shown


def test_a_session_of_texts_takes_new_texts():
    session = conquer.fit([{"chosen_text": "green tea", "rejected_text": "a blue mug"}] * 5)
    offer = session.ask({"one": "a green mug", "two": "blue pot"})
    assert set(offer.shown) == {"one", "two"}
    assert session.ask(["green tea", "a blue mug"]).shown[0] == "green tea"


def test_the_model_is_full_up_to_a_stated_number_of_ids(monkeypatch):
    """Above it there is no model by default: the user keeps fewer ids or names a model without a board."""
    monkeypatch.setattr("conquer.fitting.learner_state.FULL_IDS", 20)
    many = [(f"i{k}", f"i{k + 1}", "first") for k in range(20)] + [("i3", "i4", "first"), ("i4", "i5", "tie")]
    assert conquer.fit(many[:19]).learner.parameters["model"] == "full"
    with pytest.raises(DataError, match=r"21 ids; a full model takes 20: .* most=20 .* model='diagonal'"):
        conquer.fit(many)
    assert conquer.fit(many, model="diagonal").learner.answers == 22
    for one_by_one in (False, True):
        tally = VoteTally()
        few = conquer.fit(many, most=3, one_by_one=one_by_one, tally=tally)
        assert few.catalog.names == ("i3", "i4", "i5")
        assert (few.learner.answers, tally.votes, tally.rarer) == (4, 4, 18)
        assert tally.notes[-1] == "21 ids: kept the 3 that are in most votes"
    for wrong in ({"most": 1}, {"most": 3, "content": "texts"}):
        with pytest.raises(ValueError, match="most must be a number of ids from 2"):
            conquer.fit(many, **wrong)


def test_a_full_model_of_2049_features_is_not_the_default():
    votes = [{"text_a": "green tea", "text_b": "a blue mug", "winner": "a"}]
    assert conquer.fit(votes, dim=2048).learner.parameters["model"] == "full"
    assert conquer.fit(votes, dim=2049).learner.parameters["model"] == "diagonal"


def test_contexts_are_crossed_where_asked():
    items = {"tea": {"hot": 1.0}, "ice": {"cold": 1.0}}
    votes = [
        {"first": "tea", "second": "ice", "winner": w, "context": c} for c, w in (("winter", "tea"), ("july", "ice"))
    ]
    session = conquer.fit(votes * 20, items, context=True, dim=256)
    contents = list(items.values())
    for context, best in (("winter", 0), ("july", 1)):
        rows = session.featurizer(contents, context)
        assert int(session.learner.scores(rows).argmax()) == best


def test_what_was_found_is_told():
    found = tally_of([("tea", "mug", "tie"), ("tea", "mug", "skip"), ("tea", "pot", "both_bad"), ("tea", "pot", "pot")])
    assert (found.votes, found.ties, found.skips, found.both_bad, found.refused) == (2, 1, 1, 1, 0)
    assert tally_of([("tea", "pot", "both_bad"), ("tea", "pot", "pot")], both_bad="tie").ties == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "confidit"}, "which of two"),
        ({"algorithm": "no-such"}, "unknown algorithm .no-such."),
        ({"model": "cubic"}, "model must be one of"),
        ({"lam": -1}, "lam"),
        ({"context": True}, "features"),
        ({"dim": 1}, "dim must be at least"),
        ({"jobs": 0}, "jobs"),
        ({"content": "cars"}, "content must be one of"),
        ({"both_bad": "win"}, "both_bad"),
        ({"kind": "dog"}, "kind"),
        ({"lam": 1e-30}, "sixteen digits"),
    ],
)
def test_what_cannot_be_fitted_is_refused_by_name(change, message):
    with pytest.raises((ValueError, TypeError, ArithmeticError), match=message):
        conquer.fit([("tea", "mug", "tea")], **change)


def test_a_ledgers_contexts_are_crossed_as_its_service_crossed_them(tmp_path):
    items = [{"id": "tea", "features": {"price": 1.0, "hot": True}}, {"id": "ice", "features": {"price": 2.0}}]
    rounds = [({"time": "noon"}, 1.0), ({"time": "dawn"}, -1.0), ("in the morning", 1.0), (None, -1.0)]
    rows, featurizer = [{"kind": "open"}], conquer.Featurizer(dim=64)
    A, b = np.eye(64), np.zeros(64)
    for number, (context, value) in enumerate(rounds):
        asked = {"names": ["tea", "ice"], "items": items, "left": "tea", "context": context}
        said = {"winner": "tea" if value > 0 else "ice", "value": value}
        rows.append({"kind": "choose", "event_id": str(number), "body": asked})
        rows.append({"kind": "answer", "event_id": str(number), "position": number, "body": said})
        X = featurizer([item["features"] for item in items], context=context).dense()
        u = (X[0] - X[1]) / 2
        A, b = A + np.outer(u, u), b + value * u
    path = tmp_path / "ledger"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session = conquer.fit(path, context=True, dim=64)
    np.testing.assert_allclose(session.learner.model.weights(), np.linalg.solve(A, b), atol=1e-12, rtol=0)


def test_longer_texts_win_where_only_length_tells(tmp_path):
    """Texts of unseen words: the rows of length 1 say nothing, the length does."""
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(0, 10**9, n))) for n in rng.integers(3, 90, 60)]
    longer = [(a, b) if len(a) > len(b) else (b, a) for a, b in zip(texts[:30], texts[30:], strict=True)]
    rows = [{"chosen": a, "rejected": b} for a, b in longer]
    session, plain = conquer.fit(rows[:20]), conquer.fit(rows[:20], featurizer=conquer.Featurizer(dim=2**20))
    assert (session.learner.parameters["lam"], session.featurizer.length) == (10.0, True)

    def right(one):
        return sum(s[0] > s[1] for s in (one.learner.scores(one.featurizer(list(pair))) for pair in longer[20:]))

    assert right(session) == 10 > right(plain)
    conquer.save(session, tmp_path / "m.safetensors")
    again = conquer.load(tmp_path / "m.safetensors")
    assert again.featurizer.length
    assert again.scores({"a": texts[0], "b": texts[1]}) == session.scores({"a": texts[0], "b": texts[1]})


def test_lam_is_the_best_predictor_of_each_vote_from_the_others():
    """By leaving every vote out and fitting the rest; boards share delta among the candidates."""
    from conquer.fitting.warm_start import LAMS

    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 6, (40, 2))
    votes = [{"left": f"i{a}", "right": f"i{b}", "answer": float(np.sign(b - a + rng.normal() * 3)),
              "weight": float(rng.choice([0.5, 1.0]))} for a, b in pairs if a != b]  # fmt: skip
    known = [{"left": f"i{k}", "right": f"i{k + 1}", "answer": 0.0, "weight": 0.0} for k in range(5)]  # all ids

    def error(lam):
        total = 0.0
        for k, vote in enumerate(votes):
            scores = conquer.fit([*votes[:k], *votes[k + 1 :], *known], lam=lam).scores()
            predicted = vote["weight"] * (scores[vote["left"]] - scores[vote["right"]]) / 2
            total += (vote["answer"] - predicted) ** 2
        return total

    session = conquer.fit([*votes, *known], lam="auto")
    assert session.learner.parameters["lam"] == min(LAMS, key=error)
    assert session.board_settings.delta == pytest.approx(0.05 / len(LAMS))
    for wrong in ({"model": "diagonal"}, {"one_by_one": True}):
        with pytest.raises(ValueError, match="lam='auto' is for votes between ids"):
            conquer.fit(votes, lam="auto", **wrong)


def test_a_fixed_design_has_narrower_boards_until_the_session_asks():
    votes = [(a, b, a if (k + b) % 4 else b) for k in range(30) for a in range(4) for b in range(a + 1, 4)]
    adaptive, fixed = (conquer.fit(votes, design=design) for design in ("adaptive", "fixed"))
    assert fixed.board().interval == "anytime"
    assert adaptive.board().interval == "proved"
    assert (fixed.board().high - fixed.board().low).max() < (adaptive.board().high - adaptive.board().low).min()
    fixed.tell(fixed.ask([0, 1, 2]), "left")
    assert fixed.board().interval == "proved"
    with pytest.raises(ValueError, match="design must be"):
        conquer.fit(votes, design="other")
