"""`ftlkit advise`: which translation layer, which parameters and how much RAM for a workload."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit._util.outputs import STANDARD_OUTPUT, check_pages, check_writable
from ftlkit._util.progress import watcher
from ftlkit.advice.clock import ANSWERING_S, DRAWING_S, Clock, process_began_s, slowness
from ftlkit.advice.query import BUDGET, GOALS, SEEDS, duration, question
from ftlkit.api.advise import Advice
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, INTERRUPTED, save, say, say_kept, screen
from ftlkit.results.columns import COLUMNS
from ftlkit.results.store import DEFAULT, files
from ftlkit.study import bare_sizes

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.advice.answer import Answer

_SEARCH = "Search"
_REASONS = 3
"""Most reasons of failed stacks to print."""


@options.with_options(
    *("capacity", "requests", "repeat", *options.READING, *options.HOST, "precondition", "in_use", "daily_writes"),
    *("clock", "seed"),
)
def advise(
    workload: options.Workload,
    device: options.Device = None,
    ram: Annotated[str | None, option("RAM limit of the stack: 256KiB.", "SIZE", _SEARCH)] = None,
    goal: Annotated[
        str,
        option(
            f"Metric to optimise: {', '.join(GOALS)} (responses, write amplification, life, RAM); several by commas "
            "are answered one after the other.",
            "GOAL",
            _SEARCH,
            names=lambda: GOALS,
        ),
    ] = "mean",
    budget: Annotated[
        str | None, option(f"Search time: 90s, 5min; default {BUDGET}, none with --trials.", "TIME", _SEARCH)
    ] = None,
    trials: Annotated[
        int | None, option("Try N stacks; the same N gives the same answer on any machine.", "N", _SEARCH)
    ] = None,
    ftl: Annotated[
        str | None,
        option("Search only these stacks, by commas; settings such as dftl:cmt=64KiB stay fixed.", "NAMES", _SEARCH),
    ] = None,
    durable: Annotated[
        bool,
        option(
            "Leave out stacks that keep written data in RAM: a power cut loses them.",
            panel=_SEARCH,
            flags=("--durable", "--no-write-buffer"),
        ),
    ] = False,
    seeds: Annotated[int, option("Seeds per reported result.", "N", _SEARCH)] = SEEDS,
    store: Annotated[Path, option("Result cache; finished runs are reused.", "DIR", _SEARCH)] = DEFAULT,
    report: options.Report = None,
    json: options.AnswerFile = None,
    setting: Annotated[
        list[str] | None,
        option(
            "Set a key of the study (device.spare=0.07); may be repeated.",
            "SECTION.KEY=VALUE",
            study.DEVICE,
            ("--set",),
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        option("Values of device.mapping_unit to compare: KEY=16KiB,64KiB.", "KEY=VALUES", study.DEVICE),
    ] = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Search FTLs and their parameters for a workload; recommend one, with its cost."""
    goals = [one.strip() for one in goal.split(",") if one.strip()] or [goal]
    queries = [
        question(
            workload,
            chosen | options.given(settings=setting),
            device=device,
            ftl=ftl,
            goal=one,
            ram=ram,
            budget=budget,
            trials=trials,
            seeds=seeds,
            durable=durable,
            vary=vary or [],
            prefix="--",
        )
        for one in goals
    ]
    if len(goals) > 1 and (report is not None or json is not None):
        raise UserError(f"--goal {goal}: a file holds one answer. Give one goal, or leave out --report and --json.")
    inputs = [queries[0].trace(), *files(store)]
    if report == STANDARD_OUTPUT:
        raise UserError("--report -: only --json writes to standard output. Give the name of a file.")
    check_writable([report, json], inputs)
    check_pages(report=report)
    answering_s = ANSWERING_S + (DRAWING_S if report is not None else 0.0)
    from ftlkit.advice.run import answered  # noqa: PLC0415 - Optuna takes a second to load

    if sizes := bare_sizes.told(queries[0].document(), {**chosen, **options.given(ram=ram)}):
        screen(json).print(units.typed(sizes))
    began_s = process_began_s()
    slow = slowness(began_s)
    for query in queries:
        if len(queries) > 1:
            screen(json).print(Text(f"\n--goal {query.goal}: {GOALS[query.goal].words}", style="bold"))
        if query.budget_s is not None:
            query = replace(query, budget_s=query.budget_s / len(queries))  # noqa: PLW2901 - each has its share
        clock = Clock(query.budget_s, began_s, answering_s, slow)
        say_late(report, clock)
        answer = answered(query, store, threads, clock, lambda: watcher(ERR), say)
        show(answer, screen(json))
        say_kept(store)
        save(json, Advice(answer).written, inputs)
        if report is not None:
            Advice(answer).report(report)
            say(f"wrote {report}")
        if answer.result.interrupted:
            raise typer.Exit(INTERRUPTED)
        began_s = time.monotonic()


