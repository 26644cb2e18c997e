"""Results as the simulator saves them, made up for tests of frames, charts and reports.

The numbers have the shape of real ones (long tails, a scheme dominated by merges, one by mapping
misses) and are derived from a seed. Nothing outside the tests uses them.
"""

import math
import random
import statistics
from typing import Any

from ftlkit.results.document import Document, Run

# label, family, median response, spread of its logarithm, write amplification, RAM, the cause
# beside the host's
SHAPES = (
    ("page", "page", 210e3, 0.5, 1.9, 8 << 20, "collection"),
    ("block", "block", 9e6, 1.1, 61.0, 128 << 10, "merge"),
    ("fast", "log-buffer", 420e3, 1.4, 4.2, 190 << 10, "merge"),
    ("dftl", "demand-paged", 260e3, 0.8, 2.3, 70 << 10, "mapping"),
)
WRITTEN = 120_000
READ = 80_000


def document(**changes: Any) -> Document:  # noqa: ANN401 - any key of the document
    """Results of four runs, without keys that came later; `changes` replaces keys of it."""
    made: Any = {
        "ftlkit": "0.1.0",
        "study": {
            "name": "Four ways to map",
            "seed": 1,
            "device": {"preset": "slc-small", "capacity": "2GiB"},
            "workload": {"preset": "fin1", "requests": 50_000, "addresses": "dense"},
            "host": {"loop": "open"},
            "run": {"precondition": "steady", "verify": False},
            "ftl": [{"name": shape[0]} for shape in SHAPES],
        },
        "cancelled": False,
        "workload": {
            "name": "fin1",
            "format": "generated",
            "facts": ["addresses remapped densely: 91,233 pages"],
            "requests": 50_000,
            "pages_read": READ,
            "pages_written": WRITTEN,
            "pages_trimmed": 0,
            "duration_ns": 410 * 10**9,
            "span_bytes": 533 << 20,
        },
        "device": {
            "preset": "slc-small",
            "geometry": {
                "channels": 4,
                "dies_per_channel": 2,
                "planes_per_die": 1,
                "blocks_per_plane": 1024,
                "pages_per_block": 64,
                "page_size_bytes": 4096,
            },
            "physical_bytes": 2 << 30,
            "logical_bytes": 1932735283,
            "spare": 0.1,
            "utilisation": 0.31,
            "bad_blocks": 0,
            "latencies": {"read_ns": 25_000, "program_ns": 200_000, "erase_ns": 1_500_000, "transfer_ns": 100_000},
        },
        "runs": [run(*shape, index) for index, shape in enumerate(SHAPES)],
    }
    whole: Document = made | changes
    return whole


