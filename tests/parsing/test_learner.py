"""The per-call learner: against a transcription of the rules, in a session, with other models, and its refusals."""

import numpy as np
import pytest
from parsing.treebanks import conllu, random_treebank

from conquer.data.treebank import parse, tree_fault
from conquer.kernels.parsing.edges import row_of
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.parsing.edges import Features
from conquer.parsing.learner import ASK, EdgeLearner, EdgeRule
from conquer.session import MemoryLedger, Session, replay
from conquer.types import Choice, Query

FEATURES = Features("tags", bits=7)
BANK = [s for s in random_treebank(5, 40) if len(s) > 1]


def fresh(model=Diagonal, **rule):
    return EdgeLearner(model(FEATURES.dim), EdgeRule(**rule), features=FEATURES)


def trained(count=25, model=Diagonal, **rule):
    learner = fresh(model, **rule)
    for t, sentence in enumerate(BANK[:count]):
        choice = learner.choose(sentence, t)
        learner.learn(sentence, choice, truth(sentence, choice))
    return learner


def truth(sentence, choice):
    gold = sentence.heads[choice.memo["word"] - 1]
    return dict(zip(choice.memo["heads"], (1.0, -1.0), strict=True)).get(gold, 0.0)


def literal_question(learner, sentence, eta=0.5):
    """The value of every question, from dense vectors."""
    rows = FEATURES.rows(sentence).dense()
    w, a = learner.model.weights(), learner.model.precision()
    n = len(sentence)
    heads = learner.tree(sentence)
    edge = {}
    for j in range(1, n + 1):
        for slot, i in enumerate(i for i in range(n + 1) if i != j):
            edge[j, i] = rows[(j - 1) * n + slot]
    values = {}
    for j in range(1, n + 1):
        k = int(heads[j - 1])
        for i in range(n + 1):
            if i in (j, k):
                continue
            gap = edge[j, i] @ w - edge[j, k] @ w
            difference = edge[j, i] - edge[j, k]
            width = np.sqrt(eta * (difference**2 / a).sum())
            values[j, k, i] = {"margin": gap, "confusion": width, "gnc": gap + width}
    return values


@pytest.mark.parametrize("ask", ["margin", "confusion", "gnc"])
def test_the_question_is_the_rules_best(ask):
    learner = trained(ask=ask)
    for t, sentence in enumerate(BANK):
        choice = learner.choose(sentence, t)
        values = literal_question(learner, sentence)
        chosen = values[(choice.memo["word"], *choice.memo["heads"])][ask]
        assert chosen == pytest.approx(max(value[ask] for value in values.values()), abs=1e-12)


