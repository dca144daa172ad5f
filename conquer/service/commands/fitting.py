"""Features that need a corpus: fitted once, to the first items uploaded, so that old answers keep their meaning."""

from collections.abc import Sequence

import msgspec

from conquer.features.featurizer import needs_fitting
from conquer.service.annotation.uploads import Group
from conquer.service.commands.learner import LearnerBrain
from conquer.service.commands.reading import Reader
from conquer.service.errors import conflict, invalid
from conquer.service.http.schemas import FeatureSettings
from conquer.service.log.records import Fitted
from conquer.service.log.transaction import Turn
from conquer.service.settings import Limits
from conquer.service.store import log_table as store

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


def fit_once(turn: Turn, groups: Sequence[Group]) -> None:
    """Fit rarity or a vocabulary that has not been fitted yet; the log then begins from a snapshot that holds it.

    Rarity that went on moving with the log would score old and new rounds in different units, so it does not move.
    """
    brain = turn.folded.brain
    if not isinstance(brain, LearnerBrain):
        return
    featurizer = brain.reader.featurizer
    if featurizer.fitted is not None or not needs_fitting(featurizer.kind, featurizer.columns):
        return
    if turn.folded.position > 0:
        raise conflict("not_fresh", f"model {turn.folded.name!r} already has a log: fit before the first round")
    items = [item for group in groups for item in group.items]
    kinds = {
        "text" if item.text is not None else "features" if item.features is not None else "vector" for item in items
    }
    if kinds not in ({"text"}, {"features"}):
        raise invalid(f"{featurizer.kind} features are fitted to texts or to dicts, got {', '.join(sorted(kinds))}")
    corpus = [item.text if item.text is not None else item.features for item in items]
    try:
        brain.reader.featurizer = featurizer.fit(corpus)
    except (ValueError, TypeError) as error:
        raise invalid(f"items: {error}") from None
    model, pieces = turn.folded.id, store.parts(turn.folded.dumps())
    store.drop_snapshot(turn.connection, model, 0)
    for part, piece in enumerate(pieces):
        store.write_part(turn.connection, model, 0, part, len(pieces), turn.now, piece)
    turn.append(Fitted(len(items)), None)
    turn.refold(1)
