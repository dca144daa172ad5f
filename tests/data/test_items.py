"""Files of items: three forms, one meaning, and errors that name the line."""

import pytest

from conquer.data.items import read_items


@pytest.mark.parametrize(
    "text",
    [
        "id,text\na,good tea\nb,bad tea\n",
        '\ufeff{"id": "a", "text": "good tea"}\n\n{"id": "b", "text": "bad tea"}\n',
        '[{"id": "a", "text": "good tea"}, {"id": "b", "text": "bad tea"}]',
    ],
)
def test_three_forms_say_the_same(tmp_path, text):
    (tmp_path / "items").write_text(text)
    assert read_items(tmp_path / "items") == ({"a": "good tea", "b": "bad tea"}, None)


def test_numbers_vectors_and_groups(tmp_path):
    (tmp_path / "items").write_text('{"id": 1, "vector": [1, 2], "by": "x"}\n{"id": "b", "vector": [3, 4], "by": 7}')
    assert read_items(tmp_path / "items", "by") == ({"1": [1, 2], "b": [3, 4]}, {"1": "x", "b": "7"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no items"),
        ("id,text\n", "the file has no items"),
        ("id,text\na\n", "line 2 has another number of columns"),
        ("id,text\na,x\na,y\n", "line 3: the id 'a' is there twice"),
        ("text\nx\n", "line 2 needs an id, got None"),
        ('{"id": "a", "text": "x"}\n{"id": "b"}', "line 2: need exactly one of text, features, vector"),
        ('{"id": "a", "text": "x", "vector": [1]}', "line 1: need exactly one of"),
        ('{"id": "a"', "line 1 is not JSON"),
        ("[1]", "line 1: expected an object, got int"),
        ("[" * 100_000, "items: "),
        ('{"id": "a", "text": "x"}', "line 1: 'a' has no 'by'"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    (tmp_path / "items").write_text(text)
    with pytest.raises(ValueError, match="items: ") as refused:
        read_items(tmp_path / "items", "by" if "by" in message else None)
    assert message in str(refused.value)


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "items").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="utf-8"):
        read_items(tmp_path / "items")
