"""The report's figures: chart, title, meaning, legend, still picture and live form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import vl_convert
from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from ftlkit._util import Json, units
from ftlkit.report import charts, wear_charts
from ftlkit.report.drawing import DURATION, NUMBER, SHARE, SIZE, AnyChart, folded_labels, over_time
from ftlkit.report.palette import CAUSE_COLOURS

if TYPE_CHECKING:
    from ftlkit.results.outcome import Outcome

STILL_WIDTH = 560
"""Width of the still pictures, in pixels: about what a figure gets on a wide page."""

CONFIG: Json = {
    "background": None,
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.13,
        "domainOpacity": 0.45,
        "tickOpacity": 0.45,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelOpacity": 0.85,
        "titlePadding": 8,
    },
    "text": {"fontSize": 12},
}
"""`currentColor` is resolved by the page, so one drawing serves light, dark and print."""


@dataclass(frozen=True)
class Figure:
    """One chart of the report."""

    name: str
    title: str
    note: str
    legend: str
    """Which legend belongs to it: `runs` (lines), `areas` (runs as areas), `causes` or `wear`."""
    entries: list[str]
    """The runs or causes that have a mark in it."""
    spec: Json
    still: Markup


def _cells(results: Outcome) -> str:
    """What a cell of the wear map is."""
    wear_map = next(run["wear_map"] for run in results.document["runs"] if run.get("wear_map"))
    blocks, planes = wear_map["blocks_per_cell"], wear_map["planes_per_cell"]
    cell = "block" if blocks * planes == 1 else f"stretch of {units.count(blocks)} neighbouring blocks of a plane"
    if planes > 1:
        cell = f"group of {units.count(planes)} planes"
    return (
        f"One map a run, one cell a {cell}, plane after plane of each die and channel. The colour is the mean erases "
        "of a cell's blocks against the run's own mean; a cross: blocks failed there."
    )


_Draw = Callable[["Outcome"], "AnyChart | None"]


def _line(column: str, title: str, labels: str = NUMBER) -> _Draw:
    """A line per run over the requests served."""
    return lambda results: over_time(results, column, title, labels)


def _pair(gauge: str, pale: str, title: str, labels: str | None = None) -> _Draw:
    return lambda results: charts.two_gauges(results, gauge, pale, title, labels)


_FIGURES: tuple[tuple[str, str, str | Callable[[Outcome], str], str, _Draw], ...] = (
    (
        "response-cdf",
        "Response times",
        "Share of requests answered within a time; further left is better, and the top of the curve is the tail.",
        "runs",
        charts.response_cdf,
    ),
    (
        "tail",
        "The tail of response times",
        "Response time at each percentile, each nine as wide as the one before. A line ends at its longest response.",
        "runs",
        charts.response_tail,
    ),
    (
        "class-latency",
        "Waiting and service of flash operations",
        "Share of a class's operations that waited no longer for die and channel, or were served no longer.",
        "runs",
        charts.class_latency,
    ),
    (
        "response-parts",
        "Breakdown of response times",
        "Share of the mean response: solid, the request's own operations; pale, waiting behind other operations.",
        "causes",
        charts.response_parts,
    ),
    (
        "operations",
        "Flash operations by cause",
        "Flash pages read and programmed for each page that the host read or wrote; shorter is better.",
        "causes",
        charts.operations,
    ),
    (
        "flash-time",
        "Flash time by cause",
        "Share of the time that dies and channels spent on each cause.",
        "causes",
        charts.flash_time,
    ),
    (
        "ram",
        "RAM vs response time",
        "Each run's RAM and its mean response time; lower and further left is better.",
        "areas",
        charts.ram,
    ),
    (
        "erases",
        "Erases of blocks",
        "How many blocks were erased how often, each histogram to its own height; dashed: the mean. Narrow is even.",
        "areas",
        wear_charts.erases,
    ),
    (
        "wear-map",
        "Wear by block",
        _cells,
        "wear",
        wear_charts.wear_map,
    ),
    (
        "erases-over-time",
        "Evenness of wear over the workload",
        "Standard deviation of the blocks' erase counts so far; a line that goes on rising: blocks drift apart.",
        "runs",
        _line("erases_std", "σ of erases", "format(datum.value, '~r')"),
    ),
    (
        "price-of-evenness",
        "Wear spread vs cost",
        "Each run's flash time for a read or write, and the σ of its blocks' erases; lower and further left is better.",
        "areas",
        wear_charts.price,
    ),
    (
        "mean-over-time",
        "Mean response over the workload",
        "Mean response time of each stretch; still climbing at the end: the device fills up or falls behind.",
        "runs",
        _line("mean_response_ns", "mean response time", DURATION),
    ),
    (
        "amplification-over-time",
        "Write amplification over the workload",
        "Bytes programmed for each byte that the host wrote, stretch by stretch.",
        "runs",
        _line("write_amplification", "write amplification"),
    ),
    (
        "moved-over-time",
        "GC over the workload",
        "Share of the pages programmed that collections, merges and other moves of data wrote, stretch by stretch.",
        "runs",
        _line("moved_share", "share of pages programmed", SHARE),
    ),
    (
        "buffer-hits",
        "Write buffer hits",
        "Share of the pages written that replace a version still waiting in RAM; the older is never programmed.",
        "runs",
        _line("buffer_hit_ratio", "share of pages written", SHARE),
    ),
    (
        "log-utilisation",
        "Valid log pages",
        "Share of the log's programmed pages that hold the newest copy of something; low: overwritten before merged.",
        "runs",
        _line("log_utilisation", "share of log pages", SHARE),
    ),
    (
        "associativity",
        "Associativity of log blocks",
        "Full merges that a leaving log block has cost so far, on average: A(L), the price of sharing.",
        "runs",
        _line("associativity", "full merges a log block"),
    ),
    (
        "sequential-blocks",
        "Blocks of the sequential area",
        "How many log blocks long requests may have to themselves, where that changes while running (adapt).",
        "runs",
        _line("sequential_log_share", "sequential log blocks"),
    ),
    (
        "delta",
        "Growth of the sequential area",
        "δ of the last interval, the share of new sequential blocks that became data blocks; above Δ (pale) it grows.",
        "runs",
        _pair("delta", "delta_threshold", "δ and, pale, Δ"),
    ),
    (
        "phi",
        "Growth of the random area",
        "φ of the last interval: newest pages of a leaving random block; from Φ (pale) on the area grows, after δ.",
        "runs",
        _pair("phi", "phi_threshold", "φ and, pale, Φ"),
    ),
    (
        "ram-split",
        "RAM between data and map",
        "Data pages (full) and the cached part of the map (pale), where both share one RAM: what each holds by then.",
        "runs",
        _pair("ram_data_bytes", "ram_map_bytes", "data and, pale, map in RAM", SIZE),
    ),
)


def draw(results: Outcome, only: str | None = None) -> list[Figure]:
    """The figures for which the results hold data, or the one of a name."""
    if not results.labels:
        return []
    figures = []
    for name, title, note, legend, chart in _FIGURES:
        if only not in (None, name):
            continue
        # Altair would check each part against its schema again and again.
        with debug_mode(False):  # noqa: FBT003 - as Altair has it
            drawn = chart(results)
        if drawn is not None:
            spec = page_spec(drawn)
            words = note if isinstance(note, str) else note(results)
            figures.append(Figure(name, title, words, legend, _entries(spec, legend), spec, still(name, spec)))
    return figures


def _entries(spec: Json, legend: str) -> list[str]:
    """The runs or causes among a chart's data, in their order."""
    field = "cause" if legend == "causes" else "label"
    rows = [row for data in spec["datasets"].values() if isinstance(data, list) for row in data]
    rows += [{field: label} for label in folded_labels(spec)]
    order = CAUSE_COLOURS if legend == "causes" else dict.fromkeys(row[field] for row in rows if field in row)
    present = {row[field] for row in rows if field in row}
    return [name for name in order if name in present]


