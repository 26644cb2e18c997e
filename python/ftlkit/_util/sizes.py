"""Sizes, durations and counts that a user gives, as the simulator reads them."""

from ftlkit import _native
from ftlkit._native import UserError

_LEAST_DRIVE = 10**6
"""A number of bytes without a unit is taken from here on."""


def quantity(kind: str, name: str, text: str) -> int:
    """A `size` in bytes, a `count` or a `duration` in nanoseconds; an error begins with `name`."""
    try:
        return _native.read_quantity(kind, text)
    except UserError as error:
        raise UserError(f"{name} {text}: is no {kind}: {error}.") from None


def drive_bytes(name: str, text: str | None) -> int | None:
    """A size of a drive, such as `960GB` or `512GiB`."""
    if text is None:
        return None
    number = quantity("size", name, text)
    if not number:
        raise UserError(f"{name} {text}: is no size of a drive. Give a number with a unit, such as 960GB or 512GiB.")
    if text.strip().isdecimal() and number < _LEAST_DRIVE:
        sizes = " or ".join(f"{text.strip()}{unit}" for unit in ("GB", "TB"))
        raise UserError(f"{name} {text}: has no unit, and so few bytes are no drive. Write {sizes}.")
    return number
