"""Results of a study as Polars frames, saved and loaded as one JSON document.

Everything that is shown (tables, verdict, charts, reports) is drawn from here alone, so a saved file can be shown
again without a new run. Frames keep plain numbers: times in nanoseconds, sizes in bytes, shares 0..1, the unit last
in the name.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ftlkit._native import UserError
from ftlkit.outputs import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ftlkit.document import ClassLatency, Document, Json, Response, Run

RUN_COLUMNS: dict[str, str] = {
    "label": "what the run is called in tables and charts",
    "ftl": "translation layer",
    "family": "how it maps: page, block, log-buffer, demand-paged",
    "parameters": "its parameters, as key=value",
    "requests": "requests served",
    "simulated_ns": "from the first arrival to the last completion",
    "response_mean_ns": "mean response time of all requests",
    "response_p50_ns": "median response time",
    "response_p90_ns": "90th percentile of the response time",
    "response_p99_ns": "99th percentile",
    "response_p99_9_ns": "99.9th percentile",
    "response_p99_99_ns": "99.99th percentile",
    "response_max_ns": "longest response time",
    "read_mean_ns": "mean response time of reads; null without reads",
    "read_p99_ns": "99th percentile of reads",
    "write_mean_ns": "mean response time of writes; null without writes",
    "write_p99_ns": "99th percentile of writes",
    "iops": "requests served a second of simulated time",
    "throughput_bytes_per_s": "bytes read and written a second of simulated time",
    "host_pages_written": "pages that the host wrote",
    "write_amplification": "flash pages programmed a page that the host wrote; null without writes",
    "pages_read": "flash pages read, for any cause",
    "pages_programmed": "flash pages programmed, for any cause",
    "erases": "blocks erased",
    "erases_mean": "mean erase count of a block",
    "erases_std": "standard deviation of the blocks' erase counts",
    "erases_min": "lowest erase count of a block",
    "erases_max": "highest erase count of a block",
    "spare_blocks": "blocks that could fail when the device was new",
    "spare_blocks_left": "blocks that may still fail before writes are refused",
    "grown_bad_blocks": "blocks that failed and were marked bad",
    "end_of_life_request": "the request that was refused because the device had worn out; null where it lasted",
    "ram_bytes": "RAM that the mapping takes",
    "flash_bytes": "flash that the mapping takes",
    "mapping_hit_ratio": "share of lookups answered from RAM; null where the whole map is in RAM",
    "merges_switch": "switch merges",
    "merges_partial": "partial merges",
    "merges_full": "full merges",
    "dies_busy": "mean share of time that a die was busy",
    "channels_busy": "mean share of time that a channel was busy",
    "verified": "true when an oracle checked every read; null when it was not asked to",
    "mount_reads": "pages read to mount the device after a power cut; null for runs that were not verified",
    "mount_time_ns": "how long that took, in simulated time",
    "event_hash": "hash of all flash operations: the same run gives the same hash",
    "wall_s": "seconds that the run took here",
}
"""The columns of `Results.runs`, with their meanings."""


_PERCENTILES = ("p50", "p90", "p99", "p99_9", "p99_99", "max")
_TIMELINE: dict[str, pl.DataType] = {
    "die": pl.Int64(),
    "op": pl.String(),
    "cause": pl.String(),
    "ready_ns": pl.Int64(),
    "start_ns": pl.Int64(),
    "transfer_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}


class Results:
    """Results of one study: the runs that finished, and what was asked."""

    def __init__(self, document: Document) -> None:
        self.document = document
        """The whole document, as saved."""

    @property
    def cancelled(self) -> bool:
        """Whether the study was stopped before all runs had finished."""
        return self.document["cancelled"]

    @property
    def labels(self) -> list[str]:
        """The runs' labels, in the order asked for."""
        return [run["label"] for run in self.document["runs"]]

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row a run; the columns are described in `RUN_COLUMNS`."""
        return pl.DataFrame([_row(run) for run in self.document["runs"]], schema=_RUN_SCHEMA)

    @cached_property
    def operations(self) -> pl.DataFrame:
        """Flash operations: one row a run, cause and kind (`read`, `program`, `erase`) with `count` and `time_ns`."""
        rows = [
            {"label": run["label"], **operation} for run in self.document["runs"] for operation in run["operations"]
        ]
        types = {"label": pl.String, "cause": pl.String, "op": pl.String, "count": pl.Int64, "time_ns": pl.Int64}
        return pl.DataFrame(rows, schema=types)

    @cached_property
    def cdf(self) -> pl.DataFrame:
        """Response times: `share` of a run's `requests` (`all`, `read`, `write`) took `response_ns` or less."""
        rows = [
            (run["label"], kind, float(point[0]), float(point[1]))
            for run in self.document["runs"]
            for kind, points in run["cdf"].items()
            for point in points
        ]
        types = {"label": pl.String, "requests": pl.String, "response_ns": pl.Float64, "share": pl.Float64}
        return pl.DataFrame(rows, schema=types, orient="row")

    @cached_property
    def classes(self) -> pl.DataFrame:
        """Latency of flash operations: one row a run, class and part (`waiting`, `service`); empty if not asked for.

        Classes are `host_read`, `host_write`, `mapping_read`, `mapping_write`, `collection` and `other`; columns
        are `count`, `mean_ns`, `p50_ns`, `p90_ns`, `p99_ns`, `p99_9_ns`, `p99_99_ns` and `max_ns`.
        """
        rows = [
            {"label": label, "class": latency["name"], "part": part, "count": response["count"]}
            | {f"{name}_ns": value for name, value in response.items() if name != "count"}
            for label, latency, part, response, _ in self._class_parts()
        ]
        types = {"label": pl.String, "class": pl.String, "part": pl.String, "count": pl.Int64, "mean_ns": pl.Float64}
        return pl.DataFrame(rows, schema=types | {f"{name}_ns": pl.Int64 for name in _PERCENTILES})

    @cached_property
    def class_cdf(self) -> pl.DataFrame:
        """Latency of flash operations: `share` of a class's operations had a `part` of `time_ns` or less."""
        rows = [
            (label, latency["name"], part, float(point[0]), float(point[1]))
            for label, latency, part, _, points in self._class_parts()
            for point in points
        ]
        types = {"label": pl.String, "class": pl.String, "part": pl.String, "time_ns": pl.Float64, "share": pl.Float64}
        return pl.DataFrame(rows, schema=types, orient="row")

    def _class_parts(self) -> Iterator[tuple[str, ClassLatency, str, Response, list[tuple[int, float]]]]:
        for run in self.document["runs"]:
            for latency in run.get("classes") or []:
                yield run["label"], latency, "waiting", latency["waiting_ns"], latency["waiting_cdf"]
                yield run["label"], latency, "service", latency["service_ns"], latency["service_cdf"]

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """Flash operations of the window that the study asked for: one row a run and operation; empty without one."""
        frames = [
            pl.DataFrame({name: timeline.get(name) for name in _TIMELINE}, schema=_TIMELINE).with_columns(
                pl.lit(run["label"]).alias("label")
            )
            for run in self.document["runs"]
            if (timeline := run.get("timeline"))
        ]
        empty = pl.DataFrame(schema=_TIMELINE | {"label": pl.String()})
        return pl.concat([empty, *frames]).select("label", *_TIMELINE)

    @cached_property
    def series(self) -> pl.DataFrame:
        """Time series: one row a run and point, each about the stretch that the point ends, with a column a gauge."""
        frames = [_series(run) for run in self.document["runs"]]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame({"label": []})

    @cached_property
    def erases(self) -> pl.DataFrame:
        """Erase counts: `blocks` of a run that were erased `low` to `high` times."""
        rows = [(run["label"], *bin_) for run in self.document["runs"] for bin_ in run["erases"]["histogram"]]
        types = {"label": pl.String, "low": pl.Int64, "high": pl.Int64, "blocks": pl.Int64}
        return pl.DataFrame(rows, schema=types, orient="row")

    def draw_timeline(self, path: str | Path) -> None:
        """Write one self-contained HTML file with the operations of the study's window, by die and channel."""
        from ftlkit.report.timeline import page  # noqa: PLC0415 - as for the report

        with replacing(Path(path)) as temporary:
            temporary.write_text(page(self), encoding="utf-8")

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file that explains the results and works offline."""
        from ftlkit.report.page import page  # noqa: PLC0415 - drawing libraries take a second to load, and only reports need them

        with replacing(Path(path)) as temporary:
            temporary.write_text(page(self), encoding="utf-8")

    def save(self, path: str | Path) -> None:
        """Save the results: everything as `.json`, one row a run as `.csv` or `.parquet`."""
        path = Path(path)
        writer = _WRITERS.get(path.suffix.lower())
        if writer is None:
            known = ", ".join(_WRITERS)
            raise UserError(f"cannot tell how to save {path}: its name must end in one of {known}.")
        with replacing(path) as temporary:
            writer(self, temporary)

    def __repr__(self) -> str:
        state = ", cancelled" if self.cancelled else ""
        return f"<ftlkit.Results of {', '.join(self.labels) or 'no run'} on {self.document['workload']['name']}{state}>"


def load(path: str | Path) -> Results:
    """Results that were saved as JSON."""
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}. Give a file that --json or Results.save wrote."
        ) from None
    except ValueError:
        raise UserError(f"{path} is not a JSON document. Give a file that --json or Results.save wrote.") from None
    missing = [key for key in ("ftlkit", "study", "workload", "device", "runs") if key not in _keys(document)]
    if missing:
        raise UserError(f"{path} holds no ftlkit results: {missing[0]} is missing. Give a file that --json wrote.")
    return Results(document)


def _keys(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        yield from document


def _row(run: Run) -> Json:
    response, erases, merges = run["response_ns"], run["erases"], run["merges"]
    row: dict[str, Any] = {key: run.get(key) for key in RUN_COLUMNS}
    row["parameters"] = " ".join(f"{key}={value}" for key, value in run["parameters"].items())
    row["requests"] = sum(run["requests"].values())
    for name, value in response["all"].items():
        row[f"response_{name}_ns"] = value
    for kind in ("read", "write"):
        served = response.get(kind)
        row[f"{kind}_mean_ns"] = served["mean"] if served and served["count"] else None
        row[f"{kind}_p99_ns"] = served["p99"] if served and served["count"] else None
    for column, op in (("pages_read", "read"), ("pages_programmed", "program")):
        row[column] = sum(each["count"] for each in run["operations"] if each["op"] == op)
    row["erases"] = erases["total"]
    row |= {f"erases_{key}": erases[key] for key in ("mean", "std", "min", "max")}
    row |= {f"merges_{key}": merges[key] for key in ("switch", "partial", "full")}
    spares = run["spares"]
    row |= {"spare_blocks": spares["total"], "spare_blocks_left": spares["left"]}
    row["grown_bad_blocks"] = spares["grown_bad_blocks"]
    row["end_of_life_request"] = run["end_of_life"]["request"] if run["end_of_life"] else None
    row |= {key: run["footprint"][key] for key in ("ram_bytes", "flash_bytes")}
    if mount := run.get("mount"):
        row |= {"mount_reads": mount["reads"], "mount_time_ns": mount["time_ns"]}
    row |= {f"{key}_busy": run["utilisation"].get(key) for key in ("dies", "channels")}
    return {key: row[key] for key in RUN_COLUMNS}


def _series(run: Run) -> pl.DataFrame:
    columns: dict[str, Any] = {"label": [run["label"]] * len(run["series"]["request"])}
    columns |= {name: values for name, values in run["series"].items() if name != "gauges"}
    return pl.DataFrame(columns | run["series"]["gauges"], strict=False, schema_overrides=_SERIES_TYPES)


_SERIES_TYPES = {"mean_response_ns": pl.Float64, "write_amplification": pl.Float64, "mapping_hit_ratio": pl.Float64}

_TEXTS = ("label", "ftl", "family", "parameters", "event_hash")
_REALS = (
    "response_mean_ns", "read_mean_ns", "write_mean_ns", "iops", "throughput_bytes_per_s", "write_amplification",
    "erases_mean", "erases_std", "mapping_hit_ratio", "dies_busy", "channels_busy", "wall_s",
)  # fmt: skip


def _type(column: str) -> pl.DataType:
    if column in _TEXTS:
        return pl.String()
    if column == "verified":
        return pl.Boolean()
    return pl.Float64() if column in _REALS else pl.Int64()


_RUN_SCHEMA = {column: _type(column) for column in RUN_COLUMNS}


def _write_json(results: Results, path: Path) -> None:
    path.write_text(json.dumps(results.document, ensure_ascii=False), encoding="utf-8")


_WRITERS: dict[str, Callable[[Results, Path], None]] = {
    ".json": _write_json,
    ".csv": lambda results, path: results.runs.write_csv(path),
    ".parquet": lambda results, path: results.runs.write_parquet(path),
}
