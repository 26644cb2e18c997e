"""Fits parameters of a shape to points, by least squares of the simulator's own figures.

Gauss-Newton: the slopes come from runs with each parameter a little larger, and each step corrects
them. `numpy` solves the linear least squares of each step. A search without slopes, such as
Optuna's, would take thousands of runs where this takes hundreds. A step that makes the misfit
larger is tried again, shorter or damped. A parameter that would fall below 0 stops there.

The noise of a point is that of the measurement and of the model's draws. Where the points of one
kind miss by more than that, the model is wrong about them by as much, and all of them count less.

Each parameter has a wide *prior*: around what is assumed of it, a factor of e as one standard
deviation. Points that say anything outweigh it. Of a parameter that they say nothing about, what
remains is the assumption and its width. So an unknown erase time widens the interval of whatever it
blurs.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlkit.calibration.model import Engine, Shape, Values, depends_on
from ftlkit.calibration.points import TRIMMED, Point

Vector = NDArray[np.float64]

LOGARITHMIC = ("read_latency", "program_latency", "transfer_latency", "erase_latency", "spare")
"""Parameters above 0, fitted by their logarithm: an interval is a factor."""

LINEAR = ("link_latency", "controller_latency", "link_ns_per_byte")
"""Parameters that may be 0."""

_STEP, _STEP_OF_SPARE = 0.05, 0.1
"""By how much a parameter is changed for a slope: well above what the draw of requests does."""

_ROUNDS = 10
_DONE = 0.002
"""A step below this share of every parameter ends the fit."""

_GAIN = 0.999
"""A step that leaves more than this share of the misfit is none."""

_TRIES = ((1.0, 0.0), (0.3, 0.0), (0.1, 0.0), (1.0, 100.0))
"""Parts of a step, and dampings of what hardly shows, until one lowers the misfit."""

_GRID = 1e-4
"""Parameters move in steps of this share, so that runs are found again."""

_OUTLIER = 2.0
"""Points that miss by more standard errors than this count less (Huber)."""

_TAIL = 10.0
"""A squared error above this is far off."""

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
    """The sum of squared errors, each in its standard error; points that are far off count less."""
    freedom: int
    """Degrees of freedom of the noise estimate."""
    covariance: Vector
    """Of logarithms, and of multiples of the prior's deviation."""
    leverage: Mapping[str, Mapping[str, float]]
    """By parameter and job, the share of the parameter's information due to the job."""


def misfit(points: Sequence[Point], shape: Shape, values: Values, engine: Engine) -> float:
    """The sum of squared errors of the points, each in its standard error."""
    return float(sum(_error(point, shape, values, engine) ** 2 for point in points))


def misfit_of(errors: Vector) -> float:
    """Squared errors, which grow slowly for points far off: one kind of jobs outvotes no other."""
    return float(np.sum(_TAIL * np.log1p(errors**2 / _TAIL)))


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
    problem = Problem(points, shape, priors, engine, show)
    values = dict(start)
    errors = problem.errors(values)
    slopes, is_new = problem.slopes(values, errors), True
    for _ in range(rounds):
        tried, size = problem.better(values, errors, slopes)
        if tried is not None:
            tried_errors = problem.errors(tried)
            slopes = problem.updated(slopes, problem.between(values, tried), tried_errors - errors)
            values, errors, is_new = tried, tried_errors, False
            if size < _DONE:
                break
        elif is_new:
            break
        else:
            slopes, is_new = problem.slopes(values, errors), True
    return problem.result(values, errors, slopes)