def page_spec(chart: AnyChart) -> Json:
    """A chart as it is drawn on a page. Tests hold it to the schema of Vega-Lite."""
    spec: Json = chart.to_dict(validate=False)
    del spec["$schema"]
    spec["config"] = CONFIG
    return spec


_CELL = r'<path d="([^"]*)" fill="([^"]*)"/>'
_CELLS = re.compile(f"(?:{_CELL}){{500,}}")
"""This many areas in a row are the cells of a map, none of which covers another."""


def _merged(cells: re.Match[str]) -> str:
    """The cells as one path a colour: that takes a third of the text."""
    by_colour: dict[str, list[str]] = {}
    for path, colour in re.findall(_CELL, cells[0]):
        by_colour.setdefault(colour, []).append(path)
    return "".join(f'<path d="{"".join(paths)}" fill="{colour}"/>' for colour, paths in by_colour.items())


def still(name: str, spec: dict[str, Any], width: int = STILL_WIDTH) -> Markup:
    """The chart as SVG, to a tenth of a pixel, with ids that are unique on the page."""
    svg = vl_convert.vegalite_to_svg({**spec, "width": width})
    # The place of the picture has a text; one for each of its marks would be most of the page.
    svg = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
    svg = re.sub(r' (d|transform)="[^"]*"', lambda match: re.sub(r"(\.\d)\d+", r"\1", match[0]), svg)
    svg = _CELLS.sub(_merged, svg)
    for number, old in enumerate(dict.fromkeys(re.findall(r'id="([^"]+)"', svg))):
        svg = re.sub(rf'(id="|url\(#){re.escape(old)}(?=["\)])', rf"\g<1>{name}-still-{number}", svg)
    return Markup(svg)  # noqa: S704 - drawn here; vega escapes the texts
