"""Results on a terminal: a table where it fits, else one block a run; then the verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ftlkit import units
from ftlkit.report.tables import CLASS_COLUMNS, Column, classes, columns
from ftlkit.report.verdict import verdict

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ftlkit.document import Json, Run
    from ftlkit.results import Results

_SHORT = {
    "mean response": "mean",
    "p99 response": "p99",
    "write amp.": "WA",
    "σ of erases": "σ erases",
    "hit ratio": "hits",
}

_CLASS_COLUMNS = ("operations", "service", "waiting", "p50", "p99", "longest")
"""Of the latencies by class, what fits on a terminal of 80 columns."""


def show(results: Results, console: Console) -> None:
    """Print results."""
    runs = results.document["runs"]
    if runs:
        console.print(_table(runs, console))
    found = verdict(results)
    console.print(units.typed(found.headline), highlight=False, markup=False)
    for heading, sentences in (("Why", found.reasons), ("Cost", found.costs), ("Read with care", found.cautions)):
        if sentences:
            console.print(Text(heading, style="bold"))
        console.print(_bullets(sentences))
    if latencies := classes(results):
        console.print(Text("Waiting and service of flash operations", style="bold"))
        console.print(_classes(latencies))


def _classes(latencies: list[Json]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("FTL", no_wrap=True)
    table.add_column("class", no_wrap=True)
    shown = [CLASS_COLUMNS.index(name) for name in _CLASS_COLUMNS]
    for name in _CLASS_COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in latencies:
        cells = (units.typed(row["cells"][column]) for column in shown)
        table.add_row(Text(row["label"], style="bold"), row["name"], *cells)
    return table


def _bullets(sentences: list[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for sentence in sentences:
        table.add_row("•", Text(units.typed(sentence)))
    return table


def _table(runs: list[Run], console: Console) -> RenderableType:
    """The widest form that fits: one row a run, one column a run, or one block a run."""
    for form in (_across, _down):
        table = form(runs)
        if console.measure(table).minimum <= console.width and _width(table, console) <= console.width:
            return table
    return _blocks(runs)


def _cell(column: Column, run: Run) -> str:
    return units.typed(column.text(column.value(run)))


def _width(table: Table, console: Console) -> int:
    """Width that the table takes when nothing in it is folded, however narrow the console is."""
    return console.measure(table, options=console.options.update(width=1000)).maximum


def _across(runs: list[Run]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("FTL", no_wrap=True)
    for column in columns(runs):
        table.add_column(_SHORT.get(column.name, column.name), justify="right", no_wrap=True)
    for run in runs:
        table.add_row(Text(run["label"], style="bold"), *(_cell(column, run) for column in columns(runs)))
    return table


def _down(runs: list[Run]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    for run in runs:
        table.add_column(Text(run["label"]), justify="right", no_wrap=True)
    for column in columns(runs):
        table.add_row(_SHORT.get(column.name, column.name), *(_cell(column, run) for run in runs))
    return table


def _blocks(runs: list[Run]) -> Table:
    table = Table.grid(padding=(0, 1))
    for run in runs:
        table.add_row(Text(run["label"], style="bold"), "")
        for column in columns(runs):
            table.add_row(f"  {_SHORT.get(column.name, column.name)}", _cell(column, run))
    return table
