"""`ftlkit curve cache | spare | load | depth`: a measure over a size, a load or a queue depth."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.outputs import STANDARD_OUTPUT, check_pages, check_writable
from ftlkit._util.progress import watcher
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, OUT, Command, Group, kept_when_stopped, save, say, screen
from ftlkit.cli.show import show_left
from ftlkit.curves import hits, latency
from ftlkit.curves import spare as spares
from ftlkit.curves.service import DEPTH, LOAD
from ftlkit.report.rules import brief
from ftlkit.results.store import DEFAULT, Store
from ftlkit.results.store import files as stored
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.executors import executor

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.curves.latency import LatencyCurve
    from ftlkit.curves.page import Drawing
    from ftlkit.curves.saved import Saved
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Draw curves over cache size, spare, offered load or queue depth."
)

Preparation = Annotated[
    str | None, typer.Option(metavar="auto|fill|none", help="Whether all pages were written once before.")
]


@dataclass(frozen=True)
class _Files:
    """Where a curve is written."""

    report: options.Report = None
    json: options.JsonFile = None
    csv: options.CsvFile = None

    def check(self, inputs: Sequence[str | Path]) -> None:
        """Refuse, before the work, names that cannot be written or that are read."""
        for name, path in (("json", self.json), ("csv", self.csv)):
            if path not in (None, STANDARD_OUTPUT) and path.suffix.lower() != f".{name}":
                raise UserError(f"--{name} {path}: the name must end in .{name}.")
        check_writable([self.report, self.json, self.csv], inputs)
        check_pages(report=self.report)

    def write(self, curve: Saved, drawing: Drawing, inputs: Sequence[str]) -> None:
        """Show the curve and write it."""
        show_drawing(drawing, self.report, screen(self.json, self.csv))
        save(self.json, partial(curve.written, ".json"), inputs)
        save(self.csv, partial(curve.written, ".csv"), inputs)


_SWEPT = ("capacity", "settings", "requests", "repeat", *options.READING, "addresses", "precondition", "in_use", "seed")
"""What a curve of runs can set beside its workload and device."""


@app.command("cache", cls=Command)
@options.with_options(of=_Files, into="files")
@options.with_options("capacity", "requests", "repeat", *options.READING, "addresses", "seed")
def cache(
    workload: options.Workload,
    sizes: Annotated[
        str | None, option("Sizes of the cache: 16KiB..4MiB:x2; default: from 1 KiB to all entries.", "SIZES")
    ] = None,
    sample: Annotated[
        float | None, option("Sample this share of the pages, above 0 and at most 1 (SHARDS).", "SHARE")
    ] = None,
    files: Any = options.CHOSEN,  # noqa: ANN401 - the fields of `_Files` that were given
    device: options.Device = None,
    chosen: study.Options = options.CHOSEN,
    precondition: Preparation = None,
) -> None:
    """Hit ratio of dftl's mapping cache (LRU) over its size, from one pass over the workload."""
    chosen = chosen | options.given(precondition=precondition)
    outputs, inputs = _Files(**files), [trace for trace in [study.source(workload).get("trace")] if trace]
    outputs.check(inputs)
    ratios = hits.curve(workload, device=device, sizes=sizes, sample=sample, watcher=watcher(ERR), **chosen)  # type: ignore[misc] # the options named above
    outputs.write(ratios, ratios.drawing(), inputs)


