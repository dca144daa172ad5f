"""The study's tables: numbers from results.parquet alone, as frames, Markdown and CSV."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from conquer.metrics import sign_test
from conquer.registry import find, table
from conquer.study.reviews.spec import CEILING, PAPER
from conquer.types import Floats

Frame = Any


def ordered(names: Any) -> list[str]:
    """Algorithms in the study's order, unknown ones after the known, references last.

    >>> ordered(["random", "gnc", "ttg"])
    ['ttg', 'gnc', 'random']
    """
    rank = {name: i for i, name in enumerate(PAPER)} | {"random": 10_000, CEILING: 10_001}
    return sorted(set(names), key=lambda name: (rank.get(name, 5_000), name))


def contenders(results: Frame) -> list[str]:
    """The algorithms without the two reference lines."""
    return [name for name in ordered(results["algorithm"].to_list()) if name not in ("random", CEILING)]


def interval(results: Frame, algorithm: str, items: int) -> tuple[float, float | None]:
    """(mean, half width of its 95 % interval, None for a single trial) of the test error at K = `items`.

    What a trial's difficulty adds to all algorithms alike is taken out first, as the comparison is paired; trials of
    one domain are averaged, so that domains are the sample (single trials where there are fewer than five domains).
    """
    import polars as pl

    part = results.filter(pl.col("items") == items)
    level = part.with_columns(
        (pl.col("error") - pl.col("error").mean().over("domain", "repetition") + pl.col("error").mean()).alias("level")
    ).filter(pl.col("algorithm") == algorithm)
    mean = float(level["error"].mean())
    many = level["domain"].n_unique() >= 5
    domains = level.group_by("domain", maintain_order=True).agg(pl.col("level").mean())
    units = (domains if many else level)["level"].to_numpy()
    names = part["algorithm"].n_unique()
    # Taking out the trial's mean takes out a share 1/names of the algorithm's own spread.
    return mean, half_width(units * np.sqrt(names / max(1, names - 1))) if units.size > 1 else None


def half_width(units: Floats) -> Any:
    """Half of the 95 % interval of the mean of (n, ...) values, by Student's t."""
    from scipy.stats import t

    half = t.ppf(0.975, len(units) - 1) * units.std(axis=0, ddof=1) / np.sqrt(len(units))
    return float(half) if half.ndim == 0 else half


def online(results: Frame) -> Frame:
    """One row an algorithm: mean regret a round and mean online error for each K."""
    import polars as pl

    learners = results.filter(pl.col("regret").is_not_null())
    sizes = sorted(learners["items"].unique().to_list())
    rows = []
    for name in ordered(learners["algorithm"].to_list()):
        row: dict[str, Any] = {"algorithm": name}
        for items in sizes:
            part = learners.filter((pl.col("algorithm") == name) & (pl.col("items") == items))
            row[f"regret K={items}"] = (part["regret"] / part["rounds"]).mean()
            row[f"error K={items}"] = part["online_error"].mean()
        rows.append(row)
    return pl.DataFrame(rows)


def mean_errors(results: Frame) -> Frame:
    """One row an algorithm: mean test error and half interval for each K, their mean, and its ratio to the ceiling."""
    import polars as pl

    sizes = sorted(results["items"].unique().to_list())
    rows = []
    for name in ordered(results["algorithm"].to_list()):
        row: dict[str, Any] = {"algorithm": name}
        values = []
        for items in sizes:
            mean, half = interval(results, name, items)
            row[f"K={items}"], row[f"±{items}"] = mean, half
            values.append(mean)
        rows.append(row | {"mean": float(np.mean(values))})
    table = pl.DataFrame(rows)
    best = float(table.filter(pl.col("algorithm") == CEILING)["mean"][0])
    return table.with_columns((pl.col("mean") / best).alias("of ceiling"))


def one_versus_one(results: Frame) -> Frame:
    """(row, column, wins, losses, ties, p): in how many trials the row's test error was below the column's.

    The two references, random and the ceiling, take part.
    `p` is a sign test over domains, whose trials share data and tuning (over trials where there are fewer than five).
    """
    import polars as pl

    trials = results.pivot(on="algorithm", index=["domain", "items", "repetition"], values="error").sort(
        "domain", "items", "repetition"
    )
    names = ordered(results["algorithm"].to_list())
    rows = []
    for one in names:
        for two in names:
            if one == two:
                continue
            gap = trials[one].to_numpy() - trials[two].to_numpy()
            wins, losses = int((gap < 0).sum()), int((gap > 0).sum())
            units = by_domain(trials["domain"].to_numpy(), gap)
            rows.append(
                {
                    "row": one, "column": two, "wins": wins, "losses": losses,
                    "ties": int((gap == 0).sum()), "p": sign_test(int((units < 0).sum()), int((units > 0).sum())),
                }
            )  # fmt: skip
    counts = dict.fromkeys(("wins", "losses", "ties"), pl.Int64)
    return pl.DataFrame(rows, schema={"row": pl.String, "column": pl.String, **counts, "p": pl.Float64})


