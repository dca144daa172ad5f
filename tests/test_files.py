"""Model files: whole or not at all, and harmless whoever made them."""

import copy
import json
import os
import stat
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conquer.files import FileError, pack, replacing, unpack, write_atomically
from conquer.registry import algorithms, make
from conquer.saving import dumps, loads
from conquer.session import Session, load, restore, save


def taught(name="gnc", model="diagonal", **parameters):
    learner = make(name, dim=6, model=model, **parameters)
    rng = np.random.default_rng(0)
    for _ in range(12):
        X = rng.normal(size=(4, 6))
        choice = learner.choose(X, rng)
        if choice.query:
            learner.learn(X, choice, 1.0)
    return learner


@given(st.data())
@settings(max_examples=150)
def test_altered_bytes_give_a_file_error_or_a_sound_model(data):
    whole = dumps(taught(model=data.draw(st.sampled_from(["diagonal", "full", "kernel"]))))
    how = data.draw(st.sampled_from(["cut", "flip", "insert"]))
    place = data.draw(st.integers(0, len(whole) - 1))
    if how == "cut":
        broken = whole[:place]
    elif how == "flip":
        broken = whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :]
    else:
        broken = whole[:place] + data.draw(st.binary(min_size=1, max_size=20)) + whole[place:]
    try:
        learner, _, _ = loads(broken)
    except FileError:
        return
    assert np.isfinite(learner.scores(np.eye(6))).all()
    learner.choose(np.eye(6), 1)


@given(st.binary(max_size=300))
def test_garbage_is_a_file_error(data):
    with pytest.raises(FileError):
        loads(data)


def reheaded(data, change):
    """The same file with its inner header changed."""
    (size,) = struct.unpack("<Q", data[:8])
    outer = json.loads(data[8 : 8 + size])
    inner = json.loads(outer["__metadata__"]["conquer"])
    change(inner)
    outer["__metadata__"]["conquer"] = json.dumps(inner)
    text = json.dumps(outer).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(format=99),
        lambda h: h["learner"].update(dim=5),
        lambda h: h["learner"].update(dim=2**31),
        lambda h: h["learner"].update(dim=2**30),
        lambda h: h["learner"].update(dim=10**30),
        lambda h: h["learner"].update(dim="6"),
        lambda h: h["learner"].update(algorithm="os.system"),
        lambda h: h["learner"]["parameters"].update(model="none"),
        lambda h: h["learner"]["parameters"].update(lam=-1),
        lambda h: h["learner"]["parameters"].update(unknown=1),
        lambda h: h.pop("learner"),
        lambda h: h.update(learner=[]),
    ],
)
@pytest.mark.parametrize("model", ["diagonal", "full", "kernel"])
def test_a_header_that_lies_is_refused(model, change):
    with pytest.raises(FileError):
        loads(reheaded(dumps(taught(model=model)), change))


def test_another_models_arrays_are_refused():
    data = dumps(taught(model="diagonal"))
    for model in ("full", "kernel"):
        with pytest.raises(FileError):
            loads(reheaded(data, lambda h, m=model: h["learner"]["parameters"].update(model=m)))


@pytest.mark.parametrize("model", ["diagonal", "full", "kernel"])
@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(model, poison):
    header, arrays = unpack(dumps(taught(model=model)))
    for name, array in arrays.items():
        if array.dtype == np.float64 and array.size:
            broken = {key: value.copy() for key, value in arrays.items()}
            broken[name].flat[-1] = poison
            with pytest.raises(FileError):
                loads(pack(header, broken))


def test_stored_indices_are_checked():
    header, arrays = unpack(dumps(taught(model="kernel")))
    for name, value in (("model.indices", 6), ("model.indices", -1), ("model.owner", 10**6), ("model.indptr", 10**6)):
        broken = {key: array.copy() for key, array in arrays.items()}
        broken[name][-1] = value
        with pytest.raises(FileError):
            loads(pack(header, broken))
    header, arrays = unpack(dumps(taught(model="diagonal")))
    for value in (-1, 6, 2**31 - 1):
        broken = {key: array.copy() for key, array in arrays.items()}
        broken["model.ids"][-1] = value
        with pytest.raises(FileError):
            loads(pack(header, broken))


def test_a_file_cannot_make_its_reader_allocate_what_it_does_not_hold():
    header, arrays = unpack(dumps(taught(model="full")))
    header["learner"]["dim"] = 40_000
    arrays["model.weights"] = np.zeros(40_000)
    with pytest.raises(FileError, match="square"):
        loads(pack(header, arrays))


