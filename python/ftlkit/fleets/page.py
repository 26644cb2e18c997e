"""The page of a fleet: one HTML file with answers, distributions and the table of volumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from ftlkit._native import __version__
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.fleets.answers import DISTRIBUTION, Answers, heading, share
from ftlkit.report.drawing import LOG_FROM, log_axis, numbered, sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import styles
from ftlkit.study import toml
from ftlkit.sweeps.charts import Panel

if TYPE_CHECKING:
    from ftlkit.results.metric import Metric
    from ftlkit.sweeps.plan import Plan

STEPS = 60
"""Points along a violin."""

VIOLIN, LEAST_HEIGHT, HALF = 46, 40, 0.42
"""Pixels of a violin, those of a chart without one, and a violin's half width in its place."""

MARKS = {"low": "5 %", "x": "median", "high": "95 %"}

MOST_ROWS = 2_000
"""Volumes in the page's table."""


def page(plan: Plan, answers: Answers, source: str) -> str:
    """The page's HTML."""
    frame = answers.table()
    return template("fleet.html.j2").render(
        title=plan.study.get("name") or f"A fleet of {several(len(answers.fleet), 'volume')}",
        version=__version__,
        extent=extent(answers),
        devices=answers.head,
        said=answers.sentences,
        cautions=answers.cautions,
        choices=[_cells(row) for row in choice_rows(answers)],
        choice_columns=CHOICE_COLUMNS,
        kinds=[{"name": stack, "cells": cells} for stack, cells in answers.kind_rows()],
        kind_columns=["its stack", *answers.kind_columns],
        quantiles=[_cells(row) for row in quantile_rows(answers)],
        quantile_columns=["figure", "stack", "volumes", *DISTRIBUTION],
        figures=[panel for metric in answers.metrics if (panel := _panel(answers, metric))],
        volumes=volume_rows(answers, frame.head(MOST_ROWS)),
        volume_columns=VOLUME_COLUMNS,
        left_out=max(0, frame.height - MOST_ROWS),
        source=source,
        first=plan.workloads[0][0],
        study=toml.written(_study(plan)),
    )


def _study(plan: Plan) -> Json:
    """The points of the first volume; those of the others differ in their workload alone."""
    return replace(plan, workloads=plan.workloads[:1]).document


def extent(answers: Answers) -> str:
    """How many volumes and points there are."""
    points = answers.points
    done = f"{len(points.rows) - len(points.failed):,} of {several(points.total, 'run')} done"
    requests = several(sum(volume.requests for volume in answers.fleet), "request")
    return f"{several(len(answers.fleet), 'volume')}, {requests}, {several(len(points.stacks), 'stack')}: {done}"


CHOICE_COLUMNS = ["least", "stack", "fleet", "own best", "regret", "median", "95 %", "most", "on"]


def choice_rows(answers: Answers) -> list[list[str]]:
    """The one stack by each aim."""
    return [
        [
            choice.aim,
            choice.name,
            answers.interval(choice),
            answers.text(choice.own),
            *map(share, (choice.regret, choice.median, choice.high, choice.worst)),
            choice.worst_volume,
        ]
        for choice in answers.choices
    ]


def quantile_rows(answers: Answers) -> list[list[str]]:
    """The distributions over volumes."""
    return [
        [heading(metric), stack, count, *map(metric.text, values)]
        for metric, stack, count, values in answers.quantiles()
    ]


VOLUME_COLUMNS = ["volume", "requests", "writes", "footprint", "kind", "best stack", "with it", "regret of the one"]


def volume_rows(answers: Answers, frame: pl.DataFrame) -> list[list[Json]]:
    """The table of volumes: cells as text, with the number by which their column is sorted."""
    with_it = f"best_{answers.metric}"
    texts: dict[str, Callable[[Any], str]] = {
        "volume": str,
        "requests": units.count,
        "write_share": units.share,
        "footprint_bytes": units.size,
        "kind": units.count,
        "best": lambda value: value or units.plain(None),
        with_it: answers.text,
        "regret": lambda value: units.plain(None) if value is None else share(value),
    }
    columns = []
    for name, text in texts.items():
        column = frame[name]
        numbers = column.rank("dense") if column.dtype == pl.String else column
        columns.append(
            [
                {"text": text(value), "sort": "" if number is None else number}
                for value, number in zip(column, numbers, strict=True)
            ]
        )
    return [list(cells) for cells in zip(*columns, strict=True)]


