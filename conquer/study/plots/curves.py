"""Figures along the rounds: regret and test error of a study, and the traces of single runs."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.metrics import half_width
from conquer.simulation import Trace
from conquer.study.plots.canvas import COLOURS, Frames, Palette, domains_of, legend, name_ends, new, panels, sizes_of
from conquer.study.runner import Row
from conquer.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from polars import DataFrame

_SHARES: Floats = np.linspace(0.02, 1.0, 50)
_POINTS = 400


def regret_curves(frames: Frames, palette: Palette) -> "Figure":
    """Regret of the better of two items so far, divided by all rounds, against the share of rounds seen.

    Only algorithms that show two items; bands are 95 % intervals over domains.
    """
    return _regret(frames, showing(frames, palette, 2))


def regret_curves_one(frames: Frames, palette: Palette) -> "Figure | None":
    """Regret of the one item shown so far, divided by all rounds, against the share of rounds seen.

    Only algorithms that show one item; bands are 95 % intervals over domains.
    """
    single = showing(frames, palette, 1)
    return _regret(frames, single) if single.names else None


def _regret(frames: Frames, palette: Palette) -> "Figure":
    x, y = "share of the training rounds", "cumulative regret / all rounds"
    return _named(_panels(frames, palette, x, y, _regret_line), palette)


def showing(frames: Frames, palette: Palette, count: int) -> Palette:
    """The palette without algorithms that show another number of items: the regrets of the two kinds do not compare."""
    results = frames["results"]
    other = set(results.filter(results["shows"] == 3 - count)["algorithm"])
    floor, ceiling = palette.references
    lines = {name: palette.references[name] for name in (floor, ceiling) if name != floor or count == 2}
    return Palette([name for name in palette.names if name not in other], palette.styles, lines)


def sample_efficiency(frames: Frames, palette: Palette) -> "Figure":
    """Test error against the number of answers, both averaged over all domains and repetitions.

    Bands are 95 % intervals over domains.
    """
    import polars as pl
    from matplotlib.ticker import LogLocator, NullLocator

    figure = _panels(frames, palette, "answers (mean over domains)", "test error", _efficiency_line)
    results, (_, ceiling) = frames["results"], palette.references
    for axis, items in zip(figure.axes, sizes_of(results), strict=False):  # figures of three K have an empty panel
        level = results.filter((pl.col("items") == items) & (pl.col("algorithm") == ceiling))["error"].mean()
        axis.axhline(level, color="black", linestyle=":", linewidth=1.2, label=ceiling)  # type: ignore[arg-type]
    for axis in figure.axes:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter("{x:g}")
    return _named(figure, palette)


def _named(figure: "Figure", palette: Palette) -> "Figure":
    """The figure with each line's name at its end; scales must be final."""
    *_, ceiling = palette.references
    for axis in figure.axes:
        ends: list[tuple[str, float, float, str]] = []
        for line in axis.get_lines():
            x, y = (np.asarray(values, np.float64) for values in line.get_data())
            # The ceiling is a line across the whole panel: its name belongs where the longest curve ends.
            last = max(end[1] for end in ends) if line.get_label() == ceiling and ends else float(x[-1])
            ends.append((str(line.get_label()), last, float(y[-1]), str(line.get_color())))
        name_ends(axis, [end for end in ends if not end[0].startswith("_")])
    return figure


def _panels(
    frames: Frames,
    palette: Palette,
    x: str,
    y: str,
    draw: "Callable[[Axes, DataFrame, str, tuple[str, str, str], str], None]",
) -> "Figure":
    import polars as pl

    results, curves = frames["results"], frames["curves"]
    sizes = sizes_of(results)
    floor = next(iter(palette.references))
    there = len(palette.references) > 1 and floor in results["algorithm"].unique()
    names = [*palette.names, *([floor] if there else [])]
    styles = palette.styles | {floor: (palette.references[floor][0], "", "")}
    figure, axes = panels(len(sizes), 2, 2.5, sharex=True, sharey=True)
    for axis, items in zip(axes, sizes, strict=True):
        for name in names:
            part = curves.filter((pl.col("items") == items) & (pl.col("algorithm") == name))
            draw(axis, part, name, styles[name], "--" if name == floor else "-")
        axis.set_title(f"K = {items}", fontsize=8)
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    return figure


