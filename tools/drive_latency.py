"""Hold ftlkit beside drives under load: percentiles over the rate of writes that is offered.

    python tools/drive_latency.py --write                     # all drives, into the page
    python tools/drive_latency.py 7450-pro-960 10000 60000    # two rates of one
    python tools/drive_latency.py sheet scale alone --write   # data sheets, scales, writes alone

`drive_latency.csv` has what was measured: SSD-iq (VLDB 2025), `paper/finallat10` of its public
records, medians over the second half of each run and over three runs. Its load is made here as its
source makes it (`iob/RequestGenerator.hpp`, `scripts/benchlat.sh`):

- One thread measures: 10 000 requests per second at constant gaps, half of them reads.
- Six threads write (99 %) at exponential gaps. All writes together are the rate that is offered.
- A thread has at most 64 requests outstanding. What has to wait is sent as soon as a place is free,
  and response times count from then.
- Places are uniform over the used capacity.

So no write of the measuring thread waits longer than 64 ÷ 5000 s = 12.8 ms for long, and beyond
saturation the writing threads always have 6 × 64 writes outstanding.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import ftlkit as fk

MEASURED = Path(__file__).with_name("drive_latency.csv")

UNIT = 4096
PLACES = 64
"""Requests that a thread has outstanding at most."""

WRITERS = 6
MEASURING_GAP_NS = 100_000
MEASURED_WRITES_PER_S = 5000
READS_OF_WRITERS = 0.01

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "max": 1.0}


@dataclass(frozen=True)
class Drive:
    """A measured drive, its preset, and the scale at which it is simulated.

    Physical GiB are those at which greedy collection has the drive's write amplification
    (`docs/device-truth.md`). A device of the same utilisation stands for the drive: it has
    `blocks` of `pages` flash pages per plane. Erases are shortened in proportion to the block, so
    that they take the same share of a die's time.
    """

    name: str
    preset: str
    used_gib: float
    physical_gib: float
    blocks: int
    pages: int
    rates: tuple[int, ...]
    device: dict[str, Any] = field(default_factory=dict)
    ftl: dict[str, Any] = field(default_factory=lambda: {"name": "page"})

    def measured(self) -> pl.DataFrame:
        """What was measured of it."""
        return pl.read_csv(MEASURED).filter(pl.col("drive") == self.name)

    @property
    def keys(self) -> dict[str, Any]:
        """The preset's keys."""
        return next(each for each in fk.devices() if each["name"] == self.preset)

    @property
    def units(self) -> int:
        """Logical units of the scaled device."""
        keys = {**self.keys, **self.device}
        planes = keys["channels"] * keys["dies_per_channel"] * keys["planes_per_die"]
        flash = planes * self.blocks * self.pages * keys["page_size"]
        return int(flash * self.used_gib / self.physical_gib) // UNIT

    def study(self, workload: dict[str, Any], host: dict[str, Any], **run: Any) -> dict[str, Any]:  # noqa: ANN401
        """A study of the scaled device."""
        device = {"preset": self.preset, "blocks_per_plane": self.blocks, "pages_per_block": self.pages}
        spare = (1 - self.used_gib / self.physical_gib) / 2
        erase_ns = int(self.keys["erase_latency"].removesuffix("ns")) * self.pages // self.keys["pages_per_block"]
        device |= {"capacity": self.units * UNIT, "spare": spare, "erase_latency": f"{erase_ns}ns", **self.device}
        return {
            "device": device,
            "workload": workload,
            "host": host,
            "run": {"waiting": False, "samples": 1, **run},
            "ftl": [self.ftl],
        }


THOUSAND = 1000
DRIVES = {
    each.name: each
    for each in (
        Drive("7450-pro-960", "7450-like", 894.3, 1080, 524, 24, rates=(10, 20, 30, 40, 50, 60, 100)),
        Drive("7450-max-800", "7450-max-like", 745.2, 1080, 524, 24, rates=(10, 30, 50, 70, 100, 150)),
        Drive("p5520-1920", "p5520-like", 1788.5, 2116, 470, 24, rates=(10, 20, 50, 80, 100, 150)),
        Drive("cm7-r-3840", "cm7-r-like", 3576.9, 4064, 452, 24, rates=(10, 50, 100, 200, 500)),
    )
}


