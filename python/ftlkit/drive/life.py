"""What two readings of a drive's counters tell: rates, write amplification and the life left.

A difference of two counters is off by less than a step either way, so every figure has a range. It
is what the counters allow, not a forecast: the drive is taken to go on as between the readings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import units

if TYPE_CHECKING:
    from ftlkit.drive.counters import Counter, Reading


AGREE = 1.1
"""Two counters of the same bytes agree within this factor, and their steps."""

LEAST_AMPLIFICATION = 0.1
"""Drives that compress write less than the host does, but no such share of it."""


@dataclass(frozen=True)
class Range:
    """A value, with the least and the most that the counters allow; None: without bound."""

    value: float
    low: float
    high: float | None

    @property
    def is_known(self) -> bool:
        """Whether the counters moved far enough to say more than an order of size."""
        return self.low > 0 and self.high is not None and self.high <= 4 * self.low


@dataclass(frozen=True)
class Life:
    """A drive between two readings."""

    before: Reading
    after: Reading
    days: Range
    clock: str
    """What the days were counted with."""
    written: Range | None
    """Bytes that the host wrote."""
    doubt: str | None
    """Why that is not told although it was counted."""
    per_day: Range | None
    write_amplification: Range | None
    counted_by: str | None
    """The counters of the write amplification."""
    dwpd: Range | None
    """Drive writes per day: bytes per day, each by the capacity."""
    days_left: Range | None
    left_by: str | None
    """What the life left rests on."""


def between(before: Reading, after: Reading, *, capacity: float | None = None, tbw: float | None = None) -> Life:
    """Compare two readings; `tbw` is the bytes that the maker rates the drive for."""
    _check(before, after)
    days, clock = _days(before, after)
    _check_hours(before, after, days)
    written, doubt = _written(before, after)
    per_day = None if written is None else ratio(written, days)
    amplification, counted_by = _amplification(before, after, written)
    size = capacity or after.capacity or before.capacity
    dwpd = None if per_day is None or size is None else ratio(per_day, Range(size, size, size))
    left, left_by = _left(before, after, days, per_day, tbw)
    return Life(before, after, days, clock, written, doubt, per_day, amplification, counted_by, dwpd, left, left_by)


def ratio(above: Range, below: Range) -> Range:
    """The quotient of two ranges; without bound where the divisor may be nothing."""
    high = None if above.high is None or below.low <= 0 else above.high / below.low
    low = 0.0 if below.high is None else above.low / below.high
    return Range(above.value / below.value if below.value else float("inf"), low, high)


def _check(before: Reading, after: Reading) -> None:
    for name, first, second in (
        ("serial number", before.serial, after.serial),
        ("model", before.model, after.model),
        ("capacity", before.capacity, after.capacity),
    ):
        if first and second and first != second:
            raise UserError(
                f"{before.source} is of the {name} {first} and {after.source} of {second}. Give two reports of one "
                "drive, the earlier first."
            )


def _grown(before: Counter | None, after: Counter | None) -> Range | None:
    """How far a counter grew; None where a report lacks it or has another one."""
    if before is None or after is None or before.name != after.name:
        return None
    grown = after.value - before.value
    if grown < 0:
        raise UserError(
            f"{after.name} fell from {before.value:,.0f} to {after.value:,.0f}. Give the earlier report first, and two "
            "of one drive whose counters were not cleared between them."
        )
    return Range(grown, max(0.0, grown - after.step), grown + after.step)


def _check_hours(before: Reading, after: Reading, days: Range) -> None:
    """Raise a `UserError` where hours of power fell, or rose by more than the clock."""
    hours = _grown(before.hours, after.hours)
    if hours is not None and days.high is not None and hours.low > 24 * days.high + 1:
        raise UserError(
            f"power was on for {hours.value:,.0f} hours in {24 * days.value:,.1f} hours between the reports. Give two "
            "of one drive, from a system whose clock was right."
        )


def _written(before: Reading, after: Reading) -> tuple[Range | None, str | None]:
    """Bytes that the host wrote, and why they are not told: two counters contradict each other."""
    written, again = _grown(before.host, after.host), _grown(before.host_again, after.host_again)
    if written is None or again is None or written.high is None or again.high is None:
        return written, None
    if written.low > AGREE * again.high or again.low > AGREE * written.high:
        return None, f"{_counted(after.host, written)} and {_counted(after.host_again, again)} contradict each other"
    return written, None


def _counted(counter: Counter | None, grown: Range) -> str:
    return "" if counter is None else f"{counter.name} (+{units.written(grown.value)})"


def _days(before: Reading, after: Reading) -> tuple[Range, str]:
    if before.time_s is not None and after.time_s is not None:
        days = (after.time_s - before.time_s) / units.DAY_S
        if days <= 0:
            raise UserError(f"{after.source} was made no later than {before.source}. Give the earlier report first.")
        return Range(days, days, days), "the times of the reports"
    hours = _grown(before.hours, after.hours)
    if hours is None or hours.high is None:
        raise UserError(
            f"{before.source} and {after.source} tell neither a time nor the hours of power. Use "
            "`smartctl -j -x DEVICE`."
        )
    if hours.value == 0:
        raise UserError(
            f"{before.source} and {after.source} have the same hours of power and no time. Take reports some "
            "days apart, or use `smartctl -j -x DEVICE`, which has the time."
        )
    return Range(hours.value / 24, hours.low / 24, hours.high / 24), "hours of power"


def _amplification(before: Reading, after: Reading, written: Range | None) -> tuple[Range | None, str | None]:
    flash = _grown(before.flash, after.flash)
    if flash is not None and written is not None and written.value > 0 and after.flash and after.host:
        if flash.high is not None and flash.value == 0 and flash.high < written.low:
            return None, f"{after.flash.name} stood still while the host wrote"
        found, names = ratio(flash, written), f"{after.flash.name} and {after.host.name}"
        if found.high is not None and found.high < LEAST_AMPLIFICATION:
            return None, f"{names} can hardly both have the unit of their names: it would be {found.value:.2g}"
        return found, names
    if flash is not None and written is None:
        return None, "no counter of host writes is known"
    host, own = _grown(before.host_pages, after.host_pages), _grown(before.own_pages, after.own_pages)
    if host is not None and own is not None and host.value > 0 and after.host_pages and after.own_pages:
        copied = ratio(own, host)
        high = None if copied.high is None else 1 + copied.high
        return Range(1 + copied.value, 1 + copied.low, high), f"{after.host_pages.name} and {after.own_pages.name}"
    return None, None


def _left(
    before: Reading, after: Reading, days: Range, per_day: Range | None, tbw: float | None
) -> tuple[Range | None, str | None]:
    """Days until the rated life is used: by the maker's bytes, else by the drive's own per cent."""
    if tbw is not None and per_day is not None and after.host:
        left = max(0.0, tbw - after.host.value)
        found = ratio(Range(left, left, left), per_day)
        if per_day.value == 0:
            found = Range(found.low, found.low, None)
        return found, "the rated bytes and the bytes per day"
    used = _grown(before.used, after.used)
    if used is None or after.used is None:
        return None, None
    left = max(0.0, 100 - after.used.value)
    rate = ratio(used, days)
    if used.value == 0:
        # Less than a step was used, so there is a least life and no other figure.
        least = 0.0 if rate.high is None else max(0.0, left - after.used.step) / rate.high
        return Range(least, least, None), after.used.name
    return ratio(Range(left, max(0.0, left - after.used.step), left), rate), after.used.name
