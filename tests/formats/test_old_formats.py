"""Files and stores of version 0.1 go on here bit for bit; README.md beside it says how they were written.

What has changed since, on purpose: kernel models, projections of diagonal ones and some rivals take their sums in
another way, and float32 rounds by chance. Their choices are the same, their numbers to five digits. gnt on full and
kernel models and twots draw for differences of items: their files are read to the bit and go on, with other draws of
the same law.
"""

import gzip
import hashlib
import itertools
import json
import re
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load
from service.conftest import Local, run

import conquer
from conquer.learners.conquer import as_stored
from conquer.registry import groups
from conquer.service.commands.pick_learner import PickLearner

pytestmark = pytest.mark.filterwarnings("error")
FOLDER = Path(__file__).parent / "v0.1"
DIM, COUNT, MORE = 7, 5, 20
STRENGTHS = (1.0, -1.0, 0.5, 1.0, -1.0, 0.0)


def hexed(number):
    """A float's exact text, 0x1p-1 for a half: with it also -0.0 and 0.0 differ."""
    return None if number is None else float(number).hex().replace(".0000000000000", "")


def blas():
    """A digest of what this machine's BLAS makes of fixed numbers: its sums depend on the processor."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(7, 7)), rng.normal(size=7)
    return hashlib.sha256(np.concatenate([A @ b, (A @ A.T).ravel(), np.linalg.solve(A, b)]).tobytes()).hexdigest()[:16]


EXACT = blas() == "d2896748f8370824"
"""Whether this is the kind of machine that wrote the files. CONQUER's own arithmetic gives the same bits on all."""
EXPONENTIAL = frozenset({"newtron", "partial-feedback", "ucb-mnl", "cppl", "colstim", "rmed1"})
"""Rivals on numpy's exp and log, whose last bits follow the processor's instructions even where BLAS's do not."""


MOVED = "moved"
"""In place of an algorithm: its numbers are no longer the bits of version 0.1."""


def resummed(algorithm, parameters):
    kernel, projected = parameters.get("model") == "kernel", parameters.get("projection") is not None
    rival = algorithm == "vacdb" or parameters.get("robust") is not None
    return kernel or projected or rival or parameters.get("storage") == "float32"


def redrawn(algorithm, model):
    return algorithm == "twots" or (algorithm == "gnt" and model in ("full", "kernel"))


def to_the_bit(algorithm):
    """Whether this machine must give the numbers of the one that wrote the files."""
    return algorithm in groups()["paper"] or (EXACT and algorithm not in EXPONENTIAL)


def same(said, expected, algorithm):
    """Equal to the bit; what has moved, and rivals on another processor's numpy, may differ from the fifth digit on."""
    if algorithm != MOVED and to_the_bit(algorithm):
        return said == expected
    if isinstance(said, dict) and isinstance(expected, dict):
        return said.keys() == expected.keys() and all(same(said[k], expected[k], algorithm) for k in said)
    if isinstance(said, list) and isinstance(expected, list):
        return len(said) == len(expected) and all(map(same, said, expected, itertools.repeat(algorithm)))
    try:
        return float.fromhex(said) == pytest.approx(float.fromhex(expected), rel=1e-5, abs=1e-6)
    except (TypeError, ValueError):
        return said == expected


def recorded(name, **reading):
    """What version 0.1 did and said."""
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()), **reading)


MODELS, SESSIONS, PARSERS = map(recorded, ("models", "sessions", "parsers"))
STORE = recorded("store", parse_float=hexed)


def unpacked(archive, name, folder):
    """The path of one file of an archive, unpacked into a folder."""
    with zipfile.ZipFile(FOLDER / archive) as files:
        return Path(files.extract(name, folder))


def arrays_of(file):
    """Type, shape and a digest of every array of a model file, by name; `file` is a path or the file's bytes."""
    arrays = load(file if isinstance(file, bytes) else file.read_bytes())
    return {
        name: f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
        for name, array in sorted(arrays.items())
    }


