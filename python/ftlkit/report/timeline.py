"""The timeline: time × resource for a window of each run, drawn from saved results alone.

Each channel and each die has a lane. On a die's lane an operation is pale while it holds the die
and solid while the die works; a thin line before it is the time for which it waited to begin. On a
channel's lane there are the transfers. Below each chart stands who waited longest and behind what,
for those who would rather read than search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
from markupsafe import Markup

from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit.report import facts
from ftlkit.report.causes import cause_name
from ftlkit.report.drawing import DURATION, AnyChart, sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import CAUSE_COLOURS
from ftlkit.report.rules import listed
from ftlkit.results.outcome import Outcome, device_of

if TYPE_CHECKING:
    from ftlkit.results.document import Document, Run, TimelineFacts

LANE = 22
"""Height of a lane in pixels."""
FEW = 3000
"""Up to this many operations have a still picture and SVG; more are drawn on a canvas."""
TIME_SIGNAL = "zoom_ready_ns"
"""What Vega calls the time that is shown: the selection and the field of the first layer."""
LONGEST = 8
"""Rows of the table of waits."""


@dataclass(frozen=True)
class Drawn:
    """The timeline of one run."""

    label: str
    name: str
    note: str
    cut: str
    """What is missing, where the window held too much."""
    spec: Json | None
    still: Markup
    renderer: str
    waits: list[list[str]]


def page(results: Outcome) -> str:
    """The page's HTML."""
    document = results.document
    windows = [(run, window) for run in document["runs"] if (window := run.get("timeline"))]
    if not windows:
        raise UserError(
            "these results hold no timeline: run the study with --timeline FILE.html, or with run.timeline set to a "
            'window such as "10ms..12ms".'
        )
    drawn = [_drawn(results, run, window, f"timeline-{index}") for index, (run, window) in enumerate(windows)]
    seen = set(results.timeline["cause"].unique())
    return template("timeline.html.j2").render(
        title=document["study"].get("name") or f"Timeline of {facts.workload(document)}",
        document=document,
        workload=facts.workload(document),
        labels=listed([run["label"] for run, _ in windows]),
        time_signal=TIME_SIGNAL,
        runs=drawn,
        causes={cause: cause_name(cause) for cause in CAUSE_COLOURS if cause in seen},
        cause_colours=CAUSE_COLOURS,
    )


def _drawn(results: Outcome, run: Run, window: TimelineFacts, name: str) -> Drawn:
    label = run["label"]
    frame = _placed(results, label)
    cut = ""
    if window["to_ns"] < window["requested_to_ns"]:
        cut = (
            f"The window held more than {units.count(frame.height)} operations: it was cut at "
            f"{units.moment(window['to_ns'])} instead of {units.moment(window['requested_to_ns'])}. "
            "For what comes later, give a window that begins there."
        )
    if frame.is_empty():
        note = f"No operation touches the window; the run took {units.duration(run['simulated_ns'])}."
        return Drawn(label, name, note, cut, None, Markup(), "svg", [])
    begin, end = units.moment(window["from_ns"]), units.moment(window["to_ns"])
    note = f"{units.count(frame.height)} flash operations from {begin} to {end}."
    spec = page_spec(chart(results, label, window))
    few = frame.height <= FEW
    picture = still(name, spec, 1100) if few else Markup()
    return Drawn(label, name, note, cut, spec, picture, "svg" if few else "canvas", _waits(frame))


