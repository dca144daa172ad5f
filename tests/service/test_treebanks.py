"""Parse questions: one sentence for one person at a time, the fold read back to the same bits, trees and parser out."""

import contextlib
import json
import subprocess
import sys

import numpy as np
import pytest

from conquer.data.treebank import parse
from conquer.service.work import parse_learner

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


MADE = {"name": "p", "algorithm": "parser", "task": "parse", "parameters": {"bits": 8}}


@contextlib.asynccontextmanager
async def parser(local, bank=TREEBANK, **settings):
    app = local()
    async with app.running() as client:
        assert (await client.post("/v1/models", json={**MADE, **settings})).status_code == 201
        assert (await client.post("/v1/models/p/items", content=bank.encode())).status_code == 200
        yield client, app.server


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


async def test_questions_teach_a_parser(local):
    from conquer.parsing.parser import loads

    app = local(snapshot_every=6)
    async with app.running() as client:
        assert (await client.post("/v1/models", json=MADE)).status_code == 201
        assert (await client.post("/v1/models", json={**MADE, "name": "q", "parameters": {"x": 1}})).status_code == 422
        assert (await client.post("/v1/models/p/items", content=TREEBANK.encode())).json()["groups"] == 4
        assert (await client.post("/v1/models/p/items", content=b"1\tbroken")).status_code == 422
        before = (await client.get("/v1/models/p/progress")).json()
        assert (before["pairs"], before["covered"], before["voters"]) == (21, 0, [])
        views = [(await client.post("/v1/models/p/next", json={"voter": v})).json() for v in ("ann", "bob", "cy", "di")]
        assert len({view["parse"]["id"] for view in views}) == 4
        assert (await client.post("/v1/models/p/next", json={"voter": "ed"})).json()["event"] is not None
        for voter in ("ann", "bob", "cy", "di"):
            await answer_all(client, voter, 6)
        answered = (await client.get("/v1/models/p")).json()["summary"]["answers"]
        covered = answered["learnt"] + sum(answered["ignored"].values())
        assert (await client.get("/v1/models/p/progress")).json()["covered"] == before["pairs"] <= covered
        weights = app.server.engine.models["p"].learner.learner.model.weights()
        app.server.engine.models.clear()
        trees = parse((await client.get("/v1/models/p/trees")).text)
        assert [len(one) for one in trees] == [5, 6, 7, 3]
        assert np.array_equal(app.server.engine.models["p"].learner.learner.model.weights(), weights)
        exported = loads((await client.get("/v1/models/p/parser/file")).content)
        assert [one.heads for one in exported.parse(parse(TREEBANK))] == [one.heads for one in trees]
        info = (await client.get("/v1/models/p")).json()
        app.server.engine.models.clear()
        assert (await client.get("/v1/models")).json()["models"] == [info]
        assert not app.server.engine.models


async def test_a_word_that_two_are_asked_about_counts_once(local):
    async with parser(local, TREEBANK.split("\n\n")[0] + "\n\n") as (client, _server):
        asked = []
        views = [(await client.post("/v1/models/p/next", json={"voter": voter})).json() for voter in ("ann", "bob")]
        assert views[0]["parse"]["word"] == views[1]["parse"]["word"]
        for voter, view in zip(("ann", "bob"), views, strict=True):
            body = {"winner": view["event"]["left"], "voter": voter}
            path = f"/v1/models/p/events/{view['event']['event_id']}/answer"
            assert (await client.post(path, json=body)).json()["status"] == "learnt"
        assert (await client.get("/v1/models/p/progress")).json()["covered"] == 1
        while (question := (await client.post("/v1/models/p/next", json={"voter": "ann"})).json())["event"] is not None:
            asked.append(question["parse"]["word"])
            path = f"/v1/models/p/events/{question['event']['event_id']}/answer"
            await client.post(path, json={"winner": question["event"]["left"], "voter": "ann"})
        assert sorted([views[0]["parse"]["word"], *asked]) == [1, 2, 3, 4, 5]


async def test_new_models_start_from_rules_over_tags(local):
    """The first questions offer likely heads, unless the settings ask for a start from zero."""
    async with local().running() as client:
        neither = {}
        for prior, given in (("upos", {}), ("none", {"prior": "none"})):
            new = {**MADE, "believe": None, "parameters": {"bits": 14, **given}}
            await client.post("/v1/models", json=new)
            await client.post("/v1/models/p/items", content=TREEBANK.encode())
            neither[prior] = await answer_all(client, "ann", 8)
            await client.delete("/v1/models/p")
        assert neither["upos"] == 0 < neither["none"]
        wrong = await client.post("/v1/models", json={**MADE, "parameters": {"prior": "xpos"}})
        assert wrong.status_code == 422
        assert "prior must be one of" in wrong.text


async def test_undoing_gives_the_word_back(local):
    async with parser(local) as (client, server):
        question = (await client.post("/v1/models/p/next", json={"voter": "ann"})).json()
        before = server.engine.models["p"].learner.learner.model.weights()
        event = f"/v1/models/p/events/{question['event']['event_id']}"
        await client.post(f"{event}/answer", json={"winner": question["event"]["left"], "voter": "ann"})
        assert sum(map(len, server.engine.models["p"].tally.asked.values())) == 1
        await client.post(f"{event}/undo", json={"voter": "ann"})
        assert server.engine.models["p"].tally.asked == {}
        assert np.array_equal(server.engine.models["p"].learner.learner.model.weights(), before)


