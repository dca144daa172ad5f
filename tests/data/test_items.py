"""Files of items to rank: read as `fit` reads them, groups beside them, and errors that name the line."""

import json

import numpy as np
import pytest

import conquer
from conquer.data.items import listed_items, read_items


@pytest.mark.parametrize(
    "text",
    [
        "id,text\na,good tea\nb,bad tea\n",
        "name;text\na;good tea\nb;bad tea\n",
        '\ufeff{"id": "a", "text": "good tea"}\n\n{"id": "b", "text": "bad tea"}\n',
        '[{"id": "a", "text": "good tea"}, {"id": "b", "text": "bad tea"}]',
    ],
)
def test_all_forms_say_the_same(tmp_path, text):
    (tmp_path / "items").write_text(text)
    assert listed_items(tmp_path / "items") == ({"a": "good tea", "b": "bad tea"}, None)


@pytest.mark.parametrize(
    "text",
    [
        'id,vector\na,"[1, 2]"\nb,"[3, 4]"\n',
        'id,features\na,"{""x"": 1}"\nb,"{""y"": 2}"\n',
        "id,price,group,prompt,context,question\na,1,x,p,c,q\nb,2,y,p,c,q\n",
    ],
)
def test_items_are_read_as_fit_reads_them(tmp_path, text):
    (tmp_path / "items.csv").write_text(text)
    assert listed_items(tmp_path / "items.csv")[0] == read_items(tmp_path / "items.csv")


def test_numbers_vectors_and_groups(tmp_path):
    (tmp_path / "items").write_text('{"id": 1, "vector": [1, 2], "by": "x"}\n{"id": "b", "vector": [3, 4], "by": 7}')
    assert listed_items(tmp_path / "items", "by") == ({"1": [1, 2], "b": [3, 4]}, {"1": "x", "b": "7"})


def test_a_group_stays_a_feature(tmp_path):
    (tmp_path / "items.csv").write_text("id,price,brand\ntea,0.5,x\nmug,0.7,y\n")
    items, groups = listed_items(tmp_path / "items.csv", "brand")
    assert items == {"tea": {"price": 0.5, "brand": "x"}, "mug": {"price": 0.7, "brand": "y"}}
    assert groups == {"tea": "x", "mug": "y"}
    (tmp_path / "items").write_text('{"id": "a", "features": {"by": "x"}}\n{"id": "b", "features": {"by": "y"}}')
    assert listed_items(tmp_path / "items", "by")[1] == {"a": "x", "b": "y"}


def test_ids_alone(tmp_path):
    (tmp_path / "ids").write_text("name\ntea\nmug\n")
    assert listed_items(tmp_path / "ids", known=True) == (["tea", "mug"], None)
    with pytest.raises(ValueError, match="no column says what an item is"):
        listed_items(tmp_path / "ids")
    (tmp_path / "more").write_text("maker,id\nx,tea\ny,mug\n")
    assert listed_items(tmp_path / "more", "maker", known=True, closed=True) == (
        ["tea", "mug"],
        {"tea": "x", "mug": "y"},
    )


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,text\n", "there are no items"),
        ("id,text\na,x\na,y\n", "line 3: the id 'a' occurs twice"),
        ("text,by\nx,y\n", "no column is an id"),
        ("id,text\n,x\n", "line 2: an item is missing"),
        ('{"id": "a", "text": "x"}', "line 1: 'a' has no 'by'"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message, closed):
    (tmp_path / "items").write_text(text)
    with pytest.raises(ValueError, match="items") as refused:
        listed_items(tmp_path / "items", "by" if "has no" in message else None, known=closed, closed=closed)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        'id,text,vector,label,meta\na,good tea,"[1, 2]",A,x\nb,bad tea,"[3, 4]",B,y\n',
        '{"id": "a", "text": "good tea", "embedding": [1, 2], "label": "A"}\n'
        '{"id": "b", "text": "bad tea", "embedding": [3, 4], "meta": {"x": 1}}',
    ],
)
def test_items_with_several_parts_have_all_of_them(tmp_path, text):
    (tmp_path / "items").write_text(text)
    expected = {"a": {"text": "good tea", "vector": [1, 2]}, "b": {"text": "bad tea", "vector": [3, 4]}}
    assert read_items(tmp_path / "items") == expected


def test_what_is_only_shown_is_no_feature(tmp_path):
    (tmp_path / "items.csv").write_text("id,price,label,image,format\na,1,A,/a.png,plain\nb,2,B,/b.png,plain\n")
    assert read_items(tmp_path / "items.csv") == {"a": {"price": 1.0}, "b": {"price": 2.0}}
    (tmp_path / "labels.csv").write_text("id,label\na,A\nb,B\n")
    with pytest.raises(ValueError, match="no column says what an item is"):
        read_items(tmp_path / "labels.csv")


def test_a_fit_learns_the_vectors_of_items_that_also_have_texts(tmp_path):
    """From a file, a mapping or vectors alone: the same weights; with features beside them, others."""
    names, vectors = ("a", "b", "c"), ([1.0, 0.0], [0.0, 1.0], [0.6, 0.8])
    votes = [("a", "b", "first"), ("c", "b", "first"), ("a", "c", "second")] * 4
    whole = {name: {"text": f"tea {name}", "vector": vector} for name, vector in zip(names, vectors, strict=True)}
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps({"id": k, "label": k, **v}) for k, v in whole.items()))
    alone = conquer.fit(votes, items=dict(zip(names, vectors, strict=True))).learner.model.weights()
    for items in (whole, tmp_path / "items.jsonl"):
        assert np.array_equal(conquer.fit(votes, items=items).learner.model.weights(), alone)
    told = {name: {**one, "features": {"brand": name}} for name, one in whole.items()}
    session = conquer.fit(votes, items=told, dim=64)
    assert session.learner.model.weights()[2:].any()
    assert session.ask({"d": {"vector": [0.5, 0.5], "features": {"brand": "a"}}, "e": told["b"]}).shown
