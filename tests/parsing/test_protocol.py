"""The parser is a learner like any other: in a session, in a simulation with its own judge, saved and restored."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from parsing.treebanks import random_treebank

from conquer import tickets
from conquer.answers import read_answer
from conquer.kernels.parsing.edges import edge_of
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import NEITHER, EdgeLearner, EdgeRule
from conquer.parsing.training import Annotator, Recipe, Training
from conquer.rows import Rounds, stack
from conquer.session import MemoryLedger, Session, replay
from conquer.simulation import simulate
from conquer.types import Choice, Learner, Query

FEATURES = Features("tags", bits=7)
BANK = random_treebank(5, 40)
SAID = {"first": "first", "second": "second", "neither": "both_bad", "refused": "skip"}


def fresh(lam=1.0, update="implicit", **rule):
    return EdgeLearner(Diagonal(FEATURES.dim, lam=lam, update=update), EdgeRule(**rule), features=FEATURES)


def trained(**rule):
    learner = fresh(**rule)
    for number, sentence in enumerate(BANK[:20]):
        choice = learner.choose(sentence, number)
        if choice.query == Query.DUEL:
            learner.learn(sentence, choice, 1.0 if number % 3 else -1.0)
    return learner


def bits(learner):
    return learner.model.table.tobytes() + learner.model.stats.tobytes()


def test_it_has_all_that_a_learner_has():
    learner = fresh()
    members = [name for name in vars(Learner) if not name.startswith("_")]
    assert {"choose", "learn", "restore", "parameters"} <= set(members)
    for name in members:
        promised = vars(Learner)[name]
        found = getattr(learner, name)
        if not isinstance(promised, property):
            names = [p for p in inspect.signature(promised).parameters if p != "self"]
            inspect.signature(found).bind(*names)
            assert list(inspect.signature(found).parameters)[: len(names)] == names
    assert learner.fresh
    assert learner.parameters["ask"] == "gnc"


def test_restored_it_goes_on_with_the_same_bits():
    learner, twin = trained(), fresh()
    twin.restore(learner.arrays())
    assert not twin.fresh
    assert twin.answers == learner.answers
    for number, sentence in enumerate(BANK[20:]):
        choice = learner.choose(sentence, number)
        assert twin.choose(sentence, number) == choice
        if choice.query == Query.DUEL:
            for one in (learner, twin):
                one.learn(sentence, choice, -1.0)
    assert bits(twin) == bits(learner)


@pytest.mark.parametrize("word", ["both_bad", "tie"])
@pytest.mark.parametrize("neither", list(NEITHER))
def test_neither_in_a_session_is_an_answer_of_zero(neither, word):
    learner, twin = trained(neither=neither), trained(neither=neither)
    session = Session(learner, seed=2)
    before = bits(learner)
    for sentence in BANK[20:]:
        offer = session.ask(FEATURES.rows(sentence))
        if offer.choice.query == Query.NONE:
            continue
        assert session.tell(offer.id, word) == ("skipped" if neither == "skip" else "learnt")
        twin.learn(sentence, offer.choice, 0)
        assert bits(learner) == bits(twin)
    assert (bits(learner) == before) == (neither == "skip")


@pytest.mark.parametrize("neither", list(NEITHER))
def test_the_choice_says_whether_neither_is_learnt(neither):
    learner = fresh(neither=neither)
    sentence = next(s for s in BANK if len(s) > 2)
    choice = learner.choose(sentence, 3)
    outside = bool(choice.memo.get("outside"))
    assert outside == (neither != "skip")
    for word in ("both_bad", "tie"):
        read = read_answer(word, choice.query, ("a", "b"), ties=False, outside=outside)
        assert read == (0.0 if outside else None)


@pytest.mark.parametrize("neither", list(NEITHER))
def test_a_choice_of_an_earlier_version_is_learnt_as_before(neither):
    learner, twin = trained(neither=neither), trained(neither=neither)
    choice = learner.choose(BANK[30], 9)
    memo = {name: value for name, value in choice.memo.items() if name != "outside"}
    for answer in (0, 1, -1, 0.5):
        learner.learn(BANK[30], choice, answer)
        twin.learn(BANK[30], replace(choice, memo=memo), answer)
    assert bits(learner) == bits(twin)


@pytest.mark.parametrize("update", ["implicit", "margin"])
@pytest.mark.parametrize("neither", list(NEITHER))
def test_the_compiled_loop_and_a_session_learn_the_same_bits(neither, update):
    rule, person, seed, count = EdgeRule(neither=neither), Annotator(0.2, 0.2), 6, len(BANK)
    recipe = Recipe(rule=rule, annotator=person, lam=0.5, update=update, replay=0, punctuation=True)
    training = Training(encode(BANK), FEATURES, recipe, seed)
    training.visit(count)
    learner = fresh(lam=0.5, update=update, neither=neither)
    session = Session(learner, seed=seed, ledger=MemoryLedger())
    judge = tickets.tickets(tickets.stream("judge", seed), 0, count)
    for ticket, place in zip(judge.tolist(), training.order(0, count).tolist(), strict=True):
        offer = session.ask(FEATURES.rows(BANK[place]))
        if offer.choice.query == Query.DUEL:
            gold = BANK[place].heads[offer.choice.memo["word"] - 1]
            session.tell(offer.id, SAID[person(gold, *offer.choice.memo["heads"], ticket)])
    assert {"first", "second", "neither", "refused"} == {question.answer for question in training.log()}
    assert training.model.table.tobytes() + training.model.stats.tobytes() == bits(learner)
    assert bits(replay(session.ledger, fresh(lam=0.5, update=update, neither=neither))) == bits(learner)


def rounds_of(sentences):
    """Every sentence a round of its edges, worth 1 where they are right and -1 where not."""
    rows = stack([FEATURES.rows(sentence) for sentence in sentences])
    sizes = [len(sentence) ** 2 for sentence in sentences]
    sets = np.full((len(sizes), max(sizes)), -1)
    rewards = -np.ones(sum(sizes))
    start = 0
    for number, (sentence, size) in enumerate(zip(sentences, sizes, strict=True)):
        sets[number, :size] = np.arange(start, start + size)
        right = [edge_of(word, head, len(sentence)) for word, head in enumerate(sentence.heads, start=1)]
        rewards[start + np.array(right)] = 1.0
        start += size
    return Rounds(rows, sets, rewards)


@pytest.mark.parametrize("delay", [0, 3])
def test_a_simulation_with_a_judge_of_ones_own(delay):
    def judge(choice, rewards, rng):
        first, second = (rewards[edge] for edge in choice.shown) if choice.query == Query.DUEL else (0, 0)
        return (first - second) / 2

    trace = simulate(fresh(neither="tie"), rounds_of(BANK), judge=judge, seed=4, delay=delay)
    twin, choices = fresh(neither="tie"), []
    own = tickets.tickets(tickets.stream("policy", 4), 0, len(BANK)).tolist()

    def learn(late):
        sentence, choice = BANK[late], choices[late]
        if choice.query == Query.DUEL:
            gold = sentence.heads[choice.memo["word"] - 1]
            twin.learn(sentence, choice, dict(zip(choice.memo["heads"], (1.0, -1.0), strict=True)).get(gold, 0.0))

    for number, sentence in enumerate(BANK):
        choices.append(twin.choose(sentence, own[number]))
        if number >= delay:
            learn(number - delay)
    for late in range(len(BANK) - delay, len(BANK)):
        learn(late)
    assert [row[row >= 0].tolist() for row in trace.shown] == [list(choice.shown) for choice in choices]
    assert bits(trace.learner) == bits(twin)
    assert trace.query_rate == np.mean([choice.query == Query.DUEL for choice in choices])


def test_a_choice_from_outside_is_checked():
    learner = fresh()
    for wrong, message in (
        (Choice((0, 1), Query.DUEL, 2**64), "a ticket must be"),
        (Choice((0, 1), Query.DUEL, -1), "a ticket must be"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.check(wrong, 9)
    assert learner.fresh
