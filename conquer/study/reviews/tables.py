"""The study's tables: frames made from results.parquet alone, written as Markdown and CSV."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.data.paper import ROUNDS, SILENCE
from conquer.registry import unknown
from conquer.study.output import markdown, write_text
from conquer.study.plots.canvas import sizes_of
from conquer.study.reviews.comparison import Facts, contenders, interval, one_versus_one, ordered
from conquer.study.reviews.spec import CEILING, CONTROLS, Spec, in_order, points

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars import DataFrame

RULES = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr")
"""The paper's duelling rules."""


def mean_errors(results: "DataFrame") -> "DataFrame":
    """One row per algorithm: mean test error and half interval for each K, their mean, and its ratio to the ceiling."""
    import polars as pl

    rows = []
    for name in ordered(results["algorithm"]):
        row: dict[str, Any] = {"algorithm": name}
        values = []
        for items in sizes_of(results):
            mean, half = interval(results, name, items)
            row[f"K={items}"], row[f"±{items}"] = mean, half
            values.append(mean)
        rows.append(row | {"mean": float(np.mean(values))})
    table = pl.DataFrame(rows)
    best = float(table.filter(pl.col("algorithm") == CEILING)["mean"][0])
    return table.with_columns((pl.col("mean") / best).alias("of ceiling"))


def readings(results: "DataFrame") -> "DataFrame":
    """One row per reading, one column per algorithm: mean test errors at each K, smallest K first."""
    import polars as pl

    names = [name for name in ordered(results["algorithm"]) if name not in CONTROLS]
    means = results.group_by("reading", "algorithm", "items", maintain_order=True).agg(pl.col("error").mean())
    found: dict[tuple[str, str], list[str]] = {}
    for reading, name, _, error in means.sort("items").iter_rows():
        found.setdefault((reading, name), []).append(f"{error:.3f}")
    rows = [
        {"reading": reading} | {name: " ".join(found.get((reading, name), [])) for name in names}
        for reading in in_order(results["reading"])
    ]
    return pl.DataFrame(rows)


def online(results: "DataFrame") -> "DataFrame":
    """One row per algorithm: mean regret per round and mean online error for each K."""
    import polars as pl

    learners = results.filter(pl.col("regret").is_not_null())
    rows = []
    for name in ordered(learners["algorithm"]):
        row: dict[str, Any] = {"algorithm": name}
        for items in sizes_of(learners):
            part = learners.filter((pl.col("algorithm") == name) & (pl.col("items") == items))
            row[f"regret K={items}"] = (part["regret"] / part["trained"]).mean()
            row[f"error K={items}"] = part["online_error"].mean()
        rows.append(row)
    return pl.DataFrame(rows)


def silence_beside_the_papers(results: "DataFrame", algorithm: str = "gnc") -> "DataFrame":
    """Per domain of the paper: percent of rounds without a question in its table and here, for each K; the means.

    Only domains whose names the paper has are compared.
    """
    import polars as pl

    part = results.filter((pl.col("algorithm") == algorithm) & pl.col("query_rate").is_not_null())
    found = {(d, k): 100.0 * (1.0 - rate) for d, k, rate in
             part.group_by("domain", "items").agg(pl.col("query_rate").mean()).iter_rows()}  # fmt: skip
    rows: list[dict[str, Any]] = []
    for domain, rates in SILENCE.items():
        if (domain, 5) in found:
            row: dict[str, Any] = {"domain": domain, "T": ROUNDS.get(domain)}
            for items, rate in rates.items():
                row |= {f"paper K={items}": rate, f"here K={items}": found.get((domain, items))}
            rows.append(row)
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None)
    mean = table.select(
        pl.lit("mean").alias("domain"), pl.lit(None, pl.Int64).alias("T"), pl.exclude("domain", "T").mean()
    )
    return pl.concat([table, mean], how="vertical_relaxed")


def silence(results: "DataFrame", algorithm: str = "gnc") -> "DataFrame":
    """Per domain: percent of rounds without a question, a column for each K; the mean over all domains; the ceiling.

    The ceiling is the share of rounds with a single best item: in the others certainty would be a mistake.
    """
    import polars as pl

    part = results.filter(pl.col("algorithm") == algorithm)
    if part.is_empty():
        return pl.DataFrame({"domain": []})
    table = (
        part.with_columns((100.0 * (1.0 - pl.col("query_rate"))).alias("silent"))
        .pivot(on="items", index="domain", values="silent", aggregate_function="mean")
        .sort(pl.col("domain").str.to_lowercase())
    )
    sizes = sorted((name for name in table.columns if name != "domain"), key=int)
    table = table.select("domain", *(pl.col(name).alias(f"K={name}") for name in sizes))
    means = table.select(pl.lit("mean").alias("domain"), *(pl.col(f"K={name}").mean() for name in sizes))
    single = part.group_by("items").agg(pl.col("unique_in_sets").mean() * 100.0)
    shares = {f"K={items}": share for items, share in single.iter_rows()}
    ceiling = pl.DataFrame({"domain": "a single best item"} | {name: shares[name] for name in means.columns[1:]})
    return pl.concat([table, means, ceiling])


