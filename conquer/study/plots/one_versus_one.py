"""The one-versus-one competition as a square of trials won."""

import numpy as np

from conquer.study.plots.canvas import Cast, Figure, Frames, ink, new


def competition(frames: Frames, cast: Cast) -> Figure:
    """One versus one: in how many trials (domain, K and repetition) the row's test error was below the column's.

    Bold where Student's test of the difference over domains (over trials where there are fewer than five) finds
    p < 0.05 after Holm's correction for all pairs. Behind the line: the references, choosing at random and full
    information.
    """
    found = {(row["row"], row["column"]): row for row in frames["one_versus_one_long"].iter_rows(named=True)}
    present = {name for pair in found for name in pair}
    names = [*cast.names, *(name for name in cast.references if name in present)]
    share = np.full((len(names), len(names)), np.nan)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                row = found[one, two]
                share[i, j] = row["wins"] / max(1, row["wins"] + row["losses"] + row["ties"])
    figure, axes = new(1, 1, 0.42 * len(names) + 1.1)
    figure.set_figwidth(min(figure.get_figwidth(), 0.42 * len(names) + 3.0))
    axis = axes[0, 0]
    picture = axis.imshow(share, cmap="PuOr_r", vmin=0, vmax=1)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                row = found[one, two]
                weight = "bold" if row["holm"] < 0.05 else "normal"
                colour = ink(picture, share[i, j])
                axis.text(j, i, row["wins"], ha="center", va="center", fontsize=7, color=colour, fontweight=weight)
    edge = len(cast.names) - 0.5
    for line in (axis.axhline, axis.axvline):
        line(edge, color="black", linewidth=0.9)
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(names)), names)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    trials = max((row["wins"] + row["losses"] + row["ties"] for row in found.values()), default=0)
    units = max((row["units"] for row in found.values()), default=0)
    counted = f"counted: trials (of {trials}) in which the row's test error was below the column's"
    sample = f"{units} {'domains' if units < trials else 'trials'}"
    tested = f"bold: Student's test of the difference over {sample}, p < 0.05 after Holm's correction"
    figure.suptitle(f"{counted}\n{tested} for {len(found) // 2} pairs", fontsize=7)
    bar = figure.colorbar(picture, ax=axis, shrink=0.7)
    bar.set_label("share of trials", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure
