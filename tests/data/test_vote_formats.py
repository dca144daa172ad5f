"""The same votes in every form: what is read does not depend on the file that holds it."""

import gzip
import io
import json
import lzma
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import conquer
from conquer.answers import RESERVED
from conquer.data.compression import DataError
from conquer.data.items import read_items
from conquer.data.reviews import read as read_reviews
from conquer.data.tables import cut, sniff
from conquer.data.votes import Vote, VoteReading, VoteTally, read_votes

ROWS = [
    {"model_a": "tea", "model_b": "mug, blue", "winner": "model_a", "judge": "ann", "prompt": "p1"},
    {"model_a": "mug, blue", "model_b": "pot", "winner": "model_b", "judge": "bob", "prompt": "p1"},
    {"model_a": "pot", "model_b": 'an "old" can', "winner": "tie", "judge": "ann", "prompt": "p 2"},
]
EXPECTED = [
    ("tea", "mug, blue", 1.0, "ann", "p1"),
    ("mug, blue", "pot", -1.0, "bob", "p1"),
    ("pot", 'an "old" can', 0.0, "ann", "p 2"),
]


def table(rows, delimiter, quote=True):
    names = list(rows[0])
    cell = (lambda text: '"' + text.replace('"', '""') + '"') if quote else str
    return "\n".join(delimiter.join(map(cell, line)) for line in [names, *(row.values() for row in rows)]) + "\n"


def parquet(rows):
    room = io.BytesIO()
    pl.DataFrame(rows).write_parquet(room)
    return room.getvalue()


FORMS = {
    "votes.csv": lambda rows: table(rows, ",").encode(),
    "crlf.csv": lambda rows: table(rows, ",").replace("\n", "\r\n").encode(),
    "bom.csv": lambda rows: b"\xef\xbb\xbf" + table(rows, ",").encode(),
    "semicolons.csv": lambda rows: table(rows, ";").encode(),
    "votes.tsv": lambda rows: table(rows, "\t", quote=False).encode(),
    "votes.jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "votes.json": lambda rows: json.dumps(rows).encode(),
    "wide.json": lambda rows: json.dumps(rows, indent=2).encode(),
    "votes.parquet": parquet,
}
PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


def said(votes):
    return [(vote.first, vote.second, vote.value, vote.voter, vote.context) for vote in votes]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_says_the_same(name, packing, tmp_path):
    if packing and name.endswith("parquet"):
        pytest.skip("Parquet is compressed inside")
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(PACKED[packing](FORMS[name](ROWS)))
    reading = read_votes(path)
    assert said(reading) == EXPECTED
    assert (reading.tally.votes, reading.tally.ties) == (3, 1)
    assert reading.content == "ids"


HEADERS = [
    ("left,right,winner", "tea,mug,left", 1.0),
    ("Left;Right;Winner", "tea;mug;RIGHT", -1.0),
    ("model_x,model_y,winner", "tea,mug,model_y", -1.0),
    ("model_1,model_2,label", "tea,mug,2", -1.0),
    ("a1,a2,label", "tea,mug,a2", -1.0),
    ("item_a,item_b,winner", "tea,mug,mug", -1.0),
    ("first,second,answer", "tea,mug,-0.5", -0.5),
    ("option_a,option_b,choice", "tea,mug,A", 1.0),
    ("Model A,Model B,Vote", "tea,mug,[[B]]", -1.0),
    ("chosen,rejected", "tea,mug", 1.0),
    ("winner,loser", "tea,mug", 1.0),
    ("chosen,rejected,strength", "tea,mug,0.25", 0.25),
    ("winner_id,winner_name,winner_age,loser_id,loser_name,loser_age", "7,tea,33,8,mug,21", 1.0),
    ("round,candidate_chosen,candidate_not_chosen", "1,tea,mug", 1.0),
    ("winning team,losing team", "tea,mug", 1.0),
    ("prompt,chosen_model,rejected_model", "why?,tea,mug", 1.0),
    ("model_a,model_b,winner", "tea,mug,tie (inconsistent)", 0.0),
    ("model_a,model_b,winner_model_a,winner_model_b,winner_tie", "tea,mug,0,0,1", 0.0),
    ("model_a,model_b,winner_model_a,winner_model_b,winner_tie", "tea,mug,0,1,0", -1.0),
]


@pytest.mark.parametrize(("header", "row", "value"), HEADERS)
def test_columns_are_found_by_their_usual_names(header, row, value, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"{header}\n{row}\n")
    (vote,) = read_votes(path)
    assert (vote.first, vote.second, vote.value, vote.line) == ("tea", "mug", value, 2)


