"""`ftlkit schemes | devices | workloads`: what there is, from the simulator's own lists."""

import re
import shlex
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.lookup import known
from ftlkit._util.trace_files import trace_files
from ftlkit.api import catalogue
from ftlkit.cli.shell import OUT, print_facts, table
from ftlkit.own.plugins import plugins
from ftlkit.study import fio_job, one_line
from ftlkit.study.device_size import device_bytes
from ftlkit.study.device_size import spare as spare_of

_CELLS = re.compile(r"\b[MTQ]LC\b")

_SEPARATION = re.compile(
    r"\b(hot|cold|separation|separate|temperature|hints?|FDP)\b|(?<!sequential )\bstreams\b", re.IGNORECASE
)
"""One subject under several words: data that die together share blocks."""

Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Show this one in full.")]


def schemes(name: Name = None) -> None:
    """List the translation layers and the parts that go with them, or show one."""
    plugins()
    entries = catalogue.parts()
    if name is None:
        _list((entry["name"], entry["family"], entry["idea"]) for entry in entries if entry["kind"] == "mapping")
        for kind in ("wear policy", "buffer"):
            parts = [entry for entry in entries if entry["kind"] == kind]
            if parts:
                example = f"{entries[0]['name']}+{parts[-1]['name']}"
                OUT.print(f"\nA {kind} goes behind a plus: {example}")
                _list((part["name"], part["idea"]) for part in parts)
        OUT.print("\n`ftlkit schemes NAME` shows one in full; a word, such as hot, streams or FDP, lists all about it.")
        return
    if found := _about(name, entries):
        _list(found)
        OUT.print(
            "\nA parameter's value goes behind it: --ftl page:streams=hints. `ftlkit schemes NAME` tells all values."
        )
        return
    scheme = _pick("translation layer", name, entries)
    _heading(scheme["name"], f"{scheme['idea']} ({scheme['family']})\nSource: {scheme['source']}")
    for parameter in scheme["parameters"]:
        OUT.print(Text.assemble((parameter["name"], "bold"), f" = {parameter['default']}   {_range(parameter)}"))
        OUT.print(Padding(Text(parameter["meaning"]), (0, 0, 0, 4)))
        OUT.print(Padding(Text(f"Default: {parameter['source']}", style="dim"), (0, 0, 0, 4)))
    OUT.print()
    OUT.print(scheme["story"], soft_wrap=True)
    OUT.print(Text("\nCited", style="bold"))
    for source in scheme["sources"]:
        OUT.print(Padding(Text(source), (0, 0, 0, 4)))


def _about(word: str, entries: list[Json]) -> list[tuple[str, str]]:
    """Parts and parameters about a word, each with a sentence; none for the name of a part."""
    if word in {entry["name"] for entry in entries}:
        return []
    pattern = _SEPARATION.pattern if _SEPARATION.fullmatch(word) else rf"(?<![^\W_]){re.escape(word)}s?(?![^\W_])"
    about = re.compile(pattern, re.IGNORECASE).search
    names: dict[str, list[str]] = {}
    for entry in entries:
        if about(entry["idea"]):
            names[entry["idea"]] = [entry["name"]]
            continue
        for parameter in entry["parameters"]:
            if about(f"{parameter['name']} {parameter['meaning']}"):
                text = parameter["meaning"].partition(". ")[0].removesuffix(".")
                names.setdefault(text, []).append(f"{entry['name']}:{parameter['name']}")
    return [(first, f"{text} (also {', '.join(more)})" if more else text) for text, (first, *more) in names.items()]


def devices(name: Name = None) -> None:
    """List the device presets, or show one with all its keys."""
    entries = catalogue.devices()
    if name is None:
        headings = ["name", "capacity", "cell", "channels × dies", "unit", "OP"]
        OUT.print(table(headings, map(_device, entries), numbers=True))
        OUT.print("* all pages of a cell take the same time, as in SLC.")
        OUT.print("\n`ftlkit devices NAME` shows one with its sources and all keys; a part of the name is enough.")
        return
    _keys(_pick("device preset", _native.device_preset(name), entries))


