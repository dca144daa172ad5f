"""Runs of learners in one picture: regret along the rounds, each named at the end of its curve."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conquer.simulation import Trace
from conquer.study.plots.canvas import COLOURS, Figure, new
from conquer.types import Floats, Ints

_POINTS = 400


def plot_trace(traces: Trace | Mapping[str, Trace], *, window: int | None = None) -> Figure:
    """A matplotlib figure of one trace, or of several by name, which a notebook shows by itself.

    On the left cumulative regret, on the right the share of rounds with a question over the last `window` rounds (by
    default a twentieth of them).

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
        raise ValueError(f"need traces of at least one round, got {named!r:.80}")
    figure, axes = new(1, 2, 3.0)
    regret, asked = axes.ravel()
    for place, (name, trace) in enumerate(named.items()):
        colour, size = COLOURS[place % len(COLOURS)], trace.query.size
        at = np.unique(np.linspace(1, size, min(size, _POINTS)).astype(int))
        curve = np.cumsum(trace.regret)
        regret.plot(at, curve[at - 1], color=colour, lw=1.2)
        asked.plot(at, _share(trace.query != 0, at, window or max(1, size // 20)), color=colour, lw=1.2)
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
        regret.annotate(name, (size, curve[-1]), color=colour, **beside)
    regret.set(xlabel="round", ylabel="cumulative regret", xlim=(0, 1.2 * max(t.query.size for t in named.values())))
    asked.set(xlabel="round", ylabel="share of rounds with a question", ylim=(-0.02, 1.02))
    return figure


def _share(yes: Any, at: Ints, window: int) -> Floats:
    """The share of rounds that say yes among the last `window` before each of `at`."""
    total = np.concatenate([[0], np.cumsum(yes)])
    since = np.maximum(at - window, 0)
    return np.asarray((total[at] - total[since]) / (at - since))
