"""A file system on a served image: after a kill, what was fsync'ed is there, the rest in order.

The image becomes a file through nbdfuse, the file a block device through a loop device, and that is
mounted. Both need rights that containers often lack; then these tests skip and say which.
"""

import contextlib
import hashlib
import os
import random
import sqlite3
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import LONG
from disk import Disk, buffered, families, needs, run, schemes

KILLS = 20 if LONG else 2
"""Times that the server of a family is killed."""


def needs_mounting() -> None:
    """Skip, and say so, where images cannot be mounted."""
    needs("nbdfuse", "fusermount3", "mkfs.ext4", "e2fsck", "losetup", "mount")
    if os.geteuid() != 0:
        pytest.skip("mounting through a loop device needs root")
    if not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("there is no /dev/fuse or no /dev/loop-control here")
    probe = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no loop device can be had: {probe.stderr.strip()}")


class Mounts:
    """Takes a disk apart in the order in which it was put together, whatever has happened to it."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self.file = folder / "file"
        self.files = folder / "mounted"
        self.disk = disk
        self.loop = ""
        self.fuse: subprocess.Popen[bytes] | None = None
        for made in (self.file, self.files):
            made.touch() if made is self.file else made.mkdir(exist_ok=True)

    def attach(self) -> str:
        """The disk as a block device."""
        self.fuse = subprocess.Popen(["nbdfuse", str(self.file), self.disk.uri])
        until = time.monotonic() + 60
        while self.file.stat().st_size == 0:
            assert time.monotonic() < until, "nbdfuse does not show the disk"
            time.sleep(0.02)
        self.loop = run("losetup", "--find", "--show", self.file).strip()
        return self.loop

    def mount(self) -> Path:
        """The files on it."""
        run("mount", "-t", "ext4", "-o", "discard", self.loop, self.files)
        return self.files

    def unmount(self) -> None:
        """The files are written and gone."""
        run("umount", self.files)

    def detach(self, *, lazily: bool = False) -> None:
        """The block device is gone; lazily after a kill, when nothing can be written any more."""
        for command in (
            ["umount", "-l", str(self.files)] if lazily else [],
            ["losetup", "--detach", self.loop] if self.loop else [],
            ["fusermount3", "-u", "-z", str(self.file)] if self.fuse else [],
        ):
            if command:
                subprocess.run(command, capture_output=True, check=False)
        if self.fuse is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.fuse.wait(timeout=10)
            self.fuse.kill()
            self.fuse.wait()
        self.loop, self.fuse = "", None


@contextlib.contextmanager
def mounting(disk: Disk, folder: Path) -> Iterator[Mounts]:
    """A disk that can be attached; detached at the end."""
    mounts = Mounts(disk, folder)
    try:
        yield mounts
    finally:
        mounts.detach(lazily=True)


def digest(path: Path) -> str:
    """What a file holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def synced_write(path: Path, data: bytes) -> None:
    """Write a file so that it is there after a crash, its name included."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


@pytest.mark.parametrize("ftl", families())
def test_a_file_system_keeps_archives_repositories_and_databases(ftl: str, tmp_path: Path) -> None:
    needs_mounting()
    needs("git", "tar")
    here = Path(__file__).parents[1]
    with Disk(tmp_path, ftl, capacity="128MiB") as disk, mounting(disk, tmp_path) as mounts:
        run("mkfs.ext4", "-q", mounts.attach())
        files = mounts.mount()
        archive = tmp_path / "archive.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(here / "crates", "crates")
        run("tar", "-xf", archive, "-C", files)
        source = tmp_path / "source"
        run("git", "init", "-q", source)
        for i in range(20):
            (source / f"{i}.txt").write_text(f"{i}\n" * 1000)
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        run("git", "-C", source, "add", ".")
        run("git", "-C", source, *identity, "commit", "-q", "-m", "files")
        run("git", "clone", "-q", source, files / "clone")
        database = sqlite3.connect(files / "test.db")
        database.execute("create table numbers (n integer, text text)")
        for i in range(20):
            with database:
                database.executemany(
                    "insert into numbers values (?, ?)", ((i * 100 + j, "x" * 200) for j in range(100))
                )
        database.close()
        mounts.unmount()
        run("e2fsck", "-fn", mounts.loop)
        files = mounts.mount()
        run("tar", "-df", archive, "-C", files)
        run("git", "-C", files / "clone", "fsck", "--strict")
        with contextlib.closing(sqlite3.connect(files / "test.db")) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
            assert connection.execute("select count(*) from numbers").fetchone() == (2000,)
        mounts.unmount()
        run("e2fsck", "-fn", mounts.loop)


@pytest.mark.parametrize(
    ("ftl", "preset"),
    [
        *((ftl, "slc-small") for ftl in (schemes() if LONG else families())),
        *((ftl, "slc-small") for ftl in (buffered() if LONG else buffered()[-1:])),
        ("page", "7450-like"),
        ("dftl:cmt=64KiB", "p5520-like"),
    ],
)
def test_what_was_synced_is_there_after_the_server_was_killed(ftl: str, preset: str, tmp_path: Path) -> None:
    needs_mounting()
    dice = random.Random(11)  # noqa: S311 - the same moments in every run
    disk = Disk(tmp_path, ftl, capacity="64MiB" if preset == "slc-small" else "96MiB", preset=preset)
    synced: dict[str, str] = {}
    with mounting(disk, tmp_path) as mounts:
        with disk.start():
            run("mkfs.ext4", "-q", mounts.attach())
            mounts.detach()
        for kill in range(KILLS):
            disk.start()
            loop = mounts.attach()
            files = mounts.mount()
            at = time.monotonic() + dice.uniform(0.2, 1.5)
            number = 0
            while time.monotonic() < at:
                data = dice.randbytes(dice.randrange(1, 200_000))
                name = f"{dice.randrange(60)}"
                synced.pop(name, None)
                synced_write(files / name, data)
                synced[name] = hashlib.sha256(data).hexdigest()
                (files / f"unsynced{number % 5}").write_bytes(data)
                number += 1
            disk.kill()
            mounts.detach(lazily=True)
            disk.start()
            loop = mounts.attach()
            # Mounting replays the journal; then nothing may be left to repair.
            files = mounts.mount()
            for name, expected in synced.items():
                assert digest(files / name) == expected, f"{ftl}, kill {kill}: {name}"
            mounts.unmount()
            run("e2fsck", "-fn", loop)
            mounts.detach()
            disk.stop()
