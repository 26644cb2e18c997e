"""Drives that several volumes share: each has a range of addresses, and a stream of its own.

Volumes are dealt over the drives by size, the largest first, so that drives are alike. On a drive
ranges follow each other, and streams are 0, 1 … by size: a stack that tells fewer apart leaves its
last stream to the smallest volumes. Traces of a folder are merged by time into `DIR/drives/`, once
for the same volumes. Drawn volumes become parts of one generator.
"""

from __future__ import annotations

import json
import os
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ftlkit._native import UserError
from ftlkit.fleets.run import Volume
from ftlkit.fleets.split import check_unchanged
from ftlkit.sweeps import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit._util import Json

MOST = 256
"""Volumes on a drive: a request names its stream by a byte."""

_GRID = 1 << 20
"""Ranges start at multiples of this, as devices that `--trace-device stacked` lays out."""


def consolidated(fleet: Sequence[Volume], count: int, folder: Path | None) -> list[Volume]:
    """The drives, each as a volume, with this many volumes on each; fewer on the last ones."""
    if not 1 <= count <= MOST:
        raise UserError(
            f"--consolidate {count}: 1 to {MOST} volumes share a drive. Give one of these, such as --consolidate 8."
        )
    drives = -(-len(fleet) // count)
    digits = len(str(drives - 1))
    shared = [_drive(f"drive-{place:0{digits}}", fleet[place::drives], folder) for place in range(drives)]
    return sorted(shared, key=lambda drive: -drive.requests)


def _drive(name: str, volumes: Sequence[Volume], folder: Path | None) -> Volume:
    requests = sum(volume.requests for volume in volumes)
    writes = sum((volume.write_share or 0) * volume.requests for volume in volumes)
    return Volume(
        name,
        _mixed(volumes) if folder is None else {"trace": str(_merged(volumes, folder / "drives"))},
        requests,
        writes / requests,
        sum(volume.footprint_bytes for volume in volumes),
        {},
        members=tuple(volume.name for volume in volumes),
    )


def _mixed(volumes: Sequence[Volume]) -> Json:
    """One generator of which volumes are parts, at their own rates."""
    made = [volume.workload["generator"] for volume in volumes]
    span = sum(one["span"] for one in made)
    gaps = [int(one["arrivals"]["poisson"]["mean_gap"].removesuffix("ns")) for one in made]
    parts, start = [], 0
    for stream, one in enumerate(made):
        part = {name: one[name] for name in ("pattern", "write_share", "sequential_share", "sizes")}
        region = [start / span, (start + one["span"]) / span]
        parts.append(part | {"weight": one["requests"], "region": region, "stream": stream})
        start += one["span"]
    gap = max(1, round(1 / sum(1 / gap for gap in gaps)))
    arrivals = {"poisson": {"mean_gap": f"{gap}ns"}}
    requests = sum(one["requests"] for one in made)
    return {"generator": {"requests": requests, "span": span, "pattern": {"mixed": parts}, "arrivals": arrivals}}


def _merged(volumes: Sequence[Volume], folder: Path) -> Path:
    """The trace of a drive: a volume's addresses moved to its range, all in order of time."""
    for volume in volumes:
        check_unchanged(volume.name, volume.digest, partial(key.digest, Path(volume.workload["trace"])))
    path = folder / f"{key.text_digest(json.dumps([(volume.digest, volume.number) for volume in volumes]))}.parquet"
    if path.exists():
        return path
    frames, base = [], 0
    for stream, volume in enumerate(volumes):
        read = pl.scan_parquet(volume.workload["trace"], hive_partitioning=False)
        if volume.number is not None:
            read = read.filter(pl.col("device") == volume.number)
        moved, number = pl.col("offset") + base, pl.lit(stream, pl.UInt8)
        frames.append(read.with_columns(moved.alias("offset"), number.alias("stream")).drop("device"))
        base += -(-volume.end_byte // _GRID) * _GRID
    folder.mkdir(exist_ok=True)
    begun = path.with_suffix(f".{os.getpid()}.part")
    merged = reduce(lambda one, other: one.merge_sorted(other, "time_ns", maintain_order=True), frames)
    merged.sink_parquet(begun, compression="zstd")
    begun.replace(path)
    return path