def test_stored_squares_are_those_of_the_items():
    header, arrays = unpack(dumps(taught(model="kernel", kernel="rbf")))
    for value in (-5.0, 1e308):
        arrays["model.item"][0, 1] = value
        with pytest.raises(FileError, match="squares"):
            loads(pack(header, arrays))


def test_what_numpy_made_can_be_saved_and_so_can_copies():
    learner = make("gnc", dim=3, lam=np.int64(2), eta=np.float32(2))
    assert loads(dumps(copy.deepcopy(learner)))[0].parameters["lam"] == 2
    unscaled = make("gnc", dim=1, model="full")
    X = np.array([[1e7], [-1e7]])  # about the largest that A^-1 can hold
    unscaled.learn(X, unscaled.choose(X, 1), 1.0)
    loads(dumps(unscaled))


@pytest.mark.parametrize("extra", [5, None, []])
def test_extra_must_be_an_object(extra):
    with pytest.raises(FileError):
        restore(reheaded(dumps(taught()), lambda h: h.update(extra=extra)))


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_files_of_another_format_are_refused(version):
    with pytest.raises(FileError, match=f"the file has format {version!r}, this version reads format 1"):
        loads(reheaded(dumps(taught()), lambda h: h.update(format=version)))


def test_a_huge_header_is_not_read():
    with pytest.raises(FileError, match="it does not begin with the size of a header"):
        unpack(struct.pack("<Q", 2**62) + b"{}")


def test_a_deep_header_is_refused():
    text = b"[" * 200_000
    with pytest.raises(FileError):
        unpack(struct.pack("<Q", len(text)) + text)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.cnqr"
    write_atomically(path, b"old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to(target)
    for data in (b"new", b"newer"):  # the target is made, then replaced
        write_atomically(link, data)
        assert link.is_symlink()
        assert target.read_bytes() == data
    assert list(target.parent.iterdir()) == [target]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"data")
    assert os.read(reader, 9) == b"data"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(OSError, match="not a regular file"), replacing(tmp_path / "pipe"):
        pass


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "full", b"data")
    assert (tmp_path / "full").is_symlink()
    assert (tmp_path / "full").is_char_device()


def test_an_existing_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    mask = os.umask(0o027)
    try:
        # Another thread would see the mask change, and make its files with it.
        with monkeypatch.context() as patched:
            patched.setattr("os.umask", lambda mask: pytest.fail("the umask was changed"))
            for mode in (0o600, 0o664):
                old.touch()
                old.chmod(mode)
                write_atomically(old, b"data")
                assert stat.S_IMODE(old.stat().st_mode) == mode
            write_atomically(new, b"data")
            assert stat.S_IMODE(new.stat().st_mode) == 0o640
    finally:
        os.umask(mask)


@pytest.mark.parametrize("row", algorithms(), ids=lambda r: r.name)
def test_save_and_load_by_path(row, tmp_path):
    learner = make(row.name, dim=4)
    save(learner, tmp_path / "m")
    assert load(tmp_path / "m").name == row.name


def test_a_session_file_continues_with_its_open_offers(tmp_path):
    session = Session(make("gnc", dim=64), seed=3)
    twin = Session(make("gnc", dim=64), seed=3)
    items = {f"i{k}": {"colour": c, "price": 0.1 * k} for k, c in enumerate(["red", "blue", "green", "black"])}
    offers = [(session.ask(items), twin.ask(items)) for _ in range(3)]
    assert all(a == b for a, b in offers)
    session.tell(offers[0][0].id, "first")
    twin.tell(offers[0][0].id, "first")
    save(session, tmp_path / "s")
    copy = load(tmp_path / "s")
    assert copy.pending == twin.pending
    for s in (copy, twin):
        s.tell(offers[2][0].id, "second")
    assert copy.tell(offers[0][0].id, "first") == "repeat"
    assert copy.ask(items) == twin.ask(items)
    np.testing.assert_array_equal(copy.learner.model.weights(), twin.learner.model.weights())


@given(st.data())
@settings(max_examples=60)
def test_altered_session_files_are_file_errors_or_sound(data):
    session = Session(make("gnr", dim=8), seed=1)
    session.ask(np.eye(8)[:3])
    whole = session.dumps()
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :]
    try:
        thing = restore(broken)
    except FileError:
        return
    learner = thing if hasattr(thing, "choose") else thing.learner
    learner.choose(np.eye(learner.dim), 1)  # 9 features, of which 8 are met so far, are sound too
