"""FTLs that installed packages add, by entry points.

A package names its classes in the group `ftlkit.plugins`. They are loaded when a translation layer
is named for the first time in a process, and are then known by their names like those of
`loading.py`. One that cannot be loaded is warned of once, and does not stop the rest.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from ftlkit._native import UserError
from ftlkit.own.ftl import Ftl
from ftlkit.own.loading import name_of, raised_at, registered_name

GROUP = "ftlkit.plugins"
"""The group of entry points."""


class Plugin(NamedTuple):
    """An entry point, and what became of it."""

    package: str
    """The package that has it, with its version."""
    place: str
    """Where it is, `module:name`."""
    name: str
    """What stacks call it; the entry point's own name if it could not be loaded."""
    error: str
    """Why it could not be loaded; empty if it was."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """All plugins of the installed packages, which are loaded now if they were not before."""
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    taken: dict[str, str] = {}
    found = tuple(_loaded(point, taken) for point in points)
    for plugin in found:
        if plugin.error:
            warnings.warn(
                f"{plugin.place} of {plugin.package} is left out: {plugin.error}", RuntimeWarning, stacklevel=2
            )
    return found


def _loaded(point: EntryPoint, taken: dict[str, str]) -> Plugin:
    """Load an entry point and register its class, whatever it raises."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
    try:
        return Plugin(package, point.value, _registered(point.load(), package, taken), "")
    except UserError as error:
        return Plugin(package, point.value, point.name, str(error))
    except Exception as error:  # noqa: BLE001 - whatever a package raises, the others go on
        return Plugin(package, point.value, point.name, f"cannot be loaded: {raised_at(error)}")


def _registered(part: object, package: str, taken: dict[str, str]) -> str:
    """Register a class; the first package that adds a name keeps it."""
    if not (isinstance(part, type) and issubclass(part, Ftl)):
        raise UserError(f"{part!r} does not derive from ftlkit.Ftl.")
    name = name_of(part)
    if name in taken:
        raise UserError(f"{taken[name]} has the FTL {name} already.")
    registered_name(part)
    taken[name] = package
    return name
