"""fio job files: one job becomes a workload; what cannot be read is named in a warning."""

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

_OTHER_NAMES = {
    "readwrite": "rw",
    "filesize": "size",
    "fdatasync": "fsync",
    "io_limit": "io_size",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
}

_SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2")
"""Engines that wait for each request, whatever `iodepth` says; psync is fio's own choice."""

_HARMLESS = {
    *("name", "direct", "filename", "directory", "group_reporting", "thread", "invalidate", "stonewall"),
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
    if not chosen and len(jobs) != 1:
        which = f"{len(jobs)} jobs ({', '.join(jobs)}): name one. Did you mean {path}:{jobs[0]}?" if jobs else "no job."
        raise UserError(f"{path} has {which}")
    return _Reading(str(path), dict(reader[chosen or jobs[0]])).job()


def multiples(least: int, most: int) -> Json:
    """Sizes of a range in bytes: to fio, multiples of the least, equally likely."""
    return {"uniform": {"min": least, "max": most, "step": least}}


class _Reading:
    """The keys of a job, each taken once; those that are left are named."""

    def __init__(self, path: str, keys: dict[str, str | None]) -> None:
        self._path = path
        self._keys = {_OTHER_NAMES.get(key, key): value for key, value in keys.items()}

    def job(self) -> Job:
        """The tables that say the same."""
        rw = str(self._take("rw", "read"))
        if rw not in _PATTERNS:
            raise UserError(f"{self._path}: rw={rw} is not read. Give one of {', '.join(_PATTERNS)}.")
        is_random, writes = _PATTERNS[rw]
        unit, mean_bytes, sizes = self._sizes()
        generator: Json = {"pattern": self._pattern(is_random=is_random), "unit": unit, "arrivals": ARRIVALS}
        generator |= sizes
        generator["write_share"] = self._write_share() if writes is None else writes
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
        host = self._host(generator)
        left = [key if value is None else f"{key}={value}" for key, value in self._keys.items() if key not in _HARMLESS]
        if left:
            warnings.warn(f"{self._path}: not read: {', '.join(left)}.", RuntimeWarning, stacklevel=2)
        return Job(generator, host, run)

    def _sizes(self) -> tuple[int, float, Json]:
        """The least and the mean size in bytes, and the generator's key where there are several."""
        split, between = self._take("bssplit", None), self._take("bsrange", None)
        unit = self._bytes("bs", str(self._take("bs", "4k")))
        if split:
            return self._split(split)
        if between:
            least, most = (self._bytes("bsrange", size) for size in between.partition("-")[::2])
            if not 0 < least <= most:
                raise UserError(
                    f"{self._path}: bsrange={between} is no range. Give the least size first: bsrange=4k-16k."
                )
            return least, (least + most // least * least) / 2, {"sizes": multiples(least, most)}
        return unit, unit, {}

    def _split(self, split: str) -> tuple[int, float, Json]:
        """Sizes with their shares, as fio has them: those without one take the rest alike."""
        parts = [part.partition("/")[::2] for part in split.split(":")]
        shares = [float(share) for _, share in parts if share.replace(".", "", 1).isdecimal()]
        empty = [size for size, share in parts if not share]
        if len(shares) + len(empty) < len(parts) or not (empty or any(shares)):
            raise UserError(
                f"{self._path}: bssplit={split} is not read. Give each size its share: bssplit=4k/60:16k/40."
            )
        rest = max(100 - sum(shares), 0) / max(len(empty), 1)
        pairs = [(self._bytes("bssplit", size), float(share or rest)) for size, share in parts]
        mean = sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
        choice = [{"size": size, "weight": weight} for size, weight in pairs]
        return min(size for size, _ in pairs), mean, {"sizes": {"choice": choice}}

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

    def _host(self, generator: Json) -> Json:
        jobs, depth = self._count("numjobs", "1"), self._count("iodepth", "1")
        rate = self._count("rate_iops", "0")
        if str(self._take("ioengine", "psync")) in _SYNCHRONOUS:
            depth = 1
        if rate:
            generator["arrivals"] = {"constant": {"gap": f"{round(1e9 / (rate * jobs))}ns"}}
            return {"loop": "open"}
        return {"loop": "closed", "queue_depth": depth * jobs}

    def _take(self, key: str, otherwise: str | None) -> str | None:
        value = self._keys.pop(key, None)
        return otherwise if value is None else value.strip()

    def _count(self, key: str, otherwise: str) -> int:
        text = str(self._take(key, otherwise))
        try:
            return _native.read_quantity("count", text)
        except UserError as error:
            raise UserError(f"{self._path}: {key}={text}: {error}.") from None

    def _bytes(self, key: str, text: str) -> int:
        # To fio, 4k, 4kb and 4KiB are the same.
        plain = text if text.lower().endswith("ib") else text.rstrip("bB")
        try:
            return _native.read_quantity("size", plain)
        except UserError as error:
            raise UserError(f"{self._path}: {key}={text}: {error}.") from None
