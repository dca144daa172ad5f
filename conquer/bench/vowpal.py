"""Vowpal Wabbit on the same items and rounds: from its binary cache, from text, and call by call from Python."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from conquer.bench.timing import processor_seconds
from conquer.rows import Rounds

OPTIONS = "--cb_explore_adf --epsilon 0.1 -b 23 --noconstant --quiet"
_PASSES = 5


def example_lines(rounds: Rounds) -> list[list[str]]:
    """The rounds as VW's text: one line per item, the logged one (drawn at random) with its cost and chance."""
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


def contenders(rounds: Rounds, folder: Path, dicts: list[list[dict[str, float]]]) -> dict[str, Callable[[], float]]:
    """Microseconds per round. `folder` must be empty: Vowpal Wabbit prefers any cache it finds to the text.

    "vw cache" is the difference of runs over `_PASSES` passes and over one, so that its start and the first touch of
    its memory cancel out, as our learner's has been touched; from "one pass" and "text" a run on nothing is taken off,
    which leaves the first touch in. Call by call each example is parsed once, then predicted and learnt; "dicts" have
    to be written as text first.
    """
    import vowpalwabbit

    lines = example_lines(rounds)
    folder.mkdir()
    text, cache, nothing = folder / "rounds.vw", folder / "rounds.cache", folder / "nothing.vw"
    nothing.touch()
    text.write_text("\n\n".join("\n".join(part) for part in lines) + "\n\n")

    def run(options: str, source: Path = text) -> None:
        vowpalwabbit.Workspace(f"{OPTIONS} -d {source} {options}").finish()

    def start() -> float:
        return processor_seconds(lambda: run("", nothing))

    def passes(count: int) -> float:
        order = f"--cache_file {cache} --passes {count} --holdout_off"
        return processor_seconds(lambda: run(order))

    passes(1)
    interactive = vowpalwabbit.Workspace(OPTIONS)
    few = lines[: max(1, len(lines) // 10)]

    def decide(part: list[str]) -> None:
        examples = interactive.parse(part)
        interactive.predict(examples)
        interactive.learn(examples)
        interactive.finish_example(examples)

    def call_by_call() -> None:
        for part in few:
            decide(part)

    def from_dicts() -> None:
        for items in dicts:
            part = ["|f " + " ".join(f"{name}:{value}" for name, value in item.items()) for item in items]
            decide([f"0:-1:{1 / len(items)} {part[0]}", *part[1:]])

    return {
        "vw cache": lambda: (passes(_PASSES) - passes(1)) / (_PASSES - 1) / len(lines) * 1e6,
        "vw cache, one pass": lambda: (passes(1) - start()) / len(lines) * 1e6,
        "vw text": lambda: (processor_seconds(lambda: run("")) - start()) / len(lines) * 1e6,
        "vw calls": lambda: processor_seconds(call_by_call) / len(few) * 1e6,
        "vw dicts": lambda: processor_seconds(from_dicts) / len(dicts) * 1e6,
    }
