"""`ftlkit schemes | devices | workloads`: what there is, from the simulator's own lists."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ftlkit import api, units
from ftlkit._native import UserError
from ftlkit.cli.shell import OUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ftlkit.document import Json

Name = Annotated[str | None, typer.Argument(help="Show this one in full.")]


def schemes(name: Name = None) -> None:
    """List the translation layers, or show one: parameters, defaults, ranges, sources and how it works."""
    found = api.schemes()
    if name is None:
        _list((each["name"], f"{each['family']}; {each['source']}") for each in found)
        return
    scheme = _pick("translation layer", name, found)
    _heading(scheme["name"], f"{scheme['family']}. {scheme['source']}")
    for parameter in scheme["parameters"]:
        OUT.print(Text.assemble((parameter["name"], "bold"), f" = {parameter['default']}   {_range(parameter)}"))
        OUT.print(Padding(Text(parameter["meaning"]), (0, 0, 0, 4)))
        OUT.print(Padding(Text(f"Default: {parameter['source']}", style="dim"), (0, 0, 0, 4)))
    OUT.print()
    OUT.print(scheme["story"], markup=False, highlight=False, soft_wrap=True)


def devices(name: Name = None) -> None:
    """List the device presets, or show one with all its keys."""
    found = api.devices()
    if name is None:
        _list((each["name"], each["description"]) for each in found)
        return
    _keys(_pick("device preset", name, found))


def workloads(name: Name = None) -> None:
    """List the workload presets, or show one: what it imitates and how it is generated."""
    found = api.workloads()
    if name is None:
        _list((each["name"], each["description"]) for each in found)
        return
    _keys(_pick("workload preset", name, found))


def _range(parameter: Json) -> str:
    kind = parameter["kind"]
    if kind == "choice":
        return f"one of {', '.join(parameter['of'])}"
    if kind == "switch":
        return "true or false"
    show = {"bytes": units.size, "ratio": units.plain, "duration": units.duration}.get(kind, units.count)
    return f"{show(parameter['min'])} to {show(parameter['max'])}"


def _pick(what: str, name: str, found: list[Json]) -> Json:
    names = [each["name"] for each in found]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UserError(f"there is no {what} {name}.{hint} There are {', '.join(names)}.")
    return found[names.index(name)]


def _heading(name: str, text: str) -> None:
    OUT.print(Text(name, style="bold"))
    OUT.print(text, markup=False, highlight=False)
    OUT.print()


def _list(rows: Iterable[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, text in rows:
        table.add_row(Text(name), Text(text))
    OUT.print(table)


def _keys(entry: Json) -> None:
    _heading(entry["name"], entry["description"])
    table = Table.grid(padding=(0, 2))
    for key, value in _flat(entry):
        if key not in ("name", "description"):
            table.add_row(Text(key), Text(str(value)))
    OUT.print(table)


def _flat(entry: Json, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value
