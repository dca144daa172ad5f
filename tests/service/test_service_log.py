"""A service's ledger in the library: the same weights after a replay, and the chances of its rounds."""

import json
import random

import numpy as np
import pytest
from typer.testing import CliRunner

from conquer.cli import app
from conquer.data.compression import DataError
from conquer.features.featurizer import Featurizer
from conquer.offpolicy import OverlapError, compare_with_log, read_log, taught
from conquer.registry import make
from conquer.session import replay

KINDS = {
    "texts": {"algorithm": "gnr", "features": {"dim": 64}},
    "vectors": {"algorithm": "gnc", "model": "full", "features": {"dim": 4}},
    "parts": {"algorithm": "ttg", "parameters": {"explore": 0.5}, "features": {"dim": 64}, "believe": None},
    "kernel": {"algorithm": "gnr", "model": "kernel", "features": {"dim": 8}},
}


def item(rng, kind, number):
    text = " ".join(rng.choices(["good", "bad", "so", "tea"], k=3))
    vector = [rng.uniform(-1, 1) for _ in range(3)]
    own = {
        "texts": {"text": text, "label": "L"},
        "parts": {"text": text, "features": {"price": rng.random(), "colour": rng.choice("rgb")}},
    }
    return {"id": f"i{number}", **own.get(kind, {"vector": vector})}


async def played(client, kind, rounds=25):
    """A model with late, undone, skipped and second answers, ties and votes; and its ledger."""
    rng = random.Random(kind)
    assert (await client.post("/v1/models", json={"name": "m", **KINDS[kind]})).status_code == 201
    for number in range(rounds):
        body = {"items": [item(rng, kind, k) for k in range(rng.randint(2, 4))]}
        if kind in ("texts", "parts"):
            body["context"] = {"hour": rng.choice(["day", "night"])}
        offer = (await client.post("/v1/models/m/choose", json=body)).json()
        if offer["query"] == "none":
            continue
        shown = [one["id"] for one in offer["shown"]]
        root = f"/v1/models/m/events/{offer['event_id']}"
        for voter in rng.choice([["ann"], ["ann", "bob"], [None]]):
            said = {"winner": rng.choice([*shown, "tie", "skip"]), "voter": voter}
            assert (await client.post(f"{root}/answer", json=said)).status_code == 200
        if number % 7 == 3 and voter is not None:
            assert (await client.post(f"{root}/undo", json={"voter": voter})).status_code == 200
    return (await client.get("/v1/models/m/log?format=ledger")).content


@pytest.mark.parametrize("kind", KINDS)
async def test_a_replay_of_the_ledger_has_the_weights_of_the_service(local, kind, tmp_path):
    app = local()
    async with app.running() as client:
        (tmp_path / "log.jsonl").write_bytes(await played(client, kind))
        served = app.server.engine.models["m"].learner.learner
    again = replay(tmp_path / "log.jsonl")
    assert again.answers == served.answers > 5
    for name, array in served.arrays().items():
        assert np.array_equal(again.arrays()[name], array), name


async def test_every_answer_has_the_chance_that_the_service_logged(local, tmp_path):
    async with local().running() as client:
        ledger = await played(client, "parts")
    path = tmp_path / "log.jsonl"
    path.write_bytes(ledger)
    rows = [json.loads(line) for line in ledger.splitlines()]
    asked = {row["event_id"]: row["body"] for row in rows if row["kind"] == "choose"}
    gone = {row["body"]["undone"] for row in rows if row["kind"] == "correction"}
    said = [row for row in rows if row["kind"] == "answer" and row["position"] not in gone]
    learnt = [row for row in said if row["body"].get("value") is not None]
    assert gone
    log = read_log(path)
    assert [(one.shown, one.chance, one.outcome) for one in log] == [
        (tuple(asked[row["event_id"]]["shown"]), asked[row["event_id"]]["memo"]["chance"], row["body"]["value"])
        for row in learnt
    ]


def line(kind, position=0, **more):
    return json.dumps({"kind": kind, "position": position, **more})


OPEN = line("open", body={"name": "m", "settings": {"algorithm": "gnr", "features": {"dim": 4}}})
TWO = [{"id": "a", "vector": [1, 0]}, {"id": "b", "vector": [0, 1]}]
ASKED = {
    "query": 1,
    "ticket": 7,
    "shown": [0, 1],
    "names": ["a", "b"],
    "left": "b",
    "items": TWO,
    "memo": {"chance": 0.5},
}
CHOSEN = line("choose", 1, event_id="e", body=ASKED)
SAID = line("answer", 2, event_id="e", body={"winner": "a", "value": 1.0})


