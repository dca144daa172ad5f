"""`python -m benchmarks.boards`: how often boards are wrong at any look, what they tell apart, when they may stop.

Many long runs with one feature per item are played by a compiled copy of the full model and of the rules (the test
suite compares it with the library, answer by answer); `alive`, `better` and stopping are checked as they go.
"""

import argparse
import hashlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.stats import binomtest

from conquer.boards import Board, Interval, Width, board_of
from conquer.boards.evidence import BETS, Answers
from conquer.boards.lack_of_fit import fit_of
from conquer.boards.widths import MIXINGS
from conquer.data.votes import read_votes
from conquer.kernels.core.kernel import toolchain
from conquer.kernels.rounds.choice import anytime, separation
from conquer.kernels.rounds.settings import CHALLENGE
from conquer.models.separation import from_inverse, log_det, squared_distances
from conquer.rows import as_rows
from conquer.types import Floats, Ints

RULES = ("random", "sep", "tob", "gnr", "gnc", "gnt", "ttg")
RANDOM, SEP, TOB, GNR, GNC, GNT, TTG = range(7)
WORLDS = ("equal", "near", "linear", "bradley-terry 1", "bradley-terry 3")
LAWFUL = WORLDS[:3]
RUNS = {5: 200, 10: 200, 30: 40, 100: 20}
HORIZON, DELTA, TOLERANCE, LAM = 20_000, 0.05, 0.5, 1.0
LOOK_EVERY = {5: 20, 10: 20, 30: 100, 100: 400}
CLAIMS = ("proved", "direct", "anytime", "fixed")
RHOS, SHARES = (np.array([rho or LAM for rho, _ in MIXINGS]), np.array([share for _, share in MIXINGS]))
toolchain()


class Played(NamedTuple):
    """A run: its answers with forecasts; the looks at which each of `CLAIMS` was first false, the answer after which
    the best item was first excluded, the set of items alive first empty, the run first done; -1: never. `behind`: by
    how much the leader was worse than the best item when done."""

    first: Ints
    second: Ints
    gap: Floats
    deviation: Floats
    answer: Floats
    false: Ints
    excluded: int
    empty: int
    done: int
    behind: float
    one: int

    def answers(self, voter: Ints | None = None) -> Answers:
        """The run as recorded answers."""
        n = self.first.size
        anonymous = np.full(n, -1) if voter is None else voter[:n]
        return Answers(
            self.first, self.second, self.gap, self.deviation, np.full(n, np.nan), np.full(n, 2), anonymous, np.ones(n),
            self.answer,
        )  # fmt: skip


@njit
def _pick(values: Any, skip: int) -> int:
    best, ties, found = -np.inf, 0, -1
    for i in range(values.size):
        if i != skip:
            if values[i] > best:
                best, ties, found = values[i], 1, i
            elif values[i] == best:
                ties += 1
                if np.random.random() * ties < 1.0:
                    found = i
    return found


@njit
def _log_det(matrix: Any) -> float:
    """ln det by Cholesky's method; overwrites the matrix."""
    total, count = 0.0, matrix.shape[0]
    for i in range(count):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = math.sqrt(value)
                total += 2.0 * math.log(matrix[i, i])
            else:
                matrix[i, j] = value / matrix[j, j]
    return total


