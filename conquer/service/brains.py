"""What learns behind a model's name: a registry learner with the reader of its items, bound to the log's seed."""

from typing import Any

import msgspec
import numpy as np

from conquer import registry
from conquer.files import FileError
from conquer.kernels.tickets import stream, ticket
from conquer.learners import Conquer
from conquer.service.folding import Brain, Pick
from conquer.service.items import Reader
from conquer.service.refusals import invalid
from conquer.service.requests import FeatureSettings, ModelSettings
from conquer.service.settings import Limits
from conquer.session import left_is_second
from conquer.types import Choice, Query


class LearnerBrain:
    """A learner that chooses with the ticket of (seed, ordinal), as a Session and a simulation of that seed do."""

    def __init__(self, settings: ModelSettings, learner: Conquer) -> None:
        self.learner, self.settings = learner, settings
        self.reader = Reader(settings.features, Limits())
        self._stream = stream("policy", settings.seed)

    @property
    def size(self) -> int:
        return sum(int(array.nbytes) for array in self.learner.model.state if isinstance(array, np.ndarray))

    def parse(self, items: bytes, context: bytes) -> tuple[list[str], Any]:
        return self.reader.read(items, context)

    def choose(self, rows: Any, ordinal: int) -> Pick:
        if len(rows) < 2 and self.learner.duels:
            raise invalid(f"{self.learner.name} shows two items, got {len(rows)}")
        number = ticket(self._stream, ordinal)
        choice = self.learner.choose(rows, number)
        left = choice.shown[-1] if left_is_second(number) else choice.shown[0]
        return Pick(choice, left, choice.memo.get("chance"), self.learner.scores(rows).tolist())

    def learn(self, rows: Any, choice: Choice, value: float) -> None:
        self.learner.learn(rows, choice, value)

    def expose(self, rows: Any, choice: Choice) -> Choice:
        return self.learner.expose(rows, choice)

    def check(self, choice: Choice, count: int) -> None:
        """Refuse a choice from outside that this learner could not learn from."""
        if choice.query is not Query.NONE:
            self.learner.check(choice, count)

    def dumps(self, extra: str) -> bytes:
        service = {"settings": msgspec.to_builtins(self.settings), "tally": extra}
        return registry.dumps(self.learner, {"service": service})


def make_learner(settings: ModelSettings) -> Conquer:
    """A fresh learner, or a RefusalError that says which setting is wrong."""
    try:
        learner = registry.make(
            settings.algorithm, dim=settings.features.dim, model=settings.model, **settings.parameters
        )
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    if settings.covariance == "on-show":
        try:
            learner.begin_exposing()
        except ValueError as error:
            raise invalid(str(error)) from None
    return learner


def checked_settings(settings: ModelSettings) -> None:
    """Refuse what could not be built, before anything is stored."""
    if settings.model == "full" and settings.features.dim > 8192:
        raise invalid(f"a full model takes at most 8192 features here, got {settings.features.dim}")
    make_learner(settings)


def build(settings: ModelSettings, data: bytes | None) -> tuple[Brain, str | None]:
    """What learns, fresh or from a snapshot, and the tally stored beside it."""
    if data is None:
        return LearnerBrain(settings, make_learner(settings)), None
    learner, extra, _ = registry.loads(data)
    return LearnerBrain(settings, learner), extra.get("service", {}).get("tally")


def imported(data: bytes) -> ModelSettings:
    """The settings of a model file: the service's own if it wrote the file, else from the learner in it."""
    try:
        learner, extra, _ = registry.loads(data)
        if "service" in extra:
            return msgspec.convert(extra["service"]["settings"], ModelSettings)
    except (FileError, msgspec.ValidationError, KeyError, TypeError) as error:
        raise invalid(f"not a model file: {error}") from None
    parameters = dict(learner.parameters)
    kind: Any = parameters.pop("model", "diagonal")
    return ModelSettings(
        algorithm=learner.name, model=kind, parameters=parameters, features=FeatureSettings(dim=learner.dim)
    )


def warm_kernels() -> None:
    """Load or compile what requests will call, before the first one comes."""
    settings = ModelSettings(algorithm="gnr", features=FeatureSettings(dim=16))
    brain, _ = build(settings, None)
    for payload in (b'"vector":[0,1]', b'"text":"a word"', b'"features":{"price":1.5}'):
        items = b'[{"id":"a",%s},{"id":"b",%s}]' % (payload, payload)
        for context in (b"null", b'{"hour":3.0}'):
            _, rows = brain.parse(items, context)
            brain.learn(rows, brain.choose(rows, 0).choice, 1.0)
