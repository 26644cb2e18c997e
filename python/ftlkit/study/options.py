"""What a study can be asked: the options of every function and command that runs one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from ftlkit._native import trace_formats
from ftlkit.own.ftl import Ftl

FtlChoice = str | Mapping[str, object] | type[Ftl]
"""A stack's text, a class of your own, or the `[[ftl]]` table of a study."""

WorkloadChoice = str | Path | Mapping[str, object]
DeviceChoice = str | Mapping[str, object]


class ReadingOptions(TypedDict, total=False):
    """How a trace file is read."""

    format: str
    """The trace's format instead of the one guessed from its content."""
    columns: str
    """The columns of a delimited text: `time:ms, device, offset:B, size:B, op:1=read`."""
    where: str | Sequence[str]
    """Take the rows of a text whose columns hold this: `type=D`, `op!=R|S`; all must hold."""
    time_unit: str
    """Unit of the trace's time stamps where it is not the format's own: `ns`, `us`, `ms`, `s`."""
    time_backwards: str
    """What to do when the trace's time runs backwards: `refuse`, `clamp` or `sort:N`."""
    tick: str
    """Over how long requests of one time are spread evenly: `1s` for a trace in whole seconds."""
    skip_bad: bool
    """Leave out malformed records, and count them, instead of refusing them."""
    blkparse_action: str
    """Which action of a blkparse trace is a request: one letter."""
    align_offset: int | str
    """Bytes added to every address, for example 512 or `512B`."""


class TraceOptions(ReadingOptions, total=False):
    """How a workload is read or generated."""

    trace_device: str
    """Which device of a trace of several, or `stacked`: each gets its own address range."""
    seed: int
    """Every random choice derives from it."""
    requests: int
    """Use the first N requests of a trace, or generate N."""
    repeat: int
    """Serve a trace N times in a row; `requests` counts over all rounds."""


class Options(TraceOptions, total=False):
    """What a comparison can set beside its workload, its device and its translation layers."""

    title: str
    """Shown above the results."""
    capacity: str
    """Logical bytes that the host sees, such as `8GiB`, or `auto`: the workload's span."""
    addresses: str
    """What to do with addresses beyond the device: `refuse`, `dense` or `wrap`."""
    speedup: float
    """Divide the gaps between arrivals by this."""
    loop: str
    """`open`: at the trace's times; `closed`: as soon as one of `queue_depth` is done."""
    queue_depth: int
    """Requests under way at once in a closed loop."""
    skip: int
    """Requests at the beginning that are served but not measured."""
    precondition: str
    """What is done to the device before measuring: `auto`, `none`, `fill`, `steady` or `workload`.

    `auto` fills it where the workload reads pages that it has not written; `workload` serves the
    workload's reads and writes once as writes.
    """
    in_use: float | str
    """The share of the capacity that holds data when measuring begins, such as 0.8 or `80%`."""
    memory_limit: str
    """The memory limit of the runs, such as `16GiB`; by default 80 % of what is available."""
    samples: int
    """Points of the time series."""
    verify: bool
    """Check every read against an oracle, and the scheme's invariants."""
    classes: bool
    """Tell waiting and service times of flash operations by class."""
    timeline: str
    """The stretch of simulated time to record each flash operation of, such as `10ms..12ms`."""
    flash_trace: str
    """The stretch of simulated time whose requests to trace down to the pages of flash."""
    settings: Sequence[str]
    """`SCHEME.KEY=VALUE` or `SECTION.KEY=VALUE`, as after `--set`."""


FORMATS = tuple(trace_formats())
"""Names of the formats of traces."""

SECTIONS = ("device", "workload", "host", "run")

TRACE_KEYS = tuple(key for key in TraceOptions.__annotations__ if key != "seed")
"""The keys of a workload's table that say how it is read or generated."""
