"""Every kernel, call by call, interpreted and compiled: the same results and the same bits left in every array."""

import copy
import importlib
import itertools
import pkgutil

import numpy as np
from parsing.treebanks import random_treebank

import conquer.kernels
from conquer import tickets
from conquer.features.hashing import hash_texts
from conquer.features.vocabulary import restrict, tabulate
from conquer.kernels.core import kernel as kernels
from conquer.kernels.core.background import describe
from conquer.kernels.core.kernel import KernelEntry
from conquer.learners.batch import batch_learner
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.parser import parse_heads
from conquer.parsing.training import Annotator, Recipe, Training, supervise
from conquer.registry import MODELS, algorithms, find, make, table
from conquer.rows import Rounds, as_rows
from conquer.service.model import pick_settings
from conquer.service.work import parse_learner
from conquer.simulation import simulate
from conquer.study.reviews.command import rehearse, specifications


def entries() -> list[KernelEntry]:
    """Every kernel that Python calls."""
    found = {}
    for info in pkgutil.walk_packages(conquer.kernels.__path__, "conquer.kernels."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(kernel := getattr(value, "kernel", None), KernelEntry):
                found[kernel.home, kernel.name] = kernel
    return list(found.values())


def bits(value):
    """Something to compare: the bytes of arrays and numbers, every NaN alike."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.dtype.kind.replace("u", "i"), array.shape, array.tobytes()


def compare(called):
    """A `KernelEntry.call` that runs both tiers, the interpreted one on copies, and compares."""

    def call(kernel, arguments):
        if getattr(kernels._inside, "interpreting", False):
            return kernel.function(*arguments)
        copies, where = copy.deepcopy(arguments), f"{kernel.home}.{kernel.name}"
        interpreted = kernel.interpret(copies)
        kernel.make(describe(arguments))
        compiled = kernel.made.pop(type(arguments[0]))(*arguments)
        assert (interpreted is None) == (compiled is None), where
        assert interpreted is None or bits(interpreted) == bits(compiled), where
        for place, (one, two) in enumerate(zip(copies, arguments, strict=True)):
            assert bits(one) == bits(two), f"{where}, argument {place}"
        called.add(where)
        return compiled

    return call


def rounds_of(rng, dim, count, items, dense):
    X = rng.normal(size=(12, dim)) * (1.0 if dense else rng.random((12, dim)) < 0.4)
    X[0], X[1] = X[2], 0.0
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    ratings = rng.choice([-1.0, 0.0, 1.0], (12, 3))
    return Rounds(X, rng.integers(0, 12, (count, items)), np.clip(X @ rng.normal(size=dim), -1, 1), ratings)


def learn(rng):
    ours = [name for name in table() if find(name).models == tuple(MODELS) or make(name, dim=2).compiled]
    options = {
        "diagonal": [{}, {"update": "coordinate"}, {"projection": "sequential"}, {"forget": 0.9}],
        "full": [{}, {"projection": "sequential"}, {"projection": "exact"}, {"eta": "tight"}, {"forget": 0.9}],
        "kernel": [{}, {"kernel": "rbf"}, {"kernel": "poly", "degree": 3}, {"budget": 3}, {"projection": "exact"}],
    }
    laws = itertools.cycle(["linear", "logistic", "perfect", "noisy", "raters"])
    for name, model in itertools.product(ours, MODELS):
        if model not in find(name).models:
            continue
        for setting in options[model]:
            known = {parameter.name for parameter in find(name).parameters if model in parameter.models}
            if set(setting) <= known and (name == "gnc" or not {"eta", "forget"} & set(setting)):
                here = rounds_of(rng, 5, 7, 4, dense=bool(rng.integers(2)))
                simulate(name, here, model=model, judge=next(laws), seed=3, delay=2, **setting)
                simulate(name, here, model=model, judge="linear", seed=4, compiled=False, **setting)
    for model in MODELS:
        learner = make("gnc", dim=6, model=model)
        X = rng.normal(size=(3, 6)) / 3
        learner.model.update(X, {0: 1.0, 2: -0.5}, 1.0)
        learner.scores(X), learner.model.variances(X), learner.model.contrasts(X, 1)
        assert learner.eta > 0


def many(rng):
    """Many rounds in one call: every rule and update, with a pair that cannot be learnt among them."""
    wild = np.where(np.arange(40) == 30, 1e95, 1.0)[:, None]
    options = [{}, {"update": "margin"}, {"update": "coordinate"}, {"believe": "voters"}]
    duelling = [row.name for row in algorithms() if row.policy and make(row.name, dim=2).duels]
    for name, setting in itertools.product(duelling, options):
        for model in ("diagonal", "full"):
            known = {parameter.name for parameter in find(name).parameters if model in parameter.models} | {"believe"}
            learns = name != "random" or "believe" not in setting
            fits = set(setting) <= known and learns
            if fits and (learner := batch_learner(make(name, dim=5, model=model, **setting))):
                X = as_rows(rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.6) * wild, 5)
                learner.learn_all(X, rng.permutation(40).reshape(20, 2), [0.5, -1] * 10, [1, -1, 0, 1] * 5, [7] * 20)
                learner.choose_all(X, [0, 2, 9, 10, 22, 31, 40], [3, 4, 5, 6, 7, 8])


def read():
    """Dicts, texts and vectors with and without a context, as a server reads them; a vocabulary and its weights."""
    pick_settings.warm.__wrapped__()
    texts = ["Good food, good WINE!", "isn't it bad? http://a.b/c 3.5", "", "Dr. No's e.g. na\u00efve", "bad food"]
    vocabulary, rows = tabulate(texts)
    vocabulary.entries(hash_texts(texts, ngrams=(1, 2)))
    for kind in ("binary", "counts", "tfidf", "idf"):
        restrict(rows, [0, 2, 3], kind)


def parse():
    """Questions one by one, both trainings, and the trees of a parser."""
    parse_learner.warm.__wrapped__()
    bank, features = random_treebank(2, 4), Features("standard", bits=7)
    text = encode(bank)
    for ask in ("gnc", "margin"):
        training = Training(text, features, Recipe(rule=EdgeRule(ask=ask), replay=1), 1)
        training.visit(4)
        parse_heads(text, features, training.weights())
    next(supervise(text, features))
    learner = EdgeLearner(Diagonal(features.dim, lam=1.0, update="margin"), features=features)
    choice = learner.choose(bank[0], 3)
    learner.learn(bank[0], choice, 1.0)
    learner.learn(bank[0], learner.choose(bank[0], 4), 0.0)
    learner.tree(bank[0])
    Annotator(0.3, 0.2)(1, 1, 2, 5)


def draw(rng):
    """The numbers that everything else is drawn from."""
    draws = tickets.Draws(7)
    draws.uniforms(3), draws.normals(3), draws.largest(np.array([1.0, 2.0, 2.0]))


def test_every_kernel_gives_the_same_bits_in_both_tiers(monkeypatch):
    rng, called, every = np.random.default_rng(0), set(), entries()
    monkeypatch.setattr(KernelEntry, "call", compare(called))
    for kernel in every:
        kernel.made.clear()
    learn(rng)
    many(rng)
    read()
    parse()
    draw(rng)
    rehearse(specifications("small"))
    assert {f"{kernel.home}.{kernel.name}" for kernel in every} - called == set()
