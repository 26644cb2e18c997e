"""The map look-ups of a workload: one for each page of a request, in order.

A write that covers a page in part reads that page first. That asks the map, too, and uses the
entry, but it counts with the write. Where the device is filled before, each page was written once,
in order.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from ftlkit import _native, study
from ftlkit._native import Control, UserError
from ftlkit._util import Json
from ftlkit.study import ReadingOptions

_READ, _WRITE, _TRIM = 0, 1, 2
"""Operations in the Parquet format of traces."""


@dataclass(frozen=True)
class Accesses:
    """Look-ups of a map in order."""

    pages: array[int]
    """The logical page of each."""
    completions: list[tuple[int, int]]
    """Pages that are read to complete them: before which look-up, and the page."""
    filled: int
    """Pages that were written before, in order: all logical pages, or none."""
    logical_pages: int
    """Of the device, or of the slice that stands for it."""
    scale: float
    """The device ÷ its slice: a cache of the device holds as many entries more."""
    study: Json
    """The study with every key filled in, of dftl with LRU, which makes these look-ups."""


def accesses(document: Json, control: Control) -> Accesses:
    """The look-ups of a study's workload on its device, after a fill or on an erased device."""
    cached = document | {"ftl": [study.scheme("dftl:cmt_policy=lru")]}
    resolved = study.filled(cached, control)
    page_bytes = study.mapped_bytes(resolved["device"])
    capacity = resolved["device"]["capacity"]
    logical = (simulated := resolved["device"].get("slice") or capacity) // page_bytes
    records = _records(resolved, control)
    place = _placement(resolved["workload"]["addresses"], logical)
    pages, completions = array("I"), list[tuple[int, int]]()
    written: set[int] = set()
    reads_unwritten = False
    for op, first, end, partial in _spans(records, page_bytes):
        placed = [place(page) for page in range(first, end)]
        looked_up = [placed[0 if at_first else -1] for at_first in partial] if op == _WRITE else []
        completions.extend((len(pages), page) for page in looked_up)
        pages.extend(placed)
        if op == _READ:
            looked_up = placed
        reads_unwritten = reads_unwritten or not written.issuperset(looked_up)
        if op == _WRITE:
            written.update(placed)
    if not pages:
        raise UserError("the workload reads, writes and trims no page: there is no look-up to draw a curve of.")
    filled = logical if _is_filled(resolved, reads_unwritten) else 0
    return Accesses(pages, completions, filled, logical, capacity / simulated, resolved)


def _is_filled(resolved: Json, reads_unwritten: bool) -> bool:  # noqa: FBT001 - what was found out
    """Whether the device is filled first: where asked for, or by `auto` for what is read."""
    mode = resolved["run"]["precondition"]
    if mode in ("steady", "workload"):
        raise UserError(
            f"run.precondition = {mode}: which entries it leaves in the cache only a run tells. Take auto, fill or "
            "none, or run dftl at each size (ftlkit sweep)."
        )
    return bool(mode == "fill" or (mode == "auto" and reads_unwritten))


def _records(resolved: Json, control: Control) -> pl.DataFrame:
    """The requests of a workload: operation, offset and length in bytes."""
    workload = resolved["workload"]
    with TemporaryDirectory(prefix="ftlkit-") as folder:
        path = str(Path(folder) / "records.parquet")
        shift, chosen = 0, None
        if "trace" in workload:
            options = json.dumps({key: workload[key] for key in ReadingOptions.__annotations__ if key in workload})
            done = json.loads(_native.trace_convert(workload["trace"], path, options, control))
            chosen = _device(workload, done["devices"])
        else:
            spec, _ = study.generator(workload.get("generator") or workload["preset"])
            spec |= {key: workload[key] for key in ("requests", "span") if workload.get(key) is not None}
            _native.trace_generate(json.dumps(spec), resolved["seed"], path, control)
            shift = workload.get("align_offset") or 0
        frame = pl.read_parquet(path, columns=["op", "offset", "length", "device"])
    if chosen is not None:
        frame = frame.filter(pl.col("device") == chosen)
    frame = frame.drop("device")
    limit = workload.get("requests") or frame.height * workload.get("repeat", 1)
    rounds = pl.concat([frame] * min(workload.get("repeat", 1), -(-limit // max(frame.height, 1))))
    return rounds.head(limit).with_columns(pl.col("offset") + shift)


def _device(workload: Json, devices: list[str]) -> int | None:
    """The device of the trace whose requests are taken; None where the trace has one only."""
    if len(devices) < 2:
        return None
    choice = str(workload.get("trace_device") or "only")
    if choice == "stacked":
        raise UserError(
            f"--trace-device stacked: a curve is of one device, and {workload['trace']} has {len(devices)}. Give the "
            f"name of one ({', '.join(devices[:5])}), or run dftl at each size (ftlkit sweep)."
        )
    return devices.index(choice.removeprefix("name:"))


def _spans(records: pl.DataFrame, page_bytes: int) -> Iterator[tuple[int, int, int, list[bool]]]:
    """Operation, first page and end of each request, and which are written in part.

    True in the list is the first page, False the last, if that is another one. Trims concern the
    pages that they cover whole.
    """
    for op, offset, length in records.iter_rows():
        end = offset + length
        if op in (_READ, _WRITE) and length:
            first, last = offset // page_bytes, (end - 1) // page_bytes
            begins_inside, ends_inside = offset % page_bytes != 0, end % page_bytes != 0
            is_one = first == last
            partial = [True] if begins_inside or (is_one and ends_inside) else []
            partial += [False] if ends_inside and not is_one else []
            yield op, first, last + 1, partial
        elif op == _TRIM:
            first, past = -(-offset // page_bytes), end // page_bytes
            if first < past:
                yield op, first, past, []


def _placement(addresses: str, logical: int) -> Callable[[int], int]:
    """The logical page of a workload's page: the same, by order of first use, or folded."""
    numbers: dict[int, int] = {}
    if addresses == "dense":
        return lambda page: numbers.setdefault(page, len(numbers))
    return (lambda page: page % logical) if addresses == "wrap" else (lambda page: page)
