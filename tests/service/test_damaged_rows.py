"""Rows and snapshots damaged on disk: the model opens without them, goes on, and says so."""

import httpx
import numpy as np
import pytest

from conquer.service.model.records import FOLD

from .attacks import make, pair, store, usable
from .conftest import run
from .folds import loaded, slow_fold, sqlite
from .test_rows import MADE, play, spoil


def damaged(start, tmp_path, statement: str):
    """A server on a store with one model of twelve rounds, where the statement was run while nobody served it."""
    server = start(snapshot_every=1000)
    make(server.address)
    make(server.address, name="other")
    for k in range(12):
        pair(server.address, f"e{k}")
    server.kill()
    with store(tmp_path) as beside:
        assert beside.execute(statement).rowcount > 0
    return start(port=server.port, snapshot_every=1000)


ROW = "WHERE position = 6 AND model_id = (SELECT id FROM models WHERE name = 'm')"


@pytest.mark.parametrize(
    "change",
    ["body = '{\"winner\": 7'", "body = char(0)", "checksum = checksum + 1", "kind = 'song'", "voter = 'somebody'"],
)
def test_a_row_that_cannot_be_read_is_left_out_and_said(start, tmp_path, change):
    server = damaged(start, tmp_path, f"UPDATE log SET {change} {ROW}")
    usable(server.address)
    usable(server.address, "other")
    said = httpx.get(f"{server.address}/v1/models/m", timeout=60).json()["summary"]["quarantined"]
    assert said["rows"] >= 1
    assert "quarantine" in httpx.get(f"{server.address}/readyz", timeout=60).text
    server.kill()
    server = start(port=server.port)
    usable(server.address, tag="again")


@pytest.mark.parametrize("change", ["data = x'00010203'", "data = substr(data, 1, 40)", "data = x''"])
def test_a_snapshot_that_cannot_be_read_is_made_anew(start, tmp_path, change):
    server = start(snapshot_every=5)
    make(server.address)
    for k in range(12):
        pair(server.address, f"e{k}")
    assert server.stop() == 0
    with store(tmp_path) as beside:
        assert beside.execute(f"UPDATE snapshots SET {change}").rowcount > 0
    server = start(port=server.port, snapshot_every=5)
    usable(server.address)
    for k in range(12):
        pair(server.address, f"later{k}")
    assert server.stop() == 0
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


@pytest.mark.parametrize("fold", [FOLD, FOLD + 1])
def test_a_snapshot_folded_by_other_rules_is_passed_over(local, tmp_path, fold):
    """It can be read and holds other weights: only where the rules were today's is it taken for what the rows give."""

    async def go():
        app = local(snapshot_every=4)
        async with app.running() as client:
            for name, seed in (("m", 0), ("other", 5)):
                await client.post("/v1/models", json={**MADE, "name": name})
                await play(client, 6, seed=seed, name=name)

    run(go())
    address = sqlite(tmp_path)
    assert np.array_equal(loaded(address, "m"), slow_fold(address, "m"))
    spoil(
        tmp_path,
        """UPDATE snapshots SET format = ?, data = (
            SELECT s.data FROM snapshots s JOIN models o ON o.id = s.model_id
            WHERE o.name = 'other' ORDER BY s.position DESC LIMIT 1
        ) WHERE model_id = (SELECT id FROM models WHERE name = 'm')""",
        fold,
    )
    assert np.array_equal(loaded(address, "m"), slow_fold(address, "m")) == (fold != FOLD)
