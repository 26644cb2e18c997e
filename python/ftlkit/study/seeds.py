"""The range of seeds, the same for every command, so stores and TOML can hold them."""

from __future__ import annotations

import hashlib

from ftlkit._native import UserError

MOST = 2**63 - 1
"""The largest seed: the largest whole number of TOML, and of the column `seed` of a store."""


def check_seed(given: object, many: int = 1) -> None:
    """Raise a `UserError` if one of so many seeds, from the given one on, is out of range."""
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= MOST:
        raise UserError(f"seed = {given}: must be a whole number from 0 to {MOST} (2^63 - 1).")
    if given + many - 1 > MOST:
        raise UserError(
            f"seed = {given}: with {many} seeds the last one would be {given + many - 1}, and seeds end at {MOST} "
            f"(2^63 - 1). Give a seed of at most {MOST - many + 1}."
        )


def of_32_bits(seed: int) -> int:
    """The seed itself below 2^32, else a derived one, for libraries that take no larger one."""
    if seed < 1 << 32:
        return seed
    return int.from_bytes(hashlib.sha256(f"seed {seed}".encode()).digest()[:4], "big")
