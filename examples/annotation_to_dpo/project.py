"""An annotation project over HTTP: a CSV in, people's picks, a DPO file out."""

import csv
import json
import os
import sys
import urllib.request
from pathlib import Path

SERVER = os.environ.get("SERVER", "http://127.0.0.1:8000")
SAMPLE = [
    ("1", "Name a hot drink.", "Tea."),
    ("2", "Name a hot drink.", "A hot drink is a drink that is hot, and there are many of those in the world."),
    ("3", "Name a hot drink.", "Coffee, for example."),
    ("4", "What is 2 + 2?", "4."),
    ("5", "What is 2 + 2?", "To answer this we first have to ask what numbers are, which is a long story."),
]


def call(path, body=None, raw=None):
    """Return the reply's bytes: POST with a body, GET without."""
    data = json.dumps(body).encode() if body is not None else raw
    kind = {"Content-Type": "application/json"} if body is not None else {}
    with urllib.request.urlopen(urllib.request.Request(SERVER + path, data, kind)) as reply:
        return reply.read()


def shorter(question):
    """The simulated people's preference."""
    texts = {item["id"]: item["text"] for item in question["items"]}
    return min((item["id"] for item in question["event"]["shown"]), key=lambda name: len(texts[name]))


source, target = (Path(name) for name in (sys.argv[1:] or ["answers.csv", "dpo.jsonl"]))
if not source.exists():
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "prompt", "text"), *SAMPLE])

call("/v1/models", {"name": "answers", "algorithm": "gnr", "question": "Which answer is better?", "planted": 0.1})
call("/v1/models/answers/items", raw=source.read_bytes())
for number in range(40):
    voter = ("ann", "ben")[number % 2]
    question = json.loads(call("/v1/models/answers/next", {"voter": voter}))
    if question["event"] is None:  # nothing is left to ask
        break
    answer = {"winner": shorter(question), "voter": voter}
    call(f"/v1/models/answers/events/{question['event']['event_id']}/answer", answer)

pairs = [json.loads(line) for line in call("/v1/models/answers/log?format=preferences").splitlines()]
kept = {(one["prompt"], one["chosen"], one["rejected"]) for one in pairs}
lines = [json.dumps(dict(zip(("prompt", "chosen", "rejected"), one, strict=True))) for one in sorted(kept)]
target.write_text("\n".join(lines) + "\n")
print(f"{len(pairs)} answers, {len(lines)} different pairs in {target}; the first: {lines[0]}")
