"""`ftlkit calibrate`: a drive's device table from what fio measured of it."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.outputs import check_writable, write
from ftlkit._util.progress import watcher
from ftlkit._util.sizes import drive_bytes
from ftlkit.calibration import FitOptions
from ftlkit.calibration.jobs import LEAST_BYTES, job_file
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, OUT, save, say, screen
from ftlkit.study import OUTPUTS

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.api.calibrate import CalibratedDevice

_JOBS = "The jobs"


@options.with_options(of=FitOptions, settings=None)
def calibrate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPORT.json", help="fio's reports, in the order of their jobs."),
    ] = None,
    print_jobs: Annotated[bool, option("Print the fio jobs to run.", panel=_JOBS, flags=("--print-jobs",))] = False,
    target: Annotated[
        str | None, option("Target of the jobs: a device, or the address of a live one.", "PATH|URI", _JOBS)
    ] = None,
    capacity: Annotated[
        str | None, option("The drive's size, such as 960GB; printed jobs state it.", "SIZE", _JOBS)
    ] = None,
    chosen: Any = options.CHOSEN,  # noqa: ANN401 - `FitOptions`, with counters as they were typed
    out: Annotated[
        Path | None, option("Write the device, for --device.", "DEVICE.toml", OUTPUTS, ("--out", "-o"))
    ] = None,
    json: options.AnswerFile = None,
) -> None:
    """Fit a device to what fio measured of a drive; say how sure each parameter is."""
    size = drive_bytes("--capacity", capacity)
    if print_jobs:
        _print_jobs(size, target, files)
        return
    check_writable([out, json], files or [])
    if out is not None and out.suffix != ".toml":
        raise UserError(f"--out {out}: the name must end in .toml, by which --device knows a file.")
    from ftlkit.api.calibrate import calibrate as fit  # noqa: PLC0415 - numpy takes a moment to load

    chosen["counters"] = _counters(chosen.get("counters", []))
    made = fit(files or [], capacity=size, watcher=watcher(ERR), **chosen)
    _show(made, screen(json))
    if out is not None:
        write(out, made.toml.encode(), files or [])
        say(f"wrote {out}; use it as --device {out}")
    save(json, (json_text.dumps(made.document, indent=1) + "\n").encode, files or [])


def _print_jobs(size: int | None, target: str | None, files: Sequence[Path] | None) -> None:
    if files:
        raise UserError(f"--print-jobs reads no report: leave out {files[0]}, or leave out --print-jobs.")
    if size is None:
        raise UserError("--print-jobs: say how large the drive is: --capacity 960GB (`lsblk -b` shows bytes).")
    if size < LEAST_BYTES:
        raise UserError(f"--capacity: jobs need a drive of {units.typed(units.size(LEAST_BYTES))} or more.")
    OUT.file.write(job_file(size, target))


def _counters(given: Sequence[str]) -> dict[str, float]:
    made = {}
    for text in given:
        job, _, value = text.partition("=")
        try:
            made[job.strip()] = float(value)
        except ValueError:
            made[job.strip()] = 0.0
        if not 0.9 <= made[job.strip()] < 1000:
            raise UserError(
                f"--counters {text}: give a job and what flash programmed for each byte that the host wrote, such as "
                f"steady-85=2.1."
            )
    return made


def _show(made: CalibratedDevice, console: Console) -> None:
    """Print the parameters, the points and what came of it."""
    from ftlkit.calibration import wording  # noqa: PLC0415 - as above

    calibration = made.calibration
    rows = [
        Row("", wording.key(one), [wording.value_of(one), wording.interval(one), one.state, wording.reason(one)])
        for one in calibration.parameters
    ]
    headings = ["value", "95 % interval", "how sure", "rests on"]
    console.print(AdaptiveTable(("", "parameter"), headings, rows).fitted(console))
    console.print()
    rows = [
        Row(
            "",
            point.row,
            [
                wording.figure(point, point.measured),
                wording.figure(point, modelled),
                wording.error(modelled, point.measured),
                "held out" if is_out else "",
            ],
        )
        for point, modelled, is_out in calibration.checked
    ]
    console.print(AdaptiveTable(("", "job"), ["measured", "modelled", "error", ""], rows).fitted(console))
    console.print()
    for sentence in made.sentences:
        console.print(units.typed(sentence))
    for note in calibration.notes:
        console.print(f"• {units.typed(note)}")