def rounds(name, fixed):
    """Endless rounds (items, ticket, draw) of the file `name`; `fixed` is for arms known by their place.

    The generator is seeded by the name's CRC-32. Items are sixteenths in [-1/2, 1/2], so no rounding is in them.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    items = rng.integers(-8, 9, (COUNT, DIM)) / 16
    while True:
        yield items, int(rng.integers(0, 2**64, dtype=np.uint64)), int(rng.integers(0, 60))
        items = items if fixed else rng.integers(-8, 9, (COUNT, DIM)) / 16


def answer(choice, draw):
    """The draw as an answer: yes or no to one item, a strength between two, one of more."""
    count = len(choice.shown)
    if choice.query == conquer.Query.BEST:
        return 1.0 if draw % 2 else -1.0
    return STRENGTHS[draw % 6] if count == 2 else 1.0 - 2.0 * (draw % count) / (count - 1)


def play(learner, going, count, on_show=False):
    """Let a learner choose and learn for `count` rounds; returns what it chose."""
    said = []
    for items, ticket, draw in itertools.islice(going, count):
        choice = learner.choose(items, ticket)
        said.append(" ".join([choice.query.name, *map(str, choice.shown), hexed(choice.memo.get("chance")) or "?"]))
        if choice.query != conquer.Query.NONE:
            choice = learner.expose(items, choice) if on_show else choice
            learner.learn(items, choice, answer(choice, draw))
    return said


def go_on(learner, name, told):
    """The rounds after those that the file `name` has learnt, and the scores in the end."""
    going = itertools.islice(rounds(name, told["fixed"]), told["rounds"], None)
    choices = play(learner, going, MORE, told["on_show"])
    return choices, [hexed(score) for score in learner.scores(next(going)[0])]


def made(name, told):
    """The learner of the file `name`, trained here from nothing."""
    with as_stored():
        learner = conquer.make(told["algorithm"], dim=DIM, **told["parameters"])
    play(learner, rounds(name, told["fixed"]), told["rounds"], told["on_show"])
    return learner


@pytest.mark.parametrize("origin", ["loaded", "made anew"])
@pytest.mark.parametrize("name", MODELS)
def test_models_go_on(name, origin, tmp_path):
    file, told = unpacked("models.zip", name, tmp_path), MODELS[name]
    learner = conquer.load(file) if origin == "loaded" else made(name, told)
    conquer.save(learner, tmp_path / "again")
    algorithm, model = told["algorithm"], told["parameters"].get("model")
    moved = resummed(algorithm, told["parameters"]) or redrawn(algorithm, model)
    if origin == "loaded" or (not moved and to_the_bit(algorithm)):
        assert arrays_of(tmp_path / "again") == arrays_of(file)
    choices, scores = go_on(learner, name, told)
    if redrawn(algorithm, model):
        assert len(choices) == MORE
        return
    chosen, chances = zip(*(said.rsplit(" ", 1) for said in choices), strict=True)
    chose, odds = zip(*(said.rsplit(" ", 1) for said in told["choices"]), strict=True)
    assert chosen == chose
    assert same(list(chances), list(odds), MOVED if moved else algorithm)
    assert same(scores, told["scores"], MOVED if moved else algorithm), (scores, told["scores"])


def perform(session, step):
    """One step of a session, {"ask": [items, context]} or {"tell": [offer, answer]}, and what came of it."""
    if "ask" in step:
        offer = session.ask(step["ask"][0], context=step["ask"][1])
        return [offer.id, offer.choice.query.name, list(offer.shown), offer.left, hexed(offer.chance)]
    try:
        return session.tell(*step["tell"])
    except ValueError as error:
        return type(error).__name__


def weights(session):
    """The scores of all unit vectors."""
    return [hexed(score) for score in session.learner.scores(np.eye(session.learner.dim))]


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_go_on(name, tmp_path):
    file, told = unpacked("sessions.zip", name, tmp_path), SESSIONS[name]
    session = conquer.load(file)
    conquer.save(session, tmp_path / "again")
    assert arrays_of(tmp_path / "again") == arrays_of(file)
    session = conquer.load(tmp_path / "again")
    assert list(session.pending) == told["pending"]
    learner, results = session.learner, [perform(session, step) for step in told["steps"]]
    if redrawn(learner.name, learner.parameters.get("model")):
        return
    assert results == [step["result"] for step in told["steps"]]
    moved = resummed(learner.name, learner.parameters)
    assert same(weights(session), told["weights"], MOVED if moved else learner.name)


def conquer_parse(*arguments, folder):
    """Run `conquer parse ...` in a folder."""
    command = [sys.executable, "-W", "error", "-m", "conquer", "parse", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PARSERS)
def test_parsers_parse(name, tmp_path):
    model = unpacked("parsers.zip", name, tmp_path)
    conquer_parse("predict", FOLDER / "unseen.conllu", "parsed.conllu", "--model", model, folder=tmp_path)
    assert (tmp_path / "parsed.conllu").read_text() == PARSERS[name]["parsed"]


@pytest.mark.parametrize("name", PARSERS)
def test_parsers_are_trained_to_the_same_weights(name, tmp_path):
    options = ["--treebank", FOLDER / "treebank.conllu", "--model", "anew", *PARSERS[name]["options"]]
    conquer_parse("train", *options, folder=tmp_path)
    assert arrays_of(tmp_path / "anew") == arrays_of(unpacked("parsers.zip", name, tmp_path))


def understood(reply):
    """(status, content) of a reply: JSON with its floats as texts, a model file as its arrays, else the text."""
    kind = reply.headers.get("content-type", "")
    if kind.startswith("application/json") and reply.content:
        return reply.status_code, json.loads(reply.content, parse_float=hexed)
    return reply.status_code, arrays_of(reply.content) if kind.endswith("octet-stream") else reply.text


async def converse(client, key, steps):
    """Send a model's requests one after the other; returns the replies, made-up event ids as <event>."""
    replies, event = [], "<event>"
    for step in steps:
        path, headers = step["path"].replace("<event>", event), {"authorization": f"Bearer {step.get('key', key)}"}
        reply = await client.request(step["method"], path, content=step.get("body"), headers=headers)
        status, content = understood(reply)
        if path.endswith("/next") and content.get("event"):
            event = content["event"]["event_id"]
        said = json.loads(json.dumps(content).replace(event, "<event>"))
        if step.get("sides") is False:  # 0.1 never put the middle one of three on the left
            said.pop("left")
        if isinstance(said, dict) and "summary" in said:  # 0.1 did not count rows that cannot be read
            assert said["summary"].pop("quarantined") == {"rows": 0, "first": []}
        replies.append({"status": status, "reply": said})
    return replies


