"""What all charts share: sizes, scales, axes, tooltips, and how each run is drawn.

Altair objects are made here and in the modules of charts; titles and legends belong to whoever
places a chart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from ftlkit._util import Json, units
from ftlkit.report.palette import styles

if TYPE_CHECKING:
    from ftlkit.results.outcome import Outcome

HEIGHT = 260
BAR = 34
LABEL = (0.3, 0.06)
"""What the label of a point takes of a chart's width and height, roughly."""
LINE = 15
"""Height of a line of such a label, in pixels."""
POINT = (0.04, 0.05)
"""What a point takes of a chart's width and height."""
OVERHANG = 0.1
"""How far a label may stand beyond the outermost values: axes leave some room there."""
_Box = tuple[float, float, float, float]
"""Left, right, lower and upper edge."""
LOG_FROM = 6
"""Values that differ by more than this factor get a logarithmic axis."""
DURATION, SIZE, NUMBER, SHARE = (units.axis(unit) for unit in ("ns", "B", "", "share"))
"""Labels of axes."""

AnyChart = alt.Chart | alt.LayerChart


def over_time(results: Outcome, column: str, title: str, label: str) -> AnyChart | None:
    """One line per run; logarithmic where one run would press the others flat."""
    if not {"request", column} <= set(results.series.columns):
        return None
    frame = results.series.select("label", "request", column).drop_nulls().filter(pl.col(column) > 0)
    if frame.is_empty():
        return None
    points = frame[column].to_list()
    scaled: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=label)}
    if max(points) > LOG_FROM * min(points):
        scaled = log_axis(frame[column], label, margin=1.2)
    y = alt.Y("value:Q", title=title, **scaled)
    tip = time_tip("value", title) if label == DURATION else alt.Tooltip("value:Q", title=title, format=".3f")
    labels = frame["label"].unique(maintain_order=True).to_list()
    keys = [f"r{place}" for place in range(len(labels))]
    chart = (
        alt.Chart(_lines(frame, column, dict(zip(labels, keys, strict=True))))
        .transform_fold([*keys], as_=["key", "value"])
        .transform_calculate(label=label_of_key(labels))
        .transform_filter("isValid(datum.value)")
        .mark_line(strokeWidth=1.8, clip=True)
    )
    return sized(
        chart.encode(
            x=alt.X(
                "request:Q",
                title="requests served",
                axis=alt.Axis(labelExpr=NUMBER, tickCount=5),
                scale=alt.Scale(nice=False),
            ),
            y=y,
            color=run_colour(results),
            strokeDash=run_dash(results),
            tooltip=["label:N", alt.Tooltip("request:Q", format=","), tip],
        )
    )


_BY_KEY = "[toNumber(slice(datum.key, 1))]"


def label_of_key(labels: Sequence[str]) -> str:
    """A Vega expression for the run that a folded column is of."""
    return f"{json.dumps(labels)}{_BY_KEY}"


def folded_labels(spec: Json) -> list[str]:
    """The runs of a chart whose data have a column per run; none of others."""
    names: list[str] = []
    for transform in spec.get("transform", []):
        if transform.get("as") == "label":
            names = json.loads(transform["calculate"].removesuffix(_BY_KEY).removesuffix(_BY_NUMBER))
    return names


_BY_NUMBER = "[datum.run]"


def numbered(frame: pl.DataFrame) -> alt.Chart:
    """A chart of rows as text, in which runs are numbers: names would be most of a large page."""
    labels = frame["label"].unique(maintain_order=True).to_list()
    places = {label: place for place, label in enumerate(labels)}
    numbers = pl.col("label").replace_strict(places, return_dtype=pl.Int64).alias("run")
    rounded = frame.select(numbers, pl.exclude("label")).with_columns(pl.selectors.float().round_sig_figs(5))
    parse = {name: "number" for name, kind in rounded.schema.items() if kind.is_numeric()}
    data = alt.InlineData(values=rounded.write_csv().rstrip("\n"), format={"type": "csv", "parse": parse})
    return alt.Chart(data).transform_calculate(label=f"{json.dumps(labels)}{_BY_NUMBER}")


