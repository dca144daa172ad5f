"""Vowpal Wabbit on the same items and rounds: from its binary cache, from text, and call by call from Python."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from conquer.bench.timing import processor_seconds
from conquer.rows import Rounds

OPTIONS = "--cb_explore_adf --epsilon 0.1 -b 23 --noconstant --quiet"
_PASSES = 5


def example_lines(rounds: Rounds) -> list[list[str]]:
    """The rounds as VW's text: one line an item, the logged one (drawn at random) with its cost and chance."""
    X = rounds.X
    rng = np.random.default_rng(0)
    texts: dict[int, str] = {}
    lines = []
    for members in rounds.sets.tolist():
        logged = int(rng.integers(len(members)))
        part = []
        for i, row in enumerate(members):
            if row not in texts:
                entries = slice(X.indptr[row], X.indptr[row + 1])
                pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
                texts[row] = "|f " + " ".join(f"{r}:{value:.6g}" for r, value in pairs)
            label = f"0:{-rounds.rewards[row]:.4g}:{1 / len(members):.4g} " if i == logged else ""
            part.append(label + texts[row])
        lines.append(part)
    return lines


def contenders(rounds: Rounds, folder: Path) -> dict[str, Callable[[], float]]:
    """Microseconds a round; what a run costs besides (start, first touch of its memory) cancels out.

    Reading the cache is timed as the difference of runs over `_PASSES` passes and over one; one pass and text include
    the start.
    """
    import vowpalwabbit

    lines = example_lines(rounds)
    text, cache = folder / "rounds.vw", folder / "rounds.cache"
    text.write_text("\n\n".join("\n".join(part) for part in lines) + "\n\n")

    def run(options: str) -> None:
        vowpalwabbit.Workspace(f"{OPTIONS} -d {text} {options}").finish()

    def passes(count: int) -> float:
        order = f"--cache_file {cache} --passes {count} --holdout_off"
        return processor_seconds(lambda: run(order))

    passes(1)
    interactive = vowpalwabbit.Workspace(OPTIONS)
    few = lines[: max(1, len(lines) // 10)]

    def call_by_call() -> None:
        for part in few:
            interactive.predict([line.partition("|")[2].join(("|", "")) for line in part])
            interactive.learn(part)

    return {
        "vw cache": lambda: (passes(_PASSES) - passes(1)) / (_PASSES - 1) / len(lines) * 1e6,
        "vw cache, one pass": lambda: passes(1) / len(lines) * 1e6,
        "vw text": lambda: processor_seconds(lambda: run("")) / len(lines) * 1e6,
        "vw calls": lambda: processor_seconds(call_by_call) / len(few) * 1e6,
    }
