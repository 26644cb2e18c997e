"""Options that several commands take, each declared once.

Their values are checked by the simulator, which knows the ranges.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from ftlkit._util.options import Option, declared
from ftlkit._util.units import LATEST
from ftlkit.api import catalogue
from ftlkit.study import DEVICE, OUTPUTS, Options
from ftlkit.study.options import SHAPE

SWEEP = "Sweep"

WINDOW = "0ms..10ms"
"""The window that is drawn when none is given: some thousand operations on most devices."""

PLAYER_WINDOW = f"0ms..{LATEST}"
"""The window that is played when none is given: all of the run that the player holds."""


def option(*words: Any, **more: Any) -> Any:  # noqa: ANN401 - the fields of `Option`
    """An option of a command, by what `Option` says of it; named as its parameter without flags."""
    return _shown(Option(*words, **more))


def _shown(words: Option) -> Any:  # noqa: ANN401 - as declared by typer
    return typer.Option(
        *words.flags,
        metavar=words.metavar,
        help=words.help,
        min=words.least,
        autocompletion=words.names and completing(words.names),
        rich_help_panel=words.panel,
    )


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the last of some names by commas, for shells."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="A trace file, - for standard input, a fio job file, or one of `ftlkit workloads`.",
        autocompletion=completing(catalogue.workload_names),
    ),
]
Report = Annotated[Path | None, option("Write a self-contained report.", "FILE.html", OUTPUTS)]
JsonFile = Annotated[Path | None, option("Save the complete results; - is standard output.", "FILE.json", OUTPUTS)]
AnswerFile = Annotated[Path | None, option("Save the whole answer; - is standard output.", "FILE.json", OUTPUTS)]
CsvFile = Annotated[Path | None, option("Save one row per run as CSV; - is standard output.", "FILE.csv", OUTPUTS)]
AsJson = Annotated[bool, option("Print everything as JSON.", flags=("--json",))]
Device = Annotated[
    str | None,
    option(
        "Device preset, which `ftlkit devices` lists, or a file with a table \\[device].",
        "NAME|FILE.toml",
        DEVICE,
        names=catalogue.device_names,
    ),
]
Devices = Annotated[
    str | None,
    option(
        "Device presets, or files with a table \\[device], by commas.", "NAMES", DEVICE, names=catalogue.device_names
    ),
]
Threads = Annotated[
    int | None, option("Parallel runs (default and maximum: one per core); results do not depend on it.", "N", DEVICE)
]
Ftls = Annotated[
    str,
    option(
        "Translation layers, by commas; `ftlkit schemes` lists them. dftl:cmt=32KiB sets a parameter, "
        "page+dynamic adds a part.",
        "NAMES",
        names=catalogue.names,
    ),
]
Vary = Annotated[
    list[str] | None,
    option(
        "Values by commas, or a range: dftl.cmt=16KiB..4MiB:x2, device.spare=0.07,0.1; may be repeated.",
        "KEY=VALUES",
        SWEEP,
    ),
]
Seeds = Annotated[int | None, option("Run each point with N seeds, to measure the noise.", "N", SWEEP)]
StoreFolder = Annotated[Path, option("Result cache; finished runs are reused.", "DIR", SWEEP)]
On = Annotated[
    str,
    option(
        "Where points run: on this machine's cores, or on a Ray cluster (pip install 'ftlkit\\[ray]').",
        "local|ray|ray://HOST:PORT",
        SWEEP,
    ),
]

READING = (
    *("format", "columns", "where", "time_unit", "trace_device", "time_backwards", "tick", "skip_bad"),
    *("blkparse_action", "align_offset", *SHAPE),
)
"""How a trace is read, or a workload in one line shaped."""
HOST = ("addresses", "speedup", "loop", "queue_depth")
"""How the requests come to the device."""

CHOSEN: Any = None
"""Stands in a command's signature where its shared options are to be."""


def with_options(
    *names: str, of: type = Options, into: str = "chosen", **defaults: object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take declared options by name, or all; it gets those that were given as `into`.

    They stand in its help where `into` stands in its signature. `defaults` are those of the command
    where they are not those of functions.
    """
    shared = [_parameter(name, *declared(of)[name], defaults) for name in names or declared(of)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)

        def take(**values: Any) -> None:  # noqa: ANN401 - as the command and typer agree
            chosen = {parameter.name: values.pop(parameter.name) for parameter in shared}
            # A switch with two names has no default, so that either of them is a choice.
            switched = {parameter.name for parameter in shared if parameter.default is None}
            off = {name: False for name in switched if chosen[name] is False}
            command(**values, **{into: given(**chosen) | off})

        parameters = [
            each.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in own.parameters.values()
            for each in (shared if parameter.name == into else [parameter])
        ]
        take.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # read by typer
        take.__name__, take.__doc__, take.__module__ = command.__name__, command.__doc__, command.__module__
        return take

    return decorate


def _parameter(name: str, kind: Any, words: Any, defaults: dict[str, object]) -> Parameter:  # noqa: ANN401 - a type
    """An option as a command takes it; it is typer's own already where only commands have it."""
    default = False if kind is bool else defaults.get(name)
    if isinstance(words, Option):
        default = defaults.get(name, default if words.default is None else words.default)
        kind, words = _typed(kind), _shown(replace(words, flags=words.flags or (f"--{name.replace('_', '-')}",)))
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, words])


def _typed(kind: Any) -> Any:  # noqa: ANN401 - a type
    """What a command takes for what a function takes: one type, and texts for several."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if bool in kinds[:-1]:
        return bool | None
    if any(get_origin(one) in (Mapping, Sequence) for one in kinds):
        return list[str] | None
    return next((taken | None for taken in (Path, str, float, int) if taken in kinds), kind)


def given(**values: Any) -> Any:  # noqa: ANN401 - becomes the options of whichever function takes them
    """The options that the user gave."""
    return {key: value for key, value in values.items() if value is not None and value is not False and value != []}
