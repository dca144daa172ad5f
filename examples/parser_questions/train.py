"""Train a dependency parser by one question per sentence and print its accuracy before and after."""

import random
import sys
from pathlib import Path

from conquer import parsing

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


rng = random.Random(0)
text = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else "".join(sentence(rng) for _ in range(260))
bank = parsing.parse(text)
test, train = bank[: len(bank) // 4], bank[len(bank) // 4 :]
trainer = parsing.Trainer(parsing.TrainSpec(ask="gnc"))
before = parsing.evaluate(test, trainer.parser().parse(test))
print(f"right heads before any answer: {before.uas:.0%}")
for one in train:
    question = trainer.ask(one)
    if question is not None:  # a person would now read question.asks
        truth = one.heads[question.word - 1]
        said = {question.heads[0]: "first", question.heads[1]: "second"}.get(truth, "neither")
        trainer.tell(question, said)
after = parsing.evaluate(test, trainer.parser().parse(test))
edges = sum(len(one) for one in train)
print(f"after {trainer.questions} questions, {trainer.questions / edges:.0%} of the edges: {after.uas:.0%}")
