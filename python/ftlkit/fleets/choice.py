"""One stack for many volumes, and what that choice is worth on volumes that had no part in it.

Costs are a row per volume and a column per stack. Volumes are dealt into folds; a volume's advice
is chosen on all other folds. A margin compares it with a baseline on the whole fleet, and its
interval is of resampled volumes (percentile bootstrap, Efron and Tibshirani 1993): other volumes
like these, with the advice as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftlkit.results.noise import LEVEL, LITTLE

Numbers = np.ndarray[Any, np.dtype[Any]]

AIMS: dict[str, Callable[[Numbers], Numbers]] = {
    "mean": lambda costs: np.asarray(np.mean(costs, axis=0)),
    "95th percentile": lambda costs: np.asarray(np.quantile(costs, 0.95, axis=0)),
    "worst": lambda costs: np.asarray(np.max(costs, axis=0)),
}
"""What of a fleet's costs one stack may have the least of; of each column."""

FOLDS = 10
"""Parts of the volumes; with fewer volumes than this, nothing is held out."""

RESAMPLES = 1_000
"""Ends of a 95 % interval are then the 25th values, good to a tenth of its width."""

_NUMBERS = 1_000_000
"""Costs that are resampled at once: 8 MB each time they are copied."""


def level(costs: Numbers) -> Numbers:
    """Which are as good as the least."""
    found: Numbers = costs <= np.nanmin(costs) * (1 + LITTLE)
    return found


def least(costs: Numbers, ram: Numbers) -> int:
    """The place of the least cost; of those as good as that, the one with least RAM."""
    return int(np.argmin(np.where(level(costs), ram, np.inf)))


def chosen(costs: Numbers, ram: Numbers, aim: str) -> int:
    """The stack with the least cost on all volumes together."""
    return least(AIMS[aim](costs), ram.mean(axis=0))


def tie(costs: Numbers, ram: Numbers, aim: str) -> str:
    """What decided between stacks with the least cost; empty where one alone has it."""
    taken = ram.mean(axis=0)[level(AIMS[aim](costs))]
    if len(taken) == 1:
        return ""
    return "tie, least RAM" if taken.min() < taken.max() else "tie, named first"


@dataclass(frozen=True)
class Advice:
    """The stack of each volume, chosen without it."""

    costs: Numbers
    """What it costs on each volume."""
    agreeing: int
    """Of `FOLDS`, how many choose as all volumes together."""


def held_out(costs: Numbers, ram: Numbers, aim: str, kinds: Numbers | None = None) -> Advice:
    """Advice from the other folds: one stack for all, or one for each kind of volumes.

    A kind that has no volume in the other folds gets the one stack.
    """
    count = len(costs)
    folds = np.random.default_rng(1).permutation(count) % FOLDS
    groups = np.zeros(count, int) if kinds is None else kinds
    every = _by_group(costs, ram, aim, groups)
    taken, agreeing = np.empty(count), 0
    for fold in range(FOLDS):
        others, mine = folds != fold, np.flatnonzero(folds == fold)
        stacks = _by_group(costs[others], ram[others], aim, groups[others])
        one = chosen(costs[others], ram[others], aim)
        taken[mine] = costs[mine, [stacks.get(int(group), one) for group in groups[mine]]]
        agreeing += stacks == every
    return Advice(taken, agreeing)


def _by_group(costs: Numbers, ram: Numbers, aim: str, groups: Numbers) -> dict[int, int]:
    return {int(group): chosen(costs[groups == group], ram[groups == group], aim) for group in np.unique(groups)}


@dataclass(frozen=True)
class Margin:
    """How much less advice costs than a baseline, as a share, with the ends of its interval."""

    share: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """Whether the advice costs less, for all that is known."""
        return self.low > LITTLE

    @property
    def is_worse(self) -> bool:
        """Whether it costs more."""
        return self.high < -LITTLE


def margin(costs: Numbers, baseline: Numbers, aim: str) -> Margin:
    """The margin of costs below those of a baseline on the same volumes."""
    draws, count = np.random.default_rng(1), len(costs)
    at_once = min(RESAMPLES, max(1, _NUMBERS // count))
    shares = []
    for _ in range(0, RESAMPLES, at_once):
        places = draws.integers(count, size=(count, at_once))
        shares.append(1 - AIMS[aim](costs[places]) / AIMS[aim](baseline[places]))
    low, high = np.quantile(np.concatenate(shares), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Margin(float(1 - AIMS[aim](costs) / AIMS[aim](baseline)), float(low), float(high))
