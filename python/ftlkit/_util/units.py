"""Numbers for people: three significant digits and a unit. Files keep plain numbers.

What tables and sentences say is made by the functions; the axes of charts, which a browser labels,
by the expressions of `AXES`. Sizes are binary (KiB to PiB). What a host writes over a life alone is
decimal (`written`), as makers of drives state it.
"""

import math
import re
from collections.abc import Callable

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SIZES = ((1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
LATEST = "1000h"
"""An end of a window of simulated time that no run reaches."""

_NOTHING = "–"
_GAP = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, which must not part at the end of a line."""


def typed(text: str) -> str:
    """Text with ordinary spaces: for terminals and logs, where one searches and copies."""
    return text.replace(_GAP, " ")


def digits(value: float) -> str:
    """Three significant digits without an exponent: 0.0123, 1.23, 12.3, 1,234."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals > 2 else text


def duration(nanoseconds: float | None) -> str:
    """A duration: 312 µs, 1.24 ms, 2 h 5 min."""
    if nanoseconds is None or math.isnan(nanoseconds):
        return _NOTHING
    seconds = round(nanoseconds / 1e9)
    if nanoseconds >= 3600e9:
        minutes = round(seconds / 60)
        return f"{minutes // 60}{_GAP}h {minutes % 60}{_GAP}min"
    if nanoseconds >= 180e9:
        return f"{seconds // 60}{_GAP}min {seconds % 60}{_GAP}s"
    for size, unit in _DURATIONS:
        if nanoseconds >= size:
            return f"{digits(nanoseconds / size)}{_GAP}{unit}"
    return f"{digits(nanoseconds)}{_GAP}ns"


def moment(nanoseconds: int) -> str:
    """A moment of simulated time, to the microsecond, as windows begin: 1,234.567 ms."""
    return f"{nanoseconds / 1e6:,.3f} ms"


def size(number: float | None) -> str:
    """A number of bytes: 64 KiB, 1.5 GiB."""
    if number is None:
        return _NOTHING
    for scale, unit in _SIZES:
        if number >= scale:
            return (
                f"{number // scale:,.0f}{_GAP}{unit}"
                if number % scale == 0
                else f"{digits(number / scale)}{_GAP}{unit}"
            )
    return f"{number:.0f}{_GAP}B"


DAY_S = 86_400.0


def written(number: float | None) -> str:
    """Bytes written over a life, as makers of drives count them: 12.3 TB of 10^12 bytes, 850 GB."""
    if number is None:
        return _NOTHING
    for scale, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= scale:
            return f"{digits(number / scale)}{_GAP}{unit}"
    return f"{digits(number / 1e3)}{_GAP}kB"


def years(number: float | None) -> str:
    """Years, or days where they are few, or hours and less: 3.10 years, 12.0 days, 1 h 32 min."""
    if number is None:
        return _NOTHING
    if number < 1 / 365:
        return duration(number * 365 * 86_400e9)
    return f"{digits(number)}{_GAP}years" if number >= 1 else f"{digits(365 * number)}{_GAP}days"


def count(number: float | None) -> str:
    """A whole number with its thousands apart: 1,234,567."""
    return _NOTHING if number is None else f"{number:,.0f}"


def rate(number: float | None) -> str:
    """A rate a second: 950, 12.3 k, 1.20 M."""
    if number is None:
        return _NOTHING
    for scale, unit in _LARGE:
        if number >= scale:
            return f"{digits(number / scale)}{_GAP}{unit}"
    return digits(number)


def share(part: float | None) -> str:
    """A share of one as a percentage: 98.2 %."""
    if part is None:
        return _NOTHING
    return f"{digits(100 * part)}{_GAP}%" if part < 0.1 else f"{100 * part:.1f}{_GAP}%"


def factor(value: float) -> str:
    """How many times: 1.4 ×, 61 ×."""
    return f"{digits(value)}{_GAP}×" if value < 10 else f"{value:,.0f}{_GAP}×"


def plain(value: float | None) -> str:
    """A bare number, or a dash where there is none."""
    return _NOTHING if value is None else digits(value)


def with_interval(shown: Callable[[float], str], mean: float, half_width: float | None) -> str:
    """A mean with half its interval, to the interval's last digit: 1.00 ± 0.03, 312 µs ± 4 µs.

    What is below half of that digit is told as less than one: 1.00 ± <0.01. An interval that would
    cross zero ends there, since what is measured is above it: 605 ms (0 to 1.27 s).
    """
    text = shown(mean)
    if not half_width:
        return text
    if half_width >= mean > 0:
        return f"{text} (0 to {shown(mean + half_width)})"
    match = _NUMBER.fullmatch(text)
    number = float(match[1].replace(",", "")) if match else 0.0
    if match is None or not number:
        return f"{text} ± {shown(half_width)}"
    decimals = len(match[1].partition(".")[2])
    scaled, last = half_width * number / mean, 10.0**-decimals
    half = f"{scaled:,.{decimals}f}" if scaled >= last / 2 else f"<{last:.{decimals}f}"
    return f"{text} ± {half}{match[2]}"


_NUMBER = re.compile(r"([\d,]+(?:\.\d+)?)(\D*)")
"""A number with one unit behind it, or none; `2 h 5 min` is none."""


def _axis(steps: list[tuple[float, str]]) -> str:
    """A Vega expression that labels a tick in the largest fitting unit of `steps`."""
    labels = [f"format(datum.value / {scale:.0f}, '.4~r') + '{unit}'" for scale, unit in steps]
    limits = [f"abs(datum.value) < {scale:.0f} ? " for scale, _ in steps[1:]]
    below = [f"{limit}{label} : " for limit, label in zip(limits, labels[:-1], strict=True)]
    return "".join(below) + labels[-1]


AXES = {
    "ns": _axis([(scale, f" {unit}") for scale, unit in reversed(_DURATIONS)]),
    "B": _axis([(1, " B"), *((scale, f" {unit}") for scale, unit in reversed(_SIZES))]),
    "share": "format(datum.value, '~%')",
    "": _axis([(1, ""), *((scale, f" {unit}") for scale, unit in reversed(_LARGE))]),
}
"""Labels of an axis by unit: Vega expressions over `datum.value`. Others are counts."""


def axis(unit: str) -> str:
    """The label of an axis of a unit's values."""
    return AXES.get(unit, AXES[""])
