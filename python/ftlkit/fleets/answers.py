"""What the points of a fleet say: distributions over volumes, and the one stack for all of them.

A *cost* is the figure of a goal, the lower the better (a life counts as its inverse). A stack's
cost on the fleet is the mean, the 95th percentile or the worst of its costs on the volumes.
*Regret* is how much more that is than with the best stack for each volume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ftlkit._util import Json
from ftlkit._util.lookup import several
from ftlkit.fleets.run import EVEN_LIFE, Points, Volume
from ftlkit.results.columns import COLUMNS
from ftlkit.results.noise import LITTLE
from ftlkit.results.point_state import DONE
from ftlkit.sweeps.goals import GOALS, Goal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.results.metric import Metric

SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "most": 1.0}
"""Quantiles over volumes that are told."""

AIMS: dict[str, Callable[[Numbers], float]] = {
    "mean": lambda costs: float(np.mean(costs)),
    "95th percentile": lambda costs: float(np.quantile(costs, 0.95)),
    "worst": lambda costs: float(np.max(costs)),
}
"""What of a fleet's costs one stack may have the least of."""

Numbers = np.ndarray[Any, np.dtype[Any]]

NAMED = 3
"""More volumes than this are counted instead of named."""


@dataclass(frozen=True)
class Choice:
    """The one stack with the least cost on the fleet, by one aim."""

    aim: str
    stack: str
    value: float
    """What the goal is with it."""
    own: float
    """The same with the best stack for each volume."""
    regret: float
    median: float
    """Regret of the median volume, and of the volume at 95 %."""
    high: float
    worst: float
    worst_volume: str


