"""The compiled loops against the per-call learner bit for bit, and what training promises."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from parsing.treebanks import random_treebank

from conquer import tickets
from conquer.kernels.parsing import training as kernel
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import ASK, EdgeLearner, EdgeRule
from conquer.parsing.parser import parse_heads
from conquer.parsing.training import Annotator, Recipe, Training, check_status, settle, supervise

FEATURES = Features("standard", bits=9)
BANK = random_treebank(2, 60)
TEXT = encode(BANK)
ANSWER = {"first": 1.0, "second": -1.0, "neither": 0.0}


def by_hand(recipe, seed, visits):
    """The same training through choose, learn and rehearse, one call at a time."""
    model = Diagonal(FEATURES.dim, lam=recipe.lam, update=recipe.update)
    learner = EdgeLearner(model, recipe.rule, features=FEATURES)
    training = Training(TEXT, FEATURES, recipe, seed)
    each = recipe.questions
    policy = tickets.tickets(tickets.stream("policy", seed), 0, visits * each)
    judge = tickets.tickets(tickets.stream("judge", seed), 0, visits * each)
    asked = [set() for _ in BANK]
    if not recipe.punctuation:
        asked = [{j for j, tag in enumerate(s.upos, start=1) if tag == "PUNCT"} for s in BANK]
    memory, log = [], []
    for visit, t in enumerate(training.order(0, visits).tolist()):
        sentence = BANK[t]
        for q in range(each):
            ticket = int(policy[visit * each + q])
            choice = learner.choose(sentence, ticket, asked=asked[t])
            if choice.query.name == "NONE":
                break
            word, heads = choice.memo["word"], tuple(choice.memo["heads"])
            asked[t].add(word)
            said = recipe.annotator(sentence.heads[word - 1], *heads, int(judge[visit * each + q]))
            log.append((t, word, heads, said))
            if said in ANSWER:
                learner.learn(sentence, choice, ANSWER[said])
            if said in ("first", "second"):
                memory.append((t, word, heads[said == "second"]))
            if memory:
                draws = np.empty(recipe.replay)
                counters = np.arange(recipe.replay, dtype=np.uint64) + tickets.FEATURE
                tickets.ticket_uniforms(np.uint64(ticket), counters, draws)
                for draw in draws:
                    s, j, head = memory[min(int(draw * len(memory)), len(memory) - 1)]
                    learner.rehearse(BANK[s], j, head)
    return learner, log


RECIPES = [Recipe(rule=EdgeRule(ask=ask), replay=2, punctuation=True) for ask in ASK]
RECIPES += [
    Recipe(rule=EdgeRule(ask="gnc", neither="tie", scale="tree"), questions=2, replay=0, update="implicit"),
    Recipe(rule=EdgeRule(ask="gnc", neither="coin", several_roots=True), update="coordinate", replay=1, lam=2.0),
    Recipe(rule=EdgeRule(ask="margin", silent=True, eta=3.0), annotator=Annotator(0.3, 0.2), replay=3, questions=3),
    Recipe(replay=1),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.rule.ask}-{r.update}-{r.rule.neither}-{r.questions}")
def test_compiled_training_is_the_learner_called_one_by_one(recipe):
    visits = 90  # into the second pass
    training = Training(TEXT, FEATURES, recipe, seed=3)
    training.visit(40)
    training.visit(visits - 40)
    learner, log = by_hand(recipe, 3, visits)
    assert [(q.sentence, q.word, q.heads, q.answer) for q in training.log()] == log
    assert training.model.table.tobytes() == learner.model.table.tobytes()
    assert training.model.stats.tobytes() == learner.model.stats.tobytes()
    heads = parse_heads(TEXT, FEATURES, training.weights(), recipe.rule.several_roots)
    for t, sentence in enumerate(BANK):
        assert heads[TEXT.offsets[t] + 1 : TEXT.offsets[t + 1]].tolist() == learner.tree(sentence).tolist()


def test_supervision_is_rehearsing_every_word():
    order = np.random.default_rng(tickets.stream("order", 1, 0)).permutation(len(BANK))
    learner = EdgeLearner(Diagonal(FEATURES.dim, lam=1.0, update="margin"), features=FEATURES)
    sums = np.zeros(FEATURES.dim)
    clock = 1
    for t in order:
        before = learner.model.weights()
        for word, head in enumerate(BANK[t].heads, start=1):
            learner.rehearse(BANK[t], word, head)
        sums += clock * (learner.model.weights() - before)
        clock += 1
    model, weights = next(supervise(TEXT, FEATURES, seed=1))
    assert model.table.tobytes() == learner.model.table.tobytes()
    assert np.allclose(weights, learner.model.weights() - sums / clock, atol=1e-12)


def test_a_little_supervision_learns_and_heads_may_be_missing():
    *_, (_, weights) = islice(supervise(TEXT, FEATURES), 4)
    words = TEXT.heads >= 0
    right = parse_heads(TEXT, FEATURES, weights)[words] == TEXT.heads[words]
    assert right.mean() > 0.97
    half = TEXT._replace(heads=np.where(np.arange(TEXT.heads.size) % 2 == 0, TEXT.heads, -1))
    *_, (_, weights) = islice(supervise(half, FEATURES), 4)
    assert (parse_heads(TEXT, FEATURES, weights)[words] == TEXT.heads[words]).mean() > 0.8


def test_settled_weights_come_from_the_answers_alone():
    training = Training(TEXT, FEATURES, Recipe(annotator=Annotator(refusal=1.0)))
    training.visit(20)
    assert not training.settled().any()
    training = Training(TEXT, FEATURES, Recipe(annotator=Annotator(error=0.3)))
    training.visit(2 * len(BANK))
    known = np.full(TEXT.heads.size, -1)
    for q in training.log():
        if q.answer in ("first", "second"):
            known[TEXT.offsets[q.sentence] + q.word] = q.heads[q.answer == "second"]
    assert (training.settled() == settle(TEXT._replace(heads=known), FEATURES)).all()


def test_every_word_is_asked_once_at_most():
    training = Training(TEXT, FEATURES, Recipe(questions=2, punctuation=True), seed=0)
    training.visit(8 * len(BANK))
    seen = [(q.sentence, q.word) for q in training.log()]
    assert len(seen) == len(set(seen)) == training.questions
    # After eight passes with two questions each every word of every sentence up to nine words has been asked.
    assert training.questions == sum(len(s) for s in BANK if len(s) > 1)


def test_refusals():
    with pytest.raises(ValueError, match="no sentences"):
        Training(encode([]), FEATURES, Recipe())
    with pytest.raises(ValueError, match="needs heads"):
        Training(TEXT._replace(heads=np.full(TEXT.heads.size, -1)), FEATURES, Recipe())
    with pytest.raises(ValueError, match="count must be"):
        Training(TEXT, FEATURES, Recipe()).visit(0)
    for wrong in ({"questions": 0}, {"replay": -1}, {"questions": 1.5}):
        with pytest.raises(ValueError, match="whole number"):
            replace(Recipe(), **wrong)
    for wrong in ({"error": 1.5}, {"refusal": -0.1}, {"error": True}):
        with pytest.raises(ValueError, match="rate in"):
            Annotator(**wrong)


def test_a_model_that_diverges_says_so_and_stays_as_it_was():
    model = Diagonal(FEATURES.dim, update="margin")
    model.table[:, 0] = 1e308
    before = model.table.copy()
    order = np.arange(len(BANK))
    status, sentence, _ = kernel.supervise(model.state, TEXT, FEATURES.table, FEATURES.value, order, np.zeros(0), 1)
    assert (model.table == before).all()
    with pytest.raises(ArithmeticError, match=f"diverged at sentence {sentence + 1}: a larger lam"):
        check_status(status, sentence)


def test_annotators_frequencies():
    person = Annotator(error=0.2, refusal=0.25)
    stream = tickets.tickets(tickets.stream("judge", 0), 0, 20_000)
    said = [person(gold=3, first=3, second=1, ticket=int(ticket)) for ticket in stream]
    shares = {name: said.count(name) / len(said) for name in ("first", "second", "neither", "refused")}
    expected = {"first": 0.6, "second": 0.075, "neither": 0.075, "refused": 0.25}
    for name, share in expected.items():
        assert shares[name] == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / len(said)))
