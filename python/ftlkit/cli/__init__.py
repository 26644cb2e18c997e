"""The `ftlkit` command.

Results go to standard output, progress and errors to standard error. Exit codes: 0 done; 1 torture found a broken
promise; 2 the input or the request is at fault, with one paragraph that says what to change; 3 a translation layer or
ftlkit itself is at fault; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from ftlkit._native import __version__
from ftlkit.cli import advise, catalogue, compare, curve, live, mount, reproduce, results, sweep, torture, trace
from ftlkit.cli.shell import OUT, Command, Shell

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    cls=Shell,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Compare flash translation layers.",
)
app.add_typer(trace.app, name="trace")
app.command("run", cls=Command)(compare.run)
app.command("compare", cls=Command)(compare.compare)
app.command("report", cls=Command)(compare.report)
app.command("sweep", cls=Command)(sweep.sweep)
app.command("advise", cls=Command)(advise.advise)
app.add_typer(results.app, name="results")
app.add_typer(curve.app, name="curve")
app.command("reproduce", cls=Command)(reproduce.reproduce)
app.command("torture", cls=Command)(torture.torture)
app.command("schemes", cls=Command)(catalogue.schemes)
app.command("devices", cls=Command)(catalogue.devices)
app.command("workloads", cls=Command)(catalogue.workloads)
app.add_typer(live.image, name="image")
app.command("serve", cls=Command)(live.serve)
app.command("mount", cls=Command)(mount.mount)
app.command("stat", cls=Command)(live.stat)
app.command("fault", cls=Command)(live.fault)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        OUT.print(f"ftlkit {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compare flash translation layers on a workload: simulate them, check them, report what differs and why."""


def command() -> Callable[..., object]:
    """The root command, ready to be called with the process's arguments."""
    return get_command(app)
