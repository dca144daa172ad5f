"""What learns behind a model's name: a registry learner with the reader of its items, bound to the log's seed."""

import json
from typing import Any

import msgspec
import numpy as np

from conquer import registry, saving
from conquer.answers import left_is_second
from conquer.features.featurizer import Featurizer
from conquer.service.commands.reading import Reader
from conquer.service.errors import invalid
from conquer.service.http.schemas import FeatureSettings, ModelSettings
from conquer.service.log.fold import Brain, Pick, Read, tally_of
from conquer.service.log.statistics import Tally
from conquer.service.settings import Limits
from conquer.tickets import stream, ticket
from conquer.types import Choice, Learner, Query

_FEATURIZER = "featurizer."
LARGEST_DIM = 1 << 24
_json = msgspec.json.Encoder().encode


class LearnerBrain:
    """A learner that chooses with the ticket of (seed, ordinal), as a Session and a simulation of that seed do."""

    def __init__(self, settings: ModelSettings, learner: Learner, featurizer: Featurizer | None = None) -> None:
        self.learner, self.settings = learner, settings
        self.reader = Reader(settings.features, Limits(), featurizer)
        self._stream = stream("policy", settings.seed)

    @property
    def size(self) -> int:
        """Bytes of its state, roughly: rivals keep theirs in arrays of their own."""
        state = getattr(self.learner.model, "state", ())
        own = sum(int(array.nbytes) for array in state if isinstance(array, np.ndarray)) or 8 * self.learner.dim
        return own + sum(int(array.nbytes) for array in self.reader.featurizer.arrays().values())

    def parse(self, items: bytes, context: bytes) -> Read:
        return Read(*self.reader.read(items, context))

    def choose(self, read: Read, ordinal: int) -> Pick:
        number = ticket(self._stream, ordinal)
        try:
            choice = self.learner.choose(read.rows, number)
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None
        names = tuple([read.ids[k] for k in choice.shown])
        left = names[-1] if left_is_second(number) else names[0]
        return Pick(choice, names, left, choice.memo.get("chance"), self.learner.scores(read.rows).tolist())

    def learn(self, read: Read, choice: Choice, value: float) -> None:
        self.learner.learn(read.rows, choice, value)

    def expose(self, read: Read, choice: Choice) -> Choice:
        return self.learner.expose(read.rows, choice)

    def check(self, read: Read, choice: Choice) -> tuple[str, ...]:
        """The ids of a choice from outside, or a ValueError if this learner could not learn from it."""
        if choice.query is not Query.NONE:
            self.learner.check(choice, len(read.ids))
        elif not all(0 <= k < len(read.ids) for k in choice.shown):
            raise ValueError(f"shown items must be in [0, {len(read.ids)}), got {choice.shown}")
        return tuple(read.ids[k] for k in choice.shown)

    def dumps(self, extra: str) -> bytes:
        featurizer = self.reader.featurizer
        service = {"settings": msgspec.to_builtins(self.settings), "tally": extra, "featurizer": featurizer.settings()}
        arrays = {f"{_FEATURIZER}{name}": array for name, array in featurizer.arrays().items()}
        return saving.dumps(self.learner, {"service": service}, arrays)


def make_learner(settings: ModelSettings) -> Learner:
    """A fresh learner, or a RefusalError that says which setting is wrong."""
    try:
        learner = registry.make(
            settings.algorithm, dim=settings.features.dim, model=settings.model, **settings.parameters
        )
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise invalid(f"{settings.algorithm} with {settings.parameters!r:.200}: {error}") from None
    if settings.covariance == "on-show":
        try:
            learner.begin_exposing()
        except ValueError as error:
            raise invalid(str(error)) from None
    return learner


def _square(settings: ModelSettings) -> bool:
    """Whether its memory grows with the square of the features."""
    row = next((one for one in registry.algorithms() if one.name == settings.algorithm), None)
    return (settings.model or (row.models[0] if row is not None and row.models else None)) == "full"


def checked_settings(settings: ModelSettings) -> None:
    """Refuse what could not be built, before anything is stored."""
    if settings.task == "parse":
        if settings.algorithm != "parser":
            raise invalid(f"a model for the task 'parse' has the algorithm 'parser', got {settings.algorithm!r}")
        if settings.covariance != "on-answer":
            raise invalid("a parser counts pairs when they are answered: covariance must be 'on-answer'")
        _parser(settings, None)
        return
    if _square(settings) and settings.features.dim > 8192:
        raise invalid(f"a full model takes at most 8192 features here, got {settings.features.dim}: set features.dim")
    brain = LearnerBrain(settings, make_learner(settings))
    if settings.default_answer is not None:
        _check_default(brain, settings.default_answer)


