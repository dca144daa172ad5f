"""Ledgers from anyone: all of one is taken, or nothing of it; its rows are bounded as requests are."""

import json
from typing import Any

import pytest

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
NAMES = ("a", "b", "c")


async def ledger(client: Any, rounds: int, **made: Any) -> list[dict[str, Any]]:
    """The ledger of a model that has learnt from so many rounds."""
    await client.post("/v1/models", json={**MADE, **made, "name": "old"})
    for k in range(rounds):
        items = [{"id": name, "vector": [k % 3 + place, place, 1, 0]} for place, name in enumerate(NAMES)]
        chosen = (await client.post("/v1/models/old/choose", json={"items": items, "voter": "ann"})).json()
        path = f"/v1/models/old/events/{chosen['event_id']}/answer"
        await client.post(path, json={"winner": chosen["shown"][0]["id"]})
    text = (await client.get("/v1/models/old/log?format=ledger")).text
    return [json.loads(line) for line in text.splitlines()]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def changed(rows: list[dict[str, Any]], place: int, body: dict[str, Any], **fields: Any) -> bytes:
    """The ledger with other values in one of its rows."""
    row = rows[place]
    return lines([*rows[:place], {**row, **fields, "body": {**row["body"], **body}}, *rows[place + 1 :]])


async def test_a_ledger_trains_as_its_rounds_did(local: Any) -> None:
    async with local().running() as client:
        rows = await ledger(client, 600)
        await client.post("/v1/models", json=MADE)
        reply = await client.post("/v1/models/m/log", content=lines(rows))
        assert reply.json() == {"rounds": 600, "learnt": 600, "passed_over": {"open": 1}}, reply.text
        old, new = [(await client.get(f"/v1/models/{name}")).json()["summary"] for name in ("old", "m")]
        assert (old["answers"], old["first_preferred"]) == (new["answers"], new["first_preferred"])


ROWS = {
    "an event of two lines": ({}, {"event_id": "e\n"}),
    "an event that leads elsewhere": ({}, {"event_id": "../x"}),
    "a long event": ({}, {"event_id": "x" * 201}),
    "no event": ({}, {"event_id": ""}),
    "a voter of two lines": ({}, {"voter": "ann\n"}),
    "a position below 0": ({}, {"position": -5}),
    "a position beyond": ({}, {"position": 1 << 64}),
    "a query of its own": ({"query": 7}, {}),
    "a ticket beyond": ({"ticket": 1 << 64}, {}),
    "an item beyond": ({"shown": [0, 9]}, {}),
    "an item below": ({"shown": [0, -1]}, {}),
    "one item twice": ({"shown": [0, 0], "names": ["a", "a"]}, {}),
    "other names": ({"names": ["x", "y"]}, {}),
    "another left": ({"left": "x"}, {}),
    "a word as chance": ({"memo": {"chance": "x"}}, {}),
    "a chance above 1": ({"memo": {"chance": 7}}, {}),
    "a word without its sentence": ({"memo": {"word": 1}}, {}),
    "an unknown memo": ({"memo": {"something": 1}}, {}),
    "a deep memo": ({"memo": {"notes": {"x": [[[[1]]]]}}}, {}),
    "a long planted": ({"planted": "x" * 1000}, {}),
    "a large vector": ({"items": [{"id": "a", "vector": [1e300]}, {"id": "b", "vector": [1]}]}, {}),
    "a deep context": ({"context": [[[[]]]]}, {}),
    "many scores": ({"scores": [0.0] * 5000}, {}),
}
ANSWERS = {
    "an answer above 1": {"value": 1.5},
    "a reason of its own": {"value": None, "reason": "because"},
    "a long winner": {"winner": "x" * 300},
    "seconds below 0": {"seconds": -1e300},
    "a strength above 1": {"strength": 7},
}


