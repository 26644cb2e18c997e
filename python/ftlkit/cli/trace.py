"""`ftlkit trace info | fit | convert | split | generate | files`: describe and write traces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ftlkit import study
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit._util.progress import watcher
from ftlkit.api import catalogue, traces
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import ERR, OUT, Command, Group, print_facts, print_json, say, table
from ftlkit.report.look_alike import preset_toml, verdict

app = typer.Typer(cls=Group, help="Look into traces, convert, split and generate them.", no_args_is_help=True)

LEFT_OUT = ("skipped", "unmet", "clamped", "sorted", "left_out", "unmatched")
"""Remarks about a trace, if there are any."""

DEVICES_SHOWN = 12
"""Rows of the table of devices; a trace may have thousands, and --json holds them all."""


@app.command(cls=Command)
@options.with_options(*options.READING, "requests", "repeat", "seed")
def info(
    workload: options.Workload, chosen: study.TraceOptions = options.CHOSEN, as_json: options.AsJson = False
) -> None:
    """Describe a workload: requests, gaps, footprint, overwrites, alignment and locality.

    Requests come with their number by operation, the share of writes, and their sizes.
    """
    document = traces.trace_info(workload, watcher=watcher(ERR), **chosen)
    if as_json:
        print_json(document)
    else:
        _show(document)


@app.command(cls=Command)
@options.with_options(*options.READING, "requests", "repeat", "seed")
def fit(
    workload: Annotated[str, typer.Argument(metavar="TRACE", help="A trace file, or one of `ftlkit workloads`.")],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT.toml", help="Where to write the look-alike; else it is printed.")
    ] = None,
    chosen: study.TraceOptions = options.CHOSEN,
) -> None:
    """Fit a look-alike to a trace: a generated workload with its sizes, shares, gaps and locality.

    The look-alike is the workload of a study in TOML. Comments say what each number rests on, and
    where trace and look-alike differ. Then six stacks run on both, and it is said for
    which questions the look-alike is not good.
    """
    fitted = traces.trace_fit(workload, out, watcher=watcher(ERR), **chosen)
    if out is None:
        OUT.file.write(preset_toml(fitted))
    else:
        for line in verdict(fitted["validation"]):
            say(line)
        say(f"wrote {out}: {several(fitted['requests'], 'request')}, misfit {fitted['misfit']:.2f}")


@app.command(cls=Command)
@options.with_options(*(name for name in options.READING if name in study.ReadingOptions.__annotations__))
def convert(
    source: Annotated[Path, typer.Argument(metavar="TRACE", help="The trace to read.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write; the name ends in .parquet or .csv.")],
    chosen: study.ReadingOptions = options.CHOSEN,
) -> None:
    """Convert a trace of any format to Parquet, which reads fastest, or to CSV."""
    done = traces.trace_convert(source, out, watcher=watcher(ERR), **chosen)
    say(f"read {source} as {done['format']}: {', '.join(_counted(done))}")
    say(f"wrote {out}")


@app.command(cls=Command)
@options.with_options(*(name for name in options.READING if name in study.ReadingOptions.__annotations__))
def split(
    traces_named: Annotated[
        list[str], typer.Argument(metavar="TRACES", help="Traces of one format; of a pattern the files are one trace.")
    ],
    out: Annotated[Path, option("Folder for the volumes; rerun to resume.", "DIR")],
    chosen: study.ReadingOptions = options.CHOSEN,
) -> None:
    """Split traces by volume, in one pass, into Parquet sorted in time, with a manifest."""
    done = traces.trace_split(traces_named, out, watcher=watcher(ERR), **chosen)
    for read in done["traces"]:
        if any(read[key] for key in LEFT_OUT):
            say(f"{read['path']}: {', '.join(_counted(read))}")
    for path in done["without_requests"]:
        say(f"{path}: left out, since it has no request")
    files = several(len(done["traces"]), "trace")
    say(f"read {files} as {done['format']}: {several(done['requests'], 'request')}")
    say(f"wrote {out}: {several(len(done['volumes']), 'volume')}")


@app.command(cls=Command)
@options.with_options("requests", "seed")
def generate(
    spec: Annotated[
        str,
        typer.Argument(metavar="PRESET|STUDY.toml", help="A workload preset, or a study whose workload is generated."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="Where to write.")],
    chosen: study.TraceOptions = options.CHOSEN,
) -> None:
    """Write a generated workload as a trace."""
    done = traces.trace_generate(spec, out, watcher=watcher(ERR), **chosen)  # type: ignore[misc] # the options named above
    say(f"wrote {out}: {several(done['requests'], 'request')}")


@app.command(cls=Command)
@options.with_options("seed")
def files(
    personality: Annotated[
        str, typer.Argument(metavar="PERSONALITY", help="postmark, fileserver, varmail or webserver.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="Where to write.")],
    operations: Annotated[int | None, option("Transactions of postmark, rounds of the others.", "N")] = None,
    names: Annotated[str | None, option("Extensions a to z, used alike; or those of a machine.", "letters|mix")] = None,
    chosen: study.TraceOptions = options.CHOSEN,
) -> None:
    """Write a file workload as a trace, each write with the temperature of its file's type."""
    spec = {"personality": personality} | ({} if names is None else {"names": names})
    seed = chosen.get("seed", 1)
    done = traces.generate_files(spec, out, operations=operations, seed=seed, watcher=watcher(ERR))
    counts = f"{several(done['requests'], 'request')} of {several(done['operations'], 'operation')}"
    say(f"wrote {out}: {counts}, {several(len(done['intervals']), 'interval')} of the analyzer")


