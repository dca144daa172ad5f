"""Learners that learn whom to believe, in trouble: bad sources, steps that fail, learners that cannot, spoilt files."""

import json

import numpy as np
import pytest

from conquer.files import FileError, pack, unpack
from conquer.registry import make
from conquer.saving import dumps, loads
from conquer.types import Choice, Query, Source

MODELS = [{"model": "full"}, {"model": "kernel", "kernel": "linear"}, {"model": "diagonal"}]
DIM = 4
DUEL = np.eye(DIM), Choice((0, 1), Query.DUEL, 0, {})


def taught(count, **parameters):
    """A learner with the answers of four voters to random pairs."""
    rng = np.random.default_rng(0)
    learner = make("gnr", dim=DIM, lam=0.7, **{"model": "full", "believe": "voters", "voters": 3, **parameters})
    for ticket in range(count):
        first, second = rng.permutation(DIM)[:2].tolist()
        source = Source(["ann", "bob", "cid", "dan"][ticket % 4], int(rng.choice([-1, 1])))
        learner.learn(np.eye(DIM), Choice((first, second), Query.DUEL, ticket, {}), float(rng.choice([-1, 1])), source)
    return learner


@pytest.mark.parametrize(
    ("source", "match"),
    [
        (Source(""), "1 to 200 characters"),
        (Source("x" * 201), "201"),
        (Source(7), "got 7"),
        (Source("ann", 2), "side"),
        (Source("ann", kind="robot"), "robot"),
        (Source(None, kind="judge"), "needs a name"),
        (Source("ann", weight=1.5), r"\[0, 1\]"),
        (Source("ann", weight=float("nan")), "nan"),
    ],
)
def test_a_bad_source_is_refused_and_nothing_moves(source, match):
    learner = taught(12)
    before = dumps(learner)
    X, choice = DUEL
    with pytest.raises(ValueError, match=match):
        learner.learn(X, choice, 1.0, source)
    with pytest.raises(ValueError, match=match):
        learner.weigh(X, choice, source)
    assert dumps(learner) == before


def test_a_step_that_fails_leaves_no_voter_behind():
    learner = taught(12)
    before = dumps(learner)
    with pytest.raises(ArithmeticError):
        learner.learn(np.eye(DIM) * 1e95, Choice((0, 1), Query.DUEL, 0, {}), 1.0, Source("new", 1))
    assert dumps(learner) == before


@pytest.mark.parametrize(
    ("name", "settings", "match"),
    [
        ("confidit", {}, "show two items"),
        ("banditron", {}, "show two items"),
        ("random", {}, "learn"),
        ("maxinp", {}, "maxinp"),
        ("gnc", {"model": "full", "projection": "exact"}, "projection"),
        ("gnc", {"model": "kernel"}, "linear"),
        ("gnc", {"believe": "crowd"}, "crowd"),
        ("gnc", {"trust": 0}, "trust"),
        ("gnc", {"voters": -1}, "voters"),
        ("gnc", {"voters": 10**6}, "voters"),
        ("gnc", {"nuisance": [4]}, "nuisance"),
        ("gnc", {"nuisance": [1, 1]}, "nuisance"),
    ],
)
def test_what_cannot_be_believed_is_refused_with_the_reason(name, settings, match):
    with pytest.raises(ValueError, match=match):
        make(name, dim=DIM, **{"believe": "voters", **settings})


@pytest.mark.parametrize("model", MODELS, ids=["full", "kernel", "diagonal"])
def test_a_file_that_does_not_fit_together_is_refused(model):
    learner = taught(12, **model)
    header, arrays = unpack(dumps(learner))
    names = [["person", name] for name in ("ann", "bob", "cid", "dan")]
    spoilt = [{**arrays, name: arrays[name][:-1]} for name in arrays if arrays[name].size]
    spoilt += [
        {key: one for key, one in arrays.items() if key != name} for name in arrays if "voters.names" not in name
    ]
    for text in (
        [],
        names[:2],
        [*names[:3], names[0]],
        [*names[:3], ["robot", "dan"]],
        [*names[:3], ["person", ""]],
        7,
    ):
        spoilt.append({**arrays, "model.voters.names": np.frombuffer(json.dumps(text).encode(), np.uint8)})
    for column, value in ((0, 0.0), (0, 0.5), (1, 1e9), (3, -1.0), (6, -1.0), (6, np.inf)):
        sums = arrays["model.voters.sums"].copy()
        sums[1, column] = value
        spoilt.append({**arrays, "model.voters.sums": sums})
    for broken in spoilt:
        with pytest.raises(FileError):
            loads(pack(header, broken))
    small = {**header, "learner": {**header["learner"], "dim": 2**24}}
    with pytest.raises(FileError, match="dim|features"):
        loads(pack(small, arrays))


def test_parameters_of_belief_need_belief():
    with pytest.raises(TypeError, match="trust"):
        make("gnc", dim=DIM, trust=2.0)
