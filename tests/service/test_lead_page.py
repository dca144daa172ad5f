"""The lead's page in a real browser: progress, a curve that is no noise, flags, links, and what is done to a model."""

import json
import math
import re

import httpx
import pytest

from conquer.service.admin import keys_add

from .test_pages import browser, new_page, page, pytestmark  # noqa: F401 - fixtures

TEXTS = ["a good pot", "a bad pot", "the good cup", "the bad cup"]
MADE = {"name": "teas", "algorithm": "gnr", "question": "Which one sells?", "quota": 10}


@pytest.fixture
def key(tmp_path):
    return keys_add("lead", roles=["admin"], store=f"sqlite:///{tmp_path}/store.db")[1]


def fill(client, answers, **settings):
    """A model with a pool, answered by several people: good wins."""
    assert client.post("/v1/models", json={**MADE, **settings}).status_code == 201
    items = [{"id": f"i{k}", "text": text} for k, text in enumerate(TEXTS)]
    assert client.post("/v1/models/teas/items", content="\n".join(map(json.dumps, items)).encode()).is_success
    for k in range(answers):
        answer(client, f"voter {k // 6}")


def answer(client, voter, comment=None):
    told = client.post("/v1/models/teas/next", json={"voter": voter}).json()
    place = f"/v1/models/teas/events/{told['event']['event_id']}"
    winner = next((one["id"] for one in told["items"] if "good" in one["text"]), told["event"]["left"])
    assert client.post(f"{place}/answer", json={"winner": winner, "voter": voter}).is_success
    if comment is not None:
        assert client.post(f"{place}/flag", json={"voter": voter, "comment": comment}).is_success


