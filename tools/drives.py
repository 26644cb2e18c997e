"""Hold ftlkit beside measured drives and published simulations.

    python tools/drives.py                 # all tables of docs/device-truth.md
    python tools/drives.py micron          # one
    python tools/drives.py --write         # all, into the page

Each table is one function with the published figures above it. Devices are scaled down: they have
the utilisation of the drive and fewer blocks, which the table `scale` shows not to matter. All runs
are seeded, so a table comes out the same each time.
"""

import functools
import itertools
import math
import random
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ftlkit as fk
from ftlkit.models import uniform

PAGE = Path(__file__).parents[1] / "docs" / "device-truth.md"
Pattern = str | dict[str, Any]
"""Where writes go, as in a study."""

UNIT = 4096
"""What is mapped, in bytes, and what a run calls a page."""


@dataclass(frozen=True)
class Device:
    """A device of one die, collected by greedy.

    `utilisation` is of the blocks that no collection keeps free. With `streams` shared, survivors
    of a collection share blocks with what the host writes; separate is 2R-greedy.
    """

    utilisation: float
    blocks: int = 256
    pages_per_block: int = 512
    streams: str = "shared"

    @property
    def units(self) -> int:
        """Logical units. Two blocks are kept free; an open one of survivors is half erased."""
        kept = 2.5 if self.streams == "separate" else 2.0
        return round(self.utilisation * (self.blocks - kept) * self.pages_per_block)

    def run(
        self, workload: dict[str, Any], samples: int = 1, ftl: dict[str, str] | None = None, **run: str | int
    ) -> fk.Results:
        """Results of a workload; `run` is that table of the study."""
        study = {
            "device": {
                "channels": 1,
                "dies_per_channel": 1,
                "planes_per_die": 1,
                "blocks_per_plane": self.blocks,
                "pages_per_block": self.pages_per_block,
                "page_size": UNIT,
                "capacity": self.units * UNIT,
            },
            "workload": workload,
            "host": {"loop": "closed", "queue_depth": 1},
            "run": {"samples": samples, "waiting": False, **run},
            "ftl": [ftl if ftl and "name" in ftl else {"name": "page", "streams": self.streams, **(ftl or {})}],
        }
        return fk.run_study(study, threads=1)

    def writes(self, pattern: Pattern, turns: float) -> dict[str, Any]:
        """Writes of single units, as many as fill the device `turns` times."""
        generator = {"requests": round(turns * self.units), "span": self.units * UNIT, "write_share": 1.0}
        return {"generator": {**generator, "pattern": pattern}}

    def amplification(self, pattern: Pattern = "uniform", turns: float = 3, warm: float = 3, **ftl: str) -> float:
        """Write amplification after a fill and `warm` turns."""
        workload = self.writes(pattern, warm + turns)
        run = self.run(workload, ftl=ftl, precondition="fill", skip=round(warm * self.units))
        return amplified(run)

    def history(self, pattern: Pattern, turns: float, pieces: int, begin: str = "fill", **ftl: str) -> list[float]:
        """Write amplification of equal pieces of what is written after a fill."""
        run = self.run(self.writes(pattern, turns), pieces, ftl, precondition=begin)
        return [float(each) for each in run.series["write_amplification"]]


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    def text(self) -> str:
        """As Markdown."""
        lines = [self.head, ("---",) * len(self.head), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{textwrap.fill(self.note, 100)}".rstrip()


def amplified(results: fk.Results) -> float:
    """Write amplification of the only run."""
    return float(results.frame("runs")["write_amplification"][0])


def zones(hot: float) -> Pattern:
    """Two zones: 80/20 gives 80 % of the writes to 20 % of the data."""
    return {"hot_cold": {"hot_data_share": 1 - hot, "hot_request_share": hot}}


def zipf(theta: float) -> Pattern:
    """Popularity as rank^-theta, scattered over the units."""
    return {"zipf": {"theta": theta}}


def off(ours: float, published: float) -> str:
    """The difference from what is published."""
    percent = round(100 * (ours / published - 1), 1)
    return f"{percent:+.1f} %".replace("-", "−") if percent else "0.0 %"


def number(value: float) -> str:
    """A write amplification."""
    return f"{value:.3f}"


# Scale


def scale() -> Table:
    """Blocks and pages per block change little; what is left is in the closed form."""
    rows = []
    for blocks, pages in ((64, 256), (256, 256), (1024, 256), (256, 64), (256, 512), (256, 1024)):
        ours = Device(0.875, blocks, pages).amplification()
        theory = uniform.greedy(0.875, pages)
        rows.append((f"{blocks}", f"{pages}", number(ours), number(theory), off(ours, theory)))
    return Table(("blocks", "units a block", "ftlkit", "closed form", "difference"), rows)


# SSD-iq's simulator: blocks of 2048 units, 2048 of them

FILLS = {0.5: 1.254, 0.6: 1.479, 0.7: 1.873, 0.75: 2.197, 0.8: 2.689, 0.85: 3.513, 0.875: 4.18, 0.9: 5.171}
"""Greedy, uniform, by fill."""

ZONES = {
    0.6: (4.203, 4.214, 4.202, 4.045),
    0.7: (4.297, 4.296, 4.182, 3.629),
    0.8: (4.515, 4.409, 4.120, 2.938),
    0.9: (5.112, 4.440, 2.505, 1.985),
    0.95: (5.904, 4.413, 2.055, 1.439),
}
"""Greedy, 2R-greedy, 2R-FIFO and the optimum, by the hot zone's share of the writes."""

ZIPF = {
    0.2: (4.185, 4.186, 4.191, 4.049),
    0.4: (4.269, 4.243, 4.229, 3.914),
    0.6: (4.532, 4.326, 4.257, 3.481),
    0.8: (4.878, 4.207, 3.830, 2.582),
    1.0: (3.940, 3.428, 2.267, 1.334),
}
"""The same by theta."""


def fills() -> Table:
    """SSD-iq's greedy over fill."""
    rows = []
    for fill, published in FILLS.items():
        ours = Device(fill).amplification()
        rows.append((f"{fill:g}", number(published), number(ours), off(ours, published)))
    return Table(("fill", "SSD-iq", "ftlkit", "difference"), rows)


def two_zones() -> Table:
    """SSD-iq's two zones."""
    rows = []
    for hot, (greedy, two, fifo, optimum) in ZONES.items():
        shared = Device(0.875).amplification(zones(hot), 3, 3)
        apart = Device(0.875, streams="separate").amplification(zones(hot), 3, 3)
        old = Device(0.875, streams="two-regions").amplification(zones(hot), 3, 8, victim="second-chance")
        best = uniform.separated(0.875, [(1 - hot, hot), (hot, 1 - hot)])
        pairs = ((greedy, shared), (two, apart), (fifo, old), (optimum, best))
        rows.append((f"{100 * hot:.0f}/{100 - 100 * hot:.0f}", *(beside(*pair) for pair in pairs)))
    return Table(("zones", "greedy", "2R-greedy", "2R-FIFO", "optimum"), rows)


def beside(published: float, ours: float) -> str:
    """Both and their difference, in one cell."""
    return f"{number(published)} {number(ours)} ({off(ours, published)})"


def zipf_table() -> Table:
    """SSD-iq's Zipf."""
    rows = []
    for theta, (greedy, two, fifo, _) in ZIPF.items():
        shared = Device(0.875).amplification(zipf(theta), 3, 3)
        apart = Device(0.875, streams="separate").amplification(zipf(theta), 3, 3)
        rows.append((f"{theta:g}", beside(greedy, shared), beside(two, apart), number(fifo)))
    return Table(("θ", "greedy", "2R-greedy", "2R-FIFO, published alone"), rows)


def zipf_buffer() -> Table:
    """Zipf 0.8 and 1 on a device as large as SSD-iq's, behind its write buffer."""
    rows = []
    for theta in (0.8, 1.0):
        row = [f"{theta:g}"]
        for published, streams in zip(ZIPF[theta], ("shared", "separate"), strict=False):
            device = Device(0.875, 2048, 2048, streams)
            name = f"page:streams={streams}+lru:ram={round(BUFFERED * device.units) * UNIT}"
            run = device.run(
                device.writes(zipf(theta), 3), ftl={"name": name}, precondition="fill", skip=2 * device.units
            )
            row.append(beside(published, amplified(run)))
        rows.append(tuple(row))
    return Table(("θ", "greedy", "2R-greedy"), rows)


BUFFERED = 0.0002
"""Share of the units in the write buffer of SSD-iq's simulator, by a comment in its source."""


# Micron 7450: 960 GB class

MICRON = {372.6: 1.108, 447.1: 1.171, 521.6: 1.277, 596.2: 1.409, 670.7: 1.600, 745.2: 1.890, 894.3: 3.19}
"""Write amplification by the drive's counters, over GiB used; the last is the PRO model."""

HELD_OUT = (521.6, 745.2)

FACTOR = 1.035
"""Write amplification of the sequential fill of the 7450, by its counters."""

FULL_AT = 1077.0
"""GiB filled and written at random until the drive becomes slow, since nothing is free any more."""

MICRON_SIXTEENTHS = {
    596.2: (1.03, 1.04, 1.04, 1.55, 1.55, 1.41, 1.36, 1.39, 1.42, 1.42, 1.41, 1.42, 1.41, 1.40, 1.41, 1.41),
    745.2: (1.04, 1.34, 2.26, 1.83, 1.87, 1.91, 1.89, 1.89, 1.88, 1.90, 1.90, 1.87, 1.90, 1.90, 1.88, 1.89),
}
"""Of four times the used capacity, written at random after a sequential fill."""


@functools.cache
def curve() -> tuple[tuple[float, float], ...]:
    """The simulator over utilisation, as its ratio to the closed form, which is nearly constant."""
    grid = [0.30 + 0.05 * step for step in range(12)]
    return tuple((each, Device(each).amplification() / uniform.greedy(each, 512)) for each in grid)


def simulated(utilisation: float) -> float:
    """The simulator between the points of the curve."""
    points = curve()
    (left, low), (right, high) = next(
        pair for pair in itertools.pairwise(points) if utilisation <= pair[1][0] or pair[1] == points[-1]
    )
    part = (utilisation - left) / (right - left)
    return (low + part * (high - low)) * uniform.greedy(utilisation, 512)


def fitted(points: dict[float, float], factor: float | None = None) -> tuple[float, float, float]:
    """Physical GiB and factor with the least squares of log errors, and that sum."""

    def at(physical: float) -> tuple[float, float, float]:
        logs = [math.log(wa / simulated(used / physical)) for used, wa in points.items()]
        level = sum(logs) / len(logs) if factor is None else math.log(factor)
        return physical, math.exp(level), sum((each - level) ** 2 for each in logs)

    return min((at(1000 + step / 2) for step in range(401)), key=lambda each: each[2])


def micron() -> Table:
    """Two parameters on five points, and two points held out."""
    physical, factor, _ = fitted({used: wa for used, wa in MICRON.items() if used not in HELD_OUT})
    rows = []
    for used, wa in MICRON.items():
        row = [f"{used}", number(wa)]
        for size, level in ((physical, factor), (FULL_AT, FACTOR)):
            ours = level * Device(used / size).amplification()
            row += [number(ours), off(ours, wa)]
        rows.append((*row[:4], "held out" if used in HELD_OUT else "fitted", *row[4:]))
    worst = {}
    for pair in itertools.combinations(MICRON, 2):
        size, level, _ = fitted({used: wa for used, wa in MICRON.items() if used not in pair})
        worst[pair] = max(abs(level * simulated(used / size) / MICRON[used] - 1) for used in pair)
    pair = max(worst, key=lambda each: worst[each])
    below = sum(error <= 0.01 for error in worst.values())
    note = (
        f"Fitted: {physical:g} GiB physical, factor {factor:.4f}. Of all 21 choices of two points to hold out, "
        f"{below} leave both within 1 %. The worst is {pair[0]} and {pair[1]} GiB with {100 * worst[pair]:.1f} %."
    )
    head = ("GiB used", "7450", "ftlkit", "difference", "", "nothing fitted", "difference")
    return Table(head, rows, note)


PHYSICAL = 1080.0
"""What the fit gives, rounded, for the tables that fit nothing more."""


def micron_history() -> Table:
    """How the drive comes to its steady state."""
    ours = {used: Device(used / PHYSICAL).history("uniform", 4, 16) for used in MICRON_SIXTEENTHS}
    rows = []
    for piece in range(16):
        row = [f"{(piece + 1) / 4:g}"]
        for used, drive in MICRON_SIXTEENTHS.items():
            mine = FACTOR * ours[used][piece]
            row += [f"{drive[piece]:.2f}", f"{mine:.2f}", off(mine, drive[piece])]
        rows.append(tuple(row))
    head = ("times written", "596.2 GiB", "ftlkit", "difference", "745.2 GiB", "ftlkit", "difference")
    return Table(head, rows)


# Micron 7450 MAX: zones that are trimmed and written again, 512 KiB at a time

ZONE_SIZES = {1: "1.19–1.22", 2: "1.05", 4: "1.03", 16: "1.04"}
"""Write amplification by GiB a zone, one written at a time; by the counters, later half."""

ZONES_AT_A_TIME = {1: 1.03, 2: 1.17, 4: 1.28, 8: 1.46, 16: 1.42, 32: 1.27}
"""By zones of 8 GiB that are written at a time."""

SUPERBLOCKS = (1, 2, 4)
"""GiB that are erased at once: what the table of sizes decides."""

USED = 745.2
STEP = 1 / 32
"""What is written at a time here, in GiB; the superblock is what counts."""


def zone_trace(used: int, zone: int, active: int, *, trims: bool = True, seed: int = 1) -> pl.DataFrame:
    """A sequential fill, then zones drawn at random: trimmed, and written in order, mixed."""
    draw = random.Random(seed)  # noqa: S311 - a workload
    requests = [(1, unit, 1) for unit in range(used)]
    open_zones, written = [-1] * active, [zone] * active
    for _ in range(4 * used):
        slot = draw.randrange(active)
        if written[slot] == zone:
            free = [each for each in range(used // zone) if each not in open_zones]
            open_zones[slot], written[slot] = draw.choice(free), 0
            requests += [(2, open_zones[slot] * zone, zone)] if trims else []
        requests.append((1, open_zones[slot] * zone + written[slot], 1))
        written[slot] += 1
    ops, places, lengths = zip(*requests, strict=True)
    columns = {
        "time_ns": [0] * len(ops),
        "op": ops,
        "offset": [UNIT * each for each in places],
        "length": [UNIT * each for each in lengths],
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


def zone_writes(size: float, active: int, superblock: float, streams: str = "shared", *, trims: bool = True) -> float:
    """Write amplification in the later half."""
    pages = int(superblock / STEP)
    device = Device(USED / PHYSICAL, round(PHYSICAL / superblock) + 2, pages, streams)
    trace = zone_trace(device.units, int(size / STEP), active, trims=trims)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zones.parquet"
        trace.write_parquet(path)
        skip = trace.height - 2 * device.units
        run = device.run({"trace": str(path)}, precondition="none", skip=skip)
    return FACTOR * amplified(run)


def micron_zone_sizes() -> Table:
    """Which superblock the drive has."""
    rows = [
        (f"{size} GiB", drive, *(f"{zone_writes(size, 1, each):.2f}" for each in SUPERBLOCKS))
        for size, drive in ZONE_SIZES.items()
    ]
    return Table(("zone", "7450 MAX", *(f"superblock {each} GiB" for each in SUPERBLOCKS)), rows)


def micron_zones() -> Table:
    """Several zones at a time, with that superblock."""
    rows = []
    for active, drive in ZONES_AT_A_TIME.items():
        ours, apart = zone_writes(8, active, 2), zone_writes(8, active, 2, "separate")
        without = zone_writes(8, active, 2, trims=False)
        rows.append((f"{active}", f"{drive:.2f}", f"{ours:.2f}", off(ours, drive), f"{apart:.2f}", f"{without:.2f}"))
    return Table(("zones at a time", "7450 MAX", "greedy", "difference", "2R-greedy", "greedy, no trims"), rows)


# Skew: host MB/s of two drives, whose inverse goes with write amplification

SKEW: dict[str, tuple[Pattern, float, float, float | None]] = {
    "60/40": (zones(0.6), 5, 613, None),
    "70/30": (zones(0.7), 5, 585, None),
    "80/20": (zones(0.8), 6, 552, None),
    "90/10": (zones(0.9), 7, 522, None),
    "95/5": (zones(0.95), 9, 422, 1078),
    "Zipf 0.2": (zipf(0.2), 5, 618, 1279),
    "Zipf 0.4": (zipf(0.4), 5, 602, 1264),
    "Zipf 0.6": (zipf(0.6), 5, 576, 1218),
    "Zipf 0.8": (zipf(0.8), 5, 554, 1165),
}
"""Pattern, how often the capacity is written, MB/s of 7450 MAX and CM7-R in the last quarter."""

UNIFORM_MB = 622.0
"""7450 MAX."""


def skew() -> Table:
    """Write amplification over that of uniform writes; of CM7-R, over that of Zipf 0.2."""

    def last(pattern: Pattern, turns: float, utilisation: float, streams: str) -> float:
        return Device(utilisation, streams=streams).history(pattern, turns, 4)[-1]

    used = USED / PHYSICAL
    base = {streams: last("uniform", 5, used, streams) for streams in ("shared", "separate")}
    kioxia = {streams: last(zipf(0.2), 5, CM7_R, streams) for streams in base}
    rows = []
    for name, (pattern, turns, micron_mb, kioxia_mb) in SKEW.items():
        row = [name, f"{UNIFORM_MB / micron_mb:.2f}"]
        row += [f"{last(pattern, turns, used, streams) / base[streams]:.2f}" for streams in base]
        if kioxia_mb is None:
            row += ["", "", ""]
        else:
            row.append(f"{1279 / kioxia_mb:.2f}")
            row += [f"{last(pattern, turns, CM7_R, streams) / kioxia[streams]:.2f}" for streams in base]
        rows.append(tuple(row))
    head = ("", "7450 MAX", "greedy", "2R-greedy", "CM7-R", "greedy", "2R-greedy")
    return Table(head, rows)


CM7_R = 0.88
"""Utilisation at which greedy has the 4.40 that a third party tells of CM7-R."""


# Solidigm D7-P5520: 1.92 TB

SEQUENTIAL, UNIFORM = 1.103, 3.53
"""By the counters, between two of their updates."""

SLOW_AT = 2108.0
"""GiB filled and written until the drive becomes slow: 2094 to 2124 in four runs."""

FROM_EMPTY = (1.22, 1.58, 1.80, 2.05, 2.25, 2.40, 2.55, 2.67)
"""Zipf 0.8 on a drive without data: eighths of what is 8.86 times its capacity."""


def full() -> float:
    """Utilisation at which greedy has the drive's uniform over its sequential."""
    low, high = 0.5, 0.95
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if uniform.greedy(middle, 512) < UNIFORM / SEQUENTIAL else (low, middle)
    return low


def solidigm() -> Table:
    """One parameter, and what it says of the rest."""
    shared, apart = Device(full()), Device(full(), streams="separate")
    begin = shared.history("uniform", 4, 8)
    shuffled = {"requests": shared.units, "pattern": "permutation"}
    mixed = shared.history({"phases": [shuffled, {"requests": 10**9, "pattern": "uniform"}]}, 5, 10, "none")

    def skewed(turns: float, begin: str) -> list[list[float]]:
        series = [each.history(zipf(0.8), turns, 8, begin) for each in (shared, apart)]
        return [*series, apart.history(zipf(0.8), turns, 8, begin, **WINDOWED)]

    def row(what: str, drive: float, *ours: float) -> tuple[str, ...]:
        cells = [f"{SEQUENTIAL * each:.2f} ({off(SEQUENTIAL * each, drive)})" for each in ours]
        return (what, f"{drive:.2f}", *cells, *[""] * (3 - len(cells)))

    late, empty = [sum(each[4:]) / 4 for each in skewed(4, "fill")], skewed(8.86, "none")
    slow = Device(1788.5 / SLOW_AT).amplification()
    rows = [
        row("uniform after a sequential fill (fitted)", UNIFORM, sum(begin[4:]) / 4),
        row("its first eighth", 2.98, begin[0]),
        row(f"uniform, with {SLOW_AT:.0f} GiB physical (nothing fitted)", UNIFORM, slow),
        row("uniform after a shuffled fill", 3.62, sum(mixed[6:]) / 4),
        row("Zipf 0.8 after a sequential fill", 3.37, *late),
        row("Zipf 0.8, popular places side by side", 3.88, *late),
    ]
    rows += [
        row(f"Zipf 0.8 from empty, eighth {piece + 1}", FROM_EMPTY[piece], *(each[piece] for each in empty))
        for piece in (0, 3, 7)
    ]
    note = f"Fitted: utilisation {full():.4f}, which is {1788.5 / full():.0f} GiB physical."
    return Table(("", "P5520", "greedy", "2R-greedy", "2R, windowed"), rows, note)


WINDOWED = {"victim": "windowed-greedy", "window": "128"}
"""The half of the blocks closed longest ago; of 32, 64, 96, 128 and all blocks nearest to Zipf."""


def sequential() -> Table:
    """What the map adds to sequential writes: nothing in RAM, and little on flash."""
    rows = []
    for label, ftl in (("page", {"name": "page"}), ("dftl", {"name": "dftl"}), ("dftl, an entry a page", ONE_ENTRY)):
        device = Device(0.8)
        run = device.run(device.writes("sequential", 4), ftl=ftl, precondition="fill", skip=2 * device.units)
        rows.append((label, f"{amplified(run):.4f}"))
    return Table(("", "sequential writes of 4 KiB"), rows)


ONE_ENTRY = {"name": "dftl", "batch_update": "false"}
"""A translation page is written for one entry at a time."""


# Samsung 970 PRO

SHEET = {
    "read 128 KiB in order, 32 at a time": (3500.0, "MB/s"),
    "write 128 KiB in order, 32 at a time": (2300.0, "MB/s"),
    "read 4 KiB at random, 128 at a time": (370.0, "k/s"),
    "write 4 KiB at random, 128 at a time": (500.0, "k/s"),
    "read 4 KiB at random, one at a time": (15.0, "k/s"),
    "write 4 KiB at random, one at a time": (50.0, "k/s"),
}
"""What the seller gives for 512 GB; the last two of the 970 EVO, which has the same controller."""


def samsung_rate(what: str, **device: str) -> float:
    """MB or thousands of requests per second of the preset. Reads are of written pages."""
    op, kib, *words = what.split()
    depth, writes = {"32": 32, "128": 128, "one": 1}[words[words.index("at", 3) - 1]], op == "write"
    requests = {1: 20_000, 32: 20_000, 128: 200_000}[depth]
    generator = {
        "requests": requests,
        "span": 8 << 30,
        "write_share": float(writes),
        "sizes": f"{kib}KiB",
        "pattern": "sequential" if kib == "128" else "uniform",
    }
    study = {
        "device": {"preset": "970-pro-like", "blocks_per_plane": 256, **device},
        "workload": {"generator": generator},
        "host": {"loop": "closed", "queue_depth": depth},
        "run": {"precondition": "none" if writes else "fill", "waiting": False},
        "ftl": [{"name": "page"}],
    }
    iops = float(fk.run_study(study, threads=1).frame("runs")["iops"][0])
    return iops * int(kib) * 1024 / 1e6 if SHEET[what][1] == "MB/s" else iops / 1000


def samsung() -> Table:
    """The preset beside the data sheet, and what differs where it is far off."""
    rows = []
    for what, (sheet, unit) in SHEET.items():
        ours = samsung_rate(what)
        rows.append((what, f"{sheet:g} {unit}", f"{ours:.4g} {unit}", off(ours, sheet)))
    first, (sheet, unit) = next(iter(SHEET.items()))
    ours = samsung_rate(first, mapping_unit="32KiB")
    change = f"{first}, with units of 32 KiB"
    rows.append((change, f"{sheet:g} {unit}", f"{ours:.4g} {unit}", off(ours, sheet)))
    return Table(("", "data sheet", "`970-pro-like`", "difference"), rows)


def park() -> Table:
    """Models beside a drive that was not full."""
    rows = []
    for spare, drive in ((0.147, "1.19"), (1.15, "1.2 (their fit)")):
        utilisation = 1 / (1 + spare)
        rows.append((f"{spare:g}", f"{utilisation:.3f}", f"{uniform.greedy(utilisation, 1024):.2f}", drive))
    return Table(("over-provisioning", "utilisation", "greedy", "drive"), rows)


TABLES: dict[str, Callable[[], Table]] = {
    "scale": scale,
    "fills": fills,
    "zones": two_zones,
    "zipf": zipf_table,
    "zipf-buffer": zipf_buffer,
    "micron": micron,
    "micron-history": micron_history,
    "micron-zone-sizes": micron_zone_sizes,
    "micron-zones": micron_zones,
    "skew": skew,
    "solidigm": solidigm,
    "sequential": sequential,
    "samsung": samsung,
    "park": park,
}


def replaced(page: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{PAGE} has no place for {name}: set {begin} and {end}.")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{table}\n\n{end}", page, flags=re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """Print the tables that are named, or all, and write them into the page."""
    names = [each for each in arguments if each != "--write"] or list(TABLES)
    if unknown := [each for each in names if each not in TABLES]:
        raise SystemExit(f"There is no table {unknown[0]}; choose from {', '.join(TABLES)}.")
    for name in names:
        text = TABLES[name]().text()
        print(f"{name}\n\n{text}\n", flush=True)
        if "--write" in arguments:
            PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
