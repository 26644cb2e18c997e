"""How sure each parameter is, in words: determined, roughly, not noticed, assumed or given."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ftlkit._util.lookup import several
from ftlkit.calibration.fit import LOGARITHMIC, Fit, Prior, Vector, known
from ftlkit.models.uniform import greedy
from ftlkit.results.noise import student_t

if TYPE_CHECKING:
    from ftlkit.calibration.points import Point

DETERMINED, ROUGHLY, ABSENT, ASSUMED, GIVEN = "determined", "roughly", "not noticed", "assumed", "given"

SURE = 0.05
"""Half of an interval, as a share of the value, up to which a parameter is determined."""

VAGUE = 0.50
"""Beyond this share an interval says so little that the preset's value is taken instead."""

NOTICED = 0.02
"""What lies below this share of a read's time at depth 1 is too little to be missed."""

FAR_OFF, BEYOND_NOISE = 0.05, 4.0
"""A point farther off than both this share and this many times its noise refutes the fit."""

_ENDLESS = 10_000
"""Pages of a block, from which more change nothing."""

_FINE = 1e-5

_SHOWN = 0.85
"""The jobs that a parameter rests on are named until they have this share of its information."""

MOST_JOBS = 3
"""More are not named."""


@dataclass(frozen=True)
class Parameter:
    """A value of the device, and what it rests on."""

    key: str
    value: float | str
    """Nanoseconds, a share, a count, or nanoseconds a byte of the link."""
    state: str
    low: float | None = None
    high: float | None = None
    """The interval at 95 %; None where the value is assumed."""
    jobs: tuple[str, ...] = field(default=())
    """The jobs that say most of it."""
    note: str = ""

    @property
    def is_fitted(self) -> bool:
        """Whether the points determine it, well or roughly."""
        return self.state in (DETERMINED, ROUGHLY)


def is_far(point: Point, modelled: float) -> bool:
    """Whether the model misses a point by more than its noise can."""
    return abs(modelled / point.measured - 1) > max(FAR_OFF, BEYOND_NOISE * point.noise)


def doubt(checked: Sequence[tuple[Point, float, bool]], reason: str = "") -> str:
    """Why the points refute the fit; empty if they do not.

    Each comes with the model's figure, and whether it was held out. `reason` is the likely one.
    """
    far = [(abs(modelled / point.measured - 1), point) for point, modelled, _ in checked if is_far(point, modelled)]
    if not far:
        return ""
    error, worst = max(far, key=lambda pair: pair[0])
    return (
        f"Modelled off by more than their noise: {len(far)} of {several(len(checked), 'point')}, {worst.row} by "
        f"{100 * error:.1f} %. So nothing is called determined, and no interval is stated: look at the errors. "
        f"{reason or 'Either these jobs met something else, or the drive is outside the class of the model.'}"
    )


def reason(explain: Mapping[str, float], first_writes: str) -> str:
    """The likely reason of a doubt.

    `explain` has the kinds of jobs without which a fit explains all others, with how many times as
    fast as that fit the drive serves them. Several of them are not told apart.
    """
    if not explain:
        return ""
    told = f"A fit without the {' or without the '.join(explain)} explains all other points."
    if len(explain) > 1:
        return f"{told} So they do not fit together, and nothing tells which of them the model lacks."
    ((kind, times),) = explain.items()
    if kind == first_writes and times > 1 + FAR_OFF:
        return f"{told} The drive serves them up to {times:.1f} times as fast as its flash, as from a cache."
    return f"{told} The drive serves them otherwise than the model."


