"""Vectors made by another package: a function from texts or dicts to numbers, by the name it is offered under."""

from typing import Any

import numpy as np

from conquer import plugins
from conquer.types import Floats


def check_through(name: Any, kind: str, columns: str) -> None:
    """A ValueError where nobody offers this featurizer, or settings of words would be ignored."""
    if (kind, columns) != ("binary", "hashing"):
        raise ValueError(f"through={name!r} makes vectors: kind and columns must be left alone, got {kind}, {columns}")
    _offered(name)


def vectors_through(name: str, items: list[Any]) -> Floats:
    """(K, D): the vectors of the items, checked: as many as items, of one length, finite."""
    plugin = _offered(name)
    try:
        found = np.asarray(plugin.value(items), dtype=np.float64)
    except Exception as error:
        raise plugin.error(f"cannot make vectors: {type(error).__name__}: {error}") from error
    if found.ndim != 2 or len(found) != len(items) or not np.isfinite(found).all():
        raise plugin.error(f"must return {len(items)} finite vectors of one length, got shape {found.shape}")
    return found


def _offered(name: Any) -> plugins.Plugin:
    plugin = plugins.find("featurizers", name) if isinstance(name, str) else None
    if plugin is None:
        there = ", ".join(plugins.names("featurizers")) or "none"
        raise ValueError(f"through must name a featurizer of an installed package, there are {there}; got {name!r}")
    if not callable(plugin.value):
        raise plugin.error(f"must be a function of a list of items, got {plugin.value!r:.80}")
    return plugin
