"""`conquer measure voters`: biased voters in a real crowd, what a judge's votes are worth, and simulated crowds."""

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from conquer.files import write_atomically
from conquer.learners.believer import Believer
from conquer.learners.voters import Interval, wilson
from conquer.registry import make
from conquer.types import Choice, Floats, Query, Source

Row = tuple[int, int, float, Source]
"""(first item, second item, answer, source)"""
CROWD, JUDGE = "crowd-comparisons.csv.gz", "gpt4-comparisons.csv.gz"
VALUES = {"left": 1.0, "right": -1.0, "tie": 0.0}
SIZES = (500, 1000, 1500, 2000, 2500, 3000, 3500, 4000)


def read_llmfao(folder: Path) -> tuple[list[Row], list[Row], list[str]]:
    """(votes of the crowd, votes of the judge, names of the models) of the LLMFAO files."""
    found = [_table(folder / CROWD), _table(folder / JUDGE)]
    names = sorted({row[side] for rows in found for row in rows for side in ("left", "right")})
    places = {name: place for place, name in enumerate(names)}

    def vote(row: Mapping[str, str]) -> Row:
        source = Source(row["worker"], 1) if "worker" in row else Source("gpt-4", 1, "judge")
        return places[row["left"]], places[row["right"]], VALUES[row["winner"]], source

    return [vote(row) for row in found[0]], [vote(row) for row in found[1]], names