@njit
def _claims(
    inverse: Any,
    w: Any,
    pairs: Any,
    bets: Any,
    rhos: Any,
    shares: Any,
    truth: Any,
    delta: float,
    z: float,
    false: Any,
    look: int,
) -> None:
    """Note at this look which of the claims is false: a claim that i beats j although it does not."""
    count = w.size
    square = np.zeros((count, count))
    for i in range(count):
        for k in range(count):
            for j in range(count):
                square[i, j] += inverse[i, k] * inverse[k, j]
    work = np.empty((count, count))
    work[:] = inverse
    own = _log_det(work)
    radii = np.empty(rhos.size)
    for r in range(rhos.size):
        for i in range(count):
            for j in range(count):
                work[i, j] = (rhos[r] - LAM) * inverse[i, j] + (1.0 if i == j else 0.0)
        radii[r] = _log_det(work) - own - count * math.log(rhos[r]) - 2.0 * math.log(0.5 * shares[r] * delta)
    number = count * (count - 1) // 2
    level = math.log(2.0 * count * (count - 1) / delta)
    for i in range(count):
        for j in range(count):
            if i == j or truth[i] > truth[j]:
                continue
            gap = w[i] - w[j]
            if gap > 0.0:
                V = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]
                B = square[i, i] + square[j, j] - 2.0 * square[i, j]
                L = 0.0
                for k in range(count):
                    L += abs(inverse[i, k] - inverse[j, k])
                noise = np.inf
                for r in range(rhos.size):
                    noise = min(noise, (V + (rhos[r] - LAM) * B) * radii[r])
                if false[0] < 0 and gap > LAM * L + math.sqrt(noise):
                    false[0] = look
                log = 2.0 * math.log(number / delta) + math.log((V + 0.25) / V)
                if false[2] < 0 and gap > LAM * L + math.sqrt(V * (V + 0.25) / 0.25 * log):
                    false[2] = look
                if false[3] < 0 and gap > z * math.sqrt(V):
                    false[3] = look
            if false[1] < 0:
                wins, losses = pairs[i, j], pairs[j, i]
                if wins > losses:
                    wealth = 0.0
                    for b in range(bets.size):
                        wealth += math.exp(wins * math.log1p(bets[b]) + losses * math.log1p(-bets[b])) / bets.size
                    if wealth > 0.0 and math.log(wealth) >= level:
                        false[1] = look


@njit
def _draw(inverse: Any, w: Any, pairs: Any, eta: float) -> Any:
    """w' ~ N(w, eta A^-1): A^-1 times a draw with covariance A."""
    count = w.size
    noise = np.empty(count)
    for i in range(count):
        noise[i] = math.sqrt(LAM) * np.random.normal()
    for i in range(count):
        for j in range(i):
            n = pairs[i, j] + pairs[j, i]
            if n > 0.0:
                push = math.sqrt(0.25 * n) * np.random.normal()
                noise[i] += push
                noise[j] -= push
    drawn = w.copy()
    for i in range(count):
        for j in range(count):
            drawn[i] += math.sqrt(eta) * inverse[i, j] * noise[j]
    return drawn


@njit
def _open(log: Any, extra: Any, m: int, level: float, out: Any) -> int:
    """out[j] := whether j is open beside the leader m; how many are."""
    left = 0
    for j in range(log.size):
        out[j] = j != m and log[j] + extra[m, j] < level
        left += out[j]
    return left


@njit
def _second(inverse: Any, w: Any, m: int, chosen: Any, values: Any) -> int:
    """tob's second item, among the chosen."""
    for j in range(w.size):
        values[j] = -np.inf
        if chosen[j] and j != m:
            V = inverse[m, m] + inverse[j, j] - 2.0 * inverse[m, j]
            values[j] = w[j] + (LAM * V + math.sqrt(anytime(V, CHALLENGE)))
    return int(_pick(values, m))


