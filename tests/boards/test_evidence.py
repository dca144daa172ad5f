"""Evidence: wealth by hand, parts of a log, voters left out, files, and the leader that is alive."""

import math

import numpy as np
import pytest

import conquer
from conquer import MemoryLedger, Session, make, simulate
from conquer.boards import Evidence
from conquer.boards.evidence import BETS, Answers, Race, direct
from conquer.rows import Rounds
from conquer.session import restore

ITEMS = {name: np.eye(4)[k] for k, name in enumerate("abcd")}


def answers(pairs, gaps, deviations, y):
    n = len(y)
    first, second = np.array(pairs).T
    floats = (np.array(each, float) for each in (gaps, deviations))
    return Answers(
        first, second, *floats, np.full(n, np.nan), np.full(n, 4), np.full(n, -1), np.ones(n), np.array(y, float)
    )


def drawn(seed, n=300, count=4):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, count, n)
    pairs = np.stack([first, (first + rng.integers(1, count, n)) % count], axis=1)
    return answers(pairs, rng.normal(size=n), rng.uniform(0, 1, n), rng.choice([-1.0, -0.3, 0.0, 1.0], n))


def test_the_lower_scored_item_is_bet_against():
    race = Race(3)
    race.add(answers([(0, 1), (1, 0), (0, 2), (0, 1)], [1.0, 0.6, 0.1, 9.0], [0.4, 0.0, 1.0, 0.0], [1, -1, 1, 0.5]))
    # Item 1 loses to 0 by the bet (1 - 0.2)/2; then 0 is the lower one and wins; a gap within the caution is no bet.
    one = math.log1p(0.4) + math.log1p(0.9 * 0.5)
    assert race.log == pytest.approx([math.log1p(-0.3), one, 0.0])
    assert race.peak == pytest.approx([0.0, one, 0.0])
    race.add(answers([(0, 1)] * 4, [9.0] * 4, [0.0] * 4, [1, 1, 1, 1]))
    assert race.alive(0.05).tolist() == [True, one + 4 * math.log1p(0.9) < math.log(20), True]


def test_an_item_that_is_out_stays_out():
    race = Race(2)
    race.add(answers([(0, 1)] * 10, [9.0] * 10, [0.0] * 10, [1] * 6 + [-1] * 4))
    assert race.log[1] < 0.0 < math.log(20) < race.peak[1]
    assert race.alive(0.05).tolist() == [True, False]


def test_a_tolerance_adds_what_direct_answers_say_about_the_leader():
    race, told = Race(3, tolerance=0.5), answers([(0, 1), (2, 1)], [0.8, 0.2], [0.4, 0.2], [1, -1])
    race.add(told)
    # Of 1 beside the leader 0: the direct answer by the bet with the tolerance, the other one as for `alive`.
    direct_, other = math.log1p((0.5 + 0.8 - 0.2) / 2 * 1.25), math.log1p(-(0.2 - 0.1) / 2)
    wealth = direct_ + other
    assert race.log[1] + race.extra[race.slots[1]] == pytest.approx(wealth)
    level = 3 * math.exp(-wealth)
    assert race.behind(0, level * 1.001)[1]
    assert not race.behind(0, level * 0.999)[1]
    # Beside 2 the bet was the smallest, tolerance / 4 at least: 2 lost to 1.
    assert race.extra[race.slots[2 * 3 + 1]] == pytest.approx(
        math.log1p(max(0.125, (0.5 + 0.2 - 0.1) / 2) * (0.25 - 1.0)) - other
    )


@pytest.mark.parametrize("tolerance", [None, 0.3])
def test_answers_one_at_a_time_are_answers_together(tolerance):
    whole, parts, told = Race(4, tolerance), Race(4, tolerance), drawn(0)
    whole.add(told)
    for t in range(0, 300, 7):
        parts.add(Answers(*(column[t : t + 7] for column in told)))
    assert whole.log.tolist() == parts.log.tolist()
    assert whole.peak.tolist() == parts.peak.tolist()
    for leader in range(4):
        assert whole.behind(leader, 0.05).tolist() == parts.behind(leader, 0.05).tolist()