def _cells(row: list[str]) -> Json:
    return {"name": row[0], "cells": row[1:]}


def _panel(answers: Answers, metric: Metric) -> Panel | None:
    """A violin per stack over all volumes."""
    known = {stack: values for stack in answers.points.stacks if (values := answers.values(metric.name, stack))}
    if len({value for values in known.values() for value in values}) < 2:
        return None
    lines = styles(list(known))
    name = f"fleet-{metric.name}"
    spec = page_spec(sized(_violins(known, metric, lines), LEAST_HEIGHT + VIOLIN * len(known)))
    meaning = metric.meaning.split(";")[0]
    note = f"{meaning[0].upper()}{meaning[1:]}, by volume. Lines go from 5 to 95 %; points are medians."
    partial = [f"{stack} {of}" for stack, mine in known.items() if " of " in (of := answers.of_all(len(mine)))]
    note += f" Volumes: {', '.join(partial)}." if partial else ""
    head = heading(metric)
    title = f"{head[0].upper()}{head[1:]}"
    return Panel(name, title, note, lines, spec, still(name, spec))


def _violins(known: dict[str, list[float]], metric: Metric, lines: dict[str, Any]) -> Any:  # noqa: ANN401 - untyped
    label = units.axis(metric.unit)
    scaled: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=label)}
    values = [value for mine in known.values() for value in mine]
    is_wide = min(values) > 0 and max(values) > LOG_FROM * min(values)
    if is_wide:
        scaled = log_axis(pl.Series(values), label, base=2 if metric.unit == "B" else 10)
    areas = [row for place, stack in enumerate(known) for row in _violin(stack, place, known[stack], is_wide=is_wide)]
    marks = [
        {
            "label": stack,
            "place": place,
            **dict(zip(("low", "x", "high"), np.quantile(mine, (0.05, 0.5, 0.95)), strict=True)),
        }
        for place, (stack, mine) in enumerate(known.items())
    ]
    colour = alt.Color(
        "label:N",
        legend=None,
        scale=alt.Scale(domain=list(lines), range=[style.colour for style in lines.values()]),
    )
    across = alt.Scale(domain=[-0.5, len(known) - 0.5], reverse=True)
    x, y = alt.X("x:Q", title=heading(metric), **scaled), alt.Y("place:Q", axis=None, scale=across)
    tip: list[Any] = [
        "label:N",
        *(alt.Tooltip(f"{name}:Q", title=title, format=",.4~g") for name, title in MARKS.items()),
    ]
    mark = numbered(pl.DataFrame(marks)).encode(y=y, color=colour, tooltip=tip)
    layers = [
        mark.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=heading(metric), **scaled), x2=alt.X2("high:Q")),
        mark.mark_point(filled=True, size=60, opacity=1).encode(x=x),
    ]
    if areas:  # Values that are all alike have none.
        ends = {"y": alt.Y("from:Q", axis=None, scale=across), "y2": alt.Y2("to:Q")}
        layers.insert(0, numbered(pl.DataFrame(areas)).mark_area(opacity=0.35).encode(x=x, color=colour, **ends))
    return alt.layer(*layers)


def _violin(stack: str, place: int, values: list[float], *, is_wide: bool) -> list[Json]:
    """The outline of a violin: a Gaussian density by Silverman's rule, on the scale of the axis."""
    points = np.log(values) if is_wide else np.array(values)
    width = (
        0.9 * min(points.std(), np.subtract(*np.quantile(points, (0.75, 0.25))) / 1.34 or np.inf) * len(points) ** -0.2
    )
    if not width:
        return []
    grid = np.linspace(points.min(), points.max(), STEPS)
    density = sum(np.exp(-(((grid - point) / width) ** 2) / 2) for point in points)
    half = HALF * density / density.max()
    x = np.exp(grid) if is_wide else grid
    return [
        {"label": stack, "x": float(at), "from": float(place - out), "to": float(place + out)}
        for at, out in zip(x, half, strict=True)
    ]
