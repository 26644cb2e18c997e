"""How sure each parameter is, in words: determined, roughly, not noticed, assumed or given."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ftlkit.calibration.fit import LOGARITHMIC, known
from ftlkit.results.noise import student_t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ftlkit.calibration.fit import Fit, Prior, Vector
    from ftlkit.calibration.points import Point

DETERMINED, ROUGHLY, ABSENT, ASSUMED, GIVEN = "determined", "roughly", "not noticed", "assumed", "given"

SURE = 0.05
"""Half of an interval, as a share of the value, up to which a parameter is determined."""

VAGUE = 0.50
"""Beyond this share an interval says so little that the preset's value is taken instead."""

NOTICED = 0.02
"""What lies below this share of a read's time at depth 1 is too little to be missed."""

FAR_OFF = 0.05
"""Half of the points, or one that was held out, farther off than this refute the fit."""

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


def doubt(checked: Sequence[tuple[Point, float, bool]]) -> str:
    """Why the points refute the fit; empty if they do not.

    Each comes with the model's figure, and whether it was held out.
    """
    errors = [(abs(modelled / point.measured - 1), point, is_out) for point, modelled, is_out in checked]
    fitted = [error for error, _, is_out in errors if not is_out]
    if middle(fitted) > FAR_OFF:
        return (
            "The model does not explain these measurements, so nothing is called determined: look at the errors. The "
            "drive may do what no device of the simulator does, or the machine that measured it was busy."
        )
    out = [(error, point.job) for error, point, is_out in errors if is_out and _is_far(error, point)]
    if out:
        error, job = max(out)
        return (
            f"{job} was held out of the fit, and the model misses it by {100 * error:.1f} %, so nothing is called "
            "determined: look at the errors. Either that job met something else, or the model is not the drive."
        )
    return ""


def _is_far(error: float, point: Point) -> bool:
    return error > max(FAR_OFF, 2 * point.noise)


def middle(errors: Sequence[float]) -> float:
    """The error that half of the points stay below."""
    return sorted(errors)[len(errors) // 2]


def believed(parameters: Sequence[Parameter], checked: Sequence[tuple[Point, float, bool]]) -> list[Parameter]:
    """The parameters; where the points refute the fit, or its own jobs do, none is determined."""
    is_refuted, far = bool(doubt(checked)), dict[str, float]()
    for point, modelled, _ in checked:
        error = abs(modelled / point.measured - 1)
        if _is_far(error, point):
            far[point.job] = max(error, far.get(point.job, 0.0))
    made = []
    for one in parameters:
        missed = [job for job in one.jobs if job in far]
        if one.state != DETERMINED or not (is_refuted or missed):
            made.append(one)
        elif is_refuted:
            made.append(replace(one, state=ROUGHLY))
        else:
            why = f"the model misses {missed[0]} by {100 * far[missed[0]]:.1f} %"
            made.append(replace(one, state=ROUGHLY, note="; ".join(text for text in (one.note, why) if text)))
    return made


def beside(parameter: Parameter, rivals: Sequence[Fit]) -> Parameter:
    """A parameter whose interval holds what it is in shapes that fit alike."""
    others = [fit.values[parameter.key] for fit in rivals if parameter.key in fit.names]
    if parameter.key not in LOGARITHMIC or not parameter.is_fitted or not others:
        return parameter
    if parameter.low is None or parameter.high is None:
        return parameter
    low, high = min(parameter.low, *others), max(parameter.high, *others)
    value = float(parameter.value)
    is_sure = max(value / low, high / value) <= math.exp(SURE) and parameter.state == DETERMINED
    return replace(parameter, low=low, high=high, state=DETERMINED if is_sure else ROUGHLY)


def judged(fit: Fit, priors: Mapping[str, Prior], one_ns: float) -> dict[str, Parameter]:
    """Each fitted parameter with its interval; `one_ns` is a read's time at depth 1.

    Where only a sum is determined, such as tR and transfer where no die shares a channel, or link
    and controller, the vaguest is assumed, and the others follow from it.
    """
    judge = _Judge(fit, priors, student_t(max(1, fit.freedom)), one_ns)
    made = {name: judge.parameter(name, fit.covariance) for name in fit.names}
    covariance, assumed = fit.covariance, list[str]()
    while vague := [name for name in fit.names if made[name].state == ASSUMED and name not in assumed]:
        worst = max(vague, key=lambda name: judge.vagueness(name, covariance))
        assumed.append(worst)
        judge = judge.without(worst, covariance)
        covariance = known(covariance, fit.names.index(worst))
        for name in fit.names:
            is_open = made[name].state in (ASSUMED, ABSENT) and name not in assumed
            if is_open and judge.parameter(name, covariance).is_fitted:
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

    def parameter(self, name: str, covariance: Vector) -> Parameter:
        """A parameter's interval, and how sure that makes it."""
        place = self.fit.names.index(name)
        value, half = self.fit.values[name], self.times * math.sqrt(covariance[place, place])
        if name in LOGARITHMIC:
            low, high = value * math.exp(-half), value * math.exp(half)
            state = DETERMINED if half <= SURE else ROUGHLY if half <= VAGUE else ASSUMED
        else:
            wide = self.priors[name].deviation
            half *= wide
            low, high = max(0.0, value - half), value + half
            little = NOTICED * self.one_ns / (4096 if name == "link_ns_per_byte" else 1)
            state = _linear(value, half, little, wide)
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
