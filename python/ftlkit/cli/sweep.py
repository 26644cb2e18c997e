"""`ftlkit sweep`: every combination of devices, workloads, translation layers and values."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ftlkit import study
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import check_pages, check_writable
from ftlkit._util.progress import watcher
from ftlkit.api.sweep import Swept, planned, swept
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, INTERRUPTED, save, say, say_kept, screen
from ftlkit.cli.show import show_left
from ftlkit.report.rules import brief
from ftlkit.results.store import DEFAULT, files, named
from ftlkit.study import bare_sizes
from ftlkit.sweeps.executors import LOCAL
from ftlkit.sweeps.goals import GOALS, TIMELESS
from ftlkit.sweeps.intro import facts
from ftlkit.sweeps.plan import Plan
from ftlkit.sweeps.run import Sweep
from ftlkit.sweeps.statements import statements
from ftlkit.sweeps.summary import groups, lives, shown, text

_MOST_LINES = 40
"""Points in the table of a terminal."""


@options.with_options(
    *("capacity", "settings", "requests", "repeat", *options.READING, *options.HOST, "skip", "precondition"),
    *("in_use", "daily_writes", "samples", "seed", "verify", "clock", "title"),
)
def sweep(
    workloads: Annotated[
        list[str], typer.Argument(metavar="WORKLOADS", help="Traces and presets; or one study file, STUDY.toml.")
    ],
    ftl: Annotated[
        str | None,
        option("Translation layers, by commas, as of `ftlkit compare`; default as there.", "NAMES"),
    ] = None,
    device: options.Devices = None,
    vary: options.Vary = None,
    seeds: options.Seeds = None,
    goal: Annotated[
        str | None,
        option(f"Rank by {', '.join(GOALS)}; {' and '.join(TIMELESS)} need no clock. Default: mean.", "GOAL"),
    ] = None,
    store: options.StoreFolder = DEFAULT,
    on: options.On = LOCAL,
    report: options.Report = None,
    csv: options.CsvFile = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Run every combination of devices, workloads, FTLs and values; rerun to resume."""
    file = next((Path(name) for name in workloads if name.endswith(".toml")), None)
    plan = planned(workloads, ftl, device, chosen, vary or [], seeds, goal)
    inputs = [file, *plan.traces(), *files(store)]
    check_writable([report, csv], inputs)
    check_pages(report=report)
    console = screen(csv)
    if sizes := bare_sizes.told(plan.study, chosen):
        console.print(units.typed(sizes))
    try:
        points = swept(plan, store, on, threads, lambda: watcher(ERR))
    except Interrupted as stop:
        if stop.finished is None or not stop.finished.rows:
            raise
        _tell(stop.finished, store, console, report, csv, inputs)
        raise typer.Exit(INTERRUPTED) from None
    _tell(points, store, console, report, csv, inputs)


def _tell(
    points: Swept,
    store: Path,
    console: Console,
    report: Path | None,
    csv: Path | None,
    inputs: Sequence[str | Path | None],
) -> None:
    """Show the points and write the files."""
    _show(points.plan, points.done, store, console)
    save(csv, lambda: points.frame.write_csv().encode(), inputs)
    _report(points.plan, points.done, report, inputs)


def _show(plan: Plan, done: Sweep, store: Path, console: Console) -> None:
    groups_of_rows = groups(done.rows)
    if groups_of_rows:
        for line in facts(plan, groups_of_rows):
            console.print(units.typed(line))
        said = statements(done.rows, plan.goal)
        (first, cautions, others), left = brief([said.headline[:1], said.cautions, said.headline[1:]])
        for sentence in (*first, *others):
            console.print(sentence)
        metrics, (life, years, _) = shown(done.rows), lives(groups_of_rows)
        rows = [
            Row(
                f"{group.workload} on {group.device}",
                group.name,
                [*(text(metric, group.estimate(metric.name)) for metric in metrics), *years[place : place + 1]],
            )
            for place, group in enumerate(groups_of_rows)
        ]
        headings = [*(metric.short or metric.heading for metric in metrics), *life]
        _show_table(AdaptiveTable(("on", "FTL"), headings, rows), console)
        for sentence in cautions:
            console.print(f"• {sentence}")
        show_left(left, console)
    for row in done.failed:
        console.print(f"failed ({row['state']}): {named(row)}: {row['error']}")
    if done.damaged:
        many = f"{done.damaged[0]} and {len(done.damaged) - 1} more" if len(done.damaged) > 1 else done.damaged[0]
        say(f"run again, since their files in {store} were damaged: {many}")
    missing = f", {done.points - len(done.rows)} not finished" if done.cancelled else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    what = "point" if plan.seeds == 1 else "run"
    say(f"{several(done.points, what)}: {done.reused} were in {store}{failed}{missing}")
    say_kept(store)


def _show_table(table: AdaptiveTable, console: Console) -> None:
    """A line for each point; on a terminal no more than fit it."""
    if not console.is_terminal:
        console.print(table.fitted(console))
        return
    lines, left_out = table.lines(console, _MOST_LINES)
    console.print(lines)
    more = len(table.rows) - _MOST_LINES
    missing = [f"{several(more, 'more point')}"] if more > 0 else []
    missing += [", ".join(left_out)] if left_out else []
    if missing:
        console.print(f"Not shown: {'; '.join(missing)} (--csv FILE has all).")


def _report(plan: Plan, done: Sweep, path: Path | None, inputs: Sequence[str | Path | None]) -> None:
    if path is not None:
        from ftlkit.sweeps.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        save(path, lambda: page(plan, done).encode(), inputs)
