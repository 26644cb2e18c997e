"""What stacks take of RAM on a device, by a run of one request: the cost of a build, not of a run.

Buffers that fill while a device is in use take more in a longer run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent
from ftlkit.api import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ftlkit.results.document import Json

TB = 10**12
"""Bytes by which makers of drives state a capacity."""


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
