"""The page of an answer: a self-contained file with the advice, its fronts, trials and doubts.

Its charts show RAM against what it buys, with all trials and the unbeaten front.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from ftlkit._native import __version__
from ftlkit._util import Json, units
from ftlkit.advice import confidence, phrasing, search_result, unit_answer
from ftlkit.advice.answer import Answer, StackResult, goal
from ftlkit.advice.commands import question
from ftlkit.report.drawing import LOG_FROM, SIZE, log_axis, sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import styles
from ftlkit.results.columns import COLUMNS
from ftlkit.study import toml
from ftlkit.sweeps.charts import Panel


def page(answer: Answer) -> str:
    """The page's HTML."""
    query, result = answer.query, answer.result
    metrics = ["ram_bytes", *answer.metrics]
    unit_rows = unit_answer.rows(query, result)
    unit_life = unit_answer.life_of(unit_rows)
    return template("advice.html.j2").render(
        title=query.options.get("title") or f"Which translation layer for {query.workload}?",
        version=__version__,
        answer=answer,
        goal=goal(query),
        headings=[phrasing.named(metric) for metric in metrics],
        meanings=[COLUMNS[metric].meaning for metric in metrics],
        rows=[{"stack": stack, "cells": [_cell(stack, metric) for metric in metrics]} for stack in answer.stacks],
        unit_headings=[*map(phrasing.named, query.metrics), *(["life"] if unit_life else [])],
        unit_life=unit_life,
        unit_rows=[
            {"unit": units.size(row.trial.unit_bytes), "row": row, "cells": row.cells(query)} for row in unit_rows
        ],
        figures=panels(answer),
        limit=LIMIT,
        advised=ADVISED,
        prefixes=search_result.rungs(result),
        prefix_headings=search_result.HEADINGS,
        reasons=search_result.by_reason(search_result.fates(query, result)),
        failures=confidence.failures(result),
        question=question(query),
        study=toml.written(query.document()),
    )


def fragment(answer: Answer) -> str:
    """The advice and the stacks that were measured, for a notebook's cell; no style, no script."""
    metrics = ["ram_bytes", *answer.metrics]
    return template("sentences.html.j2").render(
        headline=answer.sentences[:1],
        sentences=[*answer.sentences[1:], *answer.cautions, *answer.doubts],
        names=["stack"],
        headings=[phrasing.named(metric) for metric in metrics],
        rows=[
            {"names": [stack.stack], "cells": [_cell(stack, metric) for metric in metrics]} for stack in answer.stacks
        ],
    )


def _cell(stack: StackResult, metric: str) -> Json:
    estimate = phrasing.of(metric, stack.measured)
    return {
        "text": phrasing.text(metric, stack.measured),
        "sort": "" if estimate is None else repr(estimate.mean),
        "is_front": metric in stack.fronts,
    }


ADVISED, FRONT, BEATEN, LIMIT = KINDS = (
    "advised",
    "on the front",
    "another takes no more RAM and does better",
    "the RAM asked for",
)


def panels(answer: Answer) -> list[Panel]:
    """A chart of RAM against each metric, then one of all stacks on the first prefix."""
    panels = []
    for metric in answer.metrics:
        rows = [
            _row(stack.stack, stack.measured.mean("ram_bytes"), phrasing.of(metric, stack.measured))
            | {
                "kind": ADVISED if stack.is_advised else FRONT if metric in stack.fronts else BEATEN,
                "on": metric in stack.fronts,
            }
            for stack in answer.stacks
            if stack.measured.mean(metric) is not None
        ]
        name = phrasing.named(metric)
        beyond = sum(stack.measured.mean(metric) is None for stack in answer.stacks)
        lasted = f" Without a value, and not drawn: {beyond}." if beyond else ""
        part = "the held-out part" if answer.is_held_out else "the searched part"
        panels.append(
            _panel(
                answer,
                metric,
                f"RAM and {name}",
                f"Measured on {part}; the line joins unbeaten stacks. Ringed: {answer.advised.stack}.{lasted}",
                rows,
            )
        )
    rung = answer.result.rungs[0]
    metric = answer.query.response
    rows = [
        _row(measured.stack, measured.mean("ram_bytes"), phrasing.of(metric, measured))
        | {"kind": ADVISED if measured.stack == answer.advised.stack else BEATEN, "on": False}
        for measured in rung.tried.values()
        if measured.mean(metric) is not None
    ]
    best = float("inf")
    for row in sorted(rows, key=lambda row: (row["ram"], row["value"])):
        if row["value"] < best:
            best = row["value"]
            row |= {"kind": FRONT if row["kind"] == BEATEN else row["kind"], "on": True}
    panels.append(
        _panel(
            answer,
            metric,
            "All that was tried",
            f"Each stack on the first {rung.requests:,} requests.",
            rows,
            "all-tried",
        )
    )
    return panels