def test_a_part_of_the_items_is_a_log_without_the_others():
    told = drawn(1)
    evidence, alone = Evidence(), Evidence()
    evidence.extend("abcd", told)
    kept = (told.first != 1) & (told.second != 1)
    alone.extend("abcd", Answers(*(column[kept] for column in told)))
    mine, other = evidence.among("dca"), alone.among("dca")
    assert all(np.array_equal(one, two, equal_nan=True) for one, two in zip(mine, other, strict=True))
    assert set(mine.first.tolist()) == {0, 1, 2}


def test_direct_tests_mix_bets_and_share_the_level_among_ordered_pairs():
    told = answers([(0, 1)] * 12 + [(1, 0)] * 3, [0.0] * 15, [1.0] * 15, [1.0] * 12 + [-1.0] * 2 + [0.0])
    wealth = np.mean((1 + BETS) ** 14)
    level = 2 * 1 / wealth
    assert direct(told, 2, level * 1.001).tolist() == [[False, True], [False, False]]
    assert not direct(told, 2, level * 0.999).any()


def asked(session, count, seed=0, voters=("ann", "bob")):
    rng = np.random.default_rng(seed)
    for t in range(count):
        offer = session.ask(ITEMS)
        session.tell(offer, "first" if rng.random() < 0.6 else "second", voter=voters[t % len(voters)])
    return session


@pytest.mark.parametrize("parameters", [{}, {"believe": "voters"}, {"explore": 0.3}])
def test_a_file_keeps_the_evidence_and_a_ledger_gives_it_again(parameters):
    session = asked(Session(make("gnr", dim=4, model="full", **parameters), ledger=MemoryLedger()), 40)
    again = restore(session.dumps())
    assert again.evidence.array().tobytes() == session.evidence.array().tobytes()
    assert Evidence.of_ledger(session.ledger).array().tobytes() == session.evidence.array().tobytes()
    assert len(Evidence.of_ledger(session.ledger, without=["ann"])) == 20
    one, two = session.board(ITEMS), again.board(ITEMS)
    assert (one.slope, one.fit_p, one.best.tolist()) == (two.slope, two.fit_p, two.best.tolist())


def test_late_answers_are_bet_on_by_the_forecast_of_their_offer():
    session = Session(make("gnr", dim=4, model="full"))
    offers = [session.ask(ITEMS) for _ in range(5)]
    forecasts = [offer.choice.memo["forecast"] for offer in offers]
    for offer in reversed(offers):
        session.tell(offer, "first")
    assert session.evidence.array()[:, 2:4].tolist() == [list(each) for each in reversed(forecasts)]
    assert all(gap == 0.0 for gap, _ in forecasts)


def test_skipped_and_cancelled_offers_leave_no_record():
    session = Session(make("gnr", dim=4, model="full"))
    session.tell(session.ask(ITEMS), "skip")
    session.cancel(session.ask(ITEMS))
    assert len(session.evidence) == 0
    assert Session(make("gnr", dim=4)).evidence is None
    for name, options, kept in (("gnr", {}, False), ("gnr", {"stop": 0.5}, True), ("tob", {}, True)):
        session = Session(make(name, dim=4, model="kernel"), **options)
        assert (session.evidence is not None) == (restore(session.dumps()).evidence is not None) == kept