@pytest.mark.parametrize("name", ["voter", "worker", "worker_id", "Judge", "annotator", "rater", "user id"])
def test_voters_have_many_names(name, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"left,right,winner,{name},kind,weight,votes\ntea,mug,left,ann,human,0.5,3\ntea,mug,left,,llm,,1\n")
    one, two = read_votes(path)
    assert (one.voter, one.kind, one.weight, one.count, one.left) == ("ann", "person", 0.5, 3, "first")
    assert (two.voter, two.kind, two.weight, two.count) == (None, "judge", None, 1)


def test_several_columns_of_winners_and_losers_are_not_guessed_among(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("winner_age,winner_seed,loser_age,loser_seed\n33,1,21,5\n")
    with pytest.raises(
        DataError, match="several columns may hold winner and loser .winner_age and loser_age; winner_s"
    ):
        list(read_votes(path))
    (vote,) = read_votes(path, columns={"winner": "winner_seed", "loser": "loser_seed"})
    assert (vote.first, vote.second, vote.value) == ("1", "5", 1.0)


def test_a_question_is_its_id_and_its_turn(tmp_path):
    path, rows = tmp_path / "votes.csv", "7,1,tea,mug,model_a,ann\n7,2,tea,mug,model_b,ann\n"
    path.write_text(f"question_id,turn,model_a,model_b,winner,judge\n{rows}")
    assert conquer.fit(path).learner.answers == 2
    assert [block.questions for block in read_votes(path).blocks()] == [[("7", "1"), ("7", "2")]]
    path.write_text(f"task,round,model_a,model_b,winner,judge\n{rows}")
    assert conquer.fit(path, columns={"question": "task+round"}).learner.answers == 2
    for question in ("task", "nothing+round"):
        with pytest.raises(DataError, match="gave a different answer|no column 'nothing' for 'question'"):
            conquer.fit(path, columns={"question": question})


@pytest.mark.parametrize(
    ("word", "value"),
    [("tie (inconsistent)", 0.0), ("Tie: both fine", 0.0), ("draw (by agreement)", 0.0), ("no difference", 0.0)],
)
def test_a_tie_may_have_a_reason(word, value):
    (vote,) = VoteReading([("tea", "mug", word)])
    assert vote.value == value


@pytest.mark.parametrize(
    ("word", "count"), [("tie (bothbad)", "both_bad"), ("tie: all bad", "both_bad"), ("error", "skips")]
)
def test_a_tie_between_bad_items_and_an_error_are_no_votes(word, count):
    reading = VoteReading([("tea", "mug", word), ("tea", "mug", "tea")])
    assert len(list(reading)) == 1
    assert getattr(reading.tally, count) == 1


def test_what_was_guessed_is_noted(tmp_path):
    path, tally = tmp_path / "votes.csv", VoteTally()
    path.write_text("winner_name,loser_name,judge\ngreen tea,mug,ann\n")
    assert conquer.fit(path, tally=tally).catalog.names == ("green tea", "mug")
    assert tally.notes == [
        f"{path}: winner 'winner_name', loser 'loser_name', voter 'judge'; the items are ids, such as 'green tea'"
    ]


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,answer one,answer two,who won\nm,n,green tea,a mug,left\n")
    named = {"first": "answer one", "second": "Answer Two", "winner": "who won"}
    (vote,) = read_votes(path, columns=named, content="texts")
    assert (vote.first, vote.second, vote.value) == ("green tea", "a mug", 1.0)
    (vote,) = read_votes(path, columns={"winner": "answer two", "loser": "answer one"}, content="texts")
    assert (vote.first, vote.second, vote.value) == ("a mug", "green tea", 1.0)
    for wrong in ({"loser": "model_b"}, {**named, "loser": "model_b"}):
        with pytest.raises(ValueError, match="'loser' together with 'winner'"):
            list(read_votes(path, columns=wrong))


@pytest.mark.parametrize(
    ("cells", "content", "first"),
    [
        (("green tea", "a mug"), "ids", "green tea"),
        (("green tea " * 8, "a mug " * 12), "texts", "green tea " * 8),
        (({"price": 1}, {"price": 2}), "dicts", {"price": 1}),
        (([1, 2], [3, 4]), "vectors", [1.0, 2.0]),
        (([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
          [{"role": "assistant", "content": "no"}]), "texts", "hi\nyes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_items_are_ids_texts_dicts_or_vectors(cells, content, first, form, tmp_path):
    path = tmp_path / "votes"
    if form == "jsonl":
        path.write_text(json.dumps({"chosen": cells[0], "rejected": cells[1]}) + "\n")
    else:
        written = [cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]
        path.write_text(table([dict(zip(("chosen", "rejected"), written, strict=True))], ","))
    reading = read_votes(path)
    (vote,) = reading
    assert (reading.content, vote.first) == (content, first)


def test_orders_of_preference_are_votes(tmp_path):
    path = tmp_path / "some.toc"
    path.write_text("# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: tea\n2: 1,{2,3}\n1: 3,2\n")
    found = [(vote.first, vote.second, vote.value, vote.count, vote.line) for vote in read_votes(path)]
    assert found == [("tea", "2", 1.0, 2, 3), ("tea", "3", 1.0, 2, 3), ("2", "3", 0.0, 2, 3), ("3", "2", 1.0, 1, 4)]


@given(st.lists(st.tuples(st.integers(1, 3), st.permutations(range(1, 8)), st.integers(2, 7), st.integers(0, 5)),
       min_size=1, max_size=6))  # fmt: skip
def test_orders_are_summed_as_their_pairs_are(tmp_path_factory, orders):
    lines = ["# NUMBER ALTERNATIVES: 7"]
    for people, order, kept, tied in orders:
        start = min(tied, kept - 2)
        ranked = list(map(str, order[:kept]))
        ranked[start : start + 2] = [f"{{{ranked[start]},{ranked[start + 1]}}}"]
        lines.append(f"{people}: {','.join(ranked)}")
    path = tmp_path_factory.mktemp("orders") / "some.toi"
    path.write_text("\n".join(lines) + "\n")
    tally, pairs = VoteTally(), list(read_votes(path))
    session, expected = conquer.fit(path, tally=tally), conquer.fit(pairs)
    assert session.scores() == pytest.approx(expected.scores(), abs=1e-12)
    found, wanted = (one.board(list(expected.catalog.names), interval="fixed") for one in (session, expected))
    np.testing.assert_allclose(found.high, wanted.high, atol=1e-12)
    votes = sum(vote.count for vote in pairs)
    assert (tally.votes, tally.ties) == (votes, sum(vote.count for vote in pairs if vote.value == 0))
    assert session.learner.answers == votes
    assert conquer.fit(path, one_by_one=True).scores() == pytest.approx(session.scores(), abs=1e-9)


def test_long_orders_end_quickly(tmp_path):
    """2,231 alternatives: 40 orders of all of them are a hundred million votes."""
    path, rng = tmp_path / "long.soi", np.random.default_rng(0)
    orders = [",".join(map(str, rng.permutation(2231) + 1)) for _ in range(40)]
    path.write_text("# NUMBER ALTERNATIVES: 2231\n" + "".join(f"1: {order}\n" for order in orders))
    tally, started = VoteTally(), perf_counter()
    session = conquer.fit(path, tally=tally)
    assert perf_counter() - started < 30
    assert tally.votes == session.learner.answers == 40 * 2231 * 2230 // 2
    borda = np.mean([np.argsort([int(k) for k in order.split(",")]) for order in orders], axis=0)
    scores = [session.learner.scores(session.catalog[str(k + 1)])[0] for k in (borda.argmin(), borda.argmax())]
    assert scores[0] > 0 > scores[1]


LEDGER = [
    {"kind": "open", "body": {"name": "teas", "settings": {}}},
    {"kind": "choose", "position": 1, "event_id": "e1", "voter": "ann",
     "body": {"names": ["tea", "mug"], "left": "mug", "context": {"time": "noon"},
              "items": [{"id": "tea", "text": "green tea"}, {"id": "mug", "text": "a mug"}]}},
    {"kind": "answer", "position": 2, "event_id": "e1", "voter": "ann", "body": {"winner": "mug", "value": -1.0}},
    {"kind": "choose", "position": 3, "event_id": "e2", "body": {"names": ["tea", "mug"], "items": [
        {"id": "tea", "text": "green tea"}, {"id": "mug", "text": "a mug"}]}},
    {"kind": "answer", "position": 4, "event_id": "e2", "body": {"winner": "both_bad", "reason": "both_bad"}},
    {"kind": "choose", "position": 5, "event_id": "e3", "body": {"names": ["mug", "tea"], "items": [
        {"id": "tea", "text": "green tea"}, {"id": "mug", "text": "a mug"}]}},
    {"kind": "answer", "position": 6, "event_id": "e3", "body": {"winner": "mug", "value": 1.0}},
    {"kind": "correction", "position": 7, "event_id": "e3", "body": {"undone": 6}},
]  # fmt: skip


@pytest.mark.parametrize("from_file", [True, False])
def test_a_ledger_of_ours_is_votes(from_file, tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LEDGER))
    reading = read_votes(path) if from_file else VoteReading(LEDGER)
    (vote,) = reading
    assert (vote.first, vote.second, vote.value, vote.voter, vote.line) == ("green tea", "a mug", -1.0, "ann", 3)
    assert (vote.context, vote.left) == ({"time": "noon"}, "second")
    assert (reading.content, reading.tally.both_bad, reading.tally.refused) == ("texts", 1, 0)


NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
    lambda name: name.strip() == name and name not in RESERVED and not name.startswith(("{", "["))
)


@given(st.data())
def test_what_is_written_is_read(data):
    """Any ids, voters and contexts come back from JSON lines and from CSV."""
    names = data.draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    pairs = data.draw(st.lists(st.permutations(names).map(lambda p: p[:2]), min_size=1, max_size=8))
    sides = st.sampled_from([("left", 1.0), ("right", -1.0), ("tie", 0.0)])
    rows = [(*pair, *data.draw(sides), data.draw(st.none() | NAMES)) for pair in pairs]
    dicts = [{"left": a, "right": b, "winner": w, "voter": v} for a, b, w, _, v in rows]
    expected = [(a, b, value, v) for a, b, _, value, v in rows]
    assert [(v.first, v.second, v.value, v.voter) for v in VoteReading(dicts)] == expected
    again = [Vote(a, b, value, voter=v) for a, b, _, value, v in rows]
    assert [(v.first, v.second, v.value, v.voter) for v in VoteReading(again)] == expected


@given(st.lists(st.sampled_from(["tea,mug,left", "mug,pot,tie", 'tea,"a ""b"" c",right', "pot,tea,left"]), min_size=1),
       st.integers(1, 80), st.booleans())  # fmt: skip
def test_parts_of_a_file_are_the_file(lines, size, ends):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        path.write_text("left,right,winner\n" + "\n".join(lines) + ("\n" if ends else ""))
        whole = sniff(path)
        parts = cut(whole, size)
        found = []
        for part in parts:
            found += list(VoteReading(part))
        assert found == list(VoteReading(whole))


def test_a_table_with_cells_of_several_lines_stays_whole(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text('left,right,winner\ntea,"a\nmug",left\n' * 5)
    whole = sniff(path)
    assert cut(whole, 10) == [whole]
    assert [vote.line for vote in read_votes(path, strict=False)][:2] == [2, 5]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_many_rows_are_streamed(form, tmp_path):
    """50 MB of votes are never in memory at once."""
    row = {"left": "tea", "right": "mug", "winner": "left", "note": "x" * 1000}
    line = ",".join(row.values()).encode() if form == "csv" else json.dumps(row).encode()
    header = b",".join(map(str.encode, row)) + b"\n" if form == "csv" else b""
    path = tmp_path / f"votes.{form}.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header + line + b"\n")
        for _ in range(50):
            file.write((line + b"\n") * 1000)
    tracemalloc.start()
    reading = read_votes(path)
    assert sum(len(block) for block in reading.blocks()) == 50_001
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48e6


def test_blocks_are_the_votes():
    reading = VoteReading([("tea", "mug", 1), ("mug", "pot", 0)])
    (block,) = reading.blocks()
    assert np.array_equal(block.values, [1.0, 0.0])
    assert [vote.value for vote in block] == [1.0, 0.0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_votes_are_read_in_every_dialect_that_reviews_are(delimiter, encoding, tmp_path):
    path = tmp_path / "votes.csv"
    rows = [{"left": "Grüner Tee", "right": "Tasse", "winner": "left"}]
    path.write_bytes(table(rows, delimiter, quote=delimiter != "\t").encode(encoding))
    (vote,) = read_votes(path)
    assert (vote.first, vote.second, vote.value) == ("Grüner Tee", "Tasse", 1.0)
    assert list(read_votes(path.read_bytes())) == [vote]


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_a_spreadsheet_is_refused_with_the_remedy_wherever_a_table_is_read(start, tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(start + bytes(100))
    for read in (lambda: list(read_votes(path)), lambda: read_items(path), lambda: list(read_reviews(path))):
        with pytest.raises(DataError, match=r"book.xlsx is a spreadsheet or a ZIP archive: save the sheet as CSV"):
            read()
