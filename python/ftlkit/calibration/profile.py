"""Intervals from the profile of the likelihood.

One parameter after the other is moved away from its best value, and all others are fitted again at
each place. Its interval ends where the misfit has grown by the square of Student's t. A point that
a move hardly changes, by the slopes, is not run again.

Times add up to latencies. So where only a sum is determined, one time falls by as much as another
rises, however many times as long it is: steps and slopes follow the times, not their logarithms.
"""

import math

import numpy as np

from ftlkit.calibration.fit import LINEAR, LOGARITHMIC, Fit, Problem, Vector
from ftlkit.calibration.model import Values
from ftlkit.results.noise import student_t

_HARDLY = 0.1
"""A change of this many standard errors is taken from the slopes."""

_NEAR = 0.4
"""From a misfit within this share of the bound, the square root leads to the end."""

_WORTH = 0.2
"""Others are fitted again while that lowers the misfit by this share of the bound."""

_PLACES = 6
"""The most places that are tried on each side."""

_FARTHEST = 2.0
"""No interval goes farther, in logarithms or deviations of the prior."""

_TRAPPED = 0.5
"""A misfit so much below that of the fit shows that the search had ended too early."""


class Profile:
    """The intervals around a fit; `better` are parameters that fit better, if any were met."""

    def __init__(self, problem: Problem, fit: Fit) -> None:
        self._problem, self._best = problem, fit.values
        self._is_log = np.array([name in LOGARITHMIC for name in problem.names])
        self._errors = problem.errors(fit.values)
        self._slopes = problem.slopes(fit.values, self._errors)
        self.fit = problem.result(fit.values, self._errors, self._slopes)
        """The same fit, with slopes as they are there."""
        self._weights = problem.weights(self._errors)
        self._covariance = problem.covariance(self._slopes, self._weights)
        self._least = problem.cost(fit.values, self._errors, self._weights)
        self._bound = student_t(max(1, fit.freedom)) ** 2
        self.better: Values | None = None
        self.intervals = {name: (self._end(name, -1), self._end(name, 1)) for name in problem.names}

    def _end(self, name: str, sign: int) -> float:
        """Where the misfit reaches its bound on one side."""
        place = self._problem.names.index(name)
        inside, beyond = 0.0, _FARTHEST
        far = min(beyond, math.sqrt(self._bound * self._covariance[place, place]))
        for _ in range(_PLACES):
            values, excess = self._fitted_at(place, sign * far)
            if excess < -_TRAPPED and self.better is None:
                self.better = values
            is_end = far >= _FARTHEST or (sign < 0 and name in LINEAR and values[name] <= 0)
            if excess <= self._bound and is_end:
                beyond = far
                break
            is_near = abs(excess / self._bound - 1) < _NEAR
            inside, beyond = (far, beyond) if excess <= self._bound else (inside, far)
            # The misfit grows with the square of the distance, or nearly.
            far *= math.sqrt(self._bound / max(excess, self._bound / 9))
            far = far if inside < far < beyond else (inside + beyond) / 2
            if is_near:
                beyond = far
                break
        step = np.zeros(len(self._problem.names))
        # Where the end is not met, it is taken to be the nearest place known to be outside.
        step[place] = sign * beyond
        return self._problem.moved(self._best, step)[name]

    def _fitted_at(self, place: int, far: float) -> tuple[Values, float]:
        """The others fitted again with one parameter moved, and the growth of the misfit."""
        problem = self._problem
        values = problem.moved(self._best, self._along(place, far))
        errors = self._errors_at(values)
        cost = problem.cost(values, errors, self._weights)
        for _ in range(2):
            slopes = self._slopes * np.where(self._is_log, np.exp(problem.between(self._best, values)), 1.0)
            change = problem.step(values, errors, slopes, self._weights, fixed=(place,))
            tried = problem.moved(values, change)
            promised = problem.cost(tried, errors + slopes @ problem.between(values, tried), self._weights)
            if cost - promised < _WORTH * self._bound / 2:
                break
            tried_errors = self._errors_at(tried)
            tried_cost = problem.cost(tried, tried_errors, self._weights)
            gain = cost - tried_cost
            if gain > 0:
                values, errors, cost = tried, tried_errors, tried_cost
            if gain < _WORTH * self._bound:
                break
        return values, cost - self._least

    def _along(self, place: int, far: float) -> Vector:
        """The step in which the others make up for one parameter that is moved."""
        others = self._covariance[:, place] / self._covariance[place, place]
        others *= math.expm1(far) if self._is_log[place] else far
        step = np.where(self._is_log, np.log(np.maximum(1 + others, math.exp(-_FARTHEST))), others)
        step[place] = far
        return step

    def _errors_at(self, values: Values) -> Vector:
        """Each point's error; by the slopes where it hardly changes."""
        step = self._problem.between(self._best, values)
        predicted = self._slopes @ np.where(self._is_log, np.expm1(step), step)
        return self._problem.errors(values, self._errors + predicted, np.abs(predicted) >= _HARDLY)
