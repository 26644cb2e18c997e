"""Fits parameters of a shape to points, by least squares of the simulator's own figures.

Gauss-Newton: the slopes come from runs with each parameter a little larger, and `numpy` solves the
linear least squares of each step. A search that knows no slopes, such as Optuna's, would take
thousands of runs where this takes hundreds, and give no interval. A step that makes the misfit
larger is tried once more, shorter.

Each parameter has a wide *prior*: around what is assumed of it, a factor of e as one standard
deviation. Points that say anything outweigh it. Of a parameter that they say nothing about, what
remains is the assumption and its width. So an unknown erase time widens the interval of whatever it
blurs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ftlkit.calibration.model import depends_on
from ftlkit.calibration.points import TRIMMED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ftlkit.calibration.model import Engine, Shape, Values
    from ftlkit.calibration.points import Point

    Vector = NDArray[np.float64]

LOGARITHMIC = ("read_latency", "program_latency", "transfer_latency", "erase_latency", "spare")
"""Parameters above 0, fitted by their logarithm: an interval is a factor."""

LINEAR = ("link_latency", "controller_latency", "link_ns_per_byte")
"""Parameters that may be 0."""

_STEP = 0.02
"""By how much a parameter is changed for a slope: well above what the draw of requests does."""

_ROUNDS = 5
_DONE = 0.002
"""A step below this share of every parameter ends the fit."""

_FAR = 0.1
"""After a longer step slopes are taken anew. Near the end they hardly change."""

_OUTLIER = 2.0
"""Points that miss by more standard errors than this count less (Huber)."""

_TRUST = 5
"""As many points' worth of trust in the noise that is expected, where few points measure it."""

_MOST_SPARE = 0.8


@dataclass(frozen=True)
class Prior:
    """What is assumed of a parameter: a value, and one standard deviation in the fitted scale."""

    value: float
    deviation: float


@dataclass(frozen=True)
class Fit:
    """Parameters that fit, and what the points say of each."""

    shape: Shape
    values: Values
    names: tuple[str, ...]
    """The parameters that were fitted."""
    misfit: float
    """The sum of squared errors, each in its standard error."""
    freedom: int
    """Degrees of freedom of what is known of the noise."""
    covariance: Vector
    """Of logarithms, and of multiples of the prior's deviation."""
    leverage: Mapping[str, Mapping[str, float]]
    """By parameter and job, the share of what is known of the parameter that is due to the job."""


def misfit(points: Sequence[Point], shape: Shape, values: Values, engine: Engine) -> float:
    """The sum of squared errors of the points, each in its standard error."""
    return float(sum(_error(point, shape, values, engine) ** 2 for point in points))


def _error(point: Point, shape: Shape, values: Values, engine: Engine) -> float:
    times = engine.figure(point, shape, values) / point.measured
    # Without flash a request may take no time, which has no logarithm.
    return (times - 1 if point.kind == TRIMMED else math.log(times)) / point.noise


def fitted(
    points: Sequence[Point],
    shape: Shape,
    start: Values,
    priors: Mapping[str, Prior],
    engine: Engine,
    show: Callable[[], None],
    rounds: int = _ROUNDS,
) -> Fit:
    """The parameters with priors, fitted to points; all others stay as they begin."""
    problem = _Problem(points, shape, priors, engine, show)
    values = dict(start)
    errors = problem.errors(values)
    slopes, is_new = problem.slopes(values, errors), True
    for _ in range(rounds):
        step = problem.step(values, errors, slopes)
        tried, size = problem.better(values, errors, step)
        if tried is not None:
            values, errors = tried, problem.errors(tried)
        if size > _FAR or (tried is None and not is_new):
            slopes, is_new = problem.slopes(values, errors), True
        elif tried is None or size < _DONE:
            break
        else:
            is_new = False
    return problem.result(values, errors, slopes)


