"""Workloads in one line: `randwrite`, `zipf`, `log` and fio job files become workload tables.

A name is a pattern and a share of writes; options say the rest. The tables are those that a study
has: a generator, a closed loop of a depth, and how the device is prepared. Where the span is not
given, it is the data on the device: its capacity, or the share of it that is in use.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.trace_files import trace_files
from ftlkit.study import fio_job, slices

_SECTOR = 512
"""Smaller requests than that are named with their unit."""

BS, SPAN, THETA = 4096, 1 << 30, 0.99
"""Bytes of a request and of the span, and the exponent of a popularity, where nothing says them."""

_CACHELIB = [
    {"weight": 16, "pattern": "uniform", "region": [0, 0.04], "stream": 1},
    {"weight": 1, "pattern": "sequential", "region": [0.04, 1], "sizes": "64KiB", "unit": "64KiB", "stream": 2},
]
"""Half of the bytes each with requests of 4 KiB."""

_PATTERNS: dict[str, tuple[str, Any, float]] = {
    "randwrite": ("random writes, each place equally likely", "uniform", 1),
    "randread": ("random reads of written data", "uniform", 0),
    "randrw": ("random reads and writes, half of each (--write-share)", "uniform", 0.5),
    "seqwrite": ("writes one after the other, from the start again at the end", "sequential", 1),
    "seqread": ("reads one after the other", "sequential", 0),
    "zipf": ("random writes, some places popular (--theta, 0.99)", {"zipf": {"theta": THETA}}, 1),
    "log": ("small appends, each followed by a flush", "sequential", 1),
    "cachelib": ("a flash cache: small objects over 4 %, a ring of large ones; a stream each", {"mixed": _CACHELIB}, 1),
}

NAMES = {name: description for name, (description, _, _) in _PATTERNS.items()}
"""What can be named, with what it is."""


def ambiguous(name: str) -> str:
    """A note for a name that is a file, too."""
    return f"{name} is both a workload and a file here: write preset:{name} or ./{name} to say which."


SPAN_OF_DEVICE = "device"
"""In a generator: as much as there is data on the device, or `workload.span` of the whole drive."""


@dataclass(frozen=True)
class Shape:
    """A workload before it is known how large the device is."""

    generator: Json
    host: Json = field(default_factory=dict)
    run: Json = field(default_factory=dict)
    span: int | None = None
    """Bytes of the drive that it spans; None for all data."""

    def alone(self) -> Json:
        """The `[workload]` table without a device: the usual span."""
        unit = self.generator["unit"]
        span = _checked(SPAN if self.span is None else self.span, unit)
        return {"generator": {**self.generator, "span": _whole(span, unit)}}

    def into(self, study: Json) -> None:
        """Complete a study whose other keys are set; `fit` gives it its span."""
        for section, table in (("host", self.host), ("run", self.run)):
            study[section] = table | study.get(section, {})
        span = {} if self.span is None else {"span": self.span}
        generator = {**self.generator, "span": SPAN_OF_DEVICE} | study["workload"].get("generator", {})
        study["workload"] = span | study["workload"] | {"generator": generator}


def fit(study: Json) -> None:
    """Give a workload whose span follows the device its span there, and a large device its slice.

    Each point of a sweep has its own: the spare, the capacity or the share in use may differ.
    """
    workload = study.get("workload", {})
    generator = workload.get("generator")
    if not isinstance(generator, dict) or generator.get("span") != SPAN_OF_DEVICE:
        return
    least = max(SPAN, _size("span", workload.get("span", SPAN)))
    device = study["device"] = slices.chosen(_with_size(study.get("device", {}), least), generator)
    drive, simulated = slices.sizes(device, generator) or (least, least)
    unit, in_use = generator.get("unit", BS), study.get("run", {}).get("in_use", 1)
    if "span" in workload:
        fits = workload.get("addresses", "refuse") != "refuse"
        span = _checked(workload["span"], unit, None if fits else (in_use, drive)) * simulated // drive
    else:
        span = int(simulated * _share(in_use, drive))
    fitted = generator | {"span": _whole(span, unit)}
    study["workload"] = {key: value for key, value in workload.items() if key != "span"} | {"generator": fitted}


def _checked(given: object, unit: object, most: tuple[float | str, int] | None = None) -> int:
    """The bytes of a given span: at least one request, and at most what is in use of the device."""
    span = _size("span", given)
    if span < _request(unit):
        raise UserError(f"workload.span = {given}: must be at least one request, {units.size(_request(unit))}.")
    if most is None:
        return span
    in_use, drive = most
    used = int(_share(in_use, drive) * drive)
    power = max(used.bit_length() - 5, 0) // 10
    within = f"--span {used >> 10 * power}{('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
    told = f"workload.span = {units.size(span) if isinstance(given, int) else given}: must be at most"
    if span > drive:
        raise UserError(
            f"{told} the capacity, {units.size(drive)}. Give {within}, a larger one (--capacity), or fold the "
            "addresses (--addresses wrap)."
        )
    # What is within a request of it the simulator decides, which counts pages.
    if span >= used + _request(unit):
        percent = min(math.ceil(1000 * span / drive) / 10, 100)
        raise UserError(
            f"{told} the data in use, {units.size(used)} (run.in_use = {in_use} of {units.size(drive)}). "
            f"Give --in-use {percent:g}% or {within}."
        )
    return span


def _whole(span: int, unit: object) -> int:
    """A span in whole requests, at least one."""
    return max(span // _request(unit), 1) * _request(unit)


def _request(unit: object) -> int:
    """Bytes of a request; what is wrong with them the simulator says."""
    return max(_size("bs", unit), 1)


def _share(in_use: float | str, drive: int) -> float:
    """The share in use, from 0 to 1; what is wrong with a number or a size the simulator says."""
    share = 1.0
    with suppress(UserError):
        share = _native.share(in_use) if isinstance(in_use, str) else float(in_use)
        return min(max(share, 0.0), 1.0)
    with suppress(UserError):
        share = _native.read_quantity("size", str(in_use)) / drive
    return min(share, 1.0)


def shape(choice: object, options: Mapping[str, Any]) -> Shape | None:
    """The workload of a name or of a fio job file; None for any other choice."""
    if isinstance(choice, (str, Path)) and fio_job.is_job(str(choice)):
        _refuse(options, ("bs", "write_share", "theta"), f"{choice} says it")
        job = fio_job.load(str(choice))
        return Shape(job.generator, job.host, job.run, _span(options) or job.generator.get("span"))
    if not isinstance(choice, str) or choice.removeprefix("preset:") not in _PATTERNS:
        return None
    if trace_files(choice):
        raise UserError(ambiguous(choice))
    name = choice.removeprefix("preset:")
    _, pattern, write_share = _PATTERNS[name]
    if name != "zipf":
        _refuse(options, ("theta",), "only zipf has an exponent")
    if name in ("log", "cachelib"):
        _refuse(options, ("write_share",), f"a {name} only writes")
    unit, sizes = _sizes(options.get("bs", BS))
    writes = options.get("write_share", write_share)
    _refuse_percent(writes)
    generator: Json = {"pattern": pattern, "unit": unit, "write_share": writes, "arrivals": fio_job.ARRIVALS, **sizes}
    if "theta" in options:
        generator["pattern"] = {"zipf": {"theta": float(options["theta"])}}
    generator = _apart(generator)
    closed: Json = {"loop": "closed"}
    if name == "log":
        generator["flush_every"] = 1
        # An append waits for the flush of the one before.
        closed["queue_depth"] = 1
    random_writes = pattern != "sequential" and name != "cachelib" and writes not in (0, "0", "0%")
    return Shape(
        generator,
        {} if "loop" in options else closed,
        {"precondition": "steady" if random_writes else "fill"},
        _span(options),
    )


def _sizes(bs: object) -> tuple[int, Json]:
    """The alignment of requests in bytes, and the generator's key of several sizes."""
    text = str(bs).strip()
    if text.isdecimal() and 0 < int(text) < _SECTOR:
        raise UserError(f"--bs {text}: is less than a sector. Did you mean {text}k? Bytes need their unit: {text}B.")
    if "/" in text:
        least, _, choice = fio_job.shared_sizes("--bs ", text)
        return least, choice
    ends = re.fullmatch(r"(\S+?)(\.\.|-)(\S+)", str(bs))
    if ends is None:
        return _size("bs", bs), {}
    least, most = _size("bs", ends[1]), _size("bs", ends[3])
    if not 0 < least <= most:
        meant = f"{ends[3]}{ends[2]}{ends[1]}" if least else f"1{ends[2]}{ends[3]}"
        raise UserError(
            f"--bs {bs}: a range goes from its smaller size, 1 B or more, to the larger. Did you mean {meant}?"
        )
    return least, {"sizes": fio_job.multiples(least, most)}


