"""What stacks take of RAM on a device, by a run of one request: the cost of a build, not of a run.

Buffers that fill while a device is in use take more in a longer run. Whether a stack fits a device
is asked by a build, too. A build of a large device takes some tenths of a second, and a search asks
for over a hundred stacks, so most of it is asked of a small one.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ftlkit.results.document import Json

TB = 10**12
"""Bytes by which makers of drives state a capacity."""
_SMALL_PAGES, _FEW_BLOCKS = 1 << 15, 64
"""Pages of a small device, where blocks are not fewer than so many a plane."""


def one_request() -> Json:
    """The least workload that there is, for what does not depend on it."""
    return {"preset": catalogue.workloads()[0]["name"], "requests": 1, "addresses": "wrap"}


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
    """A device with so many blocks a plane, and as large a part of its capacity."""
    unit = study.mapped_bytes(device)
    units = device["capacity"] * blocks // (unit * device["blocks_per_plane"])
    return device | {"blocks_per_plane": blocks, "capacity": unit * units}


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


def small(device: Json) -> Json:
    """A device with as many dies and fewer blocks, if it has many."""
    blocks = device["blocks_per_plane"]
    across = device["channels"] * device["dies_per_channel"] * device["planes_per_die"] * device["pages_per_block"]
    few = max(_FEW_BLOCKS, _SMALL_PAGES // across)
    return with_blocks(device, few) if few < blocks else device


class Builds:
    """What fits a device, and what it takes of RAM there: each is built once."""

    def __init__(self, device: Json, check: Callable[[], None] = lambda: None, until_s: float | None = None) -> None:
        """`check` raises `TimeIsUp` when the time is over, which is at `until_s`."""
        self._device, self._check, self._until_s = device, check, until_s
        self._whole, self._small = (json.dumps(each, sort_keys=True) for each in (device, small(device)))
        self._ram: dict[str, float] = {}

    def refusal(self, stack: str) -> str:
        """Why a stack cannot work on the device: what a study with one request is refused for.

        Where the device has the mapping, a small one tells whether a part may go before it.
        """
        self._check()
        if stack in self._ram:
            return ""
        first = stack.partition("+")[0]
        if first != stack and not (self.refusal(first) or self._on_small(first) or self._on_small(stack)):
            return ""
        return _refusal(self._whole, stack)

    def refuses(self, stack: str) -> bool:
        """Whether a stack does not fit: what is too little for a small device is for a large one."""
        bare = "+".join(part.partition(":")[0] for part in stack.split("+"))
        return bool((not self._on_small(bare) and self._on_small(stack)) or self.refusal(stack))

    def look_at(self, stacks: Iterable[str]) -> None:
        """Build stacks together where they seem to fit; if one does not after all, nothing is known."""
        with suppress(UserError):
            self.ram([stack for stack in stacks if not self._on_small(stack)])

    def ram(self, stacks: Iterable[str]) -> dict[str, float]:
        """What stacks that fit take of RAM, in bytes."""
        stacks = dict.fromkeys(stacks)
        self._check()
        if new := [stack for stack in stacks if stack not in self._ram]:
            self._ram |= least_ram({stack: stack for stack in new}, self._device, self._until_s)
        return {stack: self._ram[stack] for stack in stacks}

    def _on_small(self, stack: str) -> str:
        return _refusal(self._small, stack)


@lru_cache(maxsize=8192)
def _refusal(device: str, stack: str) -> str:
    """Kept, since a question asks for over a hundred stacks, and the next one for the same."""
    try:
        checked({"device": json.loads(device), "workload": one_request(), "ftl": [study.scheme(stack)]}, Silent())
    except UserError as error:
        return str(error)
    return ""
