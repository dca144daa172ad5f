"""The life of an offer: ids of every kind, answers by word, id and side, cancelling, expiry and what is remembered."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conquer
from conquer.answers import AnswerError
from conquer.files import FileError
from conquer.rows import SparseRows
from conquer.session import MemoryLedger, Session, replay, restore
from conquer.session import session as module

make = conquer.make
VECTORS = {7: [1.0, 0.0, 0.0], 8: [0.0, 1.0, 0.0], 9: [0.0, 0.0, 1.0]}


def fresh(**options):
    return Session(make("gnr", dim=3, model="full"), seed=1, **options)


def test_an_offer_or_its_id_is_told():
    one, two = fresh(), fresh()
    assert one.tell(one.ask(VECTORS), "first") == two.tell(two.ask(VECTORS).id, "first") == "learnt"
    assert one.learner.model.weights().tolist() == two.learner.model.weights().tolist()
    with pytest.raises(TypeError, match="an answer or winner="):
        one.tell(one.ask(VECTORS))
    with pytest.raises(TypeError, match="an answer or winner="):
        one.tell(one.ask(VECTORS), "first", winner=7)
    with pytest.raises(AnswerError, match="winner must be the id"):
        one.tell(one.ask(VECTORS), winner=0.5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_sides_are_those_of_the_offer(side):
    for _ in range(3):
        session, twin = fresh(), fresh()
        for ordinal in range(6):
            offer, other = session.ask(VECTORS), twin.ask(VECTORS)
            (right,) = set(offer.shown) - {offer.left}
            session.tell(offer, side)
            twin.tell(other, winner=offer.left if side == "left" else right)
            assert session.tell(offer, winner=offer.left if side == "left" else right) == "repeat"
            assert restore(session.dumps()).tell(str(ordinal), side) == "repeat"
        assert session.scores(VECTORS) == twin.scores(VECTORS)


def test_whole_number_ids_are_kept_everywhere():
    session = fresh(ledger=MemoryLedger())
    offer, later = session.ask(VECTORS), session.ask(list(VECTORS.values()), ids=[7, np.int64(8), 9])
    for one in (offer, later):
        assert set(one.shown) <= set(VECTORS)
        assert all(type(name) is int for name in (*one.shown, one.left))
    assert session.tell(offer, offer.shown[1]) == "learnt"
    with pytest.raises(AnswerError, match="a strength as a float"):
        session.tell(later, 1)
    again = restore(session.dumps())
    assert again.tell(offer, winner=offer.shown[1]) == "repeat"
    for each in (session, again):
        assert each.tell(later, winner=later.shown[0]) == "learnt"
        assert sorted(each.rank(VECTORS)) == [7, 8, 9]
    assert session.rank(VECTORS) == again.rank(VECTORS)
    assert session.board(VECTORS).names == ("7", "8", "9")
    assert replay(session.ledger).model.weights().tolist() == session.learner.model.weights().tolist()


@pytest.mark.parametrize(
    ("rows", "plain"),
    [
        ([{"id": 1, "text": "good tea"}, {"id": 2, "text": "bad tea", "label": "B"}], ["good tea", "bad tea"]),
        ([{"id": 1, "kind": "tea"}, {"id": 2, "kind": "mug"}], [{"kind": "tea"}, {"kind": "mug"}]),
        ([{"id": 1, "vector": [1.0, 0.0]}, {"id": 2, "vector": [0.0, 1.0]}], [[1.0, 0.0], [0.0, 1.0]]),
        (
            [{"id": 1, "text": "tea", "features": {"new": True}}, {"id": 2, "text": "mug", "features": {"new": False}}],
            [{"text": "tea", "features": {"new": True}}, {"text": "mug", "features": {"new": False}}],
        ),
    ],
)
def test_dicts_with_an_id_are_items_of_that_id(rows, plain):
    dim = 2 if "vector" in rows[0] else 64
    one, two = (Session(make("gnr", dim=dim), ledger=MemoryLedger()) for _ in range(2))
    offer, other = one.ask(rows), two.ask(plain, ids=[1, 2])
    assert offer == other
    seen = [list(each.ledger.rows())[-1]["rows"].dense() for each in (one, two)]
    np.testing.assert_array_equal(*seen)
    one.tell(offer, winner=2)
    assert one.rank(rows) == [2, 1]
    assert list(one.scores(rows)) == [1, 2]
    with pytest.raises(ValueError, match="item 1 has none"):
        one.ask([rows[0], plain[1]])
    with pytest.raises(ValueError, match="unique as strings"):
        one.ask([rows[0], rows[0]])


def test_an_id_beside_ids_is_a_feature():
    session = Session(make("gnr", dim=64), ledger=MemoryLedger())
    session.ask([{"id": "a"}, {"id": "b"}], ids=["x", "y"])
    assert len(list(session.ledger.rows())[-1]["rows"].data) == 2
    with pytest.raises(ValueError, match="one id per item"):
        session.ask([{"id": "a"}, {"id": "b"}], ids=[])


def test_scores_are_the_learners_by_id():
    session = fresh()
    session.tell(session.ask(VECTORS), "first")
    scores = session.scores(VECTORS)
    assert list(scores) == [7, 8, 9]
    assert list(scores.values()) == session.learner.scores(np.eye(3)).tolist()
    assert max(scores, key=scores.get) == session.rank(VECTORS)[0]
    fitted = conquer.fit([("tea", "mug", "tea")])
    assert fitted.scores()["tea"] > fitted.scores()["mug"]


def test_an_offer_says_whether_it_asks():
    session = Session(make("gnc", dim=3, eta=0.01), seed=1)
    offers = []
    for _ in range(30):
        offers.append(session.ask(np.eye(3)))
        if offers[-1].asks:
            session.tell(offers[-1], "first")
    assert {offer.asks for offer in offers} == {True, False}
    assert all(offer.asks == (len(offer.shown) == 2) for offer in offers)


def test_a_cancelled_offer_takes_no_answer():
    session = fresh(ledger=MemoryLedger())
    offer, other = session.ask(VECTORS), session.ask(VECTORS)
    session.cancel(offer)
    session.cancel(offer.id)
    assert session.pending == (other.id,)
    for each in (session, restore(session.dumps())):
        with pytest.raises(AnswerError, match="offer '0' was cancelled, got the answer 'first'"):
            each.tell(offer, "first")
        assert each.learner.answers == 0
    session.tell(other, "first")
    with pytest.raises(AnswerError, match="was answered and cannot be cancelled"):
        session.cancel(other)
    with pytest.raises(AnswerError, match="no offer has the id '9'"):
        session.cancel("9")
    assert [row["kind"] for row in session.ledger.rows()] == ["open", "ask", "ask", "cancel", "tell"]
    assert replay(session.ledger).answers == 1


def test_the_oldest_open_offers_expire():
    session = fresh(open_offers=3)
    offers = [session.ask(VECTORS) for _ in range(5)]
    assert session.pending == ("2", "3", "4")
    for each in (session, restore(session.dumps())):
        with pytest.raises(AnswerError, match=r"offer '1' has expired: this session keeps 3 unanswered offers"):
            each.tell(offers[1], "first")
        assert each.tell(offers[2], "first") == "learnt"
        each.ask(VECTORS)
        assert each.pending == ("3", "4", "5")
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="open_offers"):
            fresh(open_offers=wrong)


def test_a_long_session_stays_small(monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 20)
    session = fresh(open_offers=10)
    assert session.ledger is None
    sizes = []
    for turn in range(200):
        offer = session.ask(VECTORS)
        if turn % 2:
            session.tell(offer, "first")
        if turn in (99, 199):
            sizes.append(len(session.dumps()))
    assert len(session._open) <= 10
    assert len(session._closed) == 20
    # A learner with boards keeps 72 bytes of each answer.
    assert sizes[1] < sizes[0] + 100 + 50 * 72 * (session.evidence is not None)
    with pytest.raises(AnswerError, match="offer '1' is closed and no longer remembered"):
        session.tell("1", "first")
    with pytest.raises(AnswerError, match="no offer has the id '200'"):
        session.tell("200", "first")
    assert session.tell(offer, "first") == "repeat"


def test_without_a_ledger_there_is_nothing_to_replay():
    with pytest.raises(ValueError, match=r"ledger=MemoryLedger\(\)"):
        replay(fresh().ledger)


def test_a_replay_learns_into_fresh_learners_only():
    session = fresh(ledger=MemoryLedger())
    session.tell(session.ask(VECTORS), "first")
    with pytest.raises(ValueError, match="a fresh learner, got one that has learnt 1 answers"):
        replay(session.ledger, session.learner)
    assert session.learner.answers == 1


@pytest.mark.parametrize("wrong", ["gnr", conquer.algorithms()[0], Session, None, 3])
def test_only_a_learner_makes_a_session(wrong):
    with pytest.raises(TypeError, match=r"a session takes a learner: make\("):
        Session(wrong)


def test_none_is_no_answer():
    session = fresh()
    offer = session.ask(VECTORS)
    assert session.tell(offer, None) == "skipped"
    assert session.tell(offer, "skip") == "repeat"
    assert session.learner.answers == 0


class Lengths:
    """A featurizer of one's own: how long a text is."""

    dim = 2

    def __call__(self, items, context=None):
        return np.array([[1.0, len(item) / 10] for item in items])


