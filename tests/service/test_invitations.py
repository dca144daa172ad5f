"""Links: who comes by one is a person of their own, may answer questions of one model, and is out when it is over."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode

import httpx
import pytest

from conquer.service.admin import keys_add
from conquer.service.store.keys import Invitation
from conquer.service.web.access import COOKIE
from conquer.service.web.app import ENDPOINTS

from .conftest import run
from .folds import sqlite

ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(4)).encode()
ROOT = "/v1/models/teas"
LINKS = f"{ROOT}/invitations"


@pytest.fixture
def lead(tmp_path):
    return {"Authorization": f"Bearer {keys_add('lead', roles=['admin'], store=sqlite(tmp_path))[1]}"}


async def begun(client, lead):
    assert (await client.post("/v1/models", json={"name": "teas", "algorithm": "gnr"}, headers=lead)).status_code == 201
    assert (await client.post(f"{ROOT}/items", content=ITEMS, headers=lead)).is_success


async def link(client, lead, **settings):
    reply = await client.post(LINKS, json=settings, headers=lead)
    assert reply.status_code == 201, reply.text
    told = reply.json()
    return told["invitation"]["id"], told["path"].partition("#")[2]


class Guest:
    """A browser of its own on the same server, with what its pages do about tokens."""

    def __init__(self, client):
        self.client = httpx.AsyncClient(transport=client._transport, base_url="http://localhost")
        self.voter = None

    async def write(self, path, body):
        token = (await self.client.get("/session")).json()["token"]
        return await self.client.post(path, json=body, headers={"X-Conquer-Token": token})

    async def join(self, token, name=""):
        reply = await self.write("/join", {"token": token, "name": name})
        self.voter = reply.json().get("voter")
        return reply


def test_who_comes_by_a_link_answers_as_a_person_of_their_own(local, lead):
    async def go():
        async with local().running() as client:
            await begun(client, lead)
            _, token = await link(client, lead, note="students", uses=2)
            ann, other = Guest(client), Guest(client)
            reply = await ann.join(token, "Ann")
            assert reply.json()["model"] == "teas"
            assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(reply.headers["set-cookie"].split("; "))
            assert token not in reply.headers["set-cookie"]
            await other.join(token, "Ann")
            assert ann.voter.startswith("Ann-")
            assert ann.voter != other.voter
            told = (await ann.client.get("/session")).json()
            assert (told["voter"], told["roles"]) == (ann.voter, ["answer"])
            question = (await ann.write(f"{ROOT}/next", {"voter": ann.voter})).json()
            event = question["event"]["event_id"]
            said = {"winner": question["event"]["left"]}
            assert (await ann.write(f"{ROOT}/events/{event}/answer", said)).json()["status"] == "learnt"
            people = (await client.get(ROOT, headers=lead)).json()["summary"]["voters"]
            assert people == {ann.voter: 1}
            # For nobody else, by no way, and as no judge.
            again = (await ann.write(f"{ROOT}/next", {"voter": ann.voter})).json()["event"]
            place = f"{ROOT}/events/{again['event_id']}"
            stolen = {"winner": "tie", "voter": other.voter}
            for path, body in (
                (f"{ROOT}/next", {"voter": other.voter}),
                (f"{place}/answer", stolen),
                (f"{place}/answer", {"winner": "tie", "kind": "judge"}),
                (f"{place}/undo", {"voter": other.voter}),
                (f"{place}/flag", {"voter": other.voter, "comment": "x"}),
                (f"{ROOT}/answers", {"answers": [{**stolen, "event_id": again["event_id"]}]}),
            ):  # fmt: skip
                assert (await ann.write(path, body)).status_code == 403, path
            assert (await client.get(ROOT, headers=lead)).json()["summary"]["voters"] == people

    run(go())


def test_a_link_opens_nothing_but_answering_about_its_model(local, lead):
    async def go():
        async with local().running() as client:
            await begun(client, lead)
            await client.post("/v1/models", json={"name": "other"}, headers=lead)
            guest = Guest(client)
            await guest.join((await link(client, lead))[1])
            token = (await guest.client.get("/session")).json()["token"]
            for endpoint in ENDPOINTS:
                if endpoint.page or endpoint.role is None:
                    continue
                for model in ("teas", "other"):
                    path = (
                        endpoint.path.replace("{name}", model).replace("{event_id}", "e").replace("{invitation}", "i")
                    )
                    reply = await guest.client.request(
                        endpoint.method, path, content=b"?", headers={"X-Conquer-Token": token}
                    )
                    may = "answer" in endpoint.role.split("|") and model == "teas" and "{name}" in endpoint.path
                    assert (reply.status_code not in (401, 403)) == may, (endpoint.method, path, reply.text)

    run(go())


def test_a_link_is_used_up_runs_out_and_is_taken_back(local, lead):
    async def go():
        app = local()
        async with app.running() as client:
            await begun(client, lead)
            once, token = await link(client, lead, note="one", uses=1)
            first, second = Guest(client), Guest(client)
            assert (await first.join(token, "Ann")).is_success
            # The same browser stays who it is and uses nothing up.
            voter = first.voter
            again = await first.join(token, "Bob")
            assert (again.status_code, first.voter, again.headers.get("set-cookie")) == (200, voter, None)
            refused = await second.join(token)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "link_used_up")
            short, brief = await link(client, lead, hours=0.001)
            guest = Guest(client)
            assert (await guest.join(brief)).is_success
            listed = (await client.get(LINKS, headers=lead)).json()["invitations"]
            assert [(one["id"], one["used"], one["uses"]) for one in listed] == [(once, 1, 1), (short, 1, None)]
            assert token not in json.dumps(listed)
            later = Invitation(short, "teas", "", 0.0, expires=time.time() - 1)
            app.server.access._links_by_id[short] = later
            assert (await guest.write(f"{ROOT}/next", {"voter": guest.voter})).status_code == 401
            # Taken back, it signs everybody out who came by it, and never opens again.
            assert (await first.write(f"{ROOT}/next", {"voter": voter})).is_success
            assert (await client.delete(f"{LINKS}/{once}", headers=lead)).status_code == 204
            assert (await first.client.get(f"{ROOT}/task")).status_code == 401
            assert (await first.join(token)).json()["error"]["code"] == "wrong_link"
            for gone in (once, "nothing", "%00", "x" * 300):
                assert (await client.delete(f"{LINKS}/{gone}", headers=lead)).status_code == 404

    run(go())


def test_links_go_with_their_model_and_last_over_a_restart(local, lead, tmp_path):
    async def go():
        async with local().running() as client:
            await begun(client, lead)
            token = (await link(client, lead))[1]
            # Only its digest is stored.
            assert all(token.encode() not in file.read_bytes() for file in tmp_path.glob("store.db*"))
        async with local().running() as client:
            guest = Guest(client)
            assert (await guest.join(token)).is_success
            assert (await guest.client.get(f"{ROOT}/task")).is_success
            await client.delete(ROOT, headers=lead)
            await client.post("/v1/models", json={"name": "teas"}, headers=lead)
            assert (await guest.client.get(f"{ROOT}/task")).status_code == 401
            assert (await client.get(LINKS, headers=lead)).json()["invitations"] == []
            assert (await guest.join(token)).status_code == 401

    run(go())


def test_wrong_links_are_slowed_as_wrong_keys_are_and_pages_elsewhere_get_nothing(local, lead):
    async def go():
        async with local().running() as client:
            await begun(client, lead)
            token = (await link(client, lead))[1]
            for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                assert (await client.post("/join", json={"token": token}, headers=headers)).status_code == 403
            # Who is signed in already cannot be made somebody else by a request without the page's token.
            guest = Guest(client)
            assert (await guest.join(token)).is_success
            assert (await guest.client.post("/join", json={"token": token})).status_code == 403
            told, _, signed = guest.client.cookies[COOKIE].partition(".")
            told = urlsafe_b64encode(urlsafe_b64decode(f"{told}==").replace(b"guest", b"admin")).decode().rstrip("=")
            forged = f"{told}.{signed}"
            assert (await client.get(f"{ROOT}/task", headers={"Cookie": f"{COOKIE}={forged}"})).status_code == 401
            for bad in ({"token": "x" * 201}, {"token": token, "name": "a/b"}, {"token": token, "name": "a\n"}, {}):
                assert (await client.post("/join", json=bad)).status_code == 422, bad
            statuses = [(await client.post("/join", json={"token": f"wrong {k}"})).status_code for k in range(12)]
            assert statuses == [401] * 10 + [429] * 2
            assert (await client.post("/join", json={"token": token})).status_code == 429
            assert (await client.post("/login", json={"key": "wrong"})).status_code == 429

    run(go())


def test_a_server_without_keys_needs_no_links_and_there_are_only_so_many(local, lead, tmp_path):
    async def go():
        async with local().running() as client:
            await begun(client, lead)
            for _ in range(20):
                await link(client, lead)
            assert (await client.post(LINKS, json={}, headers=lead)).json()["error"]["code"] == "too_many_invitations"
            for bad in ({"uses": 0}, {"hours": 0}, {"hours": 1e9}, {"note": "two\nlines"}, {"note": "x" * 201}):
                assert (await client.post(LINKS, json=bad, headers=lead)).status_code == 422, bad
        async with local(store=f"sqlite:///{tmp_path}/open.db").running() as client:
            await client.post("/v1/models", json={"name": "teas"})
            assert (await client.post(LINKS, json={})).json()["error"]["code"] == "no_keys"

    run(go())


def test_every_body_of_an_answer_that_names_a_voter_is_bound():
    bodies = [one.body for one in ENDPOINTS if one.role == "answer" and one.body is not None and "{name}" in one.path]
    named = [body for body in bodies if {"voter", "answers"} & set(body.__struct_fields__)]
    assert len(named) == 5
    assert set(bodies) == set(named), "a body without a voter would speak for nobody"
