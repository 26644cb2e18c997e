"""The report's tables as rows of cells: what is shown, what it sorts by, and which value is the best of its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlkit import units
from ftlkit.report.verdict import cause_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit.document import Json, Run
    from ftlkit.results import Results


@dataclass(frozen=True)
class Column:
    """One column of the results: its heading, its explanation, and how a run fills it."""

    name: str
    meaning: str
    value: Callable[[Run], float | None]
    text: Callable[[float | None], str]
    best: Callable[..., float] | None = min
    """Which value of the column is marked as the best: the smallest, the largest, or none."""


def _merges(run: Run) -> float:
    merges = run["merges"]
    return merges["switch"] + merges["partial"] + merges["full"]


def _mean(run: Run) -> float | None:
    return run["response_ns"]["all"]["mean"]


def _p99(run: Run) -> float | None:
    return run["response_ns"]["all"]["p99"]


def _ram(run: Run) -> float:
    return run["footprint"]["ram_bytes"]


COLUMNS: tuple[Column, ...] = (
    Column("mean response", "mean response time of all reads and writes", _mean, units.duration),
    Column("p99 response", "99 % of reads and writes took this long or less", _p99, units.duration),
    Column("IOPS", "reads and writes a second of simulated time", lambda run: run["iops"], units.rate, max),
    Column(
        "write amp.",
        "flash pages programmed for each page written",
        lambda run: run["write_amplification"],
        units.plain,
    ),
    Column("erases", "blocks erased", lambda run: run["erases"]["total"], units.count),
    Column("σ of erases", "standard deviation of erases over blocks", lambda run: run["erases"]["std"], units.plain),
    Column("RAM", "RAM that the mapping takes", _ram, units.size),
    Column(
        "hit ratio",
        "share of mapping lookups answered from RAM",
        lambda run: run["mapping_hit_ratio"],
        units.share,
        max,
    ),
    Column("merges", "merges of log with data blocks: switch, partial and full", _merges, units.count, None),
)

WEAR: tuple[Column, ...] = (
    Column(
        "spares left",
        "blocks that may still fail before writes are refused",
        lambda run: run["spares"]["left"],
        units.count,
        max,
    ),
    Column(
        "pages written",
        "pages that the host wrote, until the device wore out where it did",
        lambda run: run["host_pages_written"],
        units.count,
        max,
    ),
)
"""Shown where a block has failed."""


def columns(found: list[Run]) -> tuple[Column, ...]:
    """The columns that say something about these runs."""
    return COLUMNS + WEAR if any(run["spares"]["grown_bad_blocks"] for run in found) else COLUMNS


def runs(results: Results) -> Json:
    """The results table: columns, and for each run a label and its cells."""
    found = results.document["runs"]
    shown = columns(found)
    best = {column.name: _best(column, found) for column in shown}
    rows = []
    for run in found:
        cells = [_cell(column, run, best[column.name]) for column in shown]
        rows.append({"label": run["label"], "cells": cells})
    return {"columns": shown, "rows": rows}


def _best(column: Column, found: list[Run]) -> str | None:
    """The best value as it is shown: values that look alike are equally good, and where all do, none is best."""
    values = [value for run in found if (value := column.value(run)) is not None]
    if column.best is None or len({column.text(value) for value in values}) < 2:
        return None
    return column.text(column.best(values))


def _cell(column: Column, run: Run, best: str | None) -> Json:
    value = column.value(run)
    cell: dict[str, Any] = {"text": column.text(value), "sort": "" if value is None else repr(value)}
    cell["best"] = best is not None and cell["text"] == best
    merges = run["merges"]
    cell["detail"] = (
        f"{merges['switch']:,} switch, {merges['partial']:,} partial, {merges['full']:,} full"
        if column.name == "merges" and value
        else ""
    )
    return cell


def operations(results: Results) -> list[Json]:
    """Counts of flash operations: one row a run and cause."""
    rows = []
    for run in results.document["runs"]:
        causes = dict.fromkeys(each["cause"] for each in run["operations"] if each["count"])
        for cause in causes:
            counts = {each["op"]: each["count"] for each in run["operations"] if each["cause"] == cause}
            time_ns = sum(each["time_ns"] for each in run["operations"] if each["cause"] == cause)
            cells = [units.count(counts.get(op, 0)) for op in ("read", "program", "erase")]
            rows.append({"label": run["label"], "cause": cause_name(cause), "cells": [*cells, units.duration(time_ns)]})
    return rows


def footprints(results: Results) -> list[Json]:
    """Memory of the mappings: one row a run and structure."""
    return [
        {
            "label": run["label"],
            "name": structure["name"],
            "ram": units.size(structure["ram_bytes"]),
            "flash": units.size(structure["flash_bytes"]),
        }
        for run in results.document["runs"]
        for structure in run["footprint"]["structures"]
    ]


CLASSES: dict[str, str] = {
    "host_read": "host read",
    "host_write": "host write",
    "mapping_read": "mapping read",
    "mapping_write": "mapping write",
    "collection": "collection",
    "other": "other",
}
"""Classes of flash operations, in the order in which they are shown, with their names in words."""


def classes(results: Results) -> list[Json]:
    """Latency of flash operations by class: one row a run and class; empty if the study did not ask for it."""
    rows = []
    for run in results.document["runs"]:
        for latency in run.get("classes") or []:
            waiting, service = latency["waiting_ns"], latency["service_ns"]
            times = [waiting[name] for name in ("mean", "p50", "p90", "p99", "p99_9", "max")]
            cells = [units.count(waiting["count"]), units.duration(service["mean"]), *map(units.duration, times)]
            rows.append({"label": run["label"], "name": CLASSES[latency["name"]], "cells": cells})
    return rows


CLASS_COLUMNS = ("operations", "service", "waiting", "p50", "p90", "p99", "p99.9", "longest")
"""Headings of the cells of `classes`: how many, mean service, mean waiting, then percentiles of the waiting."""
