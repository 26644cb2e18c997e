"""Stack distances: how many other pages were asked for since a page was asked for last.

A cache of C entries that drops the least recently used one answers exactly the accesses with a
distance below C, so one pass gives the hit ratio of every size (Mattson 1970). The number of pages
since then is kept in a tree of partial sums over time (Fenwick 1994), so an access costs the
logarithm of their number.

A page may be used once more just before an access, by a completion: the rest of a page that is
written in part is read first. The access then has the larger of both distances, since it is no hit
if the completion had to fetch its page, and completions themselves count as none.

Of long sequences a share of the pages is looked at, and distances are scaled (SHARDS, Waldspurger
2015). How many accesses the sample holds too many or too few is put right at distance 0 (their
SHARDS-adj). Their sample is drawn by a hash of the page's number, and is off by points where a few
pages have most accesses and are in it or not. Here pages are drawn at even steps down the list of
pages by number of accesses, so that each part of the list has its share; the hash orders those with
equally many.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Distances:
    """The stack distances of a sequence of accesses."""

    distances: list[int]
    """Those of accesses to pages that were asked for before, in ascending order."""
    accesses: float
    """Accesses, of which the ones that are not in `found` are the first to their page."""
    at_zero: float = 0.0
    """Accesses at distance 0 that a sample lacks; below 0 those that it has too many."""
    pages: int = 0
    """Pages that were looked at."""

    def hit_ratio(self, entries: int) -> float:
        """The share of accesses that a cache of this many entries answers, at least one."""
        hits = bisect_left(self.distances, entries) + self.at_zero
        return min(1.0, max(0.0, hits / self.accesses))


Completions = Sequence[tuple[int, int]]
"""Pages used beside the accesses, in order: before which access, and the page."""


def exact(pages: Sequence[int], filled: int = 0, completions: Completions = ()) -> Distances:
    """Distances of accesses, after each page below `filled` was asked for once, in order."""
    distances = _distances(pages, list(range(filled)), completions)
    return Distances(sorted(distances), len(pages), pages=filled or len(set(pages)))


def sampled(pages: Sequence[int], share: float, filled: int = 0, completions: Completions = ()) -> Distances:
    """The same from a share of the pages, above 0 and at most 1."""
    drawn = sample(pages, share, filled)
    places = [place for place, page in enumerate(pages) if page in drawn]
    mine = [pages[place] for place in places]
    also_used = [(bisect_left(places, place), page) for place, page in completions if page in drawn]
    distances = _distances(mine, [page for page in range(filled) if page in drawn], also_used)
    expected = share * len(pages)
    # However a distance is scaled, there are only so many other pages.
    others = (filled or len(set(pages))) - 1
    scaled = sorted(min(round(distance / share), others) for distance in distances)
    return Distances(scaled, expected, expected - len(mine), len(drawn))


def sample(pages: Sequence[int], share: float, filled: int = 0) -> set[int]:
    """A share of the accessed pages: one at every 1 ÷ share of the list by accesses."""
    counts = Counter(pages)
    every = sorted(range(filled) if filled else counts, key=lambda page: (-counts[page], _hash(page)))
    step = 1 / Fraction(share)
    return {every[int((place + Fraction(1, 2)) * step)] for place in range(drawn_of(len(every), share))}


def drawn_of(pages: int, share: float) -> int:
    """A share of this many pages as their number, in whole steps from the middle of the first."""
    return math.ceil(pages * Fraction(share) - Fraction(1, 2))


def _distances(pages: Sequence[int], before: list[int], completions: Completions) -> list[int]:
    """The distance of each access to a page asked for before; `before` lists such pages."""
    places = len(before) + len(pages) + len(completions)
    tree = _tree(len(before), places)
    last = {page: place for place, page in enumerate(before, 1)}
    distances = []
    completed: dict[int, int | None] = {}
    for now, (page, counts) in enumerate(_uses(pages, completions), len(before) + 1):
        was, since = last.get(page), None
        if was is not None:
            since, place = len(last), was
            while place:
                since -= tree[place]
                place &= place - 1
            place = was
            while place <= places:
                tree[place] -= 1
                place += place & -place
        place = now
        while place <= places:
            tree[place] += 1
            place += place & -place
        last[page] = now
        if not counts:
            completed[page] = since
            continue
        if completed and page in completed:
            fetched = completed.pop(page)
            since = None if fetched is None or since is None else max(since, fetched)
        if since is not None:
            distances.append(since)
    return distances


def _uses(pages: Sequence[int], completions: Completions) -> Iterator[tuple[int, bool]]:
    """All uses of pages in order, and whether each is an access."""
    done = 0
    for place, page in completions:
        yield from ((page, True) for page in pages[done:place])
        yield page, False
        done = place
    yield from ((page, True) for page in pages[done:])


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
    return mixed ^ (mixed >> 31)
