"""`ftlkit reproduce`: a paper's figures and claims, run again."""

from pathlib import Path
from typing import Annotated

import typer

from ftlkit import reproduce as reproductions
from ftlkit._util.lookup import several
from ftlkit._util.outputs import check_pages, check_writable
from ftlkit._util.progress import watcher
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, OUT, kept_when_stopped, say, table
from ftlkit.reproduce import Reproduction
from ftlkit.results.store import DEFAULT, Store, files
from ftlkit.sweeps.executors import LOCAL, executor


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME|STUDY.toml", help="A study in studies/, or a study file.")],
    out: Annotated[
        Path | None,
        option("Where to write the page: NAME.html, or NAME-quick.html.", "FILE.html", flags=("--out", "-o")),
    ] = None,
    quick: Annotated[bool, option("Judge the cheapest claims only, in minutes.", flags=("--quick",))] = False,
    store: options.StoreFolder = DEFAULT,
    on: options.On = LOCAL,
    threads: options.Threads = None,
) -> None:
    """Run a paper's experiments, judge its claims, write one page; rerun to resume."""
    path = reproductions.find(name)
    plan = reproductions.load(path)
    target = out or Path(f"{plan.name}{'-quick' if quick else ''}.html")
    check_writable([target], [path, *plan.traces(), *files(store)])
    check_pages(out=target)
    where = executor(on, threads)
    result_store = Store(store, create=True, lazily=True)
    result_store.tidy()
    with kept_when_stopped(store):
        done = reproductions.reproduce(
            plan, store=result_store, executor=where, watch=lambda: watcher(ERR), is_quick=quick
        )
    _show(done, store)
    done.page(target)
    say(f"wrote {target}")


def _show(done: Reproduction, store: Path) -> None:
    rows = [
        (
            f"{judgement.claim.id}: {row.label}" if row.label else judgement.claim.id,
            judgement.claim.group,
            judgement.claim.paper,
            row.text,
            row.without_text,
            row.over_text,
            row.verdict,
        )
        for judgement in done.judgements
        for row in judgement.rows
    ]
    head = ("claim", "kind", "paper", "ours", "without", "range", "verdict")
    columns = [name for name, *cells in zip(head, *rows, strict=True) if any(cells)]
    OUT.print(table(columns, [[cell for name, cell in zip(head, row, strict=True) if name in columns] for row in rows]))
    say(done.counted)
    if done.not_run:
        say(f"not run: {', '.join(claim.id for claim in done.not_run)}")
    if done.absent:
        say(f"left out, since they are not at hand (set FTLKIT_TRACES to their folder): {', '.join(done.absent)}")
    for point in done.failed:
        OUT.print(f"failed: {point.error}")
    runs = sum(point.results is not None for point in done.points) + len(done.failed)
    say(f"{several(runs, 'run')}: {done.reused} were in {store}{f', {len(done.failed)} failed' if done.failed else ''}")
