"""Learners with a policy of one's own in a file: rules are written as names, and read only where they are handed in."""

from collections.abc import Callable, Mapping
from typing import Any

from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.policies import Policy

Rules = Mapping[str, Callable[..., Any]]
"""Functions by their import paths, "module:name", or by their names alone."""
_CODES = {
    "first": (st.GREEDY, st.UCB, st.UNIFORM, st.WORST),
    "second": (st.GREEDY, st.UCB, st.RELATIVE_UCB, st.THOMPSON, st.UNIFORM, st.WORST),
    "gate": (st.ALWAYS, st.CONFIDENT),
}
_REPLIES = (st.REPLY_DUEL, st.REPLY_IGNORE)
_OPTIONS = {"eta", "U", "Q", "delta"}
MODEL_KINDS = ("diagonal", "full", "kernel")


def describe_own(learner: Conquer) -> dict[str, Any]:
    """How to make this learner anew, JSON-able; its rules by their import paths."""
    policy, kind = learner.policy, type(learner.model).__name__.lower()
    if kind not in MODEL_KINDS or policy.reply not in _REPLIES:
        raise ValueError("a policy of your own has a file form where it duels over a diagonal, full or kernel model")
    parts = {name: _written(name, getattr(policy, name)) for name in _CODES}
    own = {**parts, "eta": policy.eta, "reply": policy.reply}
    made = {"model": kind, **learner.model.settings}
    return {"policy": own, "name": learner.name, "dim": learner.dim, "parameters": made, "options": learner.options}


def rebuild_own(description: Mapping[str, Any], rules: Rules, build_model: Callable[..., Any]) -> Conquer:
    """A fresh learner of `describe_own`'s result. Nothing is imported: what a file names must be in `rules`."""
    given, made = dict(description["policy"]), dict(description["parameters"])
    kind, reply = made.pop("model"), given["reply"]
    if kind not in MODEL_KINDS or reply not in _REPLIES or set(description["options"]) - _OPTIONS:
        raise ValueError(f"no such learner: model {kind!r}, reply {reply!r}, options {sorted(description['options'])}")
    parts = {name: _read(name, given[name], rules) for name in _CODES}
    policy = Policy(**parts, eta=given["eta"], reply=reply)
    model = build_model(kind, description["dim"], **made)
    return Conquer(model, policy, name=str(description["name"]), **description["options"])


def _written(part: str, rule: Any) -> Any:
    if not callable(rule):
        if rule not in _CODES[part]:
            raise ValueError(f"the {part} rule {rule!r} of your policy has no file form")
        return int(rule)
    name = getattr(rule, "__qualname__", "")
    if not name or "<lambda>" in name:
        raise ValueError(f"the {part} rule {rule!r} has no name to be written under: make it a function of its own")
    return f"{rule.__module__}:{name}"


def _read(part: str, written: Any, rules: Rules) -> Any:
    if not isinstance(written, str):
        if isinstance(written, bool) or written not in _CODES[part]:
            raise ValueError(f"no {part} rule {written!r}")
        return written
    rule = rules.get(written) or rules.get(written.rpartition(":")[2])
    if not callable(rule):
        name = written.rpartition(":")[2]
        raise ValueError(f"the file needs your {part} rule {written!r}: load(path, rules={{{written!r}: {name}}})")
    return rule
