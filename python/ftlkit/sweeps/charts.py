"""Charts of a sweep: metrics over a key's values, a line for each layer, bands for noise.

A layer that does not take the key is a level line across. Titles and legends belong to the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit.report.chart import Chart
from ftlkit.report.drawing import LOG_FROM, log_axis, sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.palette import styles
from ftlkit.results.columns import COLUMNS

if TYPE_CHECKING:
    from markupsafe import Markup

    from ftlkit.results.metric import Metric
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.summary import Group

DRAWN = ("response_mean_ns", "response_p99_ns", "write_amplification", "erases", "mapping_hit_ratio")
"""The metrics that are drawn, where they differ."""

WIDE = 20
"""Numbers along a chart that differ by more than this factor get a logarithmic axis."""


@dataclass(frozen=True)
class Panel:
    """One chart of the page."""

    name: str
    title: str
    note: str
    lines: dict[str, Any]
    """The style of each line, for the legend."""
    spec: Json
    still: Markup


def panels(groups: Sequence[Group], key: str) -> list[Panel]:
    """A chart of each metric, device and workload, over the values of a key, or by layer."""
    places = list(dict.fromkeys((group.workload, group.device) for group in groups))
    panels = []
    for number, (workload, device) in enumerate(places):
        mine = [group for group in groups if (group.workload, group.device) == (workload, device)]
        every = styles(list(dict.fromkeys(_line(group, key) for group in mine)))
        for name in DRAWN:
            rows = _rows(mine, key, name)
            if len({row["mean"] for row in rows}) < 2:
                continue
            where = f" of {workload} on {device}" if len(places) > 1 else ""
            lines = {line: style for line, style in every.items() if any(row["line"] == line for row in rows)}
            spec = page_spec(sized(chart(rows, key, COLUMNS[name], lines)))
            title = f"{COLUMNS[name].heading.capitalize()}{where}"
            meaning = COLUMNS[name].meaning.split(";")[0]
            note = f"{meaning[0].upper()}{meaning[1:]}. {_noise(mine)}"
            panels.append(Panel(f"{name}-{number}", title, note, lines, spec, still(f"{name}-{number}", spec)))
    return panels


def chosen(panels: Sequence[Panel], name: str | None) -> Chart:
    """The chart of a page by its name, or the first."""
    for panel in panels:
        if name in (None, panel.name):
            legend = {line: (style.colour, style.dash) for line, style in panel.lines.items()}
            return Chart(panel.title, panel.note, legend, panel.still)
    known = ", ".join(panel.name for panel in panels) or "none, since no two points differ"
    raise UserError(f"there is no chart {name}. There are {known}.")


def _noise(groups: Sequence[Group]) -> str:
    seeds = max(len(group.rows) for group in groups)
    if seeds == 1:
        return "One seed: no error estimate."
    return f"Means of {seeds} seeds; the band is their 95 % interval."


def _rows(groups: Sequence[Group], key: str, metric: str) -> list[Json]:
    rows = []
    for group in groups:
        estimate = group.estimate(metric)
        if estimate is not None:
            rows.append(
                {
                    "line": _line(group, key),
                    "x": group.varied.get(key) if key else group.name,
                    "mean": estimate.mean,
                    **band(estimate),
                }
            )
    return rows


def band(estimate: Estimate) -> dict[str, float]:
    """The ends of an interval as drawn: never below 0, however few the seeds."""
    return {"low": max(0.0, estimate.low), "high": estimate.high}


def _line(group: Group, key: str) -> str:
    """What a line of a chart over a key is called."""
    return ", ".join([group.label, *(f"{name} {value}" for name, value in group.varied.items() if name != key)])


def chart(rows: list[Json], key: str, metric: Metric, lines: dict[str, Any], axis: str = "") -> Any:  # noqa: ANN401 - layers share no typed base
    """Lines of a metric over a key; rows have `line`, `x` (None: level), `mean`, `low`, `high`.

    `x` is text, unless `axis` says how its numbers are labelled.
    """
    scaled, floor = _axis(rows, metric)
    rows = [row | {"low": max(row["low"], floor)} for row in rows]
    over = [row for row in rows if row["x"] is not None]
    y = alt.Y("mean:Q", title=metric.heading, **scaled)
    x = _along(over, key, axis)
    scale = alt.Scale(domain=list(lines), range=[style.colour for style in lines.values()])
    colour = alt.Color("line:N", legend=None, scale=scale)
    dashes = alt.Scale(domain=list(lines), range=[list(style.dash) for style in lines.values()])
    numbers = [alt.Tooltip(f"{name}:Q", format=",.4~g") for name in ("mean", "low", "high")]
    tip: list[Any] = ["line:N", _along_tip(key, axis), *numbers]
    base = alt.Chart(alt.InlineData(values=over)).encode(x=x, y=y, color=colour, tooltip=tip)
    level = alt.Chart(alt.InlineData(values=[row for row in rows if row["x"] is None])).encode(y=y, color=colour)
    dash = alt.StrokeDash("line:N", legend=None, scale=dashes)
    between = {"y": alt.Y("low:Q"), "y2": alt.Y2("high:Q")}
    layers: list[Any] = [base.mark_point(filled=True, size=45, opacity=1)]
    if key:
        layers += [
            base.mark_area(opacity=0.18).encode(**between),
            base.mark_line(strokeWidth=2).encode(strokeDash=dash),
        ]
    else:
        layers.append(base.mark_rule().encode(**between))
    if len(over) < len(rows):
        layers.append(level.mark_rect(opacity=0.12).encode(**between))
        layers.append(level.mark_rule(strokeWidth=2).encode(strokeDash=dash))
    return alt.layer(*layers)


def _along(over: list[Json], key: str, axis: str) -> alt.X:
    """What the lines go over: texts in their order, or numbers."""
    if not axis:
        order = list(dict.fromkeys(row["x"] for row in over))
        angle = alt.Axis(labelAngle=0 if key else -30)
        return alt.X("x:O", title=key or None, sort=order, axis=angle, scale=alt.Scale(padding=0.1))
    numbers = [row["x"] for row in over]
    if max(numbers) > WIDE * min(numbers):
        return alt.X("x:Q", title=key, **log_axis(pl.Series(numbers), axis, margin=1.05))
    return alt.X("x:Q", title=key, axis=alt.Axis(tickCount=6, labelExpr=axis), scale=alt.Scale(nice=False))


def _along_tip(key: str, axis: str) -> alt.Tooltip:
    return alt.Tooltip("x:Q", title=key, format=",.0f") if axis else alt.Tooltip("x:O", title=key or "layer")


def _axis(rows: list[Json], metric: Metric) -> tuple[dict[str, Any], float]:
    """Scale and axis of the values, and what bands are cut at: a logarithmic axis has no zero."""
    labels = units.axis(metric.unit)
    means = [row["mean"] for row in rows]
    if min(means) > 0 and max(means) > LOG_FROM * min(means):
        floor = min(means) / 2
        return log_axis(pl.Series([max(row[name], floor) for row in rows for name in ("low", "high")]), labels), floor
    return {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=labels)}, 0.0
