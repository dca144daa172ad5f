"""Signing in and out: sessions that end on the server, no way in from elsewhere, wrong keys slowed, keys revoked."""

import asyncio
import threading
import time
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import func, insert, select

from conquer.service.admin import keys_add, keys_revoke
from conquer.service.store import keys
from conquer.service.store.keys import cookie_secret, ended_sessions
from conquer.service.store.schema import ended
from conquer.service.web.access import COOKIE, Access

from .conftest import run
from .test_auth import request
from .test_pages import BROWSER, browser, new_page

__all__ = ["browser"]


@pytest.fixture
def store(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


async def sign_in(client: httpx.AsyncClient, secret: str) -> dict[str, str]:
    """The headers of a page that has signed in, kept by somebody else too."""
    cookie = (await client.post("/login", json={"key": secret})).cookies[COOKIE]
    client.cookies.clear()
    headers = {"Cookie": f"{COOKIE}={cookie}"}
    return {**headers, "X-Conquer-Token": (await client.get("/session", headers=headers)).json()["token"]}


def test_a_session_ends_on_the_server(local, store):
    """A copied cookie is worth nothing once its owner has left, here and after a restart; other sessions go on."""
    _, secret = keys_add("ann", roles=["read"], store=store)

    async def go() -> dict[str, str]:
        async with local().running() as client:
            mine, other = await sign_in(client, secret), await sign_in(client, secret)
            assert mine != other
            assert (await client.get("/v1/models", headers=mine)).status_code == 200
            assert (await client.post("/logout", headers={**mine, "X-Conquer-Token": ""})).status_code == 403
            assert (await client.post("/logout", headers=mine)).status_code == 204
            assert (await client.get("/v1/models", headers=mine)).status_code == 401
            assert (await client.get("/v1/models", headers=other)).status_code == 200
            assert (await client.post("/logout", headers=mine)).status_code == 204
        return mine

    mine = run(go())

    async def later() -> None:
        async with local().running() as client:
            assert (await client.get("/v1/models", headers=mine)).status_code == 401

    run(later())


def test_a_session_ends_with_its_key_and_on_every_server(local, store):
    key, secret = keys_add("ann", roles=["read"], store=store)
    keys_add("bob", roles=["read"], store=store)

    async def go() -> None:
        one = local()
        database = one.server.database
        two = Access(cookie_secret(database))
        async with one.running() as client:
            headers, second = await sign_in(client, secret), await sign_in(client, secret)
            await client.post("/logout", headers=second)
            with database.reading() as connection:
                two.refresh(keys.every(connection), ended_sessions(connection)[0])
            assert two.identify(request({"cookie": headers["Cookie"]})).name == "ann"
            assert two.identify(request({"cookie": second["Cookie"]})).name == ""
            keys_revoke(key.id, store=store)
            one.server.refresh_keys()
            assert (await client.get("/v1/models", headers=headers)).status_code == 401

    run(go())


def test_ended_sessions_cost_nothing_once_they_are_known(local, store):
    """Each look reads those that ended since the last one, and expired ones are removed."""
    _, secret = keys_add("ann", roles=["read"], store=store)

    async def go() -> None:
        app = local()
        server = app.server
        week = time.time() + 7 * 86400
        with server.database.writing() as connection:
            connection.execute(insert(ended), [{"session": f"s{k}", "until": week + k} for k in range(200_000)])
            connection.execute(insert(ended), [{"session": f"old{k}", "until": 1.0 + k} for k in range(1500)])
        async with app.running() as client:
            server.refresh_keys()
            begun = time.perf_counter()
            for _ in range(20):
                server.refresh_keys()
            assert time.perf_counter() - begun < 1.0
            headers = await sign_in(client, secret)
            await client.post("/logout", headers=headers)
            with server.database.reading() as connection:
                found, last = ended_sessions(connection, 201_500)
                assert (len(found), last) == (1, 201_501)
                left = connection.execute(select(func.count()).select_from(ended).where(ended.c.until < 1e6))
                assert left.scalar_one() == 500
            assert (await client.get("/v1/models", headers=headers)).status_code == 401

    run(go())


@pytest.mark.parametrize("path", ["/login", "/logout"])
@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_nobody_is_signed_in_or_out_from_elsewhere(local, store, path, headers):
    """Also without a cookie: to be signed in as somebody else is a trap."""
    _, secret = keys_add("eve", roles=["read"], store=store)

    async def go() -> None:
        async with local().running() as client:
            reply = await client.post(path, json={"key": secret}, headers=headers)
            assert reply.status_code == 403, reply.text
            assert "set-cookie" not in reply.headers

    run(go())


def test_wrong_keys_are_slowed_by_address(local, store):
    """After ten in a minute an address waits, for signing in too; a right key of its own still works, others anyway."""
    _, secret = keys_add("ann", roles=["read"], store=store)

    async def go() -> None:
        app = local()
        async with app.running() as client:
            wrong, right = {"Authorization": "Bearer cnqr_no"}, {"Authorization": f"Bearer {secret}"}
            found = [(await client.get("/v1/models", headers=wrong)).status_code for _ in range(5)]
            found += [(await client.post("/login", json={"key": "no"})).status_code for _ in range(7)]
            assert found == [401] * 10 + [429] * 2
            late = await client.get("/v1/models", headers=wrong)
            assert (late.status_code, 1 <= int(late.headers["retry-after"]) <= 60) == (429, True)
            assert (await client.post("/login", json={"key": secret})).status_code == 429
            assert (await client.get("/v1/models", headers=right)).status_code == 200
            elsewhere = httpx.ASGITransport(app.app, client=("10.0.0.9", 1))
            async with httpx.AsyncClient(transport=elsewhere, base_url="http://localhost") as other:
                assert (await other.post("/login", json={"key": secret})).status_code == 200

    run(go())


def test_requests_of_one_key_are_bounded_where_that_is_set(local, store):
    secrets = [keys_add(name, roles=["read"], store=store)[1] for name in ("ann", "bob")]

    async def go() -> None:
        async with local(requests_per_second=0.01).running() as client:
            ann, bob = ({"Authorization": f"Bearer {secret}"} for secret in secrets)
            assert (await client.get("/v1/models", headers=ann)).status_code == 200
            more = await client.get("/v1/models", headers=ann)
            assert (more.status_code, more.json()["error"]["code"]) == (429, "too_many_requests")
            assert int(more.headers["retry-after"]) > 50
            assert (await client.get("/v1/models", headers=bob)).status_code == 200

    run(go())


def test_a_revoked_key_ends_while_every_thread_is_busy(local, store):
    """One thread is kept for urgent work, whatever the others wait for."""
    key, secret = keys_add("ann", roles=["read"], store=store)
    held = threading.Event()

    async def go() -> None:
        app = local()
        async with app.running() as client:
            busy = [app.server.engine.long.run(f"tenant {k}", lambda: held.wait(100)) for k in range(8)]
            headers = {"Authorization": f"Bearer {secret}"}
            assert (await client.get("/healthz", headers=headers)).status_code == 200
            keys_revoke(key.id, store=store)
            for _ in range(300):
                if (await client.get("/healthz", headers=headers)).status_code == 401:
                    break
                await asyncio.sleep(0.1)
            else:
                pytest.fail("the key still works")
            held.set()
            await asyncio.gather(*busy)

    try:
        run(go())
    finally:
        held.set()


@pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}")
@pytest.mark.filterwarnings("default")
def test_signing_in_leads_nowhere_else(browser, start, store):
    """However the way back is written, it stays on this server."""
    _, secret = keys_add("ann", roles=["admin"], store=store)
    server = start(probe="/healthz")
    ways = [
        "/\\evil.example/x",
        "//evil.example/x",
        "/%5cevil.example",
        "/.//evil.example",
        "/\t/evil.example",
        "http://[",
    ]
    asked: list[str] = []
    for way in [*ways, "/docs?a=b#c"]:
        # A page of its own each time: the one before may still be on its way somewhere.
        page = new_page(browser)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.address}/login?next={quote(way, safe='')}")
        page.fill("#key", secret)
        page.click("button.primary")
        page.wait_for_url(lambda url: "/login" not in url, wait_until="commit")
    assert page.url == f"{server.address}/docs?a=b#c"
    assert [url for url in asked if not url.startswith((server.address, "data:"))] == []
