"""The charts of wear: how often blocks were erased, where, how evenly, at what price."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from ftlkit._util import Json, units
from ftlkit.report.drawing import (
    BAR,
    DURATION,
    LOG_FROM,
    AnyChart,
    log_axis,
    run_colour,
    run_points,
    sized,
    time_tip,
    values,
)
from ftlkit.report.palette import WEAR_COLOURS
from ftlkit.results.outcome import Outcome, device_of

if TYPE_CHECKING:
    from ftlkit.results.document import WearMap

LINE_CELLS = 64
"""Cells of a line of the wear map at most: 1024 cells make 16 to 40 lines per run."""
MAP_HEIGHT = 620
"""Height that all maps together should not exceed by much, in pixels."""
PLANE_GAP = 0.4
"""Lines between planes of several lines."""
MAP_GAP = 2.0
"""Lines between the maps of two runs."""


def erases(results: Outcome) -> AnyChart | None:
    """How often blocks were erased: a histogram a run, with its mean."""
    if not results.runs["erases"].sum():
        return None
    labels = results.labels
    place = {label: float(len(labels) - 1 - i) for i, label in enumerate(labels)}
    base = pl.col("label").replace_strict(place, return_dtype=pl.Float64)
    frame = results.erases.with_columns(
        base.alias("base"),
        (base + 0.82 * pl.col("blocks") / pl.col("blocks").max().over("label")).alias("top"),
        (pl.col("high") + 1).alias("end"),
        (pl.col("blocks") / pl.col("blocks").sum().over("label")).alias("share"),
    ).filter(pl.col("blocks") > 0)
    names = json.dumps(labels[::-1])
    axis = alt.Axis(
        values=[place[label] for label in labels],
        labelExpr=f"{names}[round(datum.value)]",
        grid=True, ticks=False, domain=False, labelBaseline="bottom", labelOffset=-2,
    )  # fmt: skip
    bars = (
        alt.Chart(values(frame))
        .mark_rect()
        .encode(
            x=alt.X("low:Q", title="erases of a block", scale=alt.Scale(zero=False, nice=False)),
            x2="end:Q",
            y=alt.Y("base:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, len(labels) - 0.1], nice=False)),
            y2="top:Q",
            color=run_colour(results),
            tooltip=["label:N", "low:Q", "high:Q", "blocks:Q", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    means = results.runs.select("label", "erases_mean").with_columns(base.alias("base"), (base + 0.9).alias("top"))
    rules = (
        alt.Chart(values(means))
        .mark_rule(stroke="currentColor", strokeWidth=1.5, strokeDash=[3, 2])
        .encode(
            x="erases_mean:Q", y="base:Q", y2="top:Q", tooltip=["label:N", alt.Tooltip("erases_mean:Q", format=".2f")]
        )
    )
    return sized(alt.layer(bars, rules), max(120, 2 * BAR * len(labels)))


def price(results: Outcome) -> AnyChart | None:
    """Flash time a request against the deviation of erase counts; down and left is better."""
    frame = results.runs.filter(pl.col("erases") > 0).select("label", "flash_time_per_request_ns", "erases_std")
    frame = frame.drop_nulls()
    if frame.height < 2:
        return None
    base = alt.Chart(values(frame)).encode(
        x=alt.X(
            "flash_time_per_request_ns:Q",
            title="flash time for each read or write",
            **_axis(frame["flash_time_per_request_ns"], DURATION),
        ),
        y=alt.Y("erases_std:Q", title="σ of erases", **_axis(frame["erases_std"], "format(datum.value, '~r')")),
        tooltip=[
            "label:N",
            time_tip("flash_time_per_request_ns", "flash time a request"),
            alt.Tooltip("erases_std:Q", title="σ of erases", format=".3~r"),
        ],
    )
    return sized(run_points(results, base, frame))


def _axis(column: pl.Series, label: str) -> dict[str, Any]:
    """Logarithmic if one run would compress the others, with room for labels."""
    values = column.to_list()
    if min(values) > 0 and max(values) > LOG_FROM * min(values):
        return log_axis(column, label, margin=1.4)
    return {"scale": alt.Scale(zero=False, padding=34), "axis": alt.Axis(tickCount=5, labelExpr=label)}


def _cells(results: Outcome) -> pl.DataFrame:
    """The cells of all runs with erases, each with its mean against the run's own mean."""
    means = results.runs.filter(pl.col("erases") > 0).select("label", pl.col("erases_mean").alias("mean"))
    rows = results.wear_map.drop_nulls("erases_mean").join(means, on="label", maintain_order="left")
    return rows.with_columns((pl.col("erases_mean") / pl.col("mean")).round_sig_figs(3).alias("ratio"))


def wear_stops(results: Outcome) -> dict[str, tuple[float, str]]:
    """The wear map's scale, the same for all runs: name of a stop, value, colour.

    It goes a tenth beyond the mean at least, so that noise does not look like wear, and as far as
    some cell does.
    """
    ratios = _cells(results)["ratio"].to_list()
    if not ratios:
        return {}
    low, high = min(0.9, *ratios), max(1.1, *ratios)
    values = (low, 1.0, math.sqrt(high), high)
    names = ["the run's mean" if value == 1 else f"{units.digits(value)} × the mean" for value in values]
    return dict(zip(names, zip(values, WEAR_COLOURS, strict=True), strict=True))


