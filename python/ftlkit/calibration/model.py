"""Asks the simulator what a device would have measured: one short run for each point.

A run needs no device of the drive's size. Reads and first writes ask the dies and buses alone, so a
small device with the drive's channels and dies serves them. For settled writes the device has the
drive's own number of pages where that is small. Else it has fewer and shorter blocks, and its spare
is chosen so that the closed form of greedy collections gives the drive's write amplification.

An area that random writes go over is modelled as a smaller capacity: what is never written is spare
to a page-mapped scheme.
"""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from ftlkit import _native
from ftlkit._util import Json
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent
from ftlkit.calibration.points import AMPLIFICATION, LATENCY, LOAD, READ, STEADY, TRIMMED, Point, served
from ftlkit.models.uniform import greedy

Values = dict[str, float]
"""Parameters by name: times in nanoseconds, `link_ns_per_byte`, and `spare` as a share."""

FTL = "page"
"""Fitted with this layer: enterprise drives behave like greedy collections of a page mapping."""

OF_TRIMMED = ("link_latency", "controller_latency", "link_ns_per_byte")
OF_READS = ("read_latency", "transfer_latency", *OF_TRIMMED)
OF_WRITES = ("program_latency", "transfer_latency", *OF_TRIMMED)
OF_STEADY = ("read_latency", "erase_latency", "spare")

_SMALL_BLOCK = 16
"""Pages of a block where none is collected."""

_KEPT_BLOCKS = 8
"""Blocks of each die beyond the data, where none is collected."""

_LEAST_PAGES, _PAGES_PER_DIE = 8_192, 64
"""Logical pages of the device for reads and first writes: few, for speed."""

MOST_PAGES = 100_000
"""Physical pages that are simulated as they are; more are scaled down."""

_SCALED_BLOCK, _SCALED_BLOCKS = 32, 64
"""Pages of a block, and blocks of a die, of a device that is scaled down."""

_KEPT_FREE = 2.0
"""Blocks of each die that hold no data: one is kept free, and two open ones are half empty."""


_LEAST_SPARE = 4
"""Blocks of each die that hold no data: two open ones, a free one, one to gain."""


@dataclass(frozen=True)
class Shape:
    """How a drive is built, as far as the model has it."""

    channels: int
    dies_per_channel: int
    page_size: int
    pages_per_block: int
    capacity: int

    @property
    def dies(self) -> int:
        """All dies."""
        return self.channels * self.dies_per_channel


def depends_on(point: Point) -> tuple[str, ...]:
    """The parameters that a point's figure can depend on."""
    if point.figure == AMPLIFICATION:
        return ("spare",)
    if point.kind == TRIMMED:
        return OF_TRIMMED
    if point.kind == READ or (point.kind == LOAD and not point.rates[1]):
        return OF_READS
    if point.kind == LOAD:
        return (*OF_WRITES, *OF_STEADY)
    return OF_WRITES if point.kind != STEADY else (*OF_WRITES, *OF_STEADY)


def table(shape: Shape, values: Values, given: Mapping[str, object]) -> Json:
    """The `[device]` table of a shape and its parameters, with the switches that were given."""
    made: Json = {
        "channels": shape.channels,
        "dies_per_channel": shape.dies_per_channel,
        "planes_per_die": 1,
        "pages_per_block": shape.pages_per_block,
        "page_size": shape.page_size,
        "pricing": "parallel",
    }
    for key in ("read_latency", "program_latency", "erase_latency", "transfer_latency", "link_latency"):
        made[key] = f"{round(values[key])}ns"
    if round(values["controller_latency"]) > 0:
        made |= {"controller_latency": f"{round(values['controller_latency'])}ns", "controller_cores": 1}
    if values["link_ns_per_byte"] > _UNNOTICED:
        made["link_bandwidth"] = f"{round(1e9 / values['link_ns_per_byte'])}B/s"
    return made | {key: value for key, value in given.items() if key in _SWITCHES}


_UNNOTICED = 1e-6
"""Nanoseconds a byte of a link so fast that no page takes a nanosecond."""

_SWITCHES = (
    "multi_plane",
    "aligned_planes",
    "cache_read",
    "cache_program",
    "planes_per_die",
    "suspend",
    "suspensions",
    "reads_first",
    "gc_yields",
    "die_order",
    "overtakes",
)
"""Keys of a device that the user may state, and that no point determines."""


@dataclass
class Engine:
    """The simulator, with the figures that it gave already."""

    given: Mapping[str, object]
    runs: int = 0
    _known: dict[tuple[object, ...], Json] = field(default_factory=dict)

    def figure(self, point: Point, shape: Shape, values: Values) -> float:
        """What a device would have measured at a point."""
        # Without collections, blocks and spare play no part.
        is_settled = point.kind in (STEADY, LOAD)
        own = shape if is_settled else (shape.channels, shape.dies_per_channel, shape.page_size)
        key = (*point.asked, own, *(round(values[name], 9) for name in depends_on(point)))
        if key not in self._known:
            study = _settled(point, shape, values) if is_settled else _timed(point, shape)
            study["device"] = table(shape, values, self.given) | study["device"]
            # Draws differ from point to point, so that their noise does not add up.
            study["seed"] = zlib.crc32(repr(point.asked).encode())
            run = self._run(study)
            self.runs += 1
            self._known[key] = {name: run[name] for name in ("write_amplification", "response_ns")}
        return _figure(self._known[key], point)

    def _run(self, study: Json) -> Json:
        study["ftl"] = [{"name": FTL}]
        study["run"] |= {"samples": 1, "waiting": False}
        text = json.dumps(study)
        results = json.loads(watched(lambda control: _native.run_study(text, control, 1, None), Silent()))
        run: Json = results["runs"][0]
        return run


