"""The short way of everyday requests, beside the long one: the same replies byte by byte, and the same counts."""

import socket
from collections.abc import Callable
from typing import Any

from conquer.service.admin import keys_add
from conquer.service.errors import Kind, RefusalError
from conquer.service.http.rates import Buckets
from conquer.service.writer.work import QueuedWork

from .house import CHOOSE, ITEMS, LONG, House, answer, choose, request, told, until, visited


def both(local: Any, folder: Any, requests: Callable[[bytes], list[bytes]], prepare: Any = None) -> list[int]:
    """The statuses of the replies to the same requests by either way, which are the same, as are the counts."""
    found = []
    for name, mark in (("short", b""), ("long", LONG)):

        async def work(house: House, mark: bytes = mark) -> Any:
            if prepare is not None:
                prepare(house)
            replies = await house.say(*requests(mark))
            await until(lambda: not house.state.tasks)
            return replies, house.counts(), house.taken, house.state.total_requests

        found.append(visited(local(store=f"sqlite:///{folder}/{name}.db"), work))
    (short, counts, taken, total), (long, others, none, requested) = found
    assert short == long
    assert counts == others
    assert (taken, none) == (len(short), 0)
    assert total == requested == len(short)
    return [int(reply.split()[1]) for reply in short]


def test_good_and_bad_requests_are_replied_to_alike(local, tmp_path):
    bodies = [b"", b"{", b"\xff", b"[]", b'{"items":[]}', b'{"itmes":1}', b"[" * 5000]

    def requests(mark: bytes) -> list[bytes]:
        return [
            choose("e1", mark),
            choose("e1", mark),
            request(CHOOSE, {"items": ITEMS[:1], "event_id": "e1"}, mark),
            answer("e1", None, mark),
            answer("e1", None, mark),
            answer("e1", {"winner": "b"}, mark),
            choose("e2", mark),
            answer("e2", {"winner": "skip"}, mark),
            answer("e2", {"winner": "zzz"}, mark),
            answer("e2", {"winner": "a", "voter": "ann", "seconds": 3}, mark),
            answer("none", None, mark),
            answer("a" * 201, None, mark),
            answer("..", None, mark),
            request("/v1/models/none/choose", {"items": ITEMS}, mark),
            request("/v1/models/-m/choose", {"items": ITEMS}, mark),
            request("/v1/models/none/events/e/answer", {"winner": "a"}, mark),
            *(request(CHOOSE, body, mark) for body in bodies),
            *(answer("e2", body, mark) for body in bodies),
            request(CHOOSE, {"items": ITEMS, "event_id": "e9"}, mark, b"evil.example"),
            request(CHOOSE, {"items": ITEMS, "event_id": "e9"}, mark, b"localhost:1"),
            choose("e3", b"Content-Type: application/json\r\nUser-Agent: x\r\nConnection: keep-alive\r\n" + mark),
        ]

    statuses = both(local, tmp_path, requests)
    assert {200, 400, 403, 404, 409, 422} == set(statuses)


def test_keys_and_their_roles_count_on_either_way(local, tmp_path):
    store = f"sqlite:///{tmp_path}/keys.db"
    roles = {"admin": "*", "choose": "*", "answer": "*", "read": "x-*"}
    secrets = {role: keys_add(role, roles=[role], models=[scope], store=store)[1] for role, scope in roles.items()}
    elsewhere = keys_add("elsewhere", roles=["choose", "answer"], models=["other"], store=store)[1]
    found = []
    for name, mark in (("short", b""), ("long", LONG)):

        async def work(house: House, name: str = name, mark: bytes = mark) -> Any:
            requests = [choose("e", mark), choose("e", b"Authorization: Bearer wrong\r\n" + mark)]
            for secret in (*secrets.values(), elsewhere):
                bearer = b"Authorization: Bearer " + secret.encode() + b"\r\n" + mark
                requests += [choose("e", bearer), answer("e", None, bearer)]
            return await house.say(*requests), house.taken

        made = name == "short"
        found.append(visited(local(store=store), work, made=made, key=secrets["admin"]))
    (short, taken), (long, none) = found
    usual = [b"401"] * 2 + [b"200"] * 3 + [b"403"] * 2 + [b"200"] + [b"403"] * 4
    assert [one.split()[1] for one in short] == usual
    assert (taken, none) == (len(short), 0)
    # What was learnt by the one is a repeat for the other.
    differing = [k for k in range(len(short)) if short[k] != long[k]]
    assert differing == [3]
    assert b"learnt" in short[3]
    assert b"repeat" in long[3]


def test_limits_refuse_on_either_way(local, tmp_path):
    def requests(mark: bytes) -> list[bytes]:
        return [choose("e", mark), answer("e", None, mark), choose("f", mark)]

    folder = tmp_path / "rate"
    folder.mkdir()

    def hurry(house: House) -> None:
        house.server.buckets = Buckets(0.001, clock=lambda: 0.0)

    assert both(local, folder, requests, hurry) == [200, 429, 429]

    def refuse(kind: Kind) -> Callable[[House], None]:
        def put(queued: QueuedWork) -> None:
            raise RefusalError(kind, "for_a_test", "no", retry_after=3)

        return lambda house: setattr(house.server.writer, "put", put)

    for kind, status in ((Kind.BUSY, 429), (Kind.UNAVAILABLE, 503), (Kind.INDETERMINATE, 504), (Kind.TOO_LARGE, 413)):
        folder = tmp_path / kind.name
        folder.mkdir()
        assert both(local, folder, requests, refuse(kind)) == [status] * 3


def test_faults_are_told_alike(local, tmp_path, caplog):
    def break_(house: House) -> None:
        house.server.meters.choice = None  # type: ignore[assignment]

    assert both(local, tmp_path, lambda mark: [choose("e", mark), answer("e", None, mark)], break_) == [500, 200]
    assert caplog.text.count("failed") == 2


def test_what_is_too_large_is_left_to_the_long_way(local):
    async def work(house: House) -> Any:
        large = {"items": ITEMS, "event_id": "e" * 150, "voter": "v" * 150}
        return await house.say(request(CHOOSE, large), choose("e"), request(CHOOSE, b" " * 70_000)), house.taken

    replies, taken = visited(local(round_bytes=300), work)
    assert [reply.split()[1] for reply in replies] == [b"413", b"200", b"413"]
    assert taken == 1


def test_too_many_at_once_take_the_long_way(local):
    async def work(house: House) -> Any:
        return await house.say(choose("e")), house.taken

    (reply,), taken = visited(local(), work, limit=1)
    assert reply.startswith(b"HTTP/1.1 503")
    assert taken == 0


def test_an_access_log_has_every_request(start):
    server = start(access_log=True, probe="/healthz")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(choose("e"))
        assert client.recv(1000).startswith(b"HTTP/1.1 404")
    assert f"POST {CHOOSE}" in server.errors.read_text()


def test_an_idle_connection_keeps_nothing_of_its_last_request(local):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        writer.write(choose("e"))
        await told(reader)
        (connection,) = house.state.connections
        assert connection.cycle._body is None
        assert connection._timer is None
        assert connection.timeout_keep_alive_task is not None

    visited(local(), work)