def test_a_simulation_and_a_session_keep_the_same_evidence():
    X = np.eye(5)
    worth = np.linspace(-1, 1, 5)
    rounds = Rounds(X, np.tile(np.arange(5), (200, 1)), worth)
    for rule in ("gnr", "tob"):
        traces = [simulate(rule, rounds, model="full", seed=3, evidence=True, compiled=c) for c in (True, False)]
        session = Session(make(rule, dim=5, model="full"), seed=3)
        for shown, answer in zip(traces[0].shown.tolist(), traces[0].answers, strict=True):
            offer = session.ask(dict(enumerate(X)))
            assert offer.shown == tuple(shown)
            session.tell(offer, float(answer))
        for trace in traces:
            ours, theirs = (each.evidence.among(range(5)) for each in (trace, session))
            assert all(np.array_equal(one, two, equal_nan=True) for one, two in zip(ours, theirs, strict=True))
        board = traces[0].learner.board(X, evidence=traces[0].evidence, ids=range(5))
        assert board.best.tolist() == session.board(dict(enumerate(X))).best.tolist()
    assert simulate("gnr", rounds, model="full").evidence is None
    with pytest.raises(ValueError, match="evidence is kept of duels that a full or kernel model learns"):
        simulate("gnr", rounds, evidence=True)


def test_no_condorcet_winner_is_never_done_and_says_so():
    """Rock, scissors, paper: each beats one of the others nine times in ten."""
    session, rng = Session(make("gnr", dim=3, model="full"), stop=0.5), np.random.default_rng(0)
    items = {name: np.eye(3)[k] for k, name in enumerate(("rock", "scissors", "paper"))}
    order = list(items)
    for _ in range(600):
        offer = session.ask(items)
        wins = order.index(offer.shown[1]) == (order.index(offer.shown[0]) + 1) % 3
        session.tell(offer, "first" if (rng.random() < 0.9) == wins else "second")
    assert "do not add up" in session.board(items).warnings[0]
    # The scores are level, so nothing was bet; a forecast that knows better excludes every item.
    for first, second in (("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")):
        for _ in range(40):
            session.evidence.add(first, second, (1.0, 0.1), 1.0)
    board = session.board(items)
    assert board.best.size == 0
    assert not session.ask(items).done
    assert not board.stop(0.5).done
    assert math.isinf(board.stop(0.5).more)
    assert "no best one" in board.warnings[-1]
    assert "no best one" in board.stop(0.5).text
    assert repr(board).count("warning: ") == 2


def test_the_leader_is_the_highest_scored_item_alive():
    told = answers([(0, 1)] * 30 + [(1, 2)] * 200, [9.0] * 230, [0.0] * 230, [1.0] * 230)
    learner, evidence = make("gnr", dim=3, model="full"), Evidence()
    evidence.extend("abc", told)
    for i, j, y in zip(told.first, told.second, told.answer, strict=True):
        learner.model.update(np.eye(3), {int(i): 0.5, int(j): -0.5}, y)
    learner.model.update(np.eye(3), {1: 0.5, 2: -0.5}, 1.0)
    board = learner.board(np.eye(3), evidence=evidence, ids="abc", names="abc")
    assert board.best.tolist() == [0]
    assert board.leader == 0
    assert learner.board(np.eye(3)).answered is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[:, :8], "rows of 9 numbers"),
        (lambda r: r * np.nan, "inconsistent"),
        (lambda r: r + [0, 9, 0, 0, 0, 0, 0, 0, 0], "inconsistent"),
        (lambda r: r * [1, 0, 1, 1, 1, 1, 1, 1, 1], "inconsistent"),
        (lambda r: r * [1, 1, 1, 1, 1, 1, 1, 1, 3], "inconsistent"),
        (lambda r: r * [1, 1, 1, -1, 1, 1, 1, 1, 1], "inconsistent"),
    ],
)
def test_damaged_records_are_refused(change, message):
    evidence = Evidence()
    for pair in ("ab", "bc", "ac"):
        evidence.add(*pair, (0.1, 0.2), 1.0, chance=0.5, voter="ann")
    good = Evidence.from_settings(evidence.settings(), evidence.array())
    assert good.array().tobytes() == evidence.array().tobytes()
    with pytest.raises(ValueError, match=message):
        Evidence.from_settings(evidence.settings(), np.ascontiguousarray(change(evidence.array())))


