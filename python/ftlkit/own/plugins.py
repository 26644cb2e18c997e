"""FTLs and policies that installed packages add, by entry points.

A package names its classes in the group `ftlkit.plugins`. They are loaded when a translation layer
is named for the first time in a process, and are then known by their names like those of
`loading.py`. One that cannot be loaded is warned of once, and does not stop the rest.
"""

import warnings
from functools import cache
from importlib.metadata import EntryPoint
from typing import NamedTuple

from ftlkit._native import UserError
from ftlkit.own.registry import KINDS, in_words, refused_with_place, registered_name

GROUP = "ftlkit.plugins"
"""The group of entry points."""


class Plugin(NamedTuple):
    """An entry point, and what became of it."""

    package: str
    """The package that has it, with its version."""
    place: str
    """Where it is, `module:name`."""
    kind: str
    """What it is, in words; empty if it could not be loaded."""
    name: str
    """What stacks call it; the entry point's own name if it could not be loaded."""
    error: str
    """Why it could not be loaded; empty if it was."""


@cache
def plugins() -> tuple[Plugin, ...]:
    """All plugins of the installed packages, which are loaded now if they were not before."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes as long to load as all of this

    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    taken: dict[tuple[str, str], str] = {}
    found = tuple(_loaded(point, taken) for point in points)
    for plugin in found:
        if plugin.error:
            warnings.warn(
                f"{plugin.place} of {plugin.package} is left out: {plugin.error}", RuntimeWarning, stacklevel=2
            )
    return found


def _loaded(point: EntryPoint, taken: dict[tuple[str, str], str]) -> Plugin:
    """Load an entry point and register what it is, whatever it raises."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
    try:
        with refused_with_place("cannot be loaded"):
            kind, name = _registered(point.load(), package, taken)
    except UserError as error:
        return Plugin(package, point.value, "", point.name, str(error))
    return Plugin(package, point.value, kind, name, "")


def _registered(part: object, package: str, taken: dict[tuple[str, str], str]) -> tuple[str, str]:
    """Register a part; the first package that adds a name keeps it."""
    for key, kind in KINDS.items():
        if isinstance(part, type) and issubclass(part, kind.base):
            name = part.stack_name()
            if (key, name) in taken:
                raise UserError(f"{taken[key, name]} has the {kind.words} {name} already.")
            registered_name(part, *([key] if key else []))
            taken[key, name] = package
            return kind.words, name
    raise UserError(f"{part!r} derives from none of {bases_in_words()}.")


def bases_in_words() -> str:
    """What a plugin may derive from."""
    *kinds, last = KINDS.values()
    return f"{in_words(kinds, ', ')} and {in_words([last])}"
