"""Features that need a corpus: fitted once, to the first items uploaded, so that old answers keep their meaning."""

from collections.abc import Sequence

import msgspec

from conquer.service.engine.loading import Build
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict
from conquer.service.model.learner_protocol import ServedLearner
from conquer.service.model.reading import Reader
from conquer.service.model.records import CorpusFitted
from conquer.service.model.schemas import FeatureSettings, Group, ModelSettings
from conquer.service.settings import Limits
from conquer.service.store import snapshots

_json = msgspec.json.Encoder().encode
_ROUND = 500


def check_groups(groups: Sequence[Group], settings: FeatureSettings) -> None:
    """Refuse items that no round could be made of, before a person is asked about them."""
    # Words have no rarity yet; all else is as it will be.
    reader = Reader(msgspec.structs.replace(settings, kind="counts", columns="hashing"), Limits())
    for group in groups:
        for start in range(0, len(group.items), _ROUND):
            # An item more, so that neighbours across a cut are compared as well.
            part = group.items[max(0, start - 1) : start + _ROUND]
            reader.read(_json(part), _json(group.context))


def fitted_to(settings: ModelSettings, groups: Sequence[Group], build: Build) -> ServedLearner:
    """A learner whose features are fitted to these items; takes long, so it is made beside the engine."""
    learner, _ = build(settings, None)
    learner.fit([item for group in groups for item in group.items])
    return learner


def fit_once(turn: Turn, fitted: ServedLearner, items: int) -> None:
    """Let a model that has not begun start from a fitted learner; its log begins from a snapshot that holds it.

    Rarity that went on moving with the log would score old and new rounds in different units, so it does not move.
    """
    state = turn.state
    if not state.learner.unfitted:
        return
    if state.position > 0:
        raise conflict("not_fresh", f"model {state.name!r} already has a log: fit before the first round")
    state.learner = fitted
    snapshots.replace(turn.connection, state.id, 0, snapshots.pieces(state.dumps()), turn.now)
    turn.append(CorpusFitted(items), None)
