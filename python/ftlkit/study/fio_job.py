"""fio job files: the jobs of a file become a workload; what cannot be read is named in a warning.

Jobs that run together are parts of a mixture. Where a key has a value for reads and
one for writes by a comma, each request has that of its direction.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json

ARRIVALS = {"poisson": {"mean_gap": "100us"}}
"""When requests come where a load is offered; a closed loop does not wait for them."""

_SUFFIX = ".fio"

_PATTERNS: dict[str, tuple[bool, float | None]] = {
    "read": (False, 0),
    "write": (False, 1),
    "randread": (True, 0),
    "randwrite": (True, 1),
    "rw": (False, None),
    "readwrite": (False, None),
    "randrw": (True, None),
}
"""Of each value of `rw`: whether places are random, and the share of writes if all are alike."""

_SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2")
"""Engines that wait for each request, whatever `iodepth` says; psync is fio's own choice."""

KEYS = {
    "rw": ", ".join(_PATTERNS),
    "rwmixread, rwmixwrite": "share of reads or writes, in percent",
    "bs, bssplit, bsrange": "request sizes: 4k; 4k/60:16k/40; 4k-16k",
    "size": "the span; with % the share of the device in use",
    "random_distribution": "random, zipf:THETA, zoned:80/20:20/80",
    "norandommap": "without it each place comes once per pass",
    "rate, rate_iops": "bytes or requests per second, which arrive evenly (an open loop)",
    "iodepth, numjobs": "their product is outstanding (a closed loop)",
    "ioengine": f"one request at a time with {', '.join(_SYNCHRONOUS)}; default psync",
    "number_ios, io_size, loops": "how many requests, or bytes",
    "fsync": "writes per flush",
    "filename": "jobs of one file share its addresses",
    "stonewall, wait_for_previous": "the job runs alone: name it, JOBS.fio:JOB",
}
"""What is read of a job, with what becomes of it."""

OTHER_NAMES = {
    "readwrite": "rw",
    "filesize": "size",
    "fdatasync": "fsync",
    "io_limit": "io_size",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
}

_DIRECTIONS = 3
"""Reads, writes and trims."""

HARMLESS = {
    *("name", "direct", "filename", "directory", "group_reporting", "thread", "invalidate", "stonewall"),
    "wait_for_previous",
    *("description", "buffered", "refill_buffers", "write_lat_log", "write_bw_log", "write_iops_log", "log_avg_msec"),
    *("norandommap", "randrepeat", "randseed", "allow_mounted_write", "create_serialize", "end_fsync"),
}
"""Keys that change nothing here, or that are read where they do."""


@dataclass(frozen=True)
class Job:
    """A job as the tables of a study."""

    generator: Json
    host: Json
    run: Json
    rate: float | None
    """Requests per second, where it says some."""
    file: str | None
    waits: bool
    """Whether it begins when those before it have ended."""


def is_job(path: str) -> bool:
    """Whether a name is that of a job file, perhaps with a job behind a colon."""
    return Path(path.partition(f"{_SUFFIX}:")[0]).suffix == _SUFFIX or f"{_SUFFIX}:" in path


