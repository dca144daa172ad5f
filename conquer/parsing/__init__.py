"""A dependency parser trained by questions: which of these two words is the head of this word?

>>> from conquer import parsing
>>> rows = ("1 Dogs _ NOUN _ _ 2 nsubj _ _", "2 bark _ VERB _ _ 0 root _ _")
>>> bank = parsing.parse("\\n".join(row.replace(" ", "\\t") for row in rows))
>>> parser = parsing.train(bank, parsing.TrainSpec(passes=2, bits=8))
>>> parser.parse(bank)[0].heads
(2, 0)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conquer.data.treebank import Sentence, TreebankError, parse, read, write
    from conquer.parsing.parser import Parser, load
    from conquer.parsing.spec import TrainSpec
    from conquer.parsing.trainer import HeadQuestion, Trainer, train
    from conquer.parsing.trees import Evaluation, evaluate

_HOMES = {
    "Evaluation": "parsing.trees",
    "HeadQuestion": "parsing.trainer",
    "Parser": "parsing.parser",
    "Sentence": "data.treebank",
    "TrainSpec": "parsing.spec",
    "Trainer": "parsing.trainer",
    "TreebankError": "data.treebank",
    "evaluate": "parsing.trees",
    "load": "parsing.parser",
    "parse": "data.treebank",
    "read": "data.treebank",
    "train": "parsing.trainer",
    "write": "data.treebank",
}
__all__ = [
    "Evaluation",
    "HeadQuestion",
    "Parser",
    "Sentence",
    "TrainSpec",
    "Trainer",
    "TreebankError",
    "evaluate",
    "load",
    "parse",
    "read",
    "train",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"conquer.{_HOMES[name]}"), name)