def arrivals(offered: float, seconds: float, units: int, seed: int = 1) -> pl.DataFrame:
    """The requests of all threads: the measuring thread is stream 0, those that write are 1 to 6.

    Only the measuring thread has arrivals at whole multiples of its gap, which tells its requests
    apart in the log of a run.
    """
    draw = np.random.default_rng(seed)
    end = round(seconds * 1e9)
    times = [np.arange(0, end, MEASURING_GAP_NS)]
    writes = [draw.random(times[0].size) < 0.5]
    rate = (offered - MEASURED_WRITES_PER_S) / (1 - READS_OF_WRITERS) / WRITERS
    for _ in range(WRITERS):
        gaps = draw.exponential(1e9 / rate, round(rate * seconds * 1.2) + 100)
        own = np.cumsum(gaps).astype(np.int64)
        own = own[own < end]
        times.append(own + (own % MEASURING_GAP_NS == 0))
        writes.append(draw.random(own.size) >= READS_OF_WRITERS)
    streams = np.repeat(np.arange(WRITERS + 1), [each.size for each in times])
    time, is_write = np.concatenate(times), np.concatenate(writes)
    places = draw.integers(0, units, time.size) * UNIT
    columns = {"time_ns": time, "op": is_write.astype(np.int64), "offset": places, "stream": streams}
    length = pl.lit(UNIT, pl.Int64).alias("length")
    frame = pl.DataFrame({name: values.astype(np.int64) for name, values in columns.items()})
    return frame.with_columns(length).sort("time_ns", maintain_order=True)


