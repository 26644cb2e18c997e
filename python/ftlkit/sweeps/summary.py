"""Points that differ in their seed alone, put together: a mean of each metric with its interval."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ftlkit._util import Json, units
from ftlkit.report.life import EVEN, NOT_KEPT_UP, column, heading, warranty_years
from ftlkit.results.columns import COLUMNS
from ftlkit.results.metric import Metric
from ftlkit.results.noise import Estimate, estimate
from ftlkit.results.outcome import Outcome
from ftlkit.results.store import varied


@dataclass(frozen=True)
class Group:
    """Runs of one device, workload, translation layer and set of values, one per seed."""

    device: str
    workload: str
    label: str
    varied: dict[str, str]
    rows: list[Json]

    @property
    def name(self) -> str:
        """The translation layer with its values."""
        return ", ".join([self.label, *(f"{key} {value}" for key, value in self.varied.items())])

    def estimate(self, metric: str) -> Estimate | None:
        """A metric's mean over the seeds; None where a run has none."""
        return estimate_of(self.rows, metric)


def lives(found: Sequence[Group]) -> tuple[list[str], list[str], list[float | None]]:
    """The head of a column with the life of each group, and its cells; empty where none has one.

    Then each life over the years of its warranty; None where it is not known or not kept up with.
    """
    points = [[Outcome(json.loads(row["document"])) for row in group.rows] for group in found]
    told, is_even, years = column(points)
    if not any(told):
        return [], [], []
    headings = {heading(mine[0].document) for mine in points}
    head = headings.pop() if len(headings) == 1 else "life"
    shares = [
        life / warranty_years(mine[0].document) if life and cell != NOT_KEPT_UP else None
        for mine, cell, life in zip(points, told, years, strict=True)
    ]
    return [f"{head}{f', {EVEN}' if is_even else ''}"], [life or units.plain(None) for life in told], shares


def estimate_of(rows: Sequence[Json], metric: str) -> Estimate | None:
    """A metric's mean over runs with different seeds; None where a run has none."""
    values = [row[metric] for row in rows]
    is_known = bool(values) and not any(value is None for value in values)
    return estimate([float(value) for value in values]) if is_known else None


def groups(rows: Iterable[Json]) -> list[Group]:
    """The points that have results, grouped by all but their seed, in order.

    Two translation layers are two groups, whatever their labels: settings that differ follow a
    label that several have.
    """
    found: dict[tuple[str, ...], list[Json]] = {}
    for row in rows:
        if row["state"] == "done":
            found.setdefault((*_place(row), json.dumps(_layer(row), sort_keys=True)), []).append(row)
    stacks: dict[tuple[str, ...], list[Json]] = {}
    for mine in found.values():
        stacks.setdefault(_place(mine[0]), []).append(_layer(mine[0]))
    return [
        Group(first["device"], first["workload"], _label(first, stacks[_place(first)]), varied(first), mine)
        for mine in found.values()
        for first in mine[:1]
    ]


def _place(row: Json) -> tuple[str, ...]:
    settings = [text for pair in varied(row).items() for text in pair]
    return row["device"], row["workload"], row["label"], *settings


def _layer(row: Json) -> Json:
    """The translation layer of a point with all its settings, without its label."""
    layer = json.loads(row["study"])["ftl"][0]
    return {key: value for key, value in layer.items() if key != "label"}


def _label(row: Json, stacks: list[Json]) -> str:
    """A layer's label, with the settings that other layers of that label do not have."""
    own = _layer(row)
    differing = [key for key in own if any(other.get(key) != own[key] for other in stacks)]
    settings = ", ".join(f"{key} {own[key]}" for key in differing)
    return f"{row['label']} ({settings})" if settings else str(row["label"])


def shown(rows: Iterable[Json]) -> list[Metric]:
    """The metrics of the results table that say something about these points."""
    points = list(rows)
    has_clock = any(row.get("simulated_ns") is not None for row in points)
    return [
        metric
        for metric in COLUMNS.values()
        if metric.heading
        and (not metric.when or any(float(row.get(metric.when) or 0) > 0 for row in points))
        and (has_clock or any(row.get(metric.name) is not None for row in points))
    ]


def text(metric: Metric, estimate: Estimate | None) -> str:
    """A mean as people read it, with what it may be off by where several seeds tell."""
    if estimate is None:
        return metric.text(None)
    return units.with_interval(metric.text, estimate.mean, estimate.half_width)
