"""The board's page and the end of a pool in a real browser: what wins, what is sure, and that it is over."""

import json

import httpx

from .test_pages import TEXTS, browser, new_page, page, pytestmark  # noqa: F401 - fixtures

MODEL = {"name": "teas", "algorithm": "gnr", "model": "full", "features": {"dim": 64}, "stop": 1.0, "quota": 1}


def test_a_board_reads_at_a_glance_and_a_pool_ends_with_it(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        assert client.post("/v1/models", json=MODEL).status_code == 201
        items = [{"id": f"i{k}", "text": text} for k, text in enumerate(TEXTS[:3])]
        assert client.post("/v1/models/teas/items", content="\n".join(map(json.dumps, items)).encode()).is_success
        page.goto(f"{server.address}/board/teas")
        page.wait_for_selector(".standings li")
        assert page.locator(".standings li").count() == 3
        assert page.inner_text("#verdict").startswith("not yet")
        assert "anything" in page.inner_text(".standings")
        page.goto(f"{server.address}/pick/teas")
        page.fill("#voter", "Ann")
        page.click("#who button")
        for count in range(3):
            page.wait_for_function("() => !document.querySelector('#left').disabled")
            page.keyboard.press("1")
            page.wait_for_function("(n) => document.querySelector('#progress').textContent === n", arg=_told(count + 1))
        page.wait_for_selector("#end .standings li")
        assert page.inner_text("#question") == "Done. Thank you!"
        assert page.is_hidden("#cards")
        assert page.is_hidden("#skip")
        assert page.title() != "owned"
        page.keyboard.press("1")
        assert not page.problems
        board = client.get("/v1/models/teas/board").json()
        assert board["answers"] == 3
        page.goto(f"{server.address}/models/teas")
        page.click("#board")
        page.wait_for_url("**/board/teas")


def test_a_board_of_groups_says_what_they_are_of(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        client.post("/v1/models", json={**MODEL, "quota": None}).raise_for_status()
        items = [{"id": f"i{k}", "features": {"brand": "south" if k == 1 else "north", "place": k}} for k in range(3)]
        for _ in range(4):
            event = client.post("/v1/models/teas/choose", json={"items": items}).json()
            path = f"/v1/models/teas/events/{event['event_id']}/answer"
            client.post(path, json={"winner": event["left"]}).raise_for_status()
    page.goto(f"{server.address}/board/teas?groups=brand")
    page.wait_for_selector(".standings li")
    assert page.inner_text("#about") == "2 groups by brand, 4 answers."
    shown = page.inner_text(".standings")
    assert "mean of 2 items" in shown
    assert "mean of 1 item" in shown
    assert not page.problems


def _told(count):
    return f"{count} answered by you"