def load(name: str) -> Job:
    """The only job of a file, or the named one: `jobs.fio:reads`."""
    before, colon, chosen = name.partition(f"{_SUFFIX}:")
    path = Path(f"{before}{_SUFFIX}" if colon else name)
    import configparser  # noqa: PLC0415 - only a job file needs it

    reader = configparser.ConfigParser(
        allow_no_value=True, comment_prefixes=("#", ";"), strict=False, interpolation=None, default_section="global"
    )
    try:
        reader.read_string(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is no job file ({str(error).splitlines()[0]})"
        raise UserError(f"cannot read {path}: {reason}.") from None
    jobs = reader.sections()
    if chosen and chosen not in jobs:
        raise UserError(f"{path} has no job {chosen}. It has {', '.join(jobs) or 'none'}.")
    if not jobs:
        raise UserError(f"{path} has no job.")
    read = {name: _Reading(str(path), dict(reader[name])).job() for name in ([chosen] if chosen else jobs)}
    return mixed(str(path), read)


def mixed(path: str, jobs: dict[str, Job]) -> Job:
    """The workload of jobs that run together: a mixture, of each job by its rate or its depth."""
    if len(jobs) == 1:
        return next(iter(jobs.values()))
    if reason := _apart(jobs):
        name = next(iter(jobs))
        raise UserError(
            f"{path} has {len(jobs)} jobs ({', '.join(jobs)}), {reason}: name one. Did you mean {path}:{name}?"
        )
    first = next(iter(jobs.values()))
    weights = {name: job.rate or job.host["queue_depth"] for name, job in jobs.items()}
    total = sum(job.generator.get("span", 0) for job in jobs.values())
    is_shared = not total or (len({job.file for job in jobs.values()}) == 1 and first.file is not None)
    span = max(job.generator.get("span", 0) for job in jobs.values()) if is_shared else total
    parts, begin = [], 0
    for stream, (name, job) in enumerate(jobs.items(), start=1):
        own = job.generator.get("span", 0)
        region = (begin / span, (begin + own) / span) if span else (0.0, 1.0)
        parts += [_part(one, weights[name], region, stream) for one in _parts(job.generator)]
        begin += 0 if is_shared else own
    generator: Json = {"pattern": {"mixed": parts}, "unit": min(job.generator["unit"] for job in jobs.values())}
    generator |= {key: first.generator[key] for key in ("arrivals", "flush_every") if key in first.generator}
    generator |= {"span": span} if span else {}
    if all("requests" in job.generator for job in jobs.values()):
        generator["requests"] = sum(job.generator["requests"] for job in jobs.values())
    run = first.run | ({"precondition": "steady"} if any(_is_steady(job) for job in jobs.values()) else {})
    if first.rate is not None:
        return Job(generator | {"arrivals": _at(sum(weights.values()))}, first.host, run, None, None, waits=False)
    warnings.warn(
        f"{path}: {len(jobs)} jobs run as one, and each has as large a share of the requests as of the queue depth.",
        RuntimeWarning,
        stacklevel=2,
    )
    return Job(
        generator, {"loop": "closed", "queue_depth": sum(map(int, weights.values()))}, run, None, None, waits=False
    )


def _apart(jobs: dict[str, Job]) -> str:
    """Why jobs are no single workload; empty where they are."""
    read = list(jobs.values())
    if any(job.waits for job in read[1:]):
        return "which run one after the other (stonewall)"
    if len({job.rate is None for job in read}) > 1:
        return "of which only some have a rate"
    if len({"span" in job.generator for job in read}) > 1 or len({job.run.get("in_use") for job in read}) > 1:
        return "of which only some have a size"
    return (
        "which flush unlike each other (fsync)" if len({job.generator.get("flush_every") for job in read}) > 1 else ""
    )


def _is_steady(job: Job) -> bool:
    return bool(job.run["precondition"] == "steady")


def _parts(generator: Json) -> list[Json]:
    """A job as parts: itself, or those that it is a mixture of, whose weights then add up to 1."""
    own: Json = {key: generator[key] for key in ("pattern", "write_share", "sizes", "unit") if key in generator}
    inner = own["pattern"].get("mixed") if isinstance(own["pattern"], dict) else None
    if inner is None:
        return [own]
    total = sum(part.get("weight", 1) for part in inner)
    return [own | part | {"weight": part.get("weight", 1) / total} for part in inner]


def _part(part: Json, weight: float, region: tuple[float, float], stream: int) -> Json:
    """A part of a job as one of the mixture, in the job's part of the data."""
    begin, end = part.get("region", (0.0, 1.0))
    width = region[1] - region[0]
    return part | {
        "weight": weight * part.get("weight", 1),
        "region": [region[0] + width * begin, region[0] + width * end],
        "stream": stream,
    }


def _at(rate: float) -> Json:
    """Arrivals at requests per second."""
    return {"constant": {"gap": f"{round(1e9 / rate)}ns"}}


def multiples(least: int, most: int) -> Json:
    """Sizes of a range in bytes: to fio, multiples of the least, equally likely."""
    return {"uniform": {"min": least, "max": most, "step": least}}


def _size(where: str, text: str) -> int:
    # To fio, 4k, 4kb and 4KiB are the same.
    plain = text if text.lower().endswith("ib") else text.rstrip("bB")
    try:
        return _native.read_quantity("size", plain)
    except UserError as error:
        raise UserError(f"{where}{text}: {error}.") from None


def shared_sizes(where: str, text: str) -> tuple[int, float, Json]:
    """Sizes with their shares, as fio has them: the least, the mean and the generator's key.

    Those without a share take the rest alike.
    """
    parts = [part.partition("/")[::2] for part in text.split(":")]
    shares = [float(share.rstrip("%")) for _, share in parts if share.rstrip("%").replace(".", "", 1).isdecimal()]
    empty = [size for size, share in parts if not share]
    if len(shares) + len(empty) < len(parts) or not (empty or any(shares)):
        raise UserError(f"{where}{text} is not read. Give each size its share: 4k/60:16k/40.")
    rest = max(100 - sum(shares), 0) / max(len(empty), 1)
    pairs = [(_size(where, size), float(share.rstrip("%") or rest)) for size, share in parts]
    mean = sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
    choice = [{"size": size, "weight": weight} for size, weight in pairs]
    return min(size for size, _ in pairs), mean, {"sizes": {"choice": choice}}


class _Reading:
    """The keys of a job, each taken once; those that are left are named."""

    def __init__(self, path: str, keys: dict[str, str | None]) -> None:
        self._path = path
        self._keys = {OTHER_NAMES.get(key, key): value for key, value in keys.items()}

    def job(self) -> Job:
        """The tables that say the same."""
        rw = str(self._take("rw", "read"))
        if rw not in _PATTERNS:
            raise UserError(f"{self._path}: rw={rw} is not read. Give one of {', '.join(_PATTERNS)}.")
        is_random, writes = _PATTERNS[rw]
        share = self._write_share() if writes is None else writes
        rates = self._rates(share)
        share = rates[1] / sum(rates) if rates and writes is None and sum(rates) else share
        generator: Json = {"pattern": self._pattern(is_random=is_random), "arrivals": ARRIVALS}
        unit, mean_bytes = self._shape(generator, share)
        generator["write_share"] = share
        flush_every = self._count("fsync", "0")
        if flush_every:
            generator["flush_every"] = flush_every
        run: Json = {"precondition": "steady" if is_random and generator["write_share"] else "fill"}
        size = self._take("size", None)
        if size and str(size).endswith("%"):
            run["in_use"] = _native.share(str(size))
        elif size:
            generator["span"] = max(self._bytes("size", str(size)) // unit, 1) * unit
        requests = self._requests(mean_bytes)
        if requests:
            generator["requests"] = requests
        rate = self._rate(rates, share, mean_bytes)
        host = self._host()
        if rate:
            generator["arrivals"], host = _at(rate), {"loop": "open"}
        waits = not {"stonewall", "wait_for_previous"}.isdisjoint(self._keys)
        file = self._keys.get("filename")
        left = [key if value is None else f"{key}={value}" for key, value in self._keys.items() if key not in HARMLESS]
        if left:
            warnings.warn(f"{self._path}: not read: {', '.join(left)}.", RuntimeWarning, stacklevel=2)
        return Job(generator, host, run, rate, file, waits=waits)

    def _shape(self, generator: Json, share: float) -> tuple[int, float]:
        """Give a generator its sizes; their least and their mean in bytes.

        Reads and writes of sizes of their own are parts of a mixture.
        """
        keys = [(key, self._take(key, None)) for key in ("bssplit", "bsrange", "bs")]
        given = [(key, self._pair(key, value or "")) for key, value in keys if value is not None]
        reads, writes = (self._sizes({key: text for key, pair in given if (text := pair[place])}) for place in (0, 1))
        if reads == writes or share in (0, 1):
            unit, mean, sizes = writes if share else reads
            generator |= {"unit": unit, **sizes}
            return unit, mean
        inner = generator["pattern"].get("mixed") if isinstance(generator["pattern"], dict) else None
        parts: list[Json] = []
        for (unit, _, sizes), weight, op in ((reads, 1 - share, 0), (writes, share, 1)):
            for part in inner or [{"pattern": generator["pattern"]}]:
                own = part | {"write_share": op, "unit": unit, **sizes}
                parts.append(own | {"weight": weight * part.get("weight", 1)})
        generator |= {"pattern": {"mixed": parts}, "unit": min(reads[0], writes[0])}
        return generator["unit"], (1 - share) * reads[1] + share * writes[1]

    def _pair(self, key: str, text: str) -> tuple[str, str]:
        """The value for reads and that for writes of `READ,WRITE,TRIM`; one alone is of both."""
        values = [value.strip() for value in text.split(",")]
        if len(values) > _DIRECTIONS:
            raise UserError(f"{self._path}: {key}={text}: give one value, or those of reads, writes and trims.")
        return values[0], values[1] if len(values) > 1 else values[0]

    def _rates(self, share: float) -> tuple[float, float] | None:
        """Reads and writes per second, where a key has a rate for each."""
        text = str(self._keys.get("rate_iops") or "")
        if "," not in text:
            return None
        reads, writes = (self._number("rate_iops", one or "0") for one in self._pair("rate_iops", text))
        del self._keys["rate_iops"]
        return (0.0 if share == 1 else reads, 0.0 if share == 0 else writes)

    def _rate(self, rates: tuple[float, float] | None, share: float, mean_bytes: float) -> float | None:
        """Requests per second of all that it starts, where it has a rate."""
        jobs = self._number("numjobs", str(self._keys.get("numjobs") or "1"))
        if rates:
            return sum(rates) * jobs or None
        if iops := self._count("rate_iops", "0"):
            return iops * jobs
        text = str(self._take("rate", None) or "")
        pair = self._pair("rate", text)
        chosen = pair if "," in text and 0 < share < 1 else pair[int(share) :][:1]
        return sum(self._bytes("rate", one) for one in chosen if one) / mean_bytes * jobs or None

    def _number(self, key: str, text: str) -> float:
        try:
            return _native.read_quantity("count", text)
        except UserError as error:
            raise UserError(f"{self._path}: {key}={text}: {error}.") from None

    def _sizes(self, keys: dict[str, str]) -> tuple[int, float, Json]:
        """The least and the mean size in bytes, and the generator's key where there are several."""
        split, between = keys.get("bssplit"), keys.get("bsrange")
        unit = self._bytes("bs", keys.get("bs", "4k"))
        if split:
            return shared_sizes(f"{self._path}: bssplit=", split)
        if between:
            least, most = (self._bytes("bsrange", size) for size in between.partition("-")[::2])
            if not 0 < least <= most:
                raise UserError(
                    f"{self._path}: bsrange={between} is no range. Give the least size first: bsrange=4k-16k."
                )
            return least, (least + most // least * least) / 2, {"sizes": multiples(least, most)}
        return unit, unit, {}

    def _pattern(self, *, is_random: bool) -> Any:  # noqa: ANN401 - a pattern of a generator
        if not is_random:
            return "sequential"
        name, _, value = str(self._keys.get("random_distribution") or "random").partition(":")
        if name == "zipf":
            del self._keys["random_distribution"]
            return {"zipf": {"theta": float(value or 1.1)}}
        if name == "zoned" and "," not in value:
            del self._keys["random_distribution"]
            return {"mixed": self._zones(value)}
        if name == "random":
            self._keys.pop("random_distribution", None)
        # fio visits each block once before any comes again, unless it is told to keep no map.
        return "uniform" if self._keys.get("norandommap", "0") in (None, "1", "true") else "permutation"

    def _zones(self, zones: str) -> list[Json]:
        """Parts of the data from its start on, each with its share of the requests."""
        parts, end = [], 0.0
        for zone in zones.split(":"):
            accesses, _, size = zone.partition("/")
            try:
                weight, begin, end = float(accesses), end, min(end + float(size) / 100, 1.0)
            except ValueError:
                weight, begin = 0.0, end
            if not 0 < weight <= 100 or not begin < end:
                raise UserError(
                    f"{self._path}: random_distribution=zoned:{zones}: {zone} is no zone. Give shares of requests and "
                    "of the data, in percent: zoned:80/20:20/80."
                )
            parts.append({"weight": weight, "pattern": "uniform", "region": [begin, end]})
        return parts

    def _write_share(self) -> float:
        reads, writes = self._take("rwmixread", None), self._take("rwmixwrite", None)
        if writes is not None:
            return _native.share(f"{writes}".rstrip("%") + "%")
        return 1 - _native.share(f"{reads}".rstrip("%") + "%") if reads is not None else 0.5

    def _requests(self, mean_bytes: float) -> int:
        given, loops = self._count("number_ios", "0"), self._count("loops", "1")
        written = self._take("io_size", None)
        if not given and written and not str(written).endswith("%"):
            given = int(self._bytes("io_size", str(written)) / mean_bytes)
        return given * loops

    def _host(self) -> Json:
        jobs, depth = self._count("numjobs", "1"), self._count("iodepth", "1")
        if str(self._take("ioengine", "psync")) in _SYNCHRONOUS:
            depth = 1
        return {"loop": "closed", "queue_depth": depth * jobs}

    def _take(self, key: str, otherwise: str | None) -> str | None:
        value = self._keys.pop(key, None)
        return otherwise if value is None else value.strip()

    def _count(self, key: str, otherwise: str) -> int:
        return int(self._number(key, str(self._take(key, otherwise))))

    def _bytes(self, key: str, text: str) -> int:
        return _size(f"{self._path}: {key}=", text)
