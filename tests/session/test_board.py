"""Sessions that rank and may stop: no round is used, files keep the tolerance."""

import numpy as np
import pytest

import conquer
from conquer.boards import BoardSettings
from conquer.session import restore

ITEMS = {"tea": [1.0, 0.0, 0.0], "mug": [0.0, 1.0, 0.0], "pot": [0.0, 0.0, 1.0]}


def session(**options):
    made = conquer.Session(conquer.make("gnr", dim=3, model="full"), seed=3, ledger=conquer.MemoryLedger(), **options)
    for _ in range(60):
        offer = made.ask(ITEMS)
        made.tell(offer.id, min(offer.shown, key=list(ITEMS).index))
    return made


def test_boards_and_rankings_use_no_round():
    made, twin = session(), session()
    before, rows = made.dumps(), len(list(made.ledger.rows()))
    board = made.board(ITEMS)
    assert made.rank(ITEMS) == ["tea", "mug", "pot"] == [board.names[k] for k in board.order]
    assert made.dumps() == before
    assert len(list(made.ledger.rows())) == rows
    assert made.ask(ITEMS) == twin.ask(ITEMS)


def test_a_list_has_numbers_for_ids():
    made = session()
    assert made.rank(np.eye(3)) == ["0", "1", "2"]
    assert made.board(list(ITEMS.values()), ids=list("abc")).names == ("a", "b", "c")


def test_groups_by_id():
    board = session().board(ITEMS, groups={"tea": "drink", "mug": "thing", "pot": "thing"}, interval="proved")
    assert board.names == ("drink", "thing")
    with pytest.raises(ValueError, match="groups has no entry for item 'pot'"):
        session().board(ITEMS, groups={"tea": "drink", "mug": "thing"})


def test_a_session_without_a_catalog_needs_items():
    for ask in (session().board, session().rank, session().scores):
        with pytest.raises(ValueError, match="only a fitted session has a catalog"):
            ask()


def test_an_offer_is_done_once_the_board_says_so():
    made = conquer.Session(conquer.make("gnr", dim=3, model="full"), stop=1.5, board=BoardSettings(delta=0.1))
    seen = []
    for _ in range(400):
        expected = made.board(ITEMS, delta=0.1).stop(1.5).done
        offer = made.ask(ITEMS)
        assert offer.done == expected
        seen.append(offer.done)
        made.tell(offer.id, min(offer.shown, key=list(ITEMS).index))
    assert not seen[0]
    assert seen[-1]
    assert not session().ask(ITEMS).done


def test_files_keep_the_tolerance():
    again = restore(session(stop=0.5, board=BoardSettings(delta=0.2)).dumps())
    assert (again.stop, again.board_settings.delta) == (0.5, 0.2)
    plain = restore(session().dumps())
    assert (plain.stop, plain.board_settings) == (None, BoardSettings())


def test_stopping_is_refused_where_there_is_no_board():
    with pytest.raises(ValueError, match="got diagonal"):
        conquer.Session(conquer.make("gnr", dim=3), stop=0.5)
    with pytest.raises(ValueError, match="stop must be"):
        conquer.Session(conquer.make("gnr", dim=3, model="full"), stop=-1)
    with pytest.raises(TypeError, match="board must be BoardSettings"):
        conquer.Session(conquer.make("gnr", dim=3, model="full"), board={"delta": 0.1})


def two_stars(seed, each):
    """Votes of two groups never compared with each other: i0 and i30 are worth 0, i1 to i29 -1, i31 to i59 +1."""
    rng = np.random.default_rng(seed)
    pairs = [
        (f"i{centre}", f"i{centre + k}", chance) for centre, chance in ((0, 0.75), (30, 0.25)) for k in range(1, 30)
    ]
    return [(a, b, a if rng.random() < chance else b) for a, b, chance in pairs for _ in range(each)]


@pytest.mark.parametrize("model", ["full", "kernel"])
def test_groups_never_compared_are_not_told_apart_by_a_board_of_a_part(model):
    options = {"kernel": "linear"} if model == "kernel" else {}
    made = conquer.fit(two_stars(0, 60 if model == "full" else 8), model=model, **options)
    whole, part = made.board(interval="fixed"), made.board(["i0", "i30"], design="fixed")
    assert abs(part.scores[0] - part.scores[1]) > 0.5
    assert not part.better.any()
    assert not made.board(["i0", "i30"]).better.any()
    assert len(whole) == 60
    # Without the bound on the worth of ids it would be decided.
    assert made.board(["i0", "i30"], design="fixed", U=0.0).better.any()


def test_the_bound_of_rows_that_are_no_ids_counts_the_items():
    """U = sqrt(K) for K listed items, or all that a fitted session knows."""
    made = conquer.fit([("a", "b", "a")], {"a": [1.0, 2.0], "b": [2.0, 1.0], "c": [3.0, 1.0]}, model="full")
    for listed, count in ((["a", "b"], 3), (["a", "b", "c"], 3)):
        default, given = (made.board(listed, **each) for each in ({}, {"U": np.sqrt(count)}))
        assert default.high == pytest.approx(given.high, rel=1e-12)
    learner = made.learner
    alone = learner.board(made.catalog.rows.take([0, 1]))
    assert alone.high == pytest.approx(learner.board(made.catalog.rows.take([0, 1]), U=np.sqrt(2)).high, rel=1e-12)


def test_a_session_has_board_settings():
    made = session(stop=0.5, board=BoardSettings(delta=0.1, U=3.0, interval="proved", tau2=0.5))
    board = made.board(ITEMS)
    assert (board.delta, board.interval, board.width.tau2) == (0.1, "proved", 0.5)
    assert (board.high < made.board(ITEMS, U=4.0).high).all()
    assert made.board(ITEMS, interval="fixed").interval == "fixed"
    again = restore(made.dumps())
    assert again.board_settings == made.board_settings
    assert again.dumps() == made.dumps()


def test_offers_are_done_by_the_sessions_own_level():
    rounds = []
    for delta in (0.5, 1e-6):
        made = conquer.Session(conquer.make("tob", dim=3, model="full"), stop=1.5, board=BoardSettings(delta=delta))
        rounds.append(0)
        while not (offer := made.ask(ITEMS)).done:
            made.tell(offer.id, min(offer.shown, key=list(ITEMS).index))
            rounds[-1] += 1
    assert 5 < rounds[0] < rounds[1] < 200
    projected = conquer.make("gnr", dim=3, model="full", projection="exact")
    assert conquer.Session(projected, stop=0.5).stop == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0}, "delta must be"),
        ({"U": -1}, "U must be"),
        ({"interval": "wald"}, "interval must be one of"),
        ({"tau2": 0}, "tau2 must be"),
    ],
)
def test_board_settings_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        conquer.Session(conquer.make("gnr", dim=3), board=BoardSettings(**options))


def test_names_stand_for_the_ids():
    assert session().board(ITEMS, names=["Tea", "Mug", "Pot"]).names == ("Tea", "Mug", "Pot")
    with pytest.raises(ValueError, match="one name per item"):
        session().board(ITEMS, names=["Tea"])
