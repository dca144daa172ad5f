"""Off-policy estimates against the truth of a small world, and refusals where the log cannot know."""

import numpy as np
import pytest
from rivals.driving import world

from conquer.judges import LawJudge
from conquer.offpolicy import OverlapError, compare_targets, evaluate, matches, read_log
from conquer.registry import make
from conquer.session import MemoryLedger, Session

DIM, COUNT = 4, 4


def session_log(rounds, seed, name="ttg", **parameters):
    X, taste = world(rounds, COUNT, DIM, seed)
    session, judge = (
        Session(make(name, dim=DIM, model="full", **parameters), seed=seed, ledger=MemoryLedger()),
        LawJudge("linear"),
    )
    rng = np.random.default_rng(seed)
    for x in X:
        offer = session.ask(x)
        told = judge(offer.choice, x @ taste, rng)
        if told is not None:
            session.tell(offer.id, told)
    return session, taste


def truth(log, target, taste, seed=0):
    """The mean over rounds of E[y] = (r_first - r_second)/2 of the target's own choices."""
    _, choices = matches(log, target, seed=seed)
    values = [e.rows.dense() @ taste for e in log]
    return np.mean([(v[c[0].shown[0]] - v[c[0].shown[-1]]) / 2 for v, c in zip(values, choices, strict=True)])


def trained(name, seed, rounds=300):
    return session_log(rounds, seed, name)[0].learner


@pytest.fixture(scope="module")
def logs():
    """A target, and twenty logs with its true value on each."""
    target, found = trained("gnw", 77), []
    for seed in range(20):
        session, taste = session_log(400, seed, explore=0.9)
        log = read_log(session.ledger)
        found.append((log, truth(log, target, taste)))
    return target, found


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_estimates_cover_the_truth(method, logs):
    """95 % intervals over twenty logs: binomial(20, 0.95) is below 16 with chance 0.003."""
    target, found = logs
    estimates = [(evaluate(log, target, method=method, least=10), value) for log, value in found]
    assert sum(estimate.low <= value <= estimate.high for estimate, value in estimates) >= 16


def test_doubly_robust_is_narrower_than_inverse_propensity():
    session, _ = session_log(1500, 3, explore=0.8)
    log, target = read_log(session.ledger), trained("gnw", 5)
    ips, dr = (evaluate(log, target, method=method) for method in ("ips", "dr"))
    assert dr.high - dr.low < ips.high - ips.low
    assert ips.used == dr.used
    assert ips.effective <= ips.used


def test_a_certain_log_is_refused():
    session, _ = session_log(300, 1)
    with pytest.raises(OverlapError, match="never could|effective"):
        evaluate(read_log(session.ledger), trained("gnw", 2), method="ips")


def test_a_log_without_chances_is_refused_but_its_explored_rounds_serve():
    session, _ = session_log(1500, 2, "gnt", explore=0.5)
    with pytest.raises(OverlapError, match="recorded chance"):
        read_log(session.ledger)
    log = read_log(session.ledger, explored=True)
    assert 0.4 < len(log) / 1500 < 0.6
    assert evaluate(log, trained("ttg", 4), method="snips").used >= 30


def test_too_little_overlap_is_refused():
    session, _ = session_log(60, 2, explore=1.0)
    with pytest.raises(OverlapError, match="effective rounds"):
        evaluate(read_log(session.ledger), trained("ttg", 4), method="ips")


def test_recorded_chances_are_the_frequencies():
    """Over many tickets of one round, each ordered pair comes as often as its recorded chance says."""
    learner, X = trained("ttg", 9), world(1, COUNT, DIM, 6)[0][0]
    explorer = make("ttg", dim=DIM, model="full", explore=0.3)
    explorer.restore(learner.arrays())
    seen = {}
    for ticket in range(4000):
        choice = explorer.choose(X, ticket)
        seen.setdefault(choice.shown, []).append(choice.memo["chance"])
    assert len(seen) == COUNT * (COUNT - 1)
    for found in seen.values():
        assert len(set(found)) == 1
        assert abs(len(found) / 4000 - found[0]) < 5 * np.sqrt(found[0] * (1 - found[0]) / 4000)


def test_targets_are_compared_on_logs():
    session, _ = session_log(3000, 4, explore=1.0)
    log = read_log(session.ledger)
    # gnw, trained on the same taste, shows its best against its worst: its first wins far more often than random's.
    gap = compare_targets(log, trained("gnw", 4, 3000), make("random", dim=DIM))
    assert gap.low > 0.05