def _counted(done: Json) -> Iterator[str]:
    """What was read and what was done to it; everything left out or changed is named."""
    yield several(done["requests"], "request")
    words = (
        ("skipped", "malformed record", "left out"),
        ("unmet", "row", "outside --where left out"),
        ("clamped", "request", "held at the latest time"),
        ("sorted", "request", "put in order"),
    )
    for key, what, text in words:
        if done[key]:
            yield f"{several(done[key], what)} {text}"
    for kind, number in done["left_out"].items():
        yield f"{several(number, kind)} left out"
    yield from done["unmatched"]


def _show(document: Json) -> None:
    total = document["statistics"]["total"]
    OUT.print(Text(document["name"], style="bold"))
    counted = ", ".join(_counted(document))
    if document["format"] == "generated":
        like = document["name"] in (entry["name"] for entry in catalogue.workloads())
        OUT.print(f"generated{', a look-alike of the published trace of this name' if like else ''}; {counted}")
    else:
        OUT.print(f"read as {document['format']}, times in {document['time_unit']}; {counted}")
    facts = [*_lines(total, document["statistics"]["gaps"])]
    if streams := document["statistics"]["streams"]:
        facts.append(("streams", _streams(streams)))
    print_facts(facts)
    if document["statistics"]["locality"]:
        _locality(document["statistics"]["locality"])
    if len(document["statistics"]["devices"]) > 1:
        _devices(document["statistics"]["devices"])


def _percent(value: float | None) -> str:
    return units.share(None if value is None else value / 100)


def _size(kib: float | None) -> str:
    return units.size(None if kib is None else kib * 1024)


def _span(profile: Json) -> str:
    return units.size(round(profile["span_gb"] * 1e9))


_KINDS = {"reads": "read", "writes": "write", "trims": "trim", "flushes": "flush"}
"""The counts of requests, each with the word for one."""


def _lines(profile: Json, gaps: Json | None) -> Iterator[tuple[str, str]]:
    kinds = ", ".join(several(profile[kind], one) for kind, one in _KINDS.items())
    yield "requests", f"{units.count(profile['requests'])} ({kinds})"
    yield "writes", _percent(profile["write_percent"])
    yield (
        "sequential",
        f"{_percent(profile['sequential_percent'])}; writes {_percent(profile['sequential_write_percent'])}",
    )
    sizes = [_size(profile[key]) for key in ("mean_size_kib", "mean_read_size_kib", "mean_write_size_kib")]
    yield "mean size", f"{sizes[0]} (reads {sizes[1]}, writes {sizes[2]})"
    if profile["sizes"]:
        classes = [_percent(profile["sizes"][f"{key}_percent"]) for key in ("small", "medium", "large")]
        yield "sizes", f"{classes[0]} up to 4 KiB, {classes[1]} below 16 KiB, {classes[2]} larger"
    if gaps:
        yield "gaps", f"mean {_ms(profile['mean_gap_ms'])}, median {_ms(gaps['p50_ms'])}, p99 {_ms(gaps['p99_ms'])}"
    yield "duration", units.duration(profile["duration_s"] * 1e9)
    footprint = profile["footprint"]
    touched = units.size(4096 * footprint["touched_pages"])
    pages = f"{units.count(footprint['read_pages'])} read, {units.count(footprint['written_pages'])} written"
    yield "footprint", f"{touched} in pages of 4 KiB ({pages})"
    yield "overwrites", f"each written page {units.plain(profile['overwrite_factor'])} times"
    yield "span", _span(profile)
    if profile["alignment"]:
        yield "alignment", _alignment(profile["alignment"])


def _ms(value: float | None) -> str:
    return units.duration(None if value is None else value * 1e6)


def _alignment(alignment: Json) -> str:
    text = f"{_percent(alignment['aligned_percent'])} on 4 KiB pages"
    if alignment["best_shift_bytes"]:
        shift, better = alignment["best_shift_bytes"], _percent(alignment["best_shift_percent"])
        text += f"; with --align-offset {shift} {better}"
    return text


def _streams(streams: list[Json]) -> str:
    """The streams that writes name, with their shares of the writes."""
    writes = sum(stream["writes"] for stream in streams)
    shown = [f"{stream['stream']} ({units.share(stream['writes'] / writes)})" for stream in streams[:DEVICES_SHOWN]]
    more = f" and {len(streams) - DEVICES_SHOWN} more" if len(streams) > DEVICES_SHOWN else ""
    return f"writes name {', '.join(shown)}{more}; 0 names none"


def _locality(locality: Json) -> None:
    """What writes do within windows of some lengths; one that is all of the trace is named so."""
    headings = ["writes within", "rewritten", "top 1 %", "blocks", "writes in runs", "their pages"]
    rows = [
        [
            units.size(row["pages"] * locality["page_bytes"]) if row["windows"] else "all",
            _percent(row["rewritten_percent"]),
            _percent(row["top_percent"]),
            units.count(round(row["logical_blocks"])),
            _percent(row["run_write_percent"]),
            _percent(row["run_page_percent"]),
        ]
        for row in locality["windows"]
    ]
    OUT.print()
    OUT.print(table(headings, rows, numbers=True))


def _devices(devices: list[Json]) -> None:
    rows = [
        [
            device["device"],
            units.count(device["requests"]),
            _percent(device["write_percent"]),
            _size(device["mean_size_kib"]),
            _span(device),
        ]
        for device in devices[:DEVICES_SHOWN]
    ]
    OUT.print()
    OUT.print(table(["device", "requests", "writes", "mean size", "span"], rows, numbers=True))
    if len(devices) > DEVICES_SHOWN:
        OUT.print(f"and {len(devices) - DEVICES_SHOWN} devices more; --json shows all")
