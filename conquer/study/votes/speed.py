"""How many votes between ids are read and learnt in a second, from a CSV file that is made up."""

import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from conquer.data.votes import read_votes
from conquer.data.votes.repeats import Repeats
from conquer.fitting import fit
from conquer.fitting.counts import PairCounts
from conquer.fitting.learning import learner_of, settle_counts
from conquer.rows import as_rows


def votes_per_second(count: int = 200_000, ids: int = 100, repeats: int = 3) -> dict[str, float]:
    """Votes per second of a core's own time, the best of some runs: read, learnt once read, checked once read, and
    all of it, as `fit` does it."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        _write(path, count, ids, rng)
        reading = min(_seconds(lambda: sum(len(block) for block in read_votes(path).blocks())) for _ in range(repeats))
        blocks = list(read_votes(path).blocks())

        def learn() -> None:
            sums = PairCounts()
            for block in blocks:
                sums.add_block(block)
            settle_counts(learner_of("gnr", None, ids, {}), sums, as_rows(np.eye(ids), ids))

        def check() -> None:
            repeated = Repeats()
            for block in blocks:
                repeated.add(block)

        learning, checking = (min(_seconds(work) for _ in range(repeats)) for work in (learn, check))
        both = min(_seconds(lambda: fit(path, contradictions=False)) for _ in range(repeats))
    return {name: count / seconds for name, seconds in
            (("read", reading), ("learnt", learning), ("checked", checking), ("fit", both))}  # fmt: skip


def _write(path: Path, count: int, ids: int, rng: np.random.Generator) -> None:
    """Votes of 5,000 voters, each on questions of its own, so that nobody contradicts themselves."""
    first = rng.integers(ids, size=count)
    second = (first + 1 + rng.integers(ids - 1, size=count)) % ids
    winner = rng.choice(["model_a", "model_b", "tie"], size=count)
    voter = rng.integers(5_000, size=count)
    with path.open("w", encoding="utf-8") as file:
        file.write("question_id,model_a,model_b,winner,judge\n")
        columns = zip(range(count), first, second, winner, voter, strict=True)
        file.writelines(f"{k},model {a},model {b},{w},user {v}\n" for k, a, b, w, v in columns)


def _seconds(work: object) -> float:
    assert callable(work)
    started = process_time()
    work()
    return process_time() - started
