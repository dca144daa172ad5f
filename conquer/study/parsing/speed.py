"""`conquer measure speed`: what every part of parsing costs, on a quiet machine."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conquer.data import treebank
from conquer.kernels.core import building
from conquer.kernels.parsing.edges import hash_edges
from conquer.parsing.edges import Features
from conquer.parsing.mst import best_tree
from conquer.parsing.parser import parse_heads
from conquer.parsing.rule import ASK, EdgeRule
from conquer.parsing.supervision import supervise
from conquer.parsing.training import Recipe, Training
from conquer.study.parsing.bank import bank, files
from conquer.study.progress import RUNNING, Bars

COUNT = 7 + 2 * len(ASK)
"""So many lines the table has."""


def _seconds(call: Callable[[], Any], times: int = 3) -> float:
    """The best processor time of a few calls, after one to warm up."""
    call()
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def costs(folder: str, features: Features) -> Iterator[tuple[str, float, str]]:
    """(what, number, unit), one core."""
    data = bank(folder, features)
    train, test = data.texts["train"], data.texts["test"]
    sentences, tests = train.offsets.size - 1, test.offsets.size - 1
    scores = np.random.default_rng(0).normal(size=(26, 26))
    yield "best tree of 25 words, one root child", 1e6 * _seconds(lambda: best_tree(scores), 200), "us"
    yield "reading CoNLL-U", tests / _seconds(lambda: treebank.read(files(folder)["test"]), 1), "sentences/s"
    yield "encoding", tests / _seconds(lambda: features.encode(data.sentences["test"]), 1), "sentences/s"
    _, weights = next(supervise(train, features))
    yield "parsing", tests / _seconds(lambda: parse_heads(test, features, weights)), "sentences/s"
    sources = [features.source(sentence) for sentence in data.sentences["test"]]
    out = np.empty(max(source.rows.size for source in sources) ** 2 * features.width, np.int32)
    matrices = [np.random.default_rng(0).normal(size=(source.codes.shape[0],) * 2) for source in sources]

    def hash_all() -> None:
        for source in sources:
            hash_edges(source, out)

    yield "of it hashing all edges, called from Python", 1e6 * _seconds(hash_all) / tests, "us per sentence"
    trees = _seconds(lambda: [best_tree(matrix) for matrix in matrices])
    yield "of it the best tree, called from Python", 1e6 * trees / tests, "us per sentence"
    whole = _seconds(lambda: next(supervise(train, features)), 1)
    yield "full supervision, a pass", sentences / whole, "sentences/s"
    for ask in ASK:
        for replay in (0, Recipe().replay):

            def run(ask: str = ask, replay: int = replay) -> None:
                Training(train, features, Recipe(rule=EdgeRule(ask=ask), replay=replay)).visit(sentences)

            yield f"training with {ask}, {replay} rehearsals a question", sentences / _seconds(run, 1), "sentences/s"


def run_speed(folder: str) -> None:
    """Print the table, line by line as it is measured."""
    building.insist()
    from rich.console import Console

    console = Console()
    files(folder)
    with Bars(console) as bars:
        bars.begin(RUNNING, COUNT)
        for what, number, unit in costs(folder, Features()):
            console.print(f"{what:<52} {number:>10,.0f} {unit}", highlight=False)
            bars.advance(1)
