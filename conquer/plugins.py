"""Other people's packages: rules, judges, encoders and readers found by name through entry points.

Nothing is looked for until a name is asked for that is not ours, and only the package that offers it is imported.
`CONQUER_PLUGINS=off` looks for nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = ("algorithms", "judges", "encoders", "readers")


class PluginError(ValueError):
    """A package offers a name and does not keep its word; the message names the package."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a package offers under a name."""

    name: str
    package: str
    value: Any

    def error(self, text: str) -> PluginError:
        """The error that says what is wrong, and with whom."""
        return PluginError(f"{self.name!r} of the package {self.package}: {text}")


def names(group: str) -> tuple[str, ...]:
    """The names that installed packages offer, sorted. Nothing is imported.

    >>> "gnc" in names("algorithms")
    False
    """
    return tuple(sorted(_offered(group)))


def find(group: str, name: str) -> Plugin | None:
    """What an installed package offers under this name, imported now; None where nobody offers it.

    >>> find("judges", "nobody's") is None
    True
    """
    there = _offered(group).get(name, ())
    if not there:
        return None
    packages = sorted({_package(point) for point in there})
    if len(packages) > 1:
        raise PluginError(f"{name!r} is offered by several packages, {', '.join(packages)}: uninstall all but one")
    try:
        return Plugin(name, packages[0], there[0].load())
    except (Exception, SystemExit) as error:  # a script ends its process, and would end ours
        what = f"{type(error).__name__}: {error}"
        raise PluginError(f"{name!r} of the package {packages[0]} cannot be imported: {what}") from error


@cache
def _offered(group: str) -> Mapping[str, tuple["EntryPoint", ...]]:
    """Entry points by name."""
    if group not in GROUPS:
        raise ValueError(f"group must be one of {', '.join(GROUPS)}, got {group!r}")
    if os.environ.get("CONQUER_PLUGINS", "").lower() == "off":
        return {}
    # Imported here: reading what is installed is slow, and most processes never ask.
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=f"conquer.{group}"):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.value.split(":")[0]
