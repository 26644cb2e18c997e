"""The page of a sweep: one HTML file with table, charts, failures, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit._util import Json
from ftlkit._util.lookup import several
from ftlkit.report.page import template
from ftlkit.results.store import named
from ftlkit.study import toml
from ftlkit.sweeps.charts import Panel, panels
from ftlkit.sweeps.intro import facts
from ftlkit.sweeps.statements import statements
from ftlkit.sweeps.summary import Group, groups, shown, text

if TYPE_CHECKING:
    from ftlkit.results.metric import Metric
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep


def page(plan: Plan, done: Sweep) -> str:
    """The page's HTML."""
    groups_of_rows = groups(done.rows)
    metrics = shown(done.rows)
    keys = [axis.key for axis in plan.axes]
    rows = [{"place": list(place.values()), "cells": cells} for place, cells in _rows(groups_of_rows, keys, metrics)]
    return template("sweep.html.j2").render(
        title=plan.title,
        version=__version__,
        done=done,
        extent=_extent(plan, done),
        missing=_missing(plan, done),
        said=statements(done.rows, plan.goal),
        seeds=plan.seeds,
        names=_names(groups_of_rows, keys),
        facts=facts(plan, groups_of_rows),
        metrics=metrics,
        rows=rows,
        figures=figures(plan, done),
        failed=[{"name": named(row), "state": row["state"], "error": row["error"]} for row in done.failed],
        study=toml.written(plan.document),
    )


def figures(plan: Plan, done: Sweep) -> list[Panel]:
    """The charts, over the key with most values."""
    longest = max(plan.axes, key=lambda axis: axis.size, default=None)
    return panels(groups(done.rows), longest.key if longest is not None and longest.size > 1 else "")


def _extent(plan: Plan, done: Sweep) -> str:
    """How many points there are, and how many of their runs are done."""
    points = several(done.points // plan.seeds, "point")
    runs = "all" if plan.seeds == 1 else f"all {done.points} runs"
    if len(done.rows) < done.points or done.failed:
        runs = f"{len(done.rows) - len(done.failed)} of {several(done.points, 'run')}"
    seeds = f" × {plan.seeds} seeds" if plan.seeds > 1 else ""
    failed = f", {len(done.failed)} failed" if done.failed else ""
    return f"{points}{seeds}: {runs} {'is' if done.points == 1 else 'are'} done{failed}"


def _missing(plan: Plan, done: Sweep) -> str:
    """What a sweep that was stopped lacks."""
    missing = several(done.points - len(done.rows), "point" if plan.seeds == 1 else "run")
    return f"{missing} {'is' if missing.startswith('1 ') else 'are'} missing"


def fragment(plan: Plan, done: Sweep) -> str:
    """What the sweep says and its table, for a notebook's cell; no style, no script."""
    said, metrics = statements(done.rows, plan.goal), shown(done.rows)
    keys = [axis.key for axis in plan.axes]
    failures = [f"{named(row)} failed ({row['state']}): {row['error']}" for row in done.failed]
    return template("sentences.html.j2").render(
        headline=said.headline,
        sentences=[*said.cautions, *failures],
        names=_names(groups(done.rows), keys),
        headings=[metric.heading or metric.name for metric in metrics],
        rows=[
            {"names": list(place.values()), "cells": cells} for place, cells in _rows(groups(done.rows), keys, metrics)
        ],
    )


def _names(groups_of_rows: list[Group], keys: list[str]) -> list[str]:
    """What tells points apart, the layer first; a workload or device of all is in the head."""
    several = [name for name in ("workload", "device") if len({getattr(group, name) for group in groups_of_rows}) > 1]
    return ["FTL", *keys, *several]


def _rows(
    groups_of_rows: list[Group], keys: list[str], metrics: list[Metric]
) -> Iterator[tuple[dict[str, str], list[Json]]]:
    """A group's place, by `_names`, and its cells."""
    names = _names(groups_of_rows, keys)
    for group in groups_of_rows:
        places = {"FTL": group.label, "workload": group.workload, "device": group.device} | group.varied
        place = {name: places.get(name, "") for name in names}
        yield place, [_cell(group.estimate(metric.name), metric) for metric in metrics]


def _cell(estimate: Estimate | None, metric: Metric) -> Json:
    return {"text": text(metric, estimate), "sort": "" if estimate is None else repr(estimate.mean)}
