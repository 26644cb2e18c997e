"""`ftlkit fleet`: every volume of a fleet with every stack, and the one stack for all."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import check_pages, check_writable
from ftlkit._util.progress import watcher
from ftlkit.api import fleet as api
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, INTERRUPTED, save, say, say_kept, screen
from ftlkit.fleets import generator
from ftlkit.fleets.answers import DISTRIBUTION, Answers, heading, share
from ftlkit.results.store import DEFAULT, files
from ftlkit.sweeps.executors import LOCAL
from ftlkit.sweeps.goals import GOALS, TIMELESS


@options.with_options(
    *("capacity", "settings", "requests", "repeat", *options.HOST, "skip", "precondition"),
    *("in_use", "daily_writes", "seed", "verify", "clock", "title"),
)
def fleet(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The folder that `ftlkit trace split` wrote.")
    ] = None,
    drawn: Annotated[
        int | None,
        option(
            f"Draw N volumes instead; --requests are then those of the median one (default {generator.REQUESTS:,}).",
            "N",
            flags=("--fleet",),
        ),
    ] = None,
    consolidate: Annotated[
        int | None, option("Put N volumes on each drive, with a stream each (page:streams=hints).", "N")
    ] = None,
    ftl: Annotated[
        str | None, option("Translation layers, by commas, as of `ftlkit compare`; default as there.", "NAMES")
    ] = None,
    device: options.Device = None,
    vary: options.Vary = None,
    seeds: options.Seeds = None,
    goal: Annotated[
        str, option(f"Rank by {', '.join(GOALS)}; {' and '.join(TIMELESS)} need no clock.", "GOAL")
    ] = api.GOAL,
    store: options.StoreFolder = DEFAULT,
    on: options.On = LOCAL,
    report: options.Report = None,
    csv: Annotated[Path | None, option("Save one row per volume as CSV; - is standard output.", "FILE.csv")] = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Run every volume of a fleet with every FTL; find the best stack for each, and one for all."""
    inputs = [folder, *files(store)]
    check_writable([report, csv], inputs)
    check_pages(report=report)
    source = drawn if folder is None else folder
    if source is None or None not in (drawn, folder):
        raise UserError("give a folder that `ftlkit trace split` wrote, or --fleet N to draw volumes, and not both.")
    volumes, left = api.volumes_of(source, chosen, consolidate)
    plan = api.planned(volumes, ftl, device, left, vary or [], seeds, goal)
    console = screen(csv)
    try:
        done = api.ran(volumes, plan, store, on, threads, lambda: watcher(ERR), source)
    except Interrupted as stop:
        if stop.finished is None or not stop.finished.rows:
            raise
        points = stop.finished.answers.points
        say(f"Stopped. {len(points.rows):,} of {points.total:,} runs are in {store}; the same command goes on.")
        raise typer.Exit(INTERRUPTED) from None
    _show(done.answers, console)
    points = done.answers.points
    failed = f", {len(points.failed):,} failed" if points.failed else ""
    say(f"{several(points.total, 'point')}: {points.reused:,} were in {store}{failed}")
    say_kept(store)
    save(csv, lambda: done.frame.write_csv().encode(), inputs)
    if report is not None:
        from ftlkit.fleets.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        save(report, lambda: page(plan, done.answers, done.source).encode(), inputs)


def _show(answers: Answers, console: Console) -> None:
    for sentence in [*answers.head, *answers.sentences]:
        console.print(units.typed(sentence))
    if answers.choices:
        rows = [
            Row(
                "",
                f"least {choice.aim}: {choice.name}",
                [
                    answers.interval(choice),
                    answers.text(choice.own),
                    *map(share, (choice.regret, choice.median, choice.high, choice.worst)),
                ],
            )
            for choice in answers.choices
        ]
        headings = ["fleet", "own best", "regret", "median volume", "95 % volume", "most"]
        console.print(AdaptiveTable(("", "one stack"), headings, rows).fitted(console))
    if answers.kinds:
        rows = [Row(str(place), stack, cells) for place, (stack, cells) in enumerate(answers.kind_rows(), 1)]
        console.print(AdaptiveTable(("kind", "its stack"), answers.kind_columns, rows).fitted(console))
    quantiles = [
        Row(metric.short or heading(metric), stack, [count, *map(metric.text, values)])
        for metric, stack, count, values in answers.quantiles()
    ]
    console.print(AdaptiveTable(("figure", "stack"), ["volumes", *DISTRIBUTION], quantiles).fitted(console))
    for sentence in answers.cautions:
        console.print(f"• {units.typed(sentence)}")
