"""What numbers say, in words: how two stacks compare on what was measured, and never more."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit.results.columns import COLUMNS
from ftlkit.results.noise import LITTLE, Estimate
from ftlkit.sweeps import summary
from ftlkit.sweeps.comparison import SAME, UNKNOWN, UNSEEN, Change, change

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured

_TENFOLD = 9.0
"""From so much growth on, as a share, a change is told as a factor, which reads easier."""

_LONG = 40
"""A stack with more characters is shortened in sentences."""

_MORE_LESS = {
    "response_mean_ns": ("slower", "faster"),
    **dict.fromkeys(("response_p99_ns", "read_p99_ns", "write_p99_ns"), ("slower", "faster")),
    "write_amplification": ("higher", "lower"),
    "life_bytes": ("longer", "shorter"),
}


_NAMES = {
    "life_bytes": "life",
    "write_amplification": "write amplification",
    "read_p99_ns": "p99 of reads",
    "write_p99_ns": "p99 of writes",
}
"""Metrics without a heading in tables, or with a short one."""


def of(metric: str, measured: Measured) -> Estimate | None:
    """A metric's mean over the seeds, with its interval; None where a run has none."""
    return summary.estimate_of(measured.rows, metric)


def value(metric: str, mean: Estimate | None) -> str:
    """A mean as people read it, with half of its interval where several seeds tell it."""
    return summary.text(COLUMNS[metric], mean)


def text(metric: str, measured: Measured) -> str:
    """A stack's mean as people read it; of a life also its forecast's range, or the least it is."""
    mean, least = of(metric, measured), measured.least(metric)
    if mean is None and least is not None:
        return f"at least {COLUMNS[metric].text(least)}" if is_bound(measured) else "not forecast"
    ends = measured.life_range() if metric == "life_bytes" and mean is not None else None
    return value(metric, mean) + (f" ({life_range(ends)})" if ends else "")


def is_bound(measured: Measured) -> bool:
    """Whether the writes of a run without a forecast bound its life: a drive write or more."""
    drive_bytes: int = json.loads(measured.rows[0]["document"])["device"]["logical_bytes"]
    return (measured.least("life_bytes") or 0.0) >= drive_bytes


def life_range(ends: tuple[float, float]) -> str:
    """The range of a forecast."""
    return " to ".join(COLUMNS["life_bytes"].text(end) for end in ends)


def named(metric: str) -> str:
    """A metric's name in a sentence."""
    return _NAMES.get(metric, COLUMNS[metric].heading)


def against(metric: str, one: Measured, other: Measured, name: str = "", aside: str = "") -> str:
    """How one compares with the other: `12 % slower than page (11 % to 13 %)`.

    `name` is what the other is called; without it only the change is told. An `aside` follows in
    brackets. Empty if the comparison is unknown.
    """
    pairs = other.beside(one, metric)
    if not pairs or any(number is None for pair in pairs for number in pair):
        return ""
    compared = change(COLUMNS[metric], [(float(was), float(now)) for was, now in pairs])
    asides = [aside] if aside else []
    if metric == "life_bytes" and compared.verdict not in (SAME, UNSEEN) and overlaps(one, other):
        asides.append("the forecasts overlap, so this is not certain")
    return _with_asides(_told(metric, compared, name), asides)


def _with_asides(text: str, asides: Sequence[str]) -> str:
    """A text with asides in brackets, which join those that it ends with."""
    if not asides:
        return text
    start = f"{text[:-1]}; " if text.endswith(")") else f"{text} ("
    return f"{start}{'; '.join(asides)})"


def overlaps(one: Measured, other: Measured) -> bool:
    """Whether the forecast ranges of two lives overlap, so that it is unknown which is longer."""
    mine, its = one.life_range(), other.life_range()
    return mine is not None and its is not None and mine[0] <= its[1] and its[0] <= mine[1]


