"""Whether write amplification had settled in a run, and how far that of a longer run may be off.

A steady state takes passes over the data: a device that was prepared by the same workload still
sorts its pages by their rates of writes, and a log empties the blocks of earlier data.
Of `page:streams=fadac:victim=cat` under zipf (0.99) write amplification fell from 2.8 to 2.0 in the
first five passes, and to 1.9 in the next 35.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ftlkit.report.load import fifths, written_between
from ftlkit.results.outcome import Outcome, device_of, simulated_bytes
from ftlkit.study.device_size import GEOMETRY

if TYPE_CHECKING:
    from ftlkit.results.document import Run

TREND = 1.05
"""From this ratio of the last fifth to the first on, or below its inverse, it had not settled."""

APART = 1.1
"""By this factor a longer run may be beyond the fifths of one that had settled.

`tests/test_drift.py` holds this of runs ten and twenty times as long.
"""

BEYOND = 1.02
"""By this factor forecasts may pass what write amplification allows: figures have three digits."""

_OPEN = 4
"""Blocks of each plane that are free or open at one time and not at another, in a steady state."""

ENOUGH_ERASES = 4.0
"""Least erases per block, on average, for a forecast of life (docs/endurance.md)."""

_MARGIN = 1.5
"""Factor on the missing erases in the advice, since other mappings may erase less."""

_LONGER = 4
"""Times as many requests as a run with a trend had, to ask for."""


def parts(run: Run) -> list[float]:
    """Write amplification in each fifth of a run; none where it is too short to tell."""
    series = run["series"]
    return fifths(series["write_amplification"], written_between(series["host_written_bytes"]))


def has_trend(part: list[float], factor: float = TREND) -> bool:
    """Whether write amplification ended otherwise than it began, by more than a factor."""
    # In a fifth that a buffer took all of it is 0.
    return bool(part) and not part[0] <= factor * part[-1] <= factor * factor * part[0]


def passes(results: Outcome, run: Run) -> float:
    """How often the host wrote as much as the workload's data while it was measured."""
    device = device_of(results.document)
    page_bytes = device["geometry"]["page_size_bytes"]
    chosen: Mapping[str, Any] = results.document.get("precondition_chosen") or {}
    # A generated workload reaches all of its span, however few requests of it were served.
    span = results.document["study"].get("workload", {}).get("generator", {}).get("span")
    known = span if isinstance(span, (int, float)) else page_bytes * (chosen.get("touched_pages") or 0)
    whole = simulated_bytes(device)
    return run["host_pages_written"] * page_bytes / float(min(known, whole) if known else whole)


def is_in_first_turn(run: Run) -> bool:
    """Whether blocks were erased less than once each, on a device that was not in use before."""
    prepared = run["precondition"]
    return run["erases"]["mean"] < 1 and (prepared is None or prepared["mode"] != "steady")


def is_filling(results: Outcome, run: Run) -> bool:
    """Whether a run filled erased blocks: more than free and open ones come and go.

    Writes in order empty blocks as they fill others, so what they cost by now they cost later.
    """
    if (prepared := run["precondition"]) is not None and prepared["mode"] == "steady":
        return False
    part = parts(run)
    generator = results.document["study"].get("workload", {}).get("generator", {})
    if generator.get("pattern") == "sequential" and part and part[-1] <= BEYOND * part[0]:
        return False
    geometry = device_of(results.document)["geometry"]
    programmed_bytes = (run["write_amplification"] or 0.0) * run["host_written_bytes"]
    filled = programmed_bytes / (geometry["pages_per_block"] * geometry["page_size_bytes"])
    gap = filled - run["erases"]["total"]
    return gap > max(_OPEN * math.prod(geometry[key] for key in GEOMETRY[:-2]), (1 - 1 / BEYOND) * filled)


def bounds(results: Outcome, run: Run) -> tuple[float, float] | None:
    """Range of the write amplification of longer runs; None where it is not known."""
    part = parts(run)
    if not part or min(part) <= 0 or has_trend(part) or passes(results, run) < 1 or _is_new(results, run):
        return None
    return min(part) / APART, max(part) * APART


def _is_new(results: Outcome, run: Run) -> bool:
    return is_in_first_turn(run) or is_filling(results, run)


def more_times(erases: float) -> int:
    """How many times as much has to be served where a block was erased so often on average."""
    return math.ceil(_MARGIN * ENOUGH_ERASES / erases) if 0 < erases < ENOUGH_ERASES else 1


def enough(results: Outcome, run: Run, *, is_forecast: bool = True) -> int:
    """About how many requests would do to settle and, if need be, for a forecast, to two digits."""
    times = [more_times(run["erases"]["mean"]) if is_forecast else 1, 1 / max(passes(results, run), 1e-3)]
    times += [_LONGER] if has_trend(parts(run)) or (max(times) <= 1 and bounds(results, run) is None) else []
    requests = max(times) * results.document["workload"]["requests"]
    digit: int = 10 ** max(0, math.floor(math.log10(max(requests, 1))) - 1)
    return int(math.ceil(requests / digit) * digit)
