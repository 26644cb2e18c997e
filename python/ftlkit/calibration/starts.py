"""Closed forms, from which the fit begins: what latencies and bounds say of a shape.

Reads of one page at depth 1 take link + tR + transfer, and without data the link alone. Of n pages,
one on each of as many dies, the last comes after n ÷ channels transfers. With q requests
outstanding, D dies serve D ÷ (tR + transfer) × q ÷ (q + D − 1) a second, as a closed network of D
alike stations does, or channels ÷ transfer if that is less. Such a queue waits for channels and
says nothing of dies, so that a shallower one is asked. First writes in order keep all dies busy in
the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ftlkit.calibration.points import IOPS, LATENCY, LOAD, READ, TRIMMED, WRITE, Point

if TYPE_CHECKING:
    from ftlkit.calibration.model import Shape, Values

LARGEST = 64
"""The most channels, and the most dies per channel, that are tried."""

FASTER = 0.8
"""Requests that end this far below reads asked no flash: no flash programs faster than it reads."""

_FREE = 0.7
"""The share of what channels can move, up to which reads wait for dies rather than for channels."""


def page_size(points: Iterable[Point]) -> int | None:
    """The smallest write at depth 1 that needs no read of the rest of its page."""
    writes = [point for point in points if point.kind == WRITE and point.figure == LATENCY]
    if not writes:
        return None
    least = min(point.measured for point in writes)
    return min(point.size for point in writes if point.measured <= 1.15 * least)


def answers_from_buffer(points: Iterable[Point]) -> bool:
    """Whether writes end before flash could have programmed them."""
    read = _least(points, READ)
    write = _least(points, WRITE)
    return read is not None and write is not None and write < FASTER * read


def reads_flash_for_nothing(points: Iterable[Point]) -> bool:
    """Whether reads of what was trimmed take about as long as reads of data."""
    read = _least(points, READ)
    trimmed = _least(points, TRIMMED)
    return read is not None and trimmed is not None and trimmed >= FASTER * read


def _least(points: Iterable[Point], kind: str) -> float | None:
    alone = [point for point in points if point.kind == kind and point.figure == LATENCY]
    return min(alone, key=lambda point: point.size).measured if alone else None


def values(points: Sequence[Point], shape: Shape, assumed: Values) -> Values:
    """Where the parameters begin for a shape; those that nothing tells are the assumed ones."""
    made = dict(assumed)
    reads = sorted((p for p in points if p.kind == READ and p.figure == LATENCY), key=lambda point: point.size)
    if not reads:
        return made
    link = _least(points, TRIMMED)
    one = reads[0].measured - (link or 0.0)
    transfer = _transfer_ns(reads, shape)
    made["transfer_latency"] = min(transfer or assumed["transfer_latency"], 0.7 * one)
    # A read that finds nothing takes the link's time, and one of data no more than flash beside it.
    held = one if link is not None else _held_ns(points, shape, transfer) or 0.8 * one
    made["read_latency"] = min(max(held - made["transfer_latency"], 0.05 * one), one)
    rest = max(0.0, one - made["read_latency"] - made["transfer_latency"])
    made["link_latency"] = rest if link is None else link
    write = _least(points, WRITE)
    if write is not None and not answers_from_buffer(points):
        made["program_latency"] = max(write - made["transfer_latency"] - made["link_latency"], 0.1 * write)
    elif filled := [p for p in points if p.kind == WRITE and p.figure == IOPS]:
        pages = max(point.measured * max(1.0, point.size / shape.page_size) for point in filled)
        made["program_latency"] = max(1e9 * shape.dies / pages - made["transfer_latency"], 1e3)
    return made


def programmed(points: Iterable[Point], values: Values) -> Values:
    """The same start; without first writes, the least median under load shows the program time."""
    points = list(points)
    medians = [point.measured for point in points if point.kind == LOAD and point.is_write and point.figure == "p50"]
    if not medians or any(point.kind == WRITE for point in points):
        return values
    rest = sum(values[name] for name in ("transfer_latency", "link_latency", "controller_latency"))
    return values | {"program_latency": max(min(medians) - rest, 0.1 * min(medians))}


def _held_ns(points: Iterable[Point], shape: Shape, transfer_ns: float | None) -> float | None:
    """How long a read of one page holds its die, from the deepest queue that waits for dies."""
    most = _FREE * 1e9 * shape.channels / transfer_ns if transfer_ns else math.inf
    deep = [p for p in points if p.kind == READ and p.figure == IOPS and p.is_random and p.size <= shape.page_size]
    deep = [point for point in deep if point.measured < most]
    if not deep:
        return None
    top = max(deep, key=lambda point: point.depth)
    share = top.depth / (top.depth + shape.dies - 1)
    return 1e9 * shape.dies / top.measured * share


def _transfer_ns(reads: Sequence[Point], shape: Shape) -> float | None:
    """What a page takes on its bus, from reads of several pages at depth 1."""
    base = reads[0].measured
    for read in reversed(reads):
        pages = read.size // shape.page_size
        rounds = math.ceil(pages / shape.channels)
        if rounds > 1 and pages <= shape.dies:
            return max((read.measured - base) / (rounds - 1), 0.001 * base)
    return None


def shapes(points: Sequence[Point], shape: Shape, fixed: Iterable[str]) -> list[Shape]:
    """The shapes to try: powers of two, as many dies as the most reads per second need."""
    given = set(fixed)
    powers = [1 << power for power in range(LARGEST.bit_length())]
    channels = [shape.channels] if "channels" in given else powers
    dies = [shape.dies_per_channel] if "dies_per_channel" in given else powers
    reads = [p for p in points if p.kind == READ]
    one = _least(points, READ)
    most = max((p.measured * 1e-9 for p in reads if p.figure == IOPS and p.size <= shape.page_size), default=0.0)
    made = []
    for count in channels:
        for beside in dies:
            # Each read holds a die for no longer than it takes alone, and for a twentieth at least.
            is_enough = one is None or count * beside > 0.4 * most * one / 2
            is_few = one is None or not most or count * beside < 8 * max(1.0, most * one)
            if (is_enough and is_few) or {"channels", "dies_per_channel"} <= given:
                made.append(type(shape)(count, beside, shape.page_size, shape.pages_per_block, shape.capacity))
    return made


def coarse(points: Sequence[Point]) -> list[Point]:
    """Some reads that tell shapes apart: the last, the middle and the first of each row."""
    rows: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        if point.kind == READ:
            rows.setdefault((point.kind, point.is_random, point.figure), []).append(point)
    chosen: list[Point] = []
    for row in rows.values():
        ordered = sorted(row, key=lambda point: (point.depth, point.size))
        chosen += [ordered[place] for place in sorted({0, len(ordered) // 2, len(ordered) - 1}, reverse=True)]
    return chosen