def wear_map(results: Outcome) -> AnyChart | None:
    """Each run's device, cell by cell; colour is a cell's mean erases against the run's."""
    rows = _cells(results)
    if rows.is_empty():
        return None
    places = Places(results)
    # Three digits: a colour shows no more, and the page stays small.
    frame = rows.select(
        "label",
        "cell",
        "ratio",
        pl.col("erases_mean").round_sig_figs(3).alias("erases"),
        pl.col("erases_max").alias("most"),
        "failed",
        pl.col("label").replace_strict(places.top, return_dtype=pl.Float64).alias("top"),
    )
    stops, colours = (list(column) for column in zip(*wear_stops(results).values(), strict=True))
    cells = (
        # A row per run, which the page takes apart: names of columns for each cell would be most of
        # the page.
        alt.Chart(
            alt.InlineData(values=frame.drop("failed").group_by("label", "top", maintain_order=True).all().to_dicts())
        )
        .transform_flatten(["cell", "ratio", "erases", "most"])
        .transform_calculate(**places.expressions)
        .mark_rect(aria=False)
        .encode(
            x=alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=[0, places.width], nice=False)),
            x2="x2:Q",
            y=alt.Y("y:Q", title=None, axis=places.axis(), scale=alt.Scale(domain=[places.height, 0], nice=False)),
            y2="y2:Q",
            color=alt.Color("ratio:Q", legend=None, scale=alt.Scale(domain=stops, range=colours)),
            tooltip=[
                "label:N",
                alt.Tooltip("place:N", title="where"),
                alt.Tooltip("erases:Q", title="mean erases of a block"),
                alt.Tooltip("most:Q", title="most erases of a block"),
            ],
        )
    )
    lost = frame.filter(pl.col("failed") > 0).select("label", "cell", "top", "failed")
    height = round(max(3.0, min(10.0, MAP_HEIGHT / places.height)) * places.height)
    if lost.is_empty():
        return sized(cells, height)
    crosses = (
        alt.Chart(alt.InlineData(values=lost.to_dicts()))
        .transform_calculate(**places.expressions)
        .transform_calculate(middle_x="datum.x + 0.5", middle_y="datum.y + 0.5")
        .mark_point(shape="cross", angle=45, size=18, filled=True, color="#c2453a", aria=False)
        .encode(
            x="middle_x:Q",
            y="middle_y:Q",
            tooltip=["label:N", alt.Tooltip("place:N", title="where"), alt.Tooltip("failed:Q", title="failed blocks")],
        )
    )
    return sized(alt.layer(cells, crosses), height)


class Places:
    """Where cells are drawn: planes below each other in lines of cells, runs below each other.

    A plane of many cells has lines of its own; planes of few cells share a line, none is torn.
    """

    def __init__(self, results: Outcome) -> None:
        document = results.document
        geometry = device_of(document)["geometry"]
        wear_map = next(run["wear_map"] for run in document["runs"] if run.get("wear_map"))
        of_plane = -(-geometry["blocks_per_plane"] // wear_map["blocks_per_cell"])
        planes = len(wear_map["mean"]) // of_plane
        together = min(max(LINE_CELLS // of_plane, 1), planes)
        if 2 * of_plane > LINE_CELLS:
            together = 1
        lines = -(-of_plane * together // LINE_CELLS)
        in_line = -(-of_plane * together // lines)
        step = lines + (PLANE_GAP if lines > 1 else 0.0)
        groups = -(-planes // together)
        self.width = in_line
        """Cells of a line."""
        self.lines = groups * step
        """Lines of a run's map."""
        drawn = [run["label"] for run in document["runs"] if run.get("wear_map") and run["erases"]["total"]]
        self.top = {label: i * (self.lines + MAP_GAP) for i, label in enumerate(drawn)}
        """The first line of each run's map."""
        self.height = len(drawn) * (self.lines + MAP_GAP) - MAP_GAP
        """Lines of all maps."""
        within = f"(datum.cell % {of_plane * together})"
        self.expressions = {
            "x": f"{within} % {in_line}",
            "x2": "datum.x + 0.94",
            "y": f"datum.top + floor(datum.cell / {of_plane * together}) * {step} + floor({within} / {in_line})",
            "y2": "datum.y + 0.92",
            "place": _words(geometry, wear_map, of_plane),
        }
        """Vega's expressions for corners and words of a cell."""

    def axis(self) -> alt.Axis:
        """The runs' labels, each at the middle of its map."""
        names = json.dumps([*self.top])
        return alt.Axis(
            values=[top + self.lines / 2 for top in self.top.values()],
            labelExpr=f"{names}[floor(datum.value / {self.lines + MAP_GAP})]",
            labelLimit=120, grid=False, ticks=False, domain=False,
        )  # fmt: skip


def _words(geometry: Json, wear_map: WearMap, of_plane: int) -> str:
    """A Vega expression for the place of a cell in words."""
    planes, dies, width = geometry["planes_per_die"], geometry["dies_per_channel"], wear_map["blocks_per_cell"]
    if wear_map["planes_per_cell"] > 1:
        first = f"datum.cell * {wear_map['planes_per_cell']}"
        return f"'planes ' + ({first}) + ' to ' + ({first} + {wear_map['planes_per_cell'] - 1}) + ', all blocks'"
    plane, first = f"floor(datum.cell / {of_plane})", f"datum.cell % {of_plane} * {width}"
    last = f" + ' to ' + min({first} + {width - 1}, {geometry['blocks_per_plane'] - 1})" if width > 1 else ""
    return (
        f"'channel ' + floor({plane} / {planes * dies}) + ', die ' + floor({plane} / {planes}) % {dies}"
        f" + ', plane ' + {plane} % {planes} + ', block ' + ({first}){last}"
    )