def _placed(results: Outcome, label: str) -> pl.DataFrame:
    """The run's operations with their lanes, and when die and channel worked for them."""
    serial = _is_serial(results.document)
    device = device_of(results.document)
    dies, moved = device["geometry"]["dies_per_channel"], 0 if serial else device["latencies"]["transfer_ns"]
    # What the die works by itself; a part of an operation works all the time.
    works = pl.col("service_ns") - pl.when(pl.col("transfer_ns").is_null()).then(0).otherwise(moved)
    works = pl.min_horizontal(works.fill_null(2**62), pl.col("end_ns") - pl.col("start_ns"))
    die = pl.lit("device") if serial else pl.format("die {}", "die")
    return results.timeline.filter(pl.col("label") == label).with_columns(
        die.alias("lane"),
        pl.format("channel {}", pl.col("die") // dies).alias("bus"),
        (pl.col("transfer_ns") + moved).alias("moved_ns"),
        pl.when(pl.col("op") == "program")
        .then(pl.col("end_ns") - works)
        .otherwise(pl.col("start_ns"))
        .alias("work_ns"),
        pl.when(pl.col("op") == "read").then(pl.col("start_ns") + works).otherwise(pl.col("end_ns")).alias("worked_ns"),
    )


def _is_serial(document: Document) -> bool:
    return bool(document["study"].get("device", {}).get("pricing") == "serial")


def chart(results: Outcome, label: str, window: TimelineFacts) -> AnyChart:
    """A run's window as a chart that can be dragged and zoomed along time."""
    frame = _placed(results, label)
    lanes = _lanes(results, frame)
    values = alt.InlineData(values=frame.drop("label").to_dicts())
    scale = alt.Scale(domain=[window["from_ns"], window["to_ns"]], nice=False)
    axis = alt.Axis(labelExpr=DURATION, tickCount=8, orient="top", grid=True)
    lane_axis = alt.Axis(ticks=False, domain=False)
    colours = {cause: colour for cause, colour in CAUSE_COLOURS.items() if cause in set(frame["cause"])}
    base = alt.Chart(values).encode(
        color=alt.Color("cause:N", legend=None, scale=alt.Scale(domain=[*colours], range=[*colours.values()])),
        tooltip=[
            "op:N",
            "cause:N",
            alt.Tooltip("lane:N", title="on"),
            alt.Tooltip("ready_ns:Q", title="ready (ns)", format=",.0f"),
            alt.Tooltip("start_ns:Q", title="start (ns)", format=",.0f"),
            alt.Tooltip("end_ns:Q", title="end (ns)", format=",.0f"),
        ],
    )

    def bars(lane: str, start: str, end: str, height: float, opacity: float) -> Any:  # noqa: ANN401 - altair's own
        # Screen readers get the table of waits: labels of thousands of marks help nobody.
        return base.mark_bar(aria=False, clip=True, height={"band": height}, opacity=opacity).encode(
            x=alt.X(f"{start}:Q", title=None, scale=scale, axis=axis),
            x2=f"{end}:Q",
            y=alt.Y(f"{lane}:N", title=None, sort=lanes, scale=alt.Scale(domain=lanes), axis=lane_axis),
        )

    layers = [
        bars("lane", "ready_ns", "start_ns", 0.1, 0.8).transform_filter("datum.ready_ns < datum.start_ns"),
        bars("lane", "start_ns", "end_ns", 0.78, 0.35),
        bars("lane", "work_ns", "worked_ns", 0.78, 1.0),
    ]
    if not _is_serial(results.document):
        layers.append(bars("bus", "transfer_ns", "moved_ns", 0.78, 1.0).transform_filter("isValid(datum.transfer_ns)"))
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    layers[0] = layers[0].add_params(zoom)
    return sized(alt.layer(*layers), LANE * len(lanes))


def _lanes(results: Outcome, frame: pl.DataFrame) -> list[str]:
    """Each channel followed by its dies; those that have something to show."""
    if _is_serial(results.document):
        return ["device"]
    dies = device_of(results.document)["geometry"]["dies_per_channel"]
    lanes: list[str] = []
    for die in sorted(set(frame["die"])):
        bus = f"channel {die // dies}"
        if bus not in lanes:
            lanes.append(bus)
        lanes.append(f"die {die}")
    return lanes


def _waits(frame: pl.DataFrame) -> list[list[str]]:
    """The operations that waited longest, each with what held its die and channel."""
    waited = (
        frame.with_columns((pl.col("start_ns") - pl.col("ready_ns")).alias("wait_ns"))
        .filter(pl.col("wait_ns") > 0)
        .sort("wait_ns", "start_ns", descending=[True, False])
        .head(LONGEST)
    )
    return [
        [
            f"{cause_name(row['cause'])}: {row['op']}",
            row["lane"],
            units.moment(row["ready_ns"]),
            units.duration(row["wait_ns"]),
            _held(frame, row, "lane", "start_ns", "end_ns"),
            _held(frame, row, "bus", "transfer_ns", "moved_ns"),
        ]
        for row in waited.iter_rows(named=True)
    ]


def _held(frame: pl.DataFrame, row: Json, lane: str, start: str, end: str) -> str:
    """What held a resource while an operation waited for it to begin, longest first."""
    overlap = pl.min_horizontal(end, pl.lit(row["start_ns"])) - pl.max_horizontal(start, pl.lit(row["ready_ns"]))
    held = (
        frame.filter((pl.col(lane) == row[lane]) & pl.col(start).is_not_null())
        .with_columns(overlap.alias("held_ns"))
        .filter(pl.col("held_ns") > 0)
        .group_by("cause")
        .agg(pl.col("held_ns").sum())
        .sort("held_ns", "cause", descending=[True, False])
    )
    parts = [f"{cause_name(cause)} {units.duration(time)}" for cause, time in held.iter_rows()]
    return ", ".join(parts) or "nobody"
