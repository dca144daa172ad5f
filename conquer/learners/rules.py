"""Rules written in Python: a round with one of them, the probabilities of built-in rules, policy serialization."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.choice import pick_once
from conquer.models.model import CompiledModel
from conquer.policies import FIRST, Policy, rule_name
from conquer.rows import SparseRows
from conquer.types import Choice, Floats, Model, Query

Rules = Mapping[str, Any]
"""Functions of a custom policy by "module:name" or by name, and custom `Algorithm` rows by their names."""
_CODES = {
    "first": FIRST,
    "second": (*FIRST, st.RELATIVE_UCB, st.THOMPSON),
    "gate": (st.ALWAYS, st.CONFIDENT),
}
_REPLIES = (st.REPLY_DUEL, st.REPLY_IGNORE)


@dataclass(frozen=True, slots=True)
class InRound:
    """A model as the rules of one round see it: its scores are projected in the order of the round's ticket."""

    model: CompiledModel
    ticket: int

    @property
    def dim(self) -> int:
        return self.model.dim

    def scores(self, X: Any) -> Floats:
        return self.model.scores(X, self.ticket)

    def variances(self, X: Any) -> Floats:
        return self.model.variances(X)

    def contrasts(self, X: Any, pivot: int) -> Floats:
        return self.model.contrasts(X, pivot)

    def update(self, X: Any, weights: Mapping[int, float] | Sequence[float], target: float) -> None:
        self.model.update(X, weights, target, self.ticket)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.model.arrays()


def choose_by_rules(compiled: CompiledModel, policy: Policy, eta: float, rows: SparseRows, ticket: int) -> Choice:
    """Which items to show and whether to ask: `kernels.rounds.choice.choose` for a policy with Python functions."""
    count, model = rows.rows.size, InRound(compiled, ticket)
    first = _values(model, policy.first, eta, rows, None, ticket)
    a, _ = pick_once(first, count, -1, np.uint64(ticket), np.uint64(0))
    second = _values(model, policy.second, eta, rows, a, ticket)
    b, _ = pick_once(second, count, a, np.uint64(ticket), np.uint64(1))
    if callable(policy.gate):
        ask = bool(policy.gate(model, rows, a, b, eta))
    else:
        ask = policy.gate == st.ALWAYS or not confident(model, eta, rows, a, b)
    return Choice((a, b) if ask else (a,), Query.DUEL if ask else Query.NONE, ticket, {"chance": None})


def confident(model: Model, eta: float, rows: SparseRows, a: int, b: int) -> bool:
    """GNC's gate: whether a leads b by more than the width of their difference, so that nothing is asked."""
    scores = model.scores(rows)
    return bool(scores[a] - scores[b] > math.sqrt(eta * model.contrasts(rows, a)[b]))


def chance_of(
    compiled: CompiledModel, policy: Policy, eta: float, rows: SparseRows, shown: tuple[int, ...], ticket: int
) -> float | None:
    """The probability that the policy shows exactly these items; None where its rules have no closed form.

    A rule draws uniformly among its largest values, so a probability is a product of one over the number of ties.
    """
    if policy.first not in FIRST or policy.second not in (*FIRST, st.RELATIVE_UCB, st.ALONE) or callable(policy.gate):
        return None
    model, (first, *rest) = InRound(compiled, ticket), shown
    chance = _shares(_values(model, policy.first, eta, rows, None, ticket), -1)[first]
    if policy.second == st.ALONE or chance == 0.0:
        return float(chance)
    shares = _shares(_values(model, policy.second, eta, rows, first, ticket), first)
    gated = policy.gate == st.CONFIDENT
    silent = [k for k in np.flatnonzero(shares).tolist() if gated and confident(model, eta, rows, first, k)]
    if not rest:
        return float(chance * shares[silent].sum())
    return 0.0 if rest[0] in silent else float(chance * shares[rest[0]])


def _shares(values: Floats, skip: int) -> Floats:
    """(K,): the probability of each position to be picked as a largest value, `skip` left out."""
    found = np.array(values)
    if skip >= 0:
        found[skip] = -np.inf
    ties = found == found.max()
    shares: Floats = ties / ties.sum()
    return shares


def _values(model: Model, rule: Any, eta: float, rows: SparseRows, first: int | None, ticket: int) -> Floats:
    """(K,): what the rule maximises."""
    if callable(rule):
        values = np.ascontiguousarray(rule(model, rows, first, eta, ticket), dtype=np.float64)
        if values.shape != (rows.rows.size,):
            raise ValueError(f"the rule must return {rows.rows.size} values, got shape {values.shape}")
        if np.isnan(values).any():
            raise ValueError(f"the rule must return numbers, got nan for item {int(np.isnan(values).argmax())}")
        return values
    if rule == st.UNIFORM:
        return np.zeros(rows.rows.size)
    if rule in (st.GREEDY, st.WORST):
        return model.scores(rows) if rule == st.GREEDY else -model.scores(rows)
    if rule == st.UCB:
        return model.scores(rows) + np.sqrt(eta * model.variances(rows))
    if rule == st.RELATIVE_UCB and first is not None:
        return model.scores(rows) + np.sqrt(eta * model.contrasts(rows, first))
    raise ValueError(f"{rule_name(rule)} cannot be combined with a rule written in Python")


def policy_header(policy: Policy) -> dict[str, Any]:
    """A policy as JSON: built-in rules as codes, functions by their import paths."""
    if policy.reply not in _REPLIES:
        raise ValueError("a custom policy can be saved if it shows two items; this one asks about a single item")
    parts = {part: _written(part, getattr(policy, part)) for part in _CODES}
    return {**parts, "eta": policy.eta, "reply": policy.reply}


def read_policy(header: Mapping[str, Any], rules: Rules) -> Policy:
    """The policy of `policy_header`. Nothing is imported: the functions a file names must be in `rules`."""
    if header["reply"] not in _REPLIES:
        raise ValueError(f"no policy has the reply {header['reply']!r}")
    parts = {part: _read(part, header[part], rules) for part in _CODES}
    return Policy(**parts, eta=header["eta"], reply=header["reply"])


def _written(part: str, rule: int | Callable[..., Any]) -> int | str:
    if not callable(rule):
        if rule not in _CODES[part]:
            raise ValueError(f"the {part} rule {rule_name(rule)} of a custom policy cannot be saved")
        return int(rule)
    name = getattr(rule, "__qualname__", "")
    if not name or "<lambda>" in name:
        raise ValueError(f"the {part} rule {rule!r} has no name to be saved under: make it a named function")
    return f"{rule.__module__}:{name}"


def _read(part: str, written: Any, rules: Rules) -> Any:
    if not isinstance(written, str):
        if isinstance(written, bool) or written not in _CODES[part]:
            raise ValueError(f"no {part} rule {written!r}")
        return written
    name = written.rpartition(":")[2]
    rule = rules.get(written) or rules.get(name)
    if not callable(rule):
        raise ValueError(f"the file needs your {part} rule {written!r}: load(path, rules={{{written!r}: {name}}})")
    return rule
