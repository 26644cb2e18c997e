"""Where the points of a sweep are run, by name: what `--on` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.sweep.local import Local

if TYPE_CHECKING:
    from ftlkit.sweep.work import Executor

LOCAL = "local"


def executor(on: str = LOCAL, workers: int | None = None) -> Executor:
    """`local`: processes of this machine, `workers` at once, by default one a core."""
    if on == LOCAL:
        return Local(workers)
    raise UserError(f"--on {on}: points run on {LOCAL}. Leave --on out.")
