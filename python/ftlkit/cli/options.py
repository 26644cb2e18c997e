"""Options that several commands take, each declared once.

Their values are checked by the simulator, which knows the ranges.
"""

from __future__ import annotations

import inspect
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ftlkit.api import catalogue
from ftlkit.study import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_OUT = "Outputs"
_TRACE = "Workload"
_DEVICE = "Device and run"
_SWEEP = "Sweep"

WINDOW = "0ms..10ms"
"""The window that is drawn when none is given: some thousand operations on most devices."""


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the last of some names by commas, for shells."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def names_of(catalogue: Callable[[], list[dict[str, Any]]]) -> Callable[[], list[str]]:
    """The names in a catalogue, asked for when they are needed."""
    return lambda: [entry["name"] for entry in catalogue()]


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
RequestsOut = Annotated[
    Path | None,
    typer.Option(
        "--requests-out",
        metavar="FILE.parquet",
        help="Save one row a run and request: its times, its flash operations and what it waited for, by cause.",
        rich_help_panel=_OUT,
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"The trace's format, instead of the one guessed from its content: {', '.join(FORMATS)}.",
        autocompletion=completing(lambda: FORMATS),
        rich_help_panel=_TRACE,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help='The columns of a delimited text, instead of a format: "time:ms, device, offset:B, size:B, op:1=read".',
        rich_help_panel=_TRACE,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Take the rows of a text whose column holds a value, or with != does not: type=D, op!=R|S; others are "
        "left out and counted. May be repeated: then each must hold.",
        rich_help_panel=_TRACE,
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        metavar="ns|us|ms|s",
        help="Unit of the trace's times, where not the format's own: ns, us, ms, s.",
        rich_help_panel=_TRACE,
    ),
]
TraceDevice = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|stacked",
        help="Which of the trace's devices, or stacked: each gets its own address range.",
        rich_help_panel=_TRACE,
    ),
]
TimeBackwards = Annotated[
    str | None,
    typer.Option(
        metavar="refuse|clamp|sort:N", help="When time goes backwards: refuse, clamp or sort:N.", rich_help_panel=_TRACE
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out malformed records, and count them.", rich_help_panel=_TRACE)
]
BlkparseAction = Annotated[
    str | None,
    typer.Option(
        "--blkparse-action",
        "--action",
        metavar="LETTER",
        help="Which blkparse action is a request: one letter.",
        rich_help_panel=_TRACE,
    ),
]
AlignOffset = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Bytes to add to every address, for example 512B.", rich_help_panel=_TRACE),
]
Requests = Annotated[
    int | None,
    typer.Option(metavar="N", help="Take so many requests of a trace, or generate so many.", rich_help_panel=_TRACE),
]
Addresses = Annotated[
    str | None,
    typer.Option(
        metavar="refuse|dense|wrap", help="Addresses beyond the device: refuse, dense or wrap.", rich_help_panel=_TRACE
    ),
]
Speedup = Annotated[
    float | None, typer.Option(metavar="FACTOR", help="Let arrivals come so many times faster.", rich_help_panel=_TRACE)
]

Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completing(names_of(catalogue.devices)),
        help="Device preset; `ftlkit devices` lists them.",
        rich_help_panel=_DEVICE,
    ),
]
Capacity = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE|auto",
        help="Logical size, for example 8GiB, or auto: the workload's span (the default without --device).",
        rich_help_panel=_DEVICE,
    ),
]
Loop = Annotated[
    str | None,
    typer.Option(
        metavar="open|closed",
        help="open: requests arrive at the trace's times; closed: when another is done.",
        rich_help_panel=_DEVICE,
    ),
]
QueueDepth = Annotated[
    int | None, typer.Option(metavar="N", help="Requests under way at once in a closed loop.", rich_help_panel=_DEVICE)
]
Skip = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Serve so many requests before measuring begins: a warm-up.", rich_help_panel=_DEVICE
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="What the runs may take of memory, for example 16GiB; without it 80 % of what is available.",
        rich_help_panel=_DEVICE,
    ),
]
Precondition = Annotated[
    str | None,
    typer.Option(
        metavar="auto|none|fill|steady|workload",
        help="Prepare the device before measuring: auto, none, fill, steady or workload.",
        rich_help_panel=_DEVICE,
    ),
]
Samples = Annotated[int | None, typer.Option(metavar="N", help="Points of the time series.", rich_help_panel=_DEVICE)]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Every random choice derives from it.", rich_help_panel=_DEVICE)
]
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
    int | None,
    typer.Option(min=1, metavar="N", help="Runs at once; results do not depend on it.", rich_help_panel=_DEVICE),
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
Ftls = Annotated[
    str,
    typer.Option(
        "--ftl",
        metavar="NAMES",
        help="Translation layers, by commas; `ftlkit schemes` lists them. dftl:cmt=32KiB sets a parameter, "
        "page+dynamic adds a part.",
        autocompletion=completing(names_of(catalogue.schemes)),
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=VALUES",
        help="Values by commas, or a range: dftl.cmt=16KiB..4MiB:x2, device.spare=0.07,0.1; may be repeated.",
        rich_help_panel=_SWEEP,
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(metavar="N", help="Run each point with so many seeds, for the noise.", rich_help_panel=_SWEEP),
]
StoreFolder = Annotated[
    Path,
    typer.Option("--store", metavar="DIR", help="Where results are kept, and found again.", rich_help_panel=_SWEEP),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="local|ray|ray://HOST:PORT",
        help="Where points run: on this machine's cores, or on a Ray cluster (pip install 'ftlkit\\[ray]').",
        rich_help_panel=_SWEEP,
    ),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the report.", rich_help_panel=_OUT)]


_SHARED: dict[str, Any] = {
    "capacity": Capacity,
    "settings": Setting,
    "requests": Requests,
    "format": Format,
    "columns": Columns,
    "where": Where,
    "time_unit": TimeUnit,
    "trace_device": TraceDevice,
    "time_backwards": TimeBackwards,
    "skip_bad": SkipBad,
    "blkparse_action": BlkparseAction,
    "align_offset": AlignOffset,
    "addresses": Addresses,
    "speedup": Speedup,
    "loop": Loop,
    "queue_depth": QueueDepth,
    "skip": Skip,
    "precondition": Precondition,
    "memory_limit": MemoryLimit,
    "samples": Samples,
    "seed": Seed,
    "verify": Verify,
    "classes": Classes,
    "title": Title,
}
"""Options that `study.Options` has as keys, by these keys."""

READING = (
    "format",
    "columns",
    "where",
    "time_unit",
    "trace_device",
    "time_backwards",
    "skip_bad",
    "blkparse_action",
    "align_offset",
)
"""How a trace is read."""
HOST = ("addresses", "speedup", "loop", "queue_depth")
"""How the requests come to the device."""

CHOSEN: Any = None
"""Stands in a command's signature where its shared options are to be."""


def taking(*names: str, **defaults: object) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take shared options by name; it gets the given ones as `chosen`.

    They stand in its help where `chosen` stands in its signature. Of `defaults` each is the default
    of one of them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)

        def take(**values: Any) -> None:  # noqa: ANN401 - as the command and typer agree
            shared = {name: values.pop(name) for name in names}
            command(**values, chosen=given(**shared))

        parameters = [
            option.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in own.parameters.values()
            for option in ([_shared(name, defaults) for name in names] if parameter.name == "chosen" else [parameter])
        ]
        take.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # read by typer
        take.__name__, take.__doc__, take.__module__ = command.__name__, command.__doc__, command.__module__
        return take

    return decorate


def _shared(name: str, defaults: Mapping[str, object]) -> Parameter:
    is_flag = get_args(_SHARED[name])[0] is bool
    default = defaults.get(name, False if is_flag else None)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=_SHARED[name])


def given(**values: Any) -> Any:  # noqa: ANN401 - becomes the options of whichever function takes them
    """The options that the user gave."""
    return {key: value for key, value in values.items() if value is not None and value is not False and value != []}
