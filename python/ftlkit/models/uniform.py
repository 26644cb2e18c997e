"""Write amplification under uniform writes of single pages, with greedy victims.

The mean field of Van Houdt 2013 for d-choices, d without bound; `crates/ftl/tests/ftl/theory.rs`
holds the simulator to it.
"""

from __future__ import annotations

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
