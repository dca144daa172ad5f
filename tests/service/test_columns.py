"""Uploads as people have them: columns by any usual name, arrays, pairs; nothing is passed over in silence."""

import json

import pytest

from conquer.data import columns
from conquer.service.errors import Kind, RefusalError

from .conftest import read_groups, read_items


def texts(data: bytes, **options) -> list[list[str]]:
    return [[item.text for item in group.items] for group in read_items(data, **options)[0]]


@pytest.mark.parametrize("name", ["text", "Text", "TEXT", "review", "Review Text", "comment", "body"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_of_texts_by_any_usual_name(name, delimiter):
    table = "\n".join(delimiter.join(row) for row in (["ID", name, "Stars"], ["a", "good tea", "5"], ["b", "bad", "1"]))
    groups, found = read_items(table.encode())
    assert [(item.id, item.text) for item in groups[0].items] == [("a", "good tea"), ("b", "bad")]
    assert (found.text, found.unused, found.features) == (name, ["Stars"], [])


def test_objects_by_any_usual_name():
    lines = b'{"Review": "good tea", "Prompt": "p", "date": 1}\n{"Review": "bad tea", "Prompt": "p"}'
    groups, found = read_items(lines)
    assert (groups[0].context, found.text, found.unused) == ("p", "Review", ["date"])
    assert found.described() == "text from 'Review'; not used: date"


def test_a_column_that_is_named():
    table = "Nr;Meinung\n1;guter Tee\n2;schlechter Tee\n".encode("latin-1")
    assert texts(table, text="meinung") == [["guter Tee", "schlechter Tee"]]
    with pytest.raises(RefusalError, match="there is no column 'opinion' among Nr, Meinung"):
        read_items(table, text="opinion")


def test_features_are_said_and_sentences_are_none():
    groups, found = read_items(b"id,price,brand\na,3,x\nb,4.5,y\n")
    assert found.described() == "no text column; taken as features: price, brand"
    assert groups[0].items[1].features == {"price": 4.5, "brand": "y"}
    german, _ = read_items(b"id;price\na;3,5\nb;4\n")
    assert [item.features for item in german[0].items] == [{"price": 3.5}, {"price": 4.0}]
    sentence = " ".join(["word"] * 10)
    with pytest.raises(RefusalError, match="'Opinion' holds sentences, but only text, .*--text Opinion"):
        read_items(f"id,Opinion\na,{sentence}\nb,short\n".encode())


def test_arrays_of_objects_and_of_texts():
    rows = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]
    for indent in (None, 2):
        assert texts(json.dumps(rows, indent=indent).encode()) == [["one", "two"]]
    assert texts(b'\xef\xbb\xbf ["one", "two"]') == [["one", "two"]]
    with pytest.raises(RefusalError, match="the JSON array is broken"):
        read_groups(b'[{"text": "one"}, {"text": ')
    with pytest.raises(RefusalError, match="row 1: expected an object"):
        read_groups(b"[1, 2]")


def test_chosen_and_rejected_answers_are_pairs():
    rows = [{"prompt": f"p{k}", "chosen": f"good {k}", "rejected": f"bad {k}"} for k in range(2)]
    groups = read_groups(json.dumps(rows).encode())
    assert [group.context for group in groups] == ["p0", "p1"]
    assert [(item.id, item.text) for item in groups[1].items] == [("2-chosen", "good 1"), ("2-rejected", "bad 1")]

    def talk(answer: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": answer}]

    (group,) = read_groups(json.dumps({"chosen": talk("Gladly."), "rejected": talk("No.")}).encode())
    assert (group.context, [item.text for item in group.items]) == ("Tea?", ["Gladly.", "No."])
    assert texts(b"prompt,chosen,rejected\np,x,y\n") == [["x", "y"]]


def test_empty_texts_are_counted_and_left_out():
    groups, found = read_items(b"id,text\na,one\nb,\nc,  \nd,two\n")
    assert [item.id for item in groups[0].items] == ["a", "d"]
    assert (found.empty, found.described()) == (2, "2 rows without a text left out")
    with pytest.raises(RefusalError, match="all its 2 texts are empty") as caught:
        read_items(b'text\n" "\n" "\n')
    assert caught.value.kind is Kind.INVALID


def test_latin_files_are_read_and_other_encodings_refused_with_the_remedy():
    assert texts("Text\ngrüner Tee\nweißer Tee\n".encode("latin-1")) == [["grüner Tee", "weißer Tee"]]
    assert texts('{"text": "grün"}\n{"text": "weiß"}\n'.encode("latin-1")) == [["grün", "weiß"]]
    for data in ("Text\nTee\n".encode("utf-16"), "é,text\n".encode() + b"\xff,b\n"):
        with pytest.raises(RefusalError, match="save it as UTF-8"):
            read_groups(data)


async def test_the_reply_says_what_was_made_of_the_columns(local):
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr"})
        reply = await client.post("/v1/models/m/items", content=b"Review,Date\ngood,1\nbad,2\n,3\n")
        assert reply.json() == {"items": 2, "groups": 1, "text": "Review", "unused": ["Date"], "empty": 1}
        reply = await client.post("/v1/models/m/items?text=said", content=b"id,said\nx,yes\ny,no\n")
        assert reply.json() == {"items": 2, "groups": 1, "text": "said"}


async def test_numbers_that_outweigh_everything_else_are_told(local):
    table = b"id,brand,price,weight\na,x,349.5,0.3\nb,y,12,0.4\n"
    assert read_items(table)[1].large == ["price"]
    assert read_items(table)[1].described().endswith("large numbers, to be divided: price")
    alone = [{"id": one, "features": {"year": 1990 + k}} for k, one in enumerate("ab")]
    assert read_items(json.dumps(alone).encode())[1].large == []
    worded = [{"id": one, "text": one, "features": {"year": 1990 + k}} for k, one in enumerate("ab")]
    assert read_items(json.dumps(worded).encode())[1].large == ["year"]
    small = [{"id": one, "features": {"year": k, "brand": "x", "old": True}} for k, one in enumerate("ab")]
    assert read_items(json.dumps(small).encode())[1].large == []
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr"})
        assert (await client.post("/v1/models/m/items", content=table)).json()["large"] == ["price"]


def test_long_names_are_not_remembered():
    """An upload of names of a megabyte each leaves none of them in memory."""
    before = columns._cached.cache_info().currsize
    for k in range(3):
        name = f"x{k}" * 500_000
        assert read_items(json.dumps([{"text": "a", name: 1}, {"text": "b"}]).encode())[1].unused == [name]
    assert columns._cached.cache_info().currsize - before <= 20
