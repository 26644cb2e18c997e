"""The report's tables as rows of cells: the text, its sort value, the best of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ftlkit._util import Json, units
from ftlkit.report.causes import cause_name
from ftlkit.results.columns import COLUMNS, METRICS, TAIL
from ftlkit.results.derived import (
    CLASSES,
    buffer_ram,
    has_clock,
    moved_pages,
    program_buffer,
    served,
    stream_amplification,
    waiting,
)
from ftlkit.results.metric import HIGHER, Metric

if TYPE_CHECKING:
    from ftlkit.results.document import Run
    from ftlkit.results.outcome import Outcome


def columns(runs: list[Run]) -> list[Metric]:
    """The metrics of the results table that say something about these runs."""
    return [metric for metric in COLUMNS.values() if metric.heading and _is_shown(metric, runs)]


def _is_shown(metric: Metric, runs: list[Run]) -> bool:
    if not any(map(has_clock, runs)) and all(metric.value(run) is None for run in runs):
        return False
    return not metric.when or any((METRICS[metric.when].value(run) or 0) > 0 for run in runs)


def runs(results: Outcome) -> Json:
    """The results table: columns, and for each run a label and its cells."""
    runs = results.document["runs"]
    shown = columns(runs)
    best = {metric.name: _best(metric, runs) for metric in shown}
    rows = []
    for run in runs:
        cells = [_cell(metric, run, best[metric.name]) for metric in shown]
        rows.append({"label": run["label"], "cells": cells})
    return {"columns": shown, "rows": rows, "down": down(rows, [metric.heading for metric in shown])}


def _best(metric: Metric, runs: list[Run]) -> str | None:
    """The best value as shown: values that look alike are equal, and if all do, none is best."""
    values = [value for run in runs if (value := metric.value(run)) is not None]
    if not metric.better or len({metric.text(value) for value in values}) < 2:
        return None
    return metric.text(max(values) if metric.better == HIGHER else min(values))


def _cell(metric: Metric, run: Run, best: str | None) -> Json:
    value = metric.value(run)
    cell: dict[str, Any] = {"text": metric.text(value), "sort": "" if value is None else repr(value)}
    cell["best"] = best is not None and cell["text"] == best
    merges = run["merges"]
    cell["detail"] = (
        f"{merges['switch']:,} switch, {merges['partial']:,} partial, {merges['full']:,} full"
        if metric.name == "merges" and value
        else ""
    )
    return cell


PHONE_RUNS = 4
"""Runs beside each other on a phone: a fifth column would not fit 400 pixels."""


def down(rows: Sequence[Json], headings: Sequence[str], group: str = "") -> list[Json]:
    """A table with a column per run and a line a heading, for narrow screens, a few runs a part.

    `group` is the key of what tells rows of one run apart; each of its values has lines of its own.
    """
    labels = list(dict.fromkeys(row["label"] for row in rows))
    names = list(dict.fromkeys(row.get(group, "") for row in rows))
    cells = {(row["label"], row.get(group, "")): row["cells"] for row in rows}
    parts = []
    for first in range(0, len(labels), PHONE_RUNS):
        mine = labels[first : first + PHONE_RUNS]
        groups = [
            {
                "name": name,
                "lines": [
                    (heading, [cells[label, name][place] if (label, name) in cells else "" for label in mine])
                    for place, heading in enumerate(headings)
                ],
            }
            for name in names
            if any((label, name) in cells for label in mine)
        ]
        parts.append({"labels": mine, "groups": groups})
    return parts


RESPONSES = {"mean": "mean"} | {key: heading for key, _, heading in TAIL}
"""Figures of response times, as in the results, with their headings."""

KINDS = {"all": "all", "read": "reads", "write": "writes", "flush": "flushes"}
"""Kinds of requests, as in the results, with their names in words: *all* is reads and writes."""


def responses(results: Outcome) -> list[Json]:
    """Response times: one row per run and kind of requests; cells as `RESPONSES`.

    Of a run that only reads or only writes, all would be the same again.
    """
    rows = []
    for run in results.document["runs"]:
        each: dict[str, Json] = {kind: dict(served(run, kind) or {}) for kind in KINDS}
        known = {kind: times for kind, times in each.items() if times.get("count")}
        if len({"read", "write"} & known.keys()) == 1:
            known.pop("all", None)
        for kind, times in known.items():
            cells = [units.duration(times.get(key)) for key in RESPONSES]
            rows.append({"label": run["label"], "kind": KINDS[kind], "cells": cells})
    return rows


def parts(results: Outcome) -> list[Json]:
    """What mean response times are made of: one row per run, part and cause, the largest first."""
    words = {"waiting": "waiting behind", "service": "own"}
    rows = []
    for run in results.document["runs"]:
        times = waiting(run)
        whole = sum(times.values())
        for (part, cause), time in sorted(times.items(), key=lambda pair: -pair[1]):
            cells = [units.duration(time), units.share(time / whole if whole else None)]
            rows.append({"label": run["label"], "part": f"{words[part]} {cause_name(cause)}", "cells": cells})
    return rows


def stream_columns(results: Outcome) -> list[str]:
    """Headings of the cells of `streams`."""
    return ["host pages", "moves", "page WA", "erased blocks", *(f"for {number}" for number in _writers(results))]


def _writers(results: Outcome) -> list[int]:
    """Numbers of the streams to which the host of any run wrote."""
    streams = (stream for run in results.document["runs"] for stream in enumerate(run.get("streams") or []))
    return sorted({number for number, stream in streams if stream["host_pages"]})


def streams(results: Outcome) -> list[Json]:
    """Who wrote, and whose pages were moved for whom: one row per run and stream with any of it."""
    writers, rows = _writers(results), []
    for run in results.document["runs"]:
        for number, stream in enumerate(run.get("streams") or []):
            if not (stream["host_pages"] or stream["erased_blocks"]):
                continue
            counts = [stream["host_pages"], moved_pages(stream), stream["erased_blocks"]]
            written, moves, erased = map(units.count, counts)
            caused = [units.count(stream["moved_for"][other]) for other in writers if other < len(stream["moved_for"])]
            cells = [written, moves, units.plain(stream_amplification(stream)), erased, *caused]
            cells += [units.count(None)] * (4 + len(writers) - len(cells))
            name = f"{number}, collected" if stream["is_collected"] else str(number)
            rows.append({"label": run["label"], "stream": name, "cells": cells})
    return rows


RAM = ("map and caches", "write buffer", "program buffer", "all")


def ram(results: Outcome) -> list[Json]:
    """What the RAM of each run is made of; no rows where all of it is the map's."""
    runs = results.document["runs"]
    buffers = [(buffer_ram(run), program_buffer(run) or 0) for run in runs]
    if not any(map(any, buffers)):
        return []
    sizes = [(run["footprint"]["ram_bytes"], *parts) for run, parts in zip(runs, buffers, strict=True)]
    return [
        {"label": run["label"], "cells": [units.size(size) for size in (whole - sum(parts), *parts, whole)]}
        for run, (whole, *parts) in zip(runs, sizes, strict=True)
    ]