async def test_questions_come_again_to_the_same_person_and_to_others(local):
    """Ann changes her mind about nothing, Bob says the opposite of everything: what leads see tells them apart."""
    async with parser(local, planted=0.4) as (client, server):
        first: dict[tuple, str] = {}
        replies = {"ann": [], "bob": []}
        for turn in range(60):
            voter = ("ann", "bob")[turn % 2]
            question = (await client.post("/v1/models/p/next", json={"voter": voter})).json()
            if question["event"] is None:
                continue
            view = question["parse"]
            key = (view["id"], view["word"], frozenset(view["candidates"]))
            said = first.setdefault(key, str(min(view["candidates"])))
            if voter == "bob":
                said = next(str(head) for head in view["candidates"] if str(head) != said)
            path = f"/v1/models/p/events/{question['event']['event_id']}/answer"
            replies[voter].append((await client.post(path, json={"winner": said, "voter": voter})).json())
        summary = (await client.get("/v1/models/p")).json()["summary"]
        again = sum(one.get("reason") == "planted" for said in replies.values() for one in said)
        assert again == summary["planted"]["answers"] + summary["planted_between"]["answers"] > 5
        assert summary["people"]["ann"]["agreement"] == 1.0
        assert summary["people"]["bob"]["agreement"] == 1.0
        assert summary["planted_between"] == {"answers": 4, "agreement": 0.0}
        assert summary["answers"]["learnt"] == sum(map(len, server.engine.models["p"].tally.asked.values()))
        rows = (await client.get("/v1/models/p/log?format=answers")).text.splitlines()
        assert len(rows) == summary["answers"]["learnt"]


async def test_neither_passes_on_to_the_next_word(local):
    """A parser that learnt nothing would ask the same again, so a word that nobody can answer is left alone."""
    async with local().running() as client:
        await client.post("/v1/models", json=MADE)
        await client.post("/v1/models", json={**MADE, "name": "t", "parameters": {"bits": 8, "neither": "tie"}})
        for name, outcome in (("p", "ignored"), ("t", "learnt")):
            await client.post(f"/v1/models/{name}/items", content=sentence(1, "dog fed cat", [2, 0, 2]).encode())
            words = []
            for winner in ("both_bad", "skip", "both_bad"):
                question = (await client.post(f"/v1/models/{name}/next", json={"voter": "ann"})).json()
                words.append(question["parse"]["word"])
                path = f"/v1/models/{name}/events/{question['event']['event_id']}/answer"
                reply = (await client.post(path, json={"winner": winner, "voter": "ann"})).json()
                assert reply["status"] == ("ignored" if winner == "skip" else outcome)
            assert sorted(words) == [1, 2, 3]
            last = (await client.post(f"/v1/models/{name}/next", json={"voter": "ann"})).json()
            assert last["reason"] == "every word has been asked about"


@pytest.mark.parametrize("comments", [True, False])
async def test_exported_answers_train_a_parser_from_the_shell(local, tmp_path, comments):
    """With the exported trees, and with the file that was uploaded: both know the sentences by the same ids."""
    from conquer.parsing.parser import load

    bank = TREEBANK if comments else "".join(f"{line}\n" for line in TREEBANK.split("\n") if not line.startswith("#"))
    (tmp_path / "own.conllu").write_text(bank)
    async with parser(local, bank) as (client, _server):
        await answer_all(client, "ann", 30)
        undone = (await client.get("/v1/models/p/latest")).json()["rows"][0]["event"]
        assert (await client.post(f"/v1/models/p/events/{undone}/undo", json={"voter": "ann"})).status_code == 200
        for name, path in (("answers.jsonl", "log?format=answers"), ("trees.conllu", "trees")):
            reply = await client.get(f"/v1/models/p/{path}")
            assert reply.status_code == 200, reply.text
            (tmp_path / name).write_bytes(reply.content)
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr"})
        assert (await client.get("/v1/models/m/log?format=answers")).status_code == 409
        # Two heads of a word are no two items: a parser has answers, and no preferences.
        assert (await client.get("/v1/models/p/log?format=preferences")).text == ""
        answers = (await client.get("/v1/models/p")).json()["summary"]["answers"]
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert len(rows) == answers["learnt"] + sum(answers["ignored"].values()) == 20
    for given in ("trees.conllu", "own.conllu"):
        command = ["train", "--treebank", given, "--answers", "answers.jsonl", "--model", f"{given}.parser"]
        done = subprocess.run(
            [sys.executable, "-m", "conquer", "parse", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "20 recorded answers" in done.stdout
    trained = [load(tmp_path / f"{given}.parser").weights for given in ("trees.conllu", "own.conllu")]
    assert np.array_equal(*trained)
    assert trained[0].any()


async def test_the_same_sentences_are_uploaded_once(local):
    async with parser(local) as (client, _server):
        again = await client.post("/v1/models/p/items", content=TREEBANK.encode())
        assert (again.status_code, again.json()["error"]["code"]) == (409, "item_exists")
        twice = sentence(9, "dog fed cat", [2, 0, 2]) * 2
        assert (await client.post("/v1/models/p/items", content=twice.encode())).status_code == 409


def test_a_sentence_whose_name_has_control_characters_is_asked_about():
    (group,) = parse_learner.read_treebank(sentence(1, "dog fed cat", [2, 0, 2]).replace("s1", "a\x01b/c").encode())
    assert [item.id for item in group.items] == ["a-b-c"]
