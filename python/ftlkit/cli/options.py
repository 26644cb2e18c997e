"""Options that several commands take, each declared once.

Their values are checked by the simulator, which knows the ranges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_OUT = "Outputs"
_TRACE = "Workload"
_DEVICE = "Device and run"

WINDOW = "0ms..10ms"
"""The window that is drawn when none is given: some thousand operations on most devices."""

Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a self-contained report.", rich_help_panel=_OUT),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE.json",
        help="Save the complete results; - is standard output.",
        rich_help_panel=_OUT,
    ),
]
CsvFile = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE.csv",
        help="Save one row a run as CSV; - is standard output.",
        rich_help_panel=_OUT,
    ),
]
ParquetFile = Annotated[
    Path | None,
    typer.Option("--parquet", metavar="FILE.parquet", help="Save one row a run as Parquet.", rich_help_panel=_OUT),
]
SeriesFile = Annotated[
    Path | None,
    typer.Option(
        "--series",
        metavar="FILE",
        help="Save the time series, one row a run and point, as .csv or .parquet; - is standard output.",
        rich_help_panel=_OUT,
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="The trace's format, instead of the one guessed from its content.", rich_help_panel=_TRACE
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(help="Unit of the trace's times, where not the format's own: ns, us, ms, s.", rich_help_panel=_TRACE),
]
TraceDevice = Annotated[
    str | None,
    typer.Option(
        help="Which of the trace's devices, or stacked: each gets its own address range.", rich_help_panel=_TRACE
    ),
]
TimeBackwards = Annotated[
    str | None, typer.Option(help="When time goes backwards: refuse, clamp or sort:N.", rich_help_panel=_TRACE)
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out malformed records, and count them.", rich_help_panel=_TRACE)
]
BlkparseAction = Annotated[
    str | None,
    typer.Option(
        "--blkparse-action", "--action", help="Which blkparse action is a request: one letter.", rich_help_panel=_TRACE
    ),
]
AlignOffset = Annotated[
    str | None, typer.Option(help="Bytes to add to every address, for example 512B.", rich_help_panel=_TRACE)
]
Requests = Annotated[
    int | None, typer.Option(help="Take so many requests of a trace, or generate so many.", rich_help_panel=_TRACE)
]
Addresses = Annotated[
    str | None, typer.Option(help="Addresses beyond the device: refuse, dense or wrap.", rich_help_panel=_TRACE)
]
Speedup = Annotated[float | None, typer.Option(help="Let arrivals come so many times faster.", rich_help_panel=_TRACE)]

Device = Annotated[
    str | None, typer.Option(help="Device preset; `ftlkit devices` lists them.", rich_help_panel=_DEVICE)
]
Capacity = Annotated[
    str | None,
    typer.Option(
        help="Logical size, for example 8GiB, or auto: the workload's span (the default without --device).",
        rich_help_panel=_DEVICE,
    ),
]
Loop = Annotated[
    str | None,
    typer.Option(
        help="open: requests arrive at the trace's times; closed: when another is done.", rich_help_panel=_DEVICE
    ),
]
QueueDepth = Annotated[
    int | None, typer.Option(help="Requests under way at once in a closed loop.", rich_help_panel=_DEVICE)
]
Precondition = Annotated[
    str | None, typer.Option(help="Prepare the device before measuring: none, fill or steady.", rich_help_panel=_DEVICE)
]
Samples = Annotated[int | None, typer.Option(help="Points of the time series.", rich_help_panel=_DEVICE)]
Seed = Annotated[int | None, typer.Option(help="Every random choice derives from it.", rich_help_panel=_DEVICE)]
Verify = Annotated[bool, typer.Option("--verify", help="Check every read against an oracle.", rich_help_panel=_DEVICE)]
Classes = Annotated[
    bool,
    typer.Option(
        "--classes", help="Tell waiting and service times of flash operations by class.", rich_help_panel=_DEVICE
    ),
]
Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline", metavar="FILE.html", help="Draw the flash operations of a window.", rich_help_panel=_OUT
    ),
]
TimelineWindow = Annotated[
    str | None,
    typer.Option(
        metavar="FROM..TO",
        help=f"Which stretch of simulated time --timeline draws; {WINDOW} without it.",
        rich_help_panel=_OUT,
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Runs at once; results do not depend on it.", rich_help_panel=_DEVICE)
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SCHEME.KEY=VALUE",
        help="Set a scheme's parameter (dftl.cmt=64KiB) or a key of the study (device.spare=0.07); may be repeated.",
        rich_help_panel=_DEVICE,
    ),
]
Title = Annotated[str | None, typer.Option(help="Title of the report.", rich_help_panel=_OUT)]


def given(**values: Any) -> Any:  # noqa: ANN401 - becomes the options of whichever function takes them
    """The options that the user gave."""
    return {key: value for key, value in values.items() if value is not None and value is not False}