@app.command("spare", cls=Command)
@options.with_options(
    *_SWEPT[:4],
    *options.READING,
    *options.HOST,
    "precondition",
    "in_use",
    "daily_writes",
    "clock",
    "seed",
    precondition="steady",
)
def spare(
    workload: options.Workload,
    ftl: Annotated[str, option("Translation layers, by commas.", "NAMES")] = "page",
    spares_: Annotated[
        str, option("Shares of the flash: 0.05..0.3:+0.05, or by commas.", "SHARES", flags=("--spares",))
    ] = "0.05..0.3:+0.05",
    seeds: options.Seeds = None,
    store: options.StoreFolder = DEFAULT,
    report: options.Report = None,
    device: options.Device = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Write amplification over spare, from a run at each, beside theory for uniform writes."""
    from ftlkit.curves import drawings  # noqa: PLC0415 - the drawing libraries take a second to load

    made = plans.from_options([workload], ftl, device, chosen)
    if len(made.devices) > 1:
        raise UserError(
            f"--device {device}: a curve over spare is of one device. To compare several: ftlkit sweep {workload} "
            f"--device {device} --ftl {ftl} --vary device.spare={spares_} --precondition {chosen['precondition']}."
        )
    made = plans.with_more(plans.without_clock(made), [values.axis(spares.KEY, spares_, "--spares")], seeds)
    check_writable([report], [*made.traces(), *stored(store)])
    check_pages(report=report)
    result_store = Store(store, create=True, lazily=True)

    def show(done: Sweep, report: Path | None = None) -> None:
        for row in done.failed:
            say(f"left out, since it failed: {row['label']} with {row['varied'][0]['value']}: {row['error']}")
        told = spares.told(made, done)
        show_drawing(drawings.spare(spares.measured(done), made.document, workload, *told), report)

    with kept_when_stopped(store, show):
        done = runs.run(made, result_store, executor(workers=threads), lambda: watcher(ERR))
    show(done, report)


@app.command("load", cls=Command)
@options.with_options(of=_Files, into="files")
@options.with_options(*_SWEPT)
def load(
    workload: options.Workload,
    ftl: options.Ftls = latency.FTLS,
    loads: Annotated[
        str | None, option("Requests per second: 500..4000:+500; default: up to saturation.", "RATES")
    ] = None,
    seeds: options.Seeds = None,
    store: options.StoreFolder = DEFAULT,
    files: Any = options.CHOSEN,  # noqa: ANN401 - the fields of `_Files` that were given
    device: options.Devices = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Response time over offered load: who keeps up with how much, and how fast."""
    plan = latency.planned(workload, ftl, device, chosen, seeds)
    _run(LOAD, partial(latency.over_load, plan, loads), plan, store, threads, _Files(**files))


@app.command("depth", cls=Command)
@options.with_options(of=_Files, into="files")
@options.with_options(*_SWEPT)
def depth(
    workload: options.Workload,
    ftl: options.Ftls = latency.FTLS,
    depths: Annotated[str, option("Outstanding requests, by commas or as a range.", "DEPTHS")] = (latency.DEPTHS),
    seeds: options.Seeds = None,
    store: options.StoreFolder = DEFAULT,
    files: Any = options.CHOSEN,  # noqa: ANN401 - the fields of `_Files` that were given
    device: options.Devices = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Requests served and response time over queue depth, in a closed loop."""
    plan = latency.planned(workload, ftl, device, chosen, seeds)
    _run(DEPTH, partial(latency.over_depth, plan, depths), plan, store, threads, _Files(**files))


def _run(
    kind: str, over: Callable[..., LatencyCurve], plan: Plan, store: Path, threads: int | None, outputs: _Files
) -> None:
    """Run a curve over load or depth, show it and write it; show what a stopped one has."""
    outputs.check([*plan.traces(), *stored(store)])

    def show(done: Sweep) -> None:
        show_drawing(latency.so_far(kind, plan, done).drawing(), None, screen(outputs.json, outputs.csv))

    with kept_when_stopped(store, show):
        curve = over(Store(store, create=True, lazily=True), threads, lambda: watcher(ERR))
    outputs.write(curve, curve.drawing(), plan.traces())


def show_drawing(drawing: Drawing, report: Path | None, console: Console = OUT) -> None:
    """Print a curve's table and what it says, and write its page."""
    console.print(drawing.title)
    rows = [Row("", name, cells) for name, *cells in drawing.cells]
    headings = [re.sub("^(read|write) ", r"\1\n", heading) for heading in drawing.headings]
    fitting, _ = AdaptiveTable(("", headings[0]), headings[1:], rows).lines(console, len(rows))
    console.print(fitting)
    (first, cautions, others), left = brief([drawing.verdict[:1], drawing.cautions, drawing.verdict[1:]])
    for sentence in (*first, *others):
        console.print(units.typed(sentence))
    for sentence in cautions:
        console.print(f"• {units.typed(sentence)}")
    show_left(left, console)
    for note in drawing.notes:
        say(units.typed(note))
    if report is not None:
        from ftlkit.curves.page import page  # noqa: PLC0415 - as above

        save(report, lambda: page(drawing).encode())
