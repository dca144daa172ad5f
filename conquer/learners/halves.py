"""Two models, each of half the voters: what others' answers foretell, without the voter's own among them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from conquer.kernels.rounds import settings as st
from conquer.learners.voters import ANSWERS, Voters
from conquer.models.model import CompiledModel
from conquer.rows import SparseRows

Models = tuple[CompiledModel, ...]
Fresh = Callable[[], CompiledModel]


class Halves:
    """Voters take turns between two halves; each half's answers are learnt by a model of its own.

    A voter's answer is foretold by the other half's model, in which none of theirs is. The models are made when the
    second named voter appears; nameless answers enter neither. `apart`: judges enter neither, and are foretold by the
    model that has learnt more.
    """

    def __init__(self, model: CompiledModel, fresh: Fresh, *, apart: bool) -> None:
        self.whole, self.fresh, self.apart = model, fresh, apart
        self.models: Models = ()
        self.half: list[int] = []
        """Of every voter that has a number: 0 or 1, or -1 for those who enter neither."""

    def of(self, voter: int, kind: str) -> int:
        """The half of a voter with this number, known or about to be."""
        if voter < len(self.half):
            return self.half[voter]
        return -1 if self.apart and kind == "judge" else sum(half >= 0 for half in self.half) % 2

    def ready(self, voter: int, table: Voters) -> Models:
        """The models, made where this is the second voter, or none; nothing is kept yet.

        Where all answers so far are the first voter's, they are in the whole model and need not be lost.
        """
        if self.models or voter == 0:
            return self.models
        models = self.fresh(), self.fresh()
        if self.half[0] == 0 and self.whole.stats[st.LEARNT] == table.sums[0, ANSWERS]:
            models[0].restore(self.whole.arrays())
        return models

    def foretell(self, models: Models, voter: int, kind: str, two: SparseRows) -> float:
        """p in [-1, 1]: what the others' answers say to this pair, as an answer; 0 while there are none."""
        if not models:
            return 0.0
        half = self.of(voter, kind)
        fuller = int(models[1].stats[st.LEARNT] > models[0].stats[st.LEARNT])
        scores = models[fuller if half < 0 else 1 - half].scores(two)
        return min(1.0, max(-1.0, float(scores[0] - scores[1]) / 2))

    def learn(self, models: Models, voter: int, kind: str, step: tuple[Any, ...]) -> None:
        """Keep the models, and learn the voter's answer in their half."""
        half, self.models = self.of(voter, kind), models
        if voter == len(self.half):
            self.half.append(half)
        if models and half >= 0:
            # The whole model has taken the step. Where this one's digits cannot hold it, it goes without.
            with suppress(ArithmeticError):
                models[half].move(*step)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The models' arrays, each under its half."""
        return {f"half{h}.{name}": a for h, model in enumerate(self.models) for name, a in model.arrays().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], kinds: Sequence[str]) -> None:
        """Take the state of `arrays()`, with the kinds of all voters in order."""
        for voter, kind in enumerate(kinds):
            self.half.append(self.of(voter, kind))
        if len(kinds) < 2:
            return
        models = self.fresh(), self.fresh()
        for h, model in enumerate(models):
            prefix = f"half{h}."
            model.restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
        self.models = models