@njit
def _play(
    seed: int,
    means: Any,
    schedule: Any,
    truth: Any,
    rule: int,
    explore: float,
    tolerance: float,
    ends: int,
    every: int,
    delta: float,
    bets: Any,
    rhos: Any,
    shares: Any,
    z: float,
    ints: Any,
    reals: Any,
    false: Any,
    found: Any,
) -> float:
    np.random.seed(seed)
    count, horizon = truth.size, schedule.size
    inverse, w, values = np.eye(count) / LAM, np.zeros(count), np.empty(count)
    log, peak, extra = np.zeros(count), np.zeros(count), np.zeros((count, count))
    pairs, gain, chosen = np.zeros((count, count)), np.empty(count), np.zeros(count, np.int64)
    top, behind = 0, 0.0
    for i in range(count):
        if truth[i] > truth[top]:
            top = i
    out, level = -math.log(delta), math.log(count / delta)
    t = 0
    while t < horizon:
        living = 0
        for i in range(count):
            alive = peak[i] < out
            living += alive
            values[i] = w[i] if alive else -np.inf
        if living == 0 and found[1] < 0:
            found[1] = t
        if living == 1 and found[3] < 0:
            found[3] = t
            if ends == 2:
                break
        m, left = _pick(values if living else w, -1), count
        if tolerance >= 0.0 and living:
            left = _open(log, extra, m, level, chosen)
            if left == 0:
                worse = truth[top] - truth[m]
                if found[2] < 0:
                    found[2] = t
                behind = max(behind, worse)
                if ends == 1:
                    break
        if rule == RANDOM or (explore > 0.0 and np.random.random() < explore):
            a = np.random.randint(count)
            b = (a + 1 + np.random.randint(count - 1)) % count
        elif rule == SEP:
            best, a, b, ties = -np.inf, 0, 1, 0
            for i in range(count):
                for j in range(i):
                    V = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]
                    value = separation(w[i] - w[j], V)
                    if value > best:
                        best, a, b, ties = value, i, j, 1
                    elif value == best:
                        ties += 1
                        if np.random.random() * ties < 1.0:
                            a, b = i, j
            if w[a] < w[b]:
                a, b = b, a
        elif rule == TOB:
            a = m
            if tolerance < 0.0 or left == 0 or living == 0:
                some = 0
                for j in range(count):
                    chosen[j] = j != a and (peak[j] < out and tolerance < 0.0)
                    some += chosen[j]
                if some == 0:
                    for j in range(count):
                        chosen[j] = j != a
                    a = _pick(w, -1)
            else:
                some = 0
                for j in range(count):
                    some += chosen[j] and peak[j] < out
                if some:
                    for j in range(count):
                        chosen[j] = chosen[j] and peak[j] < out
                for j in range(count):
                    if chosen[j] and w[j] > w[a]:
                        a = j
                chosen[m] = 1
            b = _second(inverse, w, a, chosen, values)
        else:
            a = _pick(w, -1)
            if rule == GNR:
                b = (a + 1 + np.random.randint(count - 1)) % count
            elif rule == TTG:
                b = _pick(w, a)
            elif rule == GNT:
                b = _pick(_draw(inverse, w, pairs, 0.3), a)
            else:
                for j in range(count):
                    values[j] = w[j] + math.sqrt(3.0 * max(0.0, inverse[a, a] + inverse[j, j] - 2.0 * inverse[a, j]))
                b = _pick(values, a)
                if w[a] - w[b] > values[b] - w[b]:
                    if explore == 0.0:
                        break  # silent from now on: nothing changes
                    continue
        gap = w[a] - w[b]
        deviation = math.sqrt(max(0.0, inverse[a, a] + inverse[b, b] - 2.0 * inverse[a, b]))
        y = 1.0 if np.random.random() < 0.5 * (1.0 + means[schedule[t], a, b]) else -1.0
        ints[0, t], ints[1, t] = a, b
        reals[0, t], reals[1, t], reals[2, t] = gap, deviation, y
        caution = 0.5 * deviation
        lower, won = (b, y) if gap > 0.0 else (a, -y)
        step = math.log1p(min(0.9, max(0.0, 0.5 * (abs(gap) - caution))) * won)
        log[lower] += step
        peak[lower] = max(peak[lower], log[lower])
        if lower == top and peak[top] >= out and found[0] < 0:
            found[0] = t + 1
        if tolerance >= 0.0:
            least, half = min(0.9, 0.25 * tolerance), 0.5 * tolerance
            bet = min(0.9, max(least, 0.5 * (tolerance + gap - caution)))
            extra[a, b] += math.log1p(bet * (half + y)) - (step if lower == b else 0.0)
            bet = min(0.9, max(least, 0.5 * (tolerance - gap - caution)))
            extra[b, a] += math.log1p(bet * (half - y)) - (step if lower == a else 0.0)
        if y > 0.0:
            pairs[a, b] += 1.0
        else:
            pairs[b, a] += 1.0
        for i in range(count):
            gain[i] = 0.5 * (inverse[i, a] - inverse[i, b])
        h = 0.5 * (gain[a] - gain[b])
        rate = (y - 0.5 * gap) / (1.0 + h)
        for i in range(count):
            w[i] += rate * gain[i]
            scale = gain[i] / (1.0 + h)
            for j in range(count):
                inverse[i, j] -= scale * gain[j]
        t += 1
        if every > 0 and t % every == 0:
            _claims(inverse, w, pairs, bets, rhos, shares, truth, delta, z, false, t)
    found[4] = t
    return behind


