"""A served image for tests: made, started as a process of its own, asked, stopped or killed."""

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

STARTS_WITHIN_S = 60.0
"""For a server to recover its image and listen, on a busy machine."""


def needs(*clients: str) -> None:
    """Skip, and say so, where a client is not installed."""
    for client in clients:
        if shutil.which(client) is None:
            pytest.skip(f"{client} is not installed")


def schemes() -> list[str]:
    """Every scheme of the registry."""
    return [scheme["name"] for scheme in fk.schemes()]


def buffered() -> list[str]:
    """Stacks with each write buffer over different mappings; small, so that much is evicted."""
    over = ("page+dynamic", "dftl", "block", "fast")
    names = [part["name"] for part in fk.parts() if part["kind"] == "buffer"]
    return [f"{mapping}+{name}:ram=256KiB" for mapping, name in zip(over, names, strict=True)]


def families() -> list[str]:
    """One scheme of each family, the first that the registry lists."""
    firsts: dict[str, str] = {}
    for scheme in fk.schemes():
        firsts.setdefault(scheme["family"], scheme["name"])
    return list(firsts.values())


class Disk:
    """An image and the process that serves it; a context manager that stops it in good order."""

    def __init__(self, folder: Path, ftl: str, capacity: str = "64MiB", spare: float = 0.25, **device: object) -> None:
        # Sockets stand beside it, whose paths have at most 107 bytes.
        self.image = folder / f"{ftl.partition(':')[0]}.img"
        self.socket = folder / "disk.sock"
        fk.create_image(self.image, ftl, device={"preset": "slc-small", "capacity": capacity, "spare": spare, **device})
        self.process: subprocess.Popen[str] | None = None
        self.line = ""
        """What the server said when it was ready."""
        self.before: list[str] = []
        """What it said before that."""

    @property
    def uri(self) -> str:
        """What clients connect to."""
        return f"nbd+unix:///?socket={self.socket}"

    def start(
        self, *options: object, over_tcp: bool = False, file_limit_bytes: int | None = None, umask: int = -1
    ) -> Self:
        """Start the server and wait until it listens; maybe on a disk that is nearly full."""
        where = [] if over_tcp else ["--socket", str(self.socket)]
        limit = [] if file_limit_bytes is None else ["prlimit", f"--fsize={file_limit_bytes}"]
        self.process = subprocess.Popen(
            [*limit, sys.executable, "-m", "ftlkit", "serve", str(self.image), *where, *map(str, options)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            umask=umask,
        )
        assert self.process.stderr is not None
        begun, output = time.monotonic(), []
        while time.monotonic() < begun + STARTS_WITHIN_S:
            line = self.process.stderr.readline()
            output.append(line)
            if line.startswith("serving") or not line:
                break
        assert output[-1].startswith("serving"), "".join(output)
        self.line, self.before = output[-1], output[:-1]
        return self

    def metrics(self) -> str:
        """Where it answers Prometheus, which it says once it is ready."""
        assert self.process is not None
        assert self.process.stderr is not None
        return self.process.stderr.readline().split()[-1]

    def limit_file(self, file_limit_bytes: int) -> None:
        """From now on the running server's disk has no room beyond a limit."""
        assert self.process is not None
        run("prlimit", f"--fsize={file_limit_bytes}", "--pid", str(self.process.pid))

    def refuse(self, *options: object, file_limit_bytes: int) -> str:
        """Start a server that ends before it listens, because of a user error; what it said."""
        command = [sys.executable, "-m", "ftlkit", "serve", str(self.image), "--socket", str(self.socket)]
        limited = ["prlimit", f"--fsize={file_limit_bytes}", *command, *map(str, options)]
        ended = subprocess.run(limited, capture_output=True, text=True, timeout=STARTS_WITHIN_S, check=False)
        assert ended.returncode == 2, ended.stderr
        return ended.stderr

    def kill(self) -> None:
        """End the server as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self._forget()

    def stop(self) -> str:
        """Stop the server in good order; what it said."""
        assert self.process is not None
        assert self.process.stderr is not None
        self.process.send_signal(signal.SIGTERM)
        errors = self.process.stderr.read()
        code = self.process.wait(timeout=30)
        self._forget()
        assert code == 0, errors
        return errors

    def fail(self) -> str:
        """Wait until the server has ended because of an error; what it said."""
        assert self.process is not None
        assert self.process.stderr is not None
        errors = self.process.stderr.read()
        assert self.process.wait(timeout=30) != 0, errors
        self._forget()
        return errors

    def _forget(self) -> None:
        assert self.process is not None
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.process = None

    def __enter__(self) -> Self:
        return self if self.process is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and kind is None:
            self.stop()
        elif self.process is not None:
            self.kill()


def run(*command: object, within_s: float = 120.0) -> str:
    """Run a client to its end; its output. A client that fails fails the test."""
    process = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=within_s, check=False
    )
    assert process.returncode == 0, f"{command[0]}: {process.stdout}{process.stderr}"
    return process.stdout
