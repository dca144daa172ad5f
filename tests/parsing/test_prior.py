"""The prior over tags: the scores it gives to edges, models that start from it, and that its numbers do not change."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from parsing.treebanks import random_treebank

from conquer import tickets
from conquer.data.treebank import parse
from conquer.kernels.parsing.edges import edge_of
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.parsing import edges
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import EdgeLearner
from conquer.parsing.prior import begin, starting_weights, table
from conquer.parsing.spec import FULL, TrainSpec
from conquer.parsing.training import SETTLE_PASSES, Recipe, Training, settle

UPOS = sorted(edges._CLASSES)


def tagged(*tags):
    rows = (f"{k}\tw{k}\t_\t{tag}\t_\t_\t_\t_\t_\t_" for k, tag in enumerate(tags, 1))
    return parse("\n".join(rows), heads="ignore")[0]


def started(features, prior="upos", lam=0.3):
    model = Diagonal(features.dim, lam=lam, update="margin")
    begin(model, features, prior)
    return EdgeLearner(model, features=features)


def test_every_tag_has_a_line_and_every_head_is_a_tag():
    lines = list(table())
    assert sorted(tag for tag, _, _ in lines) == UPOS
    for _, loss, worth in lines:
        assert loss > 0
        assert max(worth.values()) == 1.0
        assert min(worth.values()) > 0.0
        assert {head for head, _ in worth} <= {*UPOS, "root"}


def test_the_numbers_of_the_table_do_not_change():
    """Stored answers are replayed from them: another table is another prior with another name."""
    ids, values = starting_weights(Features("standard", bits=14))
    assert ids.dtype == np.int32
    assert hashlib.blake2b(ids.tobytes() + values.tobytes(), digest_size=8).hexdigest() == "421e5012bebce98a"


@pytest.mark.parametrize("name", ["tags", "standard"])
def test_the_score_of_an_edge_follows_from_the_table(name):
    features = Features(name, bits=20)  # so large that no two pairs share a cell
    rules = {tag: (loss, worth) for tag, loss, worth in table()}
    rng = np.random.default_rng(3)
    for _ in range(5):
        tags = [*rng.choice(UPOS, 40)]
        sentence, size = tagged(*tags), len(tags)
        scores = started(features).scores(sentence)
        for word in range(1, size + 1):
            loss, worth = rules[tags[word - 1]]
            for head in range(size + 1):
                if head != word:
                    side, gap = "<" if head < word else ">", abs(head - word)
                    step = next(k for k, most in enumerate((1, 2, 3, 4, 6, 9, 14, 24, 1000), 1) if gap <= most)
                    said = worth.get(("root" if head == 0 else tags[head - 1], side), 0.0) - loss * step
                    assert scores[edge_of(word, head, size)] == pytest.approx(said)


def test_trees_without_any_answer():
    learner = started(Features(bits=16))
    assert learner.tree(tagged("DET", "ADJ", "NOUN", "VERB", "ADP", "DET", "NOUN")).tolist() == [3, 3, 4, 0, 7, 7, 4]
    assert learner.tree(tagged("PRON", "AUX", "VERB", "SCONJ", "PRON", "VERB")).tolist() == [3, 3, 0, 6, 6, 3]
    assert learner.tree(tagged("DET", "NOUN")).tolist() == [2, 0]


def test_unknown_tags_score_zero():
    learner = started(Features(bits=16))
    assert not learner.scores(tagged("_", "Q", "_")).any()


def test_the_prior_sets_weights_alone():
    features = Features("tags", bits=12)
    model = started(features).model
    fresh = Diagonal(features.dim, lam=0.3, update="margin")
    assert (model.precision() == fresh.precision()).all()
    assert not model.stats.any()
    again = Diagonal(features.dim, lam=0.3, update="margin")
    begin(again, features, "upos")
    again.restore(model.arrays())
    assert (again.table == model.table).all()


def test_a_full_model_starts_from_it_and_other_names_are_refused():
    features = Features("tags", bits=4)
    model = Full(features.dim)
    begin(model, features, "upos")
    assert np.array_equal(model.weights(), started(features).model.weights())
    with pytest.raises(ValueError, match="prior must be one of 'none', 'upos', got 'xpos'"):
        begin(model, features, "xpos")


def test_the_compiled_loop_and_the_calls_agree_from_the_prior_on():
    features = Features("standard", bits=9)
    text = encode(random_treebank(5, 40))
    recipe = Recipe(prior="upos", replay=2)
    compiled, stepwise = (Training(text, features, recipe, seed=3) for _ in range(2))
    compiled.visit(60)
    order = stepwise.order(0, 60)
    policy, judge = (tickets.tickets(tickets.stream(name, 3), 0, 60) for name in ("policy", "judge"))
    stepwise.visit_by_calls(order, policy, judge)
    assert compiled.log() == stepwise.log()
    assert np.array_equal(compiled.model.table, stepwise.model.table)
    assert compiled.weights() == pytest.approx(stepwise.weights())
    plain = Training(text, features, replace(recipe, prior="none"), seed=3)
    plain.visit(60)
    assert not np.array_equal(plain.weights(), compiled.weights())


def test_settling_starts_from_it_too():
    features = Features("tags", bits=12)
    text = encode(random_treebank(5, 10))
    few = np.full_like(text.heads, -1)
    few[1] = text.heads[1]
    one = text._replace(heads=few)
    ids, values = starting_weights(features)
    base = np.zeros(features.dim)
    base[ids] = values
    moved = np.flatnonzero(settle(one, features, prior="upos") != base)
    assert 0 < moved.size <= (1 + SETTLE_PASSES) * features.width, "the head's row and a rival's in each pass"
    assert not np.array_equal(settle(one, features), settle(one, features, prior="upos"))


def test_training_starts_from_zero_by_default():
    assert Recipe().prior == TrainSpec().prior == "none"
    assert TrainSpec(matrix="full", bits=4, prior="upos").prior == "upos"
    with pytest.raises(ValueError, match="prior must be 'none'"):
        TrainSpec(ask=FULL, prior="upos")
    with pytest.raises(ValueError, match="prior must be one of"):
        Recipe(prior="rules")
