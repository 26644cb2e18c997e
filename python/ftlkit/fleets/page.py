"""The page of a fleet: one HTML file with answers, distributions and the table of volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from ftlkit._native import __version__
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.fleets.answers import SHARES, Answers, heading, share
from ftlkit.report.drawing import LOG_FROM, log_axis, numbered, sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import styles
from ftlkit.study import toml
from ftlkit.sweeps.charts import Panel

if TYPE_CHECKING:
    from ftlkit.results.metric import Metric
    from ftlkit.sweeps.plan import Plan

STEPS = 200
"""Points of a line over volumes."""

MOST_ROWS = 2_000
"""Volumes in the page's table."""


def page(plan: Plan, answers: Answers, source: str) -> str:
    """The page's HTML."""
    frame = answers.table()
    return template("fleet.html.j2").render(
        title=plan.study.get("name") or f"A fleet of {several(len(answers.fleet), 'volume')}",
        version=__version__,
        extent=extent(answers),
        said=answers.sentences,
        cautions=answers.cautions,
        choices=[_cells(row) for row in choice_rows(answers)],
        choice_columns=CHOICE_COLUMNS,
        quantiles=[_cells(row) for row in quantile_rows(answers)],
        quantile_columns=["figure", "stack", "volumes", *SHARES],
        figures=[panel for metric in answers.metrics if (panel := _panel(answers, metric))],
        volumes=[_cells(row) for row in volume_rows(answers, frame.head(MOST_ROWS))],
        volume_columns=VOLUME_COLUMNS,
        left_out=max(0, frame.height - MOST_ROWS),
        source=source,
        study=toml.written(_study(plan)),
    )


def _study(plan: Plan) -> Json:
    """What all points share and what is varied, without the volumes."""
    document = {key: value for key, value in plan.document.items() if key != "workload"}
    sweep = {key: value for key, value in document.pop("sweep", {}).items() if key != "workloads"}
    return document | ({"sweep": sweep} if sweep else {})


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
            choice.stack,
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
        [heading(metric), stack, f"{count:,}", *map(metric.text, values)]
        for metric, stack, count, values in answers.quantiles()
    ]


VOLUME_COLUMNS = ["volume", "requests", "writes", "footprint", "best stack", "with it", "regret of the one"]


def volume_rows(answers: Answers, frame: pl.DataFrame) -> list[list[str]]:
    """The table of volumes."""
    return [
        [
            row["volume"],
            units.count(row["requests"]),
            units.share(row["write_share"]),
            units.size(row["footprint_bytes"]),
            row["best"] or units.plain(None),
            answers.text(row[f"best_{answers.metric}"]),
            units.plain(None) if row["regret"] is None else share(row["regret"]),
        ]
        for row in frame.to_dicts()
    ]


def _cells(row: list[str]) -> Json:
    return {"name": row[0], "cells": row[1:]}


def _panel(answers: Answers, metric: Metric) -> Panel | None:
    """The share of volumes below each value, a line per stack."""
    known = {stack: values for stack in answers.points.stacks if (values := answers.values(metric.name, stack))}
    rows = [
        {"label": stack, "x": float(np.quantile(values, below)), "share": float(below)}
        for stack, values in known.items()
        for below in np.linspace(0, 1, min(STEPS, len(values)))
    ]
    if len({row["x"] for row in rows}) < 2:
        return None
    lines = styles(list(known))
    name = f"fleet-{metric.name}"
    spec = page_spec(sized(_lines(pl.DataFrame(rows), metric, lines)))
    note = f"Share of volumes with at most so much: {metric.meaning.split(';')[0]}."
    head = heading(metric)
    title = f"{head[0].upper()}{head[1:]}"
    return Panel(name, title, note, lines, spec, still(name, spec))


def _lines(frame: pl.DataFrame, metric: Metric, lines: dict[str, Any]) -> alt.Chart:
    label = units.axis(metric.unit)
    scaled: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=label)}
    ends = [float(value) for value in (frame["x"].min(), frame["x"].max())]  # type: ignore[arg-type] # numbers
    if ends[0] > 0 and ends[1] > LOG_FROM * ends[0]:
        scaled = log_axis(frame["x"], label, base=2 if metric.unit == "B" else 10)
    names = list(lines)
    colours = alt.Scale(domain=names, range=[style.colour for style in lines.values()])
    dashes = alt.Scale(domain=names, range=[list(style.dash) for style in lines.values()])
    made: alt.Chart = (
        numbered(frame)
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X("x:Q", title=heading(metric), **scaled),
            y=alt.Y("share:Q", title="share of volumes", axis=alt.Axis(format=".0%", tickCount=5)),
            color=alt.Color("label:N", legend=None, scale=colours),
            strokeDash=alt.StrokeDash("label:N", legend=None, scale=dashes),
            tooltip=["label:N", alt.Tooltip("x:Q", format=",.4~g"), alt.Tooltip("share:Q", format=".0%")],
        )
    )
    return made
