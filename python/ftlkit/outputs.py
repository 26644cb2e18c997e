"""Output files: refused before the work when they cannot be written, and never left half-written.

A file is written beside its place under a temporary name and renamed when it is whole. The temporary name keeps the
suffix, since some writers choose their format by it.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def check_writable(paths: Iterable[Path | None]) -> None:
    """Refuse, before any work, paths that could not be written after it, or that would overwrite each other."""
    seen: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        place = path.resolve()
        if place in seen:
            raise UserError(f"{path} was given for two outputs: give each its own name.")
        seen.add(place)
        reason = _obstacle(path)
        if reason:
            raise UserError(f"cannot write {path}: {reason}. Choose another path.")


def _obstacle(path: Path) -> str | None:
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"{folder} is not a folder" if folder.exists() else f"the folder {folder} does not exist"
    try:
        # A trial file also sees read-only file systems and full disks, which permission bits do not tell.
        _temporary(path).unlink()
    except OSError as error:
        return f"{folder} takes no new file ({error.strerror})"
    if path.exists() and not os.access(path, os.W_OK):
        return "the file there is read-only"
    return None


def _temporary(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    return Path(name)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds and vanishes when it fails."""
    try:
        temporary = _temporary(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}. Choose another path.") from None
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}. Free some space or choose another path.") from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