def _apart(generator: Json) -> Json:
    """A generator whose sizes lie at multiples of themselves, if several have shares."""
    pattern, sizes = generator["pattern"], generator.get("sizes", {})
    if pattern == "sequential" or "choice" not in sizes or "mixed" in pattern:
        return generator
    parts = [
        {"pattern": pattern, "weight": one["weight"], "unit": one["size"], "sizes": one["size"]}
        for one in sizes["choice"]
    ]
    return {key: value for key, value in generator.items() if key != "sizes"} | {"pattern": {"mixed": parts}}


def _refuse_percent(write_share: object) -> None:
    """Raise a `UserError` for a share of writes such as 30."""
    number = str(write_share)
    if number.replace(".", "", 1).isdecimal() and 1 < float(number) <= 100:
        raise UserError(
            f"--write-share {number}: must be 0 to 1. Did you mean {number}%? That is {float(number) / 100:g}."
        )


def refuse(options: Mapping[str, Any]) -> None:
    """Raise a `UserError` for an option that shapes a workload in one line, which this is not."""
    _refuse(options, ("bs", "write_share", "theta"), f"only workloads in one line ({', '.join(NAMES)}) take it")


def _span(options: Mapping[str, Any]) -> int | None:
    return _size("span", options["span"]) if "span" in options else None


def _refuse(options: Mapping[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in options:
            raise UserError(f"--{name.replace('_', '-')} {options[name]}: {why}. Leave it out.")


def _size(option: str, given: object) -> int:
    if isinstance(given, int):
        return given
    try:
        return _native.read_quantity("size", str(given))
    except UserError as error:
        raise UserError(f"--{option} {given}: {error}.") from None


def _with_size(device: Json, capacity: int) -> Json:
    """A `[device]` table; one without a size gets this one, in bytes."""
    is_open = not {"preset", "blocks_per_plane", "capacity"} & device.keys() or device.get("capacity") == "auto"
    return device | {"capacity": capacity} if is_open else device