def test_a_featurizer_of_ones_own_is_given_again_when_the_session_is_loaded(tmp_path):
    session = Session(make("gnr", dim=2), featurizer=Lengths())
    items = {"short": "tea", "long": "a long text"}
    session.tell(session.ask(items), winner="long")
    session.save(tmp_path / "session")
    with pytest.raises(FileError, match=r"the custom featurizer Lengths: use Session.load\(path, featur"):
        Session.load(tmp_path / "session")
    again = Session.load(tmp_path / "session", featurizer=Lengths())
    assert again.scores(items) == session.scores(items)
    assert again.dumps() == session.dumps()
    fresh().save(tmp_path / "plain")
    with pytest.raises(FileError, match="only for sessions saved with a custom featurizer"):
        Session.load(tmp_path / "plain", featurizer=Lengths())


def test_a_featurizer_of_another_size_is_refused():
    with pytest.raises(ValueError, match="the featurizer makes 2 features, the learner has 3"):
        Session(make("gnr", dim=3), featurizer=Lengths())


def test_sessions_and_learners_are_loaded_as_what_they_are(tmp_path):
    session = fresh()
    offer = session.ask(VECTORS)
    session.save(tmp_path / "session")
    conquer.save(session.learner, tmp_path / "learner")
    assert Session.load(tmp_path / "session").tell(offer, "first") == "learnt"
    with pytest.raises(TypeError, match="holds a learner, not a session"):
        Session.load(tmp_path / "learner")
    with pytest.raises(TypeError, match="for sessions"):
        conquer.load(tmp_path / "learner", ledger=MemoryLedger())


