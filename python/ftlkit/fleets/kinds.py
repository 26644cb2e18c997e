"""Kinds of volumes: clusters over their features, found without a look at any cost.

Features that span orders of magnitude are taken as logarithms, each is scaled to a standard
deviation of 1, and k-means (Lloyd, begun by k-means++) finds centres. The number of kinds is the
one with the highest mean silhouette (Rousseeuw 1987); where none reaches `LEAST`, below which his
readers see no structure (Kaufman and Rousseeuw 1990), there is one kind. Centres are found on
`SAMPLE` volumes, evenly by their size; all others join the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ftlkit.fleets.choice import Numbers

MOST = 8
"""Kinds: more than a person tells apart."""
LEAST = 0.25
SAMPLE = 1_000
_BEGINNINGS = 5
"""Runs of k-means; the best is taken, since one may end badly."""

LOGARITHMIC = ("requests", "footprint", "write size", "writes per page")
"""Features that are taken as logarithms."""


@dataclass(frozen=True)
class Kinds:
    """The kind of each volume."""

    labels: Numbers
    silhouette: float
    """Of the best division into several."""

    @property
    def count(self) -> int:
        """How many kinds there are."""
        return int(self.labels.max()) + 1


def kinds(features: Sequence[Mapping[str, float | None]]) -> Kinds:
    """The kinds of volumes with these features, the kind with most volumes first."""
    points = _scaled(features)
    sample = points[np.linspace(0, len(points) - 1, min(SAMPLE, len(points))).round().astype(int)]
    apart = np.sqrt(_squares(sample, sample))
    best, centres = 0.0, points[:1]
    for count in range(2, min(MOST, len(np.unique(sample, axis=0)) - 1) + 1):
        found = _centres(sample, count)
        if (value := _silhouette(apart, _nearest(sample, found))) > best:
            best, centres = value, found
    labels = _nearest(points, centres if best >= LEAST else points[:1])
    ranks = np.argsort(np.argsort(-np.bincount(labels), kind="stable"), kind="stable")
    return Kinds(ranks[labels], best)


def _scaled(features: Sequence[Mapping[str, float | None]]) -> Numbers:
    """A row per volume and a column per feature that differs; unknown values are the median."""
    columns = []
    for name in features[0]:
        column = np.array([np.nan if one[name] is None else one[name] for one in features], float)
        if name in LOGARITHMIC:
            column = np.log(np.where(column > 0, column, np.nan))
        known = column[np.isfinite(column)]
        if known.size and known.std() > 0:
            columns.append((np.where(np.isfinite(column), column, np.median(known)) - known.mean()) / known.std())
    return np.column_stack(columns) if columns else np.zeros((len(features), 1))


def _squares(points: Numbers, others: Numbers) -> Numbers:
    """Squared distances of points (rows) from others (columns)."""
    products: Numbers = (points**2).sum(1)[:, None] + (others**2).sum(1) - 2 * points @ others.T
    return np.maximum(products, 0)


def _nearest(points: Numbers, centres: Numbers) -> Numbers:
    nearest: Numbers = _squares(points, centres).argmin(axis=1)
    return nearest


def _centres(points: Numbers, count: int) -> Numbers:
    """The centres of the best of some runs of k-means."""
    draws = np.random.default_rng(count)
    ends = [_settled(points, _begun(points, count, draws)) for _ in range(_BEGINNINGS)]
    return min(ends, key=lambda centres: float(_squares(points, centres).min(axis=1).sum()))


def _begun(points: Numbers, count: int, draws: np.random.Generator) -> Numbers:
    """Points far from each other (Arthur and Vassilvitskii 2007)."""
    centres = points[draws.integers(len(points), size=1)]
    while len(centres) < count:
        far = _squares(points, centres).min(axis=1)
        centres = np.vstack([centres, points[draws.choice(len(points), p=far / far.sum())]])
    return centres


def _settled(points: Numbers, centres: Numbers) -> Numbers:
    """The centres once no point changes its own any more."""
    labels = np.full(len(points), -1)
    while not np.array_equal(labels, found := _nearest(points, centres)):
        labels = found
        present = [points[labels == place].mean(axis=0) for place in range(len(centres)) if (labels == place).any()]
        centres = np.array(present)
    return centres


def _silhouette(apart: Numbers, labels: Numbers) -> float:
    """The mean over points of how much nearer its own kind is than the next one, -1 to 1."""
    counts = np.bincount(labels)
    sums = np.column_stack([apart[:, labels == place].sum(axis=1) for place in range(len(counts))])
    places = np.arange(len(labels))
    alone = counts[labels] == 1
    own = sums[places, labels] / np.maximum(counts[labels] - 1, 1)
    means = sums / np.maximum(counts, 1)
    means[places, labels] = np.inf
    other = means.min(axis=1)
    return float(np.where(alone, 0.0, (other - own) / np.maximum(np.maximum(own, other), 1e-12)).mean())
