"""The hit ratio of the mapping cache against its size, from one pass, beside Che's approximation.

What is told is dftl's hit ratio with `cmt_policy=lru`: each page of a request is looked up once,
entries leave in the order of their last use, and collections ask for none. What is read to complete
a page that is written in part uses its entry, too, and is no look-up of the host's.
`tests/test_curves.py` sets it against runs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.curves.distances import drawn_of, exact, sampled

if TYPE_CHECKING:
    from ftlkit.curves.accesses import Accesses

ENTRY_BYTES = 8
"""RAM of an entry of dftl's cache: two page numbers."""

EXACT_UP_TO = 2_000_000
"""Accesses of which every page is looked at; that takes half a minute."""

LEAST_PAGES = 8_192
"""Smaller samples are refused: from here fin1, fin2, prxy_0-cold, hm_0-cold are within a point."""


@dataclass(frozen=True)
class Curve:
    """Hit ratios by size of the cache."""

    sizes: list[int]
    """Bytes of the cache."""
    hit_ratios: list[float]
    """Shares of look-ups that the cache answers."""
    che: list[float]
    """The same by Che's approximation, which takes accesses as independent draws of pages."""
    cold: list[float]
    """Share of look-ups that miss since nothing asked for their page before."""
    accesses: int
    share: float
    """Share of the pages that was looked at; 1 is all."""
    pages: int
    """How many pages that is."""


def curve(accesses: Accesses, sizes: Sequence[int], share: float | None = None) -> Curve:
    """The curve at some sizes, from a `share` of the pages; by default as many as are soon done.

    A sample of fewer than `LEAST_PAGES` pages is a `UserError`.
    """
    count, pages = len(accesses.pages), accesses.filled or len(set(accesses.pages))
    if share is None:
        share = min(1.0, max(EXACT_UP_TO / count, 2 * LEAST_PAGES / pages))
    if share < 1:
        _check(pages, share)
    of = accesses.pages, share, accesses.filled, accesses.completions
    distances = sampled(*of) if share < 1 else exact(accesses.pages, accesses.filled, accesses.completions)
    return Curve(
        list(sizes),
        [distances.hit_ratio(_entries(accesses, size)) for size in sizes],
        che(accesses, sizes),
        cold(accesses, sizes),
        count,
        share,
        distances.pages,
    )


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


def _entries(accesses: Accesses, size: int) -> int:
    return min(int(size / ENTRY_BYTES / accesses.scale), accesses.logical_pages)


def che(accesses: Accesses, sizes: Sequence[int]) -> list[float]:
    """Che's approximation; a page's share of accesses is its popularity (Che 2002, Fricker 2012).

    The approximation is of a cache in its steady state, where every page was asked for before. In a
    workload that ends, the first access to a page misses whatever the size, unless the device was
    filled and the page is among the last that the filling left in the cache. Such accesses are no
    hits here; all others hit as the approximation has it. So the line never exceeds what `cold`
    leaves.
    """
    counts = Counter(accesses.pages)
    pages_by_count = Counter(counts.values())
    total = len(accesses.pages)
    late = sorted(counts, reverse=True)
    ratios = {}
    cached, taken = Counter[int](), 0
    for entries in sorted({_entries(accesses, size) for size in sizes}):
        while taken < len(late) and late[taken] >= accesses.filled - entries and accesses.filled:
            cached[counts[late[taken]]] += 1
            taken += 1
        time = _time(pages_by_count, entries)
        hits = sum(pages * (count - 1) * -math.expm1(-count * time) for count, pages in pages_by_count.items())
        hits += sum(pages * -math.expm1(-count * time) for count, pages in cached.items())
        ratios[entries] = hits / total
    return [ratios[_entries(accesses, size)] for size in sizes]


def cold(accesses: Accesses, sizes: Sequence[int]) -> list[float]:
    """The share of accesses that miss at each size because nothing asked for their page before."""
    pages = sorted(set(accesses.pages))
    first_kept = [accesses.filled - _entries(accesses, size) for size in sizes]
    return [(bisect_left(pages, size) if accesses.filled else len(pages)) / len(accesses.pages) for size in first_kept]


def _time(pages_by_count: Counter[int], entries: int) -> float:
    """The characteristic time: how long a page stays in a cache of this many entries."""
    if entries >= sum(pages_by_count.values()):
        return math.inf
    low, high = 0.0, 1.0
    while _cached(pages_by_count, high) < entries:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _cached(pages_by_count, middle) < entries else (low, middle)
    return high


def _cached(pages_by_count: Counter[int], time: float) -> float:
    """How many pages are asked for within a time, on average."""
    return sum(pages * -math.expm1(-count * time) for count, pages in pages_by_count.items())
