"""What stacks take of RAM on a device, by a run of one request: the cost of a build, not of a run.

Buffers that fill while a device is in use take more in a longer run. Whether a stack fits a device
is asked by a build, too. A build of a large device takes some tenths of a second, and a search asks
for over a hundred stacks, so most of it is asked of a small one.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent, Watcher
from ftlkit.study import slices

TB = 10**12
"""Bytes by which makers of drives state a capacity."""
_SMALL_PAGES, _FEW_BLOCKS, _FEW_SPARE = 1 << 15, 64, 13
"""Pages of a small device, unless blocks per plane or the spare ones of these become too few."""
_NEAR = 0.1
"""What is so near to the RAM that may be taken is asked of the whole device."""


def one_request() -> Json:
    """The least workload that there is, for what does not depend on it."""
    arrivals = {"constant": {"gap": "1ms"}}
    return {"generator": {"pattern": "sequential", "requests": 1, "span": "4KiB", "arrivals": arrivals}}


def least_ram(stacks: Mapping[str, str], device: Json, until_s: float | None) -> dict[str, float]:
    """What stacks take of RAM, in bytes, by what they are called."""
    document = {
        "device": device,
        "workload": one_request(),
        "run": {"precondition": "none"},
        "ftl": [study.scheme(stack) | {"label": text} for text, stack in stacks.items()],
    }
    text = json.dumps(document)
    results: Json = json.loads(watched(lambda control: _native.run_study(text, control, 0), Silent(), until_s=until_s))
    return {run["label"]: float(run["footprint"]["ram_bytes"]) for run in results["runs"]}


def with_blocks(device: Json, blocks: int) -> Json:
    """A device with this many blocks per plane, and as large a part of its capacity."""
    unit = study.mapped_bytes(device)
    units = device["capacity"] * blocks // (unit * device["blocks_per_plane"])
    return _sliced(device) | {"blocks_per_plane": blocks, "capacity": unit * units}


def with_unit(device: Json, unit_bytes: int, given: Collection[str] = (), generator: Json | None = None) -> Json:
    """A device with another mapping unit, whole units of which are its capacity.

    A program buffer that is not among the keys `given` by the user follows the unit, and so does a
    slice that is large enough for the writes of a `generator`.
    """
    capacity = device["capacity"] // unit_bytes * unit_bytes
    own = {key: value for key, value in _sliced(device, generator).items() if key != "program_buffer" or key in given}
    return own | {"mapping_unit": unit_bytes, "capacity": capacity}


def _sliced(device: Json, generator: Json | None = None) -> Json:
    """A device to be changed, whose slice follows it, unless its size is the study's choice."""
    usual = device | {"slice": "auto"}
    _, simulated = slices.sizes(usual, generator) or (0, 0)
    return usual if device.get("slice") == simulated else device


