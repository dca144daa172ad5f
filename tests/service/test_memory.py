"""What a model is said to take: no less than it takes, and far less than all its cells while few have moved."""

import json
import sys

import pytest

from conquer.models.tables import own_bytes
from conquer.service.model.pick_learner import build
from conquer.service.model.schemas import FeatureSettings, ModelSettings
from conquer.tickets import stream, tickets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cells are shared on Linux only")
WORDS = ["tea", "coffee", "water", "milk", "juice", "cocoa", "wine", "beer", "mate", "rooibos"]
WHOLE = 2 << 20


def items(turn):
    texts = [f"{word} number {turn} of many" for word in WORDS[turn % 4 : turn % 4 + 5]]
    return json.dumps([{"id": f"i{k}", "text": text} for k, text in enumerate(texts)]).encode()


def taught(learner, turns):
    for turn, ticket in enumerate(tickets(stream("policy", 1), 0, turns).tolist()):
        read = learner.read(items(turn), b"null")
        choice, _ = learner.choose(read, ticket)
        if choice.query:
            learner.learn(read, choice, 1.0)
    return learner


def settings(**others):
    return ModelSettings(**{"algorithm": "gnr", "features": FeatureSettings(), **others})


@pytest.mark.parametrize("others", [{}, {"algorithm": "gnc"}, {"algorithm": "gnu"}])
def test_a_size_is_at_least_what_is_taken_and_at_most_all(others):
    first, second = (build(settings(**others), None)[0] for _ in range(2))
    whole = first.size
    assert whole >= first.learner.model.table.nbytes >= WHOLE > 100 * second.size
    for turns in (1, 2, 20, 300):
        taught(second, turns)
        taken = own_bytes(second.learner.model.table)
        assert 0 < taken <= second.size <= whole
    assert first.size == whole
    taught(second, 3)
    again, _ = build(settings(**others), second.dumps("{}"))
    assert own_bytes(again.learner.model.table) <= again.size <= second.size


def test_a_few_answers_are_said_to_take_little():
    kept = [build(settings(), None)[0] for _ in range(20)]
    for learner in kept[1:]:
        taught(learner, 2)
    assert sum(learner.size for learner in kept[1:]) < 0.1 * 19 * WHOLE


def test_small_and_other_models_are_said_to_take_their_arrays():
    small = [build(settings(features=FeatureSettings(dim=64)), None)[0] for _ in range(2)]
    assert small[0].size == small[1].size >= 64 * 16
    full, _ = build(settings(model="full", features=FeatureSettings(dim=64)), None)
    assert full.size >= 64 * 64 * 8
    rival, _ = build(settings(algorithm="rucb", features=FeatureSettings(dim=64)), None)
    assert rival.size > 0