def _row(stack: str, ram: float | None, estimate: Any) -> Json:  # noqa: ANN401 - an estimate
    return {"stack": stack, "ram": ram, "value": estimate.mean, "low": max(0.0, estimate.low), "high": estimate.high}


def _panel(answer: Answer, metric: str, title: str, note: str, rows: list[Json], name: str = "") -> Panel:
    limit = answer.query.ram_bytes
    kinds = [
        kind for kind in KINDS if any(row["kind"] == kind for row in rows) or (kind == LIMIT and limit is not None)
    ]
    every = styles(KINDS)
    lines = {kind: every[kind] for kind in kinds}
    spec = page_spec(sized(_chart(metric, rows, lines, limit)))
    key = name or metric
    return Panel(key, title, note, lines, spec, still(key, spec))


def _chart(metric: str, rows: list[Json], lines: dict[str, Any], limit: int | None) -> Any:  # noqa: ANN401 - layers share no typed base
    column = COLUMNS[metric]
    sizes = [row["ram"] for row in rows] + ([limit] if limit is not None else [])
    x = alt.X("ram:Q", title="RAM", **log_axis(pl.Series(sizes), SIZE, base=2, margin=1.3))
    y = alt.Y("value:Q", title=phrasing.named(metric), **_axis(metric, rows))
    scale = alt.Scale(domain=list(lines), range=[style.colour for style in lines.values()])
    shapes = alt.Scale(domain=list(lines), range=[style.shape for style in lines.values()])
    colour = alt.Color("kind:N", legend=None, scale=scale)
    tips: list[Any] = [
        "stack:N",
        alt.Tooltip("ram:Q", title="RAM (bytes)", format=",.0f"),
        alt.Tooltip("value:Q", title=f"{column.name}", format=",.4~g"),
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, tooltip=tips)
    front = alt.Chart(alt.InlineData(values=[row for row in rows if row["on"]])).encode(x=x, y=y)
    marks = [
        front.mark_line(interpolate="step-after", strokeWidth=2, color=styles(KINDS)[FRONT].colour),
        base.mark_rule().encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            y=y, color=colour, shape=alt.Shape("kind:N", legend=None, scale=shapes)
        ),
    ]
    chosen = [row for row in rows if row["kind"] == ADVISED]
    if chosen:
        # Drawn last and larger: other points may lie on it.
        advised = alt.Chart(alt.InlineData(values=chosen)).encode(x=x, y=y, tooltip=tips)
        ring = advised.mark_point(size=320, strokeWidth=2.5, opacity=1, color=lines[ADVISED].colour, shape="circle")
        marks.append(ring)
        # Its word and not its name: names of stacks are wider than a phone.
        marks.append(advised.mark_text(dy=-18, fill="currentColor", fontWeight="bold").encode(text="kind:N"))
    if limit is not None:
        rule = alt.Chart(alt.InlineData(values=[{"ram": limit, "kind": LIMIT}]))
        marks.append(rule.mark_rule(strokeDash=[4, 4], strokeWidth=2).encode(x=x, color=colour))
    return alt.layer(*marks)


def _axis(metric: str, rows: list[Json]) -> dict[str, Any]:
    labels = units.axis(COLUMNS[metric].unit)
    values = [row[end] for row in rows for end in ("low", "value", "high")]
    if min(values) > 0 and max(values) > LOG_FROM * min(values):
        return log_axis(pl.Series(values), labels, margin=1.2)
    return {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, labelExpr=labels)}
