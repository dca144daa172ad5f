"""The tasks a model can have, one row each: how its learner is made and checked, how its files are read and written.

Everything else meets a task's learner through `log.served.ServedLearner` and does not ask which it is.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import Connection

from conquer.service.engine.engine import Engine
from conquer.service.engine.loading import Build
from conquer.service.model import pick_learner, pick_settings
from conquer.service.model.event import Event
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.records import Entry
from conquer.service.model.schemas import ModelSettings
from conquer.service.work.fitting import check_groups
from conquer.service.work.uploads import Contents, read_items

_NONE: Mapping[str, str] = MappingProxyType({})
Lines = Callable[[Entry, Event], bytes | None]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A row: `read_file` turns an upload (its bytes, whether it is held out, the first number free, the name of the
    column of texts, the model's images by the names of their files) into groups.

    `completed` decides what a new model's settings leave to the service; whether they leave open how far to believe
    voters is told beside them.
    `measure` looks how good a model is; `answer_lines` writes a model's answers in the task's own form.
    """

    build: Build
    check: Callable[[ModelSettings], None]
    completed: Callable[[ModelSettings, bool], ModelSettings]
    warm: Callable[[], None]
    read_file: Callable[[ModelSettings, bytes, bool, int, str | None, Mapping[str, str]], Contents]
    measure: Callable[[Engine, str], None] | None = None
    answer_lines: Callable[[Connection, int], Lines] | None = None


@functools.cache
def find(name: str) -> TaskRow:
    """The row of a task by its name; call it off the event loop, for a parser's code takes a while to import."""
    return _TASKS[name]()


def _pick() -> TaskRow:
    return TaskRow(
        pick_learner.build,
        pick_settings.check_settings,
        _believing,
        pick_settings.warm,
        _read_items,
    )


def _believing(settings: ModelSettings, open_belief: bool) -> ModelSettings:
    return pick_settings.believing_if_it_can(settings) if open_belief else settings


def _parse() -> TaskRow:
    # Imported here: a parser takes a while, and not every server asks parse questions.
    from conquer.service.work.parser import evaluation, export, parse_learner, questions

    def read_sentences(
        settings: ModelSettings,
        data: bytes,
        held_out: bool,
        first: int,
        text: str | None = None,
        images: Mapping[str, str] = _NONE,
    ) -> Contents:
        return Contents(questions.read_treebank(data, held_out, first))

    return TaskRow(
        parse_learner.build,
        parse_learner.check_settings,
        lambda settings, open_belief: settings,
        parse_learner.warm,
        read_sentences,
        evaluation.measure,
        export.answer_lines,
    )


def build(settings: ModelSettings, data: bytes | None) -> tuple[ServedLearner, str | None]:
    """What learns behind a model's name, fresh or from a snapshot, and the tally stored beside it."""
    return find(settings.task).build(settings, data)


def _read_items(
    settings: ModelSettings,
    data: bytes,
    held_out: bool,
    first: int,
    text: str | None = None,
    images: Mapping[str, str] = _NONE,
) -> Contents:
    contents = read_items(data, text, images)
    check_groups(contents.groups, settings.features)
    return contents


_TASKS: dict[str, Callable[[], TaskRow]] = {"pick": _pick, "parse": _parse}
