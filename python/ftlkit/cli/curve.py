"""`ftlkit curve cache | spare`: what a size of the mapping cache, or of the spare, brings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.outputs import STANDARD_OUTPUT, check_writable, write
from ftlkit._util.progress import watcher
from ftlkit.cli import options
from ftlkit.cli.shell import ERR, OUT, Command, Group, say, screen
from ftlkit.curves import hits
from ftlkit.curves import spare as spares
from ftlkit.results.columns import COLUMNS
from ftlkit.results.store import DEFAULT, Store, files
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.executors import executor
from ftlkit.sweeps.summary import text

if TYPE_CHECKING:
    from rich.console import Console

    from ftlkit.curves.accesses import Accesses
    from ftlkit.curves.cache import Curve
    from ftlkit.curves.page import Drawing
    from ftlkit.results.document import Json

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Draw hit ratio over cache size, write amplification over spare."
)

Workload = Annotated[str, typer.Argument(metavar="TRACE|PRESET", help="A trace file, or one of `ftlkit workloads`.")]
Preparation = Annotated[
    str | None, typer.Option(metavar="auto|fill|none", help="Whether all pages were written once before.")
]


@app.command("cache", cls=Command)
@options.with_options(
    "capacity",
    "requests",
    "repeat",
    *options.READING,
    "addresses",
    "seed",
)
def cache(
    workload: Workload,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Sizes of the cache: 16KiB..4MiB:x2; from 1 KiB to all entries without it."),
    ] = None,
    sample: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Look at this share of the pages, above 0 and at most 1 (SHARDS)."),
    ] = None,
    report: options.Report = None,
    json: options.JsonFile = None,
    csv: options.CsvFile = None,
    device: options.Device = None,
    chosen: study.Options = options.CHOSEN,
    precondition: Preparation = None,
) -> None:
    """Hit ratio of dftl's mapping cache (LRU) over its size, from one pass over the workload."""
    chosen = chosen | options.given(precondition=precondition)
    for option, path in (("json", json), ("csv", csv)):
        if path not in (None, STANDARD_OUTPUT) and path.suffix.lower() != f".{option}":
            raise UserError(f"--{option} {path}: the name must end in .{option}.")
    inputs = [study.source(workload).get("trace")]
    check_writable([report, json, csv], inputs)
    ratios = hits.curve(workload, device=device, sizes=sizes, sample=sample, watcher=watcher(ERR), **chosen)  # type: ignore[misc] # the options named above
    _show(_cache_drawing(ratios.accesses, ratios.curve), report, screen(json, csv))
    for path, suffix in ((json, ".json"), (csv, ".csv")):
        if path is not None:
            write(path, ratios.written(suffix), inputs)
            if path != STANDARD_OUTPUT:
                say(f"wrote {path}")


def _cache_drawing(accesses: Accesses, curve: Curve) -> Drawing:
    from ftlkit.curves.page import Drawing  # noqa: PLC0415 - the drawing libraries take a second to load

    metric = COLUMNS["mapping_hit_ratio"]
    names = [units.size(size) for size in curve.sizes]
    how, sampled = "one pass, every page", []
    if curve.share < 1:
        how = f"one pass, {units.share(curve.share)} of the pages (SHARDS)"
        size = f"{units.count(curve.pages)} pages, {units.share(curve.share)} of all (SHARDS)"
        sampled = [f"The curve is from a sample of {size}; --sample 1 looks at every page."]
    lines = {how: curve.hit_ratios, "Che's approximation": curve.che}
    filled = "every page was written once before, in order" if accesses.filled else "the device was erased before"
    return Drawing(
        f"Hit ratio of the mapping cache on {_name(accesses.study)}",
        [
            f"{units.count(curve.accesses)} look-ups of {units.count(accesses.logical_pages)} logical pages; {filled}.",
            *sampled,
            "The cache is dftl's with cmt_policy=lru, 8 B an entry. Garbage collection does not use the cache.",
            "Che's approximation takes look-ups as independent draws; the first of a page misses, as in the workload.",
        ],
        "cmt",
        metric,
        [
            {"line": line, "x": name, "mean": ratio, "low": ratio, "high": ratio}
            for line, ratios in lines.items()
            for name, ratio in zip(names, ratios, strict=True)
        ],
        ["cmt", "hit ratio", "Che"],
        [
            [name, units.share(ours), units.share(model)]
            for name, ours, model in zip(names, curve.hit_ratios, curve.che, strict=True)
        ],
        accesses.study,
    )


