"""Large drives are simulated by a slice, so that an answer about them takes seconds.

A slice is a smaller device that stands for the whole (docs/device.md).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ftlkit import _native
from ftlkit._native import UserError

if TYPE_CHECKING:
    from ftlkit.results.document import Json


def chosen(device: Json) -> Json:
    """A `[device]` table that says whether a slice is simulated: where the whole takes long."""
    if "slice" in device or device.get("capacity", "" if _has_size(device) else "auto") == "auto":
        return device
    return device | {"slice": "auto"} if usual(device) is not None else device


def usual(device: Json) -> int | None:
    """Bytes of the slice of a device that has a size; None where the whole is simulated."""
    table = {key: value for key, value in device.items() if key not in ("label", "slice")}
    try:
        return _native.usual_slice(json.dumps(table))
    except UserError:  # What is wrong with a table the simulator says when it checks the study.
        return None


def _has_size(device: Json) -> bool:
    return bool({"preset", "blocks_per_plane"} & device.keys())
