"""The noise of seeds: what runs that differ in their seed alone say of a mean, and of a change.

Intervals are Student's, at 95 %: the mean of n runs lies within t standard errors of the mean of
all seeds. They take runs as drawn independently and their mean as normal, and say nothing of
another trace, device or setting.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev

LEVEL = 0.95
"""Share of intervals that hold the mean of all seeds."""

LITTLE = 0.001
"""Values that differ by less than this share count as equal, whatever the noise."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and how far off it may be."""

    mean: float
    half_width: float | None
    """Half of the interval at 95 %; None where one seed tells no noise."""
    seeds: int

    @property
    def low(self) -> float:
        """The interval's lower end, or the mean."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """The interval's upper end, or the mean."""
        return self.mean + (self.half_width or 0.0)


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one value a seed, with its interval; at least one value."""
    if len(values) == 1:
        return Estimate(values[0], None, 1)
    error = stdev(values) / math.sqrt(len(values))
    return Estimate(fmean(values), student_t(len(values) - 1) * error, len(values))


@cache
def student_t(freedom: int) -> float:
    """The t within which a share `LEVEL` of Student's distribution lies on both sides of 0."""
    low, high = 0.0, 1000.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < LEVEL else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Share of Student's distribution between -t and t (Abramowitz and Stegun 26.7.3-4)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0
    for step in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= cosine**2 * (step - 1) / step
    return 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total