def controls(results: "DataFrame") -> "DataFrame":
    """(control, of, K, silent, error, difference, low, high): what a rule gains by what its control lacks or has.

    The difference is the rule's error less the control's at the same parameters, with a 95 % interval; `silent` is
    the rule's percent of rounds without a question.
    """
    import polars as pl

    facts, rows = Facts(results), []
    for control, (base, _) in CONTROLS.items():
        for items in facts.sizes if facts.has(control, base) else []:
            gap = facts.difference([base], [control], items)
            part = results.filter((pl.col("algorithm") == base) & (pl.col("items") == items))
            silent = 100.0 * (1.0 - part["query_rate"].mean())  # type: ignore[operator]
            rows.append(
                {"control": control, "of": base, "K": items, "silent": silent, "error": facts.at[base, items],
                 "difference": gap.mean, "low": gap.low, "high": gap.high}
            )  # fmt: skip
    return pl.DataFrame(rows)


def first_and_score(results: "DataFrame") -> "DataFrame":
    """One row per algorithm whose first item is not the top score: both mean test errors at each K."""
    import polars as pl

    rows = []
    for name in contenders(results):
        part = results.filter((pl.col("algorithm") == name) & pl.col("score_error").is_not_null())
        if (part["error"] != part["score_error"]).any():
            row: dict[str, Any] = {"algorithm": name}
            for items in sizes_of(part):
                here = part.filter(pl.col("items") == items)
                row[f"first K={items}"], row[f"top score K={items}"] = here["error"].mean(), here["score_error"].mean()
            rows.append(row)
    return pl.DataFrame(rows)


def lengths(results: "DataFrame", algorithm: str = "confidit") -> "DataFrame":
    """One row per reading: how an algorithm's scores depend on the length of a review, and its error.

    `correlation` is that of the score with the number of n-grams; `mean removed` the error of the same answers with
    their mean subtracted, where it is defined.
    """
    import polars as pl

    rows = []
    for reading in in_order(results["reading"]):
        part = results.filter((pl.col("reading") == reading) & (pl.col("algorithm") == algorithm))
        means: dict[str, Any] = {
            "correlation": part["length_correlation"].mean(), "mean answer": part["mean_answer"].mean(),
            "error": part.filter(pl.col("centred_error").is_not_null())["error"].mean(),
            "mean removed": part["centred_error"].mean(), "defined": part["centred_error"].count(),
            "cells": part.height,
        }  # fmt: skip
        rows.append({"reading": reading} | means)
    return pl.DataFrame(rows)


def rules_less_rivals(results: "Mapping[str, DataFrame]") -> "DataFrame":
    """One row per reading: the mean error of the paper's rules less Confidit's and Banditron's at each K.

    Half a 95 % interval over domains behind each; below 0 the rules are better.
    """
    import polars as pl

    rows = []
    for reading, frame in results.items():
        facts = Facts(frame)
        rules = [name for name in RULES if facts.has(name)]
        for rival in ("confidit", "banditron"):
            if rules and facts.has(rival):
                row: dict[str, Any] = {"reading": reading, "less": rival}
                for items in (*facts.sizes, None):
                    gap = facts.difference(rules, [rival], items)
                    row["all K" if items is None else f"K={items}"] = f"{gap.mean:+.4f} ± {gap.high - gap.mean:.4f}"
                rows.append(row)
    return pl.DataFrame(rows)


def silence_by_eta(results: "DataFrame", algorithm: str = "gnc") -> "DataFrame":
    """One row per eta that tuning chose: percent of rounds without a question at each K, and the number of runs."""
    import polars as pl

    part = results.filter((pl.col("algorithm") == algorithm) & pl.col("query_rate").is_not_null())
    part = part.with_columns(pl.col("parameters").str.json_path_match("$.eta").cast(pl.Float64).alias("eta"))
    at = [
        (100.0 * (1.0 - pl.col("query_rate").filter(pl.col("items") == items).mean())).alias(f"K={items}")
        for items in sizes_of(part)
    ]
    table = part.group_by("eta").agg(*at, pl.len().alias("runs")).sort("eta")
    return table.with_columns(pl.col("eta").map_elements(lambda eta: f"{eta:g}", return_dtype=pl.String))


