"""What simulate adds to the learners: seeds, progress, refusals, plain rules, kernels that outgrow their room."""

import numpy as np
import pytest

from conquer.judges import LawJudge
from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import CONFIDENT, GREEDY, RELATIVE_UCB, Policy
from conquer.registry import make
from conquer.rows import Rounds, SparseRows
from conquer.simulation import simulate
from conquer.tickets import stream, tickets
from conquer.types import Choice, Query


def world(rounds=100, dim=5, count=4, ratings=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Rounds(X, rng.integers(0, 40, (rounds, count)), X[:, 0], ratings)


def test_a_generator_gives_the_tickets_it_would_give_one_by_one():
    rounds = world()
    trace = simulate("gnr", rounds, judge="perfect", seed=np.random.default_rng(8))
    rng, learner = np.random.default_rng(8), make("gnr", dim=5)
    for t, here in enumerate(rounds):
        choice = learner.choose(here.items, rng)
        assert choice.shown == tuple(trace.shown[t])
        learner.learn(here.items, choice, float(np.sign(here.rewards[choice.shown[0]] - here.rewards[choice.shown[1]])))


def test_same_seed_same_trace_other_seed_other_trace():
    rounds = world()
    one, two, other = (simulate("gnr", rounds, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.shown, two.shown)
    assert not np.array_equal(one.shown, other.shown)


def test_all_algorithms_meet_the_same_judge():
    rounds = world(400, count=3)
    one, two = (simulate(name, rounds, seed=1) for name in ("ttg", "gnr"))
    same = (one.shown == two.shown).all(axis=1)
    assert 40 < same.sum() < 400
    np.testing.assert_array_equal(one.answers[same], two.answers[same])
    assert (one.answers[~same] != two.answers[~same]).any()


def test_a_judge_of_ones_own_is_asked_call_by_call():
    rounds = world()
    trace = simulate("gnr", rounds, judge=lambda choice, rewards, ticket: -1.0)
    assert (trace.answers == -1).all()
    with pytest.raises(ValueError, match="function of choice"):
        simulate("gnr", rounds, judge=3)


def test_a_kernel_model_grows_in_mid_loop():
    rounds = world(200)
    fast, slow = (simulate("gnt", rounds, model="kernel", compiled=c, delay=3) for c in (True, False))
    np.testing.assert_array_equal(fast.shown, slow.shown)
    np.testing.assert_array_equal(fast.learner.scores(np.eye(5)), slow.learner.scores(np.eye(5)))
    assert fast.learner.model.counts[1] == 200


def test_many_items_need_no_square_of_them():
    X = SparseRows(np.arange(30_001), np.zeros(30_000, int), np.linspace(0, 1, 30_000), 5)
    learner = make("ttg", dim=5)
    learner.learn(X, learner.choose(X, 1), 1.0)
    assert learner.model.work.nbytes < 30_000 * 8 * 10


def test_the_paper_size_fits_in_32_bytes_a_feature():
    dim, rng = 6_255_811, np.random.default_rng(0)
    ids = np.sort(rng.integers(0, dim, (300, 150)), axis=1)
    X = SparseRows(np.arange(301) * 150, ids.ravel(), np.full(ids.size, 150**-0.5), dim)
    trace = simulate("gnc", Rounds(X, rng.integers(0, 300, (500, 10)), rng.uniform(-1, 1, 300)))
    model = trace.learner.model
    assert sum(array.nbytes for array in (model.table, model.work)) <= 32 * dim + 10_000


def test_raters_answer_from_ratings():
    ratings = np.tile(np.arange(3.0), (40, 1))
    rounds = world(400, ratings=ratings)
    fast, slow = (simulate("gnr", rounds, judge="raters", compiled=c) for c in (True, False))
    np.testing.assert_array_equal(fast.answers, slow.answers)
    for value in (-1.0, 0.0, 1.0):
        assert abs((fast.answers == value).mean() - 1 / 3) < 4.5 * np.sqrt(2 / 9 / 400)
    with pytest.raises(ValueError, match="ratings"):
        simulate("gnr", world(), judge="raters")


def relative(model, X, first, eta, ticket):
    return model.scores(X) + np.sqrt(eta * model.contrasts(X, first))


def sure(model, X, first, second, eta):
    scores = model.scores(X)
    return not scores[first] - scores[second] > np.sqrt(eta * model.contrasts(X, first)[second])


def test_rules_in_plain_python_equal_the_compiled_ones():
    rounds = world(300)
    compiled = Conquer(Full(5), Policy(first=GREEDY, second=RELATIVE_UCB, gate=CONFIDENT), eta=0.5)
    plain = Conquer(Full(5), Policy(first=GREEDY, second=relative, gate=sure), eta=0.5)
    half = Conquer(Full(5), Policy(first=GREEDY, second=relative, gate=CONFIDENT), eta=0.5)
    traces = [simulate(learner, rounds, seed=3) for learner in (compiled, plain, half)]
    assert traces[0].query_rate < 1
    for trace in traces[1:]:
        np.testing.assert_array_equal(trace.shown, traces[0].shown)
        np.testing.assert_array_equal(trace.learner.model.weights(), compiled.model.weights())
    with pytest.raises(ValueError, match="values"):
        Conquer(Full(5), Policy(first=lambda *a: np.zeros(2), second=GREEDY)).choose(np.eye(5), 1)


def test_frames_have_a_row_a_round():
    frame = simulate("gnc", world()).to_frame()
    assert frame.height == 100
    assert {"round", "first", "second", "query", "answer", "regret"} <= set(frame.columns)


def test_wrong_calls_are_refused():
    rounds = world()
    for wrong, message in (
        ({"delay": -1}, "delay"),
        ({"batch": 0}, "batch"),
        ({"judge": "nobody"}, "judge"),
        ({"eta": -1.0}, "eta"),
        ({"lam": 0.0}, "lam"),
        ({"lam": float("nan")}, "lam"),
        ({"lam": True}, "lam"),
        ({"update": "none"}, "update"),
        ({"projection": "some"}, "projection"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate("gnc", rounds, **wrong)
    with pytest.raises(TypeError, match="by name"):
        simulate(make("gnc", dim=5), rounds, eta=1.0)
    with pytest.raises(ValueError, match="features"):
        simulate(make("gnc", dim=6), rounds)
    with pytest.raises(ValueError, match="two items"):
        simulate("gnc", Rounds(np.eye(2), [[0, -1]], [0.0, 0.0]))
    single = simulate("confidit", Rounds(np.eye(2), [[0, -1]], [0.0, 0.0]))
    assert single.shown.tolist() == [[0, -1]]
    assert simulate("gnc", Rounds(np.eye(2), np.empty((0, 2), int), [0.0, 0.0])).regret.size == 0


def test_regret_is_that_of_the_best_shown():
    rounds = world(70, count=6)
    trace = simulate("rank-breaking", rounds, show=4, seed=1)
    for t, here in enumerate(rounds):
        worth = [float(here.rewards[k]) for k in trace.shown[t] if k >= 0]
        top = here.rewards.max()
        assert trace.regret[t] == top - max(worth)
        assert trace.average_regret[t] == pytest.approx(sum(top - w for w in worth) / len(worth))
        assert trace.strong_regret[t] == 2 * trace.average_regret[t]
    assert {"first", "second", "shown_2", "shown_3"} <= set(trace.to_frame().columns)


def test_two_shown_have_the_same_regrets_either_way():
    rounds = world(70, count=6)
    trace = simulate("ttg", rounds, seed=1)
    gaps = trace.best[:, None] - trace.rewards
    np.testing.assert_array_equal(trace.regret, gaps.min(axis=1))
    np.testing.assert_allclose(trace.strong_regret, 2 * gaps.mean(axis=1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["gnr", "toptwo", "rank-breaking"])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("delay", "batch"), [(7, 1), (3, 4), (200, 1), (0, 300)])
def test_late_answers_are_learnt_in_their_turn_and_the_last_ones_at_the_end(name, compiled, delay, batch):
    rounds = world()
    trace = simulate(name, rounds, judge="perfect", delay=delay, batch=batch, compiled=compiled)
    assert trace.learner.answers == (trace.query == Query.DUEL).sum() > 50
    learner, choices, learnt = make(name, dim=5), [], 0
    own = tickets(stream("policy", 0), 0, len(rounds))
    for t, here in enumerate(rounds):
        choices.append(learner.choose(here.items, int(own[t])))
        np.testing.assert_array_equal([k for k in trace.shown[t] if k >= 0], choices[t].shown)
        due = len(rounds) if t + 1 == len(rounds) else t + 1 - delay if (t + 1) % batch == 0 else 0
        while learnt < due:
            if choices[learnt].query == Query.DUEL:
                learner.learn(rounds[learnt].items, choices[learnt], float(trace.answers[learnt]))
            learnt += 1
    for key, array in learner.arrays().items():
        np.testing.assert_array_equal(array, trace.learner.arrays()[key], err_msg=key)


def test_a_sequence_of_judges_has_one_for_every_round():
    rounds = world()
    perfect = LawJudge("perfect")

    def contrary(choice, rewards, ticket):
        return -perfect(choice, rewards, ticket)

    judges = [perfect if t % 2 else contrary for t in range(len(rounds))]
    trace = simulate("gnr", rounds, judge=judges, seed=5)
    signs = np.sign(trace.rewards[:, 0] - trace.rewards[:, 1])
    np.testing.assert_array_equal(trace.answers, np.where(np.arange(100) % 2, signs, -signs))
    alike = simulate("gnr", rounds, judge=[perfect] * 100, seed=5)
    np.testing.assert_array_equal(alike.shown, simulate("gnr", rounds, judge="perfect", seed=5).shown)
    with pytest.raises(ValueError, match="one per round, got 99 for 100"):
        simulate("gnr", rounds, judge=judges[1:])
    with pytest.raises(ValueError, match="function of choice"):
        simulate("gnr", rounds, judge=[*judges[1:], 3])
    with pytest.raises(ValueError, match="ratings"):
        simulate("gnr", rounds, judge=[*judges[1:], LawJudge("raters")])


@pytest.mark.parametrize("name", ["gnc", "maxinp"])
def test_a_delay_may_be_a_whole_float(name):
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 12, [1.0, 0.0, -1.0])
    one, two = (simulate(name, rounds, delay=delay, batch=batch) for delay, batch in ((2, 3), (2.0, 3.0)))
    assert (one.shown == two.shown).all()


def test_a_rule_that_returns_no_number_is_told_so():
    def broken(model, X, first, eta, ticket):
        values = model.scores(X).copy()
        values[2] = np.nan
        return values

    learner = Conquer(Full(3), Policy(GREEDY, broken))
    with pytest.raises(ValueError, match="the rule must return numbers, got nan for item 2"):
        learner.choose(np.eye(3), 1)
    excluding = Conquer(Full(3), Policy(GREEDY, lambda model, X, first, eta, ticket: [0.0, -np.inf, -np.inf]))
    assert 0 in excluding.choose(np.eye(3), 1).shown


def test_the_rounds_say_the_dimension():
    rounds = Rounds(np.eye(3), [[0, 1, 2]], [1.0, 0.0, -1.0])
    with pytest.raises(TypeError, match="the rounds have 3 features, so dim is not given, got 5"):
        simulate("gnr", rounds, dim=5)


def test_a_judge_without_an_answer_teaches_nothing():
    """As a session ignores None: the learner ends as one that has learnt the answered rounds alone."""
    rounds, law = world(rounds=30), LawJudge("linear")

    def reluctant(choice, rewards, ticket):
        return None if ticket % 3 == 0 else law(choice, rewards, ticket)

    trace = simulate("gnr", rounds, judge=reluctant, model="full")
    declined = np.isnan(trace.answers)
    assert 0 < declined.sum() < 30
    twin = make("gnr", dim=rounds.X.dim, model="full")
    for t in np.flatnonzero(~declined):
        twin.learn(rounds[t].items, Choice(tuple(trace.shown[t]), Query.DUEL, 0), trace.answers[t])
    assert trace.learner.answers == twin.answers
    np.testing.assert_array_equal(trace.learner.model.weights(), twin.model.weights())
