"""An image of version 1, written byte by byte, for tests of its conversion."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"FTLKIMG\n"
HEADER_BYTES = 8192
LIFE_BYTES = 16_384
ENTRY_BYTES = 16
TAG_BYTES = 32
ALIGNMENT = 4096
COPIED = ("geometry", "logical_pages", "program_order", "endurance", "seed", "preset", "latencies", "pricing")
"""Parts of a description that both versions write in the same way."""


def crc32c(data: bytes) -> int:
    """The CRC of Castagnoli, bit by bit."""
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F6_3B78 if crc & 1 else 0)
    return crc ^ 0xFFFF_FFFF


def aligned(offset: int) -> int:
    """The next multiple of the alignment."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def write(path: Path, description: dict[str, Any], logical_page: int, content: bytes) -> None:
    """Write an image of scheme page like the described one, with this content at one page."""
    shape = description["geometry"]
    blocks = shape["channels"] * shape["dies_per_channel"] * shape["planes_per_die"] * shape["blocks_per_plane"]
    pages = blocks * shape["pages_per_block"]
    text = json.dumps({"ftl": "page", "settings": {}} | {key: description[key] for key in COPIED}).encode()
    header = MAGIC + struct.pack("<III", 1, len(text), crc32c(text)) + text

    life_text = b'{"synced_seq":1,"is_clean":true,"starts":1,"counters":{}}'
    generation = struct.pack("<Q", 1)
    life = b"LIFE" + struct.pack("<I", len(life_text)) + generation
    life += struct.pack("<I", crc32c(generation + life_text)) + life_text

    number = (1).to_bytes(6, "little")
    tag = struct.pack("<II", logical_page, crc32c(content)) + number + number
    tag += struct.pack("<BBIBB", 0, 1, 0, 1, 0)
    tag += struct.pack("<I", crc32c(tag))

    lives = 2 * HEADER_BYTES
    entries = lives + 2 * LIFE_BYTES
    tags = aligned(entries + blocks * ENTRY_BYTES)
    data = aligned(tags + pages * TAG_BYTES)
    with path.open("wb") as file:
        file.truncate(data + pages * shape["page_size_bytes"])
        parts = {0: header, HEADER_BYTES: header, lives: life, lives + LIFE_BYTES: life, tags: tag, data: content}
        for offset, part in parts.items():
            file.seek(offset)
            file.write(part)
