"""Tables on a terminal in the widest form that fits: by row, by column, or in a list."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ftlkit._util import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType


@dataclass(frozen=True)
class Row:
    """The cells of one thing; things of one group stand together."""

    group: str
    name: str
    cells: list[str]


@dataclass(frozen=True)
class AdaptiveTable:
    """A table before it is known how wide it may be."""

    corner: tuple[str, str]
    """What groups and names are called; without groups the first is empty."""
    headings: list[str]
    rows: list[Row]

    def fitted(self, console: Console) -> RenderableType:
        """The table for a console's width."""
        for form in (self._across(), self._down()):
            if all(_width(table, console) <= console.width for table in form):
                return Group(*form)
        return self._blocks()

    def _groups(self) -> Iterator[tuple[str, list[Row]]]:
        for group, rows in groupby(self.rows, key=lambda row: row.group):
            yield group, list(rows)

    def _across(self) -> list[Table]:
        """One table with a row for each thing."""
        table = _table()
        for name in self.corner:
            if name:
                table.add_column(name, no_wrap=True)
        for heading in self.headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for group, rows in self._groups():
            for index, row in enumerate(rows):
                first = [Text(group if index == 0 else "", style="bold"), Text(row.name)]
                heads = first if self.corner[0] else [Text(row.name, style="bold")]
                table.add_row(*heads, *_typed(row))
        return [table]

    def _down(self) -> list[Table]:
        """A table for each group, with a column for each of its things."""
        tables = []
        for group, rows in self._groups():
            table = _table()
            table.add_column(Text(group), no_wrap=True)
            for row in rows:
                table.add_column(Text(row.name), justify="right", no_wrap=True)
            for index, heading in enumerate(self.headings):
                table.add_row(heading, *(_typed(row)[index] for row in rows))
            tables.append(table)
        return tables

    def _blocks(self) -> Table:
        """One thing below the other."""
        table = Table.grid(padding=(0, 1))
        for row in self.rows:
            table.add_row(Text(f"{row.group} {row.name}".strip(), style="bold"), "")
            for heading, cell in zip(self.headings, _typed(row), strict=True):
                table.add_row(f"  {heading}", cell)
        return table


def _table() -> Table:
    return Table(box=None, header_style="bold", pad_edge=False)


def _typed(row: Row) -> list[str]:
    return [units.typed(cell) for cell in row.cells]


def _width(table: Table, console: Console) -> int:
    """Width that the table takes when nothing in it is folded, however narrow the console is."""
    return console.measure(table, options=console.options.update(width=1000)).maximum
