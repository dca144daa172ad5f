"""Everyday requests under way on the short way: what comes behind them, who hangs up, and a server that stops."""

import asyncio
import contextlib
import re
from typing import Any

import pytest

from .house import LONG, House, answer, choose, told, until, visited


def test_requests_in_parts_and_behind_one_another_are_all_answered(local):
    """Wherever a request is split, and however many come at once."""

    async def work(house: House) -> Any:
        reader, writer = await house.client()
        whole = choose("e")
        writer.write(whole)
        expected = await told(reader)
        for at in range(1, len(whole)):
            house.bring(whole[:at], whole[at:])
            assert await told(reader) == expected
        writer.write(whole * 5)
        assert [await told(reader) for _ in range(5)] == [expected] * 5
        # Behind one that is under way: in order, by whichever way.
        held = house.hold()
        writer.write(whole)
        await until(lambda: held)
        house.bring(choose("f") + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + choose("g")[:50])
        house.let_go()
        replies = [await told(reader) for _ in range(3)]
        writer.write(choose("g")[50:])
        replies.append(await told(reader))
        assert replies[0] == expected
        assert [re.search(rb'event_id":"(.)"|status":"ok', one)[1] for one in replies] == [b"e", b"f", None, b"g"]
        before = house.taken
        writer.write(whole)
        assert await told(reader) == expected
        assert house.taken == before + 1
        assert not house.state.tasks

    visited(local(), work)


def test_line_ends_between_requests_begin_none(local):
    async def work(house: House) -> Any:
        reader, _ = await house.client()
        await until(lambda: house.state.connections)
        for between in (b"\r\n", b"\r\n\r\n", b"\n"):
            house.bring(between, choose("e"))
            assert (await told(reader)).startswith(b"HTTP/1.1 200")
        assert house.taken == 3

    visited(local(), work)


@pytest.mark.parametrize("mark", [b"", LONG])
def test_what_is_malformed_behind_a_request_ends_the_connection(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        writer.write(b"\x00\x00")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        house.let_go()
        await until(lambda: not house.state.tasks)
        # It was done all the same.
        (reply,) = await house.say(answer("e"))
        assert b"learnt" in reply

    visited(local(), work)


@pytest.mark.parametrize("behind", [b"", choose("f"), choose("f")[:40]])
@pytest.mark.parametrize("mark", [b"", LONG])
def test_who_hangs_up_is_counted_until_it_is_done(local, mark, behind):
    async def work(house: House) -> Any:
        _, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        house.bring(behind)
        writer.transport.abort()
        # Behind a whole request nothing more is read, so that nobody hears of it.
        await until(lambda: not house.state.connections or behind == choose("f"))
        assert len(house.state.tasks) == 1
        house.let_go()
        await until(lambda: not house.state.tasks and not house.state.connections)
        assert house.counts()[-1].endswith(" 1.0") or behind
        (reply,) = await house.say(answer("e", None, mark))
        assert b"learnt" in reply

    visited(local(), work)


@pytest.mark.parametrize("mark", [b"", LONG])
def test_who_closes_their_side_first_gets_the_same(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        (connection,) = house.state.connections
        writer.write_eof()
        await until(connection.transport.is_closing)
        house.let_go()
        return await reader.read()

    assert visited(local(), work) == b""


@pytest.mark.parametrize("mark", [b"", LONG])
def test_a_server_that_stops_answers_what_is_under_way(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        idle, _ = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        for connection in list(house.state.connections):
            connection.shutdown()
        assert await idle.read() == b""
        assert len(house.state.tasks) == len(house.state.connections) == 1
        house.let_go()
        reply = await reader.read()
        await until(lambda: not house.state.tasks and not house.state.connections)
        return reply

    reply = visited(local(), work)
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"cache-control: no-store\r\ncontent-length: " in reply
    assert b"\r\nconnection: close\r\n\r\n{" in reply
    assert reply.endswith(b"}")


def test_stopping_replies_are_the_same_on_either_way(local, tmp_path):
    found = []
    for name, mark in (("short", b""), ("long", LONG)):
        for cancelled in (False, True):

            async def work(house: House, mark: bytes = mark, cancelled: bool = cancelled) -> Any:
                reader, writer = await house.client()
                held = house.hold()
                writer.write(answer("none", None, mark))
                await until(lambda: held)
                for connection in list(house.state.connections):
                    connection.shutdown()
                for task in house.state.tasks if cancelled else ():
                    task.cancel(msg="too late")
                if not cancelled:
                    house.let_go()
                reply = await reader.read()
                await until(lambda: not house.state.tasks)
                house.let_go()
                # Whoever comes later is told later.
                await house.say(choose("e", mark))
                return reply, house.counts()

            found.append(visited(local(store=f"sqlite:///{tmp_path}/{name}-{cancelled}.db"), work))
    assert found[:2] == found[2:]
    assert [one[0].split()[1] for one in found[:2]] == [b"404", b"500"]


@pytest.mark.parametrize("mark", [b"", LONG])
@pytest.mark.parametrize("ending", ["done", "refused", "cancelled"])
def test_what_the_writer_leaves_is_seen_to_by_the_handler(local, mark, ending):
    """An answer while an erased voter is being unlearnt."""

    async def work(house: House) -> Any:
        await house.say(choose("e", mark))
        folded = house.server.writer.models["m"]
        folded.unlearning = True
        begun, gate = asyncio.Event(), asyncio.Event()
        call = house.server.writer.call

        async def later(*arguments: Any) -> Any:
            begun.set()
            await gate.wait()
            folded.unlearning = False
            return await call(*arguments)

        def by_handler(*arguments: Any, **options: Any) -> Any:
            return call(*arguments, **options) if options.get("request") else later(*arguments)

        house.server.writer.call = by_handler
        reader, writer = await house.client()
        writer.write(answer("e", {"winner": "zzz" if ending == "refused" else "a"}, mark))
        await begun.wait()
        if ending == "cancelled":
            for task in house.state.tasks:
                task.cancel(msg="too late")
        else:
            gate.set()
        reply = await told(reader)
        await until(lambda: not house.state.tasks)
        return reply, house.counts()

    reply, counts = visited(local(), work)
    assert reply.split()[1] == {"done": b"200", "refused": b"422", "cancelled": b"500"}[ending]
    assert sum(float(line.split()[-1]) for line in counts if "answers_total" in line) == (ending != "cancelled")