def _lines(frame: pl.DataFrame, column: str, keys: dict[str, str]) -> alt.InlineData:
    """Lines as text with a column per run: a row per point would be most of a page of many runs."""
    wide = frame.pivot(on="label", index="request", values=column, sort_columns=False).sort("request")
    rows = [
        ",".join("" if value is None else f"{value:.5g}" for value in row)
        for row in wide.select("request", *keys).iter_rows()
    ]
    rows.insert(0, ",".join(["request", *keys.values()]))
    parse = dict.fromkeys(["request", *keys.values()], "number")
    return alt.InlineData(values="\n".join(rows), format={"type": "csv", "parse": parse})


def values(frame: pl.DataFrame) -> alt.InlineData:
    """A frame as a chart's data, with five significant digits."""
    rounded = frame.with_columns(pl.selectors.float().round_sig_figs(5))
    return alt.InlineData(values=rounded.to_dicts())


def sized(chart: Any, height: int = HEIGHT) -> AnyChart:  # noqa: ANN401 - single and layered charts share no typed base
    """The chart as wide as its place and this many pixels high."""
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
    """A row per run."""
    return alt.Y("label:N", title=None, sort=results.labels, axis=alt.Axis(labelLimit=120, ticks=False, domain=False))


def log_axis(column: pl.Series, label: str, *, base: int = 10, margin: float = 1.1) -> dict[str, Any]:
    """Scale and axis for a logarithmic channel, with few round ticks, so labels never collide."""
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
    """A point a run in its colour and shape, with its label; `frame` has label, x and y.

    Runs that lie on each other share one text, a line each. A label that would cover another or a
    point is left out: the legend has its colour.
    """
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=run_colour(results),
        shape=alt.Shape("label:N", legend=None, scale=alt.Scale(domain=results.labels, range=styled(results, "shape"))),
    )
    _, x, y = frame.columns[:3]
    across, up = _places(frame[x], base.encoding.x), _places(frame[y], base.encoding.y)
    texts = _texts(dict(zip(frame["label"], zip(across, up, strict=True), strict=True)))
    layers = [points]
    sides: dict[int, Literal["left", "right"]] = {1: "left", -1: "right"}
    for side, align in sides.items():
        shown = {label: text for label, (text, where) in texts.items() if where == side}
        named = frame.filter(pl.col("label").is_in(list(shown)))
        layer = base.mark_text(align=align, dx=10 * side, lineBreak="\n", lineHeight=LINE, fill="currentColor")
        layer.data = values(named.with_columns(pl.col("label").replace_strict(shown, default="").alias("text")))
        layers.append(layer.encode(text="text:N"))
    return alt.layer(*layers)


def _places(column: pl.Series, channel: Any) -> list[float]:  # noqa: ANN401 - altair's channels share no typed base
    """Where values stand on an axis, from 0 to 1."""
    values = [float(value) for value in column]
    scale = channel.to_dict().get("scale") or {}
    if scale.get("type") == "log":
        low, high = (math.log(end) for end in scale["domain"])
        return [(math.log(value) - low) / (high - low) for value in values]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _texts(places: dict[str, tuple[float, float]]) -> dict[str, tuple[str, int]]:
    """The texts of points, and the side of each: 1 for the right, by its first run."""
    groups: list[list[str]] = []
    for label, (across, up) in places.items():
        same = (
            group
            for group in groups
            if abs(places[group[0]][0] - across) < POINT[0] and abs(places[group[0]][1] - up) < POINT[1]
        )
        group = next(same, None)
        if group is None:
            groups.append([label])
        else:
            group.append(label)
    taken: list[_Box] = []
    texts: dict[str, tuple[str, int]] = {}
    for group in groups:
        across, up = places[group[0]]
        others = [_around(place) for label, place in places.items() if label not in group]
        for side in (1, -1) if across <= 0.5 else (-1, 1):
            near, far = across + side * POINT[0] / 2, across + side * (POINT[0] / 2 + LABEL[0])
            box = (min(near, far), max(near, far), up - (len(group) - 0.5) * LABEL[1], up + LABEL[1] / 2)
            is_inside = box[0] > -OVERHANG and box[1] < 1 + OVERHANG
            if is_inside and not any(_overlap(box, other) for other in taken + others):
                taken.append(box)
                texts[group[0]] = ("\n".join(group), side)
                break
    return texts


def _around(place: tuple[float, float]) -> _Box:
    """The box of a point."""
    return (place[0] - POINT[0] / 2, place[0] + POINT[0] / 2, place[1] - POINT[1] / 2, place[1] + POINT[1] / 2)


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