def say_late(report: Path | None, clock: Clock) -> None:
    """Say that a page is drawn after the budget, where it has no time for that."""
    if report is not None and clock.beyond_s >= 1:
        late = units.typed(duration(clock.beyond_s))
        say(f"{report} may be written up to {late} after the budget: drawing takes long on this machine now.")


def show(answer: Answer, console: Console) -> None:
    """Print an answer."""

    def line(text: str) -> None:
        # A command stays in one piece, so that it can be copied.
        console.print(units.typed(text), soft_wrap="`ftlkit " in text)

    metrics = ["ram_bytes", *answer.metrics]
    for sentence in answer.sentences:
        line(sentence)
    line("")
    console.print(
        AdaptiveTable(("", "stack"), [_heading(metric) for metric in metrics], _rows(answer, metrics)).fitted(console)
    )
    in_brackets = any(metric not in stack.fronts for stack in answer.table for metric in answer.metrics)
    brackets = " (…) = dominated: another row is at least as good with no more RAM." if in_brackets else ""
    line(f"* the advised stack.{brackets}")
    if len(answer.table) < len(answer.stacks):
        line(f"{len(answer.stacks) - len(answer.table)} more, beaten or on other fronts, are in --report and --json.")
    _show_units(answer, console, line)
    line("\nMeasured on")
    for fact in answer.facts:
        line(fact)
    for title, sentences in (("Confidence", answer.doubts), ("Caveats", answer.cautions)):
        if sentences:
            line(f"\n{title}")
        for sentence in sentences:
            line(f"- {sentence}")
    line("\nSearch")
    _show_tried(answer, console)
    line("\nMeasure it again:")
    # In one piece, so that it can be copied.
    console.print(answer.command, soft_wrap=True)


def _heading(metric: str) -> str:
    column = COLUMNS[metric]
    return column.short or column.heading or "life (host bytes)"


def _rows(answer: Answer, metrics: Sequence[str]) -> list[Row]:
    from ftlkit.advice.phrasing import text  # noqa: PLC0415 - as above

    rows = []
    for stack in answer.table:
        cells = []
        for metric in metrics:
            cell = text(metric, stack.measured)
            cells.append(cell if metric == "ram_bytes" or metric in stack.fronts else f"({cell})")
        rows.append(Row("", f"{'*' if stack.is_advised else ' '} {stack.stack}", cells))
    return rows


def _show_units(answer: Answer, console: Console, line: Callable[[str], None]) -> None:
    """The mapping units that were tried, where there are any."""
    from ftlkit.advice.unit_answer import life_of, rows  # noqa: PLC0415 - as above

    shown = rows(answer.query, answer.result)
    if not shown:
        return
    told = life_of(shown)
    table = [
        Row(
            units.typed(units.size(row.trial.unit_bytes)),
            f"{'*' if row.is_best else ' '} {row.name}",
            row.cells(answer.query),
        )
        for row in shown
    ]
    own = next(trial for trial in answer.result.units if trial.is_own)
    line(f"\nMapping units, with one seed; the device has {units.size(own.unit_bytes)}")
    headings = ["RAM", "RAM per TB", *map(_heading, answer.query.metrics), *(["life"] if told else [])]
    console.print(AdaptiveTable(("unit", "stack"), headings, table).fitted(console))
    line(f"* the best for the goal within the RAM that was asked for; (…) = not settled.{told}")


def _show_tried(answer: Answer, console: Console) -> None:
    from ftlkit.advice import search_result  # noqa: PLC0415 - as above
    from ftlkit.advice.confidence import failures  # noqa: PLC0415 - as above

    console.print(search_result.tally(answer.result))
    head, *headings = search_result.HEADINGS
    rows = [Row("", f"first {row[0]}", row[1:]) for row in search_result.rungs(answer.result)]
    console.print(AdaptiveTable(("", head), headings, rows).fitted(console))
    console.print()
    for line in search_result.by_reason(search_result.fates(answer.query, answer.result)):
        console.print(units.typed(line))
    # The reasons of most stacks first.
    reasons = sorted(failures(answer.result).items(), key=lambda reason: -len(reason[1]))
    texts = [
        f"failed, {several(len(stacks), 'stack')} such as {min(stacks)}: {why}" for why, stacks in reasons[:_REASONS]
    ]
    if others := reasons[_REASONS:]:
        stacks = several(sum(len(stacks_of_fate) for _, stacks_of_fate in others), "more stack")
        texts.append(f"failed, {stacks} for {several(len(others), 'other reason')}, which --json has")
    for text in texts:
        console.print(units.typed(text))
