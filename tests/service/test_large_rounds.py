"""Rounds of a dozen megabytes: what reads many of them at once stays within bounds, and loses nothing."""

import asyncio
import json
import random
import threading
from functools import partial

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conquer.service.engine import engine, loading
from conquer.service.errors import RefusalError
from conquer.service.model import reading
from conquer.service.model.reading import Reader
from conquer.service.model.schemas import FeatureSettings, Item, bytes_of
from conquer.service.model.state import ModelState
from conquer.service.settings import Limits
from conquer.service.store import log
from conquer.service.work import decisions

from .conftest import run

LONG = {"note": "x" * 2000, "words": ["w" * 200] * 60}


async def filled(client, rounds, **settings):
    await client.post("/v1/models", json={"name": "m", "features": {"dim": 4}, **settings})
    for number in range(rounds):
        items = [{"id": one, "vector": [1, 0, number % 3, 1], "meta": LONG} for one in "ab"]
        assert (await client.post("/v1/models/m/choose", json={"items": items, "event_id": f"e{number}"})).is_success
        said = {"winner": "ab"[number % 2], "voter": f"v{number}"}
        assert (await client.post(f"/v1/models/m/events/e{number}/answer", json=said)).is_success


def test_events_are_read_a_few_at_a_time_until_they_are_many_bytes(local, monkeypatch):
    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            with app.server.database.reading() as connection:
                model = log.headers(connection, ["m"])["m"].id
                ids = [f"e{number}" for number in range(40)]
                found, done, size = log.events_within(connection, model, [*ids, "nobody"])
                assert (set(found), done) == (set(ids), 41)
                assert size > 40 * len(json.dumps(LONG))
                some, done, _ = log.events_within(connection, model, ids, 1)
                assert (list(some), done) == (ids[:1], 1)
                assert len(log.latest(connection, model, "choose", 40)) == 40
                monkeypatch.setattr(log, "_BYTES", 1)
                assert len(log.latest(connection, model, "choose", 40)) == 1

    run(go())


def test_a_model_is_folded_with_few_of_its_rounds_in_memory_at_once(local, monkeypatch):
    """Answers are small and come in long slices; the rounds they speak of are read by and by."""
    most = [0]

    whole_keep = ModelState.keep

    def keep(state, event):
        whole_keep(state, event)
        most[0] = max(most[0], len(state.events))

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            again = [{"event_id": f"e{number}", "winner": "a", "voter": "w"} for number in range(40)]
            assert (await client.post("/v1/models/m/answers", json={"answers": again})).is_success
            with app.server.database.reading() as connection:
                header = log.headers(connection, ["m"])["m"]
                whole = loading.load(connection, header, app.server.engine.build)
                monkeypatch.setattr(log, "events_within", partial(log.events_within, most=1))
                monkeypatch.setattr(loading.ModelState, "keep", keep)
                # Half of the rounds in one slice, all answers to them in another, as after a snapshot.
                early = loading.load(connection, header, app.server.engine.build, 80)
                early.trim(0)
                most[0] = 0
                loading.catch_up(connection, early, header.position, cached=0)
                assert early.digest() == whole.digest()
                assert 0 < most[0] <= 1

    run(go())


def test_an_export_in_small_pieces_says_the_same(local, monkeypatch):
    async def go():
        async with local().running() as client:
            await filled(client, 40)
            whole = {
                form: (await client.get(f"/v1/models/m/log?format={form}")).content for form in ("csv", "preferences")
            }
            assert whole["csv"].count(b"\n") == 41
            monkeypatch.setattr("conquer.service.work.exports._BYTES", 1)
            for form, text in whole.items():
                assert (await client.get(f"/v1/models/m/log?format={form}")).content == text

    run(go())


def test_a_batch_of_answers_about_large_rounds_takes_several_commits(local, monkeypatch):
    """A turn ends its reading of stored rounds at `read_bytes`; the other answers are learnt in the next ones.

    Its time is up after the first of them: that one must be among those it reads.
    """

    async def go():
        app = local(read_bytes=1, events_cached=1)
        async with app.running() as client:
            await filled(client, 40, believe=None)
            monkeypatch.setattr(engine, "_SLICE", 0.0)
            monkeypatch.setattr(decisions, "TOGETHER", 1)
            app.server.engine.models["m"].trim(0)
            monkeypatch.setattr(log, "events_within", partial(log.events_within, most=1))
            answers = [{"event_id": f"e{number}", "winner": "a", "voter": "late"} for number in range(40)]
            before = app.server.engine.commits
            call = client.post("/v1/models/m/answers", json={"answers": answers})
            replies = (await asyncio.wait_for(call, 60)).json()["results"]
            assert {one["status"] for one in replies} == {"learnt"}
            assert app.server.engine.commits - before == 40

    run(go())


def test_an_answer_about_a_large_round_is_learnt_beside_the_loop(local, monkeypatch):
    """The round has to be read again: `/healthz` must not wait for it."""
    read: list[str] = []
    read_many = Reader.read_many

    def noted(self, rounds, room=None):
        read.append(threading.current_thread().name)
        return read_many(self, rounds, room)

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 2)
            monkeypatch.setattr(Reader, "read_many", noted)
            state = app.server.engine.models["m"]
            said = {"winner": state.events["e0"].shown[0], "voter": "new"}
            state.trim(0)
            assert (await client.post("/v1/models/m/events/e0/answer", json=said)).is_success
            assert set(read) == {"conquer-engine"}

    run(go())


def test_items_are_counted_as_what_they_take():
    item = Item("a", text="x", features={"k": "x" * 100_000}, meta={"words": ["w" * 200] * 60})
    assert bytes_of(item) > 200_000 + 60 * 400


def test_an_item_with_a_key_twice_has_its_last_value():
    reader = Reader(FeatureSettings(dim=2), Limits())
    read = reader.read(b'[{"id":"z","vector":[2],"vector":[1]}]', b"null", 100)
    assert (read.ids, read.rows.dense().tolist()) == (["z"], [[1.0, 0.0]])


# Rounds of plain vectors: the short way reads what the way item by item reads, bit for bit, and never more.


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
    b'[{"id":"a","id":"b","vector":[1]}]',
    b'[{"id":"a","vector":[1],"vector":[1]}]',
    b'[{"id":"a","vector":[1],"id":"a"}]',
    round_of("1", "id"),
    round_of("1", "vector"),
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
    *(round_of("1", name) for name in ("", "tie", "both_bad", "skip", "a/b", "a?", "#", "\\", "\\n")),
    *(round_of("1", name) for name in ("a\x1f", "a\n", "\x7f", "a" * 201, '"', "a\x00")),
    b"[%s]" % b",".join(b'{"id":"%d","vector":[1]}' % n for n in range(6)),
    b'[{"id":"a","vector":[1]},{"id":"a","vector":[2]}]',
    b'[{"id":"a","vector":[1]},{"id":"b","vector":[2,3]}]',
    b'[{"id":"a","vector":[1,2]},{"id":"b","vector":[2]}]',
    b'[{"id":"a","vector":[1]},{"id":"b","vector":[]}]',
    b'[{"id":"a"}]',
    b'[{"vector":[1]}]',
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