def by_domain(domains: Any, values: Floats) -> Floats:
    """The mean of each domain, or the values themselves where there are fewer than five domains.

    >>> by_domain(list("aabbccddee"), np.arange(10.0)).tolist()
    [0.5, 2.5, 4.5, 6.5, 8.5]
    """
    names, place = np.unique(domains, return_inverse=True)
    if names.size < 5:
        return values
    return np.asarray(np.bincount(place, values) / np.bincount(place), np.float64)


def silence(results: Frame, algorithm: str = "gnc") -> Frame:
    """Per domain: percent of rounds without a question, a column for each K, and the mean over all domains."""
    import polars as pl

    part = results.filter(pl.col("algorithm") == algorithm)
    if part.is_empty():
        return pl.DataFrame({"domain": []})
    table = (
        part.with_columns((100.0 * (1.0 - pl.col("query_rate"))).alias("silent"))
        .pivot(on="items", index="domain", values="silent", aggregate_function="mean")
        .sort("domain")
    )
    sizes = sorted((name for name in table.columns if name != "domain"), key=int)
    table = table.select("domain", *(pl.col(name).alias(f"K={name}") for name in sizes))
    means = table.select(pl.lit("mean").alias("domain"), *(pl.col(f"K={name}").mean() for name in sizes))
    return pl.concat([table, means])


def by_pass(results: Frame) -> Frame:
    """Percent of rounds without a question in each pass, per algorithm that is ever silent, and K."""
    import polars as pl

    rows = []
    for name in contenders(results):
        for items in sorted(results["items"].unique().to_list()):
            part = results.filter((pl.col("algorithm") == name) & (pl.col("items") == items))
            rates = np.array([r for r in part["query_rates"].to_list() if r is not None])
            if rates.size and (rates < 1).any():
                silent = 100.0 * (1.0 - rates.mean(axis=0))
                rows.append({"algorithm": name, "items": items} | {f"pass {i + 1}": s for i, s in enumerate(silent)})
    return pl.DataFrame(rows)


def equal_pairs(results: Frame) -> Frame:
    """Percent of questions between equally good items, per algorithm and K; `in sets` is a random pair's."""
    import polars as pl

    part = results.filter(pl.col("equal_pairs").is_not_null())
    table = part.group_by("algorithm", "items").agg((100.0 * pl.col("equal_pairs").mean()).alias("equal"))
    base = part.group_by("items").agg((100.0 * pl.col("equal_in_sets").mean()).alias("equal"))
    base = base.select(pl.lit("in sets").alias("algorithm"), "items", "equal")
    both = pl.concat([table, base]).sort("items")
    wide = both.pivot(on="items", index="algorithm", values="equal")
    order = {name: i for i, name in enumerate(ordered(wide["algorithm"].to_list()))}
    wide = wide.sort(pl.col("algorithm").replace_strict(order, return_dtype=pl.Int64))
    return wide.rename({name: f"K={name}" for name in wide.columns if name != "algorithm"})


def tuned(results: Frame) -> Frame:
    """(algorithm, parameters, K=..., all): in how many domains each grid point was chosen."""
    import polars as pl

    chosen = results.filter(pl.col("repetition") == 0)
    sizes = sorted(results["items"].unique().to_list())
    rows = []
    for name in contenders(results):
        part = chosen.filter(pl.col("algorithm") == name)
        grid = find(name).grid if name in table() else ()
        for point in grid:
            text = json.dumps(dict(point), sort_keys=True)
            here = part.filter(pl.col("parameters") == text)
            counts = {f"K={items}": here.filter(pl.col("items") == items).height for items in sizes}
            label = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in point.items())
            rows.append({"algorithm": name, "parameters": label, **counts, "all": here.height})
    return pl.DataFrame(rows)


def markdown(table: Frame, digits: int = 3) -> str:
    """A frame as a Markdown table."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * table.width]
    for row in table.iter_rows():
        cells = ("" if v is None else f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def matrix(duels: Frame) -> Frame:
    """The one-versus-one table as a square of wins, a star where the sign test finds p < 0.05."""
    import polars as pl

    names = ordered(duels["row"].to_list())
    found = {(row["row"], row["column"]): row for row in duels.iter_rows(named=True)}

    def cell(one: str, two: str) -> str:
        if one == two:
            return "-"
        row = found[one, two]
        return f"{row['wins']}{'*' if row['p'] < 0.05 else ''}"

    return pl.DataFrame([{"beat": one} | {two: cell(one, two) for two in names} for one in names])


def all_tables(results: Frame) -> dict[str, Frame]:
    """{file name: table}, everything that is written."""
    duels = one_versus_one(results)
    tables = {
        "mean_error": mean_errors(results),
        "online": online(results),
        "silence": silence(results),
        "equal_pairs": equal_pairs(results),
        "tuned": tuned(results),
        "one_versus_one": matrix(duels),
        "one_versus_one_long": duels,
    }
    if results["passes"].max() > 1:
        tables["by_pass"] = by_pass(results)
    return tables


def write(tables: dict[str, Frame], folder: Path) -> None:
    """Each table as Markdown and CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in tables.items():
        (folder / f"{name}.csv").write_text(frame.write_csv(float_precision=6), encoding="utf-8")
        if not name.endswith("_long"):
            (folder / f"{name}.md").write_text(markdown(frame), encoding="utf-8")
