"""How many runs, points or trials go on at once: what `threads` means, for every command."""

import os

from ftlkit._native import UserError

MOST = 65_536
"""More threads than any machine has cores: a larger number is a slip."""


def cores() -> int:
    """The cores that this process may use."""
    may_use = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return may_use or 1


def at_once(threads: int | None) -> int:
    """As many as asked, and at most one per core: more save no time. None: one per core."""
    if threads is None:
        return cores()
    if not 1 <= threads <= MOST:
        raise UserError(
            f"--threads {threads}: must be from 1 to {MOST:,}, and at most one per core runs at once. Leave it out "
            "for one per core."
        )
    return min(threads, cores())