def logarithm(metric: str, one: Measured, other: Measured) -> float | None:
    """The mean logarithm of one over the other; None where that is not known."""
    pairs = other.beside(one, metric)
    if not pairs or any(number is None for pair in pairs for number in pair):
        return None
    compared = change(COLUMNS[metric], [(float(was), float(now)) for was, now in pairs])
    if compared.ratio is None:
        return 0.0 if compared.verdict == SAME else None
    return compared.ratio.mean


def _told(metric: str, compared: Change, name: str) -> str:
    if compared.verdict == SAME:
        return f"as fast as {name}" if COLUMNS[metric].unit == "ns" else f"the same as {name}"
    if compared.ratio is None:
        return f"{COLUMNS[metric].text(compared.before)} with {name}"
    more, less = _MORE_LESS[metric]
    if compared.verdict == UNSEEN:
        ends = (compared.ratio.low, compared.ratio.high)
        signed = [f"{by} {more if end > 0 else less}" for by, end in zip(_changes(ends), ends, strict=True)]
        return f"no difference from {name} beyond the noise of the seeds ({' to '.join(signed)})"
    # The smaller change first: an interval that leaves out no change lies to one side of it.
    near, far = sorted((compared.ratio.low, compared.ratio.high), key=abs)
    mean, low, high = _changes((compared.ratio.mean, near, far))
    than = f" than {name}" if name else ""
    by_how_much = f"{mean} {more if compared.ratio.mean > 0 else less}{than}"
    return by_how_much if compared.verdict == UNKNOWN or low == high else f"{by_how_much} ({low} to {high})"


def _changes(logarithms: Sequence[float]) -> list[str]:
    """Changes as percentages, or all as factors where one is growth by `_TENFOLD` or more."""
    if any(math.expm1(logarithm) >= _TENFOLD for logarithm in logarithms):
        return [units.factor(math.exp(abs(logarithm))) for logarithm in logarithms]
    return [_percent(logarithm) for logarithm in logarithms]


def _percent(logarithm: float) -> str:
    if abs(logarithm) < LITTLE:
        return f"less than {units.share(LITTLE)}"
    return units.share(abs(math.expm1(logarithm)))


def short_names(sentences: Iterable[str], tried: Iterable[str], shown: Iterable[str]) -> dict[str, str]:
    """Of the stacks that sentences name the long ones, each with its short name.

    That is of no other stack which they name or the table shows.
    """
    text = " ".join(sentences)
    others = dict.fromkeys((*shown, *(stack for stack in tried if stack in text)))
    return {stack: short(stack, others) for stack in others if len(stack) > _LONG}


def shortened(sentences: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Sentences with short names of stacks; commands keep what can be typed."""
    if not names:
        return list(sentences)
    # The longest first: one stack may begin as another does.
    found = re.compile(f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})" + r"(?![\w+=]|:\w)")
    return [each if "`ftlkit " in each else found.sub(lambda match: names[match[0]], each) for each in sentences]


def short(stack: str, others: Iterable[str]) -> str:
    """A stack with as many of its settings as make at most `_LONG` characters.

    Each part keeps its name, and `…` stands for the settings that are left out: the last ones, or
    as many as tell it from the others.
    """
    parts = [part.split(":") for part in stack.split("+")]
    most = max(map(len, parts))
    shapes = ["+".join(_first(part, kept) for part in parts) for kept in range(most)]
    known = [other for other in others if other != stack]
    alone = [shape for shape in shapes if not any(_may_be(shape, other) for other in known)]
    fitting = [shape for shape in alone if len(shape) <= _LONG]
    return fitting[-1] if fitting else alone[0] if alone else stack


def _first(part: Sequence[str], kept: int) -> str:
    """A part with its first settings."""
    return ":".join([*part[: 1 + kept], *(["…"] if len(part) > 1 + kept else [])])


def _may_be(shape: str, stack: str) -> bool:
    """Whether a shortened name may stand for a stack."""
    wanted, parts = shape.split("+"), stack.split("+")
    return len(wanted) == len(parts) and all(
        part.startswith(begin.removesuffix("…")) if begin.endswith(":…") else part == begin
        for begin, part in zip(wanted, parts, strict=True)
    )