class _Problem:
    """Least squares in scaled parameters: logarithms, or multiples of the prior's deviation."""

    def __init__(
        self,
        points: Sequence[Point],
        shape: Shape,
        priors: Mapping[str, Prior],
        engine: Engine,
        show: Callable[[], None],
    ) -> None:
        self.points, self.shape, self.priors, self.engine, self.show = points, shape, priors, engine, show
        self.names = tuple(priors)

    def errors(self, values: Values) -> Vector:
        """Each point's error, in its standard error."""
        made = []
        for point in self.points:
            made.append(_error(point, self.shape, values, self.engine))
            self.show()
        return np.array(made)

    def moved(self, values: Values, step: Vector) -> Values:
        """The parameters after a step, within their bounds."""
        made = dict(values)
        for name, change in zip(self.names, step, strict=True):
            if name in LOGARITHMIC:
                made[name] = values[name] * math.exp(float(np.clip(change, -1.0, 1.0)))
            else:
                made[name] = max(0.0, values[name] + float(change) * self.priors[name].deviation)
        if "spare" in made:
            made["spare"] = min(made["spare"], _MOST_SPARE)
        return made

    def slopes(self, values: Values, errors: Vector) -> Vector:
        """How each error changes with each scaled parameter."""
        made = np.zeros((len(self.points), len(self.names)))
        for column, name in enumerate(self.names):
            step = np.zeros(len(self.names))
            step[column] = _STEP
            changed = self.moved(values, step)
            for row, point in enumerate(self.points):
                if name in depends_on(point):
                    made[row, column] = (_error(point, self.shape, changed, self.engine) - errors[row]) / _STEP
                    self.show()
        return made

    def distance(self, values: Values) -> Vector:
        """How far each parameter is from its prior, in the prior's deviations."""
        made = []
        for name in self.names:
            prior = self.priors[name]
            is_log = name in LOGARITHMIC
            far = math.log(values[name] / prior.value) if is_log else values[name] - prior.value
            made.append(far / prior.deviation)
        return np.array(made)

    def _prior_slopes(self) -> Vector:
        return np.diag([1 / self.priors[name].deviation if name in LOGARITHMIC else 1.0 for name in self.names])

    def step(self, values: Values, errors: Vector, slopes: Vector) -> Vector:
        """The step that linear least squares advise."""
        weights = self.weights(errors)
        matrix = np.vstack([slopes * weights[:, None], self._prior_slopes()])
        target = -np.concatenate([errors * weights, self.distance(values)])
        solved, *_ = np.linalg.lstsq(matrix, target, rcond=None)
        return np.asarray(solved)

    def better(self, values: Values, errors: Vector, step: Vector) -> tuple[Values | None, float]:
        """The parameters after a step, or a part of it, if they fit better; its length."""
        weights = self.weights(errors)
        before = self.cost(values, errors, weights)
        times = np.array([name in LOGARITHMIC for name in self.names])
        for part in (1.0, 0.3):
            tried = self.moved(values, part * step)
            if self.cost(tried, self.errors(tried), weights) < before:
                return tried, float(np.max(np.abs(part * step[times]), initial=0.0))
        return None, 0.0

    def cost(self, values: Values, errors: Vector, weights: Vector) -> float:
        """What the step shall lower."""
        return float(np.sum((weights * errors) ** 2) + np.sum(self.distance(values) ** 2))

    @staticmethod
    def weights(errors: Vector) -> Vector:
        """The root of each point's weight: outliers count less."""
        scale = max(1.0, 1.4826 * float(np.median(np.abs(errors))))
        return np.sqrt(1 / np.maximum(1.0, np.abs(errors) / (_OUTLIER * scale)))

    def result(self, values: Values, errors: Vector, slopes: Vector) -> Fit:
        """The fit, with what the points say of each parameter."""
        weights = self.weights(errors)
        slopes = slopes * weights[:, None]
        prior = self._prior_slopes()
        freedom = len(self.points) - len(self.names) + _TRUST
        excess = max(1.0, (float(np.sum((weights * errors) ** 2)) + _TRUST) / freedom)
        covariance = np.linalg.inv(slopes.T @ slopes / excess + prior.T @ prior).astype(np.float64)
        gain = covariance @ slopes.T / excess
        leverage = {}
        for place, name in enumerate(self.names):
            shares = gain[place] ** 2
            total = float(np.sum(shares)) or 1.0
            by_job: dict[str, float] = {}
            for point, share in zip(self.points, shares, strict=True):
                by_job[point.job] = by_job.get(point.job, 0.0) + float(share) / total
            leverage[name] = by_job
        return Fit(self.shape, values, self.names, float(np.sum(errors**2)), freedom, covariance, leverage)


def known(covariance: Vector, place: int) -> Vector:
    """The covariance if one parameter were known exactly."""
    variance = covariance[place, place]
    rest: Vector = covariance - np.outer(covariance[:, place], covariance[place]) / variance
    rest[place, place] = variance
    return rest
