"""fio's reports as a simulated device gives them, for tests of calibration.

The printed job file is gone through as fio does it: each section is one run of the simulator, on a
device of its full size, in the state in which the sections before left it. The reports have the
form of fio's JSON, with the keys that calibration reads.
"""

import configparser
import json
import math
import random
import zlib
from pathlib import Path
from typing import Any

import ftlkit as fk
from ftlkit._util import Json
from ftlkit.calibration.jobs import job_file

READ_REQUESTS = 8_000

CAPACITY, PAGE, BLOCK = 96 << 20, 4096, 32
"""Known facts of a device: its size, its pages, and the pages of a block."""


def drawn(seed: int, slower: int = 1, shape: tuple[int, int] | None = None) -> Json:
    """A random device, of `shape` (channels, dies per channel) if given.

    Its times are `slower` times as long.
    """
    dice = random.Random(seed)  # noqa: S311 - a draw that repeats

    def between(low: float, high: float) -> int:
        return round(math.exp(dice.uniform(math.log(low), math.log(high))))

    channels, beside = dice.choice([2, 4, 8]), dice.choice([1, 2, 4])
    channels, beside = shape or (channels, beside)
    read = slower * between(40_000, 120_000)
    program, erase = slower * between(300_000, 1_000_000), slower * between(2_000_000, 6_000_000)
    transfer = between(0.15 * read, 0.5 * read)
    # Blocks are whole: the spare is what they leave.
    pages, row = CAPACITY // PAGE, BLOCK * channels * beside
    blocks = round(pages / (1 - dice.uniform(0.25, 0.4)) / row)
    link = slower * between(5_000, 20_000)
    return {
        "capacity": CAPACITY,
        "channels": channels,
        "dies_per_channel": beside,
        "planes_per_die": 1,
        "blocks_per_plane": blocks,
        "pages_per_block": BLOCK,
        "page_size": PAGE,
        "read_latency": f"{read}ns",
        "program_latency": f"{program}ns",
        "erase_latency": f"{erase}ns",
        "transfer_latency": f"{transfer}ns",
        "link_latency": f"{link}ns",
        "spare": 1 - pages / (blocks * row),
    }


def report(device: Json, path: Path, *, ftl: str = "page", noise: float = 0.0, seed: int = 1) -> None:
    """Write the report of the printed jobs, run on a device; `noise` blurs each by so much."""
    dice = random.Random(seed)  # noqa: S311 - as above
    capacity = int(device["capacity"])
    parser = configparser.ConfigParser(allow_no_value=True, delimiters="=", interpolation=None)
    parser.read_string(job_file(capacity, None))
    shared = dict(parser["global"])
    jobs = [
        _job(name, dict(parser[name]), device, ftl, math.exp(dice.gauss(0, noise))) for name in parser.sections()[1:]
    ]
    document = {
        "fio version": "fio-3.33",
        "global options": {"description": shared["description"], "norandommap": "1"},
        "jobs": jobs,
    }
    path.write_text(json.dumps(document), encoding="utf-8")


LOADS = ((0.3, 0.2), (1.0, 0.3), (0.5, 0.6), (2.0, 0.0))
"""Reads and writes per second, as shares of the settled writes that the full device serves."""


def add_loads(path: Path, device: Json, *, is_settled_before: bool = False) -> None:
    """Add jobs at a rate to the report of a device.

    If it was settled before the first job, of the others only reads of one page remain.
    """
    document = json.loads(path.read_text(encoding="utf-8"))
    most = next(job["write"]["iops"] for job in document["jobs"] if job["jobname"] == "steady-100")
    if is_settled_before:
        document["jobs"] = [job for job in document["jobs"] if job["jobname"].startswith("read-4k")]
        document["global options"]["description"] += " before=settled"
    own = {key: value for key, value in device.items() if key != "spare"}
    for group, (reads, writes) in enumerate(LOADS, 1):
        generator: Json = {"requests": 120_000, "span": device["capacity"], "sizes": 4096}
        generator["write_share"] = writes / (reads + writes)
        generator["arrivals"] = {"poisson": {"mean_gap": f"{round(1e9 / most / (reads + writes))}ns"}}
        results = fk.run(
            workload={"generator": generator},
            device=own,
            loop="threads",
            queue_depth=128 if writes else 64,
            precondition="steady",
            samples=1,
            seed=group,
        )
        run: Json = dict(results.document["runs"][0])
        for op, share in (("read", reads), ("write", writes)):
            if share:
                document["jobs"].append(
                    _load(op, group, round(share * most), run["response_ns"][op], device["capacity"])
                )
    path.write_text(json.dumps(document), encoding="utf-8")


