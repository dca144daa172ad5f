"""Checks of a model's settings before anything is stored, and the loading of kernels before the first request."""

import contextlib
import functools
from typing import Any

import msgspec
import numpy as np

from conquer import registry
from conquer.learners.batch import batch_learner
from conquer.service.errors import RefusalError, invalid
from conquer.service.model.pick_learner import PickLearner, build, fresh_learner
from conquer.service.model.schemas import FeatureSettings, ModelSettings

_LARGEST_STOPPING = 1024
_LARGEST_SQUARE = 4096
"""128 MB of matrix: copying it for a file or a snapshot takes the writer some hundredths of a second."""
_BUDGET = 1000
"""Answers that a kernel model keeps by default: every choose compares its items, up to 200, with all of them."""


def check_settings(settings: ModelSettings) -> None:
    """Refuse what could not be built, before anything is stored."""
    dim, stops = settings.features.dim, settings.stop is not None
    if _kind(settings) == "full":
        if dim > _LARGEST_SQUARE:
            raise invalid(f"a full model takes at most {_LARGEST_SQUARE} features here, got {dim}: set features.dim")
        if stops and dim > _LARGEST_STOPPING:
            most = f"a full model that stops takes at most {_LARGEST_STOPPING} features"
            raise invalid(f"{most}, got {dim}: set features.dim, or model='kernel'")
    learner = PickLearner(settings, fresh_learner(settings)).learner
    if stops:
        # A board decides in every round.
        try:
            learner.board(np.zeros((1, dim)))
        except ValueError as error:
            raise invalid(f"stop: {error}") from None


def completed(settings: ModelSettings, open_belief: bool) -> ModelSettings:
    """Settings with what the request left open, where a model can be built so.

    Voters are weighed if `open_belief`, and a kernel model keeps _BUDGET answers unless it is to stop.
    """
    changes: list[dict[str, Any]] = [{"believe": "voters"}] if open_belief else []
    if _kind(settings) == "kernel" and "budget" not in settings.parameters and settings.stop is None:
        changes.append({"parameters": {**settings.parameters, "budget": _BUDGET}})
    for change in changes:
        with contextlib.suppress(RefusalError):
            check_settings(changed := msgspec.structs.replace(settings, **change))
            settings = changed
    return settings


def _kind(settings: ModelSettings) -> str | None:
    """Which kind of model it is: the memory of a full one grows with the square of the features."""
    row = next((one for one in registry.algorithms() if one.name == settings.algorithm), None)
    return settings.model or (row.models[0] if row is not None and row.models else None)


@functools.cache
def warm() -> None:
    """Call what requests will call, so that it is compiled or loaded before the first one comes."""
    for model in ("diagonal", "full", "kernel"):
        settings = ModelSettings(algorithm="gnr", model=model, features=FeatureSettings(dim=16))
        learner = build(settings, None)[0]
        for payload in (b'"vector":[0,1]', b'"text":"a word"', b'"features":{"price":1.5}'):
            items = b'[{"id":"a",%s},{"id":"b",%s}]' % (payload, payload)
            for context in (b"null", b'{"hour":3.0}'):
                read = learner.read(items, context)
                learner.learn(read, learner.choose(read, 0)[0], 1.0)
                learner.scored(read)
        if batch := batch_learner(learner.learner):
            batch.choose_all(read.rows, [0, 2], [0])
            batch.learn_all(read.rows, np.array([[0, 1]]), [1.0], [0], [0])
