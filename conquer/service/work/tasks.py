"""Models are made here, for one of two tasks: how its learner is built and checked, how files are read and written.

Everything else uses a learner by `learner_protocol.ServedLearner`, whatever its task is.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, func, insert, select

from conquer import saving
from conquer.learners.believer import believer
from conquer.service.engine.loading import Build
from conquer.service.errors import Kind, RefusalError, conflict, invalid
from conquer.service.model import pick_learner, pick_settings
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.schemas import FeatureSettings, ModelSettings
from conquer.service.model.tally import Tally
from conquer.service.settings import Limits
from conquer.service.store import snapshots
from conquer.service.store.log import Header
from conquer.service.store.schema import models
from conquer.service.work.exports import Record
from conquer.service.work.item_files import FileReading, Uploaded, read_items
from conquer.service.work.pool import check_groups

_LARGEST_DIM = 1 << 24
_json = msgspec.json.Encoder().encode


class Task(NamedTuple):
    """One task.

    - `warm`: compiles what its learners call.
    - `read_file(settings, data, text, images)`: the groups of an upload, in slices. `text` is the column of the texts,
      `images` are those of the model by file name.
    - `answer_lines`: writes answers in the task's own format; None: it has none.
    """

    build: Build
    check: Callable[[ModelSettings], None]
    warm: Callable[[], None]
    read_file: Callable[[ModelSettings, bytes, str | None, Mapping[str, str]], FileReading]
    answer_lines: Callable[[Connection, Header], Record] | None = None


@functools.cache
def find(name: str) -> Task:
    """The task of this name. Not for the event loop: importing a parser takes a while."""
    if name == "pick":
        return Task(pick_learner.build, pick_settings.check_settings, pick_settings.warm, _read_items)
    from conquer.service.work import parse_learner, parse_results

    def check(settings: ModelSettings) -> None:
        parse_learner.build(settings, None)

    def read_sentences(settings: ModelSettings, data: bytes, *_: object) -> FileReading:
        yield
        groups = parse_learner.read_treebank(data)
        return groups, Uploaded(len(groups), len(groups))

    return Task(parse_learner.build, check, parse_learner.warm, read_sentences, parse_results.answer_lines)


def build(settings: ModelSettings, data: bytes | None) -> tuple[ServedLearner, str | None]:
    """A model's learner, fresh or from a snapshot, and the tally stored with it."""
    return find(settings.task).build(settings, data)


def _read_items(settings: ModelSettings, data: bytes, text: str | None, images: Mapping[str, str]) -> FileReading:
    groups, found = yield from read_items(data, text, images)
    yield from check_groups(groups, settings.features, Limits())
    return groups, found


def create(
    connection: Connection,
    name: str,
    settings: ModelSettings,
    pieces: Sequence[bytes] = (),
    owner: str = "",
    limits: Limits | None = None,
) -> int:
    """Store the settings of a new model and the pieces of its snapshot; returns its id. `owner`: the id of a key."""
    if connection.execute(select(models.c.id).where(models.c.name == name)).first() is not None:
        raise conflict("model_exists", f"there is a model {name!r} already")
    if limits is not None:
        count = select(func.count()).select_from(models)
        if connection.execute(count).scalar_one() >= limits.models:
            raise RefusalError(Kind.INVALID, "too_many_models", f"this server holds at most {limits.models} models")
        most = limits.models_per_key
        if owner and connection.execute(count.where(models.c.owner == owner)).scalar_one() >= most:
            raise RefusalError(Kind.INVALID, "too_many_models", f"this key may create at most {most} models")
    now = time.time()
    values = {"name": name, "settings": _json(settings).decode(), "created": now, "owner": owner}
    values |= {"base": 0, "pooled": 0, "title": "", "paused": 0}
    model_id = int(connection.execute(insert(models).values(**values).returning(models.c.id)).scalar_one())
    snapshots.replace(connection, model_id, 0, pieces, now)
    return model_id


def check_size(learner: ServedLearner, most: float) -> None:
    """Refuse a model of more than `most` bytes: its snapshots and its file are copies made between other requests."""
    if learner.size > most:
        raise invalid(f"the model takes {learner.size:,} bytes, at most {most:,} are allowed: set features.dim")


def imported(data: bytes, most: float = float("inf")) -> tuple[ModelSettings, bytes]:
    """A model file from anyone (the service, `conquer.save`) as settings and the state to start from.

    Counts begin anew, and names of people stay behind, because this model's log does not know them.
    """
    try:
        learner, extra, arrays = saving.loads(data, largest_dim=_LARGEST_DIM)
        featurizer = pick_learner.stored_featurizer(extra, arrays)
        features = FeatureSettings(learner.dim)
        if (service := extra.get("service")) is not None:
            settings = msgspec.convert(service["settings"], ModelSettings)
        else:
            if featurizer is not None:
                learn = None if featurizer.learn is None else list(featurizer.learn)
                words = featurizer.kind, featurizer.columns, list(featurizer.ngrams)
                features = FeatureSettings(learner.dim, *words, featurizer.encoder, learn, featurizer.products)
            parameters: dict[str, Any] = dict(learner.parameters)
            kind, believe = parameters.pop("model", "diagonal"), parameters.pop("believe", None)
            settings = ModelSettings(learner.name, kind, parameters, features, believe=believe)
        if settings.task != "pick" or settings.algorithm != learner.name:
            raise ValueError(f"a file of {learner.name!r} cannot be a {settings.task} model of {settings.algorithm!r}")
        if settings.features.dim != learner.dim or (featurizer is not None and featurizer.dim != learner.dim):
            raise ValueError(f"the learner has {learner.dim} features, its settings have {settings.features.dim}")
        pick_settings.check_settings(settings)
        if (weighing := believer(learner)) is not None:
            # All at once: what is known of each voter stays theirs, under no name.
            names = weighing.table.names
            numbers = {name: k for k, name in enumerate(dict.fromkeys(name for _, name in names))}
            weighing.table.names = {(kind, f"forgotten-{numbers[name]}"): k for (kind, name), k in names.items()}
        served = pick_learner.PickLearner(settings, learner, featurizer)
        state = served.dumps(_json(Tally()).decode()) if served.size <= most else b""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise invalid(f"not a model file: {error!s:.500}") from None
    check_size(served, most)
    return settings, state
