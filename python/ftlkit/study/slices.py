"""Large drives are simulated by a slice, so that an answer about them takes seconds.

A slice is a smaller device that stands for the whole (docs/device.md).
"""

import json

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json


def chosen(device: Json) -> Json:
    """A `[device]` table that says whether a slice is simulated: where the whole takes long."""
    drive, simulated = sizes(device) or (0, 0)
    return device if "slice" in device or simulated == drive else device | {"slice": "auto"}


def sizes(device: Json) -> tuple[int, int] | None:
    """Bytes that the host sees of a device, and of its slice or all; None for a wrong table."""
    table = {key: value for key, value in device.items() if key != "label"}
    try:
        drive, simulated = _native.device_bytes(json.dumps(table))
    except UserError:  # What is wrong with a table the simulator says when it checks the study.
        return None
    return drive, simulated
