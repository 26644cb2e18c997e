"""The model of RFTL 4: the cost of an access to the mapping table, with and without copies.

Symbols are those of RFTL tab. 2: `C` access time of the CMT, `GC` wait for a collection, `R` and
`W` latency of a read and a write, all in nanoseconds; `F` channels; `M` miss ratio; `N` copies;
`P` = `N` / `F`, the probability of a copy on an idle channel; `P_GC`, the probability that a
channel is busy collecting; `E`, the ratio of extra writes.

The model charges every miss with two reads and a write, the worst case of RFTL 3.3: a full cache
whose victim has changed. It knows no queue but the one wait, no locality and no cost of the
additional copies' programs, which it takes to run in parallel.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Latencies:
    """Constants of the model, in nanoseconds; the defaults are RFTL tab. 3."""

    C: float = 100.0
    GC: float = 900_000.0
    R: float = 25_000.0
    W: float = 200_000.0


TABLE_3 = Latencies()
"""SSD settings of RFTL tab. 3."""

MAPPING_BYTES = 8
"""What a mapping takes on flash, in bytes: 512 in a page of 4 KB (RFTL 3.1)."""

PAGE_KB = 4
"""What a page holds, in KB (RFTL 5.1)."""

DEVICE_GB = 100
"""The device of RFTL tab. 1, in GB."""

EXTRA_WRITES = 0.4
"""Extra writes for each replica, as a ratio to all writes (RFTL tab. 1)."""


def baseline(M: float, *, P_GC: float = 1.0, latencies: Latencies = TABLE_3) -> float:  # noqa: N803 - the paper's symbols
    """Mean access time under DFTL, in nanoseconds: RFTL eq. 1, wait weighted by `P_GC` (fig. 6).

    `M` and `P_GC` are from 0 to 1.
    """
    _check(M=M, P_GC=P_GC)
    return _access(M, P_GC, latencies)


def rftl(M: float, *, P: float, latencies: Latencies = TABLE_3) -> float:  # noqa: N803 - the paper's symbols
    """Mean access time under RFTL, in nanoseconds, while the page's own channel collects.

    A copy on an idle channel is found with probability `P`: RFTL eq. 2 at 1, eq. 3 at 0, their
    mixture between (fig. 6). `M` and `P` are from 0 to 1.
    """
    _check(M=M, P=P)
    return _access(M, 1.0 - P, latencies)


def idle_copy_probability(N: int, F: int) -> float:  # noqa: N803 - the paper's symbols
    """`P` = `N` / `F` (RFTL tab. 2), for `N` copies on `F` channels, `N` at most `F`."""
    if not 0 <= N <= F or F < 1:
        raise ValueError(
            f"N = {N}, F = {F}: there must be at least one channel, and at most as many copies as channels"
        )
    return N / F


def extra_writes(replicas: int) -> float:
    """`E`: extra writes over all writes, by replicas besides the original (RFTL tab. 1, fig. 7)."""
    _check_replicas(replicas)
    return EXTRA_WRITES * replicas


def map_bytes(logical_pages: int, page_bytes: int, replicas: int = 0, *, mapping_bytes: int = MAPPING_BYTES) -> int:
    """Bytes of the map on flash, in whole pages, with replicas besides the original."""
    _check_replicas(replicas)
    translation_pages = -(-logical_pages // (page_bytes // mapping_bytes))
    return translation_pages * page_bytes * (replicas + 1)


def map_mb(replicas: int) -> int:
    """MB of the map on a 100 GB device, by replicas besides the original (RFTL tab. 1).

    A MB is 1000 KB and a GB 1000 MB, as the table's round numbers ask for.
    """
    _check_replicas(replicas)
    return DEVICE_GB * 1000 // PAGE_KB * MAPPING_BYTES // 1000 * (replicas + 1)


def curves(miss_ratios: Iterable[float]) -> list[dict[str, float | str]]:
    """The curves of RFTL fig. 6 (tab. 4): `model`, `miss_ratio`, `access_ns`, a row per point."""
    rows: list[dict[str, float | str]] = []
    for miss_ratio in miss_ratios:
        times = {f"DFTL, P_GC = {p_gc:g}": baseline(miss_ratio, P_GC=p_gc) for p_gc in (0.0, 0.5, 1.0)}
        times |= {f"RFTL, P = {p:g}": rftl(miss_ratio, P=p) for p in (0.25, 0.5, 0.75)}
        rows.extend({"model": model, "miss_ratio": miss_ratio, "access_ns": time} for model, time in times.items())
    return rows


def _access(miss_ratio: float, waits: float, latencies: Latencies) -> float:
    penalty = latencies.C + waits * latencies.GC + (2 * latencies.R + latencies.W)
    return penalty * miss_ratio + latencies.C * (1 - miss_ratio)


def _check(**probabilities: float) -> None:
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} = {value}: must be from 0 to 1")


def _check_replicas(replicas: int) -> None:
    if replicas < 0:
        raise ValueError(f"replicas = {replicas}: must not be negative; 0 is DFTL")