def test_few_answers_draw_nothing_and_many_with_an_interval(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        fill(client, 7)
        page.goto(f"{server.address}/models/teas")
        page.wait_for_function("() => document.querySelector('#done').textContent.startsWith('7 of 60')")
        assert page.evaluate("document.querySelector('#bar').value / document.querySelector('#bar').max") == 7 / 60
        assert "The curve begins with 20 answers; there are 7." in page.inner_text("#curve")
        page.wait_for_function("() => document.querySelector('#learntnote').textContent.includes('from 30 answers on')")
        assert page.locator("#liked li").count() == 0
        rows = [page.locator(f"#people tr:nth-child({k}) td:nth-child(3)").inner_text() for k in (1, 2)]
        assert rows == ["6 of 6", "1 of 6"]
        for k in range(7, 42):
            answer(client, f"voter {k // 6}")
        page.reload()
        page.wait_for_selector("#curve svg .band")
        page.wait_for_selector("#liked li")
        assert re.search(
            r"of the last \d+ answers, between \d+ % and \d+ %", page.get_attribute("#curve svg", "aria-label")
        )
        assert "good" in page.inner_text("#liked")
        shown = page.inner_text("#learnt").lower()
        assert "±" in shown
        assert not re.search(r"^(the|a)\b", shown, re.MULTILINE)
        assert not re.search(r"\bposition\b", page.inner_text("main"))
        assert page.locator("#recent time").count() == 10
        page.click("#moreanswers")
        page.wait_for_function("() => document.querySelectorAll('#recent time').length === 30")
        page.click("#moreanswers")
        page.wait_for_function("() => document.querySelectorAll('#recent time').length === 42")
        assert page.is_hidden("#moreanswers")
    assert page.problems == []


def test_the_interval_is_wilsons_and_the_curve_waits_for_enough(page, start):  # noqa: F811
    page.goto(start().address)
    told = page.evaluate("""async () => {
      const { wilson, smoothed, LEAST } = await import("/static/curve.js");
      const { isPlain } = await import("/static/words.js");
      const flat = Array.from({ length: 60 }, (_, k) => [1, 1, 1, k % 2]);
      return { one: wilson(7, 10), none: wilson(0, 5), flat: smoothed(flat),
        few: smoothed(flat.slice(0, LEAST - 1)).length,
        plain: ["the", "of the", "the pot", "not good", "no", "pot", "a", "תה"].filter(isPlain) };
    }""")
    z = 1.96
    for (won, count), found in (((7, 10), told["one"]), ((0, 5), told["none"])):
        share, square = won / count, z * z / count
        middle = (share + square / 2) / (1 + square)
        half = z / (1 + square) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
        assert found == pytest.approx([max(0, middle - half), middle + half])
    assert told["few"] == 0
    assert len(told["flat"]) == 60
    # Answers that alternate are a flat line, and every point stands on twenty of them at least.
    assert all(abs(one["won"] - 0.5) < 0.06 and one["count"] >= 20 for one in told["flat"])
    assert all(one["interval"][0] < one["won"] < one["interval"][1] for one in told["flat"])
    assert told["plain"] == ["the", "of the", "the pot", "a"]


def test_flags_are_a_queue_that_empties(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        fill(client, 2)
        for k in range(3):
            answer(client, "ann", f"odd {k} <b>x</b>")
        page.goto(f"{server.address}/models/teas")
        page.wait_for_function("() => document.querySelectorAll('#flags tr').length === 3")
        page.click("#flags tr:nth-child(2) button")
        page.wait_for_function("() => document.querySelectorAll('#flags tr').length === 2")
        assert "odd 1" not in page.inner_text("#flags")
        page.check("#settled")
        page.wait_for_function("() => document.querySelectorAll('#flags tr').length === 3")
        assert page.inner_text("#flags tr:nth-child(2) td:last-child") == "settled"
        page.uncheck("#settled")
        for left in (1, 0):
            page.wait_for_function("(n) => document.querySelectorAll('#flags tr').length === n", arg=left + 1)
            page.click("#flags button")
        page.wait_for_selector("#unflagged:not([hidden])")
        assert client.get("/v1/models/teas").json()["summary"]["settled"] == 3
    assert page.problems == []


def test_a_model_is_renamed_paused_and_deleted_with_a_question_first(page, start):  # noqa: F811
    server = start()
    with httpx.Client(base_url=server.address) as client:
        fill(client, 1)
        page.goto(f"{server.address}/models/teas")
        page.click("#rename")
        page.fill("#newtitle", "Lines <i>for</i> the window")
        page.click("#renaming button.primary")
        page.wait_for_function("() => document.querySelector('h1').textContent === 'Lines <i>for</i> the window'")
        assert page.inner_text("#crumb") == "Lines <i>for</i> the window"
        page.click("#pause")
        page.click("#pausing [value=cancel]")
        assert "paused" not in client.get("/v1/models/teas").json()
        page.click("#pause")
        page.click("#pauseyes")
        page.wait_for_selector("#paused:not([hidden])")
        assert page.inner_text("#pause") == "Go on"
        with page.expect_download() as download:
            page.click("#table")
        assert download.value.suggested_filename == "teas.csv"
        page.click("#go")
        page.fill("#voter", "Zoe")
        page.click("#who button")
        page.wait_for_function("() => document.querySelector('#question').textContent === 'Paused'")
        assert "will continue later" in page.inner_text("#end")
        assert page.inner_text("#crumb") == "Lines <i>for</i> the window"
        page.clock.install()
        page.reload()
        page.wait_for_function("() => document.querySelector('#question').textContent === 'Paused'")
        client.patch("/v1/models/teas", json={"paused": False})
        # The page looks again by itself.
        page.clock.run_for(16_000)
        page.wait_for_function("() => !document.querySelector('#left').disabled")
        assert page.inner_text("#question") == "Which one sells?"
        page.goto(f"{server.address}/")
        page.wait_for_selector("#models .entry")
        assert "Lines <i>for</i> the window" in page.inner_text("#models")
        page.goto(f"{server.address}/models/teas")
        page.click("#delete")
        page.fill("#really", "teapot")
        page.click("#deleting .danger")
        page.wait_for_function("() => document.querySelector('#deleting .error').textContent.includes('teas')")
        assert client.get("/v1/models/teas").status_code == 200
        page.fill("#really", "teas")
        page.click("#deleting .danger")
        page.wait_for_url(f"{server.address}/")
        assert client.get("/v1/models/teas").status_code == 404
    assert page.problems == []


def sign_in(page, server, key):  # noqa: F811
    page.goto(f"{server.address}/login")
    page.fill("#key", key)
    page.click("form button")
    page.wait_for_url(f"{server.address}/")


def test_a_link_made_on_the_page_lets_somebody_answer_until_it_is_taken_back(page, browser, start, key):  # noqa: F811
    server = start(access_log=True)
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {key}"}) as client:
        fill(client, 0)
        sign_in(page, server, key)
        page.goto(f"{server.address}/models/teas")
        page.fill("#linknote", "students")
        page.click("#inviting button")
        page.wait_for_selector("#newlink:not([hidden])")
        link = page.input_value("#link")
        assert link.startswith(f"{server.address}/join#")
        page.wait_for_function("() => document.querySelector('#linkrows').textContent.includes('0 of 20')")
        guest = new_page(browser)
        problems = []
        guest.on("pageerror", lambda error: problems.append(str(error)))
        guest.goto(link)
        guest.wait_for_selector("#form:not([inert])")
        assert guest.evaluate("location.hash") == ""
        guest.fill("#name", "Zoë")
        guest.click("form button")
        guest.wait_for_url("**/pick/teas")
        guest.wait_for_function("() => !document.querySelector('#left').disabled")
        assert guest.locator("dialog[open]").count() == 0
        guest.keyboard.press("1")
        guest.wait_for_function("() => document.querySelector('#progress').textContent === '1 answered by you'")
        (voter,) = client.get("/v1/models/teas").json()["summary"]["voters"]
        assert re.fullmatch(r"Zoë-[0-9a-f]{16}", voter)
        page.reload()
        page.wait_for_selector("#linkrows button")
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("#linkrows button")
        page.wait_for_selector("#links", state="hidden")
        guest.keyboard.press("2")
        # The page may ask for something else meanwhile, which is refused as well: not one way there, but the end of it.
        guest.wait_for_function("() => location.pathname === '/login'")
        guest.goto(link)
        guest.wait_for_selector("#form:not([inert])")
        guest.click("form button")
        guest.wait_for_function("() => document.querySelector('#problem').textContent.includes('has been revoked')")
        guest.context.close()
        token = link.partition("#")[2]
        said = server.errors.read_text()
        assert "/join" in said
        assert token not in said
    assert page.problems == []
    assert problems == []
