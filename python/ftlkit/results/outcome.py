"""A study's results, as a JSON document and as Polars frames.

`ftlkit.report.results` adds what is made of it: what draws imports only what is drawn.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util.lookup import known
from ftlkit.results.frames import FRAMES

if TYPE_CHECKING:
    import polars as pl

    from ftlkit.results.document import DeviceFacts, Document


def device_of(document: Document) -> DeviceFacts:
    """The device of a document; without one nothing can be drawn."""
    if document["device"] is None:
        raise UserError("these results hold no run: the study was stopped before its device was known. Run it again.")
    return document["device"]


def simulated_bytes(device: DeviceFacts) -> int:
    """What the host sees of the device that ran: all, or the slice that stands for it."""
    return device.get("slice_bytes") or device["logical_bytes"]


class Outcome:
    """The finished runs of one study, with its request."""

    def __init__(self, document: Document, source: Path | None = None) -> None:
        self.document = document
        """The whole document, as saved."""
        self.source = source
        """The file that it was loaded from, if it was."""

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
        """One row per run; the columns are described in `RUN_COLUMNS`."""
        return self.frame("runs")

    @cached_property
    def operations(self) -> pl.DataFrame:
        """Flash operations: one row per run, cause and kind, with `count` and `time_ns`."""
        return self.frame("operations")

    @cached_property
    def streams(self) -> pl.DataFrame:
        """What was written and moved: one row per run and stream kept apart, or class of pages."""
        return self.frame("streams")

    @cached_property
    def waiting(self) -> pl.DataFrame:
        """Parts of response times: one row per run, part and cause, with `mean_ns` and `bus_ns`."""
        return self.frame("waiting")

    @cached_property
    def cdf(self) -> pl.DataFrame:
        """Response times: `share` of a run's `requests` took `response_ns` or less."""
        return self.frame("cdf")

    @cached_property
    def classes(self) -> pl.DataFrame:
        """Latency of flash operations: one row per run, class and part; empty if not asked for.

        Classes are `host_read`, `host_write`, `mapping_read`, `mapping_write`, `collection` and
        `other`; columns are `count`, `mean_ns`, `p50_ns`, `p90_ns`, `p99_ns`, `p99_9_ns`,
        `p99_99_ns` and `max_ns`.
        """
        return self.frame("classes")

    @cached_property
    def class_cdf(self) -> pl.DataFrame:
        """Latency of flash operations: `share` of a class had a `part` of `time_ns` or less."""
        return self.frame("class_cdf")

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """Flash operations of the study's window: one row per run and operation; else empty."""
        return self.frame("timeline")

    @cached_property
    def flash_trace(self) -> pl.DataFrame:
        """Flash operations with their pages: one row per run and operation; else empty."""
        return self.frame("flash_trace")

    @cached_property
    def series(self) -> pl.DataFrame:
        """Time series: one row per run and point, about the stretch it ends; a column per gauge."""
        return self.frame("series")

    @cached_property
    def erases(self) -> pl.DataFrame:
        """Erase counts: `blocks` of a run that were erased `low` to `high` times."""
        return self.frame("erases")

    @cached_property
    def wear_map(self) -> pl.DataFrame:
        """Where blocks were erased: one row per run and cell of blocks, at most 1024 per run."""
        return self.frame("wear_map")

    def frame(self, name: str) -> pl.DataFrame:
        """The frame of a name in `ftlkit.results.frames.FRAMES`, which describes the columns."""
        return known(name, FRAMES, "frame").make(self.document)
