"""Votes between texts, evaluated on held-out topics: `python left_out.py FOLDER vectors.npz [topics]`."""

import csv
import gzip
import json
import sys
from pathlib import Path

import numpy as np

import conquer

LAMS = (1.0, 3.0, 10.0, 30.0, 100.0)
folder, source = Path(sys.argv[1]), np.load(sys.argv[2])
limit = int(sys.argv[3]) if len(sys.argv) > 3 else None

names = {text: f"text {place}" for place, text in enumerate(source["texts"].tolist())}
vectors = source["all_layers"] - source["all_layers"].mean(axis=0)
vectors /= np.sqrt((vectors * vectors).sum(axis=1).mean())  # so that lam has the same scale for any model's vectors
items = dict(zip(names.values(), vectors.tolist(), strict=True))


def votes_of(path):
    """[(an id, an id, "first" or "second")] of a topic's file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        head = next(file).rstrip("\n").split("\t")
        rows = [dict(zip(head, line.rstrip("\n").split("\t"), strict=True)) for line in file]
    return [(names[row["a1"]], names[row["a2"]], "first" if row["label"] == "a1" else "second") for row in rows]


def right(training, tested, lam):
    """How many votes of the tested topics a fit of the training topics predicts."""
    votes = [vote for topic in training for vote in topics[topic]]
    told = {name for first, second, _ in votes for name in (first, second)}
    session = conquer.fit(votes, {name: items[name] for name in told}, lam=lam)
    asked = [vote for topic in tested for vote in topics[topic]]
    scores = dict(zip(items, session.learner.scores(vectors), strict=True))
    return sum((scores[first] > scores[second]) == (winner == "first") for first, second, winner in asked)


topics = {path.name.partition(".")[0]: votes_of(path) for path in sorted(folder.glob("*.csv.gz"))[:limit]}
shares, chosen = [], []
for topic, votes in topics.items():
    others = [other for other in topics if other != topic]
    halves = (others[::2], others[1::2])
    known = {lam: right(halves[0], halves[1], lam) + right(halves[1], halves[0], lam) for lam in LAMS}
    chosen.append(max(known, key=known.get))  # on the other topics only
    shares.append(right(others, [topic], chosen[-1]) / len(votes))
    print(f"{shares[-1]:.3f}  lam {chosen[-1]:<4g} {topic}", flush=True)
counts = [len(votes) for votes in topics.values()]
print(f"{len(topics)} topics: {np.mean(shares):.3f} in the mean, {np.average(shares, weights=counts):.3f} of all votes")

with open("votes.csv", "w", newline="") as file:  # input of `conquer fit`
    rows = [vote for votes in topics.values() for vote in votes]
    csv.writer(file).writerows([("first", "second", "winner"), *rows])
voted = {name for first, second, _ in rows for name in (first, second)}
with open("items.jsonl", "w") as file:
    file.writelines(json.dumps({"id": name, "vector": items[name]}) + "\n" for name in items if name in voted)
print(f"conquer fit votes.csv --items items.jsonl --lam {np.median(chosen):g} --out model.safetensors")
