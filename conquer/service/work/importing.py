"""A model file from anyone (the service, `conquer.save`) as the beginning of a new model."""

from typing import Any

import msgspec

from conquer import saving
from conquer.features.featurizer import Featurizer
from conquer.learners.believer import believer
from conquer.service.errors import invalid
from conquer.service.model.pick_learner import PickLearner, stored_featurizer
from conquer.service.model.pick_settings import check_settings
from conquer.service.model.schemas import FeatureSettings, ModelSettings
from conquer.service.model.tally import Tally, read_tally
from conquer.types import Learner

LARGEST_DIM = 1 << 24
LARGEST_COUNT = 1 << 53
_json = msgspec.json.Encoder().encode


def imported(data: bytes) -> tuple[ModelSettings, bytes]:
    """A model file as settings and the state to begin from.

    Counts go on from the file's; names of people stay behind, because this model's log does not know them.
    """
    try:
        learner, extra, arrays = saving.loads(data, largest_dim=LARGEST_DIM)
        featurizer = stored_featurizer(extra, arrays)
        service = extra.get("service")
        if service is not None:
            settings, tally = (
                msgspec.convert(service["settings"], ModelSettings),
                read_tally(service["tally"], LARGEST_COUNT),
            )
        else:
            parameters = dict(learner.parameters)
            kind: Any = parameters.pop("model", "diagonal")
            believe = parameters.pop("believe", None)
            features = _feature_settings(learner.dim, featurizer)
            settings, tally = ModelSettings(learner.name, kind, parameters, features, believe=believe), Tally()
        if settings.task != "pick" or settings.algorithm != learner.name:
            raise ValueError(f"a file of {learner.name!r} cannot be a {settings.task} model of {settings.algorithm!r}")
        if settings.features.dim != learner.dim or (featurizer is not None and featurizer.dim != learner.dim):
            raise ValueError(f"the learner has {learner.dim} features, its settings speak of {settings.features.dim}")
        check_settings(settings)
        tally.voters, tally.people = {}, {}
        tally.recent = [one for one in tally.recent if one.voter is None]
        # Rows that could not be read are another log's.
        tally.quarantined, tally.reasons = 0, []
        _unname(learner)
        return settings, PickLearner(settings, learner, featurizer).dumps(_json(tally).decode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise invalid(f"not a model file: {error!s:.500}") from None


def _unname(learner: Learner) -> None:
    """Number the voters that the learner weighs, all at once: what is known of each stays theirs, under no name."""
    weighing = believer(learner)
    if weighing is not None:
        table = weighing.table
        numbers = {name: k for k, name in enumerate(dict.fromkeys(name for _, name in table.names))}
        table.names = {(kind, f"forgotten-{numbers[name]}"): k for (kind, name), k in table.names.items()}


def _feature_settings(dim: int, featurizer: Featurizer | None) -> FeatureSettings:
    if featurizer is None:
        return FeatureSettings(dim=dim)
    learn = None if featurizer.learn is None else list(featurizer.learn)
    words = featurizer.kind, featurizer.columns, list(featurizer.ngrams)
    return FeatureSettings(dim, *words, featurizer.encoder, learn, featurizer.products)