def test_votes_and_planted_questions_have_no_chance(tmp_path):
    """A vote is learnt with its side; a question asked again was not chosen."""
    path = tmp_path / "log.jsonl"
    vote = line(
        "vote", 3, event_id="v", voter="ann", body={"items": TWO, "names": ["a", "b"], "winner": "b", "value": -1.0}
    )
    again = line("choose", 4, event_id="p", body={**ASKED, "planted": "e"})
    path.write_text("\n".join([OPEN, CHOSEN, SAID, vote, again, SAID.replace('"e"', '"p"').replace("2", "5")]))
    assert [(one.shown, one.chance, one.outcome) for one in read_log(path)] == [((0, 1), 0.5, 1.0)]
    assert replay(path).answers == 3


UNFITTED = [
    line("open", body={"settings": {"features": {"dim": 4, "kind": "tfidf"}}}),
    line("choose", 1, event_id="e", body={**ASKED, "items": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]}),
    SAID,
]
BAD = {
    "not JSON": ([OPEN, "{"], "line 2: not JSON"),
    "no kind": ([OPEN, "[1]"], "line 2: a row is an object with a kind"),
    "no opening": ([CHOSEN, SAID], "line 2: .*opening line"),
    "a parser": ([line("open", body={"settings": {"task": "parse"}})], "line 1: .*parse model"),
    "unfitted": (UNFITTED, "line 3: .*fitted"),
    "no items": ([OPEN, line("choose", 1, event_id="e", body={"shown": [0, 1]}), SAID], "line 3: not a row"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_ledger_is_refused_by_its_line(tmp_path, what):
    rows, message = BAD[what]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(rows))
    with pytest.raises(DataError, match=message):
        replay(path)


def test_a_fitted_model_is_read_with_its_featurizer(tmp_path):
    path = tmp_path / "log.jsonl"
    opening, chosen, said = UNFITTED
    path.write_text("\n".join([opening, chosen.replace('"x"', '"good tea"').replace('"y"', '"bad tea"'), said]))
    fitted = Featurizer(dim=4, kind="tfidf").fit(["good tea", "bad tea"])
    (one,) = read_log(path, featurizer=fitted)
    assert np.array_equal(one.rows.dense(), fitted(["good tea", "bad tea"]).dense())


def many(path, rounds=400):
    rng = random.Random(1)
    rows = [OPEN]
    for k in range(rounds):
        shown = rng.sample([0, 1], 2)
        won = shown[0] == 0 if rng.random() < 0.9 else shown[0] == 1
        rows.append(
            line(
                "choose", 2 * k + 1, event_id=f"e{k}", body={**ASKED, "shown": shown, "names": ["ab"[i] for i in shown]}
            )
        )
        rows.append(line("answer", 2 * k + 2, event_id=f"e{k}", body={"winner": "a", "value": 1.0 if won else -1.0}))
    path.write_text("\n".join(rows))
    return path


def test_the_gain_over_the_log_is_that_of_showing_the_better_first(tmp_path):
    """The log shows a first half of the time, so its first item wins half of the time; a wins 90 %."""
    log = read_log(many(tmp_path / "log.jsonl"))
    target = taught(make("ttg", dim=4), log[:200])
    gain = compare_with_log(log[200:], target)
    assert gain.low < 0.8 < gain.high
    assert gain.low > 0.5
    with pytest.raises(OverlapError):
        compare_with_log(log[200:210], target)


def test_the_command_estimates_and_refuses(tmp_path):
    path, run = str(many(tmp_path / "log.jsonl")), CliRunner().invoke
    found = run(app, ["evaluate", path, "--algorithm", "ttg", "--json"])
    report = json.loads(found.output)
    assert (report["learnt"], report["rounds"]) == (200, 200)
    assert report["gain"]["low"] < 0.8 < report["gain"]["high"]
    assert {"ips", "snips", "dr"} <= report.keys()
    lines = run(app, ["evaluate", path, "--algorithm", "ttg"]).output
    assert "400 answered rounds with a known chance; 200 learnt, 200 evaluated" in lines
    for wrong, message in (
        (["--learn", "1"], "--learn must be"),
        (["--parameters", "{"], "--parameters must be JSON"),
        (["--parameters", "[]"], "--parameters must be a JSON object"),
    ):
        assert message in str(run(app, ["evaluate", path, *wrong]).exception)
