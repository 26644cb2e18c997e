"""Look up names that a user gave, and suggest the nearest one for an unknown name."""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from ftlkit._native import UserError

T = TypeVar("T")


def several(number: int, what: str) -> str:
    """A number of things, `1 point`, `2,000 points` or `3 flushes`."""
    ending = "" if number == 1 else "es" if what.endswith("sh") else "s"
    return f"{number:,} {what}{ending}"


def hint(name: str, names: Iterable[str]) -> str:
    """A question for the name that was probably meant, after a space; empty if none is near."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def known(name: str, table: Mapping[str, T], what: str) -> T:
    """A table's value under a name; for an unknown name a `UserError` that lists the names."""
    if name not in table:
        raise UserError(f"there is no {what} {name}.{hint(name, table)} There are {', '.join(table)}.")
    return table[name]


def refuse_unknown(given: Iterable[str], names: Iterable[str], what: str) -> None:
    """Raise a `UserError` for the first name that is none of those that there are."""
    known = list(names)
    for name in given:
        if name not in known:
            raise UserError(f"{name} is no {what}.{hint(name, known)} There are {', '.join(known)}.")
