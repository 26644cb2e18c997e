"""Claims against runs: a measure gives one number, bounds turn it into a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.reproduce.runs import distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.document import Json
    from ftlkit.reproduce.plan import Claim
    from ftlkit.reproduce.runs import Point


@dataclass(frozen=True)
class Judgement:
    """What became of a claim."""

    claim: Claim
    value: float
    verdict: str
    """`reproduced`, `partly` or `not`."""

    @property
    def text(self) -> str:
        """The value as a reader wants it."""
        return f"{100 * self.value:+.1f} %" if self.claim.unit == "%" else f"{self.value:.3g} {self.claim.unit}".strip()


def judge(claim: Claim, points: Sequence[Point]) -> Judgement:
    """Measure a claim."""
    kind = claim.measure.get("kind")
    if kind not in MEASURES:
        raise UserError(f"claim {claim.id}: no measure {kind}; there are {', '.join(MEASURES)}.")
    mine = [point for point in points if point.matches(claim.measure["sweep"], claim.measure.get("only", {}))]
    if not mine:
        raise UserError(f"claim {claim.id}: no run matches its measure.")
    value = MEASURES[kind](claim.measure, mine)
    for verdict, bounds in (("reproduced", claim.reproduced), ("partly", claim.partly)):
        if bounds and bounds[0] <= value <= bounds[1]:
            return Judgement(claim, value, verdict)
    return Judgement(claim, value, "not")


def _of(points: Sequence[Point], variant: str) -> list[Point]:
    found = [point for point in points if point.variant == variant]
    if not found:
        raise UserError(f"no run is called {variant}; there are {', '.join(sorted({p.variant for p in points}))}.")
    return found


def _change_at_best(measure: Json, points: Sequence[Point]) -> float:
    """The lowest value of `of` over the lowest of `against`, less 1: below 0 is a gain."""
    of, against = (
        min(point.value(measure["metric"]) for point in _of(points, measure[key])) for key in ("of", "against")
    )
    return of / against - 1


def _change(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of` over that of `against`, less 1."""
    of, against = ([point.value(measure["metric"]) for point in _of(points, measure[key])] for key in ("of", "against"))
    return (sum(of) / len(of)) / (sum(against) / len(against)) - 1


def _value(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of`."""
    values = [point.value(measure["metric"]) for point in _of(points, measure["of"])]
    return sum(values) / len(values)


def _share_within(measure: Json, points: Sequence[Point]) -> float:
    """The mean share of flash operations of a class (`metric`) that are done within `us` microseconds."""
    shares = [
        max((share for ns, share in distribution(point, measure["metric"]) if ns <= 1e3 * measure["us"]), default=0.0)
        for point in _of(points, measure["of"])
    ]
    return sum(shares) / len(shares)


def _spread(measure: Json, points: Sequence[Point]) -> float:
    """The highest value of a variant over its lowest, less 1."""
    values = [point.value(measure["metric"]) for point in _of(points, measure["of"])]
    return max(values) / min(values) - 1


def _best(measure: Json, points: Sequence[Point]) -> float:
    """The value of a key at which a variant is lowest."""
    best = min(_of(points, measure["of"]), key=lambda point: point.value(measure["metric"]))
    return float(best.keys[measure["key"]])


def _loss_inside(measure: Json, points: Sequence[Point]) -> float:
    """How much worse than the best of all the best inside the paper's intervals (`inside`, key → bounds) is."""
    inside = [
        point for point in points
        if all(low <= point.keys[key] <= high for key, (low, high) in measure["inside"].items())
    ]  # fmt: skip
    best_inside, best = (min(point.value(measure["metric"]) for point in each) for each in (inside, points))
    return best_inside / best - 1


MEASURES: dict[str, Callable[[Json, Sequence[Point]], float]] = {
    "change_at_best": _change_at_best,
    "change": _change,
    "value": _value,
    "share_within": _share_within,
    "spread": _spread,
    "best": _best,
    "loss_inside": _loss_inside,
}
