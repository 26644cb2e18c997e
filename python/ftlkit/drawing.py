"""What all charts share: sizes, scales, axes, tooltips, and how each run is drawn.

Altair objects are made here and in the modules of charts; titles and legends belong to whoever places a chart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from ftlkit.report.palette import styles

if TYPE_CHECKING:
    from ftlkit.outcome import Outcome

HEIGHT = 260
BAR = 34
LABEL = (0.3, 0.06)
"""What the label of a point takes of a chart's width and height, roughly."""
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


def over_time(results: Outcome, column: str, title: str, label: str) -> AnyChart | None:
    """One line a run; logarithmic where one run would press the others flat."""
    if not {"request", column} <= set(results.series.columns):
        return None
    frame = results.series.select("label", "request", column).drop_nulls().filter(pl.col(column) > 0)
    if frame.is_empty():
        return None
    found = frame[column].to_list()
    scaled: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=label)}
    if max(found) > LOG_FROM * min(found):
        scaled = log_axis(frame[column], label, margin=1.2)
    y = alt.Y(f"{column}:Q", title=title, **scaled)
    tip = time_tip(column, title) if label == DURATION else alt.Tooltip(f"{column}:Q", title=title, format=".3f")
    chart = alt.Chart(values(frame)).mark_line(strokeWidth=1.8, clip=True)
    return sized(
        chart.encode(
            x=alt.X(
                "request:Q",
                title="requests served",
                axis=alt.Axis(format="~s", tickCount=5),
                scale=alt.Scale(nice=False),
            ),
            y=y,
            color=run_colour(results),
            strokeDash=run_dash(results),
            tooltip=["label:N", alt.Tooltip("request:Q", format=","), tip],
        )
    )


def values(frame: pl.DataFrame) -> alt.InlineData:
    """A frame as a chart's data, with five significant digits."""
    rounded = frame.with_columns(pl.selectors.float().round_sig_figs(5))
    return alt.InlineData(values=rounded.to_dicts())


def sized(chart: Any, height: int = HEIGHT) -> AnyChart:  # noqa: ANN401 - single and layered charts share no typed base
    """The chart as wide as its place and so many pixels high."""
    sized: AnyChart = chart.properties(width="container", height=height)
    return sized


def styled(results: Outcome, part: str) -> list[Any]:
    """A part of each run's style (`colour`, `dash`, `shape`), in the order of the runs."""
    return [getattr(style, part) for style in styles(results.labels).values()]


def run_colour(results: Outcome) -> alt.Color:
    """Each run in its colour."""
    return alt.Color("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=styled(results, "colour")))


def run_dash(results: Outcome) -> alt.StrokeDash:
    """Each run in its dash."""
    dashes = [list(dash) for dash in styled(results, "dash")]
    return alt.StrokeDash("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=dashes))


def run_axis(results: Outcome) -> alt.Y:
    """A row a run."""
    return alt.Y("label:N", title=None, sort=results.labels, axis=alt.Axis(labelLimit=120, ticks=False, domain=False))


def log_axis(column: pl.Series, label: str, *, base: int = 10, margin: float = 1.1) -> dict[str, Any]:
    """Scale and axis for a logarithmic channel, with few ticks at round values, so that labels never collide."""
    known = column.to_list()
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


def time_tip(field: str, title: str) -> alt.Tooltip:
    """A tooltip's line for a time."""
    return alt.Tooltip(f"{field}:Q", title=f"{title} (ns)", format=",.0f")


def size_tip(field: str, title: str) -> alt.Tooltip:
    """A tooltip's line for a size."""
    return alt.Tooltip(f"{field}:Q", title=f"{title} (bytes)", format=",.0f")


def run_points(results: Outcome, base: alt.Chart, frame: pl.DataFrame) -> Any:  # noqa: ANN401 - layered charts are typed by what is layered
    """A point a run in its colour and shape, with its label beside it; `frame` has the label, x and y of each run.

    Runs that lie close together share one text. Labels stand on the side where there is more room.
    """
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=run_colour(results),
        shape=alt.Shape("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=styled(results, "shape"))),
    )
    column = frame[frame.columns[1]]
    low, high = (float(each) for each in (column.min(), column.max()))  # type: ignore[arg-type] # of numbers
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
    texts = frame.with_columns(pl.col("label").replace_strict(_texts(frame), default=None).alias("text")).drop_nulls()
    names = [
        base.mark_text(align="left", dx=10, fill="currentColor").transform_filter(f"datum.{column.name} <= {middle}"),
        base.mark_text(align="right", dx=-10, fill="currentColor").transform_filter(f"datum.{column.name} > {middle}"),
    ]
    for each in names:
        each.data = values(texts)
    return alt.layer(points, *(each.encode(text="text:N") for each in names))


def _texts(frame: pl.DataFrame) -> dict[str, str]:
    """Labels of points, for each group whose labels would overlap at one of its points."""
    (_, x, y), rows = frame.columns[:3], frame.sort(frame.columns[2], descending=True).rows()
    wide, high = (max(frame[each]) - min(frame[each]) or 1.0 for each in (x, y))
    groups: list[list[tuple[Any, ...]]] = []
    for row in rows:
        near = (g for g in groups if abs(g[0][1] - row[1]) < LABEL[0] * wide and g[0][2] - row[2] < LABEL[1] * high)
        group = next(near, None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return {group[0][0]: ", ".join(row[0] for row in group) for group in groups}