def middle(errors: Sequence[float]) -> float:
    """The error that half of the points stay below."""
    return sorted(errors)[len(errors) // 2]


def believed(parameters: Sequence[Parameter], unsure: Collection[str]) -> list[Parameter]:
    """The parameters; those that are unsure are known roughly at best, and have no interval."""
    return [
        replace(one, state=ROUGHLY if one.state == DETERMINED else one.state, low=None, high=None)
        if one.key in unsure and (one.is_fitted or one.state == ABSENT)
        else one
        for one in parameters
    ]


def beside(parameter: Parameter, rivals: Sequence[Fit]) -> Parameter:
    """A parameter whose interval holds those of shapes that fit alike."""
    others: list[float] = []
    for fit in rivals:
        if parameter.key in fit.names and parameter.key in LOGARITHMIC:
            place = fit.names.index(parameter.key)
            half = student_t(max(1, fit.freedom)) * math.sqrt(fit.covariance[place, place])
            others += [fit.values[parameter.key] * math.exp(sign * half) for sign in (-1, 1)]
    if not parameter.is_fitted or not others:
        return parameter
    if parameter.low is None or parameter.high is None:
        return parameter
    low, high = min(parameter.low, *others), max(parameter.high, *others)
    value = float(parameter.value)
    is_sure = max(value / low, high / value) <= math.exp(SURE) and parameter.state == DETERMINED
    return replace(parameter, low=low, high=high, state=DETERMINED if is_sure else ROUGHLY)


def for_any_victims(
    intervals: Mapping[str, tuple[float, float]], pages_per_block: int
) -> Mapping[str, tuple[float, float]]:
    """The intervals, with a spare up to that of a drive that collects its oldest blocks.

    Those cost as much as the emptiest blocks if blocks had no end, and more than in short ones.
    """
    if "spare" not in intervals:
        return intervals
    first, high = intervals["spare"]
    low, end, amplification = high, 0.99, greedy(1 - high, pages_per_block)
    while end - low > _FINE:
        middle = (low + end) / 2
        low, end = (middle, end) if greedy(1 - middle, _ENDLESS) > amplification else (low, middle)
    return {**intervals, "spare": (first, low)}


def judged(
    fit: Fit, priors: Mapping[str, Prior], intervals: Mapping[str, tuple[float, float]], one_ns: float
) -> dict[str, Parameter]:
    """Each fitted parameter with its interval; `one_ns` is a read's time at depth 1.

    Where only a sum is determined, such as tR and transfer where no die shares a channel, or link
    and controller, the vaguest is assumed, and the others follow from it.
    """
    judge = _Judge(fit, priors, student_t(max(1, fit.freedom)), one_ns)
    made = {
        name: judge.parameter(name, *intervals.get(name, judge.interval(name, fit.covariance))) for name in fit.names
    }
    covariance, assumed = fit.covariance, list[str]()
    # Link and controller may each be none, and not both.
    while vague := [name for name in fit.names if not made[name].is_fitted and name not in assumed]:
        worst = max(vague, key=lambda name: judge.vagueness(name, covariance))
        assumed.append(worst)
        judge = judge.without(worst, covariance)
        covariance = known(covariance, fit.names.index(worst))
        for name in fit.names:
            is_open = made[name].state in (ASSUMED, ABSENT) and name not in assumed
            if is_open and judge.parameter(name, *judge.interval(name, covariance)).is_fitted:
                made[name] = replace(made[name], state=ROUGHLY, note=_follows_from(assumed))
    return made


def _follows_from(assumed: Sequence[str]) -> str:
    """A note on a parameter that is known if others are."""
    times = [name for name in assumed if name in LOGARITHMIC] or list(assumed)
    return f"follows from {' and '.join(times)}, assumed: one by one they are not determined"


@dataclass(frozen=True)
class _Judge:
    """Judges a parameter by its variance."""

    fit: Fit
    priors: Mapping[str, Prior]
    times: float
    """Student's t for the points that there are."""
    one_ns: float

    def vagueness(self, name: str, covariance: Vector) -> float:
        """The variance of a parameter as a share of what was assumed of it before."""
        place = self.fit.names.index(name)
        return float(covariance[place, place]) / (self.priors[name].deviation ** 2 if name in LOGARITHMIC else 1.0)

    def without(self, name: str, covariance: Vector) -> _Judge:
        """The judge when a parameter that may be 0 is as assumed, and those like it make up for it.

        Of link and controller, for example, the other is their sum.
        """
        if name in LOGARITHMIC:
            return self
        place, values, prior = self.fit.names.index(name), dict(self.fit.values), self.priors[name]
        far = (prior.value - values[name]) / prior.deviation / covariance[place, place]
        for other in self.fit.names:
            if other not in LOGARITHMIC:
                moved = far * covariance[self.fit.names.index(other), place] * self.priors[other].deviation
                values[other] = max(0.0, values[other] + float(moved))
        return replace(self, fit=replace(self.fit, values=values))

    def interval(self, name: str, covariance: Vector) -> tuple[float, float]:
        """The interval by a covariance, as if the model were linear."""
        place, value = self.fit.names.index(name), self.fit.values[name]
        half = self.times * math.sqrt(covariance[place, place])
        if name in LOGARITHMIC:
            return value * math.exp(-half), value * math.exp(half)
        half *= self.priors[name].deviation
        return max(0.0, value - half), value + half

    def parameter(self, name: str, low: float, high: float) -> Parameter:
        """How sure an interval makes a parameter."""
        value = self.fit.values[name]
        if name in LOGARITHMIC:
            half = math.log(max(high / value, value / low))
            state = DETERMINED if half <= SURE else ROUGHLY if half <= VAGUE else ASSUMED
        else:
            little = NOTICED * self.one_ns / (4096 if name == "link_ns_per_byte" else 1)
            state = _linear(value, max(high - value, value - low), little, self.priors[name].deviation)
        return Parameter(name, value, state, low, high, _rests_on(self.fit.leverage[name]))


def _linear(value: float, half: float, little: float, wide: float) -> str:
    """The state of a parameter that may be 0."""
    if half >= wide:
        return ASSUMED
    if value <= max(half, little / 4):
        return ABSENT
    return DETERMINED if half <= max(SURE * value, little) else ROUGHLY


def _rests_on(shares: Mapping[str, float]) -> tuple[str, ...]:
    named: list[str] = []
    told = 0.0
    for job, share in sorted(shares.items(), key=lambda item: -item[1]):
        if told >= _SHOWN or len(named) == MOST_JOBS or share <= 0:
            break
        named.append(job)
        told += share
    return tuple(named)