def _table(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trained(rows: Iterable[Row], count: int, **parameters: Any) -> Believer:
    """A full model of one-hot items that has learnt these answers."""
    learner: Any = make("gnr", dim=count, model="full", **parameters)
    return train(learner, rows)


def train(learner: Believer, rows: Iterable[Row]) -> Believer:
    """The same learner after learning these answers."""
    X = np.eye(learner.dim)
    for first, second, answer, source in rows:
        learner.learn(X, Choice((first, second), Query.DUEL, 0, {}), answer, source)
    return learner


def left_share(rows: Sequence[Row]) -> tuple[float, Interval, int]:
    """(share, interval, count) of the decisive answers that chose the left item."""
    decisive = [answer * source.side > 0 for _, _, answer, source in rows if answer * source.side]
    return float(np.mean(decisive)), wilson(sum(decisive), len(decisive)), len(decisive)


def equivalents(crowd: Sequence[Row], judge: Sequence[Row], count: int, repetitions: int) -> Floats:
    """(sizes,): the number of people's votes that predict as well as each size of them with the judge's votes."""
    alone, helped = np.zeros(len(SIZES)), np.zeros(len(SIZES))
    for repetition in range(repetitions):
        order = np.random.default_rng(repetition).permutation(len(crowd))
        half = len(crowd) // 2
        training, test = [crowd[k] for k in order[:half]], [crowd[k] for k in order[half:]]
        for losses, first in ((alone, []), (helped, judge)):
            learner = trained(first, count, believe="people", voters=128)
            for place, (start, stop) in enumerate(pairwise((0, *SIZES))):
                train(learner, training[start:stop])
                losses[place] += _loss(learner, test) / repetitions
    return np.interp(-helped, -alone, SIZES, right=np.inf)


def _loss(learner: Believer, test: Sequence[Row]) -> float:
    """The variance of the answers that the scores leave unexplained."""
    scores = learner.scores(np.eye(learner.dim))
    rest = [answer - (scores[first] - scores[second]) / 2 for first, second, answer, _ in test]
    return float(np.var(rest))


def simulated(
    seed: int, items: int = 10, voters: int = 20, bad: int = 4, answers: int = 2000
) -> tuple[Floats, list[Row]]:
    """(rewards, votes) of a simulated crowd whose first `bad` voters always pick the left item."""
    rng = np.random.default_rng(seed)
    rewards, rows = rng.uniform(-1, 1, items), []
    for _ in range(answers):
        first, second = rng.permutation(items)[:2].tolist()
        voter, side = int(rng.integers(voters)), int(rng.choice([-1, 1]))
        honest = 1.0 if rng.random() < (1 + (rewards[first] - rewards[second]) / 2) / 2 else -1.0
        rows.append((first, second, float(side) if voter < bad else honest, Source(f"v{voter}", side)))
    return rewards, rows


def simulated_errors(seeds: int) -> Floats:
    """(4,): mean error of the scores: unweighted, weighted, and both without the bad voters' answers."""
    bad, found = {f"v{voter}" for voter in range(4)}, []
    for seed in range(seeds):
        rewards, rows = simulated(seed)
        good = [row for row in rows if row[3].voter not in bad]
        runs = ((rows, None), (rows, "voters"), (good, None), (good, "voters"))
        scores = [trained(part, 10, believe=believe).scores(np.eye(10)) for part, believe in runs]
        found.append([np.std(one - rewards) for one in scores])
    return np.asarray(np.mean(found, axis=0))


def _percent(interval: Interval) -> str:
    return f"{interval[0]:.0%} to {interval[1]:.0%}"


def _voters(learner: Believer) -> Iterator[str]:
    yield "| voter | answers | left | left, 95 % | agrees | weight | weight, 95 % | why doubtful |"
    yield "|---|---|---|---|---|---|---|---|"
    for voter in learner.voters():
        if voter.doubtful:
            left, agrees = voter.left or 0.0, voter.agreement or 0.0
            low, high = voter.weight_interval
            yield (
                f"| {voter.name} | {voter.answers} | {left:.0%} | {_percent(voter.left_interval)} | {agrees:.0%} "
                f"| {voter.weight:.2f} | {low:.2f} to {high:.2f} | {voter.reason} |"
            )


def run_voters(folder: Path, *, repetitions: int, seeds: int, out: Path) -> None:
    """Write the report on LLMFAO's votes and simulated crowds to `out`."""
    crowd, judge, names = read_llmfao(folder)
    learner = trained(crowd, len(names), believe="voters", voters=128)
    share, interval, decisive = left_share(crowd)
    workers = len({source.voter for *_, source in crowd})
    last = trained([*crowd, *judge], len(names), believe="people", voters=128).worth()
    first = trained([*judge, *crowd], len(names), believe="people", voters=128).worth()
    equal = equivalents(crowd, judge, len(names), repetitions)
    errors = simulated_errors(seeds)
    lines = [
        "# Voters, measured",
        "",
        f"Made by `conquer measure voters FOLDER --repetitions {repetitions} --seeds {seeds}`.",
        "What the numbers mean: [voters](../voters.md).",
        "",
        "## A real crowd",
        "",
        f"LLMFAO (Ustalov; CC BY 4.0): {len(crowd):,} votes of {workers} workers on {len(names)} models.",
        f"The left won {share:.1%} of {decisive:,} decisive votes (95 %: {interval[0]:.1%} to {interval[1]:.1%}).",
        'A full model of one-hot items with `believe="voters"` doubts these workers:',
        "",
        *_voters(learner),
        "",
        "## A judge beside them",
        "",
        f"GPT-4 gave {len(judge):,} votes on the same pairs. By `worth()` they are worth {last:.0f} people's votes",
        f"where they come last, {last / len(crowd):.1%} more, and {first:.0f} where they come first. Held-out check,",
        f"{repetitions} random halves: n people's votes with the judge's predict the votes of the other half as",
        "well as this number of people's votes alone:",
        "",
        "| n | " + " | ".join(map(str, SIZES)) + " |",
        "|---|" + "---|" * len(SIZES),
        "| as good as | " + " | ".join(f"{one:.0f}" if np.isfinite(one) else f"> {SIZES[-1]}" for one in equal) + " |",
        "",
        "## Simulated crowds",
        "",
        f"20 voters of whom 4 always pick the left, 2,000 answers on 10 items, mean over {seeds} seeds of the",
        "standard deviation between scores and rewards:",
        "",
        "| | all answers | without the four |",
        "|---|---|---|",
        f"| unweighted | {errors[0]:.4f} | {errors[2]:.4f} |",
        f'| `believe="voters"` | {errors[1]:.4f} | {errors[3]:.4f} |',
        "",
    ]
    write_atomically(out, "\n".join(lines).encode())
