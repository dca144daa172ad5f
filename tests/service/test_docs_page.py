"""The API's page: every reference is followed, every example is one that the server takes, and a form sends it."""

import json

import httpx
import msgspec
import pytest

from conquer.service.admin import keys_add
from conquer.service.model.schemas import Item, decoder
from conquer.service.web.app import ENDPOINTS

from .test_pages import browser, page, pytestmark  # noqa: F401 - fixtures


@pytest.mark.parametrize("one", [one for one in ENDPOINTS if one.body and not one.page], ids=lambda one: one.path)
def test_every_body_has_an_example_that_is_read(one):
    if one.body is bytes:
        assert one.example is None or isinstance(one.example, str)
        return
    assert one.example is not None
    decoder(one.body)(msgspec.json.encode(one.example))
    # Items stay as bytes in a request.
    for given in one.example.get("rounds", [one.example]):
        msgspec.convert(given.get("items", []), list[Item])


def open_route(page, method, path):  # noqa: F811
    card = page.locator(f'section[aria-label="{method} {path}"]')
    for summary in card.locator("summary").all():
        summary.click()
    return card


def test_references_are_followed_and_a_call_is_sent(page, start):  # noqa: F811
    server = start()
    page.goto(f"{server.address}/docs")
    page.wait_for_selector(".route")
    with httpx.Client(base_url=server.address) as client:
        paths = client.get("/openapi.json").json()["paths"]
        assert page.locator(".route").count() == sum(map(len, paths.values()))
        card = open_route(page, "POST", "/v1/models")
        assert "$ref" not in card.inner_text()
        # Fields of what a reference leads to, two steps down.
        assert "ngrams" in card.inner_text()
        card.locator("button").click()
        card.locator("b.ok").wait_for()
        assert card.locator("b.ok").inner_text().startswith("201")
        assert '"name": "teas"' in card.locator("form pre").inner_text()
        assert client.get("/v1/models/teas").json()["settings"]["quota"] == 2
        card = open_route(page, "POST", "/v1/models/{name}/items")
        card.locator("label", has_text="name").locator("input").fill("teas")
        card.locator("button").click()
        card.locator("b.ok").wait_for()
        card = open_route(page, "GET", "/v1/models/{name}/board")
        card.locator("label", has_text="name").locator("input").fill("teas")
        card.locator("label", has_text="limit").locator("input").fill("none")
        card.locator("button").click()
        card.locator("b.error").wait_for()
        assert json.loads(card.locator("form pre").inner_text())["error"]["code"] == "invalid"
        page.fill("#find", "post remark")
        assert page.locator(".route:visible").count() == 1
    assert page.problems == []


def test_a_key_typed_in_is_used_and_stays_on_the_page(page, start, tmp_path):  # noqa: F811
    key = keys_add("reader", roles=["read"], store=f"sqlite:///{tmp_path}/store.db")[1]
    server = start()
    page.goto(f"{server.address}/docs")
    page.wait_for_selector(".route")
    card = open_route(page, "GET", "/v1/models")
    card.locator("button").click()
    card.locator("b.error").wait_for()
    assert card.locator("b.error").inner_text().startswith("401")
    page.fill("#key", key)
    card.locator("button").click()
    card.locator("b.ok").wait_for()
    kept = page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie")
    assert key not in kept
    page.reload()
    assert page.input_value("#key") == ""
