"""Flash wears out under a mounted volume: accepted writes are kept, or reported lost."""

import errno
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mounting import Mount

FILES = 4
"""Files that are open when the flash wears out."""

MOST_ROUNDS = 20_000


def _errno(act: Callable[[], object]) -> int:
    """What a call fails with; 0 if it does not."""
    try:
        act()
    except OSError as error:
        return error.errno or -1
    return 0


def _wear_out(at: Path) -> tuple[dict[str, bytes], list[int]]:
    """Write to several open files until one is refused: what each synced, and the handles."""
    handles = [os.open(at / f"file {i}", os.O_CREAT | os.O_RDWR) for i in range(FILES)]
    safe: dict[str, bytes] = {}
    for turn in range(MOST_ROUNDS):
        handle = handles[turn % FILES]
        safe.pop(f"file {turn % FILES}", None)
        content = turn.to_bytes(4, "little") * 16_384
        failed = _errno(partial(os.pwrite, handle, content, 0))
        if not failed and turn % 3 == 0:
            failed = _errno(partial(os.fsync, handle))
            if not failed:
                # What is safe of one file is safe of all.
                safe = {f"file {i}": os.pread(handle, 1 << 20, 0) for i, handle in enumerate(handles)}
        if failed:
            assert failed == errno.EROFS
            return safe, handles
    raise AssertionError("the flash did not wear out")


def _refused(act: Callable[[], object]) -> None:
    with pytest.raises(OSError, match="Read-only file system"):
        act()


def _changes_are_refused(at: Path) -> None:
    """Each kind of change gets EROFS."""
    _refused((at / "new").touch)
    _refused((at / "new folder").mkdir)
    _refused((at / "kept").unlink)
    _refused(lambda: (at / "kept").rename(at / "renamed"))
    _refused((at / "folder").rmdir)
    _refused(lambda: os.truncate(at / "kept", 1))
    _refused(lambda: (at / "kept").open("r+b"))
    _refused(lambda: os.utime(at / "kept", (1, 1)))
    _refused(lambda: (at / "kept").chmod(0o444))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_told(handle: int) -> bool:
    """Whether `fsync` and `close` say of a file that it is not kept; both or neither."""
    errors = {_errno(lambda: os.fsync(handle)), _errno(lambda: os.close(handle))}
    assert errors in ({0}, {errno.EROFS})
    return errors != {0}


@pytest.mark.parametrize("ftl", ["page+saw", "fast", "page+dynamic+fifo:ram=256KiB"])
def test_flash_that_wears_out_under_a_mount_tells_all(tmp_path: Path, ftl: str) -> None:
    with Mount(tmp_path, ftl, "32MiB", spare=0.3, endurance=3) as mount:
        at = mount.start("--format").at
        (at / "folder").mkdir()
        (at / "kept").write_bytes(b"kept" * 5_000)
        _sync(at / "kept")
        safe, handles = _wear_out(at)
        _changes_are_refused(at)
        for handle in handles:
            _refused(partial(os.pwrite, handle, b"more", 0))
        refused = {f"file {i}" for i, handle in enumerate(handles) if _is_told(handle)}
        assert refused, "what was refused was written before"
        for name in refused:
            # To read it and close it again is no error, so it can be copied.
            assert (at / name).read_bytes()
        _sync(at / "kept")
        until = time.monotonic() + 30.0
        while "warning" not in mount.said() and time.monotonic() < until:
            time.sleep(0.05)
        assert "worn out" in mount.said()
        text = " ".join(mount.stop(code=2).split())
        for name in refused:
            assert name in text.split("are lost:")[1]
        foreign = mount.by_another_driver()
        mount.start()
        until = time.monotonic() + 30.0
        while "is worn out" not in mount.said():
            assert time.monotonic() < until, mount.said()
            time.sleep(0.05)
        assert "for reading alone" in mount.said()
        assert os.statvfs(at).f_flag & os.ST_RDONLY
        shown = {path.relative_to(at): path.read_bytes() for path in at.rglob("*") if path.is_file()}
        assert foreign is None or foreign == shown
        assert (at / "kept").read_bytes() == b"kept" * 5_000
        for name, content in safe.items():
            assert name in refused or (at / name).read_bytes() == content, name
        _changes_are_refused(at)
        assert "its files are as they were" in mount.stop()
