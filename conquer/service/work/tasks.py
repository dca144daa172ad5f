"""The tasks a model can have: how its learner is built and checked, how its files are read and written.

Everything else uses a learner by `learner_protocol.ServedLearner`, whatever its task is.
"""

import functools
from collections.abc import Callable, Generator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy import Connection

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import Build
from conquer.service.model import pick_learner, pick_settings
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.schemas import Group, ModelSettings
from conquer.service.settings import Limits
from conquer.service.work.exports import Record
from conquer.service.work.item_files import Uploaded, read_items
from conquer.service.work.pool import check_groups

FileReading = Generator[None, None, tuple[list[Group], Uploaded]]


class ItemFile(NamedTuple):
    """An upload. `held_out`: sentences to measure a parser on. `text`: the column of the texts. `first`: the number of
    its first group. `images`: the model's images by file name.
    """

    data: bytes
    held_out: bool = False
    text: str | None = None
    first: int = 1
    images: Mapping[str, str] = MappingProxyType({})


class Task(NamedTuple):
    """One task.

    - `warm`: compiles what its learners call.
    - `read_file`: the groups of an upload, in slices.
    - `measure`: evaluates a model; None: the task has no measure.
    - `answer_lines`: writes answers in the task's own format; None: it has none.
    """

    build: Build
    check: Callable[[ModelSettings], None]
    warm: Callable[[], None]
    read_file: Callable[[ModelSettings, ItemFile], FileReading]
    measure: Callable[[Engine, str], None] | None = None
    answer_lines: Callable[[Connection, int], Record] | None = None


@functools.cache
def find(name: str) -> Task:
    """The task of this name. Not for the event loop: importing a parser takes a while."""
    if name == "pick":
        return Task(pick_learner.build, pick_settings.check_settings, pick_settings.warm, _read_items)
    from conquer.service.work.parser import evaluation, export, parse_learner, questions

    def read_sentences(settings: ModelSettings, file: ItemFile) -> FileReading:
        yield
        groups = questions.read_treebank(file.data, file.held_out, file.first)
        return groups, Uploaded(len(groups), len(groups))

    check, warm = parse_learner.check_settings, parse_learner.warm
    return Task(parse_learner.build, check, warm, read_sentences, evaluation.measure, export.answer_lines)


def build(settings: ModelSettings, data: bytes | None) -> tuple[ServedLearner, str | None]:
    """A model's learner, fresh or from a snapshot, and the tally stored with it."""
    return find(settings.task).build(settings, data)


def _read_items(settings: ModelSettings, file: ItemFile) -> FileReading:
    groups, found = yield from read_items(file.data, file.text, file.images)
    yield from check_groups(groups, settings.features, Limits())
    return groups, found
