"""Large drives are simulated by a slice, so that an answer about them takes seconds.

A slice is a smaller device that stands for the whole (docs/device.md).
"""

import json

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json


def chosen(device: Json, generator: Json | None = None) -> Json:
    """A `[device]` table that says whether a slice is simulated: where the whole takes long."""
    drive, simulated = sizes(device, generator) or (0, 0)
    return device if "slice" in device or simulated == drive else device | {"slice": "auto"}


def sizes(device: Json, generator: Json | None = None) -> tuple[int, int] | None:
    """Bytes that the host sees of a device, and of its slice or all; None for a wrong table.

    A slice is large enough for the writes of a `generator`, whatever that spans.
    """
    table = {key: value for key, value in device.items() if key != "label"}
    writes = None if generator is None else json.dumps({key: generator[key] for key in generator if key != "span"})
    try:
        drive, simulated = _native.device_bytes(json.dumps(table), writes)
    except UserError:  # What is wrong with a table the simulator says when it checks the study.
        return None
    return drive, simulated
