"""`ftlkit run`, `compare` and `report`: run a study and show its results, or saved ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import STANDARD_OUTPUT, check_pages, check_writable, write
from ftlkit.api import catalogue
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, INTERRUPTED, say, screen
from ftlkit.study import OUTPUTS, bare_sizes

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.report.results import Results


@dataclass(frozen=True)
class Outputs:
    """The files that were asked for, by their options."""

    report: options.Report = None
    json: options.JsonFile = None
    csv: options.CsvFile = None
    parquet: Annotated[Path | None, option("Save one row per run as Parquet.", "FILE.parquet", OUTPUTS)] = None
    series: Annotated[
        Path | None,
        option(
            "Save the time series, a row per run and point, as .csv or .parquet; - is standard output.",
            "FILE",
            OUTPUTS,
        ),
    ] = None
    requests_out: Annotated[
        Path | None,
        option(
            "Save one row per run and request: its times, its flash operations and what it waited for, by cause.",
            "FILE.parquet",
            OUTPUTS,
        ),
    ] = None
    timeline: Annotated[Path | None, option("Draw the flash operations of a window.", "FILE.html", OUTPUTS)] = None
    timeline_window: Annotated[
        str | None,
        option(f"Window of simulated time for --timeline; default {options.WINDOW}.", "FROM..TO", OUTPUTS),
    ] = None
    player: Annotated[
        Path | None, option("Write a page that plays flash at work, step by step.", "FILE.html", OUTPUTS)
    ] = None
    player_window: Annotated[
        str | None,
        option(
            "Window of simulated time for --player; default: the whole run, up to 100 000 operations.",
            "FROM..TO",
            OUTPUTS,
        ),
    ] = None

    def check(self, inputs: list[str | Path | None]) -> None:
        """Refuse, before the work, those that cannot be written or that are read."""
        check_writable([path for path in vars(self).values() if isinstance(path, Path)], inputs)
        check_pages(report=self.report, timeline=self.timeline, player=self.player)
        for flag, suffixes, path in (
            ("json", (".json",), self.json),
            ("csv", (".csv",), self.csv),
            ("parquet", (".parquet",), self.parquet),
            ("requests-out", (".parquet",), self.requests_out),
            ("series", (".csv", ".parquet"), self.series),
        ):
            if path not in (None, STANDARD_OUTPUT) and path.suffix.lower() not in suffixes:
                raise UserError(f"--{flag} {path}: the name must end in {' or '.join(suffixes)}.")
        for name, path in vars(self).items():
            if path == STANDARD_OUTPUT and name not in ("json", "csv", "series"):
                raise UserError(
                    f"--{name.replace('_', '-')} -: only --json, --csv and --series write to standard output. Give "
                    "the name of a file."
                )

    def write(self, results: Results) -> None:
        """Write them, the complete results first; Ctrl-C says which of them are whole."""
        steps = self._steps(results)
        for number, (path, save) in enumerate(steps):
            try:
                save()
            except KeyboardInterrupt:
                paths = [path for path, _ in steps]
                say(_stopped(paths[:number], paths[number:], self.json))
                raise typer.Exit(INTERRUPTED) from None
            if path != STANDARD_OUTPUT:
                say(f"wrote {path}")
        if self.requests_out is not None and not results.document["cancelled"]:
            say(f"wrote {self.requests_out}")

    def _steps(self, results: Results) -> list[tuple[Path, Callable[[], None]]]:
        """The files in the order in which they are written, and what writes each."""
        steps: list[tuple[Path | None, Callable[[Path], None]]] = [
            (self.json, partial(_save, results, ".json", "runs")),
            (self.csv, partial(_save, results, ".csv", "runs")),
            (self.parquet, partial(_save, results, ".parquet", "runs")),
            (self.series, partial(_save, results, ".csv", "series")),
            (self.report, results.report),
            (self.timeline, results.draw_timeline),
            (self.player, results.draw_player),
        ]
        return [(path, partial(save, path)) for path, save in steps if path is not None]

    @property
    def screen(self) -> Console:
        """Where the results are shown."""
        return screen(self.json, self.csv, self.series)


@options.with_options(of=Outputs, into="files")
def run(
    path: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study; docs/study.md lists its keys.")],
    files: Any = options.CHOSEN,  # noqa: ANN401 - the fields of `Outputs` that were given
    threads: options.Threads = None,
) -> None:
    """Run a study file: one device, one workload, any number of translation layers."""
    outputs = Outputs(**files)
    document = study.load(path)
    outputs.check([path, document.get("workload", {}).get("trace")])
    _set_windows(document, outputs)
    _run(document, outputs, threads, {})


@options.with_options(of=Outputs, into="files")
@options.with_options(
    *("capacity", "settings", "requests", "repeat", *options.READING, *options.HOST, "skip", "precondition"),
    *("in_use", "daily_writes", "memory_limit", "samples", "seed", "verify", "clock", "classes", "title"),
)
def compare(
    workload: options.Workload,
    ftl: Annotated[
        str | None,
        option(
            "Translation layers, by commas; `ftlkit schemes` lists them. dftl:cmt=32KiB sets a parameter, "
            "page+dynamic adds a part. Without it page, block, fast and dftl, or page and dftl where the device leaves "
            "no gaps in blocks.",
            "NAMES",
            names=catalogue.names,
        ),
    ] = None,
    device: options.Device = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
    files: Any = options.CHOSEN,  # noqa: ANN401 - as above
) -> None:
    """Run several translation layers over a trace or a preset and compare them."""
    outputs = Outputs(**files)
    document = study.build(workload, study.usual_ftls(device) if ftl is None else ftl, device, chosen)
    outputs.check([document["workload"].get("trace")])
    _set_windows(document, outputs)
    _run(document, outputs, threads, chosen)


def report(
    path: Annotated[Path, typer.Argument(metavar="RESULTS.json", help="Results that --json saved.")],
    out: Annotated[Path, option("Where to write the report.", "FILE.html", flags=("--out", "-o"))] = Path(
        "report.html"
    ),
) -> None:
    """Draw a report from saved results, without a new run."""
    check_writable([out], [path])
    check_pages(out=out)
    from ftlkit.report import results  # noqa: PLC0415 - frames take half a second to load

    results.load(path).report(out)
    say(f"wrote {out}")


def _save(results: Results, suffix: str, frame: str, path: Path) -> None:
    """Save the results by the name's suffix; on standard output by the given one."""
    if path == STANDARD_OUTPUT:
        write(path, results.written(suffix, results.frame(frame)))
    else:
        results.save(path, frame=frame)


