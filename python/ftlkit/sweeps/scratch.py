"""The temporary folder of a sweep, and those of killed sweeps, which are removed by the next one.

Who works in a folder holds a lock on a file in it, which the system takes from a process however
that ended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "ftlkit-sweep-"
_LOCK = "lock"

_NEW_S = 60.0
"""A folder that was made so lately may not be locked yet."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the block; removes folders that killed sweeps of this user left."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_left(path):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, (Path(name) / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _is_left(folder: Path) -> bool:
    try:
        facts = folder.lstat()
        if facts.st_uid != os.getuid() or folder.is_symlink() or time.time() - facts.st_mtime < _NEW_S:
            return False
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        # Killed before it made its lock, or removed by another sweep just now.
        return True
    except OSError:
        return False
    return True
