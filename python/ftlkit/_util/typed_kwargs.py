"""Functions with the keys of a typed dictionary as options, checked and in the signature.

Type checkers read such options from `Unpack[...]`; at run time Python would take any name. A
misspelled option must not be swallowed, since the answer would then be one to another question.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import ParamSpec

from ftlkit._util.lookup import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


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