MOUNT = ("time", "page reads", "programs", "erases", "RAM for it in use")
"""The last is that of block summaries, which are gathered for the next mount."""


def mounts(results: Outcome) -> list[Json]:
    """What mounting after a power cut took: one row per run in which that was measured."""
    rows = []
    for run in results.document["runs"]:
        if (mount := run.get("mount")) is None:
            continue
        structures = run["footprint"]["structures"]
        kept = sum(structure["ram_bytes"] for structure in structures if structure["name"] == "block summaries")
        counts = [units.count(mount["reads"]), units.count(mount["programs"]), units.count(mount["erases"])]
        rows.append({"label": run["label"], "cells": [units.duration(mount["time_ns"]), *counts, units.size(kept)]})
    return rows


def operation_columns(results: Outcome) -> list[str]:
    """Headings of the cells of `operations`."""
    return ["reads", "programs", "erases", *(["flash time"] if any(map(has_clock, results.document["runs"])) else [])]


def operations(results: Outcome) -> list[Json]:
    """Counts of flash operations: one row per run and cause."""
    rows, many = [], len(operation_columns(results))
    for run in results.document["runs"]:
        causes = dict.fromkeys(operation["cause"] for operation in run["operations"] if operation["count"])
        for cause in causes:
            counts = {
                operation["op"]: operation["count"] for operation in run["operations"] if operation["cause"] == cause
            }
            times = [operation["time_ns"] for operation in run["operations"] if operation["cause"] == cause]
            time_ns = sum(time or 0 for time in times) if has_clock(run) else None
            cells = [units.count(counts.get(op, 0)) for op in ("read", "program", "erase")]
            cells = [*cells, units.duration(time_ns)][:many]
            rows.append({"label": run["label"], "cause": cause_name(cause), "cells": cells})
    return rows


def footprints(results: Outcome) -> list[Json]:
    """Memory of the mappings: one row per run and structure."""
    return [
        {
            "label": run["label"],
            "name": structure["name"],
            "cells": [units.size(structure["ram_bytes"]), units.size(structure["flash_bytes"])],
        }
        for run in results.document["runs"]
        for structure in run["footprint"]["structures"]
    ]


def classes(results: Outcome) -> list[Json]:
    """Latency of flash operations: one row per run and class; empty if not asked for."""
    rows = []
    for run in results.document["runs"]:
        for latency in run.get("classes") or []:
            waiting, service = latency["waiting_ns"], latency["service_ns"]
            times = [waiting[name] for name in ("mean", "p50", "p90", "p99", "p99_9", "max")]
            cells = [units.count(waiting["count"]), units.duration(service["mean"]), *map(units.duration, times)]
            rows.append({"label": run["label"], "name": CLASSES[latency["name"]], "cells": cells})
    return rows


CLASS_COLUMNS = ("operations", "service", "waiting", "p50", "p90", "p99", "p99.9", "longest")
"""Headings of the cells of `classes`: count, mean service, mean and percentiles of waiting."""


WEAR: dict[str, str] = {
    "erases_mean": "mean",
    "erases_std": "σ",
    "erases_cv": "σ ÷ mean",
    "erases_gini": "Gini",
    "erases_min": "fewest",
    "erases_max": "most",
    "levelling_programs": "pages moved",
    "levelling_erases": "erases for it",
    "levelling_time_share": "flash time",
}
"""Metrics of the table of wear with their headings: erases of a block, then what levelling took."""


def wear_columns(results: Outcome) -> dict[str, str]:
    """Those of `WEAR` that runs of results have."""
    has_clocks = any(map(has_clock, results.document["runs"]))
    return {name: heading for name, heading in WEAR.items() if has_clocks or name != "levelling_time_share"}


def wear(results: Outcome) -> list[Json]:
    """How evenly blocks wore, and what levelling took: a row per run with erases."""
    names = wear_columns(results)
    return [
        {"label": run["label"], "cells": [METRICS[name].text(METRICS[name].value(run)) for name in names]}
        for run in results.document["runs"]
        if run["erases"]["total"]
    ]
