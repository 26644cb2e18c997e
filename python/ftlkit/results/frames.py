"""The frames of results besides one row per run: contents, columns, and how they are made.

A column is described once, here, with its type; docs/columns.md is made from it. Times are
nanoseconds, shares 0..1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from ftlkit.results.columns import COLUMNS
from ftlkit.results.derived import moved_pages, stream_amplification, waiting

if TYPE_CHECKING:
    from ftlkit.results.document import ClassLatency, Document, Responses, Run

Row = tuple[Any, ...]

_TEXT, _WHOLE, _REAL, _FLAG = str, int, float, bool

Columns = dict[str, tuple[type, str]]
"""Type and meaning by name."""

_LABEL: Columns = {"label": (_TEXT, "the run")}
_PERCENTILES = ("p50", "p90", "p99", "p99_9", "p99_99", "max")


@dataclass(frozen=True)
class Frame:
    """One frame: what a row is, its columns, and how it is made from saved results."""

    row: str
    columns: Columns
    make: Callable[[Document], pl.DataFrame]


def _rows(columns: Columns, rows: Callable[[Run], Iterable[Row]]) -> Callable[[Document], pl.DataFrame]:
    """A maker that puts each run's rows after its label."""
    schema = {name: kind for name, (kind, _) in columns.items()}

    def make(document: Document) -> pl.DataFrame:
        records = [(run["label"], *row) for run in document["runs"] for row in rows(run)]
        return pl.DataFrame(records, schema=schema, orient="row")

    return make


def _frame(row: str, columns: Columns, rows: Callable[[Run], Iterable[Row]]) -> Frame:
    return Frame(row, _LABEL | columns, _rows(_LABEL | columns, rows))


def _runs(document: Document) -> pl.DataFrame:
    rows = [{name: metric.value(run) for name, metric in COLUMNS.items()} for run in document["runs"]]
    return pl.DataFrame(rows, schema={name: metric.type for name, metric in COLUMNS.items()})


def _operations(run: Run) -> Iterator[Row]:
    for operation in run["operations"]:
        yield operation["cause"], operation["op"], operation["count"], operation["time_ns"]


def _streams(run: Run) -> Iterator[Row]:
    for number, stream in enumerate(run.get("streams") or []):
        moved = moved_pages(stream)
        for_others = moved - stream["moved_for"][number]
        amplification = stream_amplification(stream)
        yield (
            number,
            stream["is_collected"],
            stream["host_pages"],
            moved,
            for_others,
            amplification,
            stream["erased_blocks"],
        )


def _cdf(run: Run) -> Iterator[Row]:
    for kind, points in run["cdf"].items():
        for time, share in points:
            yield kind, float(time), float(share)


def _parts(run: Run) -> Iterator[tuple[ClassLatency, str, Responses, list[tuple[int, float]]]]:
    for latency in run.get("classes") or []:
        yield latency, "waiting", latency["waiting_ns"], latency["waiting_cdf"]
        yield latency, "service", latency["service_ns"], latency["service_cdf"]


def _classes(run: Run) -> Iterator[Row]:
    for latency, part, response, _ in _parts(run):
        times: Any = response
        yield latency["name"], part, times["count"], times["mean"], *(times[name] for name in _PERCENTILES)


def _class_cdf(run: Run) -> Iterator[Row]:
    for latency, part, _, points in _parts(run):
        for time, share in points:
            yield latency["name"], part, float(time), float(share)


def _waiting(run: Run) -> Iterator[Row]:
    bus = run.get("bus_waiting_ns")
    for (part, cause), time in waiting(run).items():
        yield part, cause, time, bus.get(cause, 0.0) if bus is not None and part == "waiting" else None


_TIMELINE: Columns = {
    "die": (_WHOLE, "the die that was held; 0 with serial pricing"),
    "op": (_TEXT, "`read`, `program` or `erase`"),
    "cause": (_TEXT, "why it was done"),
    "ready_ns": (_WHOLE, "when it could have begun"),
    "start_ns": (_WHOLE, "start of its hold on the die"),
    "transfer_ns": (_WHOLE, "start of the transfer; null for an erase, and with serial pricing"),
    "end_ns": (_WHOLE, "when the die was free again"),
    "service_ns": (_WHOLE, "time on an idle device; null for a suspended part"),
}


