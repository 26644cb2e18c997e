"""The report's figures: each chart with its title, what it shows, its legend, a still picture and its live form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import vl_convert
from markupsafe import Markup

from ftlkit import charts

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit.document import Json
    from ftlkit.results import Results

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
    """Which legend belongs to it: `runs` or `causes`."""
    spec: Json
    still: Markup


_FIGURES: tuple[tuple[str, str, str, str, Callable[[Results], charts.AnyChart | None]], ...] = (
    (
        "response-cdf",
        "Response times",
        "Share of requests answered within a time; further left is better, and the top of the curve is the tail.",
        "runs",
        charts.response_cdf,
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
        "What response times are made of",
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
        "Where the flash time goes",
        "Share of the time that dies and channels spent on each cause.",
        "causes",
        charts.flash_time,
    ),
    (
        "ram",
        "RAM against response time",
        "Each run's RAM for its mapping and its mean response time; lower and further left is better.",
        "runs",
        charts.ram,
    ),
    (
        "erases",
        "Erases of blocks",
        "How many blocks were erased how often, each histogram to its own height; dashed: the mean. Narrow is even.",
        "runs",
        charts.erases,
    ),
    (
        "mean-over-time",
        "Mean response over the workload",
        "Mean response time of each stretch; still climbing at the end: the device fills up or falls behind.",
        "runs",
        charts.mean_over_time,
    ),
    (
        "amplification-over-time",
        "Write amplification over the workload",
        "Flash pages programmed for each page that the host wrote, stretch by stretch.",
        "runs",
        charts.amplification_over_time,
    ),
    (
        "log-utilisation",
        "Log pages that count",
        "Share of the log's programmed pages that hold the newest copy of something; low: overwritten before merged.",
        "runs",
        charts.log_utilisation_over_time,
    ),
    (
        "associativity",
        "Associativity of log blocks",
        "Full merges that a leaving log block has cost so far, on average: A(L), the price of sharing.",
        "runs",
        charts.associativity_over_time,
    ),
)


def draw(results: Results) -> list[Figure]:
    """The figures for which the results hold data."""
    if not results.labels:
        return []
    found = []
    for name, title, note, legend, chart in _FIGURES:
        drawn = chart(results)
        if drawn is not None:
            spec = page_spec(drawn)
            found.append(Figure(name, title, note, legend, spec, still(name, spec)))
    return found


def page_spec(chart: charts.AnyChart) -> Json:
    """A chart as it is drawn on a page."""
    spec: Json = chart.to_dict()
    del spec["$schema"]
    spec["config"] = CONFIG
    return spec


def still(name: str, spec: dict[str, Any], width: int = STILL_WIDTH) -> Markup:
    """The chart as SVG. Its ids are numbered anew, since pictures share the page."""
    svg = vl_convert.vegalite_to_svg({**spec, "width": width})
    for number, old in enumerate(dict.fromkeys(re.findall(r'id="([^"]+)"', svg))):
        svg = re.sub(rf'(id="|url\(#){re.escape(old)}(?=["\)])', rf"\g<1>{name}-still-{number}", svg)
    return Markup(svg)  # noqa: S704 - drawn here; vega escapes the texts
