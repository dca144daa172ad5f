"""What a board needs of a learner, taken in a moment and made a learner again where nobody waits."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from conquer.features.featurizer import Featurizer
from conquer.learners.believer import believer
from conquer.service.model.pick_learner import PickLearner, fresh_learner
from conquer.service.model.schemas import ModelSettings


@dataclass(frozen=True, slots=True)
class Scoring:
    """A copy of the model that scores: nothing of the voters, whom a board does not speak of."""

    settings: ModelSettings
    arrays: dict[str, NDArray[Any]]
    featurizer: Featurizer

    def learner(self) -> PickLearner:
        """A learner that scores and ranks as the copied one did."""
        twin = fresh_learner(self.settings)
        twin.restore(self.arrays)
        return PickLearner(self.settings, twin, self.featurizer)


def scoring(learner: PickLearner) -> Scoring:
    """The model as it is now; it shares nothing but the featurizer."""
    believing = believer(learner.learner)
    inner = learner.learner if believing is None else believing.learner
    arrays = {name: array.copy() for name, array in inner.arrays().items()}
    return Scoring(learner.settings, arrays, learner.reader.featurizer)
