"""Results on a terminal: a table where it fits, else one block a run; then the verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.report import life
from ftlkit.report.facts import intro, verified
from ftlkit.report.tables import (
    CLASS_COLUMNS,
    MOUNT,
    RAM,
    RESPONSES,
    classes,
    columns,
    mounts,
    ram,
    responses,
    stream_columns,
    streams,
    wear,
    wear_columns,
)
from ftlkit.results.outcome import device_of

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.report.results import Results
    from ftlkit.results.document import Run

_RESPONSES = ("mean", "p50", "p99", "p99_9", "p99_99", "max")
_CLASS_COLUMNS = ("operations", "service", "waiting", "p50", "p99", "longest")
"""Of response times and of latencies by class, what fits on a terminal of 80 columns."""


def show(results: Results, console: Console) -> None:
    """Print results."""
    runs = results.document["runs"]
    for line in intro(results.document):
        console.print(units.typed(line))
    if runs:
        console.print(_runs(runs).fitted(console))
        for heading, sheet in _tables(results):
            _section(console, heading, sheet)
    if known := life.rows(results):
        heading = f"Life at {life.conditions(results.document)}: bytes that the host writes until"
        _section(console, heading, _by_run(known, [*life.COLUMNS]))
    verdict = results.verdict
    console.print("\n".join(map(units.typed, (verdict.headline, *verified(results.document)))))
    said, left = verdict.brief
    for heading, sentences in said:
        console.print(Text(heading, style="bold"))
        console.print(_bullets(sentences))
    show_left(left, console)
    if latencies := classes(results):
        names = {name: name for name in CLASS_COLUMNS}
        sheet = _chosen(latencies, "name", [*CLASS_COLUMNS], _CLASS_COLUMNS, names)
        _section(console, "Waiting and service of flash operations", sheet)


def _tables(results: Results) -> Iterator[tuple[str, AdaptiveTable]]:
    """The tables behind that of results, each with its heading."""
    if times := responses(results):
        yield "Response times", _chosen(times, "kind", [*RESPONSES], _RESPONSES, RESPONSES)
    if parts := ram(results):
        yield "RAM: what it is made of", _by_run(parts, [*RAM])
    if mounted := mounts(results):
        of_slice = " of the slice" if device_of(results.document).get("slice_bytes") else ""
        yield f"Mount{of_slice} after a power cut", _by_run(mounted, [*MOUNT])
    if kept_apart := streams(results):
        headings = stream_columns(results)
        names = {heading: heading for heading in headings}
        sheet = _chosen(kept_apart, "stream", headings, tuple(headings), names)
        yield "Streams: pages written, their moves, and for which stream's writes", sheet
    if worn := wear(results):
        yield "Wear: erases of a block, and what levelling took", _by_run(worn, [*wear_columns(results).values()])


def _by_run(rows: list[Json], headings: list[str]) -> AdaptiveTable:
    """A table with a row per run."""
    return AdaptiveTable(("", "FTL"), headings, [Row("", row["label"], row["cells"]) for row in rows])


def show_left(left: int, console: Console) -> None:
    """How many sentences the report has beside those that were printed."""
    if left:
        console.print(f"The report has {several(left, 'sentence')} more (--report FILE).")


def _section(console: Console, heading: str, sheet: AdaptiveTable) -> None:
    console.print(Text(heading, style="bold"))
    console.print(sheet.fitted(console))


def _runs(runs: list[Run]) -> AdaptiveTable:
    shown = columns(runs)
    rows = [Row("", run["label"], [metric.text(metric.value(run)) for metric in shown]) for run in runs]
    return AdaptiveTable(("", "FTL"), [metric.short or metric.heading for metric in shown], rows)


def _chosen(
    rows: list[Json], name: str, columns: list[str], wanted: tuple[str, ...], headings: dict[str, str]
) -> AdaptiveTable:
    """A table of some of the cells of rows that have a label and a name each."""
    places = [columns.index(name) for name in wanted]
    made = [Row(row["label"], row[name], [row["cells"][place] for place in places]) for row in rows]
    return AdaptiveTable(("FTL", " "), [headings[name] for name in wanted], made)


def _bullets(sentences: Sequence[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for sentence in sentences:
        table.add_row("•", Text(units.typed(sentence)))
    return table
