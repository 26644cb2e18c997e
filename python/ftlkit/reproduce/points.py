"""One run of a reproduction, reduced to the numbers that figures and claims are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.report.load import is_overloaded
from ftlkit.results.columns import METRICS
from ftlkit.results.derived import latencies, require_clock

if TYPE_CHECKING:
    from ftlkit.results.document import Run


@dataclass(frozen=True)
class Point:
    """One run: its place in its sweep, and its results. Of a model, one evaluation."""

    sweep: str
    workload: str
    variant: str
    keys: Json
    results: Run | None
    """None for a model's, and for statistics."""
    model: dict[str, float] = field(default_factory=dict)
    """What a model, the statistics of a workload or the analyzer of its files gave, by metric."""
    seed: int = 0
    """How far the study's seed it is run with is above the one in the file."""
    series: dict[str, list[float]] = field(default_factory=dict)
    """What the analyzer found in each interval: columns beside `request`."""
    error: str = ""
    """Why a run has no results."""
    is_absent: bool = False
    """Whether that is because its recorded trace is not at hand."""

    @property
    def title(self) -> str:
        """What it is called among the runs of its study."""
        return ", ".join([self.workload, self.variant, *(f"{key} {value}" for key, value in self.keys.items())])

    @property
    def is_overloaded(self) -> bool:
        """Whether more was asked of a run than its device can do; a model has no load."""
        return self.results is not None and is_overloaded(self.results) is True

    @property
    def run(self) -> Run:
        """The results of a run; a model has none."""
        if self.results is None:
            raise UserError(f"{self.variant} has no runs, of which more than its values could be shown.")
        return self.results

    def value(self, metric: str) -> float:
        """A metric by name, 0 where the run has none; also `gauges.NAME` and `notes.NAME`.

        A time of a run without a clock is refused.
        """
        if self.results is None:
            if metric not in self.model:
                raise UserError(f"no metric {metric} of {self.variant}; there are {', '.join(self.model)}.")
            return self.model[metric]
        if metric in NUMBERS:
            if METRICS[metric].needs_clock:
                require_clock(self.run)
            return float(METRICS[metric].value(self.run) or 0.0)
        group, _, name = metric.partition(".")
        table: Any = self.run.get(group) if group in ("gauges", "notes") else None
        if table is None or name not in table:
            own = [f"gauges.{gauge}" for gauge in self.run["gauges"]]
            raise UserError(f"no metric {metric} of {self.variant}; there are {', '.join([*NUMBERS, *own])}.")
        return float(table[name])

    def matches(self, sweep: str, only: Json) -> bool:
        """Whether it is of a sweep and has these keys, or one of several values of them."""
        mine = self.keys | {"workload": self.workload, "variant": self.variant}
        wanted = ((mine.get(key), wanted if isinstance(wanted, list) else [wanted]) for key, wanted in only.items())
        return self.sweep == sweep and all(value in values for value, values in wanted)


def statistics(info: Json) -> dict[str, float]:
    """Shares of a workload's requests by size: up to 4 KiB, below 16 KiB, larger."""
    sizes = info["statistics"]["total"]["sizes"]
    return {f"{name}_request_share": sizes[f"{name}_percent"] / 100 for name in ("small", "medium", "large")}


NUMBERS = tuple(name for name, metric in METRICS.items() if metric.type in (int, float))
"""The metrics that figures and claims can be made of."""


def over_time(point: Point) -> Any:  # noqa: ANN401 - a document's table
    """What was measured over time: of a run, or by the analyzer of files."""
    return point.series or point.run["series"]


def column(point: Point, metric: str) -> Sequence[float | None]:
    """A column of a run's time series, or a gauge (`gauges.NAME`): a value a stretch."""
    series = over_time(point)
    group, _, name = metric.partition(".")
    table = series.get("gauges", {}) if group == "gauges" else series
    values: Sequence[float | None] | None = table.get(name if group == "gauges" else metric)
    if not values or metric == "gauges":
        own = [
            *(key for key in series if key not in ("request", "gauges")),
            *(f"gauges.{key}" for key in series.get("gauges", {})),
        ]
        raise UserError(f"{point.variant} has no series {metric}; there are {', '.join(own)}.")
    if point.results is not None and all(value is None for value in values):
        require_clock(point.results)
    return values


def distribution(point: Point, name: str) -> list[tuple[float, float]]:
    """Nanoseconds of a class's flash operations from ready to done, and the share within.

    Service takes as long for each of them, so the distribution is that of waiting, later by that
    much.
    """
    latency = latencies(point.run, name)
    service = latency["service_ns"]["mean"] or 0.0
    return [(waiting + service, share) for waiting, share in latency["waiting_cdf"]]
