"""The pages of a parser: trees that can be read."""

import re
from pathlib import Path

import httpx
import pytest

from .test_pages import BROWSER, after, browser, page
from .test_treebanks import MADE, TREEBANK, WORDS

__all__ = ["browser", "page"]


@pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}")
@pytest.mark.filterwarnings("default")
def test_the_page_draws_the_tree(page, start, tmp_path):
    bank = tmp_path / "bank.conllu"
    bank.write_text(TREEBANK)
    server = start(treebank=bank)
    page.goto(f"{server.address}/parse/bank")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)
    assert page.locator("svg.tree path.arc.left, svg.tree path.arc.right").count() == 2
    assert "head of" in page.inner_text("#question")
    page.keyboard.press("2")
    after(page, 1)
    page.goto(f"{server.address}/models/bank")
    page.wait_for_selector("#tiles .tile")
    assert "1 of 21" in page.inner_text("#tiles")
    assert "Ann" in page.inner_text("#people")
    page.wait_for_selector("#recent tr")
    assert "the head of “" in page.inner_text("#recent"), "words, not numbers"
    for link, name in (("#answers", "bank.answers.jsonl"), ("#trees", "bank.conllu")):
        with page.expect_download() as download:
            page.click(link)
        assert download.value.suggested_filename == name
        assert download.value.path().read_bytes()
    assert page.problems == []


@pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}")
@pytest.mark.filterwarnings("default")
def test_people_see_words_and_no_numbers(page, start, tmp_path):
    bank = tmp_path / "bank.conllu"
    bank.write_text(TREEBANK)
    server = start(treebank=bank)
    page.goto(f"{server.address}/parse/bank")
    page.fill("#voter", "Ann")
    page.click("#who button")
    forms, pressed = set(WORDS), ["1", "2", "b", "1", "2", " "]
    for count, key in enumerate(pressed):
        after(page, count)
        assert page.inner_text("#question mark") in forms
        heads = page.locator("#left-card strong, #right-card strong").all_inner_texts()
        assert len(heads) == 2
        assert set(heads) <= {*forms, "the sentence itself"}
        page.keyboard.press(key)
    after(page, len(pressed))
    page.goto(f"{server.address}/models/bank")
    page.wait_for_function(f"() => document.querySelectorAll('#recent tr').length === {len(pressed)}")
    named = re.compile(rf"({'|'.join(forms)})( \(word \d\))?|the sentence itself")
    rows = page.locator("#recent tr")
    for k in range(len(pressed)):
        picked, *about = rows.nth(k).locator("td").nth(1).inner_text().split("\n")
        assert picked in ("neither", "skipped") or named.fullmatch(picked), picked
        assert re.fullmatch(rf"the head of “({named.pattern})” in: [a-z ]+", about[-1]), about
        others = rows.nth(k).locator("td").nth(2).locator(".said").all_inner_texts()
        assert len(others) == (2 if picked in ("neither", "skipped") else 1)
        assert all(named.fullmatch(one) for one in others), others
    assert page.problems == []


def spans(page, selector: str) -> list[float]:
    return page.eval_on_selector_all(selector, "(all) => all.map((one) => one.getBoundingClientRect().x)")


@pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}")
@pytest.mark.filterwarnings("default")
def test_long_and_right_to_left_sentences_can_be_read(page, start):
    server = start()
    hebrew = ["הילדה", "אכלה", "תפוח", "אדום", "בגן"]
    for name, words in (("hebrew", hebrew), ("long", [f"word{k}" for k in range(110)])):
        rows = "".join(f"{k}\t{word}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for k, word in enumerate(words, 1))
        httpx.post(f"{server.address}/v1/models", json={**MADE, "name": name})
        httpx.post(f"{server.address}/v1/models/{name}/items", content=f"{rows}\n".encode())
    page.goto(f"{server.address}/parse/hebrew")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)
    places = spans(page, "svg.tree text.word")
    assert places == sorted(places, reverse=True), "the first word stands on the right"
    for width, height in ((1200, 800), (390, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{server.address}/parse/long")
        after(page, 0)
        assert page.locator("svg.tree text.word").count() == 111
        assert page.locator("svg.tree path.arc.left, svg.tree path.arc.right").count() in (2, 3, 4)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        rows = len(
            {
                round(y)
                for y in page.eval_on_selector_all("svg.tree text.word", "(a) => a.map((t) => +t.getAttribute('y'))")
            }
        )
        assert page.evaluate("document.querySelector('svg.tree').getBoundingClientRect().height") < 230 * rows
    top, bottom, shown = page.evaluate(
        """() => {
          const box = (one) => one.getBoundingClientRect(), tree = box(document.querySelector("#tree"));
          const about = [...document.querySelectorAll("svg.tree .word:is(.asked, .left, .right)")].map(box);
          const [first, last] = [Math.min(...about.map((one) => one.top)), Math.max(...about.map((one) => one.bottom))];
          return [first - tree.top, tree.bottom - last, tree.height];
        }"""
    )
    assert min(top, bottom) >= 0 or shown - top - bottom > shown, "all that the question is about, where there is room"
    assert page.is_visible("#left"), "on a phone the answers stay on the screen"
    assert page.evaluate("document.querySelector('#left').getBoundingClientRect().bottom") <= 800
    page.keyboard.press("1")
    after(page, 1)
    assert page.problems == []
