"""How learners and what they did look in a notebook or a terminal; parameters as scikit-learn asks for them."""

from collections.abc import Mapping
from typing import Any


def line(title: str, facts: Mapping[str, Any]) -> str:
    """One line.

    >>> line("gnc", {"dim": 3, "answers": 12})
    '<gnc: dim 3, answers 12>'
    """
    return f"<{title}: {', '.join(f'{name} {_short(value)}' for name, value in facts.items())}>"


def table(title: str, facts: Mapping[str, Any]) -> str:
    """A small HTML table with a title."""
    from html import escape

    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(_short(value))}</td></tr>" for name, value in facts.items())
    return f"<table><caption><b>{escape(title)}</b></caption>{rows}</table>"


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value!s:.60}"


def facts_of(learner: Any) -> dict[str, Any]:
    """What is worth knowing of a learner at a glance: its parameters where they are not the usual, and its answers."""
    usual = {} if learner.made_by is None else {each.name: each.default for each in learner.made_by.parameters}
    given = learner.parameters or {"model": type(learner.model).__name__.lower()}
    known = {name: value for name, value in given.items() if name == "model" or value != usual.get(name)}
    return {"dim": learner.dim, **known, "answers": learner.answers}


def title_of(learner: Any) -> str:
    """The learner's name, or what it is."""
    return learner.name or "a policy of one's own"


def parameters_of(learner: Any) -> dict[str, Any]:
    """The learner's parameters with its dim, by name."""
    return {"dim": learner.dim, **learner.parameters}


def remade(learner: Any, **changes: Any) -> Any:
    """A fresh learner with the same parameters but for the changes; a ValueError says which there are."""
    if learner.made_by is None:
        raise ValueError("only learners made by name have parameters: a policy of your own is made by its constructor")
    known = parameters_of(learner)
    allowed = {*known, "model", "explore", *learner.made_by.takes}
    if unknown := sorted(set(changes) - allowed):
        raise ValueError(f"{learner.name} has the parameters {', '.join(known)}; got {', '.join(unknown)}")
    usual = {each.name: each.default for each in learner.made_by.parameters}
    # A default that nobody has given is none that somebody means.
    kept = {
        name: value for name, value in known.items() if name != "U" or name in learner.given or value != usual[name]
    }
    given = {**kept, **changes}
    if changes.get("model", known.get("model")) != known.get("model"):
        # What the other model does not take is left at its own defaults.
        lacking = {each.name for each in learner.made_by.parameters if given["model"] not in each.models}
        given = {name: each for name, each in given.items() if name not in lacking or name in changes}
    return learner.made_by.build(**given)


def change(learner: Any, **changes: Any) -> None:
    """Give a learner that has learnt nothing other parameters, in place."""
    if changes and not learner.fresh:
        raise ValueError(f"{learner.name} has learnt {learner.answers} answers with these parameters: clone it first")
    if changes:
        made = remade(learner, **changes)
        if type(made) is not type(learner):
            raise ValueError("explore= makes another kind of learner: make it anew")
        learner.__dict__.clear()
        learner.__dict__.update(made.__dict__)
