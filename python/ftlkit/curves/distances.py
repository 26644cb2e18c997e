"""Stack distances: how many other pages were asked for since a page was asked for last.

A cache of C entries that drops the least recently used one answers exactly the accesses with a distance below C, so one
pass gives the hit ratio of every size (Mattson 1970). The number of pages since then is kept in a tree of partial sums
over time (Fenwick 1994), so an access costs the logarithm of their number.

Of long sequences a share of the pages is looked at, chosen by a hash of their number, and distances are scaled
(SHARDS, Waldspurger 2015). How many accesses the sample holds too many or too few, because a page that is asked for
often is in it or not, is put right at distance 0 (their SHARDS-adj).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BITS = 24
"""Of a page's hash, compared with the share of pages looked at."""


@dataclass(frozen=True)
class Distances:
    """The stack distances of a sequence of accesses."""

    found: list[int]
    """Those of accesses to pages that were asked for before, in ascending order."""
    accesses: float
    """Accesses, of which the ones that are not in `found` are the first to their page."""
    at_zero: float = 0.0
    """Accesses at distance 0 that a sample lacks; below 0 those that it has too many."""

    def hit_ratio(self, entries: int) -> float:
        """The share of accesses that a cache of so many entries answers, at least one."""
        hits = bisect_left(self.found, entries) + self.at_zero
        return min(1.0, max(0.0, hits / self.accesses))


def exact(pages: Sequence[int], filled: int = 0) -> Distances:
    """Distances of accesses, after each page below `filled` was asked for once, in order."""
    return Distances(sorted(_distances(pages, list(range(filled)))), len(pages))


def sampled(pages: Sequence[int], share: float, filled: int = 0) -> Distances:
    """The same from a share of the pages, above 0 and at most 1."""
    limit = round(share * (1 << _BITS))
    mine = [page for page in pages if _hash(page) < limit]
    found = _distances(mine, [page for page in range(filled) if _hash(page) < limit])
    expected = share * len(pages)
    # However a distance is scaled, there are only so many other pages.
    others = (filled or len(set(pages))) - 1
    return Distances(sorted(min(round(each / share), others) for each in found), expected, expected - len(mine))


def _distances(pages: Sequence[int], before: list[int]) -> list[int]:
    """The distance of each access to a page that was asked for before; `before` lists such pages, in order."""
    places = len(before) + len(pages)
    tree = _tree(len(before), places)
    last = {page: place for place, page in enumerate(before, 1)}
    found = []
    for now, page in enumerate(pages, len(before) + 1):
        was = last.get(page)
        if was is not None:
            since, place = len(last), was
            while place:
                since -= tree[place]
                place &= place - 1
            found.append(since)
            place = was
            while place <= places:
                tree[place] -= 1
                place += place & -place
        place = now
        while place <= places:
            tree[place] += 1
            place += place & -place
        last[page] = now
    return found


def _tree(ones: int, places: int) -> list[int]:
    """Partial sums over places from 1 on, of which the first ones are 1 and the others 0."""
    tree = [0] + [1] * ones + [0] * (places - ones)
    for place in range(1, places + 1):
        above = place + (place & -place)
        if above <= places:
            tree[above] += tree[place]
    return tree


def _hash(page: int) -> int:
    """Evenly spread bits of a page's number: the finalizer of splitmix64 (Vigna)."""
    mixed = (page + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ (mixed >> 31)) >> (64 - _BITS)