def _timeline(run: Run) -> Iterator[Row]:
    timeline: Any = run.get("timeline")
    if timeline:
        # Older results have no service times.
        none = [None] * len(timeline["die"])
        yield from zip(*(timeline.get(name, none) for name in _TIMELINE), strict=True)


_FLASH_TRACE: Columns = {
    "request": (_WHOLE, "number of its request, from 1; null for work in idle time"),
    "op": (_TEXT, "`read`, `program` or `erase`"),
    "cause": (_TEXT, "why it was done"),
    "die": (_WHOLE, "its die, counted over the whole device"),
    "block": (_WHOLE, "its block, counted over the whole device"),
    "page": (_WHOLE, "its page, counted within the block; null for an erase"),
    "role": (_TEXT, "role of a programmed page: `data`, `random_log`, `translation` and so on"),
    "logical": (_WHOLE, "logical page, or number of the translation page, of a program"),
    "copies": (_FLAG, "whether it programs a copy"),
    "has_failed": (_FLAG, "whether a program or an erase failed"),
    "background": (_WHOLE, "number of the background work; 0 for none"),
    "start_ns": (_WHOLE, "start on its die"),
    "end_ns": (_WHOLE, "when it was done"),
}


def _flash_trace(run: Run) -> Iterator[Row]:
    trace = run.get("flash_trace")
    if trace:
        operations: Any = trace["operations"]
        yield from zip(*(operations[name] for name in _FLASH_TRACE), strict=True)


def _wear_map(run: Run) -> Iterator[Row]:
    wear_map = run.get("wear_map")
    if wear_map:
        for cell, row in enumerate(zip(wear_map["mean"], wear_map["max"], wear_map["failed"], strict=True)):
            yield cell, wear_map["blocks_per_cell"] * wear_map["planes_per_cell"], *row


def _series(document: Document) -> pl.DataFrame:
    frames = [pl.DataFrame(schema={name: kind for name, (kind, _) in SERIES.items()})]
    known = frames[0].schema
    for run in document["runs"]:
        points = {name: values for name, values in run["series"].items() if name != "gauges"}
        columns: dict[str, Any] = {"label": [run["label"]] * len(run["series"]["request"])} | points
        frames.append(pl.DataFrame(columns | run["series"]["gauges"], strict=False, schema_overrides=known))
    return pl.concat(frames, how="diagonal_relaxed")


SERIES: Columns = _LABEL | {
    "request": (_WHOLE, "requests done so far"),
    "time_ns": (_WHOLE, "completion of the last of them"),
    "mean_response_ns": (_REAL, "mean response time of the interval"),
    "write_amplification": (_REAL, "write amplification of the interval"),
    "moved_share": (
        _REAL,
        "share of programs that moved data, as collections and merges do",
    ),
    "erases": (_WHOLE, "blocks erased so far"),
    "erases_std": (_REAL, "standard deviation of erase counts so far"),
    "erases_max": (_WHOLE, "most erases of a block so far"),
    "host_written_bytes": (_WHOLE, "bytes written by the host so far"),
    "mapping_hit_ratio": (_REAL, "hit ratio of the mapping cache in the interval"),
    "buffer_hit_ratio": (_REAL, "hit ratio of the write buffer in the interval"),
}
"""Columns of the time series that every run has; one more follows for each gauge of a scheme."""

