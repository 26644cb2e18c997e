"""Chooses channels and dies: all shapes from closed forms, the best few by a fit of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit.calibration import starts
from ftlkit.calibration.fit import fitted, misfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ftlkit.calibration.fit import Fit, Prior
    from ftlkit.calibration.model import Engine, Shape, Values
    from ftlkit.calibration.points import Point

_FINALISTS = 3

_ALIKE = 9.0
"""Shapes whose misfits differ by less fit alike: three standard errors of one point."""

_HOPELESS = 30.0
"""A start that misses by this many times the best one's misfit is not fitted."""


_FAR_BEHIND = 4.0
"""After one step a shape that misses by this many times the best one's misfit is given up."""


@dataclass(frozen=True)
class Choice:
    """The shape that fits best, and those that fit as well."""

    best: Fit
    rivals: list[Fit]


def chosen(
    points: Sequence[Point],
    shape: Shape,
    fixed: Iterable[str],
    assumed: Values,
    priors: Mapping[str, Prior],
    engine: Engine,
    show: Callable[[], None],
) -> Choice:
    """The shape that explains the points best."""
    candidates = starts.shapes(points, shape, fixed)
    begins = {candidate: starts.values(points, candidate, assumed) | _kept(assumed, priors) for candidate in candidates}
    finalists = _finalists(points, begins, engine, show) if len(candidates) > 1 else candidates
    fits = [fitted(points, one, begins[one], priors, engine, show, rounds=1) for one in finalists]
    nearest = min(fit.misfit for fit in fits)
    near = [fit for fit in fits if fit.misfit <= _FAR_BEHIND * (nearest + len(points))]
    fits = [fitted(points, fit.shape, fit.values, priors, engine, show, rounds=2) for fit in near]
    fits.sort(key=lambda fit: fit.misfit)
    best = fits[0]
    scale = max(1.0, best.misfit / max(1, len(points) - len(priors)))
    return Choice(best, [fit for fit in fits[1:] if fit.misfit - best.misfit < _ALIKE * scale])


def _kept(assumed: Values, priors: Mapping[str, Prior]) -> Values:
    """What is not fitted stays as it was given."""
    return {name: value for name, value in assumed.items() if name not in priors}


def _finalists(
    points: Sequence[Point], begins: Mapping[Shape, Values], engine: Engine, show: Callable[[], None]
) -> list[Shape]:
    """The shapes whose closed forms come nearest; a shape is given up when others are nearer."""
    probes = starts.coarse(points)
    missed: list[tuple[float, Shape]] = []
    for candidate, values in begins.items():
        limit = sorted(total for total, _ in missed)[_FINALISTS - 1] if len(missed) >= _FINALISTS else float("inf")
        total = 0.0
        for probe in probes:
            total += misfit([probe], candidate, values, engine)
            show()
            if total > limit:
                break
        else:
            missed.append((total, candidate))
    missed.sort(key=lambda pair: pair[0])
    return [candidate for total, candidate in missed[:_FINALISTS] if total <= _HOPELESS * (missed[0][0] + len(probes))]