def _regret_line(axis: "Axes", part: "DataFrame", name: str, style: tuple[str, str, str], line: str) -> None:
    lines = []
    for _, domain in part.group_by("domain", maintain_order=True):
        runs = []
        for _, run in domain.group_by("repetition", maintain_order=True):
            rounds = run["round"].to_numpy()
            runs.append(np.interp(_SHARES * rounds[-1], rounds, run["regret"].to_numpy() / rounds[-1]))
        lines.append(np.mean(runs, axis=0))
    if not lines:
        return
    values = np.array(lines)
    mean = values.mean(axis=0)
    axis.plot(
        _SHARES, mean, line, color=style[0], linewidth=1.1, marker=style[2], markevery=(4, 10), ms=3.5, label=name
    )
    if len(values) > 1:
        half = half_width(values)
        axis.fill_between(_SHARES, mean - half, mean + half, color=style[0], alpha=0.12, linewidth=0)


def _efficiency_line(axis: "Axes", part: "DataFrame", name: str, style: tuple[str, str, str], line: str) -> None:
    import polars as pl

    points = part.filter(pl.col("error").is_not_null()).sort("domain", "repetition", "round")
    if points.is_empty():
        return
    ranked = points.with_columns(pl.col("round").rank("ordinal").over("domain", "repetition").alias("step"))
    means = ranked.group_by("step").agg(pl.col("answers").mean(), pl.col("error").mean()).sort("step")
    at, mean = means["answers"].to_numpy(), means["error"].to_numpy()
    axis.plot(at, mean, color=style[0], linewidth=1.1, marker=style[2], linestyle=line, ms=3.5, label=name)
    domains = ranked.group_by("step", "domain").agg(pl.col("error").mean()).sort("step", "domain")
    values = [part["error"].to_numpy() for _, part in domains.group_by("step", maintain_order=True)]
    if min(map(len, values)) > 1:
        half = np.array([float(half_width(each)) for each in values])
        axis.fill_between(at, mean - half, mean + half, color=style[0], alpha=0.12, linewidth=0)


def regret_by_domain(frames: Frames, palette: Palette) -> "Figure":
    """Regret of the better of two items so far, a row for each domain and a column for each K.

    Only algorithms that show two items; bands are 95 % intervals over repetitions.
    """
    return _by_domain(frames, showing(frames, palette, 2))


def regret_by_domain_one(frames: Frames, palette: Palette) -> "Figure | None":
    """Regret of the one item shown so far, a row for each domain and a column for each K.

    Only algorithms that show one item; bands are 95 % intervals over repetitions.
    """
    single = showing(frames, palette, 1)
    return _by_domain(frames, single) if single.names else None


def _by_domain(frames: Frames, palette: Palette) -> "Figure":
    import polars as pl
    from matplotlib.ticker import MaxNLocator

    results, curves = frames["results"], frames["curves"]
    sizes, domains = sizes_of(results), domains_of(results)
    means = curves.group_by("domain", "items", "algorithm", "round").agg(pl.col("regret").mean(), runs=pl.col("regret"))
    lines = dict(means.sort("round").group_by("domain", "items", "algorithm", maintain_order=True))
    styles = {name: (palette.styles[name][0], "-", palette.styles[name][2]) for name in palette.names}
    if len(palette.references) > 1:
        floor = next(iter(palette.references))
        styles[floor] = *palette.references[floor], ""
    figure, axes = new(len(domains), len(sizes), 1.15 * len(domains) + 0.9, sharex="row")
    for (row, domain), (column, items) in itertools.product(enumerate(domains), enumerate(sizes)):
        axis = axes[row, column]
        for i, (name, (colour, line, marker)) in enumerate(styles.items()):
            part = lines.get((domain, items, name))
            if part is not None:
                at, mean = part["round"].to_numpy(), part["regret"].to_numpy()
                axis.plot(
                    at, mean, line, color=colour, lw=0.9, marker=marker, ms=2, label=name, markevery=(3 + i % 10, 12)
                )
                runs = part["runs"].to_list()
                if min(map(len, runs)) > 2:  # the interval of two runs has no meaning
                    half = np.array([float(half_width(np.array(each))) for each in runs])
                    axis.fill_between(at, mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        if row == 0:
            axis.set_title(f"K = {items}", fontsize=8, pad=3)
        if column == 0:
            axis.set_ylabel(domain, fontsize=7)
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=6)
        for each in (axis.xaxis, axis.yaxis):
            each.set_major_locator(MaxNLocator(3))
            each.set_major_formatter("{x:,.0f}")
    figure.supxlabel("rounds", fontsize=8)
    figure.supylabel("cumulative regret", fontsize=8)
    legend(figure, axes[0, 0], palette)
    return figure