def row(drive: Drive, offered: float, seconds: float = 8.0, warm: float = 2.0, seed: int = 1) -> dict[str, float]:
    """A row of the measured table, simulated: of what is sent from `warm` seconds on.

    The device is in its steady state before, so `warm` lets queues and buffers fill alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace, log = Path(folder) / "load.parquet", Path(folder) / "requests.parquet"
        arrivals(offered, seconds, drive.units, seed).write_parquet(trace)
        host = {"loop": "threads", "queue_depth": PLACES}
        study = drive.study({"trace": str(trace)}, host, precondition="steady")
        results = fk.run_study(study, threads=1, requests_out=log)
        found = percentiles(pl.read_parquet(log), warm, seconds)
    amplification = float(results.frame("runs")["write_amplification"][0])
    return {"offered_writes_per_s": offered, **found, "write_amplification": amplification}


def percentiles(log: pl.DataFrame, begin_s: float, end_s: float) -> dict[str, float]:
    """Rates of all threads and percentiles of the measuring one, between two moments."""
    begin, end = begin_s * 1e9, end_s * 1e9
    done = log.filter(pl.col("end_ns").is_between(begin, end)).group_by("kind").len()
    rates = dict(done.iter_rows())
    found = {f"{kind}s_per_s": rates.get(kind, 0) / (end_s - begin_s) for kind in ("write", "read")}
    sent = log.filter(pl.col("begin_ns").is_between(begin, end), pl.col("arrival_ns") % MEASURING_GAP_NS == 0)
    for kind in ("read", "write"):
        own = sent.filter(pl.col("kind") == kind).select((pl.col("end_ns") - pl.col("begin_ns")) / 1000).to_series()
        for name, quantile in QUANTILES.items():
            value = own.quantile(quantile, "higher")
            found[f"{kind}_{name}_us"] = float("nan") if value is None else value
    return found


PAGE = Path(__file__).parents[1] / "docs" / "device-truth.md"
SHOWN = ("writes_per_s", "read_p50_us", "read_p99_us", "read_p99_9_us", "write_p50_us", "write_p99_us", "write_max_us")
HEAD = ("offered writes/s", "written/s", "read p50", "p99", "p99.9", "write p50", "p99", "longest", "WA")


def rows(drive: Drive, rates: Sequence[float], seconds: float = 8.0) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """Measured and simulated rows; shorter where the drive is saturated."""
    found: list[tuple[dict[str, Any], dict[str, float]]] = []
    for measured in drive.measured().iter_rows(named=True):
        is_saturated = measured["writes_per_s"] < SATURATED * measured["offered_writes_per_s"]
        if measured["offered_writes_per_s"] in rates:
            length = seconds / 2 if is_saturated else seconds
            found.append((measured, row(drive, measured["offered_writes_per_s"], length)))
    return found


SATURATED = 0.97
"""Share of the offered writes below which a drive is saturated."""


def table(found: Sequence[tuple[dict[str, Any], dict[str, float]]]) -> str:
    """Measured and simulated, as Markdown: each cell has both, in µs."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for measured, ours in found:
        cells = (f"{measured[name]:.0f} {ours[name]:.0f}" for name in SHOWN)
        lines.append((f"{measured['offered_writes_per_s']}", *cells, f"{ours['write_amplification']:.2f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


SHEETS: dict[str, tuple[int | None, ...]] = {
    "7450-pro-960": (6800, 1400, 530, 80, 15),
    "7450-max-800": (6800, 1400, 530, 80, 15),
    "p5520-1920": (5300, 1900, 700, 75, 15),
    "cm7-r-3840": (14_000, 6750, 2700, None, None),
}
"""MB/s in order, read and write; random reads, thousands a second; µs of a read and of a write."""

ASKED = (
    ("read 128 KiB in order, 256 at a time, MB/s", 128, "sequential", 0.0, 256),
    ("write 128 KiB in order, 256 at a time, MB/s", 128, "sequential", 1.0, 256),
    ("read 4 KiB at random, 512 at a time, k/s", 4, "uniform", 0.0, 512),
    ("read 4 KiB, one at a time, µs", 4, "uniform", 0.0, 1),
    ("write 4 KiB, one at a time, µs", 4, "uniform", 1.0, 1),
)
"""What is asked for, KiB a request, pattern, share of writes, and how many at a time."""


def on_sheet(drive: Drive, kib: int, pattern: str, write_share: float, depth: int) -> float:
    """A figure of the data sheet, simulated: MB/s, thousands a second, or µs."""
    requests = {1: 20_000, 256: 20_000, 512: 200_000}[depth]
    generator: dict[str, Any] = {
        "requests": requests,
        "span": drive.units * UNIT // (1 << 20) << 20,
        "write_share": write_share,
    }
    generator |= {"sizes": f"{kib}KiB", "pattern": pattern}
    begin = "none" if write_share else "fill"
    study = drive.study({"generator": generator}, {"loop": "closed", "queue_depth": depth}, precondition=begin)
    iops = float(fk.run_study(study, threads=1).frame("runs")["iops"][0])
    if depth == 1:
        return 1e6 / iops
    return iops / THOUSAND if depth == ASKED[2][4] else iops * kib * 1024 / 1e6


def sheet() -> str:
    """Data sheets beside the presets, as Markdown: each cell has both."""
    lines = [("", *SHEETS), ("---",) * (len(SHEETS) + 1)]
    for (what, kib, pattern, write_share, depth), told in zip(ASKED, zip(*SHEETS.values(), strict=True), strict=True):
        ours = [on_sheet(DRIVES[name], kib, pattern, write_share, depth) for name in SHEETS]
        lines.append((what, *(f"{each or 'not told'}, {own:.4g}" for each, own in zip(told, ours, strict=True))))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


SCALES = ((524, 24), (524, 48), (262, 48))


def scale() -> str:
    """The 7450 PRO with other numbers of blocks, and of pages per block, as Markdown."""
    told = ("offered_writes_per_s", *SHOWN)
    head = ("blocks × pages", *HEAD)
    lines = [head, ("---",) * len(head)]
    for blocks, pages in SCALES:
        drive = replace(DRIVES["7450-pro-960"], blocks=blocks, pages=pages)
        for offered in (30_000, 100_000):
            ours = row(drive, offered, 4.0)
            cells = [f"{ours[name]:.0f}" for name in told]
            lines.append((f"{blocks} × {pages}", *cells, f"{ours['write_amplification']:.2f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


ALONE = (
    ("7450-pro-960", 372.6, 1214),
    ("7450-pro-960", 447.1, 1112),
    ("7450-pro-960", 521.6, 990),
    ("7450-pro-960", 596.2, 877),
    ("7450-pro-960", 670.7, 756),
    ("7450-pro-960", 745.2, 623),
    ("7450-pro-960", 894.3, 368),
    ("p5520-1920", 1788.5, 471),
    ("cm7-r-3840", 3576.9, 1279),
)
"""Writes alone: drive, used GiB, and the host's MB/s (SSD-iq)."""


def alone() -> str:
    """The host's rate over utilisation, measured and simulated, as Markdown."""
    lines = [("drive", "used GiB", "MB/s", "ftlkit", "difference"), ("---",) * 5]
    for name, used, told in ALONE:
        drive = replace(DRIVES[name], used_gib=used)
        generator = {"requests": 400_000, "span": drive.units * UNIT, "write_share": 1.0, "sizes": "4KiB"}
        host = {"loop": "closed", "queue_depth": WRITERS * PLACES}
        study = drive.study({"generator": generator | {"pattern": "uniform"}}, host, precondition="steady")
        ours = float(fk.run_study(study, threads=1).frame("runs")["iops"][0]) * UNIT / 1e6
        lines.append((name, f"{used}", f"{told}", f"{ours:.0f}", f"{100 * (ours / told - 1):+.1f} %".replace("-", "−")))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {"sheet": sheet, "scale": scale, "alone": alone}


def picture(name: str, found: Sequence[tuple[dict[str, Any], dict[str, float]]], path: Path) -> None:
    """Percentiles over the offered rate: lines are the drive, points are ours."""
    told = []
    for measured, ours in found:
        for who, values in (("drive", measured), ("ftlkit", ours)):
            for kind in ("read", "write"):
                for quantile in ("p50", "p99", "p99_9"):
                    at = {"of": f"{kind}s", "percentile": quantile.replace("_", "."), "by": who}
                    value = max(1.0, values[f"{kind}_{quantile}_us"])
                    told.append({**at, "offered": measured["offered_writes_per_s"] / 1000, "us": value})
    base = alt.Chart(pl.DataFrame(told)).encode(
        x=alt.X("offered:Q", title="offered writes, thousands a second"),
        y=alt.Y("us:Q", scale=alt.Scale(type="log"), title="response, µs"),
        color=alt.Color("percentile:N"),
    )
    lines = base.transform_filter("datum.by == 'drive'").mark_line()
    points = base.transform_filter("datum.by == 'ftlkit'").mark_point(filled=True)
    chart = alt.layer(lines, points).properties(width=320, height=260).facet(column=alt.Column("of:N", title=name))
    chart.save(path)


def written(page: str, name: str, text: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- latency-{name} -->", f"<!-- /latency-{name} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{PAGE} has no place for {name}: set {begin} and {end}.")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{text}\n\n{end}", page, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Print the rows that are asked for, and write them and their picture into the page."""
    names = [each for each in arguments if each in DRIVES] or list(DRIVES)
    for name in TABLES.keys() & set(arguments):
        text, names = TABLES[name](), []
        print(text, flush=True)
        if "--write" in arguments:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    asked = [float(each) for each in arguments if each.isdigit()]
    for name in names:
        found = rows(DRIVES[name], asked or [THOUSAND * each for each in DRIVES[name].rates])
        print(f"{name}\n\n{table(found)}\n", flush=True)
        if "--write" in arguments:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), name, table(found)), encoding="utf-8")
            picture(name, found, PAGE.with_name(f"latency-{name}.png"))


if __name__ == "__main__":
    main(sys.argv[1:])
