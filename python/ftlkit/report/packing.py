"""A trace of flash as few bytes: what the player's script unpacks (`assets/player/recording.js`).

Columns stand one behind the other, each as numbers of as few bytes as they need. What grows slowly
is kept as differences. All of it is compressed, and written as base64.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from ftlkit.report.causes import CAUSES

if TYPE_CHECKING:
    from ftlkit.results.document import FlashTraceFacts

ROLES = (
    "",
    "data",
    "collected",
    "sequential_log",
    "random_log",
    "translation",
    "trimmed",
    "lost",
    "summary",
    "cached",
)
"""What pages are for; the first stands for none."""

OPS = ("read", "program", "erase")
REQUESTS = ("read", "write", "trim", "flush")
COPIES, FAILED, IDLE, BACKGROUND = 4, 8, 16, 32
"""Properties of an operation beside its kind, as bits."""

NOTES: dict[str, str] = {
    "mapping_hits": "The map in RAM knows where the page lies",
    "mapping_misses": "The map in RAM does not know where the page lies",
    "right_predictions": "The learned map predicts where the page lies",
    "wrong_predictions": "The learned map predicts a neighbour, whose tag names the page",
    "dirty_evictions": "A changed entry leaves the map in RAM: its translation page is rewritten",
    "switch_merges": "A switch merge: a log block becomes a data block as it is",
    "partial_merges": "The log block is complete and becomes the data block",
    "log_victims": "",
    "full_merges": "A full merge begins",
    "buffer_hits": "The write buffer holds an older version, which is replaced",
    "buffer_misses": "The page waits in the write buffer",
    "buffer_reads": "The page is read from the write buffer",
    "buffer_evictions": "Pages leave the write buffer",
    "relocated_blocks": "A block is emptied to level wear",
}
"""What the player says of notes, of one nothing: it tells which merges belong together."""


def pack(trace: FlashTraceFacts, pages_per_block: int) -> tuple[dict[str, int], str]:
    """How long the columns are, by name, and the columns."""
    start, requests, operations = trace["start"], trace["requests"], trace["operations"]
    stretches = [stretch for extents in requests["extents"] for stretch in extents]
    notes = [note for note in note_steps(trace) if note[1] in NOTES]
    programmed = [logical for logical in operations["logical"] if logical is not None]
    columns = [
        _differences(start["page"]),
        _numbers(ROLES.index(role) for role in start["role"]),
        _differences(start["logical"]),
        _numbers(start["is_valid"]),
        _differences(start["unusable"]),
        _differences(start["bad_blocks"]),
        _numbers(REQUESTS.index(op) for op in requests["op"]),
        _differences(requests["begin_ns"]),
        _numbers(end - begin for begin, end in zip(requests["begin_ns"], requests["end_ns"], strict=True)),
        _numbers(len(extents) for extents in requests["extents"]),
        _differences(requests["operations_before"]),
        _differences(first for first, _ in stretches),
        _numbers(count for _, count in stretches),
        _numbers(_flags(trace)),
        _numbers([*CAUSES].index(cause) for cause in operations["cause"]),
        _differences(
            block * pages_per_block + (page or 0)
            for block, page in zip(operations["block"], operations["page"], strict=True)
        ),
        _numbers(ROLES.index(role or "") for role in operations["role"]),
        _differences(operations["start_ns"]),
        _numbers(end - start for start, end in zip(operations["start_ns"], operations["end_ns"], strict=True)),
        _differences(programmed),
        _differences(step for step, _, _ in notes),
        _numbers([*NOTES].index(name) for _, name, _ in notes),
        _numbers(count for _, _, count in notes),
    ]
    sizes = {
        "stored": len(start["page"]),
        "unusable": len(start["unusable"]),
        "badBlocks": len(start["bad_blocks"]),
        "requests": len(requests["op"]),
        "stretches": len(stretches),
        "operations": len(operations["op"]),
        "programs": len(programmed),
        "notes": len(notes),
    }
    return sizes, base64.b64encode(zlib.compress(b"".join(columns), 9)).decode()


def note_steps(trace: FlashTraceFacts) -> list[tuple[int, str, int]]:
    """Each note with the step that it is told with: the next of its request, or else its last.

    A step is a request or an operation. Before an operation come its request and all earlier ones.
    """
    numbers, before = trace["requests"]["number"], trace["requests"]["operations_before"]
    total = len(trace["operations"]["op"])
    steps, request = [], 0
    for note in trace["notes"]:
        if note["request"] is not None:
            request = note["request"] - numbers[0]
        end = before[request + 1] if request + 1 < len(numbers) else total
        step = min(note["operations_before"] + request + 1, end + request)
        steps.append((step, note["name"], note["count"]))
    return steps


def _flags(trace: FlashTraceFacts) -> Iterable[int]:
    operations = trace["operations"]
    columns = (operations["copies"], operations["has_failed"], operations["request"], operations["background"])
    for op, copies, has_failed, request, background in zip(operations["op"], *columns, strict=True):
        bits = ((copies, COPIES), (has_failed, FAILED), (request is None, IDLE), (background, BACKGROUND))
        yield OPS.index(op) + sum(bit for is_set, bit in bits if is_set)


def _numbers(values: Iterable[int]) -> bytes:
    """Whole numbers from 0 on, seven bits a byte, the lowest first."""
    packed = bytearray()
    for value in values:
        rest = int(value)
        while rest > 127:
            packed.append(rest & 127 | 128)
            rest >>= 7
        packed.append(rest)
    return bytes(packed)


def _differences(values: Iterable[int]) -> bytes:
    """Each number as its difference to the one before; negative ones are odd."""
    changes = (value - last for last, value in pairwise([0, *values]))
    return _numbers(2 * change if change >= 0 else -2 * change - 1 for change in changes)
