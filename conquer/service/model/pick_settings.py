"""Checks of a model's settings before anything is stored, and the loading of kernels before the first request."""

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
    if _kind(settings) == "full" and settings.features.dim > _LARGEST_SQUARE:
        most = f"a full model takes at most {_LARGEST_SQUARE} features here"
        raise invalid(f"{most}, got {settings.features.dim}: set features.dim")
    _check_stop(PickLearner(settings, fresh_learner(settings)), settings)


def believing_if_it_can(settings: ModelSettings) -> ModelSettings:
    """Settings without a word on voters: voters are weighed where that works."""
    return _if_it_can(settings, believe="voters")


def bounded_if_it_can(settings: ModelSettings) -> ModelSettings:
    """Settings of a kernel model without a word on its budget: it keeps _BUDGET answers, unless it is to stop."""
    if _kind(settings) != "kernel" or "budget" in settings.parameters or settings.stop is not None:
        return settings
    return _if_it_can(settings, parameters={**settings.parameters, "budget": _BUDGET})


def _if_it_can(settings: ModelSettings, **changes: Any) -> ModelSettings:
    """The settings with these changes, or without them where a model cannot be built so."""
    changed = msgspec.structs.replace(settings, **changes)
    try:
        check_settings(changed)
    except RefusalError:
        return settings
    return changed


def _check_stop(learner: PickLearner, settings: ModelSettings) -> None:
    """Stopping is decided by a board in every round: the model must have one, and one that takes a moment."""
    if settings.stop is None:
        return
    if _kind(settings) == "full" and settings.features.dim > _LARGEST_STOPPING:
        most = f"a full model that stops takes at most {_LARGEST_STOPPING} features"
        raise invalid(f"{most}, got {settings.features.dim}: set features.dim, or model='kernel'")
    try:
        learner.learner.board(np.zeros((1, settings.features.dim)))
    except ValueError as error:
        raise invalid(f"stop: {error}") from None


def _kind(settings: ModelSettings) -> str | None:
    """Which kind of model it is: the memory of a full one grows with the square of the features."""
    row = next((one for one in registry.algorithms() if one.name == settings.algorithm), None)
    return settings.model or (row.models[0] if row is not None and row.models else None)


@functools.cache
def warm() -> None:
    """Call what requests will call, so that it is compiled or loaded before the first one comes."""
    for model in ("diagonal", "full", "kernel"):
        settings = ModelSettings(algorithm="gnr", model=model, features=FeatureSettings(dim=16))
        _rehearse(build(settings, None)[0])


def _rehearse(learner: PickLearner) -> None:
    for payload in (b'"vector":[0,1]', b'"text":"a word"', b'"features":{"price":1.5}'):
        items = b'[{"id":"a",%s},{"id":"b",%s}]' % (payload, payload)
        for context in (b"null", b'{"hour":3.0}'):
            read = learner.read(items, context)
            learner.learn(read, learner.choose(read, 0)[0], 1.0)
    if batch := batch_learner(learner.learner):
        batch.choose_all(read.rows, [0, 2], [0])
        batch.learn_all(read.rows, np.array([[0, 1]]), [1.0], [0], [0])
