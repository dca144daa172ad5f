"""Plugins: algorithms, judges, encoders and readers of installed packages, found by name through entry points.

Entry points are read when a name is not built in, and only the package that offers it is imported.
`CONQUER_PLUGINS=off` disables them.
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
    """A plugin cannot be imported or is not what its group requires; the message names the package."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An object that a package offers under a name."""

    name: str
    package: str
    value: Any

    def error(self, text: str) -> PluginError:
        """An error that names the plugin and its package."""
        return PluginError(f"{self.name!r} of the package {self.package}: {text}")


def names(group: str) -> tuple[str, ...]:
    """The names that installed packages offer, sorted; nothing is imported.

    >>> "gnc" in names("algorithms")
    False
    """
    return tuple(sorted(_offered(group)))


def find(group: str, name: str) -> Plugin | None:
    """The plugin of this name, imported now; None if there is none.

    >>> find("judges", "no-such") is None
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
    except (Exception, SystemExit) as error:  # a script may call sys.exit
        what = f"{type(error).__name__}: {error}"
        raise PluginError(f"{name!r} of the package {packages[0]} cannot be imported: {what}") from error


@cache
def _offered(group: str) -> Mapping[str, tuple["EntryPoint", ...]]:
    """Entry points by name."""
    if group not in GROUPS:
        raise ValueError(f"group must be one of {', '.join(GROUPS)}, got {group!r}")
    if os.environ.get("CONQUER_PLUGINS", "").lower() == "off":
        return {}
    # Imported here: reading the installed packages is slow, and most processes never need it.
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=f"conquer.{group}"):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.value.split(":")[0]