FRAMES: dict[str, Frame] = {
    "runs": Frame("run", {name: (metric.type, metric.meaning) for name, metric in COLUMNS.items()}, _runs),
    "series": Frame(
        "run and interval, with a further column per gauge of the scheme",
        SERIES,
        _series,
    ),
    "operations": _frame(
        "run, cause and kind of flash operation",
        {
            "cause": (_TEXT, "why they were done; `precondition` is the preparation of the device"),
            "op": (_TEXT, "`read`, `program` or `erase`"),
            "count": (_WHOLE, "how many"),
            "time_ns": (_WHOLE, "their service times, summed"),
        },
        _operations,
    ),
    "streams": _frame(
        "run and stream (a hint's, an FDP handle's, or a classifier's class), then of collected pages; else empty",
        {
            "stream": (_WHOLE, "its number"),
            "is_collected": (_FLAG, "whether its blocks take collected pages alone"),
            "host_pages": (_WHOLE, "pages that the host wrote to it"),
            "moved_pages": (_WHOLE, "moves of these pages"),
            "moved_for_others": (_WHOLE, "moves that made room for another stream's writes"),
            "page_write_amplification": (_REAL, "1 + `moved_pages` ÷ `host_pages`"),
            "erased_blocks": (_WHOLE, "its erased blocks"),
        },
        _streams,
    ),
    "waiting": _frame(
        "run, part of the response time and cause; times add up to the mean response; empty without `run.waiting`",
        {
            "part": (_TEXT, "`waiting` for a die or channel, or `service`, the request's own operations"),
            "cause": (_TEXT, "of the operation waited for, or of the own one; or `controller`, `link`"),
            "mean_ns": (_REAL, "mean over all reads and writes"),
            "bus_ns": (_REAL, "part of it that waited for a bus; null for service"),
        },
        _waiting,
    ),
    "cdf": _frame(
        "run, kind of requests and point of the distribution of response times",
        {
            "requests": (_TEXT, "`all`, `read` or `write`"),
            "response_ns": (_REAL, "response time"),
            "share": (_REAL, "share of these requests up to this time"),
        },
        _cdf,
    ),
    "erases": _frame(
        "run and range of erase counts",
        {
            "low": (_WHOLE, "lowest count of the range"),
            "high": (_WHOLE, "highest count of the range"),
            "blocks": (_WHOLE, "blocks in the range"),
        },
        lambda run: run["erases"]["histogram"],
    ),
    "wear_map": _frame(
        "run and cell of the wear map: neighbouring blocks of one plane, in the order channel, die, "
        "plane, block; at most 1024 cells",
        {
            "cell": (_WHOLE, "the cell's place in that order, from 0"),
            "blocks": (_WHOLE, "blocks per cell; the last of a plane may have fewer"),
            "erases_mean": (_REAL, "mean erases; null if all blocks were bad from the factory"),
            "erases_max": (_WHOLE, "most erases of one of them"),
            "failed": (_WHOLE, "failed blocks, marked bad"),
        },
        _wear_map,
    ),
    "classes": _frame(
        "run, class of flash operations and part of their latency; empty without `run.classes`",
        {
            "class": (_TEXT, "`host_read`, `host_write`, `mapping_read`, `mapping_write`, `collection` or `other`"),
            "part": (_TEXT, "`waiting` or `service`"),
            "count": (_WHOLE, "operations"),
            "mean_ns": (_REAL, "mean of the part"),
            **{f"{name}_ns": (_WHOLE, "percentile of the part, or longest") for name in _PERCENTILES},
        },
        _classes,
    ),
    "class_cdf": _frame(
        "run, class of flash operations, part and point of its distribution; empty without `run.classes`",
        {
            "class": (_TEXT, "as in `classes`"),
            "part": (_TEXT, "`waiting` or `service`"),
            "time_ns": (_REAL, "waiting or service time"),
            "share": (_REAL, "share of the class's operations up to this time"),
        },
        _class_cdf,
    ),
    "timeline": _frame("run and flash operation of the window; empty without `run.timeline`", _TIMELINE, _timeline),
    "flash_trace": _frame(
        "run and flash operation of requests that begin in the window, in order of issue; "
        "empty without `run.flash_trace`",
        _FLASH_TRACE,
        _flash_trace,
    ),
}
"""All frames by the name of the property of `Results` that holds them."""
