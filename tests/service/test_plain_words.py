"""What the pages say in plain words where something is missing, waits, or would end; and files under their names."""

import json

import httpx
import pytest

from conquer.service.admin import keys_add

from .conftest import run
from .test_lead_page import sign_in
from .test_pages import browser, page, pytestmark  # noqa: F401 - fixtures

TEXTS = ["a good pot", "a bad pot", "the good cup"]
ROOT = "/v1/models/teas"


def lines(items):
    return "\n".join(map(json.dumps, items)).encode()


def made(client, items=None, **settings):
    assert client.post("/v1/models", json={"name": "teas", "algorithm": "gnr", **settings}).status_code == 201
    told = items or [{"id": f"i{k}", "text": text} for k, text in enumerate(TEXTS)]
    assert client.post(f"/v1/models/{settings.get('name', 'teas')}/items", content=lines(told)).is_success


def test_every_form_of_the_log_has_a_files_name(local):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json={"name": "teas", "algorithm": "gnr"})
            forms = {"preferences": "preferences.jsonl", "ledger": "ledger.jsonl", "csv": "csv", "jsonl": "log.jsonl"}
            for form, ending in forms.items():
                reply = await client.get(f"{ROOT}/log?format={form}")
                assert reply.status_code == 200
                assert reply.headers["content-disposition"] == f'attachment; filename="teas.{ending}"'

    run(go())


def test_a_model_without_a_board_says_what_to_do(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        made(client)
    page.goto(f"{server.address}/board/teas")
    page.wait_for_function("() => document.querySelector('#problem').textContent")
    said = "This model keeps no board. Make a new one with “Say who wins” and feed it this one’s ledger."
    assert page.inner_text("#problem") == said
    page.goto(f"{server.address}/models/teas")
    page.wait_for_function("() => document.querySelector('#about').textContent")
    assert page.is_hidden("#board")
    with page.expect_download() as download:
        page.click("#ledger")
    assert download.value.suggested_filename == "teas.ledger.jsonl"
    assert page.problems == []


def test_a_long_file_has_no_board_and_the_start_page_says_so(page, start, tmp_path):  # noqa: F811
    page.goto(start().address)
    page.wait_for_selector("#begin:not([inert])")
    for name, count in (("short", 3), ("long", 600)):
        file = tmp_path / f"{name}.jsonl"
        file.write_bytes(lines([{"id": f"i{k}", "text": f"a pot of tea, number {k}"} for k in range(count)]))
        page.set_input_files("#file", file)
        page.wait_for_function("(name) => document.querySelector('#chosen').textContent === name", arg=file.name)
        assert page.is_visible("#boardless") == (name == "long")
    assert page.is_hidden("#kind"), "said outside of what is folded"
    page.click("#form summary")
    page.select_option("#form #board", "full")
    assert page.is_hidden("#boardless")
    assert page.problems == []


@pytest.mark.parametrize("why", ["paused", "others"])
def test_an_answer_is_taken_back_while_there_is_nothing_to_answer(page, start, why):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        made(client, quota=1)
        page.clock.install()
        page.goto(f"{server.address}/pick/teas")
        page.fill("#voter", "Ann")
        page.click("#who button")
        ready = "() => !document.querySelector('#left').disabled"
        page.wait_for_function(ready)
        left = page.inner_text("#left-card .text")
        if why == "paused":
            client.patch(ROOT, json={"paused": True}).raise_for_status()
        else:
            waiting = {"event": None, "items": [], "context": None, "answered": 1, "reason": "others answer the rest"}
            page.route(f"**{ROOT}/next", lambda route: route.fulfill(json=waiting))
        page.keyboard.press("1")
        page.wait_for_selector("#end:not([hidden])")
        assert "Looking again every 15 seconds." in page.inner_text("#end")
        page.keyboard.press("Backspace")
        page.wait_for_function(ready)
        assert page.inner_text("#left-card .text") == left
        assert page.is_hidden("#end")
        assert client.get(ROOT).json()["summary"]["answers"]["undone"] == 1
        # The look that was waiting does not take it away.
        page.clock.run_for(16_000)
        assert page.is_enabled("#left")
        page.keyboard.press("2")
        page.wait_for_selector("#end:not([hidden])")
        assert client.get(ROOT).json()["summary"]["answers"]["learnt"] == 1
    assert page.problems == []


def test_the_page_of_a_link_says_which_session_it_would_end(page, start, tmp_path):  # noqa: F811
    key = keys_add("lead", roles=["admin"], store=f"sqlite:///{tmp_path}/store.db")[1]
    server = start()
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {key}"}) as client:
        paths = []
        for name in ("teas", "pots"):
            made(client, name=name)
            paths.append(client.post(f"/v1/models/{name}/invitations", json={}).json()["path"])
    sign_in(page, server, key)
    said = ["You are signed in as lead.", "joining here ends your session for teas in this browser."]
    for name, path, words in zip(("teas", "pots"), paths, said, strict=True):
        page.goto(f"{server.address}{path}")
        page.wait_for_selector("#form:not([inert])")
        assert words in page.inner_text("#already")
        page.click("form button")
        page.wait_for_url(f"**/pick/{name}")
    assert page.problems == []


def test_last_answers_have_labels_and_no_marks(page, start):  # noqa: F811
    server = start()
    items = [
        {"id": "a", "label": "First", "text": "# Pots\n\nA **lovely** `pot`, 2*3 = 6\n"},
        {"id": "b", "text": "```\nx * y\n```"},
    ]
    with httpx.Client(base_url=server.address) as client:
        made(client, [{**items[0], "format": "markdown"}, items[1]])
        event = client.post(f"{ROOT}/next", json={"voter": "ann"}).json()["event"]["event_id"]
        client.post(f"{ROOT}/events/{event}/flag", json={"voter": "ann", "comment": "odd"}).raise_for_status()
        client.post(f"{ROOT}/events/{event}/answer", json={"voter": "ann", "winner": "a"}).raise_for_status()
    page.goto(f"{server.address}/models/teas")
    page.wait_for_selector("#flags tr")
    page.wait_for_selector("#recent tr")
    first, second = "First Pots A lovely pot, 2*3 = 6", "b ``` x * y ```"
    assert page.inner_text("#recent td:nth-child(2)") == first
    assert page.inner_text("#recent td:nth-child(3)") == second, "its format is plain"
    flagged = page.inner_text("#flags td:nth-child(3)")
    assert first in flagged
    assert second in flagged
    bare = page.evaluate("async (text) => (await import('/static/latest.js')).unmarked(text)", items[1]["text"])
    assert bare == "x * y"
    assert page.problems == []