def test_pairs_chosen_by_looking_end_a_fixed_design():
    settings = conquer.BoardSettings(design="fixed")
    session = Session(make("gnr", dim=4, model="full"), board=settings)
    assert session.board(ITEMS).interval == "anytime"
    asked(session, 3)
    assert session.board(ITEMS).interval == "proved"
    with pytest.raises(ValueError, match="by looking at answers"):
        session.board(ITEMS, interval="anytime")
    assert session.board(ITEMS, interval="anytime", design="fixed").interval == "anytime"
    mixed = asked(Session(make("gnr", dim=4, model="full", explore=1.0), board=settings), 3)
    assert mixed.board(ITEMS).interval == "anytime"


def test_votes_from_elsewhere_are_forecast_from_those_before():
    told = drawn(2, n=400)
    evidence, calls = Evidence(), []
    people = np.arange(400) % 3 - 1

    def read():
        calls.append(1)
        evidence.add_votes("abcd", told.first, told.second, told.answer, people, told.weight, ["ann", "bob"])

    evidence.source = read
    assert len(evidence) == 0
    evidence.add("a", "b", (0.0, 1.0), 1.0)
    records = evidence.array()
    assert (len(evidence), len(calls)) == (401, 1)
    assert records[:4, 2].tolist() == [0.0] * 4  # nothing is known before the first block
    assert np.abs(records[4:400, 2]).min() > 0.0
    assert (np.diff(records[:400, 3]) < 0.2).all()
    # A vote changes no forecast of votes before it.
    other = Evidence()
    other.add_votes(
        "abcd",
        told.first,
        told.second,
        np.append(told.answer[:-50], -told.answer[-50:]),
        people,
        told.weight,
        ["ann", "bob"],
    )
    assert other.array()[:350, 2].tolist() == records[:350, 2].tolist()


def test_records_that_do_not_cover_the_model_are_joined_with_intervals():
    learner, evidence = make("gnr", dim=2, model="full"), Evidence()
    for _ in range(400):
        learner.model.update(np.eye(2), {0: 0.5, 1: -0.5}, 1.0)
    evidence.add("a", "b", (1.9, 0.1), 1.0)
    board = learner.board(np.eye(2), evidence=evidence, names=["a", "b"])
    assert board.best.tolist() == [0]
    for _ in range(399):
        evidence.add("b", "a", (0.0, 0.1), 1.0)
    assert learner.board(np.eye(2), evidence=evidence, names=["a", "b"]).best.tolist() == [0, 1]


def test_a_board_says_of_how_many_voters_its_answers_are():
    session = asked(Session(make("gnr", dim=4, model="full")), 6, voters=("ann", "bob", "cat"))
    assert '4 items, 6 answers of 3 voters, 95 % "proved"' in repr(session.board(ITEMS))


def test_positions_and_items_in_a_context_are_no_evidence():
    """An id of a list is a position, and who is best may depend on the context."""
    session = Session(make("gnr", dim=4, model="full"), stop=0.5)
    session.tell(session.ask(np.eye(4)), "first")
    session.tell(session.ask({"a": "tea", "b": "mug"}, context="morning"), "first")
    assert len(session.evidence) == 0
    assert session.board(np.eye(4)).answered is None
    session.tell(session.ask(ITEMS), "first")
    assert len(session.evidence) == 1
    board = session.board(ITEMS)
    assert (board.answered.total, board.complete) == (1, False)
    assert board.stop(0.5).done == session.ask(ITEMS).done


def test_what_is_open_is_said_of_the_test_that_is_open():
    session = asked(Session(make("gnr", dim=4, model="full")), 10)
    board = session.board(ITEMS)
    rest = [k for k in board.order.tolist() if k != board.leader]
    one, two = board.name(rest[0]), board.name(board.leader)
    assert board.stop(0.5).text.startswith(f"not yet: {one} may be better than {two} by more than 0.5; about ")
