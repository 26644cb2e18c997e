"""The charts, as Altair objects drawn from saved results alone.

Each function returns one chart that fits its container's width, or raises nothing and returns `None` when the results
hold nothing to draw. Titles and legends belong to whoever places a chart: the report writes them in HTML, where they
wrap.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from ftlkit.metrics.derived import CLASSES
from ftlkit.report.palette import CAUSE_COLOURS, styles

if TYPE_CHECKING:
    from ftlkit.results import Results

HEIGHT = 260
BAR = 34
LOG_FROM = 6
"""Values that differ by more than this factor are drawn on a logarithmic axis: the smaller ones would show no shape."""
DURATION = (
    "datum.value < 1e3 ? format(datum.value, '~r') + ' ns' : "
    "datum.value < 1e6 ? format(datum.value / 1e3, '~r') + ' µs' : "
    "datum.value < 1e9 ? format(datum.value / 1e6, '~r') + ' ms' : format(datum.value / 1e9, '~r') + ' s'"
)
SIZE = (
    "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : "
    "datum.value < 1073741824 ? datum.value / 1048576 + ' MiB' : datum.value / 1073741824 + ' GiB'"
)

AnyChart = alt.Chart | alt.LayerChart


def response_cdf(results: Results) -> AnyChart | None:
    """Share of requests answered within a time; all, reads or writes, by choice."""
    frame = results.cdf.filter(pl.col("response_ns") > 0)
    if frame.is_empty():
        return None
    kinds = [kind for kind in ("all", "read", "write") if kind in frame["requests"].unique()]
    chart = (
        alt.Chart(_values(frame))
        .mark_line(interpolate="step-after", strokeWidth=2, clip=True)
        .encode(
            x=alt.X("response_ns:Q", title="response time", **_log(frame["response_ns"], DURATION)),
            y=alt.Y("share:Q", title="share of requests", axis=alt.Axis(format="~%", tickCount=5)),
            color=_run_colour(results),
            strokeDash=_run_dash(results),
            tooltip=["label:N", _time_tip("response_ns", "response time"), alt.Tooltip("share:Q", format=".2%")],
        )
    )
    if len(kinds) < 3:
        return sized(chart.transform_filter("datum.requests == 'all'"))
    chosen = alt.param("requests", value="all", bind=alt.binding_radio(options=kinds, name="requests: "))
    return sized(chart.add_params(chosen).transform_filter("datum.requests == requests"))


def class_latency(results: Results) -> AnyChart | None:
    """Share of a class's flash operations that waited for a time, or were served for it; class and part by choice."""
    frame = results.class_cdf
    positive = frame.filter(pl.col("time_ns") > 0)["time_ns"]
    if positive.is_empty():
        return None
    scaled = _log(positive, DURATION)
    # A logarithmic axis has no zero: those who did not wait begin the curve at its left end.
    frame = frame.with_columns(pl.max_horizontal("time_ns", pl.lit(scaled["scale"]["domain"][0])).alias("drawn_ns"))
    present = frame["class"].unique(maintain_order=True).to_list()
    classes = [name for name in CLASSES if name in present]
    first = "mapping_read" if "mapping_read" in classes else classes[0]
    chosen = alt.param("kind", value=first, bind=alt.binding_radio(options=classes, name="operations: "))
    part = alt.param("part", value="waiting", bind=alt.binding_radio(options=["waiting", "service"], name="time: "))
    chart = (
        alt.Chart(_values(frame))
        .mark_line(interpolate="step-after", strokeWidth=2, clip=True)
        .encode(
            x=alt.X("drawn_ns:Q", title="waiting or service time", **scaled),
            y=alt.Y(
                "share:Q",
                title="share of operations",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            color=_run_colour(results),
            strokeDash=_run_dash(results),
            tooltip=[
                "label:N",
                "class:N",
                "part:N",
                _time_tip("time_ns", "time"),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
        .add_params(chosen, part)
        .transform_filter("datum['class'] == kind && datum.part == part")
    )
    return sized(chart)


def operations(results: Results) -> AnyChart | None:
    """Flash pages read and programmed by cause, a page that the host asked for."""
    workload = results.document["workload"]
    asked = workload["pages_read"] + workload["pages_written"]
    pages = (
        _caused(results)
        .filter(pl.col("op") != "erase")
        .group_by("label", "cause", maintain_order=True)
        .agg(pl.col("count").sum())
    )
    frame = pages.filter(pl.col("count") > 0).with_columns((pl.col("count") / max(asked, 1)).alias("pages"))
    return _bars(results, frame, "pages", "flash pages read and programmed a host page", normalise=False)


def flash_time(results: Results) -> AnyChart | None:
    """How each run's flash time divides into causes."""
    times = _caused(results).group_by("label", "cause", maintain_order=True).agg(pl.col("time_ns").sum())
    frame = times.filter(pl.col("time_ns") > 0)
    return _bars(results, frame, "time_ns", "share of flash time", normalise=True)


def response_parts(results: Results) -> AnyChart | None:
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
        alt.Chart(_values(frame))
        .mark_bar(cornerRadius=1)
        .encode(
            y=_run_axis(results),
            x=alt.X(
                "mean_ns:Q", title="share of mean response", stack="normalize", axis=alt.Axis(format="~%", tickCount=5)
            ),
            color=alt.Color(
                "cause:N", legend=None, scale=alt.Scale(domain=present, range=[CAUSE_COLOURS[c] for c in present])
            ),
            # Ordinal: of a field without order the browser warns that opacity suggests one.
            opacity=alt.Opacity("part:O", legend=None, scale=alt.Scale(domain=["service", "waiting"], range=[1, 0.55])),
            order="order:O",
            tooltip=[
                "label:N",
                "part:N",
                "cause:N",
                _time_tip("mean_ns", "mean"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    return sized(bars, BAR * len(results.labels))


def _caused(results: Results) -> pl.DataFrame:
    order = {cause: i for i, cause in enumerate(CAUSE_COLOURS)}
    rank = pl.col("cause").replace_strict(order, default=len(order), return_dtype=pl.Int64).alias("order")
    return results.operations.filter(pl.col("cause") != "precondition").with_columns(rank)


def _bars(results: Results, frame: pl.DataFrame, value: str, title: str, *, normalise: bool) -> AnyChart | None:
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
        alt.Chart(_values(frame))
        .mark_bar(cornerRadius=1)
        .encode(
            y=_run_axis(results),
            x=alt.X(f"{value}:Q", title=title, stack="normalize" if normalise else "zero", axis=axis),
            color=alt.Color(
                "cause:N", legend=None, scale=alt.Scale(domain=present, range=[CAUSE_COLOURS[c] for c in present])
            ),
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
        alt.Chart(_values(frame.group_by("label", maintain_order=True).agg(pl.col(value).sum())))
        .mark_text(align="left", dx=5, fill="currentColor")
        .encode(y=_run_axis(results), x=alt.X(f"{value}:Q", title=title), text=alt.Text(f"{value}:Q", format=",.3~r"))
    )
    return sized(alt.layer(bars, totals), BAR * len(results.labels))


def erases(results: Results) -> AnyChart | None:
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
        alt.Chart(_values(frame))
        .mark_rect()
        .encode(
            x=alt.X("low:Q", title="erases of a block", scale=alt.Scale(zero=False, nice=False)),
            x2="end:Q",
            y=alt.Y("base:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, len(labels) - 0.1], nice=False)),
            y2="top:Q",
            color=_run_colour(results),
            tooltip=["label:N", "low:Q", "high:Q", "blocks:Q", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    means = results.runs.select("label", "erases_mean").with_columns(base.alias("base"), (base + 0.9).alias("top"))
    rules = (
        alt.Chart(_values(means))
        .mark_rule(stroke="currentColor", strokeWidth=1.5, strokeDash=[3, 2])
        .encode(
            x="erases_mean:Q", y="base:Q", y2="top:Q", tooltip=["label:N", alt.Tooltip("erases_mean:Q", format=".2f")]
        )
    )
    return sized(alt.layer(bars, rules), max(120, 2 * BAR * len(labels)))


def ram(results: Results) -> AnyChart | None:
    """RAM for the mapping against mean response time; down and left is better."""
    frame = results.runs.select("label", "ram_bytes", "response_mean_ns").filter(
        (pl.col("ram_bytes") > 0) & (pl.col("response_mean_ns") > 0)
    )
    if frame.is_empty():
        return None
    base = alt.Chart(_values(frame)).encode(
        x=alt.X("ram_bytes:Q", title="RAM for the mapping", **_log(frame["ram_bytes"], SIZE, base=2, margin=2)),
        y=alt.Y(
            "response_mean_ns:Q", title="mean response time", **_log(frame["response_mean_ns"], DURATION, margin=1.6)
        ),
        tooltip=["label:N", _size_tip("ram_bytes", "RAM"), _time_tip("response_mean_ns", "mean response")],
    )
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=_run_colour(results),
        shape=alt.Shape(
            "label:N", legend=None, scale=alt.Scale(domain=results.labels, range=_styled(results, "shape"))
        ),
    )
    names = base.mark_text(dy=-13, fill="currentColor").encode(text="label:N")
    return sized(alt.layer(points, names))


def mean_over_time(results: Results) -> AnyChart | None:
    """Mean response time of each stretch of the workload."""
    return _series(results, "mean_response_ns", "mean response time", DURATION)


def amplification_over_time(results: Results) -> AnyChart | None:
    """Write amplification of each stretch of the workload."""
    return _series(results, "write_amplification", "write amplification", "format(datum.value, '~r')")


def log_utilisation_over_time(results: Results) -> AnyChart | None:
    """Share of the log's programmed pages that still hold the newest copy of something."""
    return _series(results, "log_utilisation", "share of log pages", "format(datum.value, '~%')")


def associativity_over_time(results: Results) -> AnyChart | None:
    """Full merges that a leaving log block has cost so far, on average."""
    return _series(results, "associativity", "full merges a log block", "format(datum.value, '~r')")


def _series(results: Results, column: str, title: str, label: str) -> AnyChart | None:
    """One line a run; logarithmic where one run would press the others flat."""
    if not {"request", column} <= set(results.series.columns):
        return None
    frame = results.series.select("label", "request", column).drop_nulls().filter(pl.col(column) > 0)
    if frame.is_empty():
        return None
    values = frame[column].to_list()
    scaled: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=label)}
    if max(values) > LOG_FROM * min(values):
        scaled = _log(frame[column], label, margin=1.2)
    y = alt.Y(f"{column}:Q", title=title, **scaled)
    tip = _time_tip(column, title) if label == DURATION else alt.Tooltip(f"{column}:Q", title=title, format=".3f")
    chart = alt.Chart(_values(frame)).mark_line(strokeWidth=1.8, clip=True)
    return sized(
        chart.encode(
            x=alt.X(
                "request:Q",
                title="requests served",
                axis=alt.Axis(format="~s", tickCount=5),
                scale=alt.Scale(nice=False),
            ),
            y=y,
            color=_run_colour(results),
            strokeDash=_run_dash(results),
            tooltip=["label:N", alt.Tooltip("request:Q", format=","), tip],
        )
    )


def _values(frame: pl.DataFrame) -> alt.InlineData:
    rounded = frame.with_columns(pl.selectors.float().round_sig_figs(5))
    return alt.InlineData(values=rounded.to_dicts())


def sized(chart: Any, height: int = HEIGHT) -> AnyChart:  # noqa: ANN401 - single and layered charts share no typed base
    """The chart as wide as its place and so many pixels high."""
    sized: AnyChart = chart.properties(width="container", height=height)
    return sized


def _styled(results: Results, part: str) -> list[Any]:
    return [getattr(style, part) for style in styles(results.labels).values()]


def _run_colour(results: Results) -> alt.Color:
    return alt.Color("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=_styled(results, "colour")))


def _run_dash(results: Results) -> alt.StrokeDash:
    dashes = [list(dash) for dash in _styled(results, "dash")]
    return alt.StrokeDash("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=dashes))


def _run_axis(results: Results) -> alt.Y:
    return alt.Y("label:N", title=None, sort=results.labels, axis=alt.Axis(labelLimit=120, ticks=False, domain=False))


def _log(values: pl.Series, label: str, *, base: int = 10, margin: float = 1.1) -> dict[str, Any]:
    """Scale and axis for a logarithmic channel, with few ticks at round values, so that labels never collide."""
    known = values.to_list()
    low, high = min(known) / margin, max(known) * margin
    first, last = math.floor(math.log(low, base)), math.ceil(math.log(high, base))
    step = max(1, math.ceil((last - first) / 7))
    ticks = [float(base) ** power for power in range(first, last + 1, step)]
    if last - first <= 3 and base == 10:
        ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    return {
        "scale": alt.Scale(type="log", base=base, domain=[low, high], nice=False),
        "axis": alt.Axis(values=inside, labelExpr=label),
    }


def _time_tip(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", title=f"{title} (ns)", format=",.0f")


def _size_tip(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", title=f"{title} (bytes)", format=",.0f")
