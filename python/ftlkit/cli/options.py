"""Options that several commands take, each declared once.

Their values are checked by the simulator, which knows the ranges.
"""

from __future__ import annotations

import inspect
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import typer

from ftlkit._util.units import LATEST
from ftlkit.api import catalogue
from ftlkit.study import FORMATS, Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_OUT = "Outputs"
_TRACE = "Workload"
_DEVICE = "Device and run"
_SWEEP = "Sweep"

WINDOW = "0ms..10ms"
"""The window that is drawn when none is given: some thousand operations on most devices."""

PLAYER_WINDOW = f"0ms..{LATEST}"
"""The window that is played when none is given: all of the run that the player holds."""


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


Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE.toml",
        autocompletion=completing(names_of(catalogue.devices)),
        help="Device preset, which `ftlkit devices` lists, or a file with a table \\[device].",
        rich_help_panel=_DEVICE,
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
Player = Annotated[
    Path | None,
    typer.Option(
        "--player",
        metavar="FILE.html",
        help="Write a page that plays flash at work, step by step.",
        rich_help_panel=_OUT,
    ),
]
PlayerWindow = Annotated[
    str | None,
    typer.Option(
        metavar="FROM..TO",
        help="Which stretch of simulated time --player shows; the whole run without it, up to 100 000 operations.",
        rich_help_panel=_OUT,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Runs at once, by default and at most one a core; results do not depend on it.",
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
    typer.Option(metavar="N", help="Run each point with N seeds, to measure the noise.", rich_help_panel=_SWEEP),
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


class _Option(NamedTuple):
    """How an option of studies stands in help; its type is that of `study.Options`."""

    help: str
    panel: str
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    """What it is called, if not as its key."""
    completes: Callable[[str], list[str]] | None = None


_OF_STUDIES = {
    "capacity": _Option(
        "Logical size, for example 8GiB, or auto: the workload's span (the default without --device).",
        _DEVICE,
        metavar="SIZE|auto",
    ),
    "settings": _Option(
        "Set a scheme's parameter (dftl.cmt=64KiB) or a key of the study (device.spare=0.07); may be repeated.",
        _DEVICE,
        metavar="SCHEME.KEY=VALUE",
        flags=("--set",),
    ),
    "requests": _Option("Use the first N requests of a trace, or generate N.", _TRACE, metavar="N"),
    "repeat": _Option("Serve the trace N times in a row; --requests counts over all rounds.", _TRACE, metavar="N"),
    "format": _Option(
        f"The trace's format, instead of the one guessed from its content: {', '.join(FORMATS)}.",
        _TRACE,
        metavar="NAME",
        completes=completing(lambda: FORMATS),
    ),
    "columns": _Option(
        'The columns of a delimited text, instead of a format: "time:ms, device, offset:B, size:B, op:1=read".',
        _TRACE,
        metavar="COLUMNS",
    ),
    "where": _Option(
        "Take the rows of a text whose column holds a value, or with != does not: type=D, op!=R|S; others are "
        "skipped and counted. May be repeated: then all must hold.",
        _TRACE,
        metavar="COLUMN=VALUE",
    ),
    "time_unit": _Option(
        "Unit of the trace's times, where not the format's own: ns, us, ms, s.", _TRACE, metavar="ns|us|ms|s"
    ),
    "trace_device": _Option(
        "Which of the trace's devices, or stacked: each gets its own address range.", _TRACE, metavar="NAME|stacked"
    ),
    "time_backwards": _Option(
        "When time goes backwards: refuse, clamp or sort:N.", _TRACE, metavar="refuse|clamp|sort:N"
    ),
    "tick": _Option(
        "Spread requests of one time evenly over this long: 1s for a trace in whole seconds.",
        _TRACE,
        metavar="DURATION",
    ),
    "skip_bad": _Option("Skip malformed records, and count them.", _TRACE),
    "blkparse_action": _Option(
        "Which blkparse action is a request: one letter.",
        _TRACE,
        metavar="LETTER",
        flags=("--blkparse-action", "--action"),
    ),
    "align_offset": _Option("Bytes to add to every address, for example 512B.", _TRACE, metavar="SIZE"),
    "addresses": _Option("Addresses beyond the device: refuse, dense or wrap.", _TRACE, metavar="refuse|dense|wrap"),
    "speedup": _Option("Multiply the arrival rate by FACTOR.", _TRACE, metavar="FACTOR"),
    "loop": _Option(
        "open: requests arrive at the trace's times; closed: one arrives when another is done.",
        _DEVICE,
        metavar="open|closed",
    ),
    "queue_depth": _Option("Outstanding requests of a closed loop.", _DEVICE, metavar="N"),
    "skip": _Option("Serve N requests before measuring begins, as a warm-up.", _DEVICE, metavar="N"),
    "precondition": _Option(
        "Prepare the device before measuring: auto, none, fill, steady or workload.",
        _DEVICE,
        metavar="auto|none|fill|steady|workload",
    ),
    "in_use": _Option(
        "Share of the capacity that holds data when measuring begins, for fill and steady: 80% or 0.8; all without it.",
        _DEVICE,
        metavar="SHARE",
    ),
    "memory_limit": _Option(
        "Memory limit of the runs, for example 16GiB; without it 80 % of what is available.",
        _DEVICE,
        metavar="SIZE",
    ),
    "samples": _Option("Points of the time series.", _DEVICE, metavar="N"),
    "seed": _Option("Master seed: every random choice derives from it.", _DEVICE, metavar="N"),
    "verify": _Option("Check every read of this run against an oracle, and one power cut after a flush.", _DEVICE),
    "classes": _Option("Report waiting and service times of flash operations by class.", _DEVICE),
    "title": _Option("Title of the report.", _OUT, metavar="TEXT"),
}
"""Options that `study.Options` has as keys, by these keys."""

_KINDS: dict[str, Any] = {
    "bool": bool,
    "int": int | None,
    "float": float | None,
    "str": str | None,
    "int | str": str | None,
    "float | str": str | None,
    "Sequence[str]": list[str] | None,
    "str | Sequence[str]": list[str] | None,
}
"""What a command takes for a type of `study.Options`."""

OUTPUTS: dict[str, Any] = {
    "report": Report,
    "json": JsonFile,
    "csv": CsvFile,
    "parquet": ParquetFile,
    "series": SeriesFile,
    "requests_out": RequestsOut,
    "timeline": Timeline,
    "timeline_window": TimelineWindow,
    "player": Player,
    "player_window": PlayerWindow,
}
"""The files that runs are written to."""

READING = (
    "format",
    "columns",
    "where",
    "time_unit",
    "trace_device",
    "time_backwards",
    "tick",
    "skip_bad",
    "blkparse_action",
    "align_offset",
)
"""How a trace is read."""
HOST = ("addresses", "speedup", "loop", "queue_depth")
"""How the requests come to the device."""

CHOSEN: Any = None
"""Stands in a command's signature where its shared options are to be."""


def with_options(
    *names: str, into: str = "chosen", **defaults: object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take shared options by name; it gets those that were given as `into`.

    They stand in its help where `into` stands in its signature. `defaults` are defaults of some of
    them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)

        def take(**values: Any) -> None:  # noqa: ANN401 - as the command and typer agree
            shared = {name: values.pop(name) for name in names}
            command(**values, **{into: given(**shared)})

        parameters = [
            option.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in own.parameters.values()
            for option in ([_shared(name, defaults) for name in names] if parameter.name == into else [parameter])
        ]
        take.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # read by typer
        take.__name__, take.__doc__, take.__module__ = command.__name__, command.__doc__, command.__module__
        return take

    return decorate


def _shared(name: str, defaults: Mapping[str, object]) -> Parameter:
    annotation = OUTPUTS.get(name) or _annotated(name)
    is_flag = get_args(annotation)[0] is bool
    default = defaults.get(name, False if is_flag else None)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _annotated(name: str) -> Any:  # noqa: ANN401 - a type with what typer shows of it
    option, declared = _OF_STUDIES[name], Options.__annotations__[name]
    shown = typer.Option(
        *(option.flags or (f"--{name.replace('_', '-')}",)),
        metavar=option.metavar,
        help=option.help,
        autocompletion=option.completes,
        rich_help_panel=option.panel,
    )
    return Annotated[_KINDS[str(getattr(declared, "__forward_arg__", declared))], shown]


def given(**values: Any) -> Any:  # noqa: ANN401 - becomes the options of whichever function takes them
    """The options that the user gave."""
    return {key: value for key, value in values.items() if value is not None and value is not False and value != []}
