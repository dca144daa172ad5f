"""Train a dependency parser by one question per sentence and print its accuracy before and after."""

import random
import sys
from pathlib import Path

from conquer.data.treebank import parse
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features
from conquer.parsing.evaluation import evaluate
from conquer.parsing.learner import EdgeLearner
from conquer.parsing.rule import EdgeRule
from conquer.types import Query

WORDS = {
    "DET": ("the", "a", "every"),
    "ADJ": ("old", "green", "quiet", "small"),
    "NOUN": ("cat", "tree", "teacher", "river", "song"),
    "VERB": ("sees", "hears", "likes", "follows"),
    "ADV": ("often", "now"),
}


def sentence(rng):
    """A row of CoNLL-U per word: a noun phrase, a verb, a noun phrase, perhaps an adverb; heads by the grammar."""
    tags, heads = [], []
    for start in range(2):
        adjective = rng.random() < 0.5
        noun = len(tags) + 2 + adjective
        tags += ["DET", *(["ADJ"] if adjective else []), "NOUN"]
        heads += [noun, *([noun] if adjective else []), -1]
        if start == 0:
            tags, heads = [*tags, "VERB"], [*heads, 0]
    verb = tags.index("VERB") + 1
    heads = [verb if head == -1 else head for head in heads]
    if rng.random() < 0.4:
        tags, heads = [*tags, "ADV"], [*heads, verb]
    rows = zip(tags, heads, strict=True)
    lines = [f"{k}\t{rng.choice(WORDS[tag])}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_" for k, (tag, head) in enumerate(rows, 1)]
    return "\n".join(lines) + "\n\n"


def right(learner, bank):
    """The share of words with the right head."""
    return evaluate(bank, [one.with_heads(learner.tree(one)) for one in bank]).uas


rng = random.Random(0)
text = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else "".join(sentence(rng) for _ in range(260))
bank = parse(text)
held, asked = bank[: len(bank) // 4], bank[len(bank) // 4 :]
features = Features()
learner = EdgeLearner(Diagonal(features.dim, lam=0.3, update="margin"), EdgeRule(ask="gnc"), features=features)
print(f"right heads before any answer: {right(learner, held):.0%}")
questions = 0
for ticket, one in enumerate(asked):
    choice = learner.choose(one, ticket)
    if choice.query == Query.NONE:
        continue
    word, (first, second) = choice.memo["word"], choice.memo["heads"]
    truth = one.heads[word - 1]
    if truth in (first, second):  # else a person says "neither", and nothing is learnt
        learner.learn(one, choice, 1.0 if truth == first else -1.0)
    questions += 1
edges = sum(len(one.heads) for one in asked)
print(f"after {questions} questions, {questions / edges:.0%} of the edges: {right(learner, held):.0%}")
