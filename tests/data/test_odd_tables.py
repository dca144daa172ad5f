"""Tables as other programs write them: quoted tabs, marks, line ends, and cells that only look alike."""

import json

import pytest
from fits import fit_in_parts

import conquer
from conquer.data.compression import DataError
from conquer.data.items import read_items
from conquer.data.tables import chunks, sniff
from conquer.data.votes import read_votes


def votes_of(path, text, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reading = read_votes(path, **options)
    return [(vote.first, vote.second, vote.value) for vote in reading], reading.tally


QUOTED = '"left"\t"right"\t"winner"\n"green ""tea"""\t"a\tmug"\t"left"\n"pot\nof tin"\t"cup"\t"cup"\n'


def test_tabs_whose_header_is_quoted_are_quoted_throughout(tmp_path):
    votes, _ = votes_of(tmp_path / "votes.tsv", QUOTED)
    assert votes == [('green "tea"', "a\tmug", 1.0), ("pot\nof tin", "cup", -1.0)]
    votes, _ = votes_of(tmp_path / "votes.tsv", b"\xef\xbb\xbf" + QUOTED.replace("\n", "\r\n").encode())
    assert [vote[2] for vote in votes] == [1.0, -1.0]


def test_tabs_without_quotes_in_the_header_quote_nothing(tmp_path):
    votes, _ = votes_of(tmp_path / "votes.tsv", 'left\tright\twinner\n5" pipe\tmug\tleft\n"x\tmug\tright\n')
    assert votes == [('5" pipe', "mug", 1.0), ('"x', "mug", -1.0)]


def test_quoted_tabs_in_parts_are_the_whole(tmp_path):
    path = tmp_path / "votes.tsv"
    path.write_text('"left"\t"right"\t"winner"\n' + '"tea"\t"mug"\t"left"\n"mug"\t"a ""pot"""\t"tie"\n' * 40)
    whole, parts = conquer.fit(path), fit_in_parts(100, path)
    assert list(whole.catalog) == list(parts.catalog) == ["tea", "mug", 'a "pot"']
    assert whole.dumps() == parts.dumps()


def test_a_mark_before_a_quoted_header_is_no_part_of_it(tmp_path):
    votes, _ = votes_of(
        tmp_path / "votes.csv",
        b'\xef\xbb\xbf"tea, left","tea, right",winner\nmug,pot,mug\n',
        columns={"first": "tea, left", "second": "tea, right"},
    )
    assert votes == [("mug", "pot", 1.0)]
    (tmp_path / "items.csv").write_bytes(b'\xef\xbb\xbf"price","id"\n0.5,mug\n')
    assert read_items(tmp_path / "items.csv") == {"mug": {"price": 0.5}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("left,right,winner\ra,b,left\r", r"line 1: the header cannot be read \(lines must end in \\n"),
        ("x\na\n", "line 1: no two columns hold the two items"),
        ("tea,mug,left\nmug,pot,right\n", "line 1: no two columns"),
        ("left,right,who\ntea,mug,left\n", "line 1: no column names the winner"),
    ],
)
def test_what_a_header_lacks_is_told_of_its_line(text, told, tmp_path):
    with pytest.raises(DataError, match=told):
        votes_of(tmp_path / "votes.csv", text)


@pytest.mark.parametrize("strength", ["0", "0.5", ""])
def test_both_bad_has_no_strength(strength, tmp_path):
    text = f"left,right,winner,strength\ntea,mug,both_bad,{strength}\nmug,pot,skip,{strength}\ntea,mug,left,0.5\n"
    votes, found = votes_of(tmp_path / "votes.csv", text)
    assert (votes, found.both_bad, found.skips) == ([("tea", "mug", 0.5)], 1, 1)
    votes, found = votes_of(tmp_path / "votes.csv", text, both_bad="tie")
    assert (votes[0], found.both_bad, found.skips, found.ties) == (("tea", "mug", 0.0), 0, 1, 1)


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"left": True, "right": 3}, "expected an id, got True"),
        ({"left": 1.0, "right": 3}, "expected an id, got 1.0"),
        ({"left": 1, "right": 3, "voter": True}, "a voter's name must be a string or a whole number, got True"),
    ],
)
def test_what_is_no_id_is_none_after_many_that_are(odd, told, tmp_path):
    usual = json.dumps({"left": 1, "right": 2, "winner": "left", "voter": 1}) + "\n"
    with pytest.raises(DataError, match=f"line 20001: {told}"):
        votes_of(tmp_path / "votes.jsonl", usual * 20_000 + json.dumps({"winner": "left", **odd}))


@pytest.mark.parametrize("line", [b'{"id": "a", -1e400: 1}', b"{'id': 'a', (1, 2): 3}", b"{'id': b'a'}"])
def test_a_line_that_is_a_python_dictionary_has_texts_as_keys_or_is_refused(line):
    (chunk,) = chunks(sniff(line + b"\n" + b'{"id": "b"}\n'))
    assert all(isinstance(name, str) for name in chunk.names)
    assert bool(chunk.bad) == (b"-1e400" not in line)
