"""Reads what fio reported: JSON of `fio --output-format=json`, one entry a job.

Of each job it takes what was asked (`job options` over `global options`) and what came of it. fio 3
states latencies in nanoseconds (`lat_ns`, `clat_ns`), fio 2 in microseconds (`lat`, `clat`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from ftlkit.results.document import Json

DIRECTIONS = {
    "read": "read",
    "randread": "read",
    "write": "write",
    "randwrite": "write",
    "trim": "trim",
    "randtrim": "trim",
}
"""What fio calls the kinds of jobs that are understood, and which part of a report has them."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

_AGAIN = "Run the job file of `ftlkit calibrate --print-jobs` with `fio --output-format=json --output=FILE.json`."


@dataclass(frozen=True)
class Job:
    """One job of a report."""

    file: str
    name: str
    direction: str
    """`read`, `write` or `trim`."""
    is_random: bool
    is_uniform: bool
    """Whether random places are drawn with replacement (`norandommap`)."""
    size: int
    """Bytes of a request."""
    depth: int
    begin: float
    """Where its area begins: bytes, or below 0 the negative share of the device."""
    area: float | None
    """How long the area is, in the same way; None: to the device's end."""
    requests: int
    moved_bytes: int
    iops: float
    mean_ns: float
    median_ns: float | None
    """None where the report has no percentiles."""
    deviation_ns: float


def read(path: Path) -> list[Job]:
    """The jobs of a report, in their order."""
    document = _document(path)
    shared = document.get("global options", {})
    jobs = [_job(path, entry, shared) for entry in document["jobs"]]
    return _together([job for job in jobs if job is not None])


def capacity(path: Path) -> int | None:
    """The capacity that the job file of `--print-jobs` states in its description."""
    document = _document(path)
    text = str(document.get("global options", {}).get("description", ""))
    stated = re.search(r"capacity=(\d+)", text)
    return int(stated[1]) if stated else None


def _document(path: Path) -> Json:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"cannot read {path}: {reason}. Give the JSON that fio wrote.") from None
    begin = re.search(r"^\{", text, re.MULTILINE)
    if begin is None:
        raise UserError(f"{path}: {_what_it_is(text)} {_AGAIN}")
    try:
        document, end = json.JSONDecoder().raw_decode(text, begin.start())
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: its JSON breaks off or is damaged in line {error.lineno} ({error.msg}). If fio was stopped, let "
            f"it end; if text of fio stands among the JSON, write the JSON alone. {_AGAIN}"
        ) from None
    if re.search(r"^\{", text[end:], re.MULTILINE):
        raise UserError(f"{path}: it has several reports, as --status-interval makes them. Leave that out. {_AGAIN}")
    if not isinstance(document.get("jobs"), list) or not document["jobs"]:
        raise UserError(f"{path}: this JSON has no `jobs`, so fio did not write it. {_AGAIN}")
    made: Json = document
    return made


def _what_it_is(text: str) -> str:
    """What a text without JSON seems to be."""
    if re.search(r"^\d+;fio-", text, re.MULTILINE):
        return "this is fio's terse output, which does not say what the jobs were."
    if re.search(r"^\s*(read|write)\s*: IOPS=|rw=rand|\(groupid=", text, re.MULTILINE):
        return "this is fio's output for people."
    return "there is no JSON in it."


def _job(path: Path, entry: Json, shared: Json) -> Job | None:
    name = str(entry.get("jobname", ""))
    where = f"{path}, job {name}"
    options: Json = shared | entry.get("job options", {})
    kind = str(options.get("rw", options.get("readwrite", "read"))).partition(":")[0]
    if kind not in DIRECTIONS:
        return None
    if entry.get("error"):
        raise UserError(f"{where}: it failed with error {entry['error']}. Make it run, or leave it out with --jobs.")
    done = entry.get(DIRECTIONS[kind], {})
    requests = int(done.get("total_ios", 0))
    if not requests:
        raise UserError(f"{where}: it did no {DIRECTIONS[kind]}. Let it run longer, or leave it out with --jobs.")
    mean, median, deviation = (
        _latency(done, where) if kind in ("read", "randread", "write", "randwrite") else (0, None, 0)
    )
    return Job(
        file=str(path),
        name=name,
        direction=DIRECTIONS[kind],
        is_random=kind.startswith("rand"),
        is_uniform=str(options.get("norandommap", "0")) != "0",
        size=_size(str(options.get("bs", options.get("blocksize", "4k"))), "bs", where),
        depth=int(options.get("iodepth", 1)) * _jobs_at_once(options),
        begin=_place(options.get("offset", "0"), "offset", where),
        area=_place(options["size"], "size", where) if "size" in options else None,
        requests=requests,
        moved_bytes=int(done.get("io_bytes", 0)) or requests * _size(str(options.get("bs", "4k")), "bs", where),
        iops=float(done.get("iops", 0.0)),
        mean_ns=mean,
        median_ns=median,
        deviation_ns=deviation,
    )


def _jobs_at_once(options: Json) -> int:
    """How many jobs an entry is about: those of a group are told together."""
    return int(options.get("numjobs", 1)) if "group_reporting" in options else 1


def _latency(done: Json, where: str) -> tuple[float, float | None, float]:
    """Mean, median and standard deviation of a request's time, in nanoseconds."""
    for total, completion, factor in (("lat_ns", "clat_ns", 1.0), ("lat", "clat", 1e3)):
        told: Json = done.get(total) or done.get(completion) or {}
        if not told:
            continue
        mean, median = float(told["mean"]), _median(told)
        if median is None:
            completed: Json = done.get(completion) or told
            median = _median(completed)
            # That leaves out submission, of which there is the mean alone.
            median = None if median is None else median + max(0.0, mean - float(completed["mean"]))
        return mean * factor, median and median * factor, float(told.get("stddev", 0.0)) * factor
    raise UserError(f"{where}: it has no latencies (lat_ns). Leave out disable_lat and gtod_reduce. {_AGAIN}")


def _median(told: Json) -> float | None:
    return next((float(value) for key, value in told.get("percentile", {}).items() if float(key) == 50.0), None)


def _size(text: str, key: str, where: str) -> int:
    """A size of fio: `4k`, `4KiB`, `1m`, `4096`; of a pair for reads and writes, the first."""
    match = re.fullmatch(r"(\d+)\s*([kmgtp]?)(i?b)?", text.split(",", maxsplit=1)[0].strip(), re.IGNORECASE)
    if match is None:
        raise UserError(f"{where}: {key}={text} is not one size. Give each size a job of its own, such as {key}=4k.")
    return int(match[1]) << (10 * _POWERS[match[2].lower()])


def _place(text: object, key: str, where: str) -> float:
    """Bytes, or below 0 the negative share of the device that a percentage is."""
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", str(text).strip())
    return -float(share[1]) / 100 if share else _size(str(text), key, where)


def _together(jobs: list[Job]) -> list[Job]:
    """Jobs of one name in a row, as `numjobs` makes them, become one."""
    made: list[Job] = []
    for job in jobs:
        if not made or made[-1].name != job.name:
            made.append(job)
            continue
        last, requests = made[-1], made[-1].requests + job.requests
        made[-1] = Job(
            **{
                **vars(last),
                "depth": last.depth + job.depth,
                "requests": requests,
                "moved_bytes": last.moved_bytes + job.moved_bytes,
                "iops": last.iops + job.iops,
                "mean_ns": (last.mean_ns * last.requests + job.mean_ns * job.requests) / requests,
            }
        )
    return made