@pytest.mark.parametrize("last", [2, 1198])
async def test_a_ledger_with_one_bad_row_commits_nothing(local: Any, last: int) -> None:
    """Wherever the row is, and however many good ones come before it."""
    app = local()
    async with app.running() as client:
        rows = await ledger(client, 600)
        await client.post("/v1/models", json=MADE)
        places = {kind: next(k for k, row in enumerate(rows) if k >= last and row["kind"] == kind)
                  for kind in ("choose", "answer")}  # fmt: skip
        cases = {name: changed(rows, places["choose"], body, **fields) for name, (body, fields) in ROWS.items()}
        cases |= {name: changed(rows, places["answer"], body) for name, body in ANSWERS.items()}
        cases["an event twice"] = changed(rows, places["choose"], {}, event_id=rows[1]["event_id"])
        cases["an answer to nothing"] = changed(rows, places["answer"], {}, event_id="nothing")
        cases["another kind"] = changed(rows, places["answer"], {}, kind="x")
        cases["bad bytes"] = lines(rows[:last]) + b'{"kind":"choose","event_id":"\xff"}\n'
        cases["bad bytes within"] = lines(rows[:last]) + b'{"kind":"choose","event_id":"e","body":"\xff"}\n'
        cases["a deep body"] = lines(rows[:last]) + b'{"kind":"choose","body":' + b"[" * 971 + b"]" * 971 + b"}\n"
        cases["half a row"] = lines(rows[:last]) + b'{"kind":'
        for name, text in cases.items():
            reply = await client.post("/v1/models/m/log", content=text)
            assert reply.status_code in (400, 422), (name, reply.status_code, reply.text[:300])
            info = (await client.get("/v1/models/m")).json()
            assert (info["position"], info["summary"]["rounds"]) == (0, 0), name
        assert (await client.post("/v1/models/m/log", content=lines(rows))).status_code == 200


MEMOS: list[dict[str, Any]] = [
    {}, {"layer": 2**31 - 1, "weight": 1e100}, {"layer": 0, "weight": -1}, {"notes": {"clock": 2**53}},
    {"notes": {"count": -1, "champion": 99, "best": 99}}, {"notes": {"remaining": ["x"], "coming": [-9]}},
    {"p": 0, "chance": 0}, {"p": 1e-100, "chance": 1e-300}, {"greedy": 2**31 - 1}, {"greedy": 1},
]  # fmt: skip
ALGORITHMS = ["vacdb", "rucb", "rmed1", "beat-the-mean", "newtron", "soba", "banditron", "ucb-mnl"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_crafted_memo_is_refused_or_learnt(local: Any, algorithm: str) -> None:
    async with local().running() as client:
        rows = await ledger(client, 6, algorithm=algorithm)
        for number, memo in enumerate(MEMOS):
            name = f"m{number}"
            await client.post("/v1/models", json={**MADE, "algorithm": algorithm, "name": name})
            place = next(k for k, row in enumerate(rows) if row["kind"] == "choose")
            reply = await client.post(f"/v1/models/{name}/log", content=changed(rows, place, {"memo": memo}))
            assert reply.status_code in (200, 422), (memo, reply.text)
            items = [{"id": one, "vector": [1, place, 0, 1]} for place, one in enumerate(NAMES)]
            chosen = await client.post(f"/v1/models/{name}/choose", json={"items": items})
            assert chosen.status_code == 200, (memo, chosen.text)
            assert (await client.get(f"/v1/models/{name}/file")).status_code == 200


async def test_a_ledger_puts_no_more_answers_on_an_event_than_people_may(
    local: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conquer.service.work.ledgers.ANSWERS", 1)
    async with local().running() as client:
        rows = await ledger(client, 2)
        again = {**rows[2], "position": 9, "voter": "bob"}
        await client.post("/v1/models", json=MADE)
        assert (await client.post("/v1/models/m/log", content=lines(rows))).status_code == 200
        await client.post("/v1/models", json={**MADE, "name": "n"})
        refused = await client.post("/v1/models/n/log", content=lines([*rows, again]))
        assert (refused.status_code, "as many as it takes" in refused.text) == (422, True)
