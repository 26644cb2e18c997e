"""`ftlkit reproduce`: a paper's figures and claims, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ftlkit import reproduce as reproductions
from ftlkit.cli import options
from ftlkit.cli.shell import ERR, OUT, say
from ftlkit.outputs import check_writable
from ftlkit.progress import watcher


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME|STUDY.toml", help="A study in studies/, or a study file.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="Where to write the page: NAME.html.")
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Run a paper's experiments, judge its claims, and write one page that shows both."""
    path = reproductions.find(name)
    plan = reproductions.load(path)
    target = out or Path(f"{plan.name}.html")
    check_writable([target], [path, *plan.traces()])
    done = reproductions.reproduce(plan, threads=threads, watch=lambda: watcher(ERR))
    table = Table(box=None, pad_edge=False)
    for column in ("claim", "kind", "paper", "ours", "verdict"):
        table.add_column(column)
    for each in done.judgements:
        for row in each.rows:
            name = f"{each.claim.id}: {row.label}" if row.label else each.claim.id
            table.add_row(name, each.claim.kind, each.claim.paper, row.text, row.verdict)
    OUT.print(table)
    say(reproductions.counted(done.judgements))
    if done.absent:
        say(f"left out, since they are not at hand (set FTLKIT_TRACES to their folder): {', '.join(done.absent)}")
    done.page(target)
    say(f"wrote {target}")