class Problem:
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
        self.kinds = np.array([point.kind for point in points])
        self.is_asked = np.array([[name in depends_on(point) for name in self.names] for point in points])

    def errors(
        self, values: Values, predicted: Vector | None = None, is_run: NDArray[np.bool_] | None = None
    ) -> Vector:
        """Each point's error, in its standard error; as predicted where it is not run."""
        made = np.zeros(len(self.points)) if predicted is None else predicted.copy()
        for place, point in enumerate(self.points):
            if is_run is None or is_run[place]:
                made[place] = _error(point, self.shape, values, self.engine)
                self.show()
        return made

    def between(self, first: Values, second: Values) -> Vector:
        """The step from one to the other, in scaled parameters."""
        made = []
        for name in self.names:
            if name in LOGARITHMIC:
                made.append(math.log(second[name] / first[name]))
            else:
                made.append((second[name] - first[name]) / self.priors[name].deviation)
        return np.array(made)

    def moved(self, values: Values, step: Vector) -> Values:
        """The parameters after a step, within their bounds and on a grid."""
        made = dict(values)
        for name, change in zip(self.names, step, strict=True):
            if not change:
                continue
            if name in LOGARITHMIC:
                made[name] = math.exp(_GRID * round((math.log(values[name]) + float(change)) / _GRID))
            else:
                grid = _GRID * self.priors[name].deviation
                made[name] = max(0.0, grid * round((values[name] + float(change) * self.priors[name].deviation) / grid))
        if "spare" in made:
            made["spare"] = min(made["spare"], _MOST_SPARE)
        return made

    def slopes(self, values: Values, errors: Vector) -> Vector:
        """How each error changes with each scaled parameter."""
        made = np.zeros((len(self.points), len(self.names)))
        for column, name in enumerate(self.names):
            step, size = np.zeros(len(self.names)), _STEP_OF_SPARE if name == "spare" else _STEP
            step[column] = size
            changed = self.moved(values, step)
            for row, point in enumerate(self.points):
                if name in depends_on(point):
                    made[row, column] = (_error(point, self.shape, changed, self.engine) - errors[row]) / size
                    self.show()
        return made

    def updated(self, slopes: Vector, step: Vector, change: Vector) -> Vector:
        """The slopes corrected by what a step changed (sparse Broyden)."""
        steps = self.is_asked * step
        lengths = np.sum(steps**2, axis=1)
        missing = np.divide(change - slopes @ step, lengths, out=np.zeros(len(change)), where=lengths > 0)
        made: Vector = slopes + missing[:, None] * steps
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

    def prior_slopes(self) -> Vector:
        """How the distance from the prior changes with each scaled parameter."""
        return np.diag([1 / self.priors[name].deviation if name in LOGARITHMIC else 1.0 for name in self.names])

    def step(
        self,
        values: Values,
        errors: Vector,
        slopes: Vector,
        weights: Vector,
        fixed: Iterable[int] = (),
        damping: float = 0.0,
    ) -> Vector:
        """The step that linear least squares advise, without those that are fixed.

        A parameter that would fall below 0 goes to 0, and the others are solved for once more.
        """
        count = len(self.names)
        matrix = np.vstack([slopes * weights[:, None], self.prior_slopes(), math.sqrt(damping) * np.eye(count)])
        target = -np.concatenate([errors * weights, self.distance(values), np.zeros(count)])
        made, free = np.zeros(len(self.names)), [place for place in range(len(self.names)) if place not in fixed]
        while free:
            solved, *_ = np.linalg.lstsq(matrix[:, free], target - matrix @ made, rcond=None)
            least = {place: -values[self.names[place]] / self.priors[self.names[place]].deviation for place in free}
            below = [
                place
                for place, change in zip(free, solved, strict=True)
                if self.names[place] in LINEAR and change < least[place]
            ]
            if not below:
                made[free] = solved
                break
            for place in below:
                made[place] = least[place]
                free.remove(place)
        return made

    def better(self, values: Values, errors: Vector, slopes: Vector) -> tuple[Values | None, float]:
        """The parameters after a step, damped if need be, if they fit better; its length."""
        weights = self.weights(errors)
        before = self.cost(values, errors, weights)
        times = np.array([name in LOGARITHMIC for name in self.names])
        for part, damping in _TRIES:
            step = self.step(values, errors, slopes, weights, damping=damping)
            step = part * np.where(times, np.clip(step, -1.0, 1.0), step)
            tried = self.moved(values, step)
            if self.cost(tried, self.errors(tried), weights) < _GAIN * before:
                return tried, float(np.max(np.abs(step[times]), initial=0.0))
        return None, 0.0

    def cost(self, values: Values, errors: Vector, weights: Vector) -> float:
        """What the step shall lower."""
        return float(np.sum((weights * errors) ** 2) + np.sum(self.distance(values) ** 2))

    def weights(self, errors: Vector) -> Vector:
        """The root of each point's weight: less for outliers and kinds that the model misses."""
        made, free = np.ones(len(errors)), max(0.0, 1 - len(self.names) / len(errors))
        for kind in set(self.kinds):
            own = self.kinds == kind
            missed = np.abs(errors[own])
            scale = max(1.0, 1.4826 * float(np.median(missed)))
            roots = np.sqrt(1 / np.maximum(1.0, missed / (_OUTLIER * scale)))
            excess = (float(np.sum((roots * missed) ** 2)) + _TRUST) / (len(missed) * free + _TRUST)
            made[own] = roots / math.sqrt(max(1.0, excess))
        return made

    def covariance(self, slopes: Vector, weights: Vector) -> Vector:
        """What is not known of the parameters, if the model were linear."""
        slopes, prior = slopes * weights[:, None], self.prior_slopes()
        return np.linalg.inv(slopes.T @ slopes + prior.T @ prior).astype(np.float64)

    def result(self, values: Values, errors: Vector, slopes: Vector) -> Fit:
        """The fit, with what the points say of each parameter."""
        weights = self.weights(errors)
        freedom = len(self.points) - len(self.names) + _TRUST
        covariance = self.covariance(slopes, weights)
        slopes = slopes * weights[:, None]
        gain = covariance @ slopes.T
        leverage = {}
        for place, name in enumerate(self.names):
            shares = gain[place] ** 2
            total = float(np.sum(shares)) or 1.0
            by_job: dict[str, float] = {}
            for point, share in zip(self.points, shares, strict=True):
                by_job[point.job] = by_job.get(point.job, 0.0) + float(share) / total
            leverage[name] = by_job
        return Fit(self.shape, values, self.names, misfit_of(errors), freedom, covariance, leverage)


def known(covariance: Vector, place: int) -> Vector:
    """The covariance if one parameter were known exactly."""
    variance = covariance[place, place]
    rest: Vector = covariance - np.outer(covariance[:, place], covariance[place]) / variance
    rest[place, place] = variance
    return rest
