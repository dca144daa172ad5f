"""The items a session knows by name, in memory and in its file."""

import json

import numpy as np
import pytest

import conquer
from conquer.files import FileError, pack, unpack
from conquer.rows import SparseRows
from conquer.session import restore
from conquer.session.catalog import Catalog


def session():
    return conquer.fit([("tea", "mug", "tea"), ("mug", "pot", "mug")])


def test_it_is_a_mapping_from_ids_to_rows():
    known = session().catalog
    assert list(known) == ["tea", "mug", "pot"]
    assert len(known) == 3
    assert known["mug"].dense().tolist() == [[0.0, 1.0, 0.0]]
    assert "can" not in known


def test_files_without_it_are_read():
    one = conquer.Session(conquer.make("gnr", dim=3))
    assert restore(one.dumps()).catalog is None


def changed(data, change):
    header, arrays = unpack(data)
    extra = json.loads(arrays["session"].tobytes())
    change(extra, arrays)
    arrays["session"] = np.frombuffer(json.dumps(extra).encode(), np.uint8)
    return pack(header, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda extra, arrays: extra["catalog"].update(names=["tea", "mug"]),
        lambda extra, arrays: extra["catalog"].update(names=["tea", "tea", "pot"]),
        lambda extra, arrays: extra["catalog"].update(names=["tea", 3.5, "pot"]),
        lambda extra, arrays: extra["catalog"].update(names=["tea", "tie", "pot"]),
        lambda extra, arrays: extra["catalog"].pop("ids_only"),
        lambda extra, arrays: arrays.pop("catalog.data"),
        lambda extra, arrays: arrays.update({"catalog.indices": np.array([0, 1, 9], np.int32)}),
        lambda extra, arrays: extra.update(catalog=[]),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(change):
    with pytest.raises(FileError):
        restore(changed(session().dumps(), change))


def test_names_and_rows_must_be_as_many():
    with pytest.raises(ValueError, match="one row per name"):
        Catalog(["tea"], SparseRows([0, 1, 2], [0, 1], [1.0, 1.0], 2))


def with_items():
    items = {"tea": "a hot leaf drink", "mug": "a blue cup", "pot": "an iron thing"}
    return conquer.fit([("tea", "mug", "tea"), ("mug", "pot", "mug")], items, dim=64, model="full")


@pytest.mark.parametrize("make", [session, with_items])
@pytest.mark.parametrize("call", ["ask", "board", "rank"])
def test_an_unknown_id_is_refused_by_name(make, call):
    made = make()
    with pytest.raises(ValueError, match="unknown item 'pott': not one of the 3 ids of this session"):
        getattr(made, call)(["tea", "pott"])
    with pytest.raises(ValueError, match="unknown item 'pott'"):
        getattr(made, call)(["tea", "pott"], ids=["a", "b"])
    for items in ({"tea", "pot"}, iter(["tea", "pot"]), {"tea": 1, "pot": 2}.keys(), "tea"):
        with pytest.raises(TypeError, match=r"items must be a list of ids, \{id: item\} or rows, got"):
            getattr(made, call)(items)
    assert made.ordinal == 0


def test_texts_are_still_read_where_they_are_meant():
    made = with_items()
    as_mapping = made.board({"one": "a hot drink", "two": "a blue thing"})
    listed = made.board(["a hot drink", "a blue thing"], ids=["one", "two"])
    assert as_mapping.scores.tolist() == listed.scores.tolist() == [listed.scores[0], listed.scores[1]]
    assert listed.names == ("one", "two")
    with pytest.raises(ValueError, match=r"pass texts as \{id: text\}"):
        made.board(["a hot drink", "a blue thing"])
    with pytest.raises(ValueError, match="fitted without a context"):
        made.rank(["tea", "pot"], context="noon")
    assert made.rank(np.array(["pot", "tea"])) == ["tea", "pot"]