def by_pass(results: "DataFrame") -> "DataFrame":
    """Percent of rounds without a question in each pass, per algorithm that is ever silent, and K."""
    import polars as pl

    rows = []
    for name in contenders(results):
        for items in sizes_of(results):
            part = results.filter((pl.col("algorithm") == name) & (pl.col("items") == items))
            rates = np.array([r for r in part["query_rates"].to_list() if r is not None])
            if rates.size and (rates < 1).any():
                silent = 100.0 * (1.0 - rates.mean(axis=0))
                rows.append({"algorithm": name, "items": items} | {f"pass {i + 1}": s for i, s in enumerate(silent)})
    return pl.DataFrame(rows)


def equal_pairs(results: "DataFrame") -> "DataFrame":
    """Percent of questions between equally good items, per algorithm and K; `in sets` is the share of random pairs."""
    import polars as pl

    part = results.filter(pl.col("equal_pairs").is_not_null())
    table = part.group_by("algorithm", "items").agg((100.0 * pl.col("equal_pairs").mean()).alias("equal"))
    base = part.group_by("items").agg((100.0 * pl.col("equal_in_sets").mean()).alias("equal"))
    base = base.select(pl.lit("in sets").alias("algorithm"), "items", "equal")
    wide = pl.concat([table, base]).sort("items").pivot(on="items", index="algorithm", values="equal")
    order = {name: i for i, name in enumerate(ordered(wide["algorithm"]))}
    wide = wide.sort(pl.col("algorithm").replace_strict(order, return_dtype=pl.Int64))
    return wide.rename({name: f"K={name}" for name in wide.columns if name != "algorithm"})


def tuned(results: "DataFrame") -> "DataFrame":
    """(algorithm, parameters, K=..., all): in how many domains each grid point was chosen."""
    import polars as pl

    chosen = results.filter(pl.col("repetition") == 0)
    spec = Spec(tuning=results["tuning"][0], lam=results["lam"][0] if results["tuning"][0] != "all" else 1.0)
    rows = []
    for name in contenders(results):
        part = chosen.filter(pl.col("algorithm") == name)
        for point in points(spec, name) if not unknown([name]) else ():
            text = json.dumps(point, sort_keys=True)
            here = part.filter(pl.col("parameters") == text)
            counts = {f"K={items}": here.filter(pl.col("items") == items).height for items in sizes_of(results)}
            label = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in point.items())
            rows.append({"algorithm": name, "parameters": label, **counts, "all": here.height})
    return pl.DataFrame(rows)


def matrix(duels: "DataFrame") -> "DataFrame":
    """The one-versus-one table as a square of wins, with a star where Student's test, corrected, finds p < 0.05."""
    import polars as pl

    names = ordered(duels["row"])
    found = {(row["row"], row["column"]): row for row in duels.iter_rows(named=True)}

    def cell(one: str, two: str) -> str:
        if one == two:
            return "-"
        row = found[one, two]
        return f"{row['wins']}{'*' if row['holm'] < 0.05 else ''}"

    return pl.DataFrame([{"beat": one} | {two: cell(one, two) for two in names} for one in names])


def all_tables(results: "DataFrame") -> "dict[str, DataFrame]":
    """{file name: table}, all tables of one reading."""
    every, results = results, results.filter(~results["algorithm"].is_in([*CONTROLS]))
    duels = one_versus_one(results)
    tables = {
        "mean_error": mean_errors(results),
        "online": online(results),
        "silence": silence(results),
        "silence_paper": silence_beside_the_papers(results),
        "silence_by_eta": silence_by_eta(results),
        "equal_pairs": equal_pairs(results),
        "tuned": tuned(results),
        "one_versus_one": matrix(duels),
        "one_versus_one_long": duels,
    }
    tables["first_item"] = first_and_score(results)
    tables["controls"] = controls(every)
    if int(results["passes"][0]) > 1:
        tables["by_pass"] = by_pass(results)
    return {name: table for name, table in tables.items() if table.height}


def write(tables: "dict[str, DataFrame]", folder: Path) -> None:
    """Write each table as Markdown and CSV; long tables as CSV alone."""
    for name, frame in tables.items():
        write_text(folder / f"{name}.csv", frame.write_csv(float_precision=6))
        if not name.endswith("_long"):
            write_text(folder / f"{name}.md", markdown(frame))