def _check_default(brain: LearnerBrain, answer: float) -> None:
    """What is learnt when a window closes must be an answer to this learner's questions."""
    read = brain.parse(b'[{"id":"a","vector":[1]},{"id":"b","vector":[0]}]', b"null")
    choice = brain.choose(read, 0).choice
    if choice.query is not Query.NONE:
        try:
            brain.learn(read, choice, answer)
        except ValueError as error:
            raise invalid(f"default_answer: {error}") from None


def build(settings: ModelSettings, data: bytes | None) -> tuple[Brain, str | None]:
    """What learns, fresh or from a snapshot, and the tally stored beside it."""
    if settings.task == "parse":
        return _parser(settings, data)
    if data is None:
        return LearnerBrain(settings, make_learner(settings)), None
    learner, extra, arrays = saving.loads(data)
    return LearnerBrain(settings, learner, _featurizer(extra, arrays)), extra.get("service", {}).get("tally")


def _parser(settings: ModelSettings, data: bytes | None) -> tuple[Brain, str | None]:
    from conquer.service.parser.learner import ParserBrain

    try:
        brain = ParserBrain(settings)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    return brain, None if data is None else brain.restore(data)


def _featurizer(extra: dict[str, Any], arrays: dict[str, Any]) -> Featurizer | None:
    """The featurizer in a model file, the service's or a Session's; None: the one of the settings."""
    if extra.get("kind") == "session":
        settings = json.loads(arrays["session"].tobytes())["featurizer"]
    else:
        settings = extra.get("service", {}).get("featurizer")
    if settings is None:
        return None
    own = {name.removeprefix(_FEATURIZER): a for name, a in arrays.items() if name.startswith(_FEATURIZER)}
    return Featurizer.from_settings(settings, own)


def imported(data: bytes) -> tuple[ModelSettings, bytes]:
    """A model file from anyone (the service, `conquer.save`) as settings and the state to begin from.

    Counts go on from the file's; names of people stay behind, because this model's log does not know them.
    """
    try:
        learner, extra, arrays = saving.loads(data, largest_dim=LARGEST_DIM)
        featurizer = _featurizer(extra, arrays)
        service = extra.get("service")
        if service is not None:
            settings, tally = msgspec.convert(service["settings"], ModelSettings), tally_of(service["tally"])
        else:
            parameters = dict(learner.parameters)
            kind: Any = parameters.pop("model", "diagonal")
            features = _feature_settings(learner.dim, featurizer)
            settings, tally = ModelSettings(learner.name, kind, parameters, features), Tally()
        if settings.task != "pick" or settings.algorithm != learner.name:
            raise ValueError(f"a file of {learner.name!r} cannot be a {settings.task} model of {settings.algorithm!r}")
        if settings.features.dim != learner.dim or (featurizer is not None and featurizer.dim != learner.dim):
            raise ValueError(f"the learner has {learner.dim} features, its settings speak of {settings.features.dim}")
        for voter in {*tally.voters, *tally.people, *(one.voter for one in tally.recent)} - {None}:
            tally.forget(str(voter))
        return settings, LearnerBrain(settings, learner, featurizer).dumps(_json(tally).decode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise invalid(f"not a model file: {error}") from None


def _feature_settings(dim: int, featurizer: Featurizer | None) -> FeatureSettings:
    if featurizer is None:
        return FeatureSettings(dim=dim)
    return FeatureSettings(dim, featurizer.kind, featurizer.columns, list(featurizer.ngrams))


def warm_parser() -> None:
    """The same for parse questions, which other servers need not wait for."""
    brain, _ = build(ModelSettings(algorithm="parser", task="parse", parameters={"bits": 4}), None)
    rows = "".join(f"{k}\\tw\\t_\\tX\\t_\\t_\\t_\\t_\\t_\\t_\\n" for k in (1, 2, 3))
    read = brain.parse(f'[{{"id":"s","text":"{rows}"}}]'.encode(), b"null")
    brain.learn(read, brain.choose(read, 0).choice, 1.0)


def warm_kernels() -> None:
    """Load or compile what requests will call, before the first one comes."""
    settings = ModelSettings(algorithm="gnr", features=FeatureSettings(dim=16))
    brain, _ = build(settings, None)
    for payload in (b'"vector":[0,1]', b'"text":"a word"', b'"features":{"price":1.5}'):
        items = b'[{"id":"a",%s},{"id":"b",%s}]' % (payload, payload)
        for context in (b"null", b'{"hour":3.0}'):
            read = brain.parse(items, context)
            brain.learn(read, brain.choose(read, 0).choice, 1.0)
