"""Sizes that were typed without a whole unit, told once as they were read: `64` and `4k`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit.study.keys import kind_of
from ftlkit.study.options import SECTIONS

_LETTER = re.compile(r".*[0-9][kmgt]", re.IGNORECASE)

_FEW = 1024
"""Bytes below which a bare number may have been meant in another unit."""

_OPTIONS = ("bs", "span", "ram")
"""Options that are sizes and no keys of a study."""


def told(document: Json, options: Mapping[str, Any]) -> str | None:
    """A line for the header; None where each size has its unit."""
    given = {f"--{key}": re.split(r"\.\.|-", str(options[key])) for key in _OPTIONS if key in options}
    given |= {f"{key} =": [text] for key, text in _sizes(document)}
    texts = [(name, text) for name, ends in given.items() for text in ends]
    read = [f"{name} {text} is {units.size(size)}" for name, text in texts if (size := _bare(text)) is not None]
    return f"Sizes without a unit are bytes, and k, M, G powers of 1024: {', '.join(read)}." if read else None


def _bare(given: object) -> int | None:
    """The bytes of a size that may be misread."""
    text = str(given).strip()
    try:
        size = _native.read_quantity("size", text)
    except UserError:
        return None
    return size if _LETTER.fullmatch(text) or (text.isdecimal() and 0 < size < _FEW) else None


def _sizes(document: Json) -> Iterator[tuple[str, Any]]:
    """The values of a study that are sizes, by key."""
    places = [(section, document.get(section) or {}) for section in SECTIONS]
    for entry in document.get("ftl", []):
        mapping, *others = (part.partition(":")[0] for part in entry["name"].split("+"))
        places += [(mapping, entry), *((part, entry.get(part) or {}) for part in others)]
    for owner, table in places:
        for key, given in table.items():
            if kind_of(f"{owner}.{key}") == "size":
                yield f"{owner}.{key}", given
