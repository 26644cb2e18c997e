"""The fio jobs that measure what a fit needs.

The drive is trimmed, half of it is written in order, and that half is read. Reads of the other half
find nothing, so they ask no flash. Few pages are written one at a time. Then random writes go over
the data until write amplification settles, and the settled writes are measured; again with more of
the drive in use, up to all of it. This order lets each part begin in the state that it needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SIZES = (4, 8, 16, 32, 64, 128, 256)
"""KiB of the reads at depth 1: from less than a page to more pages than there are dies."""

TRIMMED_SIZES = (4, 32, 256)
"""KiB of the reads at depth 1 that find nothing: latency and bandwidth of what is not flash."""

DEPTHS = (2, 4, 8, 16, 32, 64, 128, 256)

WRITE_SIZES = (4, 8, 16, 32)
"""KiB of the first writes at depth 1: one of them is a page."""

USED = (50, 70, 85, 100)
"""Percent of the capacity that is in use while writes are measured."""

ROUNDS = 3
"""How often random writes go over the data before they are measured."""

_STEADY_DEPTH = 32

LEAST_BYTES = 64 << 20
"""The smallest capacity: first writes take tens of megabytes."""

_HEADER = """\
# WARNING: these jobs OVERWRITE THE WHOLE DEVICE. Everything on it is lost.
# Name the device in this file (filename), check it twice, and unmount it first.
#
#   RUNTIME=60 fio --output-format=json --output=drive.json {name}
#   ftlkit calibrate drive.json --out device.toml
#
# RUNTIME is the seconds of each measurement: 60 for a drive, a few for a trial. It does not
# shorten what prepares the drive, which writes {written} times its capacity. Keep the order of
# the jobs: each begins in the state in which the one before left the drive.
#
# Between two jobs whose names begin with steady, nothing else should use the drive. If it counts
# what its flash programs (nvme smart-log, a vendor's log), read the counters before and after
# each of these jobs, and give the ratios to --counters.
"""


@dataclass(frozen=True)
class _Section:
    """A job as it is printed."""

    name: str
    options: dict[str, object]
    comment: str = ""
    ends: str = "time"
    """What ends it: `time`, `bytes`, or `either` that comes first."""

    def text(self) -> str:
        """Its lines."""
        lines = [f"# {self.comment}"] if self.comment else []
        ends = {"time": ["time_based", "runtime=${RUNTIME}"], "either": ["runtime=${RUNTIME}"], "bytes": []}
        keys = [f"{key}={value}" for key, value in self.options.items()]
        return "\n".join([*lines, f"[{self.name}]", "stonewall", *keys, *ends[self.ends]])


def job_file(capacity: int, target: str | None, name: str = "calibrate.fio") -> str:
    """The text of the job file for a drive of a capacity.

    `target` is the device's path, or the `nbd+unix://` address of a live device.
    """
    target = target or "/dev/DEVICE"
    is_nbd = target.startswith("nbd")
    written = round(0.5 + sum(share / 100 * ROUNDS for share in USED) + 0.5)
    where = ["ioengine=nbd", f"uri={target}"] if is_nbd else ["ioengine=libaio", "direct=1", f"filename={target}"]
    shared = [
        "[global]",
        f"description=ftlkit calibrate capacity={capacity}",
        *where,
        "# Places are drawn with replacement, as the model draws them, and differ from run to run.",
        "norandommap",
        "randrepeat=0",
        "random_generator=tausworthe64",
        "# Percentiles of the whole latency: the mean of submission has outliers of its own.",
        "lat_percentiles=1",
    ]
    # A live device answers that there is nothing, and sends no zeros: size plays no part.
    sections = [section.text() for section in _sections(capacity, TRIMMED_SIZES[:1] if is_nbd else TRIMMED_SIZES)]
    return "\n\n".join([_HEADER.format(name=name, written=written).rstrip(), "\n".join(shared), *sections]) + "\n"


def _sections(capacity: int, trimmed_sizes: Sequence[int]) -> list[_Section]:
    half = _bytes(capacity, USED[0])
    made = [
        _Section(
            "trim",
            {"rw": "trim", "bs": "1m", "size": _bytes(capacity, 100)},
            "A new state: nothing is stored.",
            ends="bytes",
        ),
        _fill(capacity, 0, USED[0]),
    ]
    made += [_trimmed(size, capacity) for size in trimmed_sizes]
    made += [_read(size, 1, half, "Latency over size." if size == SIZES[0] else "") for size in SIZES]
    made += [_read(SIZES[0], depth, half, "IOPS over depth." if depth == DEPTHS[0] else "") for depth in DEPTHS]
    made += [_read(SIZES[-1], 16, half, "Bandwidth.")]
    made += [
        _Section(
            f"write-{size}k-d1",
            {
                "rw": "randwrite",
                "bs": f"{size}k",
                "iodepth": 1,
                "size": half,
                "io_size": _few(capacity),
            },
            "First writes, few enough that nothing is collected." if size == WRITE_SIZES[0] else "",
            ends="either",
        )
        for size in WRITE_SIZES
    ]
    for before, share in zip((USED[0], *USED), USED, strict=False):
        if share > before:
            made.append(_fill(capacity, before, share))
        size = _bytes(capacity, share)
        random = {"rw": "randwrite", "bs": "4k", "iodepth": _STEADY_DEPTH, "size": size}
        comment = f"Settled random writes with {share} % in use."
        made.append(_Section(f"settle-{share}", random | {"io_size": ROUNDS * size}, comment, ends="bytes"))
        made.append(_Section(f"steady-{share}", random))
    return made


def _fill(capacity: int, before: int, share: int) -> _Section:
    offset, end = _bytes(capacity, before), _bytes(capacity, share)
    comment = "Sequential fill, and the bandwidth of first writes." if not before else "More of the drive in use."
    options = {"rw": "write", "bs": "256k", "iodepth": 8, "offset": offset, "size": end - offset}
    return _Section(f"{'grow' if before else 'fill'}-{share}", options, comment, ends="bytes")


def _read(size: int, depth: int, area: int, comment: str) -> _Section:
    options = {"rw": "randread", "bs": f"{size}k", "iodepth": depth, "size": area}
    return _Section(f"read-{size}k-d{depth}", options, comment)


def _trimmed(size: int, capacity: int) -> _Section:
    half, end = _bytes(capacity, USED[0]), _bytes(capacity, 100)
    options = {"rw": "randread", "bs": f"{size}k", "iodepth": 1, "offset": half, "size": end - half}
    comment = "Reads that find nothing: link and controller without flash." if size == TRIMMED_SIZES[0] else ""
    return _Section(f"trimmed-{size}k-d1", options, comment)


def _few(capacity: int) -> int:
    """Bytes of first writes: 64 of the largest at least, and few enough that it stays fresh."""
    return max(_bytes(capacity, 2), 64 * WRITE_SIZES[-1] << 10)


def _bytes(capacity: int, percent: int) -> int:
    """A share of the capacity in whole MiB, so that every size of request fits."""
    return capacity * percent // 100 >> 20 << 20
