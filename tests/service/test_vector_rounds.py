"""Rounds of plain vectors: the short way reads what the way item by item reads, bit for bit, and never more."""

import json
import random

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conquer.service.errors import RefusalError
from conquer.service.model import reading
from conquer.service.model.reading import Reader
from conquer.service.model.schemas import FeatureSettings
from conquer.service.settings import Limits

DIM, LIMITS = 6, Limits(items=5, features=5)
PLAIN = b'[{"id":"a","vector":[1,0.5,-2]},{"id":"b c","vector":[0,1e-30,0.12345678901234567]}]'


ROOM = 100_000


def check(texts, dim=DIM, limits=LIMITS):
    """Which of these are read in one batch, after a comparison with the way item by item and the standard library."""
    reader = Reader(FeatureSettings(dim=dim), limits)
    found = reader.read_many([(text, b"null") for text in texts], ROOM)
    assert len(found) == len(texts)
    together = []
    for text, one in zip(texts, found, strict=True):
        alone = reader._read_alone(text, b"null", ROOM)
        if isinstance(alone, RefusalError):
            assert isinstance(one, RefusalError)
            assert (one.code, one.message) == (alone.code, alone.message)
        else:
            assert one.ids == alone.ids == [item["id"] for item in json.loads(text)]
            assert (one.cells, one.nbytes) == (alone.cells, alone.nbytes)
            mine, other = one.rows.packed(), alone.rows.packed()
            for name in ("indptr", "indices", "data"):
                assert getattr(mine, name).tobytes() == getattr(other, name).tobytes()
        together.append(reading._vectors(text, limits) is not None and not isinstance(one, RefusalError))
    return together


def round_of(value, name="a"):
    return b'[{"id":"%s","vector":[%s]}]' % (name.encode(), value.encode())


READ = [
    PLAIN,
    b' [\t{\n"vector"\r: [ 1 , 2\t] , "id" : "]" } ]\n ',
    b'[{"id":"a","vector":[0,-0,-0.0,0.0]},{"vector":[0e5,0E-5,0e+0,1],"id":"vectors"}]',
    b'[{"id":"%s","vector":[1]}]' % (b"a" * 200),
    b'[{"id":"a","vector":[1,2,3,4,5]}]',
    b"[%s]" % b",".join(b'{"id":"%d","vector":[1]}' % n for n in range(5)),
    *map(round_of, ("1E+5", "1e15", "-1e15", "1000000000000000", "1e-60", "0.000000000000000000000001", "1" * 15)),
    *map(round_of, ("0.1234567890123456789", "9007199254740993e-3", "123456789012345678.9e-10", "0.30000000000000004")),
    *map(round_of, ("12345678901234567890e-10", "1e-300", "5e-324", "0.10000000000000000000000001", "0e0000000")),
    '[{"id":"\u00e4","vector":[1]}]'.encode(),
    b'[{"id":"\\u0061","vector":[1]}]',
    b'[{"\\u0069d":"a","vector":[1],"id":"b"}]',
]
OTHER = [
    b"",
    b" ",
    b"[",
    b"]",
    b"[]",
    b"[,]",
    b"[{}]",
    b"null",
    b"[[1]]",
    PLAIN + b"x",
    PLAIN + PLAIN,
    PLAIN + b",",
    PLAIN[:-1],
    PLAIN[:-1] + b",]",
    b"[," + PLAIN[1:],
    PLAIN + b"\x00",
    PLAIN + b"\x0b",
    b"\xef\xbb\xbf" + PLAIN,
    *map(
        round_of, ("", ",", "1,", ",1", "1,,2", "1 2", "01", "-01", "00", "1.", "1.e5", ".5", "-.5", "+1", "-", "--1")
    ),
    *map(round_of, ("1e", "1e+", "1e-", "e5", "1e5.0", "1.5.2", "NaN", "Infinity", "-Infinity", "null", "true", '"1"')),
    *map(
        round_of, ("[1]", "{}", "0x10", "1_000", "1f", "1\x00", "\x0b1", "1e400", "-1e400", "1e16", "1000000000000001")
    ),
    *map(round_of, ("-1.0000000000000002e15", "1,2,3,4,5,6", "1e99999999999999999999", "1;2", "1]", "1]}", "1/")),
    *(round_of("1", name) for name in ("", "tie", "both_bad", "skip", "id", "vector", "a/b", "a?", "#", "\\", "\\n")),
    *(round_of("1", name) for name in ("a\x1f", "a\n", "\x7f", "a" * 201, '"', "a\x00")),
    b"[%s]" % b",".join(b'{"id":"%d","vector":[1]}' % n for n in range(6)),
    b'[{"id":"a","vector":[1]},{"id":"a","vector":[2]}]',
    b'[{"id":"a","vector":[1]},{"id":"b","vector":[2,3]}]',
    b'[{"id":"a","vector":[1,2]},{"id":"b","vector":[2]}]',
    b'[{"id":"a","vector":[1]},{"id":"b","vector":[]}]',
    b'[{"id":"a"}]',
    b'[{"vector":[1]}]',
    b'[{"id":"a","id":"b","vector":[1]}]',
    b'[{"id":"a","vector":[1],"vector":[1]}]',
    b'[{"id":"a","vector":[1],"id":"a"}]',
    b'[{"id":"a","vector":[1],}]',
    b'[{,"id":"a","vector":[1]}]',
    b'[{"id":"a","vector":[1]}{"id":"b","vector":[1]}]',
    b'[{"id":"a" "vector":[1]}]',
    b'[{"id" "a","vector":[1]}]',
    b'[{"id":a,"vector":[1]}]',
    b'[{"id":1,"vector":[1]}]',
    b'[{"id":null,"vector":[1]}]',
    b'[{"id":"a","vector":1}]',
    b'[{"id":"a","vector":"1"}]',
    b'[{"id":"a","Vector":[1]}]',
    b'[{"ID":"a","vector":[1]}]',
    b'[{"id":"a","vector":[1],"text":null}]',
    b"[{'id':'a','vector':[1]}]",
    b'[{"id":"a","vector":[1]]]',
    b'[{"id":"a","vector":[1}]]',
    b'[{"id":"a","vector":[1]',
    b'[{"id":"a","vector":]',
    b'[{"id":"a]',
    b'[{"vector"]',
    b'[{"id":"a","vector":[1]}/**/]',
    b'[{"id":"a",' + b" " * 600 + b'"vector":[1]}]',
]


