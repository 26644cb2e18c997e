"""Write amplification under uniform writes of single pages, with greedy victims.

The mean field of Van Houdt 2013 for d-choices, d without bound; `crates/ftl/tests/ftl/theory.rs`
holds the simulator to it.

Data that are hot and cold cost least when each class of them has blocks of its own, and as many
spare blocks as pay best there: `separated` is that bound, for large blocks.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate


def greedy(utilisation: float, pages_per_block: int) -> float:
    """Write amplification of a device, by the share of its physical pages that is valid."""
    if not 0 < utilisation < 1:
        raise ValueError(f"utilisation = {utilisation}: must be above 0 and below 1")
    size = pages_per_block
    harmonic = [0.0, *accumulate(1 / i for i in range(1, size + 1))]
    for k in range(1, size):
        # Victims have k - 1 or k valid pages; there is one k for which the chain of shares closes.
        gap = harmonic[size] - harmonic[k]
        if size * utilisation <= k:
            break
        c = ((size - k) - k * gap) / (size * utilisation - k)
        if c > 0 and gap - 1e-12 <= c <= harmonic[size] - harmonic[k - 1] + 1e-12:
            return 1 / (c * utilisation)
    return 1.0


def separated(utilisation: float, classes: Sequence[tuple[float, float]]) -> float:
    """Least write amplification of classes of data with blocks of their own.

    Each class is its share of the data and its share of the writes; both sum to 1. A class whose
    victims have a share `d` of invalid pages costs 1 / d and fills -ln(1 - d) / d times as many
    blocks as its data. At the optimum a block more gains the same in every class.
    """
    if not 0 < utilisation < 1:
        raise ValueError(f"utilisation = {utilisation}: must be above 0 and below 1")
    for column, what in ((0, "data"), (1, "writes")):
        if not math.isclose(sum(each[column] for each in classes), 1, rel_tol=1e-6):
            raise ValueError(f"the classes' shares of the {what} must sum to 1")

    def invalid(price: float) -> list[float]:
        return [_root(lambda d: d / (1 - d) + math.log1p(-d), writes / data / price) for data, writes in classes]

    def blocks(price: float) -> float:
        return sum(
            utilisation * data * -math.log1p(-d) / d for (data, _), d in zip(classes, invalid(price), strict=True)
        )

    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if blocks(middle) > 1 else (low, middle)
    return sum(writes / d for (_, writes), d in zip(classes, invalid(low), strict=True))


def _root(rising: Callable[[float], float], value: float) -> float:
    """Where a function that rises from 0 to 1 has a value."""
    low, high = 1e-9, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low
