"""Choosing on the page: by a button or a key and by nothing else, in cards that can be read, also on a phone."""

import json

import httpx
import pytest

from .test_pages import after, browser, page, pytestmark  # noqa: F401 - fixtures

SHORT, LONG = "a small pot", "A long review of a pot, with many words. " * 60


@pytest.fixture
def teas(start):
    """A server with a pool of a short and a long text, and instructions."""
    server = start()
    made = {"name": "teas", "algorithm": "gnr", "instructions": "Take the one\nthat sells."}
    items = [{"id": "short", "text": SHORT}, {"id": "long", "text": LONG}]
    with httpx.Client(base_url=server.address) as client:
        assert client.post("/v1/models", json=made).status_code == 201
        assert client.post("/v1/models/teas/items", content="\n".join(map(json.dumps, items)).encode()).is_success
    return server


def enter(page, server):  # noqa: F811
    page.goto(f"{server.address}/pick/teas")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)


def answered(server):
    told = httpx.get(f"{server.address}/v1/models/teas").json()["summary"]["answers"]
    return told["learnt"] + sum(told["ignored"].values())


@pytest.mark.parametrize("place", ["pick", "parse", "models", "board"])
def test_a_model_that_does_not_exist_is_told_with_a_way_back(page, start, place):  # noqa: F811
    server = start()
    page.goto(f"{server.address}/{place}/unknown")
    page.wait_for_selector("#stranded")
    assert "“unknown”" in page.inner_text("#stranded")
    assert page.is_visible("#stranded a")
    page.click("#stranded a")
    page.wait_for_selector("#models .note")
    assert page.problems == []


def test_keys_before_the_question_has_come_do_nothing(page, teas):  # noqa: F811
    held = []
    page.route("**/v1/models/teas/next", lambda route: held.append(route))
    page.goto(f"{teas.address}/pick/teas")
    page.fill("#voter", "Ann")
    page.click("#who button")
    page.wait_for_selector("#wait:not([hidden])")
    for key in ("1", "2", "ArrowLeft", "ArrowRight", "0", "b", "Space", "Backspace", "f"):
        page.keyboard.press(key)
    assert page.locator("dialog[open]").count() == 0
    held[0].continue_()
    after(page, 0)
    assert answered(teas) == 0
    assert len(held) == 1
    assert page.problems == []


def test_only_a_cards_button_answers(page, teas):  # noqa: F811
    enter(page, teas)
    text = page.locator("#left-card .text").bounding_box()
    page.mouse.move(text["x"] + 40, text["y"] + 40)
    page.mouse.down()
    page.mouse.move(text["x"] + 300, text["y"] + 45, steps=5)
    page.mouse.up()
    page.click("#right-card .text", position={"x": 60, "y": 40})
    page.dblclick("#right-card .text", position={"x": 60, "y": 40})
    page.keyboard.press("Shift+ArrowRight")
    assert page.is_enabled("#left")
    assert (answered(teas), page.inner_text("#progress")) == (0, "0 answered by you")
    page.click("#right-card button")
    page.wait_for_function("() => document.querySelector('#progress').textContent === '1 answered by you'")
    assert answered(teas) == 1
    assert page.problems == []


def test_both_cards_look_alike_grow_and_are_read_with_the_keyboard(page, teas):  # noqa: F811
    page.set_viewport_size({"width": 1280, "height": 420})
    enter(page, teas)
    looks = [
        page.eval_on_selector(
            f"#{side}-card .text", "(one) => [getComputedStyle(one).fontSize, getComputedStyle(one).textAlign]"
        )
        for side in ("left", "right")
    ]
    assert looks[0] == looks[1]
    for side in ("left", "right"):
        whole = "(one) => one.scrollHeight <= one.clientHeight + 1"
        assert page.eval_on_selector(f"#{side}-card .text", whole), "a card shows all of its text"
    assert page.evaluate("document.documentElement.scrollHeight > innerHeight")
    page.keyboard.press("PageDown")
    page.wait_for_function("() => scrollY > 0")
    assert answered(teas) == 0


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_cards_are_stacked_named_and_covered_by_nothing(page, teas, width):  # noqa: F811
    page.set_viewport_size({"width": width, "height": 700})
    enter(page, teas)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [page.locator(f"#{side}-card").bounding_box() for side in ("left", "right")]
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    assert [page.inner_text(f"#{side}-card > .letter") for side in ("left", "right")] == ["A", "B"]
    assert page.inner_text("#left").startswith("A is better")
    page.keyboard.press("h")
    assert "(B)" in page.inner_text("#helping")
    page.keyboard.press("Escape")
    # Wherever the second card is on the screen, it is the second card that is there.
    page.evaluate("document.querySelector('#right-card').scrollIntoView()")
    seen = """() => {
      const box = document.querySelector("#right-card").getBoundingClientRect(), seen = [];
      for (let y = Math.max(8, box.top + 8); y < Math.min(innerHeight, box.bottom) - 8; y += 20)
        seen.push(Boolean(document.elementFromPoint(box.left + box.width / 2, y)?.closest("#right-card")));
      return seen;
    }"""
    found = page.evaluate(seen)
    assert found
    assert all(found)
    page.click("#right")
    page.wait_for_function("() => document.querySelector('#progress').textContent === '1 answered by you'")
    assert page.problems == []


def test_instructions_are_open_until_they_have_been_seen(page, teas):  # noqa: F811
    enter(page, teas)
    assert page.is_visible("#guide")
    page.reload()
    after(page, 0)
    assert page.is_visible("#panel summary")
    assert not page.is_visible("#guide")
    page.focus("#panel summary")
    page.keyboard.press("Space")
    assert page.is_visible("#guide")
    assert answered(teas) == 0


def test_a_long_card_fades_out_above_its_button(page, teas):  # noqa: F811
    page.set_viewport_size({"width": 1280, "height": 420})
    enter(page, teas)
    look = """() => [...document.querySelectorAll(".choice .foot")].map((foot) => {
      const veil = getComputedStyle(foot, "::before"), box = foot.getBoundingClientRect();
      return { fades: veil.backgroundImage.includes("gradient"), high: parseFloat(veil.height), bottom: box.bottom };
    })"""
    for foot in page.evaluate(look):
        assert foot["fades"]
        assert foot["high"] >= 10
        assert foot["bottom"] <= 420, "the button is in sight while its card is longer than the screen"


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("array.json", json.dumps([{"id": "a", "text": "one tea"}, {"id": "b", "text": "two teas"}]), "one tea"),
        ("texts.json", json.dumps(["one tea", "two teas"]), "one tea"),
        ("pairs.jsonl", json.dumps({"prompt": "A line?", "chosen": "one tea", "rejected": "no tea"}), "one tea"),
        ("pairs.csv", "prompt,chosen,rejected\nA line?,one tea,no tea\n", "one tea"),
    ],
)
def test_arrays_and_pairs_are_uploaded_on_the_page(page, start, tmp_path, name, content, shown):  # noqa: F811
    server = start()
    (tmp_path / name).write_text(content)
    page.goto(server.address)
    page.set_input_files("#file", tmp_path / name)
    page.click("form button.primary")
    page.wait_for_url("**/pick/*")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)
    assert shown in page.inner_text("#cards")
    assert page.is_visible("#context") == name.startswith("pairs")
    assert page.problems == []
