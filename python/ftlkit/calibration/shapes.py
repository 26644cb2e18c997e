"""Chooses channels and dies: all shapes from closed forms, the best few by a fit of each."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ftlkit.calibration import starts
from ftlkit.calibration.fit import Fit, Prior, fitted, misfit
from ftlkit.calibration.model import Engine, Shape, Values
from ftlkit.calibration.points import Point

_FINALISTS = 3
"""Shapes that are fitted at once, beside those with channels and dies the other way round."""

_RANKED = 9
"""At least as many shapes are ranked to the end."""

_BATCHES = 2
"""While no fit explains the points, as many times the next shapes are fitted."""

_EXPLAINED = 2.0
"""A misfit of so much a point is noise."""

_APART = 3.0
"""Later, the best shape is also tried with transfers longer or shorter by this factor."""

_ALIKE = 9.0
"""Shapes whose misfits differ by less fit alike: three standard errors of one point."""


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
    kept = {name: value for name, value in assumed.items() if name not in priors}
    begins = {one: starts.values(points, one, assumed) | kept for one in starts.shapes(points, shape, fixed)}
    ranked = _ranked(points, begins, engine, show) if len(begins) > 1 else list(begins)
    fits: list[Fit] = []
    for _ in range(_BATCHES):
        waiting = [(one, begins[one]) for one in _next(ranked, {fit.shape for fit in fits})]
        if fits and "transfer_latency" in priors:
            waiting += [(fits[0].shape, values) for values in _shifted(fits[0].values)]
        if not waiting:
            break
        fits += [fitted(points, one, values, priors, engine, show) for one, values in waiting]
        fits = _best_of_each(fits)
        if fits[0].misfit <= _EXPLAINED * len(points):
            break
    best = fits[0]
    scale = max(1.0, best.misfit / max(1, len(points) - len(priors)))
    return Choice(best, [fit for fit in fits[1:] if fit.misfit - best.misfit < _ALIKE * scale])


def _next(ranked: Sequence[Shape], tried: Collection[Shape]) -> list[Shape]:
    """The best shapes that were not tried, each beside the one with channels and dies exchanged."""
    made = [one for one in ranked if one not in tried][:_FINALISTS]
    turned = [replace(one, channels=one.dies_per_channel, dies_per_channel=one.channels) for one in made]
    return made + [one for one in turned if one in ranked and one not in tried and one not in made]


def _shifted(values: Values) -> list[Values]:
    """Other splits of a read between flash and channel."""
    held = values["read_latency"] + values["transfer_latency"]
    transfers = [values["transfer_latency"] / _APART, min(values["transfer_latency"] * _APART, 0.9 * held)]
    return [values | {"transfer_latency": one, "read_latency": held - one} for one in transfers]


def _best_of_each(fits: Iterable[Fit]) -> list[Fit]:
    """The best fit of each shape, the best first."""
    made: dict[Shape, Fit] = {}
    for fit in sorted(fits, key=lambda fit: fit.misfit):
        made.setdefault(fit.shape, fit)
    return list(made.values())


def _ranked(
    points: Sequence[Point], begins: Mapping[Shape, Values], engine: Engine, show: Callable[[], None]
) -> list[Shape]:
    """The shapes by how near their closed forms come, without those far behind."""
    probes = starts.coarse(points)
    missed: list[tuple[float, Shape]] = []
    for candidate, values in begins.items():
        limit = sorted(total for total, _ in missed)[_RANKED - 1] if len(missed) >= _RANKED else float("inf")
        total = 0.0
        for probe in probes:
            total += misfit([probe], candidate, values, engine)
            show()
            if total > limit:
                break
        else:
            missed.append((total, candidate))
    missed.sort(key=lambda pair: pair[0])
    return [candidate for _, candidate in missed]
