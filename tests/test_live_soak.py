"""Many clients of many kinds at once: memory, threads and files stay bounded.

A few seconds in the ordinary suite; ten minutes with FTLKIT_LONG=1, and then throughput must not
fall either.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import ftlkit as fk
from conftest import LONG
from disk import Disk, needs, run

SECONDS = 600 if LONG else 5
LOOKS = 60 if LONG else 10
"""Times at which the server is looked at."""

MOST_GROWTH_BYTES = 64 << 20
"""Between the first half and the second: buffers of as many clients come and go."""


def test_mixed_clients_for_a_while(tmp_path: Path) -> None:
    needs("fio", "nbdcopy", "nbdinfo")
    with Disk(tmp_path, "dftl", capacity="64MiB").start("--clients", 32) as disk:
        assert disk.process is not None
        until = time.monotonic() + SECONDS
        jobs = [
            fio(
                disk, "verified", "--rw=randwrite", "--bs=4k", "--iodepth=16", "--verify=crc32c", "--verify_backlog=256"
            ),
            fio(disk, "mixed", "--rw=randrw", "--bsrange=512-256k", "--iodepth=8", "--offset=32M", "--fsync=64"),
        ]
        others = [
            threading.Thread(target=repeat, args=(until, lambda: run("nbdcopy", disk.uri, "null:"))),
            threading.Thread(target=repeat, args=(until, lambda: run("nbdinfo", "--map", disk.uri))),
            threading.Thread(target=repeat, args=(until, lambda: half_a_write(disk.socket))),
            threading.Thread(target=repeat, args=(until, lambda: half_a_handshake(disk.socket))),
        ]
        for other in others:
            other.start()
        samples = [look(disk, at) for at in moments(until)]
        for other in others:
            other.join()
        for job in jobs:
            output, errors = job.communicate(timeout=120)
            assert job.returncode == 0, errors
            (fio_job,) = json.loads(output[output.index("{") :])["jobs"]
            assert fio_job["error"] == 0
        half = len(samples) // 2
        first, second = samples[:half], samples[half:]
        for what in ("rss_bytes", "threads", "files"):
            allowed = MOST_GROWTH_BYTES if what == "rss_bytes" else 70
            most = max(one[what] for one in first)
            assert max(one[what] for one in second) <= most + allowed, f"{what}: {[one[what] for one in samples]}"
        if LONG:
            assert rate(second) > 0.7 * rate(first), [one["bytes"] for one in samples]
    assert fk.check_image(disk.image)["is_sound"]


def fio(disk: Disk, name: str, *options: str) -> subprocess.Popen[str]:
    """A job on a part of the disk of its own."""
    ours = ["--ioengine=nbd", f"--uri={disk.uri}", "--size=16M", "--time_based", f"--runtime={SECONDS}", "--randseed=3"]
    command = ["fio", f"--name={name}", *ours, *options, "--verify_state_save=0", "--output-format=json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def repeat(until: float, act: Callable[[], object]) -> None:
    """Do something again and again."""
    while time.monotonic() < until:
        act()
        time.sleep(0.01)


def half_a_handshake(path: Path) -> None:
    """Connect, say a little, and leave after a while."""
    with socket.socket(socket.AF_UNIX) as stream, contextlib.suppress(OSError):
        stream.connect(str(path))
        stream.sendall(b"\0\0\0\x03IHAVE")
        time.sleep(0.05)


def half_a_write(path: Path) -> None:
    """Become a client and die in the middle of a write."""
    with socket.socket(socket.AF_UNIX) as stream, contextlib.suppress(OSError):
        stream.connect(str(path))
        stream.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        stream.recv(4096)
        stream.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 1, 1, 0, 1 << 20) + b"x")
        time.sleep(0.02)


def moments(until: float) -> list[float]:
    """When to look."""
    return [until - SECONDS * (LOOKS - 1 - i) / LOOKS for i in range(LOOKS)]


def look(disk: Disk, at: float) -> dict[str, int]:
    """How the server is at a moment."""
    time.sleep(max(0.0, at - time.monotonic()))
    assert disk.process is not None
    process = Path("/proc") / str(disk.process.pid)
    host = fk.stat(disk.image)["host"]
    return {
        "rss_bytes": int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "threads": len(list((process / "task").iterdir())),
        "files": len(list((process / "fd").iterdir())),
        "bytes": host["bytes_read"] + host["bytes_written"],
    }


def rate(samples: list[dict[str, int]]) -> float:
    """Bytes between two looks, on average."""
    return (samples[-1]["bytes"] - samples[0]["bytes"]) / (len(samples) - 1)
