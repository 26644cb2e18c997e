"""A mounted image for tests: made, mounted by a process, unmounted or killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import pytest
from typing_extensions import Self

import ftlkit as fk
from disk import STARTS_WITHIN_S, needs


def needs_fuse() -> None:
    """Skip, and say so, where nothing can be mounted."""
    if not Path("/dev/fuse").exists():
        pytest.skip("there is no FUSE: /dev/fuse is missing")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"FUSE cannot be used: {error}")
    needs("fusermount3")


class Mount:
    """An image and the process that has it mounted; a context manager that unmounts it."""

    def __init__(
        self, folder: Path, ftl: str = "page+saw", capacity: str = "64MiB", spare: float = 0.25, **device: object
    ) -> None:
        needs_fuse()
        self.image = folder / "disk.img"
        self.at = folder / "mounted"
        self.log = folder / "mount.log"
        self.at.mkdir()
        fk.create_image(self.image, ftl, device={"preset": "slc-small", "capacity": capacity, "spare": spare, **device})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> Self:
        """Mount it; returns when its files can be used."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ftlkit", "mount", *options, str(self.image), str(self.at)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + STARTS_WITHIN_S
        while "mounted " not in self.said():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        return self

    def said(self) -> str:
        """What the process has said."""
        return self.log.read_text(encoding="utf-8")

    def stop(self, code: int = 0) -> str:
        """Unmount it as Ctrl-C does; returns what it said."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self.ended(code)

    def ended(self, code: int = 0) -> str:
        """Wait for its end; returns what it said."""
        assert self._process is not None
        assert self._process.wait(STARTS_WITHIN_S) == code, self.said()
        self._process = None
        return self.said()

    def kill(self) -> None:
        """Kill it, and clear the folder that it leaves behind."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None
        subprocess.run(["fusermount3", "-u", "-z", str(self.at)], check=True)

    def fill(self, raw: Path) -> None:
        """Put a file system that something else made on the image."""
        needs("qemu-img")
        with fk.serve(self.image) as device:
            subprocess.run(
                ["qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", str(raw), device.uri],
                check=True,
                capture_output=True,
            )

    def exported(self) -> Path:
        """What another driver would find on the device, in a file."""
        needs("qemu-img")
        raw = self.image.with_suffix(".raw")
        with fk.serve(self.image, read_only=True) as device:
            subprocess.run(
                ["qemu-img", "convert", "-f", "raw", "-O", "raw", device.uri, str(raw)], check=True, capture_output=True
            )
        return raw

    def by_another_driver(self) -> dict[Path, bytes] | None:
        """Files that mtools finds on the device as it is served; None where they are missing."""
        if shutil.which("mcopy") is None:
            return None
        files = self.image.with_suffix(".files")
        files.mkdir()
        subprocess.run(["mcopy", "-s", "-n", "-i", str(self.exported()), "::", str(files)], check=True)
        return {path.relative_to(files): path.read_bytes() for path in files.rglob("*") if path.is_file()}

    def check(self) -> None:
        """Nothing is wrong with the file system, as others judge it."""
        needs("fsck.vfat")
        checked = subprocess.run(["fsck.vfat", "-n", str(self.exported())], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            if kind is None:
                self.stop()
            else:
                self.kill()
