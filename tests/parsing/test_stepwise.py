"""Training call by call: the compiled loop bit for bit, the paper's listing in numpy, limits of a full matrix."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from literal import order_of, uniform
from parsing.treebanks import conllu, random_treebank
from typer.testing import CliRunner

from conquer import reference, tickets
from conquer.cli.parse import commands
from conquer.data.treebank import parse, read, write
from conquer.kernels.parsing.edges import edge_of
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import EdgeRule
from conquer.parsing.parser import load
from conquer.parsing.spec import TrainSpec
from conquer.parsing.trainer import train
from conquer.parsing.training import Annotator, Recipe, Training
from conquer.study.parsing.run import PARTS, cells_of, frame_of, measure
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.runner import run_cells

FEATURES = Features("tags", bits=4)
BANK = random_treebank(2, 60)
SHORT = random_treebank(4, 30, longest=4)
LISTING = {"ask": "confusion", "neither": "coin"}


def drawn(training, visits):
    each = training.recipe.questions
    return [tickets.tickets(tickets.stream(name, training.seed), 0, visits * each) for name in ("policy", "judge")]


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(rule=EdgeRule(ask="gnc"), replay=2, questions=2),
        Recipe(rule=EdgeRule(**LISTING, scale="tree"), replay=0, update="implicit", punctuation=True),
        Recipe(rule=EdgeRule(silent=True), annotator=Annotator(0.3, 0.2), replay=3, questions=3),
    ],
    ids=lambda recipe: recipe.rule.ask,
)
def test_call_by_call_is_the_compiled_loop(recipe):
    text, visits = encode(BANK), 90
    compiled, called = Training(text, FEATURES, recipe, seed=3), Training(text, FEATURES, recipe, seed=3)
    compiled.visit(visits)
    called.visit_by_calls(called.order(0, visits), *drawn(called, visits))
    assert called.log() == compiled.log()
    assert called.questions > 50
    assert called.model.table.tobytes() == compiled.model.table.tobytes()
    for mine, theirs in zip(called.progress, compiled.progress, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10)


def best_trees(scores, size):
    """Every tree of the largest total score with one root child, by trying all."""
    found, most = [], -np.inf
    for heads in product(range(size + 1), repeat=size):
        if heads.count(0) != 1 or not all(reaches_root(heads, word) for word in range(1, size + 1)):
            continue
        total = sum(scores[edge_of(word, head, size)] for word, head in enumerate(heads, start=1))
        if total > most + 1e-9:
            found, most = [], total
        if total > most - 1e-9:
            found.append(heads)
    return found


def reaches_root(heads, word):
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def widest(heads, A, phi, done):
    """(word, head, rival) of the largest confusion, and those within rounding of it."""
    size, values = len(heads), {}
    for word, rival in product(range(1, size + 1), range(size + 1)):
        head = heads[word - 1]
        if word not in done and rival not in (word, head):
            x = phi[edge_of(word, head, size)] - phi[edge_of(word, rival, size)]
            values[word, head, rival] = x @ reference.solve(A, x)
    return {key for key, value in values.items() if value >= max(values.values()) - 1e-9}


def by_the_listing(training, visits):
    """(w, A, how often the projection moved w) of CNQR-DP in numpy; checks each question that `training` asked."""
    recipe, text = training.recipe, training.text
    size_of = np.diff(text.offsets) - 1
    w = np.zeros(FEATURES.dim)
    A = recipe.lam * (np.eye(FEATURES.dim) if recipe.matrix == "full" else np.ones(FEATURES.dim))
    log, done, moved = iter(training.log()), [set() for _ in size_of], 0
    for t, ticket in zip(training.order(0, visits).tolist(), drawn(training, visits)[0].tolist(), strict=True):
        size = int(size_of[t])
        if size == 1 or len(done[t]) == size:
            continue
        phi, near = FEATURES.rows_of(text, t).dense(), w
        if recipe.projection is not None:
            near = reference.project(w, A, phi, np.array(order_of(ticket, size * size)), recipe.projection == "exact")
            moved += not np.array_equal(near, w)
            assert (np.abs(phi @ near) <= 1 + 1e-9).all()
        asked = next(log)
        assert asked.sentence == t
        j, (k, i) = asked.word, asked.heads
        found = best_trees(phi @ near, size)
        assert (j, k, i) in set().union(*(widest(heads, A, phi, done[t]) for heads in found))
        done[t].add(j)
        gold = text.heads[text.offsets[t] + j]
        y = 1.0 if gold == k else -1.0 if gold == i else 1.0 if uniform(ticket, 0) < 0.5 else -1.0
        scale = size if recipe.rule.scale == "tree" else 1
        u = (phi[edge_of(j, k, size)] - phi[edge_of(j, i, size)]) / (2 * scale)
        w, A = reference.update(near, A, u, y, recipe.update)
    assert next(log, None) is None
    return w, A, moved


@pytest.mark.parametrize("scale", ["edge", "tree"])
@pytest.mark.parametrize("projection", [None, "sequential", "exact"])
@pytest.mark.parametrize("matrix", ["full", "diagonal"])
def test_it_is_the_listing(matrix, projection, scale):
    rule = EdgeRule(**LISTING, scale=scale)
    settings = {"replay": 0, "lam": 0.02, "update": "implicit", "punctuation": True}
    recipe = Recipe(rule=rule, matrix=matrix, projection=projection, **settings)
    training, visits = Training(encode(SHORT), FEATURES, recipe, seed=1), 75
    training.visit(40)
    training.visit(visits - 40)
    w, _, moved = by_the_listing(training, visits)
    np.testing.assert_allclose(training.weights(), w, rtol=0, atol=1e-8)
    assert np.abs(w).max() > 0.1
    assert (moved > 5) == (projection is not None)


def test_few_features_or_a_word_about_it(tmp_path):
    """4,096 features: 7 bits of the standard templates, 8 of the tags."""
    path = tmp_path / "train.conllu"
    write(path, SHORT)
    for name, bits, fits in (("standard", 8, 7), ("standard", 16, 7), ("tags", 9, 8)):
        features = Features(name, bits)
        refused = rf"at most 4096 features, got {features.dim} with .*bits={bits}: give bits={fits} or fewer"
        with pytest.raises(ValueError, match=refused):
            Training(encode(SHORT), features, Recipe(matrix="full"))
        with pytest.raises(ValueError, match=refused):
            train(path, TrainSpec(matrix="full", features=name, bits=bits))
        with pytest.raises(ValueError, match=refused):
            cells_of(ParsingSpec(treebank=tmp_path, matrix="full", features=name, bits=bits))
        assert Features(name, fits).dim <= 4096
    for wrong in ({"matrix": "kernel"}, {"projection": "nearest"}):
        with pytest.raises(ValueError, match="must be one of"):
            Recipe(**wrong)
    for wrong in ({"settled": True}, {"ask": "full-supervision"}, {"answers": path}):
        with pytest.raises(ValueError, match="learns question by question"):
            TrainSpec(matrix="full", **wrong)


def test_long_sentences_are_left_out_or_refused_with_projection():
    words = 51
    text = conllu(["w"] * words, ["NOUN"] * words, [0] + [1] * (words - 1), "long")
    bank, options = [*SHORT, *parse(text)], {"matrix": "full", "bits": 4, "replay": 0}
    with pytest.raises(ValueError, match="at most 50 words, sentence 31 has 51: longest=50"):
        train(bank, TrainSpec(projection="exact", **options))
    assert "30 sentences" in str(train(bank, TrainSpec(projection="exact", longest=50, **options)))
    assert "31 sentences" in str(train(bank, TrainSpec(**options)))
    with pytest.raises(ValueError, match="longest must be"):
        TrainSpec(longest=0)


LISTED = "--ask confusion --scale tree --neither coin --replay 0 --lam 1 --bits 4 --matrix full --projection sequential"


def test_the_listing_from_the_shell(tmp_path):
    path, model = tmp_path / "train.conllu", tmp_path / "model"
    write(path, BANK)
    files = ["--treebank", str(path), "--model", str(model)]
    result = CliRunner().invoke(commands, ["train", *files, *LISTED.split()])
    assert result.exit_code == 0, result.output
    parser = load(model)
    assert not parser.about["settled"]
    assert parser.about["recipe"]["matrix"] == "full"
    features = Features(bits=4)
    rule = EdgeRule(**LISTING, scale="tree")
    training = Training(
        encode(read(path)),
        features,
        Recipe(rule=rule, matrix="full", projection="sequential", replay=0, lam=1.0),
    )
    training.visit(len(BANK))
    assert (parser.weights == training.weights()).all()
    # The whole matrix makes a difference.
    CliRunner().invoke(commands, ["train", *files, *LISTED.replace("full", "diagonal").split()])
    assert not np.allclose(load(model).weights, training.weights())


def test_a_study_of_the_listing(tmp_path):
    folder = tmp_path / "UD_Made-Up"
    folder.mkdir()
    for seed, part in enumerate(PARTS):
        write(folder / f"xx_up-ud-{part}.conllu", random_treebank(seed, 20, longest=5))
    spec = {"treebank": Path(folder), "ask": ("confusion",), "seeds": 1, "points": 2, "features": "tags", "bits": 4}
    specs = [
        ParsingSpec(**spec, matrix=matrix, projection=projection, longest=4)
        for matrix, projection in (("diagonal", None), ("full", None), ("full", "exact"))
    ]
    frames = [frame_of(run_cells(measure, cells_of(each), tmp_path / "out")) for each in specs]
    assert len(list((tmp_path / "out" / "cells").rglob("*.json*"))) == 4  # the ceiling is shared
    assert all(frame["sentences"].max() < 20 for frame in frames)