def test_a_second_thread_is_named_as_the_cause():
    class Slow(MemoryLedger):
        def append(self, row):
            if row["kind"] == "tell":
                entered.set()
                go_on.wait(20)

    entered, go_on, said = threading.Event(), threading.Event(), []
    session = fresh(ledger=Slow())
    offer, other = session.ask(VECTORS), session.ask(VECTORS)
    thread = threading.Thread(target=lambda: said.append(session.tell(offer, "first")))
    thread.start()
    assert entered.wait(20)
    for call in (lambda: session.tell(other, "first"), lambda: session.ask(VECTORS), lambda: session.cancel(other)):
        with pytest.raises(RuntimeError, match="another thread is using this session"):
            call()
    go_on.set()
    thread.join(20)
    assert said == ["learnt"]
    assert session.tell(other, "first") == "learnt"


def test_an_error_leaves_the_session_usable():
    session = fresh()
    offer = session.ask(VECTORS)
    for wrong in (lambda: session.ask([]), lambda: session.tell(offer, "frist"), lambda: session.cancel("x")):
        with pytest.raises(ValueError):
            wrong()
    assert session.tell(offer, "first") == "learnt"
    large = session.ask({name: 1e200 * np.array(vector) for name, vector in VECTORS.items()})
    before = session.scores(VECTORS)
    with pytest.raises(ArithmeticError):
        session.tell(large, "first")  # refused by the learner: the offer stays open
    assert session.pending == (large.id,)
    assert session.scores(VECTORS) == before
    assert session.tell(large, "skip") == "skipped"


def test_equal_scores_are_ranked_in_the_order_given():
    items = {(7 * k) % 50: [1.0, 0.0, float(k % 2)] for k in range(50)}  # many: sorting a few is always stable
    assert fresh().rank(items) == list(items)


@given(st.lists(st.integers(-3, 12) | st.sampled_from(["a", "b", "10"]), min_size=2, max_size=5))
def test_ids_of_any_kind_go_through_a_file(ids):
    session = Session(make("gnr", dim=2, model="full"), seed=0)
    rows = SparseRows(np.arange(len(ids) + 1), [0] * len(ids), np.arange(1.0, len(ids) + 1), 2)
    try:
        offer = session.ask(rows, ids=ids)
    except ValueError:
        assert len({*map(str, ids)}) < len(ids)
        return
    for name, value in zip(offer.shown, ("first", "second"), strict=True):
        again = restore(session.dumps())
        assert again.tell(offer, winner=name) == "learnt"
        assert again.tell(offer, value) == "repeat"
        assert restore(again.dumps()).tell(offer, winner=name) == "repeat"
