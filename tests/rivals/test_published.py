"""Rivals as their papers run them: what `published=True` sets, needs and refuses."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rivals.driving import compare, world
from rivals.test_contextual import LiteralCoLSTIM, LiteralMaxInP, LiteralVACDB, draw, sigma

from conquer.learners.algorithm import Published
from conquer.registry import algorithms, find, groups, make
from conquer.rows import Rounds, as_rows
from conquer.saving import described, dumps, loads, rebuilt
from conquer.simulation import simulate

T, DIM, K = 300, 4, 5
WITHOUT = {"toptwo", "twots", "rank-breaking"}
PAPERS = [row for row in algorithms() if row.published is not None]


def needed(row):
    return dict.fromkeys(row.published.needs, T)


def test_every_rival_but_the_tools_has_its_papers_own_configuration():
    assert {row.name for row in PAPERS} == {*groups()["rivals"], "confidit", "banditron"} - WITHOUT
    for row in PAPERS:
        assert isinstance(row.published, Published)
        assert set(row.published.values) <= {"model", *row.takes}
        assert set(row.published.needs) <= set(row.takes)
        assert len(row.published.text) > 20


@pytest.mark.parametrize("row", PAPERS, ids=lambda row: row.name)
def test_a_published_learner_is_made_learns_and_is_written_by_its_values(row):
    X, taste = world(30, K, DIM, 0)
    X[:] = X[0]
    for point in row.published.grid:
        learner = make(row.name, dim=DIM, published=True, **needed(row), **point)
        assert row.published.values.items() <= dict(learner.parameters).items()
        again = rebuilt(json.loads(json.dumps(described(learner))))
        assert again.parameters == learner.parameters
    for t in range(30):
        choice = learner.choose(X[t], t)
        rewards = X[t] @ taste
        if choice.query.name == "DUEL":
            learner.learn(X[t], choice, 1.0 if rewards[choice.shown[0]] > rewards[choice.shown[1]] else -1.0)
        elif choice.query.name == "BEST":
            learner.learn(X[t], choice, 1.0 if choice.shown[0] == rewards.argmax() else -1.0)
    assert loads(dumps(learner))[0].choose(X[0], 99) == learner.choose(X[0], 99)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("maxinp", {}, "published=True of maxinp needs horizon"),
        ("maxinp", {"horizon": 10, "eta": 1.0}, r"published=True sets .* of maxinp; got \['eta'\]"),
        ("maxinp", {"horizon": 10, "model": "diagonal"}, r"got \['model'\]"),
        ("toptwo", {}, "published=True needs an algorithm with published settings, got toptwo"),
        ("gnc", {}, "got gnc"),
        ("rucb", {"alpha": 0.7}, "published=True sets alpha of rucb"),
    ],
)
def test_what_does_not_go_with_a_paper_is_refused(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(name, dim=3, published=True, **parameters)


def test_constants_follow_dimension_items_and_horizon():
    maxinp, colstim = (make(name, dim=7, published=True, horizon=900).model for name in ("maxinp", "colstim"))
    root = math.sqrt(7 * math.log(900))
    noisy = colstim.select.keywords
    assert maxinp.select.keywords["eta"] == noisy["eta"] == noisy["clip"] == root
    assert noisy["scale"] == 7 * math.log(7 * 900)
    assert maxinp.per_item == colstim.per_item == 7
    vacdb = make("vacdb", dim=7, published=True, horizon=900).model
    assert vacdb.alpha == 900**-1.5
    assert len(vacdb.layers) == math.ceil(1.5 * math.log2(900))
    assert make("rucb", dim=3, published=True).model.rule.alpha == 0.51
    assert make("rmed1", dim=3, published=True).model.rule.margin == 0.3
    assert make("fgts", dim=3, published=True).model.eta == 0.25
    assert find("fgts").published.values["eta"] == 0.25


def test_a_simulation_takes_a_published_rival():
    X, taste = world(1, 40, DIM, 3)
    sets = np.random.default_rng(0).integers(0, 40, (T, K))
    trace = simulate("maxinp", Rounds(X[0], sets, X[0] @ taste), published=True, horizon=T)
    assert trace.regret[-100:].mean() < trace.regret[:20].mean()


class PublishedMaxInP(LiteralMaxInP):
    eta, t0 = math.sqrt(DIM * math.log(T)), DIM * K


class PublishedCoLSTIM(LiteralCoLSTIM):
    c1 = C = math.sqrt(DIM * math.log(T))
    tau = DIM * K

    def choose(self, X, ticket):
        if self.t < self.tau:
            first, second = int(draw(ticket, 0) * len(X)), int(draw(ticket, 1) * (len(X) - 1))
            return first, second + (second >= first)
        # p_t = min(1, d ln(d T)/sqrt(t - tau)), with t counted from 1.
        self.scale = DIM * math.log(DIM * T) * math.sqrt((self.t + 1) / (self.t - self.tau + 1))
        return super().choose(X, ticket)


@pytest.mark.parametrize(("name", "rule"), [("maxinp", PublishedMaxInP), ("colstim", PublishedCoLSTIM)])
def test_published_choices_follow_the_pseudo_code(name, rule):
    learner = compare(name, rule(DIM, 1e-3, "mle"), rounds=60, count=K, dim=DIM, least=30, published=True, horizon=T)
    assert learner.parameters["warmup"] == "practice"


class PublishedVACDB(LiteralVACDB):
    """The radius of every layer from the variance of its answers, as in the paper's display."""

    kappa, delta, scale, L = 0.25, 0.05, 1e-3, 6
    alpha = 2.0**-L

    def __init__(self, dim):
        super().__init__(dim)
        self.layers = {level: Penalised(dim, level, self.kappa) for level in range(1, self.L + 1)}

    def radius(self, level):
        layer, t = self.layers[level], 1 + sum(len(one.pairs) for one in self.layers.values())
        first, second = (math.log(4 * x**2 * self.L / self.delta) for x in (t + 1, t))
        if 2**level >= 64 * 0.25 / self.kappa * math.sqrt(first):
            variance = sum(w * (y - sigma(layer.theta @ z)) ** 2 for z, y, w in layer.pairs)
        else:
            variance = len(layer.pairs)
        return self.scale * (
            16 * 2.0**-level / self.kappa * math.sqrt((8 * variance + 18 * first) * second)
            + 6 * 2.0**-level / self.kappa * second
            + 2.0 ** (-level + 1)
        )

    @property
    def beta(self):
        raise AssertionError("every layer has a radius of its own")


