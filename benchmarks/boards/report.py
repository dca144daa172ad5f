"""Tables and figures of the study of boards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.boards import figures
from benchmarks.boards.run import RACE, STOP, WATCH
from benchmarks.boards.spec import DESIGNS, PER_ITEM, RULES, BoardsSpec
from conquer.boards.widths import INTERVALS
from conquer.study.output import markdown, write_text
from conquer.study.plots.canvas import palette_of, save
from conquer.study.runner import Row
from conquer.types import Floats, Ints

if TYPE_CHECKING:
    from polars import DataFrame

_RESAMPLES = 400


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of runs with its exact binomial interval, 95 % (Clopper and Pearson).

    >>> str(Rate(0, 2000))
    '0.0 % [0.0, 0.2]'
    """

    hits: int
    runs: int

    @property
    def share(self) -> float:
        return self.hits / self.runs

    @property
    def ends(self) -> tuple[float, float]:
        from scipy.stats import binomtest

        found = binomtest(self.hits, self.runs).proportion_ci(0.95, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.ends
        return f"{100 * self.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def false_rates(rows: Iterable[Row]) -> dict[tuple[str, int, str], dict[str, Rate]]:
    """{(world, items, rule): {interval: share of runs with a false claim after any answer}}."""
    found: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == WATCH:
            found.setdefault((row["world"], row["items"], row["chooser"]), []).append(row)
    return {
        at: {
            name: Rate(sum(row["wrong"][name] for row in blocks), sum(row["runs"] for row in blocks))
            for name in INTERVALS
        }
        for at, blocks in found.items()
    }


def tau_curves(rows: Iterable[Row]) -> dict[tuple[str, int], dict[str, Floats]]:
    """{(world, items): {rule: (blocks, T) mean tau after every answer}}, the same blocks for all rules."""
    found: dict[tuple[str, int], dict[str, list[list[float]]]] = {}
    for row in rows:
        if row["kind"] == RACE:
            found.setdefault((row["world"], row["items"]), {}).setdefault(row["chooser"], []).append(row["tau"])
    return {at: {name: np.array(blocks) for name, blocks in each.items()} for at, each in found.items()}


def share_needed(curve: Floats, goal: float, items: int) -> float:
    """The answers after which the mean curve stays at the goal, over 5K; infinite if it never does.

    >>> share_needed(np.array([0.0, 0.2, 0.4, 0.6, 0.8]), 0.5, 1)
    0.7
    """
    if curve[-1] < goal:
        return float("inf")
    below = np.flatnonzero(curve < goal)
    last = int(below[-1]) if below.size else -1
    before = curve[last] if last >= 0 else 0.0
    rise = curve[last + 1] - before
    return float(last + 1 + (goal - before) / rise) / (PER_ITEM * items) if rise > 0 else 0.0


def _needed(by_name: dict[str, Floats], rule: str, design: str, items: int) -> str:
    """The share with its 95 % interval, by resampling blocks of runs."""
    size, end = len(by_name[rule]), PER_ITEM * items - 1
    rng = np.random.default_rng(0)

    def of(blocks: Ints) -> float:
        return share_needed(by_name[rule][blocks].mean(axis=0), float(by_name[design][blocks, end].mean()), items)

    drawn = np.array([of(rng.integers(0, size, size)) for _ in range(_RESAMPLES)])
    low, high = (np.quantile(drawn, q, method="inverted_cdf") for q in (0.025, 0.975))
    most = by_name[rule].shape[1] / (PER_ITEM * items)
    texts = [f"{100 * x:.0f}" if np.isfinite(x) else f"> {100 * most:.0f}" for x in (of(np.arange(size)), low, high)]
    return f"{texts[0]} % [{texts[1]}, {texts[2]}]"


def all_tables(rows: Sequence[Row]) -> "dict[str, DataFrame]":
    """{file name: frame} of the kinds of cells that were run."""
    import polars as pl

    lengths = {(row["world"], row["items"]): row["answers"] for row in rows if row["kind"] == WATCH}
    claims = [
        {"world": at[0], "items": at[1], "pairs by": at[2], "runs": rates[INTERVALS[0]].runs, "looks": lengths[at[:2]]}
        | {name: str(rate) for name, rate in rates.items()}
        for at, rates in false_rates(rows).items()
    ]
    lams = {(row["world"], row["items"]): row["lam"] for row in rows if row["kind"] == RACE}
    runs = {at: sum(r["runs"] for r in rows if r["kind"] == RACE and (r["world"], r["items"]) == at) for at in lams}
    answers = []
    for (world, items), by_name in tau_curves(rows).items():
        for rule in (name for name in by_name if name not in DESIGNS):
            line = {"world": world, "items": items, "rule": rule, "lam": lams[world, items]}
            line |= {"runs": runs[world, items] // len(by_name)}
            for design in DESIGNS:
                line[f"tau of {design}"] = float(by_name[design][:, PER_ITEM * items - 1].mean())
                line[f"answers for it beside {design}"] = _needed(by_name, rule, design, items)
            answers.append(line)
    found: dict[str, list[dict[str, Any]]] = {"claims": claims, "answers": answers, "stopping": list(_stopping(rows))}
    return {name: pl.DataFrame(lines) for name, lines in found.items() if lines}


def _stopping(rows: Sequence[Row]) -> Iterable[Row]:
    """Runs that end when their board allows it, beside runs of one fixed length with the same mean error."""
    for chooser in dict.fromkeys(row["chooser"] for row in rows if row["kind"] == STOP):
        blocks = [row for row in rows if row["kind"] == STOP and row["chooser"] == chooser]
        done = [n for row in blocks for n in row["done"]]
        spent = np.array([blocks[0]["answers"] if n is None else n for n in done], dtype=np.float64)
        behind = np.array([value for row in blocks for value in row["behind"]])
        course = np.average([row["course"] for row in blocks], axis=0, weights=[row["runs"] for row in blocks])
        above = np.flatnonzero(course > behind.mean())
        alike = int(above[-1]) + 2 if above.size else 1
        yield {
            "pairs by": chooser,
            "runs": len(done),
            "ended": str(Rate(sum(n is not None for n in done), len(done))),
            "answers, mean": round(float(spent.mean())),
            "answers, median": round(float(np.median(spent))),
            "answers, 95 % of runs": round(float(np.quantile(spent, 0.95))),
            "leader behind the best, mean": float(behind.mean()),
            "one length for all, same error": alike,
        }


def write(spec: BoardsSpec, rows: Sequence[Row], folder: Path) -> Path:
    """Write tables/NAME.md and figures/NAME.png into the folder, which is returned."""
    for name, frame in all_tables(rows).items():
        write_text(folder / "tables" / f"{name}.md", markdown(frame))
    if curves := tau_curves(rows):
        panels = {
            f"{world}, {items} items": {
                name: [(2.0 * (t + 1) / items, tau) for t, tau in enumerate(blocks.mean(axis=0).tolist())]
                for name, blocks in by_name.items()
            }
            for (world, items), by_name in curves.items()
        }
        palette = palette_of(spec.algorithms, RULES, *DESIGNS)
        save(figures.orders(panels, 2.0 * PER_ITEM, palette), folder / "figures" / "orders")
    if rates := false_rates(rows):
        worst = {
            f"{world}, {items}": {
                name: max((each[name] for at, each in rates.items() if at[:2] == (world, items)), key=lambda r: r.share)
                for name in INTERVALS
            }
            for world, items, _ in rates
        }
        shown: dict[str, dict[str, tuple[float, float, float]]] = {
            at: {name: (rate.share, *rate.ends) for name, rate in each.items()} for at, each in worst.items()
        }
        save(figures.claims(shown, spec.delta), folder / "figures" / "claims")
    return folder
