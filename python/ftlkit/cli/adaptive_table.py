"""Tables on a terminal in the widest form that fits: by row, by column, or in a list.

Names that are too long go on in the next line behind a part or setting, before a list is taken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ftlkit._util import units


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
        for form in (self.across(), self._down(), self.across(console), self._down(console)):
            if all(_width(table, console) <= console.width for table in form):
                return Group(*form)
        return self._blocks(console.width)

    def lines(self, console: Console, most: int) -> tuple[RenderableType, list[str]]:
        """A line for each of the first rows in the columns that fit; the headings of the others."""
        for kept in range(len(self.headings), 0, -1):
            rows = [replace(row, cells=row.cells[:kept]) for row in self.rows[:most]]
            narrow = replace(self, headings=self.headings[:kept], rows=rows)
            (table,) = narrow.across()
            if _width(table, console) <= console.width:
                return table, self.headings[kept:]
        return replace(self, rows=self.rows[:most]).fitted(console), []

    def _groups(self) -> Iterator[tuple[str, list[Row]]]:
        for group, rows in groupby(self.rows, key=lambda row: row.group):
            yield group, list(rows)

    def across(self, console: Console | None = None) -> list[Table]:
        """One table with a row for each thing; its names folded where a console is given."""
        if console is None:
            return [self._rows([row.name for row in self.rows])]
        room = console.width - _width(self._rows([""] * len(self.rows)), console)
        return [self._rows([folded(row.name, room) for row in self.rows])]

    def _rows(self, names: list[str]) -> Table:
        table = _table()
        for name in self.corner:
            if name:
                table.add_column(name, no_wrap=True)
        for heading in self.headings:
            table.add_column(heading, justify="right", no_wrap=True)
        named = iter(names)
        for group, rows in self._groups():
            for index, row in enumerate(rows):
                name = next(named)
                first = [Text(group if index == 0 else "", style="bold"), Text(name)]
                heads = first if self.corner[0] else [Text(name, style="bold")]
                table.add_row(*heads, *_typed(row))
        return table

    def _down(self, console: Console | None = None) -> list[Table]:
        """A table for each group, a column for each of its things; their names may be folded."""
        tables = []
        for group, rows in self._groups():
            names = [row.name for row in rows]
            if console is not None:
                room = console.width - _width(self._columns(group, rows, [""] * len(rows)), console)
                wide = [max(map(len, _typed(row)), default=0) + room // len(rows) for row in rows]
                names = [folded(name, width) for name, width in zip(names, wide, strict=True)]
            tables.append(self._columns(group, rows, names))
        return tables

    def _columns(self, group: str, rows: list[Row], names: list[str]) -> Table:
        table = _table()
        table.add_column(Text(group), no_wrap=True)
        for name in names:
            table.add_column(Text(name), justify="right", no_wrap=True)
        for index, heading in enumerate(self.headings):
            table.add_row(heading, *(_typed(row)[index] for row in rows))
        return table

    def _blocks(self, width: int) -> Group:
        """One thing below the other: its name in a line of its own, and the cells below it."""
        parts: list[RenderableType] = []
        for row in self.rows:
            for line in folded(f"{row.group} {row.name}".strip(), width).split("\n"):
                parts += [Text(line[place : place + width], style="bold") for place in range(0, len(line), width)]
            table = Table.grid(padding=(0, 1))
            for heading, cell in zip(self.headings, _typed(row), strict=True):
                table.add_row(f"  {heading}", cell)
            parts.append(table)
        return Group(*parts)


def folded(name: str, width: int) -> str:
    """A name in lines of a width, where it can be: they end behind a part, a setting or a space."""
    lines = [""]
    for piece in re.findall(r"[^:+, ]*[:+, ]+|[^:+, ]+$", name):
        # A mark before a name stays with it.
        if len(lines[-1].strip()) > 1 and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _table() -> Table:
    return Table(box=None, header_style="bold", pad_edge=False)


def _typed(row: Row) -> list[str]:
    return [units.typed(cell) for cell in row.cells]


def _width(table: Table, console: Console) -> int:
    """Width that the table takes when nothing in it is folded, however narrow the console is."""
    return console.measure(table, options=console.options.update(width=1000)).maximum