def _stopped(whole: Sequence[Path], missing: Sequence[Path], json: Path | None) -> str:
    """What Ctrl-C says between files: which are missing, which are whole, and how to go on."""
    kept = f"Whole: {', '.join(map(str, whole))}." if whole else "No file is whole."
    if json in whole and json != STANDARD_OUTPUT:
        more = f"ftlkit report {json} draws the report without a new run."
    else:
        more = "The runs are not kept: the same command runs them again, and --json FILE.json is written first."
    return f"Stopped before these were written: {', '.join(map(str, missing))}. {kept} {more}"


def _set_windows(document: Json, outputs: Outputs) -> None:
    """Let the study record each window to draw: the given one, its own, or the usual one."""
    for flag, path, window, key, usual in (
        ("timeline", outputs.timeline, outputs.timeline_window, "timeline", options.WINDOW),
        ("player", outputs.player, outputs.player_window, "flash_trace", options.PLAYER_WINDOW),
    ):
        if window is not None and path is None:
            raise UserError(f"--{flag}-window: nothing is drawn; give --{flag} FILE.html as well.")
        if path is not None:
            run = document.setdefault("run", {})
            run[key] = window or run.get(key) or usual


def _run(document: Json, outputs: Outputs, threads: int | None, chosen: study.Options) -> None:
    if sizes := bare_sizes.told(document, chosen):
        outputs.screen.print(units.typed(sizes))
    from ftlkit._util.progress import watcher  # noqa: PLC0415 - as for a report
    from ftlkit.api.compare import run_study  # noqa: PLC0415
    from ftlkit.cli.show import show  # noqa: PLC0415

    try:
        results = run_study(document, threads=threads, requests_out=outputs.requests_out, watcher=watcher(ERR))
    except Interrupted as stop:
        if stop.finished is None or not stop.finished.labels:
            raise
        outputs.write(stop.finished)
        show(stop.finished, outputs.screen)
        raise typer.Exit(INTERRUPTED) from None
    # A reader of the table may stop before its end, as `| head` does: the files are there by then.
    outputs.write(results)
    show(results, outputs.screen)