class Penalised:
    """V from 2^-2l I, theta with the penalty kappa 2^-2l."""

    def __init__(self, dim, level, kappa):
        self.V, self.theta, self.lam, self.pairs = 4.0**-level * np.eye(dim), np.zeros(dim), kappa * 4.0**-level, []

    def norm(self, z):
        return math.sqrt(z @ np.linalg.inv(self.V) @ z)

    def update(self, z, answer, weight):
        self.V = self.V + weight * np.outer(z, z)
        self.pairs.append((z, (1 + answer) / 2, weight))
        for _ in range(40):
            slope = self.lam * self.theta - sum(w * (y - sigma(self.theta @ z)) * z for z, y, w in self.pairs)
            bend = self.lam * np.eye(z.size)
            for z, _, w in self.pairs:
                bend += w * sigma(self.theta @ z) * sigma(-self.theta @ z) * np.outer(z, z)
            self.theta = self.theta - np.linalg.solve(bend, slope)


@pytest.mark.parametrize("scale", [1e-3, 1e-2])
def test_vacdb_drops_by_the_variance_of_each_layer(scale):
    literal = PublishedVACDB(3)
    literal.scale = scale
    learner = compare(
        "vacdb", literal, rounds=150, count=4, dim=3, least=100, model="full", estimator="mle", beta="variance",
        radius=scale, kappa=0.25, alpha=2.0**-6,
    )  # fmt: skip
    learnt = [layer.targets.size for layer in learner.model.layers]
    assert sum(learnt[1:]) > 10  # it has gone down, past layers that dropped by their radius


def test_the_radius_shrinks_where_answers_have_no_noise():
    """Deep layers measure the variance: answers that the fit explains give a smaller radius than coin tosses."""
    found = []
    for noisy in (False, True):
        learner, rng = make("vacdb", dim=2, published=True, horizon=100), np.random.default_rng(0)
        layer = learner.model.layers[9]  # 2^10 is beyond 16/kappa sqrt(a) with kappa = 0.105
        for _ in range(60):
            x = rng.normal(size=(2, 2))
            y = float(rng.choice([-1.0, 1.0])) if noisy else float(np.sign(x[0, 0] - x[1, 0]))
            layer.learn(as_rows(x, 2), 0, 1, y)
        found.append(learner.model._beta(9))
    assert found[0] < 0.9 * found[1]


@pytest.mark.parametrize("heading", ["Regret, feedback, assumptions, bounds", "Parameters, prediction, update"])
def test_every_algorithm_has_a_row_in_both_comparison_tables(heading):
    page = (Path(__file__).parents[2] / "docs" / "comparison.md").read_text()
    part = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip(" `") for line in part.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(row.name for row in algorithms())
    widths = {line.count("|") for line in part.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_the_page_says_what_is_published_in_the_registrys_words():
    page = (Path(__file__).parents[2] / "docs" / "rivals.md").read_text()
    part = page.split("## As published\n")[1].split("\n## ")[0]
    for row in PAPERS:
        sets = ", ".join(f"{name}={value!r}" for name, value in row.published.values.items()) or "nothing: its defaults"
        assert f"| `{row.name}` | {sets} | {', '.join(row.published.needs)} | {row.published.text} |" in part
    assert part.count("\n| `") == len(PAPERS)
