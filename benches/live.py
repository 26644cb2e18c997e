"""Throughput of the live device beside `nbdkit memory`: fio over NBD, in turns, in one run.

    python benches/live.py [SECONDS] [ROUNDS]

Both serve 256 MiB from memory over a Unix socket: nbdkit its memory plugin, ftlkit an image in /dev/shm with the page
scheme and every page written before; once with a spare at which collections copy more than a page for each page that is
written, once with one at which they copy little. Random 4 KiB reads and writes at queue depths 1 and 32. Each pair is
measured back to back, so that a machine that drifts drifts for both. Needs fio with its nbd engine, nbdkit and a
release build of the module.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import ftlkit as fk

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = "256M"
CASES = [("randwrite", 1), ("randwrite", 32), ("randread", 1), ("randread", 32)]
SPARES = [0.2, 0.5]


@contextlib.contextmanager
def nbdkit(folder: Path) -> Iterator[str]:
    """A server of memory."""
    socket = folder / "nbdkit.sock"
    server = subprocess.Popen(["nbdkit", "-f", "-U", str(socket), "memory", SIZE])
    while not socket.exists():
        time.sleep(0.01)
    try:
        yield f"nbd+unix:///?socket={socket}"
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def ftlkit(folder: Path, ftl: str, spare: float) -> Iterator[str]:
    """A server of an image in memory."""
    image = folder / f"{ftl}-{spare}.img"
    fk.create_image(image, ftl, device={"capacity": SIZE + "iB", "spare": spare})
    command = [sys.executable, "-m", "ftlkit", "serve", str(image)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    if server.stderr is None or not server.stderr.readline().startswith("serving"):
        sys.exit("the server did not start")
    try:
        yield f"nbd+unix:///?socket={image}.sock"
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


JOB = ("--name=job", "--ioengine=nbd", f"--size={SIZE}")


def fio(uri: str, rw: str, depth: int, seconds: float) -> float:
    """Requests a second."""
    load = (f"--rw={rw}", "--bs=4k", f"--iodepth={depth}", "--time_based", f"--runtime={seconds}", "--norandommap")
    command = ["fio", *JOB, f"--uri={uri}", *load, "--randseed=5", "--output-format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    iops: float = job["write" if "write" in rw else "read"]["iops"]
    return iops


def fill(uri: str) -> None:
    """Write everything once, so that reads find data and writes meet collections."""
    command = ["fio", *JOB, f"--uri={uri}", "--rw=write", "--bs=256k", "--iodepth=4"]
    subprocess.run(command, capture_output=True, check=True)


def compare(base: str, live: str, spare: float, seconds: float, rounds: int) -> None:
    """Measure all cases in turns and print a row for each."""
    for rw, depth in CASES:
        pairs = [(fio(base, rw, depth, seconds), fio(live, rw, depth, seconds)) for _ in range(rounds)]
        ratios = sorted(ours / theirs for theirs, ours in pairs)
        mean = [sum(side) / rounds / 1000 for side in zip(*pairs, strict=True)]
        spread = f"{ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        print(f"| {rw}, depth {depth}, spare {spare} | {mean[0]:.1f} | {mean[1]:.1f} | {spread} |", flush=True)


def main() -> None:
    """Measure and print a table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for program in ("fio", "nbdkit"):
        if shutil.which(program) is None:
            print(f"The live device is not measured: {program} is not installed; on Debian: apt install fio nbdkit")
            return
    memory = Path("/dev/shm")  # noqa: S108 - a folder in memory is what is wanted
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        with nbdkit(folder) as base:
            fill(base)
            print("| case | nbdkit memory, k IOPS | ftlkit page, k IOPS | ratio |\n|---|---|---|---|")
            for spare in SPARES:
                with ftlkit(folder, "page", spare) as live:
                    fill(live)
                    compare(base, live, spare, seconds, rounds)


if __name__ == "__main__":
    main()
