"""Little that becomes much: short requests with long results, and replies that nobody reads, are refused in time."""

import asyncio
import math
from types import SimpleNamespace

import msgspec
import pytest

from conquer.service.admin import keys_add
from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.model.schemas import BATCH, AnswerReply, BatchAnswers, BatchChoose, decoder
from conquer.service.web.access import SMALL, Budget
from conquer.service.web.app import ENDPOINTS
from conquer.service.web.connections import Bounds, Guard
from conquer.service.web.endpoint import Call, attachment
from conquer.service.web.metrics import Meters

from .conftest import run

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


def test_answers_of_a_batch_that_may_have_been_learnt_are_counted_so():
    meters = Meters(Alarms())
    errors = [RefusalError(kind, code, "") for code, kind in (("a", Kind.INDETERMINATE), ("b", Kind.CONFLICT))]
    meters.answered("m", [AnswerReply("learnt", "e"), *errors])
    text = meters.text(lambda model: True).decode()
    for outcome, reason in (("learnt", ""), ("indeterminate", "a"), ("refused", "b")):
        assert f'conquer_answers_total{{model="m",outcome="{outcome}",reason="{reason}"}} 1.0' in text


async def never() -> None:
    await asyncio.Event().wait()


def test_a_log_is_counted_while_it_is_sent(local):
    """In slices, as far as it is read; and a 503 where there is no room for it."""

    async def go() -> None:
        app = local(flight_bytes=4 << 20)
        budget = app.server.budget
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m", "features": {"dim": 4}})
            items = [{"id": name, "text": "tea " * 40_000} for name in "ab"]
            for _ in range(3):
                (await client.post("/v1/models/m/choose", json={"items": items})).raise_for_status()
            whole = (await client.get("/v1/models/m/log")).content
            seen: list[tuple[int, int]] = []

            async def send(message: dict) -> None:
                if message["type"] == "http.response.body":
                    seen.append((len(message["body"]), budget.used))

            scope = {
                "type": "http", "method": "GET", "path": "/v1/models/m/log", "query_string": b"",
                "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1),
            }  # fmt: skip
            await app.app(scope, never, send)
            assert sum(size for size, _ in seen) == len(whole) > 900_000
            assert max(size for size, _ in seen) <= 256 << 10
            assert all(used > SMALL for size, used in seen if size)
            assert budget.used == 0
            for owner in ("ann", "bob"):
                budget.take(owner, 3 << 19)
            for form in ("jsonl", "ledger"):
                reply = await client.get(f"/v1/models/m/log?format={form}")
                assert (reply.status_code, reply.json()["error"]["code"]) == (503, "flight")

    run(go())


def test_a_reply_without_room_to_go_on_ends_before_its_end():
    async def chunks():
        yield bytes(100_000)
        yield bytes(300_000)
        yield b"the end"

    async def go() -> None:
        budget = Budget(1_000_000)
        budget.take("another", 450_000)
        call = Call(SimpleNamespace(budget=budget), {"type": "http"}, never)
        sent: list[dict] = []

        async def send(message: dict) -> None:
            sent.append(message)

        reply = await call.sliced(attachment(chunks(), "log.jsonl"))
        assert call.held == 100_000
        budget.take("third", 150_000)
        with pytest.raises(RefusalError, match="no room"):
            await reply({"type": "http"}, never, send)
        assert sum(len(one.get("body", b"")) for one in sent) == 100_000
        assert all(one["more_body"] for one in sent[1:])

    run(go())


@pytest.mark.parametrize(("taken", "resumes", "goes_on"), [(1000, False, True), (0, True, True), (0, False, False)])
def test_who_reads_slowly_is_read_to(taken, resumes, goes_on):
    """A client is cut off that takes nothing for a minute; a buffer that is filled again has been read from."""
    guard, now, left, cut = Guard.__new__(Guard), [0.0], [300_000], []
    guard._bounds, guard._unsent, guard._taken, guard._ends = Bounds(), 0, 0.0, math.inf
    guard._loop = SimpleNamespace(time=lambda: now[0], call_later=lambda seconds, look: now.append(seconds))
    guard._inner = SimpleNamespace(resume_writing=lambda: None)
    guard._transport = SimpleNamespace(get_write_buffer_size=lambda: left[0], abort=lambda: cut.append(now[0]))
    while now[0] < 100 and not cut:
        guard._look()
        left[0] -= taken
        if resumes:
            guard.resume_writing()
        now[0] += now.pop()
    assert not cut if goes_on else 60 <= cut[0] < 65


def test_who_has_no_key_sends_little(local, tmp_path):
    """What it sends passes uncounted, so that it takes no room from those who have one."""
    keyless = [one for one in ENDPOINTS if one.role is None and one.body is not None]
    assert [one.path for one in keyless if not 0 < one.limit <= SMALL] == []
    keys_add("ann", roles=["admin"], store=f"sqlite:///{tmp_path}/store.db")

    async def go() -> None:
        async with local().running() as client:
            for size, status in ((100, 401), (2000, 413)):
                reply = await client.post("/login", json={"key": "k" * size})
                assert reply.status_code == status, reply.text

    run(go())


@pytest.mark.parametrize(
    ("kind", "name", "one"),
    [(BatchAnswers, "answers", b'{"event_id":"e","winner":"a"}'), (BatchChoose, "rounds", b'{"items":[]}')],
)
def test_a_batch_is_decoded_as_far_as_it_may_go(kind, name, one):
    """What follows is not looked at, here that it is no JSON: nothing is made of it. The next batch begins anew."""
    decode = decoder(kind)
    fair = b'{"%s":[%s]}' % (name.encode(), b",".join([one] * BATCH))
    for _ in range(2):
        assert len(getattr(decode(fair), name)) == BATCH
        with pytest.raises(msgspec.ValidationError, match=f"at most {BATCH}"):
            decode(fair[:-2] + b"," + one + b", no JSON")
        with pytest.raises(msgspec.DecodeError, match="malformed"):
            decode(fair[:-2] + b", no JSON")