def test_plain_rounds_are_read():
    assert all(check(READ))
    assert check([]) == []


def test_other_rounds_are_left_to_the_way_item_by_item():
    assert not any(check(OTHER))


def test_a_round_reads_the_same_beside_any_other():
    mixed = [text for pair in zip(OTHER, READ * 20, strict=False) for text in pair]
    assert check(mixed) == [False, True] * len(OTHER)


def test_beginnings_and_changed_bytes_are_never_misread():
    """Every text without its end, without a byte, and with another byte in its place."""
    assert not any(check([PLAIN[:cut] for cut in range(len(PLAIN))]))
    changes = (b"", *(b"%c" % n for n in b'0e.-+,:"[]{} \\/\t\x80'))
    for place in range(len(PLAIN)):
        check([PLAIN[:place] + other + PLAIN[place + 1 :] for other in changes])


TOKENS = [
    *'[]{},:" \n\t\\',
    '"id"',
    '"vector"',
    '"a"',
    "1",
    "0.5",
    "-",
    "e5",
    "1e-7",
    ".",
    "0",
    '{"id":"b","vector":[1]}',
    "\u00e4",
]
NUMBERS = st.one_of(
    st.floats(-1e15, 1e15).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?", fullmatch=True).filter(str.isascii),
)


@st.composite
def written(draw):
    """A round as text, with white space anywhere, keys in both orders; and now and then something that is wrong."""
    gap = draw(st.sampled_from(["", "", " ", "\n\t"]))
    width = draw(st.integers(1, 5))
    items = []
    for number in range(draw(st.integers(1, 5))):
        name = f'"id"{gap}:{gap}"{draw(st.sampled_from(["", "", "x y", "]", "{"]))}{number}"'
        values = f"{gap},{gap}".join(draw(st.lists(NUMBERS, min_size=width, max_size=width)))
        vector = f'"vector"{gap}:{gap}[{gap}{values}{gap}]'
        items.append(f"{gap},{gap}".join([name, vector] if draw(st.booleans()) else [vector, name]))
    text = gap + "[" + ",".join("{" + gap + item + gap + "}" for item in items) + "]" + gap
    for _ in range(draw(st.integers(0, 2))):
        place, size = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:place] + draw(st.sampled_from(TOKENS)) + text[place + size :]
    return text.encode()


@settings(max_examples=300)
@given(st.lists(written(), min_size=1, max_size=6))
@example([PLAIN, b"", PLAIN])
def test_mutated_rounds(texts):
    check(texts)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes(texts):
    check([b'[{"id":"a","vector":[' + text for text in texts] + texts)


def test_rounds_of_other_sizes_at_once():
    random_of = random.Random(0)
    texts = []
    for _ in range(60):
        count, width = random_of.randint(1, 120), random_of.randint(1, 40)
        values = [[random_of.choice((0, 0.0, random_of.gauss(0, 1), 0.25)) for _ in range(width)] for _ in range(count)]
        texts.append(msgspec.json.encode([{"id": f"i{k}", "vector": one} for k, one in enumerate(values)]))
    assert all(check(texts, 40, Limits(items=120)))
