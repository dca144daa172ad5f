"""What a lead looks at: the last answers and the flags with their texts, over HTTP and on the model's page."""

import json

import httpx
import pytest

from conquer.service.work import flags

from .test_pages import EVIL, after, browser, page, pytestmark  # noqa: F401 - fixtures

TEXTS = ["a plain tea", EVIL, "y" * 600]


async def ask(client, voter):
    return (await client.post("/v1/models/teas/next", json={"voter": voter})).json()


async def made(client):
    assert (await client.post("/v1/models", json={"name": "teas", "algorithm": "gnr"})).status_code == 201
    lines = "\n".join(json.dumps({"id": f"i{k}", "text": text}) for k, text in enumerate(TEXTS))
    assert (await client.post("/v1/models/teas/items", content=lines.encode())).is_success


async def told(client, query=""):
    reply = await client.get(f"/v1/models/teas/latest{query}")
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_answers_and_flags_come_with_texts_newest_first(local):
    async with local().running() as client:
        await made(client)
        asked = []
        for k in range(3):
            question = await ask(client, "ann")
            asked.append(question)
            path = f"/v1/models/teas/events/{question['event']['event_id']}"
            assert (await client.post(f"{path}/flag", json={"voter": "ann", "comment": f"odd {k}"})).is_success
            winner = question["event"]["left"]
            assert (await client.post(f"{path}/answer", json={"voter": "ann", "winner": winner})).is_success
        flags = await told(client, "?kind=flags")
        assert [row["comment"] for row in flags["rows"]] == ["odd 2", "odd 1", "odd 0"]
        assert flags["next"] is None
        answers = (await told(client))["rows"]
        for row, question in zip(answers, asked[::-1], strict=True):
            texts = {item["id"]: item["text"] for item in question["items"]}
            assert row["event"] == question["event"]["event_id"]
            assert (row["winner"], row["voter"], row["learnt"]) == (question["event"]["left"], "ann", True)
            cut = {name: text if len(text) <= 500 else text[:499] + "…" for name, text in texts.items()}
            assert {item["id"]: item["text"] for item in row["items"]} == {
                one["id"]: cut[one["id"]] for one in question["event"]["shown"]
            }
        first = await told(client, "?kind=flags&limit=1")
        second = await told(client, f"?kind=flags&limit=1&before={first['next']}")
        assert second["rows"] == flags["rows"][1:2]
        # An answer taken back is no answer; a person who is erased has said nothing.
        await client.post(f"/v1/models/teas/events/{answers[0]['event']}/undo", json={"voter": "ann"})
        assert [row["event"] for row in (await told(client))["rows"]] == [row["event"] for row in answers[1:]]
        assert (await client.post("/v1/models/teas/erase", json={"voter": "ann"})).is_success
        assert (await told(client, "?kind=flags"))["rows"] == (await told(client))["rows"] == []


async def test_a_long_log_is_looked_through_in_parts(local, monkeypatch):
    monkeypatch.setattr(flags, "WINDOW", 2)
    async with local().running() as client:
        await made(client)
        question = await ask(client, "ann")
        path = f"/v1/models/teas/events/{question['event']['event_id']}"
        await client.post(f"{path}/flag", json={"voter": "ann", "comment": "early"})
        for _ in range(3):
            await client.post(f"{path}/answer", json={"voter": "ann", "winner": "skip"})
            await client.post(f"{path}/undo", json={"voter": "ann"})
        found, before, looks = [], "", 0
        while before is not None and looks < 20:
            part = await told(client, "?kind=flags" + (f"&before={before}" if before else ""))
            found, before, looks = found + part["rows"], part["next"], looks + 1
        assert [row["comment"] for row in found] == ["early"]
        assert looks > 2


@pytest.mark.parametrize("query", ["kind=x", "limit=0", "limit=51", "limit=a", "before=-1"])
async def test_what_cannot_be_asked_for_is_refused(local, query):
    async with local().running() as client:
        await made(client)
        assert (await client.get(f"/v1/models/teas/latest?{query}")).status_code == 422
        assert (await client.get("/v1/models/none/latest")).status_code == 404


def test_the_leads_page_shows_flags_and_texts(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        assert client.post("/v1/models", json={"name": "teas", "algorithm": "gnr"}).status_code == 201
        lines = "\n".join(json.dumps({"id": f"i{k}", "text": text}) for k, text in enumerate(TEXTS[:2]))
        assert client.post("/v1/models/teas/items", content=lines.encode()).is_success
    page.goto(f"{server.address}/pick/teas")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)
    page.keyboard.press("f")
    page.fill("#comment", "not <b>tea</b>")
    page.click("#flagging button.primary")
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Flagged'")
    left = page.inner_text("#left-card .text")
    page.keyboard.press("1")
    page.wait_for_function("() => document.querySelector('#progress').textContent === '1 answered by you'")
    page.goto(f"{server.address}/models/teas")
    page.wait_for_selector("#flags tr")
    row = page.locator("#flags tr").inner_text()
    assert all(part in row for part in ("not <b>tea</b>", "Ann", *TEXTS[:2]))
    assert page.locator("#flags time").get_attribute("datetime").startswith("20")
    assert page.locator("#recent tr td:nth-child(2)").inner_text() == f"i{TEXTS.index(left)} {left}"
    assert "20" in page.locator("#recent time").inner_text()
    assert "position" not in page.inner_text("main")
    assert page.title() != "owned"
    assert page.problems == []


async def test_flags_have_a_bound_by_voter_event_and_model(local, monkeypatch):
    async with local().running() as client:
        await made(client)

        async def flagged(name, voter):
            path = f"/v1/models/teas/events/{name}/flag"
            reply = await client.post(path, json={"voter": voter, "comment": "x" * 2000})
            return reply.status_code if reply.is_success else (reply.status_code, reply.json()["error"]["code"])

        full = (409, "too_many_flags")
        one = (await ask(client, "ann"))["event"]["event_id"]
        assert [await flagged(one, "ann") for _ in range(6)] == [200] * 5 + [full]
        others = [await flagged(one, f"v{k % 4}") for k in range(16)]
        assert others == [200] * 15 + [full]
        monkeypatch.setattr(flags, "OPEN", 21)
        shared = await client.post("/v1/models/teas/next", json={"voter": "bob", "shared": True})
        two = shared.json()["event"]["event_id"]
        assert [await flagged(two, "bob") for _ in range(2)] == [200, full]
        assert (await client.post(f"/v1/models/teas/events/{one}/settle")).is_success
        assert await flagged(two, "bob") == 200
