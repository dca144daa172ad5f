"""Sentence vectors in, a board of language models out, one pick at a time."""

import hashlib

import numpy as np

import conquer

MODELS = ("terse", "polite", "chatty", "lost")
WAYS = {
    "terse": "{0}.",
    "polite": "Gladly: {0}. Ask me anything else.",
    "chatty": "Well, that is a question I could talk about for hours. In short, but not too short, {0}, I think.",
    "lost": "I am not sure what you mean. Perhaps something about tea?",
}
PROMPTS = [f"question {number}" for number in range(40)]
SIZE = 32


def ngrams(texts, size=SIZE):
    """(K, size): counts of three letters in a row in hashed columns, each row of length 1."""
    rows = np.zeros((len(texts), size))
    for row, text in zip(rows, texts, strict=True):
        for start in range(len(text) - 2):
            row[hashlib.blake2b(text[start : start + 3].encode(), digest_size=2).digest()[0] % size] += 1.0
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def embedding():
    """A sentence model if one is installed, else n-grams."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return ngrams
    return SentenceTransformer("all-MiniLM-L6-v2").encode


embed = embedding()
rng = np.random.default_rng(0)
truth = {"polite": 1.0, "terse": 0.6, "chatty": 0.1, "lost": -0.8}  # the simulated person's opinion of each


def answers(prompt):
    """(4, 4 + size): each model's answer as one column for the model and a small part for its words."""
    vectors = np.asarray(embed([WAYS[model].format(f"the answer to {prompt}") for model in MODELS]))
    return np.hstack([np.eye(len(MODELS)), 0.1 * vectors])


width = answers(PROMPTS[0]).shape[1]
session = conquer.Session(conquer.make("gnr", dim=width, model="full"), seed=0)
models = dict(zip(MODELS, np.eye(len(MODELS), width), strict=True))  # the models themselves, without their words
for asked in range(1, 3001):
    offer = session.ask(answers(PROMPTS[asked % len(PROMPTS)]), ids=MODELS)
    first, second = offer.shown
    wins = rng.random() < 0.5 + 0.25 * (truth[first] - truth[second])
    session.tell(offer, "first" if wins else "second")
    if asked % 100 == 0 and session.board(models).stop(0.3).done:
        break
board = session.board(models)
print(board)
print(f"asked {asked} times; {board.stop(0.3).text}")
print("order:", *session.rank(models))
