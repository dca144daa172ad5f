"""The pages in a real browser: three clicks to the first question, keys, undo, a bad network, a phone, hostile text."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from . import first_answer
from .folds import rows_of, sqlite

BROWSER = "/usr/bin/chromium"
pytestmark = [
    pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}"),
    pytest.mark.filterwarnings("default"),
]
EVIL = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
TEXTS = ["a plain tea", EVIL, "שלום עולם, תה ירוק", "good leaf tea", "stale dust", "iron pot", "blue mug", "old spoon"]
READY = "() => document.querySelector('#left') && !document.querySelector('#left').disabled"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        opened = playwright.chromium.launch(executable_path=BROWSER, args=flags)
        yield opened
        opened.close()


def new_page(browser):
    """A page of its own. It waits for minutes: another's processes may have both cores."""
    page = browser.new_context(viewport={"width": 1200, "height": 800}).new_page()
    page.set_default_timeout(600_000)
    return page


@pytest.fixture
def page(browser):
    page = new_page(browser)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    yield page
    page.context.close()


def upload(page, server, tmp_path):
    items = tmp_path / "teas.jsonl"
    items.write_text("\n".join(json.dumps({"id": f"i{k}", "text": text}) for k, text in enumerate(TEXTS)))
    page.goto(server.address)
    page.set_input_files("#file", items)
    page.click("form button.primary")
    page.wait_for_url("**/pick/teas")
    page.fill("#voter", "Ann")
    page.click("#who button")
    page.wait_for_function(READY)


def summary(server):
    return httpx.get(f"{server.address}/v1/models/teas").json()["summary"]


def after(page, count):
    """Until the page has the question after `count` answers."""
    script = "(n) => !document.querySelector('#left').disabled && document.querySelector('#progress').textContent === n"
    page.wait_for_function(script, arg=f"{count} answered by you")


def test_three_clicks_to_the_first_question_and_everything_by_keyboard(page, start, tmp_path):
    server = start()
    upload(page, server, tmp_path)
    for count, key in enumerate(["1", "2", "ArrowLeft", "ArrowRight", "0", "b", "Space"], 1):
        page.keyboard.press(key)
        after(page, count)
    answers = summary(server)["answers"]
    assert answers["learnt"] + sum(answers["ignored"].values()) == 7
    assert answers["ignored"]["both_bad"] == answers["ignored"]["skip"] == 1
    page.keyboard.press("Backspace")
    page.wait_for_function("() => document.querySelector('#saved').textContent.startsWith('Undone')")
    assert summary(server)["answers"]["undone"] == 1
    page.keyboard.press("1")
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")
    page.keyboard.press("h")
    assert page.is_visible("#helping")
    page.keyboard.press("Escape")
    # Keys do nothing while a dialog is open or the next question is on its way.
    page.wait_for_function("() => !document.querySelector('dialog[open], #flag:disabled')")
    page.keyboard.press("f")
    page.fill("#comment", "odd")
    page.click("#flagging button.primary")
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Flagged'")
    assert summary(server)["flags"] == 1
    shown = page.inner_text("#left-card .text")
    page.reload()
    page.wait_for_function(READY)
    assert page.inner_text("#left-card .text") == shown
    assert page.title() == "Pick one of two · CONQUER"
    assert page.locator(".choice .text img, .choice .text b").count() == 0
    assert page.problems == []


def test_a_flaky_network_loses_and_doubles_nothing(page, start, tmp_path):
    server = start()
    upload(page, server, tmp_path)
    state = {"calls": 0}

    def unreliable(route):
        """Drop requests before the server, replies after it, or neither, in turn."""
        state["calls"] += 1
        if state["calls"] % 3 == 0:
            route.abort()
        elif state["calls"] % 3 == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/models/teas/**", unreliable)
    for count in range(1, 5):
        page.keyboard.press("1")
        after(page, count)
    page.unroute("**/v1/models/teas/**")
    answers = summary(server)["answers"]
    assert answers["learnt"] == 4
    assert page.problems == []


def test_a_page_whose_script_is_late_loses_no_file(page, start, tmp_path):
    server, held = start(), []
    page.route("**/session", lambda route: held.append(route))
    page.goto(server.address)
    items = tmp_path / "teas.jsonl"
    items.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS))
    page.set_input_files("#file", items)
    button = page.locator("form button.primary").bounding_box()
    page.mouse.click(button["x"] + 5, button["y"] + 5)
    assert page.input_value("#name") == ""
    held[0].continue_()
    page.wait_for_function("() => document.querySelector('#name').value === 'teas'")
    page.click("form button.primary")
    page.wait_for_url("**/pick/teas")


