"""Fleets without a trace: volumes drawn from what is published of 106 virtual disks over a week.

The disks are those of CloudPhysics (Waldspurger 2015, SHARDS). Their figures are published in
https://github.com/pbhandar2/BlockTraceFeatures (`cloudphysics/block.csv`, commit a93bcd4): from its
106 rows come the quantiles below and the rank correlations between figures. Between quantiles a
value is interpolated, of sizes and counts on a logarithmic scale; a Gaussian copula binds the
figures of a volume.

*Skew* is the exponent of the power law through the median page and the one at 99 % by writes.
Limits: a volume is Zipf with scattered pages and Poisson arrivals at the disk's mean rate, without
days and nights, bursts or correlation in time; sizes are 4 and 64 KiB with the mean of the disk's
writes. Volumes are made smaller: requests and footprints by one factor, so that each page is
written as often as before.
"""

import math
import random
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ftlkit._native import UserError
from ftlkit.fleets.run import Volume

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""What the quantiles of a figure are."""


@dataclass(frozen=True)
class Figure:
    """A figure of a volume by its quantiles over the disks."""

    name: str
    quantiles: tuple[float, ...]
    is_logarithmic: bool = False

    def at(self, share: float) -> float:
        """The value below which this share of the disks is."""
        values = np.log(self.quantiles) if self.is_logarithmic else np.array(self.quantiles)
        value = float(np.interp(share, SHARES, values))
        return math.exp(value) if self.is_logarithmic else value


FIGURES = (
    Figure("footprint_gib", (0.857, 3.74, 5.84, 18.1, 50.9, 384.0, 1050.0), is_logarithmic=True),
    Figure("requests_m", (3.28, 3.72, 5.30, 10.5, 21.3, 44.9, 216.0), is_logarithmic=True),
    Figure("write_kib", (3.39, 6.77, 8.58, 15.1, 26.7, 35.5, 405.0), is_logarithmic=True),
    Figure("write_share", (0.033, 0.118, 0.174, 0.492, 0.792, 0.957, 0.996)),
    Figure("sequential_share", (0.00114, 0.0577, 0.0854, 0.218, 0.373, 0.498, 0.873)),
    Figure("skew", (0.0, 0.405, 0.624, 0.797, 0.977, 1.15, 1.84)),
)

RANKS = (
    (1.0, 0.42, 0.42, -0.48, 0.43, -0.41),
    (0.42, 1.0, 0.15, -0.25, -0.04, 0.11),
    (0.42, 0.15, 1.0, -0.25, 0.11, -0.43),
    (-0.48, -0.25, -0.25, 1.0, -0.36, 0.24),
    (0.43, -0.04, 0.11, -0.36, 1.0, -0.27),
    (-0.41, 0.11, -0.43, 0.24, -0.27, 1.0),
)
"""Spearman's correlations between them."""

WEEK_NS = 7 * 86_400 * 10**9
REQUESTS = 100_000
"""Of the median volume, if nothing else is said."""

MOST = 10_000
"""Volumes that are drawn."""

_SMALL_KIB, _LARGE_KIB = 4, 64
_LEAST_BYTES = 1 << 20
_PAGE = 4096


def drawn(count: int, requests: int = REQUESTS, seed: int = 1) -> list[Volume]:
    """A fleet of `count` volumes, the largest first; `requests` are those of the median disk."""
    if not 1 <= count <= MOST:
        raise UserError(f"--fleet {count}: 1 to {MOST:,} volumes are drawn. Give a number of these.")
    if requests < 1:
        raise UserError(f"--requests {requests}: the median volume has 1 request or more.")
    draws = random.Random(seed)  # noqa: S311 - a simulation's numbers
    # A Gaussian copula with these rank correlations (Pearson 1907).
    mixing = np.linalg.cholesky(2 * np.sin(np.pi * np.array(RANKS) / 6))
    scale = requests / (FIGURES[1].at(0.5) * 1e6)
    digits = len(str(count - 1))
    volumes = []
    for number in range(count):
        # No share is 0, which has no normal value.
        normals = [NormalDist().inv_cdf((draws.getrandbits(52) + 0.5) / 2**52) for _ in FIGURES]
        shares = [NormalDist().cdf(float(value)) for value in mixing @ np.array(normals)]
        figures = {figure.name: figure.at(share) for figure, share in zip(FIGURES, shares, strict=True)}
        volumes.append(_volume(f"v{number:0{digits}}", figures, scale))
    return sorted(volumes, key=lambda volume: -volume.requests)


def _volume(name: str, figures: dict[str, float], scale: float) -> Volume:
    """A volume with these figures, made smaller by a factor."""
    requests = max(1, round(figures["requests_m"] * 1e6 * scale))
    footprint = max(_LEAST_BYTES, round(figures["footprint_gib"] * 2**30 * scale) // _PAGE * _PAGE)
    large = min(1.0, max(0.0, (figures["write_kib"] - _SMALL_KIB) / (_LARGE_KIB - _SMALL_KIB)))
    generator = {
        "requests": requests,
        "span": footprint,
        "pattern": {"zipf": {"theta": round(figures["skew"], 3)}},
        "write_share": round(figures["write_share"], 4),
        "sequential_share": round(figures["sequential_share"], 4),
        "sizes": {
            "choice": [
                {"size": f"{_SMALL_KIB}KiB", "weight": round(1 - large, 4)},
                {"size": f"{_LARGE_KIB}KiB", "weight": round(large, 4)},
            ]
        },
        "arrivals": {"poisson": {"mean_gap": f"{max(1, round(WEEK_NS / (figures['requests_m'] * 1e6)))}ns"}},
    }
    traits = {
        "sequential": figures["sequential_share"],
        "write size": 1024 * figures["write_kib"],
        "skew": figures["skew"],
    }
    return Volume(name, {"generator": generator}, requests, figures["write_share"], footprint, traits)