def run(label: str, family: str, median: float, spread: float, wa: float, ram: int, cause: str, seed: int) -> Run:
    """One run with log-normal response times."""
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    times = sorted(median * math.exp(spread * chance.gauss(0, 1)) for _ in range(4000))
    erases = [max(0, round(chance.gauss(10 * wa**0.5, 2 + wa**0.5))) for _ in range(1000)]
    response = {
        "mean": sum(times) / len(times),
        **{
            name: round(_at(times, share))
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999))
        },
        "max": round(times[-1]),
        "count": 50_000,
    }
    low, high = min(erases), max(erases)
    points = [(times[min(int(share * len(times) / 299), len(times) - 1)], share / 299) for share in range(300)]
    made: Any = {
        "label": label,
        "ftl": label,
        "family": family,
        "parameters": {"cmt": "65536"} if label == "dftl" else {},
        "seed": 1,
        "proved": None,
        "event_hash": f"{seed:016x}",
        "requests": {"read": 20_000, "write": 30_000, "trim": 0, "flush": 0},
        "simulated_ns": 410 * 10**9,
        "wall_s": 1.5,
        "response_ns": dict.fromkeys(("all", "read", "write"), response),
        "cdf": {
            kind: [[ns * scale, share] for ns, share in points]
            for kind, scale in (("all", 1.0), ("read", 0.8), ("write", 1.1))
        },
        "iops": 121.9,
        "throughput_bytes_per_s": 2e6,
        "host_pages_read": READ,
        "host_pages_written": WRITTEN,
        "host_written_bytes": WRITTEN * 4096,
        "write_amplification": wa,
        "page_write_amplification": wa,
        "operations": operations(wa, cause),
        "notes": {},
        "mapping_hit_ratio": 0.87 if cause == "mapping" else None,
        "buffer_hit_ratio": None,
        "merges": {"switch": 120, "partial": 33, "full": 4100}
        if cause == "merge"
        else {"switch": 0, "partial": 0, "full": 0},
        "erases": {
            "total": sum(erases),
            "mean": sum(erases) / 1000,
            "std": statistics.pstdev(erases),
            "min": low,
            "max": high,
            "gini": 0.1,
            "histogram": [[value, value, erases.count(value)] for value in range(low, high + 1)],
        },
        "wear_map": wear_map(10 * wa**0.5, chance),
        "spares": {"total": 80, "left": 80, "grown_bad_blocks": 0},
        "end_of_life": None,
        "endurance": {
            "limit": 3000,
            "drift": 0.5,
            "first_block": lifetime(8e12 / wa),
            "spares_gone": lifetime(1e13 / wa),
            "refusal": None,
        },
        "footprint": {
            "ram_bytes": ram,
            "flash_bytes": 0,
            "structures": [{"name": "map", "ram_bytes": ram, "flash_bytes": 0}],
        },
        "utilisation": {"dies": 0.21, "channels": 0.08},
        "gauges": {"free_blocks": 12.0},
        "series": {
            "request": [250 * (i + 1) for i in range(200)],
            "time_ns": [2_050_000_000 * (i + 1) for i in range(200)],
            "mean_response_ns": [response["mean"] * math.exp(0.3 * chance.gauss(0, 1)) for _ in range(200)],
            "write_amplification": [max(1.0, wa * (1 + 0.05 * chance.gauss(0, 1))) for _ in range(200)],
            "moved_share": [0.9 - 0.8 / wa] * 200,
            "erases": [sum(erases) * (i + 1) // 200 for i in range(200)],
            "erases_std": [0.02 * (i + 1) * wa**0.5 for i in range(200)],
            "erases_max": [high * (i + 1) // 200 for i in range(200)],
            "host_written_bytes": [WRITTEN * 4096 * (i + 1) // 200 for i in range(200)],
            "mapping_hit_ratio": [0.87 if cause == "mapping" else None] * 200,
            "buffer_hit_ratio": [None] * 200,
            "gauges": {"free_blocks": [12.0] * 200},
        },
        "precondition": {"mode": "steady", "pages_written": 10**6, "page_write_amplification": wa, "settled": True},
        "mount": None,
    }
    return made  # type: ignore[no-any-return]


def wear_map(mean: float, chance: random.Random) -> dict[str, Any]:
    """Eight planes of 1024 blocks, eight a cell; the first cell of each is bad."""
    means = [None if cell % 128 == 0 else round(mean * math.exp(chance.gauss(0, 0.3)), 3) for cell in range(1024)]
    return {
        "planes_per_cell": 1,
        "blocks_per_cell": 8,
        "mean": means,
        "max": [None if mean is None else round(mean + 3) for mean in means],
        "failed": [1 if cell in (5, 700) else 0 for cell in range(1024)],
    }


def lifetime(written: float) -> dict[str, Any]:
    """A forecast of this many bytes, on a device of 1.8 GiB under 5 years of warranty."""
    return {
        "written_bytes": round(written),
        "low_bytes": round(0.95 * written),
        "high_bytes": round(1.1 * written),
        "is_measured": False,
        "drive_writes_per_day": written / 1932735283 / (5 * 365),
        "years": written / 1e12,
    }


def operations(wa: float, cause: str) -> list[dict[str, Any]]:
    """Flash operations that add up to a write amplification."""
    moved = round((wa - 1) * WRITTEN)
    rows = [("host", "read", READ, 125), ("host", "program", WRITTEN, 300), ("read_modify_write", "read", 9_000, 125)]
    rows += [(cause, "read", moved, 125), (cause, "program", moved, 300), (cause, "erase", moved // 40 + 900, 1500)]
    return [{"cause": row, "op": op, "count": count, "time_ns": count * us * 1000} for row, op, count, us in rows]


def _at(times: list[float], share: float) -> float:
    return times[min(int(share * len(times)), len(times) - 1)]
