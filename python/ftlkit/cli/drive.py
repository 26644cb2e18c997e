"""`ftlkit drive`: what two reports of a drive's counters tell."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ftlkit._util import units
from ftlkit.api.drive import compared, document
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import OUT, print_facts, print_json
from ftlkit.drive.counters import MOST_USED
from ftlkit.drive.life import Life, Range

NO_COUNTER = "no counter of flash writes is known"


def drive(
    before: Annotated[Path, typer.Argument(metavar="BEFORE.json", help="The earlier report.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER.json", help="The later report.")],
    capacity: Annotated[str | None, option("The drive's size, such as 960GB; nvme smart-log lacks it.", "SIZE")] = None,
    tbw: Annotated[str | None, option("Rated bytes written, such as 600TB, for the life left.", "SIZE")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two reports of a drive's counters: write amplification, bytes per day, life left.

    Reports come from smartctl -j -x, or nvme smart-log -o json. Every figure comes with the range
    that the steps of its counters leave.
    """
    life = compared(before, after, capacity=capacity, tbw=tbw)
    if as_json:
        print_json(document(life))
        return
    OUT.print(Text(life.after.model or life.before.model or str(after), style="bold"))
    print_facts(_lines(life))


def _lines(life: Life) -> Iterator[tuple[str, str]]:
    yield "between", f"{_ranged(life.days, _days)}, by {life.clock}"
    yield "host writes", _ranged(life.written, units.written) + (f" ({life.doubt})" if life.doubt else "")
    yield "per day", _ranged(life.per_day, units.written)
    by = f", by {life.counted_by}" if life.write_amplification else f" ({life.counted_by or NO_COUNTER})"
    yield "write amplification", _ranged(life.write_amplification, units.factor) + by
    yield "DWPD", _ranged(life.dwpd, units.digits) + ("" if life.dwpd else " (give --capacity)" if life.per_day else "")
    if used := life.after.used:
        most = " or more" if used.value == MOST_USED else ""
        yield "life used", f"{used.value:.0f} %{most} ({used.name})"
    by = f", by {life.left_by}" if life.left_by else " (no counter of life used, and no --tbw)"
    is_over = life.days_left is not None and life.days_left.value == 0
    yield "life left", ("none: the rated life is used up" if is_over else _ranged(life.days_left, _days)) + by
    if life.after.unknown:
        yield (
            "not read",
            f"{', '.join(life.after.unknown)}: counters that do not say their unit, or whose values contradict",
        )


def _days(days: float) -> str:
    return units.years(days / 365)


def _ranged(found: Range | None, shown: Callable[[float], str]) -> str:
    """A figure with its range, as far as the figures shown differ."""
    if found is None:
        return "not told"
    value, low = shown(found.value), shown(found.low)
    if found.high is None:
        return f"at least {low}"
    high = shown(found.high)
    return value if low == value == high else f"{value} ({low} to {high})"