def ram_per_tb(stack: str, device: Json, until_s: float | None) -> float | None:
    """By how many bytes the RAM of a stack grows with each TB of the drive; None if unknown.

    It is compared with what the stack takes on the same device with half of the blocks, or with
    twice as many where half are too few for it.
    """
    ram = least_ram({"": stack}, device, until_s)[""]
    for blocks in (device["blocks_per_plane"] // 2, 2 * device["blocks_per_plane"]):
        other = with_blocks(device, blocks)
        try:
            grown = least_ram({"": stack}, other, until_s)[""]
        except UserError:
            continue
        # Of what does not grow the difference is 0, and not -0.
        return TB * abs(grown - ram) / float(abs(other["capacity"] - device["capacity"]))
    return None


def checked(document: Json, watcher: Watcher, until_s: float | None = None) -> Json:
    """A study with every key filled in."""
    study.refuse_unreadable(document)
    return watched(lambda control: study.filled(document, control), watcher, until_s=until_s)


def small(device: Json, times: int = 1) -> Json:
    """A device with the same dies and few blocks, or a multiple of them, if it has more.

    A slice is small itself.
    """
    if "slice" in device:
        return device
    blocks = device["blocks_per_plane"]
    across = device["channels"] * device["dies_per_channel"] * device["planes_per_die"] * device["pages_per_block"]
    few = times * max(_FEW_BLOCKS, math.ceil(_FEW_SPARE / max(device["spare"], 0.01)), _SMALL_PAGES // across)
    return with_blocks(device, few) if few < blocks else device


class Builds:
    """What fits a device, and what it takes of RAM there.

    Of a large device that is asked of a small one: whatever fits that fits, and what does not is
    asked of the whole. What grows with the blocks lies on a line, which a second one tells.
    """

    def __init__(self, device: Json, check: Callable[[], None] = lambda: None, until_s: float | None = None) -> None:
        """`check` raises `TimeIsUp` when the time is over, which is at `until_s`."""
        self._device, self._check, self._until_s = device, check, until_s
        self._few = [small(device, times) for times in (1, 2)]
        self.is_large = self._few[1]["blocks_per_plane"] < device["blocks_per_plane"]
        self._whole, self._small = (json.dumps(each, sort_keys=True) for each in (device, self._few[0]))
        self._fitting: set[str] = set()
        self._exact: dict[str, float] = {}
        self._about: dict[str, float] = {}

    def refusal(self, stack: str) -> str:
        """Why a stack cannot work on the device: what a study with one request is refused for."""
        self._check()
        if stack in self._fitting:
            return ""
        return self.exact_refusal(stack) if not self.is_large or _refusal(self._small, stack) else ""

    def refuses(self, stack: str) -> bool:
        """Whether a stack does not fit; what is too little on a small device is on a large one.

        Parts that do not fit the small device by default are asked of the whole.
        """
        self._check()
        default = "+".join(part.partition(":")[0] for part in stack.split("+"))
        tells = self.is_large and not _refusal(self._small, default)
        return bool(_refusal(self._small if tells else self._whole, stack))

    def look_at(self, stacks: Sequence[str]) -> None:
        """Ask about stacks together, which is quicker where all of them fit."""
        self._check()
        if self.is_large and not _refusal(self._small, *stacks):
            self._fitting |= {*stacks}

    def exact_refusal(self, stack: str) -> str:
        """The same, of the whole device in any case."""
        self._check()
        return _refusal(self._whole, stack)

    def ram(self, stacks: Iterable[str], most: float = math.inf) -> dict[str, float]:
        """What stacks that fit take of RAM, in bytes: exact for what is near to `most`, or if 0."""
        stacks = dict.fromkeys(stacks)
        self._check()
        about = self._by_the_small(stack for stack in stacks if self.is_large and not _refusal(self._small, stack))
        near = [
            stack for stack in stacks if stack not in about or not most or 1 - _NEAR <= about[stack] / most <= 1 + _NEAR
        ]
        if near := [stack for stack in near if stack not in self._exact]:
            self._exact |= least_ram({stack: stack for stack in near}, self._device, self._until_s)
        return {stack: self._exact[stack] if stack in self._exact else about[stack] for stack in stacks}

    def _by_the_small(self, stacks: Iterable[str]) -> dict[str, float]:
        new = {stack: stack for stack in stacks if stack not in self._about}
        if new:
            one, two = (least_ram(new, device, self._until_s) for device in self._few)
            (first, second), whole = (each["blocks_per_plane"] for each in self._few), self._device["blocks_per_plane"]
            self._about |= {
                stack: one[stack] + (two[stack] - one[stack]) * (whole - first) / (second - first) for stack in new
            }
        return self._about


@lru_cache(maxsize=8192)
def _refusal(device: str, *stacks: str) -> str:
    """Kept, since a question asks for over a hundred stacks, and the next one for the same."""
    layers = [study.scheme(stack) | {"label": stack} for stack in stacks]
    try:
        checked({"device": json.loads(device), "workload": one_request(), "ftl": layers}, Silent())
    except UserError as error:
        return str(error)
    return ""
