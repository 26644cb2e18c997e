"""Effects of a scheme's mechanisms, from runs of all their subsets."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import Json

if TYPE_CHECKING:
    from ftlkit.reproduce.points import Point

MOST = 3
"""Most mechanisms: each more doubles the runs."""


@dataclass(frozen=True)
class FactorialPlan:
    """Runs of a scheme with each subset of its mechanisms."""

    id: str
    sweep: str
    metric: str
    mechanisms: list[str]
    variants: Json
    """The variant of each subset: its mechanisms in order, with commas; `none` of no mechanism."""
    only: Json = field(default_factory=dict)

    def subsets(self) -> list[tuple[str, ...]]:
        """All subsets, small ones first."""
        sizes = range(len(self.mechanisms) + 1)
        return [subset for size in sizes for subset in itertools.combinations(self.mechanisms, size)]

    def check(self) -> None:
        """Refuse too many mechanisms, and subsets without a variant."""
        if not 1 <= len(self.mechanisms) <= MOST:
            raise UserError(f"factorial {self.id}: {len(self.mechanisms)} mechanisms; give 1 to {MOST}.")
        wanted = [_name(subset) for subset in self.subsets()]
        if sorted(wanted) != sorted(self.variants):
            raise UserError(f"factorial {self.id}: variants must name the subsets {'; '.join(wanted)}.")


@dataclass(frozen=True)
class Effect:
    """What a mechanism changes on a workload: by itself, and on average over all subsets."""

    workload: str
    mechanism: str
    alone: float
    mean: float


def effects(plan: FactorialPlan, points: Sequence[Point]) -> list[Effect]:
    """The effect of each mechanism on each workload, as a share of the metric without it.

    Workloads of which a run is missing or overloaded are left out.
    """
    mine = [point for point in points if point.seed == 0 and point.matches(plan.sweep, plan.only)]
    found = []
    for workload in dict.fromkeys(point.workload for point in mine):
        runs = {point.variant: point for point in mine if point.workload == workload}
        asked = [runs.get(variant) for variant in plan.variants.values()]
        served = [point for point in asked if point and not point.error and not point.is_overloaded]
        if len(served) == len(asked):
            values = {subset: runs[plan.variants[_name(subset)]].value(plan.metric) for subset in plan.subsets()}
            found += [_effect(plan, workload, mechanism, values) for mechanism in plan.mechanisms]
    return found


def _effect(plan: FactorialPlan, workload: str, mechanism: str, values: dict[tuple[str, ...], float]) -> Effect:
    changes = []
    for without in (subset for subset in plan.subsets() if mechanism not in subset):
        together = tuple(name for name in plan.mechanisms if name in (*without, mechanism))
        changes.append(values[together] / values[without] - 1)
    return Effect(workload, mechanism, changes[0], statistics.mean(changes))


def _name(subset: Sequence[str]) -> str:
    return ", ".join(subset) or "none"