def _figure(run: Json, point: Point) -> float:
    """A run's figure; requests per second by Little's law, which the run's end does not lower."""
    if point.figure == AMPLIFICATION:
        return float(run["write_amplification"])
    if point.kind == LOAD:
        return float(run["response_ns"]["write" if point.is_write else "read"][point.figure])
    mean_ns = float(run["response_ns"]["all"]["mean"])
    return mean_ns if point.figure == LATENCY else 1e9 * point.depth / mean_ns


def _timed(point: Point, shape: Shape) -> Json:
    """The study of a point without collections: all but reads of data go to a new device."""
    is_read = point.kind in (READ, TRIMMED)
    span = max(_LEAST_PAGES, _PAGES_PER_DIE * shape.dies) * shape.page_size
    size = min(point.size, span // 64)
    fits = span // size
    kept = _KEPT_BLOCKS * _SMALL_BLOCK * shape.dies * shape.page_size
    spare = kept / (kept + span)
    requests = served(point.depth)
    if size > shape.page_size and point.depth > 1:
        # Each goes over many dies, so that fewer say as much.
        requests = max(10 * point.depth, requests * shape.page_size // size)
    if not is_read:
        requests = min(requests, fits)
    generator = {
        "requests": requests,
        "span": span // size * size,
        "unit": size,
        "sizes": size,
        "write_share": 0.0 if is_read else 1.0,
        "pattern": "uniform" if point.is_random else "sequential",
    }
    return {
        "device": {"capacity": span, "spare": spare, "pages_per_block": _SMALL_BLOCK},
        "workload": {"generator": generator},
        "host": {"loop": "closed", "queue_depth": point.depth},
        "run": {"precondition": "fill" if point.kind == READ else "none", "skip": requests // 5},
    }


def _settled(point: Point, shape: Shape, values: Values) -> Json:
    """The study of random requests over a part of the capacity of a settled drive."""
    logical = point.used * shape.capacity / shape.page_size
    physical = shape.capacity / shape.page_size / (1 - values["spare"])
    block, erase_ns = shape.pages_per_block, values["erase_latency"]
    if physical > MOST_PAGES:
        logical, physical = _scaled(logical, physical, shape)
        erase_ns *= _SCALED_BLOCK / block
        block = _SCALED_BLOCK
    # Fewer blocks than these leave a scheme nothing to collect.
    least = math.ceil(_LEAST_SPARE / max(1 - logical / physical, 0.001))
    blocks = max(round(physical / block / shape.dies), least)
    # Blocks come whole: the data follow them, so that the share in use changes without steps.
    capacity = round(logical * blocks * block * shape.dies / physical) * shape.page_size
    span = capacity // point.size * point.size
    generator: Json = {
        "requests": max(8_000, int(min(physical, 25_000.0) * shape.page_size / point.size)),
        "span": span,
        "unit": point.size,
        "sizes": point.size,
        "write_share": 1.0,
        "pattern": "uniform" if point.is_uniform or point.kind == LOAD else "permutation",
    }
    if point.kind == LOAD:
        reads, writes = point.rates
        gap = f"{round(1e9 / (reads + writes))}ns"
        arrivals = {"poisson": {"mean_gap": gap}} if point.is_poisson else {"constant": {"gap": gap}}
        generator |= {"write_share": writes / (reads + writes), "arrivals": arrivals}
    return {
        "device": {
            "capacity": capacity,
            "blocks_per_plane": blocks,
            "pages_per_block": block,
            "spare": 0.0001,
            "erase_latency": f"{round(erase_ns)}ns",
        },
        "workload": {"generator": generator},
        "host": {"loop": "threads" if point.kind == LOAD else "closed", "queue_depth": point.depth},
        "run": {"precondition": "steady", "skip": generator["requests"] // 10 if point.kind == LOAD else point.depth},
    }


def _scaled(logical: float, physical: float, shape: Shape) -> tuple[float, float]:
    """Pages of a smaller device whose write amplification is that of the drive."""
    kept = _KEPT_FREE * shape.dies * shape.pages_per_block
    amplification = greedy(_within(logical / (physical - kept)), shape.pages_per_block)
    low, high = 0.01, 0.995
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if greedy(middle, _SCALED_BLOCK) < amplification else (low, middle)
    smaller = float(_SCALED_BLOCKS * _SCALED_BLOCK * shape.dies)
    return low * (smaller - _KEPT_FREE * shape.dies * _SCALED_BLOCK), smaller


def _within(utilisation: float) -> float:
    return min(max(utilisation, 0.01), 0.995)
