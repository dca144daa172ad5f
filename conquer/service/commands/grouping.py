"""A board of groups: which items belong together, and how many of them there may be."""

from collections.abc import Sequence

from conquer.learners.believer import believer
from conquer.models.full import Full
from conquer.service.commands.pick_learner import PickLearner
from conquer.service.errors import conflict
from conquer.service.http.schemas import Item, Value

MOST = 300
"""Items or groups on one board."""
LISTED = 5000
"""Items of which the groups of a full model are the means: it scores the means alone."""


def most_items(learner: PickLearner, grouped: bool) -> int:
    """How many items a board of this model may be of."""
    believing = believer(learner.learner)
    inner = learner.learner if believing is None else believing.learner
    return LISTED if grouped and isinstance(getattr(inner, "model", None), Full) else MOST


def group_names(items: Sequence[Item], feature: str) -> list[str]:
    """Each item's group, the value of one of its features; a RefusalError where an item has none, or groups are many.

    >>> group_names([Item("a", features={"brand": "x"}), Item("b", features={"brand": 2.0})], "brand")
    ['x', '2']
    """
    names = [_named((item.features or {}).get(feature)) for item in items]
    if (lacking := next((item.id for item, name in zip(items, names, strict=True) if not name), None)) is not None:
        raise conflict("no_group", f"groups must name a feature of every item, {lacking!r} has no {feature[:80]!r}")
    if (count := len(set(names))) > MOST:
        raise conflict("too_many_items", f"a board has at most {MOST} groups, {feature[:80]!r} has {count:,} values")
    return names


def _named(value: Value | None) -> str:
    """A value as a name; 2.0 is 2, as it stood in the request."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return (value or "").strip()
