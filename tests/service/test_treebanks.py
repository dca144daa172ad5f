"""Parse questions: one sentence for one person at a time, the fold read back to the same bits, trees and parser out."""

from pathlib import Path

import numpy as np
import pytest

from conquer.data.treebank import parse

from .conftest import run
from .test_pages import BROWSER, after, browser, page

__all__ = ["browser", "page"]
WORDS = {"the": "DET", "small": "ADJ", "dog": "NOUN", "cat": "NOUN", "saw": "VERB", "fed": "VERB"}


def sentence(number: int, words: str, heads: list[int]) -> str:
    rows = [
        f"{k}\t{word}\t{word}\t{WORDS[word]}\t_\t_\t{head}\t{'root' if head == 0 else 'dep'}\t_\t_"
        for k, (word, head) in enumerate(zip(words.split(), heads, strict=True), 1)
    ]
    return "\n".join([f"# sent_id = s{number}", *rows]) + "\n\n"


TREEBANK = "".join(
    sentence(k, words, heads)
    for k, (words, heads) in enumerate(
        [
            ("the dog saw the cat", [2, 3, 0, 5, 3]),
            ("the small cat fed the dog", [3, 3, 4, 0, 6, 4]),
            ("the small dog saw the small cat", [3, 3, 4, 0, 7, 7, 4]),
            ("dog fed cat", [2, 0, 2]),
        ]
    )
)
GOLD = {one.forms: one.heads for one in parse(TREEBANK)}


async def answer_all(client, voter: str, count: int) -> int:
    """Answer with the right head; how many questions had none of the two right."""
    neither = 0
    for _ in range(count):
        question = (await client.post("/v1/models/p/next", json={"voter": voter})).json()
        if question["event"] is None:
            break
        view = question["parse"]
        right = GOLD[tuple(view["forms"])][view["word"] - 1]
        winner = str(right) if right in view["candidates"] else "both_bad"
        neither += winner == "both_bad"
        path = f"/v1/models/p/events/{question['event']['event_id']}/answer"
        reply = await client.post(path, json={"winner": winner, "voter": voter})
        assert reply.status_code == 200, reply.text
    return neither


def test_questions_teach_a_parser(local):
    from conquer.parsing.parser import loads

    async def go():
        app = local(snapshot_every=6)
        async with app.running() as client:
            made = {"name": "p", "algorithm": "parser", "task": "parse", "parameters": {"bits": 8}}
            assert (await client.post("/v1/models", json=made)).status_code == 201
            assert (
                await client.post("/v1/models", json={**made, "name": "q", "parameters": {"x": 1}})
            ).status_code == 422
            assert (await client.post("/v1/models/p/items", content=TREEBANK.encode())).json()["groups"] == 4
            assert (await client.post("/v1/models/p/items", content=b"1\tbroken")).status_code == 422
            held = await client.post("/v1/models/p/items?held_out=1", content=TREEBANK.encode())
            assert held.status_code == 200, held.text
            before = (await client.get("/v1/models/p/parser")).json()
            assert (before["sentences"], before["words"], before["held_out"]) == (4, 21, 4)
            views = [
                (await client.post("/v1/models/p/next", json={"voter": v})).json() for v in ("ann", "bob", "cy", "di")
            ]
            assert len({view["parse"]["id"] for view in views}) == 4
            assert (await client.post("/v1/models/p/next", json={"voter": "ed"})).json()["event"] is None
            for voter in ("ann", "bob", "cy", "di"):
                await answer_all(client, voter, 6)
            after_ = (await client.get("/v1/models/p/parser")).json()
            assert after_["uas"] > before["uas"] + 0.3
            weights = app.server.writer.models["p"].brain.learner.model.weights()
            app.server.writer.models.clear()
            trees = parse((await client.get("/v1/models/p/trees")).text)
            assert [len(one) for one in trees] == [5, 6, 7, 3]
            assert np.array_equal(app.server.writer.models["p"].brain.learner.model.weights(), weights)
            parser = loads((await client.get("/v1/models/p/parser/file")).content)
            assert [one.heads for one in parser.parse(parse(TREEBANK))] == [one.heads for one in trees]
            summary = (await client.get("/v1/models/p")).json()["summary"]
            assert summary["repeated_questions"]["answers"] == 0

    run(go())


def test_undoing_gives_the_word_back(local):
    async def go():
        app = local()
        async with app.running() as client:
            made = {"name": "p", "algorithm": "parser", "task": "parse", "parameters": {"bits": 8}}
            await client.post("/v1/models", json=made)
            await client.post("/v1/models/p/items", content=TREEBANK.encode())
            question = (await client.post("/v1/models/p/next", json={"voter": "ann"})).json()
            event = f"/v1/models/p/events/{question['event']['event_id']}"
            await client.post(f"{event}/answer", json={"winner": question["event"]["left"], "voter": "ann"})
            assert sum(map(len, app.server.writer.models["p"].tally.asked.values())) == 1
            await client.post(f"{event}/undo", json={"voter": "ann"})
            assert app.server.writer.models["p"].tally.asked == {}
            assert not app.server.writer.models["p"].brain.learner.model.weights().any()

    run(go())


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
    page.wait_for_selector("#parser .tile")
    assert "1 of 21" in page.inner_text("#parser")
    assert page.problems == []
