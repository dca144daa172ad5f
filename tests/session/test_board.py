"""Sessions that rank and may stop: no round is used, files keep the tolerance."""

import numpy as np
import pytest

import conquer
from conquer.session import restore

ITEMS = {"tea": [1.0, 0.0, 0.0], "mug": [0.0, 1.0, 0.0], "pot": [0.0, 0.0, 1.0]}


def session(**options):
    made = conquer.Session(conquer.make("gnr", dim=3, model="full"), seed=3, **options)
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
    with pytest.raises(ValueError, match="groups must have one group for every item, got none for 'pot'"):
        session().board(ITEMS, groups={"tea": "drink", "mug": "thing"})


def test_a_session_that_knows_no_items_says_so():
    for ask in (session().board, session().rank):
        with pytest.raises(ValueError, match="knows no items of its own"):
            ask()


def test_an_offer_is_done_once_the_board_says_so():
    made = conquer.Session(conquer.make("gnr", dim=3, model="full"), stop=1.5, delta=0.1)
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
    again = restore(session(stop=0.5, delta=0.2).dumps())
    assert (again.stop, again.delta) == (0.5, 0.2)
    plain = restore(session().dumps())
    assert (plain.stop, plain.delta) == (None, 0.05)
    assert b'"stop"' not in session().dumps()


def test_stopping_is_refused_where_there_is_no_board():
    with pytest.raises(ValueError, match="got a diagonal one"):
        conquer.Session(conquer.make("gnr", dim=3), stop=0.5)
    with pytest.raises(ValueError, match="stop must be"):
        conquer.Session(conquer.make("gnr", dim=3, model="full"), stop=-1)
    with pytest.raises(ValueError, match="delta must be"):
        conquer.Session(conquer.make("gnr", dim=3, model="full"), delta=0)
