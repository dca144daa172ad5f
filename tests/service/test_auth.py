"""Who may do what: every route with every role, page cookies, loopback, revocation."""

import time
from asyncio import run

import httpx
import pytest
from starlette.requests import Request

from conquer.service.admin import keys_add, keys_list, keys_revoke
from conquer.service.errors import RefusalError
from conquer.service.store import keys
from conquer.service.store.database import StoreError
from conquer.service.web.access import COOKIE, SECONDS, Access
from conquer.service.web.app import ENDPOINTS


@pytest.fixture
def secrets(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    made = {role: keys_add(role, roles=[role], store=store)[1] for role in keys.ROLES}
    made["elsewhere"] = keys_add("elsewhere", roles=["admin"], models=["shop-*"], store=store)[1]
    return made


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("role", [*keys.ROLES, "elsewhere", "nobody", "wrong"])
def test_every_route_with_every_role(local, secrets, role):
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m"}, headers=bearer(secrets["admin"]))
            headers = (
                {"nobody": {}, "wrong": bearer("cnqr_wrong")}.get(role)
                if role in ("nobody", "wrong")
                else bearer(secrets[role])
            )
            for endpoint in ENDPOINTS:
                if endpoint.page or endpoint.method == "DELETE":
                    continue
                path = endpoint.path.replace("{name}", "m").replace("{event_id}", "e")
                reply = await client.request(endpoint.method, path, content=b"?", headers=headers)
                expected = _expected(endpoint, role)
                refused = (401, 403, 429) if role == "wrong" else (401, 403)
                assert (reply.status_code in refused) == (not expected), (endpoint.path, role, reply.text)
                assert reply.status_code != 500

    run(go())


def _expected(endpoint, role):
    if role == "wrong":
        return False
    if endpoint.role is None:
        return True
    if role == "elsewhere":
        return "{name}" not in endpoint.path
    return role in (*endpoint.role.split("|"), "admin")


def test_keys_are_stored_as_hashes_and_revoked_for_good(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    key, secret = keys_add("ann", roles=["read"], store=store)
    assert secret.encode() not in (tmp_path / "store.db").read_bytes()
    assert [(one.id, one.revoked) for one in keys_list(store=store)] == [(key.id, None)]
    keys_revoke(key.id, store=store)
    with pytest.raises(ValueError, match="no key"):
        keys_revoke(key.id, store=store)
    with pytest.raises(ValueError, match="roles must be"):
        keys_add("x", roles=["root"], store=store)


def test_revoking_the_last_key_closes_the_door(local, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    key, secret = keys_add("ann", roles=["admin"], store=store)

    async def go():
        app = local()
        async with app.running() as client:
            assert (await client.get("/v1/models", headers=bearer(secret))).status_code == 200
            keys_revoke(key.id, store=store)
            app.server.refresh_keys()
            assert (await client.get("/v1/models", headers=bearer(secret))).status_code == 401
            assert (await client.get("/v1/models")).status_code == 401

    run(go())


def test_without_keys_only_this_machine_is_served(local, tmp_path):
    with pytest.raises(StoreError, match="without keys only this machine"):
        local(host="0.0.0.0")

    async def go():
        async with local().running() as client:
            for headers in (
                {"Host": "evil.example"},
                {"Origin": "http://evil.example"},
                {"Sec-Fetch-Site": "cross-site"},
            ):
                reply = await client.post("/v1/models", json={"name": "m"}, headers=headers)
                assert reply.status_code == 403, headers
            assert (await client.post("/v1/models", json={"name": "m"})).status_code == 201

    run(go())


def test_pages_sign_in_with_a_cookie_and_write_with_a_token(local, secrets):
    async def go():
        async with local().running() as client:
            assert (await client.post("/login", json={"key": "wrong"})).status_code == 401
            reply = await client.post("/login", json={"key": secrets["admin"]})
            cookie = reply.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=strict" in cookie
            value = reply.cookies[COOKIE]
            assert (await client.get("/v1/models")).status_code == 200
            assert (await client.post("/v1/models", json={"name": "m"})).status_code == 403
            session = (await client.get("/session")).json()
            token = {"X-Conquer-Token": session["token"]}
            evil = {**token, "Origin": "http://evil.example"}
            assert (await client.post("/v1/models", json={"name": "m"}, headers=evil)).status_code == 403
            assert (await client.post("/v1/models", json={"name": "m"}, headers=token)).status_code == 201
            client.cookies.clear()
            for forged in (value[:-2] + "xx", value.replace(".", ".9", 1), "a.b.c", "é"):
                raw = {b"cookie": f"{COOKIE}={forged}".encode("latin-1")}
                assert (await client.get("/v1/models", headers=raw)).status_code == 401

    run(go())


def test_pages_forbid_everything_from_elsewhere(local):
    async def go():
        async with local().running() as client:
            for path in ("/", "/pick/m", "/models/m", "/login", "/docs", "/static/shell.js", "/static/style.css"):
                reply = await client.get(path)
                assert reply.status_code == 200, path
                policy = reply.headers["content-security-policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert "http://" not in reply.text.replace("http://www.w3.org", "")
                assert "https://" not in reply.text
                assert "innerHTML" not in reply.text
            for path in ("/static/../server.py", "/static/index.html", "/static/%2e%2e/app.py"):
                assert (await client.get(path)).status_code == 404

    run(go())


def test_a_key_made_while_serving_counts_within_a_second(start, tmp_path):
    server = start(probe="/healthz")
    assert httpx.get(f"{server.address}/v1/models").status_code == 200
    _, secret = keys_add("ann", roles=["read"], store=f"sqlite:///{tmp_path}/store.db")
    while httpx.get(f"{server.address}/v1/models").status_code == 200:
        pass
    assert httpx.get(f"{server.address}/v1/models", headers=bearer(secret)).status_code == 200


def request(headers: dict[str, str], method: str = "GET") -> Request:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": method, "headers": encoded})


def test_a_cookie_lasts_a_week_and_its_token_is_its_own(monkeypatch):
    keeper = Access("secret of the store")
    ann = keys.Key("1", "ann", frozenset({"admin"}), ("*",), 0.0)
    keeper.refresh([(keys.digest("cnqr_ann"), ann)], {})
    now = time.time()
    cookies = {}
    for age in (0, SECONDS - 60, SECONDS + 60, -60):
        monkeypatch.setattr(time, "time", lambda age=age: now - age)
        cookies[age] = {"cookie": f"a=b; {COOKIE}={keeper.sign_in('cnqr_ann', '')[1]}"}
    monkeypatch.setattr(time, "time", lambda: now)
    found = {age: keeper.identify(request(headers)).name for age, headers in cookies.items()}
    assert found == {0: "ann", SECONDS - 60: "ann", SECONDS + 60: "", -60: "ann"}
    token = keeper.page_token(request(cookies[0]))
    assert keeper.identify(request({**cookies[0], "x-conquer-token": token}, "POST")) is ann
    for wrong in ("", "x", token[:-1], keeper.page_token(request(cookies[SECONDS - 60]))):
        with pytest.raises(RefusalError, match="token"):
            keeper.identify(request({**cookies[0], "x-conquer-token": wrong}, "POST"))
    other = Access("secret of another store")
    other.refresh([(keys.digest("cnqr_ann"), ann)], {})
    assert other.identify(request(cookies[0])) is keys.ANONYMOUS