def test_models_page_and_phone(page, browser, start, tmp_path):
    server = start()
    upload(page, server, tmp_path)
    for count in range(1, 7):
        page.keyboard.press("1")
        after(page, count)
    page.goto(f"{server.address}/models/teas")
    # Six answers make neither words nor a curve.
    page.wait_for_function("() => document.querySelector('#learntnote').textContent.includes('from 30 answers')")
    assert page.locator("#liked li, svg.chart").count() == 0
    assert "6" in page.inner_text("#tiles")
    page.goto(server.address)
    page.wait_for_selector("a.entry")
    assert page.problems == []
    phone = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True).new_page()
    phone.goto(f"{server.address}/pick/teas")
    phone.fill("#voter", "Bob")
    phone.tap("#who button")
    phone.wait_for_function(READY)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.tap("#right")
    after(phone, 1)
    phone.context.close()


def test_the_example_by_keyboard_alone(page, start):
    server = start()
    page.goto(server.address)
    page.wait_for_selector("#models .note")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "example":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/pick/example")
    page.wait_for_selector("#who[open]")
    page.keyboard.type("Zoë O'Hara 李")
    page.keyboard.press("Enter")
    after(page, 0)
    for count, key in enumerate(["1", "ArrowRight", "b"], 1):
        page.keyboard.press(key)
        after(page, count)
    page.keyboard.press("h")
    assert page.inner_text("#me") == "Zoë O'Hara 李"
    page.keyboard.press("Escape")
    page.goto(f"{server.address}/models/example")
    page.wait_for_selector("#people tr")
    assert "Zoë O'Hara 李" in page.inner_text("#people")
    assert page.problems == []


@pytest.mark.skipif(shutil.which("make") is None or not first_answer.set_up(), reason="needs make and a venv set up")
def test_from_make_serve_to_the_first_answer(page, tmp_path):
    """The way of a new user, from a store that does not exist. How long it takes is in docs/serving.md."""
    found = first_answer.first_answer(tmp_path, page, more=3)
    assert len(found["next_ms"]) == 3
    _, rows = rows_of(sqlite(tmp_path), "example")
    assert [row.voter for row in rows if row.kind == "answer"] == ["Ann"] * 4


def test_texts_too_long_to_remember_can_be_answered_and_undone(page, start):
    """Fifty questions of such texts do not fit into the browser's storage: the newest are kept, nothing stops.

    Seven items are 21 pairs: nobody is asked about one twice.
    """
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "long", "algorithm": "gnr", "per_round": 2})
    lines = "\n".join(json.dumps({"id": f"i{k}", "text": f"{k} " + "long " * 38_000}) for k in range(7))
    httpx.post(f"{server.address}/v1/models/long/items", content=lines.encode(), timeout=60).raise_for_status()
    page.goto(f"{server.address}/pick/long")
    page.fill("#voter", "Ann")
    page.click("#who button")
    for count in range(18):
        after(page, count)
        page.keyboard.press("1")
    after(page, 18)
    page.reload()
    after(page, 18)
    page.keyboard.press("Backspace")
    page.wait_for_function("() => document.querySelector('#saved').textContent.startsWith('Undone')")
    answers = httpx.get(f"{server.address}/v1/models/long").json()["summary"]["answers"]
    assert (answers["learnt"], answers["undone"]) == (17, 1)
    assert page.problems == []


def test_a_way_to_the_sign_in_that_led_nowhere_is_taken_again(page, start, tmp_path):
    """As where somebody stops it, or comes back to a page that the browser has kept."""
    from conquer.service.admin import keys_add, keys_revoke

    store = f"sqlite:///{tmp_path}/store.db"
    key, secret = keys_add("lead", roles=["admin"], store=store)
    server, stopped = start(probe="/healthz"), []
    page.goto(server.address)
    page.fill("#key", secret)
    page.click("button.primary")
    page.wait_for_selector("#models .note")
    page.route("**/login*", lambda route: stopped.append(route.fulfill(status=204)), times=1)
    keys_revoke(key.id, store=store)
    page.wait_for_selector("#key", timeout=60_000)
    assert len(stopped) == 1