@app.command("spare", cls=Command)
@options.with_options(
    "capacity",
    "settings",
    "requests",
    "repeat",
    *options.READING,
    *options.HOST,
    "precondition",
    "seed",
    precondition="steady",
)
def spare(
    workload: Workload,
    ftl: Annotated[str, typer.Option("--ftl", metavar="NAMES", help="Translation layers, by commas.")] = "page",
    spares_: Annotated[
        str, typer.Option("--spares", metavar="SHARES", help="Shares of the flash: 0.05..0.3:+0.05, or by commas.")
    ] = "0.05..0.3:+0.05",
    seeds: options.Seeds = None,
    store: options.StoreFolder = DEFAULT,
    report: options.Report = None,
    device: options.Device = None,
    chosen: study.Options = options.CHOSEN,
    threads: options.Threads = None,
) -> None:
    """Write amplification over spare, from a run at each, beside theory for uniform writes."""
    made = plans.from_options([workload], ftl, device, chosen)
    made = plans.with_more(made, [values.axis(spares.KEY, spares_, "--spares")], seeds)
    check_writable([report], [*made.traces(), *files(store)])
    result_store = Store(store, create=True, lazily=True)
    done = runs.run(made, result_store, executor(workers=threads), lambda: watcher(ERR))
    for row in done.failed:
        say(f"left out, since it failed: {row['label']} with {row['varied'][0]['value']}: {row['error']}")
    _show(_spare_drawing(spares.measured(done), made.study, workload), report)


def _spare_drawing(points: list[spares.Measured], request: Json, workload: str) -> Drawing:
    from ftlkit.curves.page import Drawing  # noqa: PLC0415 - as above
    from ftlkit.sweeps.charts import band  # noqa: PLC0415 - as above

    metric = COLUMNS["page_write_amplification"]
    model = "uniform writes, greedy (Van Houdt 2013)"
    rows = [
        {
            "line": point.layer,
            "x": point.spare,
            "mean": point.page_write_amplification.mean,
            **band(point.page_write_amplification),
        }
        for point in points
    ]
    models = {point.spare: point.model for point in points}
    rows += [{"line": model, "x": spare, "mean": value, "low": value, "high": value} for spare, value in models.items()]
    return Drawing(
        f"Write amplification over spare on {workload}",
        [
            "Pages programmed for each page that host writes touch, as theory counts.",
            "Measured in a run at each spare; a band is the 95 % interval over seeds.",
            f"Beside it, no model of this workload: {model}, single pages of a full device that keeps no block free.",
        ],
        spares.KEY,
        metric,
        rows,
        ["FTL", "spare", metric.heading, "uniform, greedy"],
        [
            [point.layer, point.spare, text(metric, point.page_write_amplification), metric.text(point.model)]
            for point in points
        ],
        request,
    )


def _name(resolved: Json) -> str:
    workload = resolved["workload"]
    return str(workload.get("preset") or Path(workload.get("trace") or "a generated workload").name)


def _show(drawing: Drawing, report: Path | None, console: Console = OUT) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in drawing.headings:
        table.add_column(heading)
    for row in drawing.cells:
        table.add_row(*(units.typed(cell) for cell in row))
    console.print(f"{drawing.title}", highlight=False, markup=False)
    console.print(table)
    for note in drawing.notes:
        say(units.typed(note))
    if report is not None:
        from ftlkit.curves.page import page  # noqa: PLC0415 - as above

        write(report, page(drawing).encode())
        say(f"wrote {report}")
