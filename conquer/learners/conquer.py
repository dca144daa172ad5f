"""The learner: a model and a policy. CONQUER's family, Confidit and Banditron differ only in these two."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import LARGEST, checked_answer, number
from conquer.kernels.models import calls
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import eta_now
from conquer.learners.algorithm import summary
from conquer.learners.batch import BatchRounds, chosen
from conquer.models.model import CompiledModel
from conquer.policies import Policy
from conquer.rows import SparseRows, as_rows
from conquer.tickets import FULL_RANGE, draw_ticket
from conquer.types import Choice, Floats, Ints, ItemId, Query, Source

if TYPE_CHECKING:
    from conquer.boards import Board, BoardSettings, Evidence

MOST_DRAWN = 2000
"""The largest dimension of a posterior draw; it takes about 2 s (cubic)."""
ETA_MODES = {"theory": st.THEORY, "tight": st.TIGHT}
_DUEL, _BEST = Query.DUEL, Query.BEST  # an enum's member costs a tenth of a microsecond to look up


class Conquer(BatchRounds):
    """A model, and the policy that says which items to show and when to ask. Not thread-safe.

    `choose` changes nothing but its rng; `learn` is the only mutation. The policy's settings belong to
    the learner, what is learnt to the model: several learners may share one model.

    `eta`: the factor of the widths, a number, or "theory" (the paper's bound, needs projection) or "tight" (ours, needs
    it where Q > 0), both for full and kernel models, with U >= ||u*||, Q and delta. `gamma`:
    Banditron's share of exploration. `alpha`: Confidit's. `name` and `parameters` say how the registry made it.

    >>> from conquer.models.diagonal import Diagonal
    >>> from conquer.policies import TTG
    >>> learner, X = Conquer(Diagonal(3), TTG), np.eye(3)
    >>> choice = learner.choose(X, np.random.default_rng(0))
    >>> learner.learn(X, choice, +1)
    >>> int(learner.scores(X).argmax()) == choice.shown[0]
    True
    """

    fixed_arms = False
    __repr__ = summary

    def __init__(
        self,
        model: CompiledModel,
        policy: Policy,
        *,
        eta: float | str | None = None,
        gamma: float = 0.1,
        alpha: float = 1.0,
        U: float | None = None,
        Q: float = 0.0,
        delta: float = 0.05,
        name: str = "custom",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.policy, self.name, self.dim = model, policy, name, model.dim
        if parameters is None:
            kind = type(model).__name__.lower()
            parameters = {"model": kind, **model.settings, "eta": eta, "U": U, "Q": Q, "delta": delta}
        self.parameters: Mapping[str, Any] = dict(parameters)
        self.U = U
        self._compiled = policy.compiled
        self.duels = policy.second not in (st.ALONE, st.EXPLORE)
        """Whether it shows two items, so that a round needs at least two."""
        self.shows = 2 if self.duels else 1
        """The number of items it shows."""
        first, second, gate = (
            0 if callable(code) else int(code) for code in (policy.first, policy.second, policy.gate)
        )
        radius, drift = number("U", 1.0 if U is None else U, 0, LARGEST), number("Q", Q, 0, LARGEST)
        mode, factor = self._eta(policy.eta if eta is None else eta, drift)
        self.rule = st.RuleConstants(
            first,
            second,
            gate,
            policy.reply,
            eta_mode=mode,
            eta=factor,
            radius=radius,
            drift=drift,
            delta=number("delta", delta, 0, 1, above=True, below=True),
            gamma=number("gamma", gamma, 0, 1),
            alpha=number("alpha", alpha, -1, 1),
        )
        if model.constants.forget < 1.0 and (mode != st.CONSTANT or second == st.CHALLENGER):
            bound = f"eta={eta!r}" if mode != st.CONSTANT else f"the challenger of {name}"
            raise ValueError(
                f"{bound} needs forget=1, got {model.constants.forget:g}: its bound is for answers that weigh the same"
            )
        """The policy's codes and its parameters; learners on one model have their own."""
        self.packed_rule = np.array(self.rule)
        """The same as kernels take them."""
        self._draws = policy.second == st.THOMPSON and model.exact
        if policy.second == st.SEPARATION:
            model.need_squares()
        elif self._draws:
            model.need_squares(model.draw_size(MOST_DRAWN))
        if policy.second == st.EXPLORE and gamma == 0:
            raise ValueError("gamma must be above 0, or Banditron would never explore")

    def _eta(self, eta: float | str | None, drift: float) -> tuple[int, float]:
        """The mode of eta and its constant value, or a ValueError where the bound does not hold."""
        if isinstance(eta, str):
            if eta not in ETA_MODES:
                raise ValueError(f"eta must be a number, 'theory' or 'tight', got {eta!r}")
            if not self.model.exact:
                raise ValueError(f"eta={eta!r} is a bound for the full and kernel models only")
            if self.model.projection is None and eta == "theory":
                raise ValueError("eta='theory' holds only with projection='sequential' or 'exact'")
            if self.model.projection is None and drift > 0:
                raise ValueError(
                    f"eta={eta!r} with Q = {drift:g} holds only with projection='sequential' or 'exact': unprojected "
                    "scores are not bounded; give Q = 0 or project"
                )
            return ETA_MODES[eta], 0.0
        return st.CONSTANT, number("eta", 0.0 if eta is None else eta, 0, LARGEST)

    @property
    def eta(self) -> float:
        """The factor under the root of the widths in the next round."""
        return float(eta_now(self.packed_rule, self.model.lam, self.model.stats))

    @property
    def compiled(self) -> bool:
        """Whether the compiled loop can run it."""
        return self._compiled

    @property
    def fresh(self) -> bool:
        """Whether it has learnt nothing yet."""
        return not self.model.stats.any()

    @property
    def answers(self) -> int:
        """The number of answers learnt."""
        return int(self.model.stats[st.LEARNT])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, by name: the state that `restore` takes."""
        return self.model.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked; a fresh learner only."""
        self.model.restore(arrays)

    def scores(self, X: Any, ticket: int = 0) -> Floats:
        """(K,) float64: the model's scores of the items X, a (K, D) array, scipy CSR or SparseRows.

        A sequential projection visits the items in the order of a ticket: with `choice.ticket` the scores are those
        that made the choice.
        """
        return self.model.scores(X, draw_ticket(ticket))

    def board(
        self,
        X: Any,
        settings: "BoardSettings | None" = None,
        *,
        names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        among: int = 0,
        evidence: "Evidence | None" = None,
        ids: Sequence[ItemId] | None = None,
        share: float = 0.0,
        **fields: Any,
    ) -> "Board":
        """Rank these items, with intervals. Uses no round and changes nothing.

        Parameters
        ----------
        X : (K, D) array, scipy CSR or SparseRows
            The items.
        settings : BoardSettings, optional
            How certain the board must be; its fields may be given by name instead: `delta`, `interval`, `tau2`, `U`,
            `design`, `target`.
        names : sequence of str, optional
            The items' ids.
        groups : sequence of str, optional
            One group per item, for a board of the groups' means.
        among : int
            The number of all items, if X lists only some; it enters the default bound U.
        evidence : Evidence, optional
            The recorded answers, as sessions keep them: they decide which items may still be best.
        ids : sequence, optional
            The items' ids in the evidence, if not their names.
        share : float
            The share of pairs drawn uniformly, for target="mean vote".

        Returns
        -------
        Board

        Raises
        ------
        ValueError
            The model keeps no variances of differences (diagonal, or a budget), or a value is out of range.
        """
        from conquer.boards import BoardSettings
        from conquer.learners.learner_board import board_of_learner  # most learners never need it

        if settings is None:
            settings = BoardSettings(**fields)
        elif fields:
            raise TypeError(f"give settings or its fields by name, not both; got {sorted(fields)}")
        return board_of_learner(self, X, settings, names, groups, among, evidence, ids, share)

    @property
    def narrows(self) -> bool:
        """Whether `choose` should be given the items that a race leaves open, as `among`."""
        return self.policy.second == st.CHALLENGER and self.records

    @property
    def records(self) -> bool:
        """Whether its answers are evidence for boards: duels that an exact model learns."""
        return self.duels and self.model.exact and self.policy.reply != st.REPLY_IGNORE

    def forecast(self, X: Any, choice: Choice) -> tuple[float, float]:
        """The difference of the scores of the two items of a duel, first less second, and its standard deviation."""
        rows = as_rows(X, self.dim)
        model, (first, second) = self.model, choice.shown
        with model.in_use():
            model.reserve_items(2)
            model.ticket[0] = choice.ticket
            arrays = rows.indptr, rows.indices, rows.data, rows.rows
            gap, variance = calls.forecast(model.state, *arrays, model.ticket, first, second)
        return float(gap), math.sqrt(variance)

    def choose(self, X: Any, rng: np.random.Generator | int, among: Ints | None = None) -> Choice:
        """Choose which items to show and whether to ask. Changes nothing but `rng`.

        Parameters
        ----------
        X : (K, D) array, scipy CSR or SparseRows
            The items of the round.
        rng : numpy Generator or int
            One ticket is drawn from it, or it is the ticket, in [0, 2**64): the only randomness of the round.
        among : (k,) int array, optional
            The positions to choose from; all by default.

        Returns
        -------
        Choice

        Raises
        ------
        ValueError
            X is not a matrix of finite numbers with D columns, or has fewer than two items.
        """
        if among is None:
            return self._choose(X, rng, None)
        choice = self._choose(as_rows(X, self.dim).take(among), rng, None)
        return replace(choice, shown=tuple([int(among[k]) for k in choice.shown]))

    def _choose(self, X: Any, rng: np.random.Generator | int, scores: Floats | None) -> Choice:
        """The choice; a compiled round writes its scores into `scores` (K,) if given."""
        rows = X if type(X) is SparseRows and X.dim == self.dim and X.rows.size else as_rows(X, self.dim)
        if rows.rows.size < 2 and self.duels:
            raise ValueError(f"{self.name} shows two items, got {rows.rows.size}")
        self.check_draw(rows.rows.size)
        ticket = draw_ticket(rng)
        if not self._compiled:
            from conquer.learners.rules import choose_by_rules  # only rules written in Python need it

            return choose_by_rules(self.model, self.policy, self.eta, rows, ticket)
        model = self.model
        model.enter()
        try:
            if model.work.shape[1] < rows.rows.size:
                model.reserve(rows)
            model.ticket[0] = ticket
            status, a, b, query, chance = calls.choose(
                model.state, rows.indptr, rows.indices, rows.data, rows.rows, self.packed_rule, model.ticket
            )
            if scores is not None:
                scores[:] = model.work[st.SCORES, : scores.size]
        finally:
            model.user = 0
        if status != st.OK:
            model.fail(status, rows)
        return chosen(a, b, query, ticket, float(chance))

    def check_draw(self, count: int) -> None:
        """Raise where a draw for `count` items would take too long."""
        if self._draws and (size := self.model.draw_size(count)) > MOST_DRAWN:
            raise ValueError(
                f"{self.name} would draw in {size:,} dimensions for {count:,} items and {self.dim:,} features, and at "
                f"most {MOST_DRAWN:,} are drawn in one call: offer fewer items, or take model='diagonal'"
            )

    def chance_of(self, X: Any, shown: tuple[int, ...], ticket: int) -> float | None:
        """The probability that `choose` shows exactly these items of X; None where it has no closed form."""
        from conquer.learners.rules import chance_of  # only exploration needs it

        return chance_of(self.model, self.policy, self.eta, as_rows(X, self.dim), shown, ticket)

    def choose_and_score(self, X: Any, rng: np.random.Generator | int) -> tuple[Choice, Floats]:
        """`choose` and `scores` at the cost of `choose`, if the round computes all scores anyway."""
        rows = as_rows(X, self.dim)
        if not self._compiled or self.policy.first == self.policy.second == st.UNIFORM:
            choice = self.choose(rows, rng)
            return choice, self.scores(rows, choice.ticket)
        scores = np.empty(len(rows))
        return self._choose(rows, rng, scores), scores

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """Learn one answer.

        Parameters
        ----------
        X : (K, D) array, scipy CSR or SparseRows
            The items that `choose` was given.
        choice : Choice
            Its result.
        answer : float
            To a duel +1 (first), -1 (second), 0 (tie) or a strength between; to BEST +1 (yes) or -1 (no).
        source : Source, optional
            Who answered; used by learners made with `believe`.

        Raises
        ------
        ValueError
            Nothing was asked, the choice does not fit X, or the answer is out of range. The state is unchanged.
        """
        rows = X if type(X) is SparseRows and X.dim == self.dim and X.rows.size else as_rows(X, self.dim)
        a, b = self.check(choice, rows.rows.size)
        answer = checked_answer(answer, strengths=choice.query != _BEST)
        model = self.model
        model.enter()
        try:
            if model.work.shape[1] < rows.rows.size:
                model.reserve(rows)
            model.make_room(rows)
            model.ticket[0] = choice.ticket
            status = calls.learn(
                model.state, rows.indptr, rows.indices, rows.data, rows.rows, self.packed_rule, model.ticket, a, b,
                float(answer),
            )  # fmt: skip
        finally:
            model.user = 0
        if status != st.OK:
            model.fail(status, rows)

    def check(self, choice: Choice, count: int) -> tuple[int, int]:
        """The two positions for the kernels; a ValueError if this is not a choice among `count` items."""
        duels, shown, memo = self.duels, choice.shown, choice.memo
        expected = _DUEL if duels else _BEST
        if choice.query != expected:
            raise ValueError(f"the choice has query {choice.query.name}, {self.name} learns only from {expected.name}")
        if len(shown) != (2 if duels else 1) or (duels and shown[0] == shown[1]):
            raise ValueError(f"{expected.name} needs {'two distinct items' if duels else 'one item'}, got {shown}")
        first, other = operator.index(shown[0]), operator.index(shown[1] if duels else memo.get("greedy", -1))
        if not 0 <= operator.index(choice.ticket) < FULL_RANGE:
            raise ValueError(f"a ticket must be in [0, 2**64), got {choice.ticket!r}")
        low = -1 if self.policy.second == st.ALONE else 0
        if not (0 <= first < count and low <= other < count):
            raise ValueError(f"shown items must be in [0, {count}), got {(first, other)}")
        return first, other
