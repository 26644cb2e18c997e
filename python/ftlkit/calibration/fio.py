"""Reads what fio reported: JSON of `fio --output-format=json`, one entry a job.

Of each job it takes what was asked (`job options` over `global options`) and what came of it. fio 3
states latencies in nanoseconds (`lat_ns`, `clat_ns`), fio 2 in microseconds (`lat`, `clat`).
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from ftlkit._native import UserError
from ftlkit._util import Json

DIRECTIONS = {
    "read": "read",
    "randread": "read",
    "write": "write",
    "randwrite": "write",
    "trim": "trim",
    "randtrim": "trim",
}
"""What fio calls the kinds of jobs that are understood, and which part of a report has them."""

MIXED = "mixed"
"""The direction of jobs that do several things at once, such as `randrw`."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

_LONG = 40
"""Longer values are cut in errors."""

AS_WRITTEN = "Take the report as fio wrote it, or take this job's entry out of it."
"""The next step where a figure cannot be."""

_AGAIN = "Run the job file of `ftlkit calibrate --print-jobs` with `fio --output-format=json --output=FILE.json`."


@dataclass(frozen=True)
class Job:
    """One job of a report."""

    file: str
    name: str
    kind: str
    """What fio calls it, such as `randread`."""
    direction: str
    """`read`, `write`, `trim` or `mixed`."""
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
    """Of a mixed job, what it wrote."""
    iops: float
    mean_ns: float
    percentiles_ns: dict[float, float]
    """By percent; empty where the report has none."""
    deviation_ns: float
    group: int = 0
    """Jobs of one number ran at the same time."""
    rate: float = 0.0
    """Offered requests per second (`rate_iops`); 0: as many as were served."""
    is_poisson: bool = False
    """Whether they came at random times (`rate_process=poisson`)."""

    @property
    def median_ns(self) -> float | None:
        """None where the report has no percentiles."""
        return self.percentiles_ns.get(50.0)


def read(path: Path) -> list[Job]:
    """The jobs of a report, in their order."""
    document = _document(path)
    shared = _table(document, "global options", str(path))
    return _together([_job(path, place, entry, shared) for place, entry in enumerate(document["jobs"], 1)])


def capacity(path: Path) -> int | None:
    """The capacity that the job file of `--print-jobs` states in its description."""
    document = _document(path)
    text = str(_table(document, "global options", str(path)).get("description", ""))
    stated = re.search(r"capacity=(\d+)", text)
    return int(stated[1]) if stated else None


BEFORE = ("erased", "full", "settled")
"""States of a drive before the first job."""


def before(path: Path) -> tuple[str, float]:
    """The drive's state before the first job, and the share with data, by the description.

    `before=full` was written once in order, `before=settled` also at random until write
    amplification had settled; `before=full:80%` holds data in the first 80 %.
    """
    text = str(_table(_document(path), "global options", str(path)).get("description", ""))
    stated = re.search(r"before=(\S*)", text)
    if stated is None:
        return BEFORE[0], 0.0
    found = re.fullmatch(r"(erased|full|settled)(?::(\d+(?:\.\d+)?)%)?", stated[1])
    share = float(found[2] or 100) / 100 if found else 0.0
    if found is None or not 0 < share <= 1:
        state = next((one for one in BEFORE if stated[1].startswith(one[:3])), "settled")
        raise UserError(
            f"{path}: before={stated[1]} is no state of a drive; there are {', '.join(BEFORE)}, with a share up to "
            f"100%. Write: description={text.replace(stated[0], f'before={state}:80%')}"
        )
    return found[1], share


def _document(path: Path) -> Json:
    try:
        text = path.read_text(encoding="utf-8-sig")
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
        return "this is fio's terse output, without the jobs' settings."
    if re.search(r"^\s*(read|write)\s*: IOPS=|rw=rand|\(groupid=", text, re.MULTILINE):
        return "this is fio's output for people."
    return "there is no JSON in it."


