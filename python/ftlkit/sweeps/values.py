"""The values of a varied key: lists and ranges, as `--vary` and `[sweep.vary]` spell them.

`dftl.cmt=16KiB..4MiB:x2` goes from 16 KiB by doubling, `device.spare=0.07,0.1,0.2` takes three
values, and `host.queue_depth=1..8:+1,16` both. How many values a range has is reckoned before any
of them is made.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count, takewhile

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.study.keys import kind_of

_SCALES = tuple({name: scale for name, scale in kind if name.isascii()} for kind in _native.units())
"""Units of sizes and of durations: those of a kind are told in each other."""

_NUMBER = r"\s*([0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?|\.[0-9]+)\s*([A-Za-z]*)\s*"
"""A number and its unit, if it has one."""

_LETTER = re.compile(r"\b[0-9][0-9_.]*[kmgtKMGT]\b")
"""A number with a bare letter, whose meaning is that of the key."""

_MOST = Decimal(10**25)
"""Where ranges end: beyond, decimals of 28 digits would be rounded."""

_FORM = "write FIRST..LAST:xFACTOR or FIRST..LAST:+STEP, for example 16KiB..4MiB:x2 or 1..8:+1"


@dataclass(frozen=True)
class Range:
    """Numbers from first to last, by a step or a factor, in the smallest unit given."""

    first: Decimal
    last: Decimal
    step: Decimal
    is_factor: bool
    unit: str

    @property
    def size(self) -> int:
        """How many numbers there are; may be more than any list has."""
        if not self.is_factor:
            return (Fraction(self.last) - Fraction(self.first)) // Fraction(self.step) + 1
        number = int(((self.last / self.first).ln() / self.step.ln()).to_integral_value("ROUND_FLOOR"))
        # The logarithm of a power may lie just below it.
        return number + 1 + (self.first * self.step ** (number + 1) <= self.last)

    def __str__(self) -> str:
        """The range as it is typed."""
        by = f"x{self.step.normalize():f}" if self.is_factor else f"+{_text(self.step, self.unit)}"
        return f"{_text(self.first, self.unit)}..{_text(self.last, self.unit)}:{by}"

    def __iter__(self) -> Iterator[str]:
        numbers = (
            self.first * self.step**place if self.is_factor else self.first + self.step * place for place in count()
        )
        for value in takewhile(lambda number: number <= self.last, numbers):
            yield _text(value, self.unit)


@dataclass(frozen=True)
class Axis:
    """A key and what it is set to, one value after the other."""

    key: str
    parts: tuple[str | Range, ...]
    where: str
    """What it is called in errors: the option, and the key where that does not say it."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return sum(1 if isinstance(part, str) else part.size for part in self.parts)

    def spelled(self) -> list[str]:
        """The values as `[sweep.vary]` lists them, a range as one text."""
        return [str(part) for part in self.parts]

    def values(self) -> list[str]:
        """All of them, as text; one that is there twice is an error."""
        for part in self.parts:
            if isinstance(part, Range) and part.last >= _MOST:
                raise UserError(f"{self.where}: a range ends below {_MOST:,}, in the smallest unit. End it earlier.")
        values = [value for part in self.parts for value in ([part] if isinstance(part, str) else part)]
        spelled: dict[Decimal | str, str] = {}
        for value in values:
            other = spelled.setdefault(measure(value), value)
            if other is not value:
                like = "" if other == value else f", as {other} and as {value}"
                raise UserError(f"{self.where}: the value {value} is there twice{like}. Give each value once.")
        return values


def parse(text: str) -> Axis:
    """`KEY=VALUES` as after `--vary`."""
    key, equals, values = text.partition("=")
    if not equals or "." not in key.strip(" ."):
        raise UserError(
            f"--vary {text}: not of the form KEY=VALUES; write for example dftl.cmt=16KiB..4MiB:x2 or "
            "device.spare=0.07,0.1,0.2."
        )
    return axis(key.strip(), values)


def axis(key: str, given: object, option: str = "") -> Axis:
    """The values of a key: text as after `--vary`, one value, or a list."""
    where = option or f"--vary {key}"
    items = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [given]
    kind = kind_of(key)
    parts = tuple(_part(where, _spelled(kind, _written(where, item))) for item in items)
    if not parts:
        raise UserError(f"{where}: there is no value. Give at least one.")
    return Axis(key, parts, where)


