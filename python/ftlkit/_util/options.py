"""Options: each is declared once, as a field of a typed dictionary, for function and command.

Type checkers read the keys of a typed dictionary from `Unpack[...]`; at run time Python would take
any name, and a misspelled option that is swallowed makes the answer one to another question.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from typing_extensions import ParamSpec, get_type_hints

from ftlkit._util.lookup import refuse_unknown

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Option:
    """Help and metadata of an option, beside the type of the field that it annotates."""

    help: str
    metavar: str | None = None
    """What it takes, as help names it; none for a flag."""
    panel: str | None = None
    """The part of help in which it stands."""
    flags: tuple[str, ...] = ()
    """What a command calls it, if not as its field."""
    names: Callable[[], Iterable[str]] | None = None
    """What a shell completes."""
    least: int | None = None
    default: object = None
    """What a function takes where it is not given; False where it is a flag."""


@functools.cache
def declared(options: type) -> dict[str, tuple[Any, Option]]:
    """The options of a typed dictionary or dataclass, in order: the type of each, and its words."""
    hints = get_type_hints(options, include_extras=True)
    return {
        name: get_args(kind) if hasattr(kind, "__metadata__") else (kind, Option("")) for name, kind in hints.items()
    }


def typed_kwargs(options: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function that ends in `**options` take the options declared there and no other.

    They are in its signature and its documentation, and it gets their defaults.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function)
        named = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        keyed = [_keyword(name, kind, option) for name, (kind, option) in declared(options).items()]
        names = [parameter.name for parameter in (*named, *keyed)]
        defaults = {
            name: option.default for name, (_, option) in declared(options).items() if option.default is not None
        }

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_unknown(kwargs, names, f"option of {function.__name__}")
            return function(*args, **(defaults | kwargs))  # type: ignore[arg-type] # which are of these kinds

        checked.__signature__ = own.replace(parameters=[*named, *keyed])  # type: ignore[attr-defined] # read by inspect
        checked.__doc__ = "\n".join([inspect.getdoc(function) or "", *_described(options)])
        return checked

    return decorate


def _keyword(name: str, kind: object, option: Option) -> inspect.Parameter:
    default = False if kind is bool else option.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _described(options: type) -> Iterable[str]:
    """A section of documentation that has the options."""
    yield from ("", "Options", "-------")
    for name, (_, option) in declared(options).items():
        yield from (name, f"    {option.help}")