def _table(table: Json, key: str, where: str) -> Json:
    """An object of a report; empty where there is none."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UserError(f"{where}: `{key}` is {_short(value)}, and must be an object. {AS_WRITTEN}")
    made: Json = value
    return made


def _number(table: Json, key: str, where: str, *, may_be_0: bool = True) -> float:
    """A figure of a report; 0 where there is none and it may be."""
    value = table.get(key.rpartition(".")[2], 0)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (value == 0 and not may_be_0):
        wanted = "a number, 0 or more" if may_be_0 else "a number above 0"
        raise UserError(f"{where}: {key} is {_short(value)}, and must be {wanted}. {AS_WRITTEN}")
    return float(value)


def _short(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _job(path: Path, place: int, entry: Json, shared: Json) -> Job:
    if not isinstance(entry, dict):
        raise UserError(f"{path}, job {place} of `jobs`: it is {_short(entry)}, and must be an object. {AS_WRITTEN}")
    name = str(entry.get("jobname", ""))
    where = f"{path}, job {name}"
    options: Json = shared | _table(entry, "job options", where)
    kind = str(options.get("rw", options.get("readwrite", "read"))).partition(":")[0]
    if entry.get("error"):
        raise UserError(f"{where}: it failed with error {entry['error']}. Make it run, or take its entry out.")
    direction = DIRECTIONS.get(kind, MIXED)
    part = "write" if direction == MIXED else direction
    done = _table(entry, part, where)
    requests = int(_number(done, f"{part}.total_ios", where))
    if not requests and direction != MIXED:
        raise UserError(f"{where}: it did no {direction}. Let it run longer, or take its entry out.")
    mean, percentiles, deviation = _latency(done, part, where) if direction in ("read", "write") else (0, {}, 0)
    rate = _rate(options, kind, where)
    if rate and not percentiles:
        raise UserError(f"{where}: it has no percentiles. Write: clat_percentiles=1")
    size = 0 if direction == MIXED else _block(options, where)
    return Job(
        file=str(path),
        name=name,
        kind=kind,
        direction=direction,
        is_random=kind.startswith("rand"),
        is_uniform=str(options.get("norandommap", "0")) != "0",
        size=size,
        depth=_count(options, "iodepth", where) * _jobs_at_once(options, where),
        begin=_place(options.get("offset", "0"), "offset", where),
        area=_place(options["size"], "size", where) if "size" in options else None,
        requests=requests,
        moved_bytes=int(_number(done, f"{part}.io_bytes", where)) or requests * size,
        iops=_number(done, f"{part}.iops", where),
        mean_ns=mean,
        percentiles_ns=percentiles,
        deviation_ns=deviation,
        group=int(_number(entry, "groupid", where)),
        rate=rate * _jobs_at_once(options, where),
        is_poisson=str(options.get("rate_process", "linear")) == "poisson",
    )


def _rate(options: Json, kind: str, where: str) -> float:
    """Offered requests per second; 0 where none are stated."""
    if "rate_iops" not in options:
        return 0.0
    text = str(options["rate_iops"])
    found = re.match(r"(\d+)(k?)", text.lower())
    first = (int(found[1]) * (1000 if found[2] else 1) if found else 0) or 10_000
    if kind not in DIRECTIONS or DIRECTIONS[kind] == "trim":
        last = re.sub(r"\D", "", text.rpartition(",")[2]) or first
        raise UserError(
            f"{where}: rw={kind} at a rate is not one stream. Write two jobs without stonewall between them: one with "
            f"rw=randread and rate_iops={first}, one with rw=randwrite and rate_iops={last}"
        )
    if not re.fullmatch(r"0*[1-9]\d{0,8}", text):
        raise UserError(f"{where}: rate_iops={text} is not one rate above 0. Write: rate_iops={first}")
    return float(text)


def _block(options: Json, where: str) -> int:
    """Bytes of a request."""
    key = next((key for key in ("bsrange", "bssplit", "bs", "blocksize") if key in options), "bs")
    size = _size(str(options.get(key, "4k")), key, where)
    if not size:
        raise UserError(f"{where}: {key}={options[key]} is no size of a request. Give each job one, such as bs=4k.")
    return size


def _count(options: Json, key: str, where: str) -> int:
    """An option that counts from 1; 1 where it is not stated."""
    text = str(options.get(key, 1))
    if not re.fullmatch(r"0*[1-9]\d{0,8}", text):
        raise UserError(f"{where}: {key}={text} is no count from 1. {AS_WRITTEN}")
    return int(text)


def _jobs_at_once(options: Json, where: str) -> int:
    """How many jobs an entry is about: those of a group are told together."""
    return _count(options, "numjobs", where) if "group_reporting" in options else 1


def _latency(done: Json, part: str, where: str) -> tuple[float, dict[float, float], float]:
    """Mean, percentiles and standard deviation of a request's time, in nanoseconds."""
    for total, completion, factor in (("lat_ns", "clat_ns", 1.0), ("lat", "clat", 1e3)):
        key = next((key for key in (total, completion) if done.get(key)), None)
        if key is None:
            continue
        told = _table(done, key, where)
        mean = _number(told, f"{part}.{key}.mean", where, may_be_0=False)
        shares = _percentiles(told, f"{part}.{key}", where)
        submission = 0.0
        if not shares and done.get(completion) and key != completion:
            completed = _table(done, completion, where)
            shares = _percentiles(completed, f"{part}.{completion}", where)
            # That leaves out submission, of which there is the mean alone.
            if shares:
                submission = max(0.0, mean - _number(completed, f"{part}.{completion}.mean", where))
        percentiles = {share: (value + submission) * factor for share, value in shares.items()}
        return mean * factor, percentiles, _number(told, f"{part}.{key}.stddev", where) * factor
    raise UserError(f"{where}: it has no latencies (lat_ns). Leave out disable_lat and gtod_reduce. {_AGAIN}")


def _percentiles(told: Json, key: str, where: str) -> dict[float, float]:
    """The percentiles that points are made of, as far as there are any."""
    stated = {float(share): value for share, value in _table(told, "percentile", where).items() if _is_number(share)}
    names = {50.0: "median", 99.0: "p99", 99.9: "p99_9"}
    return {
        share: _number({name: stated[share]}, f"{key}.percentile.{name}", where, may_be_0=False)
        for share, name in names.items()
        if share in stated
    }


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


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
                "rate": last.rate + job.rate,
                "mean_ns": (last.mean_ns * last.requests + job.mean_ns * job.requests) / max(1, requests),
            }
        )
    return made
