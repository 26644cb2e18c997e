"""The hit ratio of the mapping cache against its size, from one pass, beside Che's approximation.

What is told is dftl's hit ratio with `cmt_policy=lru`: each page of a request is looked up once, entries leave in the
order of their last use, and collections ask for none. `tests/test_curves.py` sets it against runs.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.curves.distances import Distances, drawn_of, exact, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.curves.accesses import Accesses

ENTRY_BYTES = 8
"""RAM of an entry of dftl's cache: two page numbers."""

EXACT_UP_TO = 2_000_000
"""Accesses of which every page is looked at; that takes half a minute."""

LEAST_PAGES = 8_192
"""A smaller sample is refused: of fin1, fin2, prxy_0 and hm_0 this many are within a point (`tests/test_curves.py`)."""


@dataclass(frozen=True)
class Curve:
    """Hit ratios by size of the cache."""

    sizes: list[int]
    """Bytes of the cache."""
    hit_ratios: list[float]
    """Shares of look-ups that the cache answers."""
    che: list[float]
    """The same by Che's approximation, which takes accesses as independent draws of pages."""
    accesses: int
    share: float
    """Share of the pages that was looked at; 1 is all."""
    pages: int
    """How many pages that is."""


def curve(found: Accesses, sizes: Sequence[int], share: float | None = None) -> Curve:
    """The curve at some sizes; `share` of the pages is looked at, by default as many as are soon done.

    A sample of fewer than `LEAST_PAGES` pages is a `UserError`.
    """
    count, pages = len(found.pages), found.filled or len(set(found.pages))
    if share is None:
        share = min(1.0, max(EXACT_UP_TO / count, 2 * LEAST_PAGES / pages))
    if share < 1:
        _check(pages, share)
    distances = sampled(found.pages, share, found.filled) if share < 1 else exact(found.pages, found.filled)
    return Curve(list(sizes), _ratios(found, sizes, distances), che(found, sizes), count, share, distances.pages)


def _check(pages: int, share: float) -> None:
    """Refuse a sample that is too small to tell anything."""
    drawn = drawn_of(pages, share)
    if drawn < LEAST_PAGES:
        more = math.ceil(1000 * LEAST_PAGES / pages) / 1000
        instead = f"--sample {more:g} or more, or leave it out" if more < 1 else "all pages: leave --sample out"
        raise UserError(
            f"--sample {share:g}: that is {drawn:,} of {pages:,} pages, and a curve from fewer than {LEAST_PAGES:,} "
            f"may be off by many points. Take {instead}."
        )


def _ratios(found: Accesses, sizes: Sequence[int], distances: Distances) -> list[float]:
    return [distances.hit_ratio(_entries(found, size)) for size in sizes]


def _entries(found: Accesses, size: int) -> int:
    return min(size // ENTRY_BYTES, found.logical_pages)


def che(found: Accesses, sizes: Sequence[int]) -> list[float]:
    """Che's approximation with each page's share of the accesses as its popularity (Che 2002; Fricker 2012).

    First accesses to a page miss on a device that was not filled; the approximation, which is of a cache in its steady
    state, counts them as others, and so is above what is measured where the workload is short.
    """
    pages_by_count = Counter(Counter(found.pages).values())
    total = len(found.pages)
    return [_che(pages_by_count, total, _entries(found, size)) for size in sizes]


def _che(pages_by_count: Counter[int], total: int, entries: int) -> float:
    if entries >= sum(pages_by_count.values()):
        return 1.0
    low, high = 0.0, 1.0
    while _cached(pages_by_count, high) < entries:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _cached(pages_by_count, middle) < entries else (low, middle)
    return sum(pages * count * -math.expm1(-count * high) for count, pages in pages_by_count.items()) / total


def _cached(pages_by_count: Counter[int], time: float) -> float:
    """How many pages are asked for within a time, on average."""
    return sum(pages * -math.expm1(-count * time) for count, pages in pages_by_count.items())
