"""The `ftlkit` command.

Results go to standard output, progress and errors to standard error. Exit codes: 0 done; 1 torture
found a broken promise; 2 the input or the request is at fault, with one paragraph that says what to
change; 3 a translation layer or ftlkit itself is at fault; 130 stopped by Ctrl-C.
"""

from collections.abc import Callable
from typing import Annotated

import typer
from typer.main import get_command

from ftlkit._native import __version__
from ftlkit.cli.shell import OUT, Shell, later

app = typer.Typer(
    cls=Shell,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compare flash translation layers (FTLs).",
)

COMMANDS = {
    "run": ("compare:run", "Run a study file: one device, one workload, any number of translation layers."),
    "compare": ("compare:compare", "Run several translation layers over a trace or a preset and compare them."),
    "report": ("compare:report", "Draw a report from saved results, without a new run."),
    "sweep": (
        "sweep:sweep",
        "Run every combination of devices, workloads, FTLs and values; rerun to resume.",
    ),
    "fleet": (
        "fleet:fleet",
        "Run every volume of a fleet with every FTL; find the best stack for each, and one for all.",
    ),
    "advise": ("advise:advise", "Search FTLs and their parameters for a workload; recommend one, with its cost."),
    "calibrate": (
        "calibrate:calibrate",
        "Fit a device to what fio measured of a drive; say how sure each parameter is.",
    ),
    "drive": (
        "drive:drive",
        "Compare two reports of a drive's counters: write amplification, bytes per day, life left.",
    ),
    "reproduce": (
        "reproduce:reproduce",
        "Run a paper's experiments, judge its claims, write one page; rerun to resume.",
    ),
    "torture": ("torture:torture", "Test FTLs with power cuts and flash faults; exit code 1 if one fails."),
    "schemes": ("catalogue:schemes", "List the translation layers and the parts that go with them, or show one."),
    "plugins": (
        "plugins:plugins",
        "List the FTLs and policies that installed packages add; say which cannot be loaded.",
    ),
    "devices": ("catalogue:devices", "List the device presets, or show one with all its keys."),
    "workloads": (
        "catalogue:workloads",
        "List the workload presets, or show one: what it imitates and how it is generated.",
    ),
    "serve": ("live:serve", "Serve an image as a block device over NBD, until Ctrl-C or SIGTERM."),
    "mount": ("mount:mount", "Mount an image as a FAT file system, until Ctrl-C, SIGTERM or fusermount3 -u FOLDER."),
    "stat": ("live:stat", "Show the state of a served device, like the SMART page of a drive."),
    "fault": ("live:fault", "Inject a fault into a served device: a power cut, or a flash operation that fails."),
    "trace": ("trace:app", "Look into traces, convert, split and generate them."),
    "results": ("results:app", "List, show, compare and export results of sweeps."),
    "curve": ("curve:app", "Draw curves over cache size, spare, offered load or queue depth."),
    "image": ("live:image", "Make, describe and check flash images."),
}
"""Where each command is, `module:name`, and the line that help has of it.

A command's module is imported when the command is called. Most need polars, which takes longer
to load than help or the version takes to print.
"""

for _name, (_place, _line) in COMMANDS.items():
    app.command(_name, cls=later(_place), help=_line)(lambda: None)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        OUT.print(f"ftlkit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compare flash translation layers: simulate and check them, explain what differs."""


def command() -> Callable[..., object]:
    """The root command, ready to be called with the process's arguments."""
    return get_command(app)
