"""The charts, as Altair objects drawn from saved results alone.

Each function returns one chart that fits its container's width, or raises nothing and returns
`None` when the results hold nothing to draw. Titles and legends belong to whoever places a chart:
the report writes them in HTML, where they wrap.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from ftlkit.report.drawing import (
    BAR,
    DURATION,
    NUMBER,
    SIZE,
    AnyChart,
    log_axis,
    numbered,
    run_axis,
    run_colour,
    run_dash,
    run_points,
    size_tip,
    sized,
    time_tip,
    values,
)
from ftlkit.report.palette import CAUSE_COLOURS
from ftlkit.results.derived import CLASSES

if TYPE_CHECKING:
    from ftlkit.results.outcome import Outcome


def response_cdf(results: Outcome) -> AnyChart | None:
    """Share of requests answered within a time; all, reads or writes, by choice."""
    frame = results.cdf.filter(pl.col("response_ns") > 0)
    if frame.is_empty():
        return None
    kinds = [kind for kind in ("all", "read", "write") if kind in frame["requests"].unique()]
    chart = (
        numbered(frame)
        .mark_line(interpolate="step-after", strokeWidth=2, clip=True)
        .encode(
            x=alt.X("response_ns:Q", title="response time", **log_axis(frame["response_ns"], DURATION)),
            y=alt.Y("share:Q", title="share of requests", axis=alt.Axis(format="~%", tickCount=5)),
            color=run_colour(results),
            strokeDash=run_dash(results),
            tooltip=["label:N", time_tip("response_ns", "response time"), alt.Tooltip("share:Q", format=".2%")],
        )
    )
    if len(kinds) < 3:
        return sized(chart.transform_filter("datum.requests == 'all'"))
    chosen = alt.param("requests", value="all", bind=alt.binding_radio(options=kinds, name="requests: "))
    return sized(chart.add_params(chosen).transform_filter("datum.requests == requests"))


NINES = 5
"""How far into the tail the chart goes: 99.999 %."""


def response_tail(results: Outcome) -> AnyChart | None:
    """Response time at each percentile from the median on, of which the tail has most room."""
    counts = {run["label"]: run["response_ns"]["all"]["count"] for run in results.document["runs"]}
    frame = results.cdf.filter((pl.col("response_ns") > 0) & (pl.col("requests") == "all"))
    # A run of n requests tells its percentiles up to 1 - 1/n: there stands its longest response.
    last = 1 - 1 / pl.col("label").replace_strict(counts, default=2, return_dtype=pl.Float64).clip(2)
    nines = -(1 - pl.min_horizontal("share", last)).log10()
    frame = frame.with_columns(nines.alias("nines")).filter(pl.col("nines") >= -math.log10(0.5))
    # The first point beyond the end tells the response there.
    beyond = (pl.col("nines") > NINES).cum_sum().over("label")
    frame = frame.filter(beyond <= 1).select("label", pl.col("nines").clip(None, NINES), "response_ns", "share")
    if frame.is_empty():
        return None
    last_drawn = max([1.0, *frame["nines"].to_list()])
    ticks = [-math.log10(0.5), *range(1, NINES + 1)]
    names = "datum.value < 0.5 ? '50 %' : format(100 - pow(10, 2 - datum.value), '.5~g') + ' %'"
    chart = (
        numbered(frame)
        .mark_line(interpolate="step-before", strokeWidth=2, clip=True)
        .encode(
            x=alt.X(
                "nines:Q",
                title="percentile of requests",
                scale=alt.Scale(domain=[ticks[0], last_drawn], nice=False),
                axis=alt.Axis(values=ticks, labelExpr=names),
            ),
            y=alt.Y("response_ns:Q", title="response time", **log_axis(frame["response_ns"], DURATION)),
            color=run_colour(results),
            strokeDash=run_dash(results),
            tooltip=["label:N", time_tip("response_ns", "response time"), alt.Tooltip("share:Q", format=".4%")],
        )
    )
    return sized(chart)


CLASSES_IN_WORDS = {name: words if name == "other" else f"{words}s" for name, words in CLASSES.items()}
"""What the choice of a class offers."""


def class_latency(results: Outcome) -> AnyChart | None:
    """Share of a class's flash operations by how long they waited, or were served."""
    frame = results.class_cdf
    positive = frame.filter(pl.col("time_ns") > 0)["time_ns"]
    if positive.is_empty():
        return None
    scaled = log_axis(positive, DURATION)
    # A logarithmic axis has no zero: those who did not wait begin the curve at its left end.
    frame = frame.with_columns(pl.max_horizontal("time_ns", pl.lit(scaled["scale"]["domain"][0])).alias("drawn_ns"))
    present = frame["class"].unique(maintain_order=True).to_list()
    classes = [words for name, words in CLASSES_IN_WORDS.items() if name in present]
    first = CLASSES_IN_WORDS["host_read"] if "host_read" in present else classes[0]
    frame = frame.with_columns(pl.col("class").replace(CLASSES_IN_WORDS))
    chosen = alt.param("kind", value=first, bind=alt.binding_radio(options=classes, name="operations: "))
    part = alt.param("part", value="waiting", bind=alt.binding_radio(options=["waiting", "service"], name="time: "))
    chart = (
        alt.Chart(values(frame))
        .mark_line(interpolate="step-after", strokeWidth=2, clip=True)
        .encode(
            x=alt.X("drawn_ns:Q", title="waiting or service time", **scaled),
            y=alt.Y(
                "share:Q",
                title="share of operations",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            color=run_colour(results),
            strokeDash=run_dash(results),
            tooltip=[
                "label:N",
                "class:N",
                "part:N",
                time_tip("time_ns", "time"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
        .add_params(chosen, part)
        .transform_filter("datum['class'] == kind && datum.part == part")
    )
    return sized(chart)


def operations(results: Outcome) -> AnyChart | None:
    """Flash pages read and programmed by cause, a page that the host asked for."""
    workload = results.document["workload"]
    host_pages = workload["pages_read"] + workload["pages_written"]
    pages = (
        _caused(results)
        .filter(pl.col("op") != "erase")
        .group_by("label", "cause", maintain_order=True)
        .agg(pl.col("count").sum())
    )
    frame = pages.filter(pl.col("count") > 0).with_columns((pl.col("count") / max(host_pages, 1)).alias("pages"))
    return _bars(results, frame, "pages", "flash pages read and programmed a host page", normalise=False)


def flash_time(results: Outcome) -> AnyChart | None:
    """How each run's flash time divides into causes."""
    times = _caused(results).group_by("label", "cause", maintain_order=True).agg(pl.col("time_ns").sum())
    frame = times.filter(pl.col("time_ns") > 0)
    return _bars(results, frame, "time_ns", "share of flash time", normalise=True)


def response_parts(results: Outcome) -> AnyChart | None:
    """What mean response times are made of: waiting behind each cause, and own operations."""
    order = {
        (part, cause): i for i, (part, cause) in enumerate(itertools.product(("service", "waiting"), CAUSE_COLOURS))
    }
    frame = results.waiting.filter(pl.col("mean_ns") > 0)
    if frame.is_empty():
        return None
    frame = frame.with_columns(
        pl.Series(
            "order", [order.get((part, cause), len(order)) for part, cause in frame.select("part", "cause").rows()]
        ),
        (pl.col("mean_ns") / pl.col("mean_ns").sum().over("label")).alias("share"),
    )
    present = [cause for cause in CAUSE_COLOURS if cause in frame["cause"].unique()]
    bars = (
        alt.Chart(values(frame))
        .mark_bar(cornerRadius=1)
        .encode(
            y=run_axis(results),
            x=alt.X(
                "mean_ns:Q", title="share of mean response", stack="normalize", axis=alt.Axis(format="~%", tickCount=5)
            ),
            color=_cause_colour(present),
            # Ordinal: of a field without order the browser warns that opacity suggests one.
            opacity=alt.Opacity("part:O", legend=None, scale=alt.Scale(domain=["service", "waiting"], range=[1, 0.55])),
            order="order:O",
            tooltip=[
                "label:N",
                "part:N",
                "cause:N",
                time_tip("mean_ns", "mean"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    return sized(bars, BAR * len(results.labels))


def _cause_colour(present: list[str]) -> alt.Color:
    colours = [CAUSE_COLOURS[cause] for cause in present]
    return alt.Color("cause:N", legend=None, scale=alt.Scale(domain=present, range=colours))


def _caused(results: Outcome) -> pl.DataFrame:
    order = {cause: i for i, cause in enumerate(CAUSE_COLOURS)}
    rank = pl.col("cause").replace_strict(order, default=len(order), return_dtype=pl.Int64).alias("order")
    return results.operations.filter(pl.col("cause") != "precondition").with_columns(rank)


def _bars(results: Outcome, frame: pl.DataFrame, value: str, title: str, *, normalise: bool) -> AnyChart | None:
    if frame.is_empty():
        return None
    present = [cause for cause in CAUSE_COLOURS if cause in frame["cause"].unique()]
    order = {cause: i for i, cause in enumerate(present)}
    frame = frame.with_columns(
        pl.col("cause").replace_strict(order, return_dtype=pl.Int64).alias("order"),
        (pl.col(value) / pl.col(value).sum().over("label")).alias("share"),
    )
    axis = alt.Axis(format="~%", tickCount=5) if normalise else alt.Axis(tickCount=5)
    bars = (
        alt.Chart(values(frame))
        .mark_bar(cornerRadius=1)
        .encode(
            y=run_axis(results),
            x=alt.X(f"{value}:Q", title=title, stack="normalize" if normalise else "zero", axis=axis),
            color=_cause_colour(present),
            order="order:O",
            tooltip=[
                "label:N",
                "cause:N",
                alt.Tooltip(f"{value}:Q", format=",.3~r"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    if normalise:
        return sized(bars, BAR * len(results.labels))
    totals = (
        alt.Chart(values(frame.group_by("label", maintain_order=True).agg(pl.col(value).sum())))
        .mark_text(align="left", dx=5, fill="currentColor")
        .encode(y=run_axis(results), x=alt.X(f"{value}:Q", title=title), text=alt.Text(f"{value}:Q", format=",.3~r"))
    )
    return sized(alt.layer(bars, totals), BAR * len(results.labels))


def ram(results: Outcome) -> AnyChart | None:
    """RAM of the translation layer against mean response time; down and left is better."""
    frame = results.runs.select("label", "ram_bytes", "response_mean_ns").filter(
        (pl.col("ram_bytes") > 0) & (pl.col("response_mean_ns") > 0)
    )
    if frame.is_empty():
        return None
    base = alt.Chart(values(frame)).encode(
        x=alt.X("ram_bytes:Q", title="RAM", **log_axis(frame["ram_bytes"], SIZE, base=2, margin=2)),
        y=alt.Y(
            "response_mean_ns:Q",
            title="mean response time",
            **log_axis(frame["response_mean_ns"], DURATION, margin=1.6),
        ),
        tooltip=["label:N", size_tip("ram_bytes", "RAM"), time_tip("response_mean_ns", "mean response")],
    )
    return sized(run_points(results, base, frame))


def two_gauges(results: Outcome, gauge: str, pale: str, title: str, labels: str | None = None) -> AnyChart | None:
    """Two gauges as two lines per run, the second one pale."""
    if not {gauge, pale} <= set(results.series.columns):
        return None
    frame = results.series.select("label", "request", gauge, pale).drop_nulls()
    if frame.is_empty():
        return None
    lines = frame.unpivot([gauge, pale], index=["label", "request"], variable_name="line", value_name="value")
    axis = alt.Axis(tickCount=5, labelExpr=labels) if labels else alt.Axis(tickCount=5)
    chart = (
        alt.Chart(values(lines))
        .mark_line(strokeWidth=1.8, clip=True, interpolate="step-after")
        .encode(
            x=alt.X("request:Q", title="requests served", axis=alt.Axis(labelExpr=NUMBER, tickCount=5)),
            y=alt.Y("value:Q", title=title, axis=axis),
            color=run_colour(results),
            opacity=alt.Opacity("line:O", scale=alt.Scale(domain=[gauge, pale], range=[1.0, 0.35]), legend=None),
            tooltip=["label:N", "line:N", alt.Tooltip("request:Q", format=","), alt.Tooltip("value:Q", format=".3f")],
        )
    )
    return sized(chart)
