"""Stores and model files of before 0.1 open and go on; README.md beside it says how they were written.

Model files said format 1 then. A diagonal model's file held A, today's holds 1/A: what is read from it may differ in
the last bit, so scores are compared to twelve digits and choices exactly. A store's weights are folded anew from its
log, by today's rules, to the bit.
"""

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from formats.test_old_formats import MORE, go_on, redrawn
from service.conftest import Local, run
from service.folds import loaded, slow_fold

import conquer
from conquer.files import FileError, is_earlier, pack, unpack

FOLDER = Path(__file__).parent
STORES = ("cbf9b2e", "3884305", "6a52df7")
MODELS = json.loads(gzip.decompress((FOLDER / "3884305" / "models.json.gz").read_bytes()))


def near(said, expected, room=1e-12):
    return np.allclose(said, [float.fromhex(one) for one in expected], rtol=room, atol=room)


@pytest.fixture(params=STORES)
def old(request, tmp_path):
    """(address, how each model went on) of a store as its version left it."""
    folder = FOLDER / request.param
    (tmp_path / "store.db").write_bytes(gzip.decompress((folder / "store.sqlite.gz").read_bytes()))
    return f"sqlite:///{tmp_path}/store.db", json.loads(gzip.decompress((folder / "store.json.gz").read_bytes()))


async def go_on_over_http(client, name, steps):
    for step in steps:
        event = step["event_id"]
        body = {"items": step["items"], "event_id": event}
        reply = await client.post(f"/v1/models/{name}/choose", json=body)
        assert reply.status_code == 200, reply.text
        said = reply.json()
        assert (said["query"], [one["id"] for one in said["shown"]]) == (step["query"], step["shown"]), event
        assert near(said["scores"], step["scores"]), event
        if said["query"] != "none":
            body = {"winner": said["shown"][0]["id"]}
            reply = await client.post(f"/v1/models/{name}/events/{event}/answer", json=body)
            assert reply.status_code == 200, reply.text


def test_stores_open_and_go_on(old):
    address, models = old

    async def go():
        async with Local(address, sweep_seconds=3600.0).running() as client:
            assert len(models) == 4
            for name, told in models.items():
                await go_on_over_http(client, name, told["steps"])
                reply = await client.post(f"/v1/models/{name}/events/e1/undo", json={})
                assert reply.status_code == 200, reply.text
                assert (await client.get(f"/v1/models/{name}/file")).status_code == 200

    run(go())
    for name in models:
        assert np.array_equal(loaded(address, name), slow_fold(address, name)), name


def test_weights_are_what_the_log_says_at_once(old):
    address, models = old
    for name in models:
        assert np.array_equal(loaded(address, name), slow_fold(address, name)), name


def test_without_its_snapshots_a_store_is_the_same(old, tmp_path):
    address, models = old
    before = {name: loaded(address, name) for name in models}
    with closing(sqlite3.connect(tmp_path / "store.db")) as raw, raw:
        raw.execute("DELETE FROM snapshots")
    for name in models:
        assert np.array_equal(loaded(address, name), before[name]), name


@pytest.mark.parametrize("name", MODELS)
def test_model_files_go_on(name, tmp_path):
    told = {**MODELS[name], "rounds": 30, "fixed": False}
    with zipfile.ZipFile(FOLDER / "3884305" / "models.zip") as files:
        file = Path(files.extract(name, tmp_path))
    assert is_earlier(file.read_bytes())
    learner = conquer.load(file)
    conquer.save(learner, tmp_path / "again")
    assert not is_earlier((tmp_path / "again").read_bytes())
    choices, scores = go_on(learner, name, told)
    assert len(choices) == MORE
    if redrawn(name.partition("-")[0], told["parameters"]["model"]):
        return  # other draws of the same law
    assert [said.rpartition(" ")[0] for said in choices] == told["choices"]
    # With cells of float32 the last bit is the seventh digit.
    room = 1e-6 if told["parameters"].get("storage") == "float32" else 1e-12
    assert near([float.fromhex(one) for one in scores], told["scores"], room)


def test_other_formats_are_refused_and_earlier_ones_are_checked(tmp_path):
    with pytest.raises(FileError, match="format 3, this version reads 1 and 2"):
        unpack(pack({"format": 3}, {}))
    arrays = {"model.ids": np.zeros(1, np.int32), "model.precision": np.zeros(1)}
    with zipfile.ZipFile(FOLDER / "3884305" / "models.zip") as files:
        file = Path(files.extract("gnr-diagonal", tmp_path))
    header, good = unpack(file.read_bytes())
    bad = {name: array for name, array in good.items() if name != "model.inverse"}
    (tmp_path / "bad").write_bytes(pack({**header, "format": 1}, bad | arrays))
    with pytest.raises(FileError, match="does not fit together"):
        conquer.load(tmp_path / "bad")