def play(
    seed: int, means: Floats, truth: Floats, rule: str, *, horizon: int = HORIZON, explore: float = 0.0,
    tolerance: float | None = TOLERANCE, ends: str = "", every: int = 0, schedule: Ints | None = None,
) -> Played:  # fmt: skip
    """One run of a rule between items of these mean answers, (K, K) or (G, K, K) with the group of each answer.

    `ends`: "done" ends it when the session may stop, "one" when one item is alive. `every`: answers between two checks
    of the claims.
    """
    means = means[None] if means.ndim == 2 else means
    schedule = np.zeros(horizon, np.int64) if schedule is None else schedule
    ints, reals = np.empty((2, horizon), np.int64), np.empty((3, horizon))
    false, found = np.full(len(CLAIMS), -1), np.full(5, -1)
    behind = _play(
        seed, means, schedule, truth, RULES.index(rule), explore, -1.0 if tolerance is None else tolerance,
        {"": 0, "done": 1, "one": 2}[ends], every, DELTA, BETS, RHOS, SHARES, 1.959963984540054, ints, reals, false,
        found,
    )  # fmt: skip
    n = int(found[4])
    return Played(
        ints[0, :n], ints[1, :n], reals[0, :n], reals[1, :n], reals[2, :n], false, int(found[0]), int(found[1]),
        int(found[2]), behind, int(found[3]),
    )  # fmt: skip


def world(name: str, count: int, seed: int) -> tuple[Floats, Floats]:
    """(worth, mean answers): equal; uniform on [-0.1, 0.1] (near) or [-1, 1] (linear); normal utilities and the
    logistic law (bradley-terry SD)."""
    rng = np.random.default_rng(seed)
    if name.startswith("bradley-terry"):
        truth = float(name.split()[1]) * rng.normal(size=count)
        return truth, np.tanh(0.5 * (truth[:, None] - truth))
    reach = {"equal": 0.0, "near": 0.1, "linear": 1.0}[name]
    truth = reach * rng.uniform(-1.0, 1.0, count)
    return truth, 0.5 * (truth[:, None] - truth)


def real(path: Path, count: int) -> tuple[Floats, Floats]:
    """(worth, mean answers) of the `count` items with most votes of a file that were all compared with each other.

    Worth is the mean answer against the others, in units of a difference of scores.
    """
    sums: dict[tuple[str, str], float] = {}
    numbers: dict[tuple[str, str], int] = {}
    for vote in read_votes(path, content="ids"):
        for pair, value in (((vote.first, vote.second), vote.value), ((vote.second, vote.first), -vote.value)):
            sums[pair] = sums.get(pair, 0.0) + vote.count * value
            numbers[pair] = numbers.get(pair, 0) + vote.count
    each = {name: sum(n for (one, _), n in numbers.items() if one == name) for name, _ in numbers}
    chosen: list[str] = []
    for name in sorted(each, key=lambda name: (-each[name], name)):
        if len(chosen) < count and all((name, other) in numbers for other in chosen):
            chosen.append(name)
    if len(chosen) < count:
        raise ValueError(f"no {count} items were all compared with each other; {len(chosen)} were")
    means = np.array([[sums[i, j] / numbers[i, j] if i != j else 0.0 for j in chosen] for i in chosen])
    return 2.0 * means.sum(axis=1) / (count - 1), means


