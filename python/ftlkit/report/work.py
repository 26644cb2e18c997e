"""What flash time went to, run by run: facts counted by the simulator, no reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit.report.causes import cause_name
from ftlkit.report.palette import CAUSE_COLOURS
from ftlkit.results.derived import has_clock, merges, time_by_cause

if TYPE_CHECKING:
    from ftlkit.results.document import Run

SMALL = 0.01
"""A cause below this share of the flash time is not worth a sentence."""

CACHE_MATTERS = 0.1
"""From this share of the flash time on, what the map takes is weighed against RAM."""


COPYING = ("collection", "merge", "relocation", "padding")
"""Causes whose programs are copies. Translation pages that change are written anew."""


def work(run: Run) -> str:
    """How a run's flash time divides: host pages, and the largest other cause with its counts."""
    if not has_clock(run):
        return f"{run['label']}: {_counted(run)}."
    times = time_by_cause(run)
    total = sum(times.values())
    if not total:
        return f"{run['label']} did no flash operation."
    text = f"{run['label']} spent {units.share(times.get('host', 0) / total)} of its flash time on host pages"
    rest = {cause: time for cause, time in times.items() if cause != "host"}
    largest = max(rest, key=lambda cause: rest[cause], default=None)
    if largest is None or rest[largest] < SMALL * total:
        return f"{text}, and less than {units.share(SMALL)} on anything else."
    return f"{text} and {units.share(rest[largest] / total)} on {_described(run, largest)}."


def _counted(run: Run) -> str:
    """The largest cause of flash operations beside the host's, by its pages."""
    pages = {cause: 0 for cause in CAUSE_COLOURS if cause not in ("host", "precondition")}
    for operation in run["operations"]:
        if operation["cause"] in pages and operation["op"] != "erase":
            pages[operation["cause"]] += operation["count"]
    largest = max(pages, key=lambda cause: pages[cause])
    return _described(run, largest) if pages[largest] else "no flash operations but the host's"


def _described(run: Run, cause: str) -> str:
    """A cause in words, with its counts, and how long one piece of it takes."""
    counts = {operation["op"]: operation["count"] for operation in run["operations"] if operation["cause"] == cause}
    parts = [_pages(run, cause, counts)]
    pieces = _pieces(run, cause, counts)
    if pieces:
        lasting = f" of {units.duration(time_by_cause(run)[cause] / pieces[0])}" if has_clock(run) else ""
        parts.append(f"{units.count(pieces[0])} {pieces[1]}{lasting}")
    ratio = run["mapping_hit_ratio"]
    if cause == "mapping" and ratio is not None:
        parts.append(f"hit ratio {units.share(ratio)}")
    known = [part for part in parts if part]
    return f"{cause_name(cause)} ({', '.join(known)})" if known else cause_name(cause)


def _pages(run: Run, cause: str, counts: dict[str, int]) -> str:
    """The pages that a cause reads or programs, whichever are more."""
    read, programmed, written = counts.get("read", 0), counts.get("program", 0), run["host_pages_written"]
    if written and programmed and 2 * programmed >= read:
        verb = "copied" if cause in COPYING else "programmed"
        return f"{units.digits(programmed / written)} pages {verb} for each page that the host writes"
    served = run["requests"]["read"] + run["requests"]["write"]
    return f"{units.digits(read / served)} pages read for each request" if read and served else ""


def _pieces(run: Run, cause: str, counts: dict[str, int]) -> tuple[int, str] | None:
    """How often the work that a cause stands for was done."""
    if cause == "merge" and (done := merges(run)):
        return done, "merges"
    if cause == "collection" and counts.get("erase"):
        return counts["erase"], "collections"
    return None


def cache(run: Run) -> str | None:
    """The gain of a cache for the whole map, if the map takes a tenth of the flash time.

    That it saves at least so much is tested by doing it, on some thirty pairs of workloads and
    schemes (`tests/test_claims.py`). It may save more, since translation pages no longer have to be
    collected.
    """
    times, ratio = time_by_cause(run), run["mapping_hit_ratio"]
    total = sum(times.values())
    share = (times.get("mapping", 0) + times.get("mapping_collection", 0)) / total if total else 0.0
    if ratio is None or share < CACHE_MATTERS:
        return None
    return (
        f"{run['label']} answers {units.share(ratio)} of mapping lookups from RAM and spends {units.share(share)} of "
        "its flash time on reading and writing its map: a cache of the whole map would save at least that."
    )