@pytest.mark.parametrize("ask", list(ASK))
def test_choosing_is_pure_and_repeatable(ask):
    learner = trained(ask=ask)
    before = learner.model.table.copy()
    for sentence in BANK[:10]:
        choice = learner.choose(sentence, np.random.default_rng(3))
        assert learner.choose(sentence, choice.ticket) == choice
        size, word = len(sentence), choice.memo["word"]
        assert all(edge // size == word - 1 for edge in choice.shown)
        assert choice.memo["heads"][0] == learner.tree(sentence)[word - 1]
        assert len(set(choice.memo["heads"])) == 2
    assert (learner.model.table == before).all()


def test_random_questions_cover_everything_evenly():
    learner = fresh(ask="random")
    sentence = next(s for s in BANK if len(s) == 3)
    seen = [learner.choose(sentence, t).shown for t in range(2000)]
    kinds, counts = np.unique(np.array(seen), axis=0, return_counts=True)
    assert len(kinds) == 6
    # Six kinds with chance 1/6 each: five standard deviations.
    assert abs(counts - 2000 / 6).max() < 5 * np.sqrt(2000 * 5 / 36)


def test_words_left_alone_and_silence():
    learner = trained(ask="gnc")
    sentence = next(s for s in BANK if len(s) == 4)
    assert learner.choose(sentence, 1, asked=(1, 2, 4)).memo["word"] == 3
    nothing = learner.choose(sentence, 1, asked=(1, 2, 3, 4))
    assert nothing.query == Query.NONE
    assert len(nothing.shown) == 1
    alone = parse(conllu(["Yes"], ["INTJ"], [0]))[0]
    assert learner.choose(alone, 1).query == Query.NONE
    learner.rehearse(alone, 1, 0)
    sure = EdgeLearner(learner.model, EdgeRule(eta=0.0, silent=True), features=FEATURES)
    assert sure.choose(sentence, 1).query == Query.NONE


@pytest.mark.parametrize(("neither", "moves"), [("skip", False), ("tie", True), ("coin", True)])
def test_neither(neither, moves):
    learner = trained(neither=neither)
    sentence = BANK[30]
    choice = learner.choose(sentence, 9)
    before = learner.model.table.copy()
    learner.learn(sentence, choice, 0)
    assert moves == bool((learner.model.table[:, 1] != before[:, 1]).any())


@pytest.mark.parametrize("scale", ["edge", "tree"])
def test_learning_is_the_models_update(scale):
    learner = trained(scale=scale)
    sentence = BANK[30]
    choice = learner.choose(sentence, 9)
    twin = Diagonal(FEATURES.dim)
    twin.restore(learner.model.arrays())
    factor = 0.5 / len(sentence) if scale == "tree" else 0.5
    twin.update(FEATURES.rows(sentence), {choice.shown[0]: factor, choice.shown[1]: -factor}, -1.0)
    learner.learn(sentence, choice, -1)
    assert (twin.table == learner.model.table).all()


def test_rehearsing_approaches_a_whole_answer_and_leaves_what_has_it():
    sentence = next(s for s in BANK if len(s) == 4)
    head = sentence.heads[0]
    own = row_of(1, head)
    learner = fresh()
    for _ in range(300):
        learner.rehearse(sentence, 1, head)
    line = learner.scores(sentence)[:4]
    assert 1.9 < line[own] - np.delete(line, own).max() < 2.0 + 1e-9
    for rival in set(range(4)) - {own}:
        learner.model.update(FEATURES.rows(sentence), {own: 0.5, rival: -0.5}, 50.0)
    before = learner.model.table.copy()
    learner.rehearse(sentence, 1, head)
    assert (learner.model.table == before).all()


def test_any_model_and_projection():
    small = Features("tags", bits=4)
    for model in (Full(small.dim), Full(small.dim, projection="exact")):
        learner = EdgeLearner(model, EdgeRule(ask="confusion"), features=small)
        for t, sentence in enumerate(BANK[:8]):
            choice = learner.choose(sentence, t)
            learner.learn(sentence, choice, truth(sentence, choice))
            assert tree_fault(learner.tree(sentence).tolist()) is None
        if model.projection:
            assert np.abs(learner.scores(BANK[0])).max() <= 1 + 1e-9


def test_in_a_session_and_from_its_ledger():
    learner = fresh()
    session = Session(learner, seed=4, ledger=MemoryLedger())
    for sentence in BANK:
        rows = FEATURES.rows(sentence)
        ids = [
            f"{head}>{word}"
            for word in range(1, len(sentence) + 1)
            for head in range(len(sentence) + 1)
            if head != word
        ]
        offer = session.ask(rows, ids=ids)
        head, word = map(int, offer.shown[0].split(">"))
        other = int(offer.shown[1].split(">")[0])
        gold = sentence.heads[word - 1]
        session.tell(offer.id, "first" if gold == head else "second" if gold == other else "skip")
    twin = replay(session.ledger, fresh())
    assert (twin.model.table == learner.model.table).all()
    assert learner.answers > 10


def test_refusals_leave_the_state():
    learner = trained()
    before = learner.model.table.copy()
    sentence = BANK[0]
    choice = learner.choose(sentence, 1)
    for call, message in (
        (lambda: learner.learn(sentence, choice, 2), "in \\[-1, 1\\]"),
        (lambda: learner.learn(sentence, choice, float("nan")), "in \\[-1, 1\\]"),
        (lambda: learner.learn(sentence, Choice((0,), Query.NONE, 1), 1), "nothing to learn"),
        (lambda: learner.learn(sentence, Choice((0, 0), Query.DUEL, 1), 1), "nothing to learn"),
        (lambda: learner.learn(sentence, Choice((0, len(sentence)), Query.DUEL, 1), 1), "into one of"),
        (lambda: learner.learn(sentence, Choice((0, 10**6), Query.DUEL, 1), 1), "into one of"),
        (lambda: learner.choose(np.zeros((5, FEATURES.dim)), 1), "n \\* n edges"),
        (lambda: learner.choose(sentence, 1, asked=(99,)), "numbered 1 to"),
        (lambda: learner.rehearse(sentence, 1, 1), "another as its head"),
        (lambda: EdgeLearner(Diagonal(3), features=FEATURES), "the model 3"),
        (lambda: EdgeRule(ask="best"), "ask must be one of"),
        (lambda: EdgeRule(eta=-1.0), "eta must be"),
        (lambda: EdgeRule(neither="maybe"), "neither must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    for rng in (1.5, -1, True, "x"):
        with pytest.raises(TypeError, match="ticket"):
            learner.choose(sentence, rng)
    with pytest.raises(TypeError, match="pass rows instead of a Sentence"):
        EdgeLearner(Diagonal(FEATURES.dim)).choose(sentence, 1)
    assert (learner.model.table == before).all()


def test_questions_and_trees_use_the_rounds_order_of_a_sequential_projection():
    model = Full(FEATURES.dim, projection="sequential")
    model.w[:] = np.random.default_rng(0).normal(size=FEATURES.dim) * 3
    learner = EdgeLearner(model, EdgeRule(ask="margin"), features=FEATURES)
    orders = 0
    for sentence in sorted(BANK, key=len)[:4]:
        for ticket in range(1, 5):
            choice = learner.choose(sentence, ticket)
            assert learner.tree(sentence, ticket)[choice.memo["word"] - 1] == choice.memo["heads"][0]
            orders += not np.allclose(learner.scores(sentence, ticket), learner.scores(sentence))
    assert orders > 0
