"""What a learner of the paper's size takes: memory, the size of its file, the time to write and read it."""

import tempfile
from pathlib import Path

from conquer.bench.timing import processor_seconds
from conquer.bench.work import PAPER_DIM, draw_rounds, zipf_items
from conquer.models.diagonal import Diagonal
from conquer.registry import make
from conquer.session import load, save
from conquer.simulation import simulate


def measure(*, quick: bool) -> dict[str, float]:
    """Bytes per feature, and saving and loading after some rounds."""
    size = 2000 if quick else 20_000
    rounds = draw_rounds(zipf_items(10_000, 150, PAPER_DIM, seed=0), size, 10, seed=1)
    learner = make("ttg", dim=PAPER_DIM)
    simulate(learner, rounds, seed=0)
    assert isinstance(learner.model, Diagonal)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        saving = processor_seconds(lambda: save(learner, path))
        loading = processor_seconds(lambda: load(path))
        stored = path.stat().st_size
    moved = learner.model.arrays()["ids"].size
    return {
        "bytes_a_feature": learner.model.cells.nbytes / PAPER_DIM,
        "bytes_a_feature_float32": Diagonal(1000, storage="float32").cells.nbytes / 1000,
        "features_moved": moved,
        "save_seconds": saving,
        "load_seconds": loading,
        "file_megabytes": stored / 1e6,
    }
