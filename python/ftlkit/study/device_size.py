"""How large a device is, from the keys of its table."""

import json
import math
from functools import cache

from ftlkit import _native
from ftlkit._util import Json
from ftlkit._util.sizes import quantity

GEOMETRY = ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane", "pages_per_block")
"""Keys whose product is the pages of a device; without the last its blocks."""


def device_bytes(device: Json) -> int:
    """What the host sees of a device with every key, in bytes: its flash without the spare."""
    page = quantity("size", "page_size", f"{device['page_size']}")
    mapped = quantity("size", "mapping_unit", f"{device.get('mapping_unit') or page}")
    return int(physical_bytes(device) * (1 - spare(device))) // mapped * mapped


def physical_bytes(device: Json) -> int:
    """The flash of a device with every key, in bytes."""
    return math.prod(int(device[key]) for key in GEOMETRY) * quantity("size", "page_size", f"{device['page_size']}")


def fills_in_order(device: Json) -> bool:
    """Whether a `[device]` table asks for blocks without gaps, which `block` and logs leave."""
    keys = preset(str(device.get("preset", ""))) | device
    return keys.get("program_order") == "strict" or "mapping_unit" in keys or keys.get("programming") == "one_shot"


def spare(device: Json) -> float:
    """The share of a device's flash that the host does not see."""
    if device.get("op"):
        return 1 - 1 / (1 + _native.share(f"{device['op']}"))
    return _native.share(f"{device['spare']}")


@cache
def preset(name: str) -> Json:
    """All keys of a device preset, not to be changed; none where there is no such preset."""
    return next((entry for entry in json.loads(_native.devices()) if entry["name"] == name), {})