def evenly(count: int) -> tuple[Floats, Floats]:
    """(worth, mean answers) of items from -1 to 1 at equal distances."""
    truth = np.linspace(-1.0, 1.0, count)
    return truth, 0.5 * (truth[:, None] - truth)


def seed_of(*parts: Any) -> int:
    """A seed from what a cell is."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "big") >> 1


def city(inverse: Floats) -> Floats:
    """The sum of |A^-1 x|: items of one column each, worth in [-1, 1]."""
    return squared_distances(inverse, "cityblock")


def norm(inverse: Floats) -> Floats:
    """sqrt(K) ||A^-1 x||, as boards had it before."""
    return math.sqrt(len(inverse)) * np.sqrt(squared_distances(inverse))


def laplacian(first: Ints, second: Ints, weight: Floats, count: int) -> Floats:
    """(K, K): the sum of weight (e_first - e_second) (e_first - e_second)'."""
    gram = np.zeros((count, count))
    for one, two, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(gram, (one, two), sign * weight)
    return gram


class Share(NamedTuple):
    """A share of runs with its exact binomial interval, 95 % (Clopper and Pearson)."""

    hits: int
    runs: int

    @property
    def least(self) -> float:
        """The lower 95 % limit."""
        return float(binomtest(self.hits, self.runs).proportion_ci(0.95, method="exact").low)

    def __str__(self) -> str:
        text = f"{100 * self.hits / self.runs:.1f} %"
        return f"**{text}**" if self.least > DELTA else text


def wrong(rule: str, name: str, count: int, runs: int, horizon: int = HORIZON, **options: Any) -> dict[str, Share]:
    """The share of runs with a false claim at any look: of each kind, `better` (proved or direct), `best`, `stop`."""
    hits = dict.fromkeys((*CLAIMS, "better", "best", "stop"), 0)
    for run in range(runs):
        truth, means = world(name, count, seed_of("world", name, count, run))
        seed = seed_of("run", rule, name, count, run)
        found = play(seed, means, truth, rule, horizon=horizon, every=LOOK_EVERY[count], **options)
        for kind, look in zip(CLAIMS, found.false, strict=True):
            hits[kind] += bool(look >= 0)
        hits["better"] += bool(found.false[0] >= 0 or found.false[1] >= 0)
        hits["best"] += found.excluded >= 0
        hits["stop"] += found.behind > TOLERANCE
    return {kind: Share(number, runs) for kind, number in hits.items()}


def board_from(
    first: Ints, second: Ints, answer: Floats, count: int, answered: Answers | None, *, lam: float = LAM,
    interval: Interval = "proved", pull: Callable[[Floats], Floats] = city,
) -> tuple[Board, Floats, Floats]:  # fmt: skip
    """(board, V, B): the library's board of one-column items after these answers, by solving once.

    `pull` bounds |w*' A^-1 x| of all pairs, from A^-1.
    """
    gram = lam * np.eye(count) + 0.25 * laplacian(first, second, np.ones(answer.size), count)
    gains = 0.5 * (np.bincount(first, answer, count) - np.bincount(second, answer, count))
    inverse = np.asarray(np.linalg.inv(gram), np.float64)
    V, B, _ = from_inverse(inverse, as_rows(np.eye(count), count))
    forms = []
    for mixing, share in MIXINGS:
        rho = mixing or lam
        forms.append((rho, log_det(gram + (rho - lam) * np.eye(count)) - count * math.log(rho), share))
    width = Width(interval, DELTA, 0.25, lam, tuple(forms), answer.size)
    return board_of(inverse @ gains, V, B, pull(inverse), width, answered=answered), V, B


