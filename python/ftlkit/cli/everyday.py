"""What people type: `--ftl page dftl`, `--requests 10k`; and the line that they meant."""

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError

_MEANT = re.compile(r"[Dd]id you mean:? [`'\"]?(?P<word>[^\s`'\"?]+)|\(Possible options?: (?P<options>[^)]+)\)")
"""What an error says was meant."""

_GIVEN = re.compile(r"\bGive (?P<flag>--[a-z-]+) (?P<value>[\w.%]+\b%?)")
"""An option with its value that an error says to give."""

_FURTHER = re.compile(r"unexpected extra arguments?(?:\(s\))? \((?P<words>.*)\)")
"""What an error says of words behind the last argument."""

_WORD = re.compile(r"[^=,:+]+")

_NOTHING: Mapping[str, str] = {}

_ALIKE = 0.5
"""How like a typed word must be to what was meant, from 0 to 1."""

_LARGE = {"--requests", "--skip", "--operations", "--interval", "--after"}
"""Counts that are usually thousands."""

_REPEATED = {"--set", "--vary", "--where"}
"""Options that may be repeated."""

_ALIKE_FLAGS = 0.8
"""The same of options: `--read-share` is no `--write-share`."""


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


def refuse_empty(arguments: Sequence[str], parameters: Sequence[Any]) -> None:
    """Raise a `UserError` for an empty value, such as an unset variable of a shell."""
    taking = {flag: one for one in parameters for flag in one.opts if not getattr(one, "is_flag", False)}
    for before, argument in pairwise(["", *arguments]):
        flag, sign, value = argument.partition("=")
        if not (sign and flag in taking):
            flag, value = before, argument
        if not value.strip():
            takes = (taking[flag].metavar or "a value").replace("\\", "") if flag in taking else "a value"
            raise UserError(f"{flag if flag in taking else 'an argument'} is empty: give {takes}, or leave it out.")


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
            example = "0.5 or 50%" if kind is float else "4"
            why = (
                error
                if flag in _LARGE
                else f"is no {'whole ' if kind is int else ''}number; write one, such as {example}"
            )
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


def corrected(error: str, typed: Sequence[str], taken: Mapping[str, str] = _NOTHING) -> str | None:
    """The command line with the word that was meant in place of the wrong one.

    The wrong one stands in the error before what was meant. `taken` says what each option takes,
    which stands behind one that lacks it.
    """
    found, given = _MEANT.search(error), _GIVEN.search(error)
    if found is None:
        is_known = given is not None and given["flag"] in taken
        return f"ftlkit {shlex.join(once([*typed, *given.groups()], taken))}" if given and is_known else None
    meant = [word.rstrip(".,;") for word in (found["word"] or found["options"]).split(", ")]
    # A flag is no value, and a value no flag. Of equal values, the one of the option told is wrong.
    pairs = [
        ((_likeness(word, other), typed[place - 1] == error.partition(" ")[0]), place, start, word, other)
        for other in meant
        for place, argument in enumerate(typed)
        for start, word in _words(argument)
        if word.startswith("--") == other.startswith("--") and word != other and _is_told(word, error[: found.start()])
    ]
    (likeness, _), place, start, word, other = max(
        pairs, key=lambda pair: pair[0], default=((0.0, False), 0, 0, "", "")
    )
    if likeness < (_ALIKE_FLAGS if other.startswith("--") else _ALIKE):
        return None
    argument, behind = typed[place], typed[place + 1 :]
    lacks_value = other in taken and "=" not in argument and (not behind or behind[0].startswith("-"))
    value = [taken[other]] if lacks_value else []
    line = [*typed[:place], f"{argument[:start]}{other}{argument[start + len(word) :]}", *value, *behind]
    return f"ftlkit {shlex.join(once(line, taken))}"


def once(line: Sequence[str], taken: Mapping[str, str]) -> list[str]:
    """A command line whose options stand once, with the last value, as it would be read.

    `taken` has the options with a value; those that may be repeated stay.
    """
    kept: list[str] = []
    for place, word in enumerate(line):
        flag = word.partition("=")[0]
        later = [other.partition("=")[0] for other in line[place + 1 :]]
        before = line[place - 1] if place else ""
        is_value = before in taken and "=" not in before and before not in _REPEATED
        if is_value and before in [other.partition("=")[0] for other in line[place:]]:
            continue
        if not (flag.startswith("--") and flag in later and flag in taken and flag not in _REPEATED):
            kept.append(word)
    return kept


def _words(argument: str) -> Iterator[tuple[int, str]]:
    """The words of an argument and where they begin; `device.spare`, and both its parts."""
    for found in _WORD.finditer(argument):
        owner, dot, key = found[0].rpartition(".")
        yield found.start(), found[0]
        if dot:
            yield from ((found.start(), owner), (found.start() + len(owner) + 1, key))


def _is_told(word: str, error: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?!\w)", error) is not None


def near(flag: str, flags: Iterable[str]) -> list[str]:
    """The options that a mistyped one may mean, the likest first; never the opposite of it."""
    alike = {
        other: _likeness(flag, other)
        for other in flags
        if other.startswith("--") and other.startswith("--no-") == flag.startswith("--no-")
    }
    close = [other for other in alike if alike[other] >= _ALIKE_FLAGS or other.startswith(flag)]
    return sorted(close, key=lambda other: -alike[other])


def in_one_pattern(error: str, typed: Sequence[str]) -> str | None:
    """The command line with one pattern in place of several files of a trace.

    None where no pattern names these files and no others.
    """
    found = _FURTHER.search(error)
    further = len(found["words"].split(" ")) if found else 0
    for end in range(len(typed), further, -1):
        files = typed[end - further - 1 : end]
        if further and all(Path(file).is_file() for file in files):
            start = _common_start(files)
            behind = _common_start([file[len(start) :][::-1] for file in files])[::-1]
            pattern = f"{start}*{behind}"
            named = {str(path) for path in Path(pattern).parent.glob(Path(pattern).name)}
            line = [*typed[: end - further - 1], pattern, *typed[end:]]
            return f"ftlkit {shlex.join(line)}" if named == {str(Path(file)) for file in files} else None
    return None


def _common_start(texts: Sequence[str]) -> str:
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)


def _likeness(word: str, meant: str) -> float:
    one, other = (text.lstrip("-").casefold() for text in (word, meant))
    # Of a short word, two swapped letters are much.
    return (
        _ALIKE_FLAGS
        if sorted(one) == sorted(other) and one != other
        else difflib.SequenceMatcher(None, one, other).ratio()
    )
