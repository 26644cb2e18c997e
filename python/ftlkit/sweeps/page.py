"""The page of a sweep: one HTML file with table, charts, failures, and how to repeat it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit.report.page import drawing_script, own_script, style, template
from ftlkit.results.store import named
from ftlkit.study import toml
from ftlkit.sweeps.charts import panels
from ftlkit.sweeps.statements import statements
from ftlkit.sweeps.summary import groups, shown, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ftlkit.results.document import Json
    from ftlkit.results.metric import Metric
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep
    from ftlkit.sweeps.summary import Group


def page(plan: Plan, done: Sweep) -> str:
    """The page's HTML."""
    groups_of_rows = groups(done.rows)
    metrics = shown(done.rows)
    keys = [axis.key for axis in plan.axes]
    rows = [{"place": place, "cells": cells} for place, cells in _rows(groups_of_rows, keys, metrics)]
    longest = max(plan.axes, key=lambda axis: axis.size, default=None)
    return template("sweep.html.j2").render(
        title=plan.title,
        version=__version__,
        done=done,
        said=statements(done.rows),
        seeds=plan.seeds,
        keys=keys,
        metrics=metrics,
        rows=rows,
        figures=panels(groups_of_rows, longest.key if longest is not None and longest.size > 1 else ""),
        failed=[{"name": named(row), "state": row["state"], "error": row["error"]} for row in done.failed],
        axes={axis.key: ", ".join(axis.values()) for axis in plan.axes},
        study=toml.written(plan.study),
        css=style(),
        script=own_script(),
        vega=drawing_script(),
    )


def fragment(plan: Plan, done: Sweep) -> str:
    """What the sweep says and its table, for a notebook's cell; no style, no script."""
    said, metrics = statements(done.rows), shown(done.rows)
    keys = [axis.key for axis in plan.axes]
    failures = [f"{named(row)} failed ({row['state']}): {row['error']}" for row in done.failed]
    return template("sentences.html.j2").render(
        headline=said.headline,
        sentences=[*said.cautions, *failures],
        names=["workload", "device", "FTL", *keys],
        headings=[metric.heading or metric.name for metric in metrics],
        rows=[{"names": place, "cells": cells} for place, cells in _rows(groups(done.rows), keys, metrics)],
    )


def _rows(
    groups_of_rows: list[Group], keys: list[str], metrics: list[Metric]
) -> Iterator[tuple[list[str], list[Json]]]:
    """A group's place, and its cells."""
    for group in groups_of_rows:
        place = [group.workload, group.device, group.label, *(group.varied.get(key, "") for key in keys)]
        yield place, [_cell(group.estimate(metric.name), metric) for metric in metrics]


def _cell(estimate: Estimate | None, metric: Metric) -> Json:
    return {"text": text(metric, estimate), "sort": "" if estimate is None else repr(estimate.mean)}
