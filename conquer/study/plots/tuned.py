"""How often tuning chose each grid point."""

import numpy as np

from conquer.study.plots.canvas import Cast, Figure, Frames, ink, new


def tuned_parameters(frames: Frames, cast: Cast) -> Figure:
    """How often each grid point was chosen, over all domains and K."""
    points = {name: frames["tuned"].filter(algorithm=name).to_dicts() for name in cast.names}
    names = [name for name, rows in points.items() if len(rows) > 1]
    figure, axes = new(1, 1, 0.42 * len(names) + 0.9)
    axis = axes[0, 0]
    counts = np.zeros((max(1, len(names)), max((len(points[name]) for name in names), default=1)))
    for i, name in enumerate(names):
        total = max(1, sum(row["all"] for row in points[name]))
        counts[i, : len(points[name])] = [row["all"] / total for row in points[name]]
    picture = axis.imshow(counts, cmap="Blues", vmin=0, vmax=0.7, aspect="auto")
    for i, name in enumerate(names):
        for j, row in enumerate(points[name]):
            label = row["parameters"].replace("lam", "λ").replace("eta", "η").replace("gamma", "γ").replace(", ", "\n")
            text, colour = f"{label}\n{100 * counts[i, j]:.0f} %", ink(picture, counts[i, j])
            axis.text(j, i, text, ha="center", va="center", fontsize=5.5, color=colour)
    axis.set_yticks(range(len(names)), names)
    axis.set_xticks([])
    axis.set_title("share of (domain, K) that chose each grid point", fontsize=8)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return figure
