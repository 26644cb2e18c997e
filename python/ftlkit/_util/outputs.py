"""Output files: refused before the work, if they cannot be written; never half-written.

A file is written beside its place under a temporary name and renamed when it is whole. The
temporary name keeps the suffix, since some writers choose their format by it. Only a regular file,
or none, is replaced, and never one that was read.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ftlkit._native import UserError

STANDARD_OUTPUT = Path("-")

_PAGES = (".html", ".htm")

_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISCHR, "it is a device, not a regular file"),
    (stat.S_ISBLK, "it is a device, not a regular file"),
    (stat.S_ISFIFO, "it is a pipe, not a regular file"),
    (stat.S_ISSOCK, "it is a socket, not a regular file"),
)


def check_writable(paths: Iterable[Path | None], inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse, before any work, paths that cannot be written, are read, or are given twice.

    Whether two paths are one file is told by the file, not by its name. `-` is standard output.
    """
    read = [Path(path) for path in inputs if path is not None]
    seen: list[Path] = []
    for path in paths:
        if path is None:
            continue
        if any(_is_same(path, other) for other in seen):
            raise UserError(f"{path} was given for two outputs: give each its own name.")
        seen.append(path)
        if path != STANDARD_OUTPUT:
            check_one(path, read)


def check_pages(**pages: Path | None) -> None:
    """Refuse a page, by its option, whose name would let other programs take it for no HTML."""
    for option, path in pages.items():
        if path not in (None, STANDARD_OUTPUT) and path.suffix.lower() not in _PAGES:
            raise UserError(
                f"--{option} {path}: it would be an HTML page, so the name must end in {' or '.join(_PAGES)}. "
                f"Write --{option} {path.with_suffix('.html')}, and print it to PDF from a browser if you need one."
            )


def check_one(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a path that cannot or must not be written; an input folder counts with its files."""
    for source in inputs:
        if _is_same(path, source) or (source.is_dir() and _place(path).is_relative_to(_place(source))):
            other = "" if str(source) == str(path) else f" ({source})"
            raise UserError(f"{path} is read here{other}: an output would overwrite it. Choose another path.")
    reason = _obstacle(path)
    if reason:
        raise UserError(f"cannot write {path}: {reason}. Choose another path.")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths are one file, whatever links lead to it, or would be one."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return _place(path) == _place(other)


def _place(path: Path) -> Path:
    """Where a path leads; links are followed, since their target is replaced and not they."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _obstacle(path: Path) -> str | None:
    """What stands against writing to a path."""
    place = _place(path)
    folder = place.parent
    if not folder.is_dir():
        return f"{path.parent} is not a folder" if folder.exists() else f"the folder {path.parent} does not exist"
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        return str(error.strerror)
    if mode is not None and not stat.S_ISREG(mode):
        return next((words for is_kind, words in _KINDS if is_kind(mode)), "it is not a regular file")
    try:
        # A trial file also sees read-only file systems and full disks, which permission bits do not
        # tell.
        _temporary(place).unlink()
    except OSError as error:
        return f"{folder} takes no new file ({error.strerror})"
    if mode is not None and not os.access(place, os.W_OK):
        return "the file there is read-only"
    return None


def _temporary(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    return Path(name)


@contextmanager
def replacing(path: Path, inputs: Iterable[str | Path | None] = ()) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` on success and vanishes on failure.

    Refuses what `check_writable` refuses: it may not have been asked, or long ago.
    """
    check_writable([path], inputs)
    place = _place(path)
    try:
        temporary = _temporary(place)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}. Choose another path.") from None
    try:
        yield temporary
        temporary.chmod(mode(place))
        temporary.replace(place)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}. Free some space or choose another path.") from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write(path: Path, data: bytes, inputs: Iterable[str | Path | None] = ()) -> None:
    """Write a whole file; `-` is standard output."""
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    with replacing(path, inputs) as temporary:
        temporary.write_bytes(data)


def mode(place: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    with suppress(OSError):
        return stat.S_IMODE(place.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