def _load(op: str, group: int, rate: int, told: Json, capacity: int) -> Json:
    options = {"rw": f"rand{op}", "bs": "4k", "iodepth": "64", "rate_iops": str(rate), "rate_process": "poisson"}
    shares = {"50.000000": told["p50"], "99.000000": told["p99"], "99.900000": told["p99_9"]}
    done: Json = {"total_ios": 60_000, "io_bytes": 60_000 * 4096, "iops": float(rate)}
    done["lat_ns"] = {"mean": told["mean"], "stddev": 0.0, "percentile": shares}
    options["size"] = str(capacity)
    return {"jobname": f"load-{group}-{op}", "groupid": 100 + group, "error": 0, "job options": options, op: done}


def _job(name: str, options: Json, device: Json, ftl: str, blur: float) -> Json:
    direction = options["rw"].removeprefix("rand")
    size = int(options["bs"][:-1]) << {"k": 10, "m": 20}[options["bs"][-1]]
    moved = int(options["io_size"] if "io_size" in options else options["size"])
    done: dict[str, Any] = {"total_ios": max(1, moved // size), "io_bytes": moved, "lat_ns": {"mean": 1e6}}
    if direction != "trim" and not name.startswith("settle"):
        run, count = _run(name, options, device, ftl, size)
        depth = int(options.get("iodepth", 1))
        mean = run["response_ns"]["all"]["mean"] * blur
        done |= {
            "total_ios": count,
            "io_bytes": count * size,
            # By Little's law, as in a long run, but for a fill, which ends with its bytes.
            "iops": run["iops"] / blur if direction == "write" and "offset" in options else 1e9 * depth / mean,
            "lat_ns": {"mean": mean, "stddev": 0.0},
            "clat_ns": {
                "mean": mean,
                "stddev": 0.0,
                "percentile": {"50.000000": run["response_ns"]["all"]["p50"] * blur},
            },
        }
    kept = {key: value for key, value in options.items() if key in ("rw", "bs", "iodepth", "size", "offset", "io_size")}
    return {"jobname": name, "error": 0, "job options": kept, direction: done}


def _run(name: str, options: Json, device: Json, ftl: str, size: int) -> tuple[Json, int]:
    """The results of a section's run, and how many requests it had."""
    span, depth = int(options["size"]) // size * size, int(options.get("iodepth", 1))
    generator: Json = {"span": span, "unit": size, "sizes": size, "write_share": 0.0}
    # The blocks are given, so no spare is asked for besides.
    own = {key: value for key, value in device.items() if key != "spare"}
    precondition = "none" if name.startswith("trimmed") else "fill"
    if options["rw"] == "write":
        generator |= {"requests": span // size, "pattern": "sequential", "write_share": 1.0}
        precondition = "none"
    elif options["rw"] == "randwrite":
        is_steady = name.startswith("steady")
        generator |= {"requests": 40_000 if is_steady else 500, "write_share": 1.0}
        precondition = "steady" if is_steady else "none"
        if is_steady:
            # What no request touches is spare to the device.
            own["capacity"] = span
    else:
        generator |= {"requests": max(400 if depth == 1 else READ_REQUESTS, 40 * depth)}
    results = fk.run(
        workload={"generator": generator},
        device=own,
        ftl=ftl,
        loop="closed",
        queue_depth=depth,
        precondition=precondition,
        samples=1,
        seed=zlib.crc32(name.encode()),
    )
    run: Json = dict(results.document["runs"][0])
    return run, int(generator["requests"])
