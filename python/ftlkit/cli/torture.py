"""`ftlkit torture`: test translation layers for a time, or run one case again."""

import json as jsonlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import check_writable
from ftlkit._util.progress import watcher
from ftlkit.api import torture as checking
from ftlkit.api.torture import SchemeReport, TortureReport
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, FOUND, INTERRUPTED, OUT, save, say, screen
from ftlkit.own.loading import names_own


@options.with_options(of=checking.TortureOptions, minutes=None, seed=None, geometry=None)
def torture(
    ftl: Annotated[
        str | None,
        option("Translation layers, by commas, or all (the default); dftl:cmt=1KiB keeps a setting.", "NAMES"),
    ] = None,
    device: options.Device = None,
    chosen: checking.TortureOptions = options.CHOSEN,
    json: Annotated[Path | None, option("Save what was tried and found.", "FILE.json")] = None,
    replay: Annotated[str | None, option("Replay this case only.", "LINE")] = None,
    shrink: Annotated[bool, option("With --replay: make a failing case small.", flags=("--shrink",))] = False,
    explain: Annotated[
        bool, option("With --replay: print the history and contents of the flash.", flags=("--explain",))
    ] = False,
) -> None:
    """Test FTLs with power cuts and flash faults; exit code 1 if one fails."""
    request = options.given(ftl=ftl, device=device, **chosen, json=json)
    own = [name for name in (ftl or "").split(",") if names_own(name.strip())]
    if replay is not None:
        _replay(replay, request, own, shrink=shrink, explain=explain)
        return
    if shrink or explain:
        name = "shrink" if shrink else "explain"
        raise UserError(f"--{name} is about the case of a replay line: give the line with --replay.")
    check_writable([json])
    request.pop("json", None)
    try:
        report = checking.torture(watcher=watcher(ERR), **request)
    except Interrupted as stop:
        if stop.finished is None:
            raise
        report = stop.finished
    _show(report, screen(json), own)
    save(json, (jsonlib.dumps(report, indent=2) + "\n").encode)
    if any(scheme["findings"] for scheme in report["schemes"]):
        raise typer.Exit(FOUND)
    if report["cancelled"]:
        raise typer.Exit(INTERRUPTED)


def _replay(line: str, request: Mapping[str, object], own: list[str], *, shrink: bool, explain: bool) -> None:
    """Run one case again; beside it only the files of `own` FTLs may be given."""
    if request.keys() - {"ftl"} or ("ftl" in request and not own):
        raise UserError(
            f"--replay runs the one case of its line: leave --{', --'.join(request)} out. With it --ftl only says "
            "where an FTL of your own is, as file.py:Class."
        )
    if own:
        study.named(own)
    stopped = False
    try:
        done = checking.replay(line, shrink=shrink, explain=explain, watcher=watcher(ERR))
    except Interrupted as stop:
        if stop.finished is None:
            raise
        done, stopped = stop.finished, True
    if done["passes"]:
        _print(f"passes: {units.count(done['flash_operations'])} flash operations")
        return
    _print(f"{done['message']}\n{done['replay']}")
    if done["explanation"]:
        _print(f"\n{done['explanation'].rstrip()}")
    if stopped:
        say("Stopped: this is the smallest case so far.")
    raise typer.Exit(INTERRUPTED if stopped else FOUND)


def _print(text: str, console: Console = OUT) -> None:
    """Print as it is: a replay line that were wrapped could not be pasted."""
    console.print(text, soft_wrap=True)


def _show(report: TortureReport, console: Console, own: list[str]) -> None:
    """Print what was tried and found; a line replays it where the files of `own` FTLs are."""
    for table in _tables(report["schemes"], console.width):
        console.print(table)
    if report["devices"]:
        _print(f"on {', '.join(report['devices'])}", console)
    for left in report["left_out"]:
        _print(f"left out: {left['scheme']} ({left['reason']})", console)
    findings = [finding for scheme in report["schemes"] for finding in scheme["findings"]]
    took = units.duration(report["elapsed_s"] * 1e9)
    how = f"{took}, seed {report['options']['seed']}{', swarm' if report['options']['swarm'] else ''}"
    if report["cancelled"]:
        how += ", stopped before its time"
    summary = f"{len(findings)} found" if findings else "nothing found"
    _print(f"{summary} ({how})", console)
    for finding in findings:
        _print("", console)
        _print(finding["message"], console)
        for line in finding["explanation"]:
            _print(f"  {line}", console)
        known = f" --ftl {','.join(own)}" if own else ""
        _print(f"ftlkit torture{known} --replay '{finding['replay']}'", console)
        if not finding["reproduced"]:
            _print(
                "Run again at once, this line did not fail: what the scheme does depends on more than its case.",
                console,
            )


def _tables(schemes: list[SchemeReport], width: int) -> Iterator[Table]:
    """One column a scheme, in as many tables as the terminal's width asks for."""
    gap = 2
    labels = max(len(label) for label, _ in _figures(schemes[0])) if schemes else 0
    columns = [(scheme["stack"], [units.count(value) for _, value in _figures(scheme)]) for scheme in schemes]
    while columns:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, gap, 0, 0))
        room, fitting = width - labels, 0
        for name, cells in columns:
            room -= gap + max(len(cell) for cell in [name, *cells])
            if fitting and room < 0:
                break
            fitting += 1
        table.add_column("", no_wrap=True)
        for name, _ in columns[:fitting]:
            table.add_column(Text(name), justify="right")
        rows = zip(*(cells for _, cells in columns[:fitting]), strict=True)
        for (label, _), row in zip(_figures(schemes[0]), rows, strict=True):
            table.add_row(label, *row)
        yield table
        columns = columns[fitting:]


def _figures(scheme: SchemeReport) -> Iterator[tuple[str, int]]:
    yield "trials", sum(scheme["trials"][kind] for kind in ("conformance", "power_cuts", "failing_flash", "combined"))
    yield "of them shortened", scheme["shortened"]
    yield "host requests", scheme["requests"]
    yield "flash operations", scheme["flash_operations"]
    yield "cut points", scheme["cut_points"]
    yield "cut points left out", scheme["cut_points_left_out"]
    yield "power cuts", sum(scheme["cuts"][tear] for tear in ("before", "unseen", "torn", "after"))
    yield "of them on top of others", scheme["second_cuts"]
    yield "recoveries", scheme["recoveries"]
    yield "failed programs", scheme["faults"]["failed_programs"]
    yield "failed erases", scheme["faults"]["failed_erases"]
    yield "failed reads", scheme["faults"]["failed_reads"]
    yield "corrected reads", scheme["faults"]["corrected_reads"]
    yield "grown bad blocks", scheme["grown_bad_blocks"]
    yield "runs that ended read-only", scheme["read_only"]
    covered = scheme["covered"]
    yield "different combinations", covered["combinations"]
    yield "pairs of choices tried", covered["pairs"]
    yield "of pairs not refused", covered["pairs_of"] - covered["pairs_refused"]
    yield "triples of choices tried", covered["triples"]
    yield "of all triples", covered["triples_of"]
    yield "states reached", scheme["states"]
    yield "of conceivable states", scheme["states_of"]
    yield "findings", len(scheme["findings"])
