"""Look up names that a user gave, and suggest the nearest one for an unknown name.

Options of functions are such names. Type checkers read the keys of a typed dictionary from
`Unpack[...]`; at run time Python would take any name, and a misspelled option that is swallowed
makes the answer one to another question.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import ParamSpec

from ftlkit._native import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


P = ParamSpec("P")
R = TypeVar("R")
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


def typed_kwargs(options: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function that ends in `**options` take the keys of a typed dictionary and no other."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function)
        named = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        keyed = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=getattr(kind, "__forward_arg__", kind)
            )
            for name, kind in options.__annotations__.items()
        ]
        names = [parameter.name for parameter in (*named, *keyed)]

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_unknown(kwargs, names, f"option of {function.__name__}")
            return function(*args, **kwargs)

        checked.__signature__ = own.replace(parameters=[*named, *keyed])  # type: ignore[attr-defined] # read by inspect
        return checked

    return decorate
