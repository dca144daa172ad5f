"""Judges on a served model: a fake endpoint in both orders, its failures, its cost, and its worth beside people."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from conquer.cli import app
from conquer.client import Client
from conquer.judging import ChatEndpoint, JudgeError, judge

ITEMS = b"\n".join(json.dumps({"id": f"i{k}", "text": "so " * k + "good"}).encode() for k in range(5))


class Fake(ThreadingHTTPServer):
    """An endpoint that prefers the longer text, or says what `replies` holds first: a status, or a text."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.asked, self.keys = [], [], []
        self.address = f"http://127.0.0.1:{self.server_port}/v1/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.keys.append(self.headers.get("authorization"))
        text = body["messages"][1]["content"]
        self.server.asked.append(text)
        one, other = (text.partition(f"[{mark}]\n")[2].partition(f"\n[/{mark}]")[0] for mark in "AB")
        said = self.server.replies.pop(0) if self.server.replies else "A" if len(one) > len(other) else "B"
        status = said if isinstance(said, int) else 200
        message = {"choices": [{"message": {"content": said}}], "usage": {"prompt_tokens": 100, "completion_tokens": 2}}
        data = said if isinstance(said, bytes) else json.dumps(message).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr("conquer.judging.time.sleep", lambda seconds: None)
    server = Fake()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(start):
    with Client(start().address) as client:
        client.create("m", "gnr", model="full", features={"dim": 64}, believe="people", quota=1)
        client.upload("m", ITEMS)
        yield client


def test_every_pair_is_asked_in_both_orders_and_learnt_from_a_judge(client, fake):
    ask = ChatEndpoint(fake.address, "llm", key="secret")
    *_, done = judge(client, "m", ask, "llm")
    assert (done.questions, done.contradictions, done.counts["first"] + done.counts["second"]) == (10, 0, 10)
    assert (len(fake.asked), ask.prompt_tokens, ask.completion_tokens) == (20, 2000, 40)
    assert {*fake.keys} == {"Bearer secret"}
    assert fake.asked[0].startswith("Which is better?")
    rows = [json.loads(line) for line in client.log("m").splitlines()]
    said = [row for row in rows if row["kind"] == "answer"]
    assert {(row["voter"], row["body"]["kind"]) for row in said} == {("llm", "judge")}
    chosen = {row["event_id"]: row["body"]["names"] for row in rows if row["kind"] == "choose"}
    assert all(row["body"]["winner"] == max(chosen[row["event_id"]]) for row in said)
    # Nothing is left; people and the judge are on one list.
    assert list(judge(client, "m", ask, "llm")) == []
    (voter,) = client.voters("m")["voters"]
    assert (voter["name"], voter["kind"], voter["answers"]) == ("llm", "judge", 10)


def test_a_run_goes_on_where_it_was_interrupted(client, fake):
    ask = ChatEndpoint(fake.address, "llm", retries=0)
    first = judge(client, "m", ask, "llm")
    next(first)
    fake.replies = [500]
    with pytest.raises(JudgeError, match="status 500"):
        next(first)
    *_, done = judge(client, "m", ask, "llm", most=100)
    assert done.questions == 9
    assert client.get("m")["summary"]["answers"]["learnt"] == 10


def test_contradictions_are_ties_and_no_verdict_is_a_skip(client, fake):
    fake.replies = ["A", "A", "no idea", "T", "T.", "B", "it depends"]
    *_, done = judge(client, "m", ChatEndpoint(fake.address, "llm"), "llm", most=4)
    assert dict(done.counts) == {"tie": 2, "skip": 2}
    assert done.contradictions == 2


def test_an_endpoint_is_asked_again_after_what_may_pass(client, fake):
    fake.replies = [429, 503]
    *_, done = judge(client, "m", ChatEndpoint(fake.address, "llm"), "llm", most=1, both_orders=False)
    assert (done.questions, len(fake.asked)) == (1, 3)
    fake.replies = [401]
    with pytest.raises(JudgeError, match="status 401"):
        next(judge(client, "m", ChatEndpoint(fake.address, "llm"), "llm"))
    fake.replies = [b"<html>"]
    with pytest.raises(JudgeError, match="no chat completion: '<html>'"):
        next(judge(client, "m", ChatEndpoint(fake.address, "llm"), "llm"))
    with pytest.raises(JudgeError, match="ConnectError"):
        next(judge(client, "m", ChatEndpoint("http://127.0.0.1:1/v1", "llm", retries=1), "llm"))


def test_any_function_is_a_judge(client):
    *_, done = judge(client, "m", lambda two: "first" if two.first < two.second else "second", "shorter", most=3)
    assert (done.questions, done.contradictions) == (3, 0)


def test_the_command_counts_and_refuses(client, fake):
    at, run = str(client._http.base_url), CliRunner().invoke
    options = ["--server", at, "--endpoint", fake.address, "--model", "llm"]
    found = run(app, ["judge", "m", *options, "--questions", "2", "--price", "10", "100"])
    assert found.exit_code == 0, found.output
    assert "2 questions: " in found.output
    assert "400 tokens read, 8 written, 0.0048" in found.output
    found = run(app, ["judge", "m", *options, "--one-order"])
    assert "8 questions: " in found.output
    assert "nothing is left to ask llm" in run(app, ["judge", "m", *options]).output
    assert "404 unknown_model" in str(run(app, ["judge", "none", *options]).exception)