def _device(entry: Json) -> list[str]:
    spare = spare_of(entry)
    return [
        entry["name"],
        units.written(device_bytes(entry)),
        _cell(entry),
        f"{entry['channels']} × {entry['dies_per_channel']}",
        units.size(study.mapped_bytes(entry)),
        units.share(spare / (1 - spare)),
    ]


def _cell(entry: Json) -> str:
    """The cell of a device; with a star where its preset has one time for all pages of a cell."""
    modelled = entry["cell"].upper()
    named = _CELLS.search(entry["description"])
    return f"{named[0]}*" if named and named[0] != modelled == "SLC" else modelled


def workloads(name: Name = None) -> None:
    """List the workload presets, or show one: what it imitates and how it is generated."""
    entries = catalogue.workloads()
    if name is None:
        OUT.print("In one line, shaped by --bs, --depth, --span, --write-share and --theta:")
        _list(one_line.NAMES.items())
        OUT.print("\nLook-alikes of published traces:")
        _list((entry["name"], entry["description"]) for entry in entries)
        OUT.print("\n`ftlkit workloads fio` lists the keys of fio job files that are read.")
        return
    if name == "fio":
        _fio()
        return
    if name in one_line.NAMES and (made := one_line.shape(f"preset:{name}", {})):
        _keys({"name": name, "description": one_line.NAMES[name]} | made.generator | made.host | made.run)
        return
    if trace_files(name):
        line = shlex.join(["ftlkit", "trace", "info", name])
        raise UserError(f"{name} is a file, and this lists presets. For its facts: {line}")
    preset = _pick("workload preset", name, entries)
    _keys(preset.pop("generator") | preset)


def _fio() -> None:
    """What is read of fio job files."""
    OUT.print("Keys of a fio job file (ftlkit compare JOBS.fio, or JOBS.fio:JOB for one job):")
    _list(fio_job.KEYS.items())
    OUT.print(f"\nThe same: {', '.join(f'{other} = {key}' for other, key in fio_job.OTHER_NAMES.items())}.")
    silent = sorted(fio_job.HARMLESS - set(", ".join(fio_job.KEYS).split(", ")))
    OUT.print(f"No effect: {', '.join(silent)}. A warning names all others.")


def _range(parameter: Json) -> str:
    kind = parameter["kind"]
    if kind == "choice":
        return f"one of {', '.join(parameter['of'])}"
    if kind == "switch":
        return "true or false"
    show = {"bytes": units.size, "ratio": units.plain, "duration": units.duration}.get(kind, units.count)
    return f"{show(parameter['min'])} to {show(parameter['max'])}"


def _pick(what: str, name: str, entries: list[Json]) -> Json:
    return known(name, {entry["name"]: entry for entry in entries}, what)


def _heading(name: str, text: str) -> None:
    OUT.print(Text(name, style="bold"))
    OUT.print(text)
    OUT.print()


def _list(rows: Iterable[tuple[str, ...]]) -> None:
    """Rows of a name, perhaps a word that does not wrap, and a text that does."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    for name, *texts in rows:
        grid.add_row(Text(name), *(Text(text, no_wrap=text is not texts[-1]) for text in texts))
    OUT.print(grid)


def _keys(entry: Json) -> None:
    _heading(entry["name"], entry["description"])
    print_facts((key, _value(key, value)) for key, value in _flat(entry) if key not in ("name", "description"))


_SIZES = ("page_size", "mapping_unit", "span", "unit", "extent", "start", "size", "capacity")


def _value(key: str, value: Any) -> str:  # noqa: ANN401 - any value of a table
    """A value with its unit, where the table has a bare number of bytes or of nanoseconds."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and key.rpartition(".")[2] in _SIZES:
        return units.size(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]+ns", value):
        return units.duration(int(value.removesuffix("ns")))
    if isinstance(value, list):
        return "; ".join(_value(key, item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(name, item)}" for name, item in value.items())
    return str(value)


def _flat(entry: Json, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value