@dataclass(frozen=True)
class Answers:
    """The answers of a fleet."""

    fleet: Sequence[Volume]
    points: Points
    goal: Goal

    @cached_property
    def metric(self) -> str:
        """The figure that decides: a life under even wear where some have no forecast."""
        if self.goal is GOALS["life"] and any(row[self.goal.metric] is None for row in self._done):
            return EVEN_LIFE
        return self.goal.metric

    def text(self, value: float | None) -> str:
        """A value of the goal as people read it."""
        return COLUMNS[self.goal.metric].text(value)

    @property
    def _done(self) -> list[Json]:
        return [row for row in self.points.rows if row["state"] == DONE]

    @cached_property
    def _costs(self) -> Numbers:
        """A row per volume, a column per stack; NaN where a point is not ranked."""
        costs = np.full((len(self.fleet), len(self.points.stacks)), np.nan)
        for row in self._done:
            value = row[self.metric]
            if value and not set(row["cautions"]) & set(self.goal.barring):
                costs[self._places[row["volume"]], self._columns[row["stack"]]] = self._cost(value)
        return costs

    @cached_property
    def _ram(self) -> Numbers:
        ram = np.full(self._costs.shape, np.inf)
        for row in self._done:
            ram[self._places[row["volume"]], self._columns[row["stack"]]] = row["ram_bytes"] or 0
        return ram

    @cached_property
    def _places(self) -> dict[str, int]:
        return {volume.name: place for place, volume in enumerate(self.fleet)}

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {stack: place for place, stack in enumerate(self.points.stacks)}

    def _cost(self, value: float) -> float:
        return 1 / value if self.goal.is_most else float(value)

    @cached_property
    def _ranked(self) -> Numbers:
        """The places of volumes that have a ranked point."""
        return np.flatnonzero(np.isfinite(self._costs).any(axis=1))

    @cached_property
    def best(self) -> dict[str, str]:
        """The best stack of each volume that has a ranked point; of equals, the least RAM."""
        names = self.points.stacks
        return {self.fleet[place].name: names[_least(self._costs[place], self._ram[place])] for place in self._ranked}

    @cached_property
    def choices(self) -> list[Choice]:
        """The one stack by each aim, of those that are ranked on all volumes that have a best."""
        costs, ram = self._costs[self._ranked], self._ram[self._ranked]
        serving = np.flatnonzero(np.isfinite(costs).all(axis=0))
        if not (costs.size and serving.size):
            return []
        own = np.nanmin(costs, axis=1)
        return [self._choice(aim, serving, costs, ram, own) for aim in AIMS]

    def _choice(self, aim: str, serving: Numbers, costs: Numbers, ram: Numbers, own: Numbers) -> Choice:
        fleet_costs = np.array([AIMS[aim](costs[:, place]) for place in serving])
        place = serving[_least(fleet_costs, ram[:, serving].mean(axis=0))]
        regrets = costs[:, place] / own - 1
        worst = int(np.argmax(regrets))
        cost, best = AIMS[aim](costs[:, place]), AIMS[aim](own)
        return Choice(
            aim,
            self.points.stacks[place],
            self._cost(cost),
            self._cost(best),
            cost / best - 1,
            float(np.median(regrets)),
            float(np.quantile(regrets, 0.95)),
            float(regrets[worst]),
            self.fleet[self._ranked[worst]].name,
        )

    @cached_property
    def metrics(self) -> list[Metric]:
        """The figures whose distributions are told: those that some point has."""
        names = ("write_amplification", "response_p99_ns", "ram_bytes", "life_bytes")
        named = dict.fromkeys([self.goal.metric, *names])
        return [COLUMNS[name] for name in named if any(row[name] is not None for row in self._done)]

    def values(self, metric: str, stack: str) -> list[float]:
        """A figure of a stack on all volumes that have it, ascending."""
        mine = (row[metric] for row in self._done if row["stack"] == stack)
        return sorted(float(value) for value in mine if value is not None)

    def quantiles(self) -> Iterator[tuple[Metric, str, int, list[float]]]:
        """Each figure of each stack: on how many volumes, and its quantiles over them."""
        for metric in self.metrics:
            for stack in self.points.stacks:
                values = self.values(metric.name, stack)
                if values:
                    yield metric, stack, len(values), [float(np.quantile(values, share)) for share in SHARES.values()]

    @property
    def sentences(self) -> list[str]:
        """The answer in words: the one stack by its mean, and how often which stack is best."""
        if not self._ranked.size:
            return [f"No volume can be ranked: each is {self.goal.unranked}."]
        said = []
        ranked = several(len(self._ranked), "volume")
        if not self.choices:
            counts = np.isfinite(self._costs).sum(axis=0)
            most = int(np.argmax(counts))
            said.append(
                f"No stack is ranked on all {ranked}; {self.points.stacks[most]} is on {counts[most]}. "
                f"The others are {self.goal.unranked}, or failed."
            )
        said += [
            f"Of one stack for all {ranked}, {choice.stack} has the {self.goal.ends[0]} mean {self.goal.words}, "
            f"{self.text(choice.value)}. With the best stack for each volume it is {self.text(choice.own)}: "
            f"the regret is {share(choice.regret)}, and at most {share(choice.worst)} ({choice.worst_volume})."
            for choice in self.choices[:1]
        ]
        counted = {stack: list(self.best.values()).count(stack) for stack in self.points.stacks}
        leading = sorted((stack for stack in counted if counted[stack]), key=lambda stack: -counted[stack])
        told = ", ".join(f"{stack} on {counted[stack]:,}" for stack in leading)
        said.append(f"Best stack per volume (of equals, the least RAM): {told}.")
        return said

    @property
    def cautions(self) -> list[str]:
        """Volumes and points that are left out."""
        unranked = [volume.name for volume in self.fleet if volume.name not in self.best]
        said = []
        if unranked and self.best:
            said.append(f"{named(unranked)} cannot be ranked: {self.goal.unranked}, or failed.")
        errors: dict[tuple[str, str], list[str]] = {}
        for row in self.points.failed:
            errors.setdefault((row["state"], row["stack"]), []).append(row["volume"])
        for (state, stack), mine in errors.items():
            first = next(row["error"] for row in self.points.failed if (row["state"], row["stack"]) == (state, stack))
            said.append(f"{stack} failed ({state}) on {named(mine)}: {first}")
        return said

    def table(self) -> pl.DataFrame:
        """A row per volume: what it is, its best stack, the regret of the one, all stacks."""
        one = self.choices[0].stack if self.choices else None
        rows = []
        by_volume: dict[str, dict[str, Json]] = {}
        for row in self._done:
            by_volume.setdefault(row["volume"], {})[row["stack"]] = row
        for volume in self.fleet:
            mine = by_volume.get(volume.name, {})
            best = self.best.get(volume.name)
            least = mine[best][self.metric] if best else None
            regret = None
            if one and best and least is not None:
                regret = self._cost(mine[one][self.metric]) / self._cost(least) - 1
            facts = {
                "volume": volume.name,
                "requests": volume.requests,
                "write_share": volume.write_share,
                "footprint_bytes": volume.footprint_bytes,
                "best": best,
                f"best_{self.metric}": least,
                "regret": regret,
            }
            rows.append(
                facts | {f"{self.metric} {stack}": mine.get(stack, {}).get(self.metric) for stack in self._columns}
            )
        return pl.DataFrame(rows, infer_schema_length=None)


def _least(costs: Numbers, ram: Numbers) -> int:
    """The place of the least cost; of those as good as that, the one with least RAM."""
    level = costs <= np.nanmin(costs) * (1 + LITTLE)
    return int(np.argmin(np.where(level, ram, np.inf)))


def heading(metric: Metric) -> str:
    """What a figure is called in tables: a life and times of reads and writes have no heading."""
    return metric.heading or metric.name.removesuffix("_bytes").removesuffix("_ns").replace("_", " ")


def share(value: float) -> str:
    """A regret as people read it."""
    return f"{value:.1%}".replace("%", " %")


def named(volumes: Sequence[str]) -> str:
    """Volumes by name, or the first ones of many."""
    if len(volumes) == 1:
        return f"volume {volumes[0]}"
    more = f" and {len(volumes) - NAMED:,} more" if len(volumes) > NAMED else ""
    return f"{len(volumes):,} volumes ({', '.join(volumes[:NAMED])}{more})"