@pytest.mark.parametrize("name", STORE["models"])
def test_stores_go_on(name, tmp_path, monkeypatch):
    # Version 0.1 asked a person about the same pair again, and its pools never ended.
    monkeypatch.setattr(PickLearner, "pairwise", False)
    (tmp_path / "store.db").write_bytes(gzip.decompress((FOLDER / "store.sqlite.gz").read_bytes()))

    async def go():
        async with Local(f"sqlite:///{tmp_path}/store.db", sweep_seconds=3600.0).running() as client:
            return await converse(client, STORE["key"], STORE["models"][name])

    asked, ranked = STORE["models"][name], False
    for step, said in zip(asked, run(go()), strict=True):
        request = f"{step['method']} {step['path']} {step.get('body', '')}"
        expected = {"status": step["status"], "reply": step["reply"]}
        if "format=preferences" in step["path"]:
            # Fields that records have gained since follow those they had.
            said["reply"] = re.sub(r',"kind":.*}$', "}", said["reply"], flags=re.MULTILINE)
        ranked = ranked or step["path"].startswith("/personalizer")
        if ranked:
            # What an action's features come to has changed since: another may be shown, and other words are learnt.
            assert said["status"] == expected["status"]
            continue
        algorithm = {"rival": MOVED, "three": "rival", "kernel": MOVED, "float32": MOVED}.get(name, "gnc")
        assert same(said, expected, algorithm), (request, said, expected)