def power(
    rule: str, count: int = 10, runs: int = 20, looks: Sequence[int] = (1_000, 5_000, 10_000), even: bool = False
) -> list[dict[str, float]]:
    """Per look: the mean number of pairs told apart by the default board, by `anytime`, and by `proved` as it was."""
    rows = []
    played = []
    for run in range(runs):
        truth, means = world("linear", count, seed_of("world", "linear", count, run))
        if even:
            truth, means = evenly(count)
        played.append(play(seed_of("power", rule, run), means, truth, rule, horizon=max(looks), tolerance=None))
    for look in looks:
        told: dict[str, list[float]] = {"default": [], "anytime": [], "proved before": []}
        for found in played:
            first, second, y = found.first[:look], found.second[:look], found.answer[:look]
            columns: list[Any] = [np.asarray(column)[:look] for column in found.answers()]
            some = Answers(*columns)
            board, V, _ = board_from(first, second, y, count, some)
            told["default"].append(board.better.sum())
            told["anytime"].append(board_from(first, second, y, count, None, interval="anytime")[0].better.sum())
            spread = _spread(found, look)
            half = np.sqrt(V * (LAM * count + spread + 2.0 * math.log(1.0 / DELTA)))
            told["proved before"].append((board.scores[:, None] - board.scores > half).sum())
        rows.append({kind: float(np.mean(values)) for kind, values in told.items()})
    return rows


def _spread(found: Played, look: int) -> float:
    """The sum of e^2 h, as models keep it."""
    e = found.answer[:look] - 0.5 * found.gap[:look]
    h = 0.25 * found.deviation[:look] ** 2
    return float((e * e * h / (1.0 + h)).sum())


def misfit(name: str, count: int, seed: int, horizon: int) -> tuple[Floats, Floats, Ints, Floats | None]:
    """(worth, means (G, K, K), schedule, features): a world in which the law does not hold, or holds ("sound")."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1.0, 1.0, count)
    schedule, rows = np.zeros(horizon, np.int64), None
    worth = truth[None]
    twist = np.zeros((count, count))
    if name == "intransitive":
        twist = np.triu(rng.normal(0.0, 0.4, (count, count)), 1)
        twist -= twist.T
    elif name == "tastes":
        worth = truth + rng.normal(0.0, 0.5, (20, count))
        schedule = np.arange(horizon) // 100 % 20
    elif name == "drift":
        worth = np.tile(truth, (20, 1))
        worth[:, rng.integers(count)] = np.linspace(-1.0, 1.0, 20)
        schedule = np.arange(horizon) * 20 // horizon
    elif name in ("features", "sound features"):
        rows = rng.normal(size=(count, 3))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        worth = (rows @ rng.normal(0.0, 0.5, 3))[None]
        if name == "features":
            worth = worth + rng.normal(0.0, 0.2, count)
    means = np.clip(0.5 * (worth[:, :, None] - worth[:, None, :]) + twist, -1.0, 1.0)
    return worth.mean(axis=0), means, schedule, rows


MISFITS = ("intransitive", "tastes", "drift", "features", "sound", "sound features")


def warned(name: str, rule: str, explore: float, looks: Sequence[int], runs: int, count: int = 10) -> list[Share]:
    """The share of runs in which the board warns, at each look."""
    hits = [0] * len(looks)
    for run in range(runs):
        for k, look in enumerate(looks):
            truth, means, schedule, rows = misfit(name, count, seed_of("misfit", name, count, run), look)
            found = play(
                seed_of("fit", name, rule, explore, run, look), means, truth, rule, horizon=look, explore=explore,
                tolerance=None, schedule=schedule,
            )  # fmt: skip
            voters = schedule if name == "tastes" else np.arange(look) // 100 % 20
            hits[k] += fit_of(found.answers(voters), count, rows).kind is not None
    return [Share(number, runs) for number in hits]


World = Callable[[int], tuple[Floats, Floats]]
"""(worth, mean answers) of a run."""


def endings(rule: str, runs: int, world_: World, *, ends: str, tolerance: float | None = TOLERANCE) -> str:
    """The mean number of answers until a session is done, or one item is alive, with its standard error."""
    done, late, bad = [], 0, 0
    for run in range(runs):
        truth, means = world_(run)
        seed = seed_of("stop", rule, truth.size, run)
        found = play(seed, means, truth, rule, tolerance=tolerance, ends=ends)
        at = found.done if ends == "done" else found.one
        late += at < 0
        bad += found.behind > TOLERANCE + 1e-9 or (ends == "one" and found.excluded >= 0)
        done.append(at if at >= 0 else HORIZON)
    text = f"{'> ' if late else ''}{np.mean(done):,.0f} +- {np.std(done) / math.sqrt(runs):,.0f}"
    return text + (f" ({late} of {runs} not done)" if late else "") + (f", {bad} wrong" if bad else "")


def always(found: tuple[Floats, Floats]) -> World:
    """The same world in every run."""
    return lambda run: found


def uniform(count: int) -> World:
    """Linear worlds."""
    return lambda run: world("linear", count, seed_of("world", "linear", count, run))


def sizes(count: int, per_item: int, seed: int) -> dict[str, int]:
    """Pairs told apart on a large board of random pairs, linear world: now, before, by one look of Bradley-Terry."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1.0, 1.0, count)
    n = count * per_item // 2
    first = rng.integers(0, count, n)
    second = (first + rng.integers(1, count, n)) % count
    y = np.where(rng.random(n) < 0.5 + 0.25 * (truth[first] - truth[second]), 1.0, -1.0)
    zero = np.zeros(n)
    some = Answers(first, second, zero, zero, zero * np.nan, np.full(n, 2), np.full(n, -1), zero + 1.0, y)
    board, _, _ = board_from(first, second, y, count, some)
    before, _, _ = board_from(first, second, y, count, None, interval="anytime", pull=norm)
    now, _, _ = board_from(first, second, y, count, None, interval="anytime")
    false = truth[:, None] <= truth
    found = {"default": board, "anytime": now, "anytime before": before}
    told = {kind: int(each.better.sum()) for kind, each in found.items()}
    sandwich = _sandwich(first, second, y, count)
    return told | {
        "sandwich": int(sandwich.sum()),
        "default false": int((board.better & false).sum()),
        "sandwich false": int((sandwich & false).sum()),
    }