def mean_regret(best: Sequence[Row], floor: Sequence[Row], palette: Palette) -> "Figure":
    """The cumulative regret of rows of the arena with 95 % bands over repetitions; those of `floor` may exceed it."""
    top = 1.15 * max(max(row["curve"]["regret"]) for row in best or floor) or 1.0
    figure, axes = new(1, 1, 3.0)
    axis, ends = axes[0, 0], []
    for row in (*best, *floor):
        name, (at, regret, half) = row["algorithm"], (np.array(row["curve"][k]) for k in ("round", "regret", "half"))
        colour, _, marker = palette.styles.get(name, ("#777777", "", ""))
        axis.plot(at, regret, color=colour, marker=marker, markevery=8, ms=3.5, lw=1.2, label=name)
        axis.fill_between(at, np.maximum(0.0, regret - half), regret + half, color=colour, alpha=0.09, linewidth=0)
        ends.append((name, float(at[-1]), min(float(regret[-1]), top), colour))
    axis.set(xlabel="rounds", ylabel="cumulative regret", xlim=(0, ends[0][1]), ylim=(0, top))
    name_ends(axis, ends)
    return figure


def plot_trace(traces: Trace | Mapping[str, Trace], *, window: int | None = None) -> "Figure":
    """Draw one trace, or several by name: regret along the rounds, and how often a question is asked.

    Parameters
    ----------
    traces
        What `simulate` returns, or a mapping of names to it.
    window
        Rounds that the share of questions is averaged over; by default a twentieth of all.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels; a notebook shows the figure by itself.

    Raises
    ------
    ValueError
        If there is no trace, or one without rounds.

    Examples
    --------
    >>> from conquer.rows import Rounds
    >>> from conquer.simulation import simulate
    >>> rng = np.random.default_rng(0)
    >>> rounds = Rounds(rng.normal(size=(30, 3)), rng.integers(0, 30, (200, 4)), rng.uniform(-1, 1, 30))
    >>> figure = plot_trace({name: simulate(name, rounds) for name in ("gnr", "gnc")})
    >>> [axis.get_ylabel() for axis in figure.axes]
    ['cumulative regret', 'share of rounds with a question']
    """
    named = {getattr(traces.learner, "name", "") or "trace": traces} if isinstance(traces, Trace) else dict(traces)
    if not named or any(trace.query.size == 0 for trace in named.values()):
        raise ValueError(f"plot_trace needs traces of at least one round, got {named!r:.80}")
    figure, axes = new(1, 2, 3.0)
    regret, questions = axes.ravel()
    for place, (name, trace) in enumerate(named.items()):
        colour, size = COLOURS[place % len(COLOURS)], trace.query.size
        at = np.unique(np.linspace(1, size, min(size, _POINTS)).astype(int))
        curve = np.cumsum(trace.regret)
        regret.plot(at, curve[at - 1], color=colour, lw=1.2)
        questions.plot(at, _share(trace.query != 0, at, window or max(1, size // 20)), color=colour, lw=1.2)
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
        regret.annotate(name, (size, curve[-1]), color=colour, **beside)
    regret.set(xlabel="round", ylabel="cumulative regret", xlim=(0, 1.2 * max(t.query.size for t in named.values())))
    questions.set(xlabel="round", ylabel="share of rounds with a question", ylim=(-0.02, 1.02))
    return figure


def _share(yes: Any, at: Ints, window: int) -> Floats:
    """The share of True among the last `window` entries before each of `at`."""
    total = np.concatenate([[0], np.cumsum(yes)])
    since = np.maximum(at - window, 0)
    return np.asarray((total[at] - total[since]) / (at - since))