def axes(table: Json, before: str = "") -> list[Axis]:
    """The keys of a `[sweep.vary]` table; `dftl.cmt` is in quotes, or a table in a table."""
    parsed = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            parsed += axes(dict(value), f"{before}{key}.")
        else:
            parsed.append(axis(f"{before}{key}", value))
    return parsed


def order(value: str) -> tuple[float, str]:
    """Sorts values of a key: numbers by their size, whatever their units, and words behind them."""
    number = measure(value)
    return (math.inf if isinstance(number, str) else float(number)), value


def measure(value: str) -> Decimal | str:
    """A value in the smallest unit of its kind, so 16KiB equals 16384B; a word as it is."""
    match = re.fullmatch(_NUMBER, value)
    if not match:
        return value
    scale = next((scale[match[2]] for scale in _SCALES if match[2] in scale), None)
    if scale is None and match[2]:
        return value
    return Decimal(match[1]) * (scale or 1)


def size(value: str) -> int | None:
    """A whole number of bytes, with a unit of sizes or none; None of anything else."""
    try:
        return _native.read_quantity("size", value)
    except UserError:
        return None


def plain(value: str) -> str:
    """A number in the largest unit that divides it, so 16384B is 16KiB; a word as it is."""
    match = re.fullmatch(_NUMBER, value)
    scale = next((scale for scale in _SCALES if match and match[2] in scale), None)
    if match and scale:
        return _text(Decimal(match[1]) * scale[match[2]], next(iter(scale)))
    return f"{Decimal(match[1]).normalize():f}" if match and not match[2] else value


def _written(where: str, item: object) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, (str, int, float)):
        return str(item).strip()
    raise UserError(f"{where}: {item!r} is no value. Give texts, numbers, true or false.")


def _spelled(kind: str | None, text: str) -> str:
    """Text whose numbers with a bare letter, `16k..4m:x2`, have the unit of their kind."""
    if kind is None:
        return text
    unit = "B" if kind == "size" else ""
    return _LETTER.sub(lambda match: _text(Decimal(_native.read_quantity(kind, match[0])), unit), text)


def _part(where: str, text: str) -> str | Range:
    if not text:
        raise UserError(f"{where}: a value is empty. Give a value, or leave out the comma beside it.")
    first, dots, rest = text.partition("..")
    return _range(where, text, first, rest) if dots else text


def _range(option: str, text: str, first: str, rest: str) -> Range:
    where = f"{option}={text}" if " " in option else f"{option} {text}"
    last, _, by = rest.partition(":")
    if not re.fullmatch(r"[x+].+", by.strip()):
        raise UserError(f"{where}: a range needs its step; {_FORM}.")
    low, unit = _number(where, first)
    high, other = _number(where, last)
    step, step_unit = _number(where, by.strip()[1:])
    is_factor = by.strip()[0] == "x"
    if unit != other or (step_unit != ("" if is_factor else unit)):
        raise UserError(f"{where}: its ends and its step must have one kind of unit, a factor none; {_FORM}.")
    if low > high:
        raise UserError(f"{where}: the range is empty, since {first.strip()} is above {last.strip()}. Swap them.")
    if step <= (1 if is_factor else 0) or (is_factor and low <= 0):
        limit = "a factor must be above 1, and the first value above 0" if is_factor else "a step must be above 0"
        raise UserError(f"{where}: {limit}; {_FORM}.")
    return Range(low, high, step, is_factor, unit)


def _number(where: str, text: str) -> tuple[Decimal, str]:
    """A number in the smallest unit of its kind, and that unit; else as it stands."""
    match = re.fullmatch(_NUMBER, text)
    if not match:
        raise UserError(f"{where}: {text.strip() or 'nothing'} is no number; {_FORM}.")
    number, unit = Decimal(match[1]), match[2]
    for scale in _SCALES:
        if unit in scale:
            return number * scale[unit], next(iter(scale))
    return number, unit


def _text(number: Decimal, unit: str) -> str:
    """A number as it would be typed, in the largest unit of which it is a whole multiple."""
    scale = next((scale for scale in _SCALES if unit in scale), {unit: 1})
    name, size = next(
        ((name, size) for name, size in reversed(scale.items()) if number and number % size == 0), (unit, 1)
    )
    value = number / size
    return f"{value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize():f}{name}"
