"""Sizes that a user gives."""

from __future__ import annotations

import re

from ftlkit._native import UserError

_DRIVE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE)

_LEAST_DRIVE = 10**6
"""A number of bytes without a unit is taken from here on."""


def drive_bytes(name: str, text: str | None) -> int | None:
    """A size of a drive, as its maker tells it: `960GB` of powers of 1000, `512GiB` of 1024."""
    if text is None:
        return None
    match = _DRIVE.fullmatch(text.strip())
    power = 0 if match is None else "kmgtp".find(match[2].lower() or "-") + 1
    number = 0 if match is None else int(float(match[1]) * (1024 if match[3] else 1000) ** power)
    if not number:
        raise UserError(f"{name} {text}: is no size. Give a number with a unit, such as 960GB or 512GiB.")
    if match is not None and not match[2] and number < _LEAST_DRIVE:
        sizes = " or ".join(f"{text.strip()}{unit}" for unit in ("GB", "TB"))
        raise UserError(f"{name} {text}: has no unit, and so few bytes are no drive. Write {sizes}.")
    return number
