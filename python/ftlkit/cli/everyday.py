"""What people type: `--ftl page dftl`, `--requests 10k`; and the line that they meant."""

import difflib
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError

_MEANT = re.compile(r"[Dd]id you mean:? [`'\"]?(?P<word>[^\s`'\"?]+)|\(Possible options?: (?P<option>[^\s,)]+)")
"""What an error says was meant."""

_WORD = re.compile(r"[^=,:+]+")

_ALIKE = 0.5
"""How like a typed word must be to what was meant, from 0 to 1."""


def joined(arguments: list[str], parameters: Sequence[Any]) -> list[str]:
    """The arguments with stacks that stand behind `--ftl` joined by commas."""
    if not any("--ftl" in parameter.opts for parameter in parameters):
        return arguments
    read: list[str] = []
    for argument in arguments:
        if read[-2:-1] == ["--ftl"] and not argument.startswith("-") and _is_stack(argument):
            read[-1] = f"{read[-1].rstrip(',')},{argument}"
        else:
            read.append(argument)
    return read


class Typed:
    """Reads what was typed for an option, without the library that typer loads for it."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401, ARG002 - as declared by typer
        """The value, or a list of values where an option may be repeated."""
        if param.multiple or param.nargs == -1:
            return () if value is None else [self._read(one, param) for one in value]
        return None if value is None else self._read(value, param)

    def _read(self, text: Any, param: Any) -> Any:  # noqa: ANN401 - a value of any type
        kind = param.type_descriptor.annotation
        if not isinstance(text, str) or kind not in (int, float, Path):
            return text
        if kind is Path:
            return Path(text)
        flag = max(param.opts, key=len)
        try:
            if kind is int and text.lstrip("-").isdecimal():
                number: float = int(text)
            else:
                number = _native.read_quantity("count", text) if kind is int else _native.share(text)
        except UserError as error:
            why = error if kind is int else "is no number; write one, such as 0.5 or 50%"
            raise UserError(f"{flag} {text}: {why}.") from None
        least = param.type_descriptor.parameter_info.min
        if least is not None and number < least:
            raise UserError(f"{flag} {text}: must be {least} or more.")
        return number


def _is_stack(text: str) -> bool:
    """Whether all that stands between commas begins with the name of a translation layer."""
    names = {name.casefold() for name in _names()}
    stacks = [stack for stack in text.split(",") if stack]
    return bool(stacks) and all(".py:" in stack or re.split("[:+]", stack)[0].casefold() in names for stack in stacks)


def _names() -> Iterator[str]:
    from ftlkit.api.catalogue import names  # noqa: PLC0415 - only who lists stacks needs them

    yield from names()


def corrected(error: str, typed: Sequence[str]) -> str | None:
    """The command line with the word that was meant in place of the one most like it."""
    found = _MEANT.search(error)
    if found is None:
        return None
    meant = (found["word"] or found["option"]).rstrip(".,;")
    words = [(place, word) for place, argument in enumerate(typed) for word in _WORD.finditer(argument)]
    # A flag is no value, and a value no flag.
    words = [(place, word) for place, word in words if word[0].startswith("--") == meant.startswith("--")]
    likeness = [_likeness(word[0], meant) for _, word in words]
    if not words or max(likeness) < _ALIKE:
        return None
    place, word = words[likeness.index(max(likeness))]
    if word[0] == meant:
        return None
    argument = typed[place]
    line = [*typed[:place], f"{argument[: word.start()]}{meant}{argument[word.end() :]}", *typed[place + 1 :]]
    return f"ftlkit {shlex.join(line)}"


def _likeness(word: str, meant: str) -> float:
    return difflib.SequenceMatcher(None, word.lstrip("-").casefold(), meant.lstrip("-").casefold()).ratio()