def _sandwich(first: Ints, second: Ints, y: Floats, count: int) -> Any:
    """(K, K): Bradley-Terry with sandwich errors at one look, Bonferroni over pairs, as leaderboards do."""
    from statistics import NormalDist

    b = np.zeros(count)
    for _ in range(25):
        p = 1.0 / (1.0 + np.exp(-(b[first] - b[second])))
        r, v = 0.5 * (y + 1.0) - p, p * (1.0 - p)
        slope = np.bincount(first, r, count) - np.bincount(second, r, count) - 1e-6 * b
        bread = laplacian(first, second, v, count) + 1e-6 * np.eye(count)
        b = b + np.linalg.solve(bread, slope)
    inverse = np.linalg.inv(bread)
    cov = inverse @ laplacian(first, second, r * r, count) @ inverse
    spread = np.sqrt(np.maximum(0.0, cov.diagonal()[:, None] + cov.diagonal() - 2.0 * cov))
    z = NormalDist().inv_cdf(1.0 - DELTA / (count * (count - 1)))
    return b[:, None] - b > np.where(np.eye(count) > 0, np.inf, z * spread)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in markdown."""
    lines = [f"## {title}", "", f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""])


def claims_table(counts: Sequence[int], runs: dict[int, int], note: Callable[[str], None]) -> str:
    rows = []
    for count in counts:
        for name in WORLDS:
            for rule in RULES:
                found = wrong(rule, name, count, runs[count])
                cells = [found[kind] for kind in ("better", "best", "stop", "anytime", "fixed")]
                rows.append([count, name, rule, runs[count], *cells])
                note(" ".join(map(str, rows[-1])))
    header = [
        "items",
        "world",
        "rule",
        "runs",
        "false `better`",
        "best excluded",
        "false stop",
        "`anytime` false",
        "`fixed` false",
    ]
    return table(f"Runs with a false claim at any look up to {HORIZON:,} answers", header, rows)


def main() -> None:
    """Parse the command line, measure, and print or publish the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boards", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--only", default="claims,power,fit,stop,sizes", help="the tables to make")
    parser.add_argument("--items", default="5,10,30,100", help="numbers of items of the claims")
    parser.add_argument("--votes", type=Path, help="a file of votes whose mean answers are one more world of `stop`")
    parser.add_argument("--out", type=Path, help="a folder for one file per table")
    options = parser.parse_args()
    few = 10 if options.quick else 1
    runs = {count: max(2, number // few) for count, number in RUNS.items()}
    begun = time.perf_counter()

    def note(text: str) -> None:
        print(f"{time.perf_counter() - begun:7.0f} s  {text}", flush=True)

    for name in options.only.split(","):
        text = _table(name, [int(each) for each in options.items.split(",")], runs, few, options.votes, note)
        if options.out is None:
            print(text)
        else:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{name}.md").write_text(text)


def _table(
    name: str, counts: Sequence[int], runs: dict[int, int], few: int, votes: Path | None, note: Callable[[str], None]
) -> str:
    rows: list[list[Any]] = []
    if name == "claims":
        return claims_table(counts, runs, note)
    if name == "power":
        looks: tuple[int, ...] = (1_000, 5_000, 10_000)
        for rule in ("random", "sep", "gnr", "tob"):
            number = max(2, 20 // few)
            both = [power(rule, runs=number, looks=looks, even=even) for even in (False, True)]
            for look, *pair in zip(looks, *both, strict=True):
                rows.append([rule, f"{look:,}", *(f"{value:.1f}" for each in pair for value in each.values())])
            note(f"power {rule}")
        kinds = ("default", "`anytime`", "`proved` before")
        header = ["rule", "answers", *(f"{kind}, {spread}" for spread in ("uniform", "even") for kind in kinds)]
        return table("Pairs told apart of 45: 10 items, linear world", header, rows)
    if name == "fit":
        looks = (2_000, 10_000)
        for kind in MISFITS:
            for rule, explore in (
                ("random", 0.0),
                ("sep", 0.1),
                ("tob", 0.1),
                ("gnr", 0.1),
                ("sep", 0.0),
                ("gnr", 0.0),
            ):
                rows.append([kind, rule, f"{explore:g}", *warned(kind, rule, explore, looks, max(2, 100 // few))])
                note(" ".join(map(str, rows[-1])))
        header = ["world", "rule", "explore", *(f"{look:,} answers" for look in looks)]
        return table("Runs with a warning, 10 items", header, rows)
    if name == "stop":
        worlds: list[tuple[str, int, World]] = []
        for count in (5, 10, 20):
            worlds += [("even", count, always(evenly(count))), ("uniform", count, uniform(count))]
        if votes is not None:
            worlds.append((votes.name, 10, always(real(votes, 10))))
        for kind, count, source in worlds:
            for rule in ("tob", "gnr", "random"):
                number = max(2, 200 // few)
                one = endings(rule, number, source, ends="one", tolerance=None)
                rows.append([kind, count, rule, endings(rule, number, source, ends="done"), one])
                note(" ".join(map(str, rows[-1])))
        header = ["world", "items", "rule", "done at 0.5", "one alive"]
        return table("Mean answers until done", header, rows)
    for count, per_item in ((100, 200), (500, 200), (2000, 200)):
        found = sizes(count, per_item, seed_of("sizes", count))
        rows.append([count, f"{count * per_item // 2:,}", count * (count - 1) // 2, *found.values()])
        note(" ".join(map(str, rows[-1])))
    header = [
        "items",
        "answers",
        "pairs",
        "default",
        "`anytime`",
        "`anytime` before",
        "sandwich",
        "default, false",
        "sandwich, false",
    ]
    return table("Pairs told apart on large boards, random pairs, linear world", header, rows)


if __name__ == "__main__":
    main()
