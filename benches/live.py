"""Throughput of the live device beside `nbdkit memory`: fio over NBD, in turns, in one run.

    python benches/live.py [SECONDS] [ROUNDS]

Both serve 256 MiB from memory over a Unix socket: nbdkit its memory plugin, ftlkit an image in
/dev/shm with the page scheme and every page written before; once with a spare at which collections
copy more than a page for each page that is written, once with one at which they copy little. Random
4 KiB reads and writes at queue depths 1 and 32. Each pair is measured back to back, so that a
machine that drifts drifts for both; the processor time that a request takes of each server depends
least on what else runs. Then modelled latency: how much later than the modelled device
would have answered replies leave, and fio has its reads, sockets and fio included. At last what one
client's reads of 4 KiB wait while another client asks for as much as it can. Needs fio with its nbd
engine, nbdkit and a release build of the module.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ftlkit as fk

SIZE = "256M"
CASES = [("randwrite", 1), ("randwrite", 32), ("randread", 1), ("randread", 32)]
SPARES = [0.2, 0.5]
MODELLED_US = [100, 1000, 8000]

GREEDY = {
    "nobody": (),
    "trims of the whole device, 16 under way": ("--rw=trim", f"--bs={SIZE}", "--iodepth=16"),
    "writes of 32 MiB, 16 under way": ("--rw=write", "--bs=32M", "--iodepth=16"),
    "writes of 512 B with a flush after each": ("--rw=randwrite", "--bs=512", "--iodepth=1", "--fsync=1"),
}
"""What the other client does, as options of fio."""


class Server(NamedTuple):
    """A server that runs: where, and as which process."""

    uri: str
    pid: int

    def processor_s(self) -> float:
        """Processor time of all its threads so far, those that have ended included."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def nbdkit(folder: Path) -> Iterator[Server]:
    """A server of memory."""
    socket = folder / "nbdkit.sock"
    server = subprocess.Popen(["nbdkit", "-f", "-U", str(socket), "memory", SIZE])
    while not socket.exists():
        time.sleep(0.01)
    try:
        yield Server(f"nbd+unix:///?socket={socket}", server.pid)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def made(folder: Path, device: dict[str, str | float], ftl: str = "page") -> Iterator[Path]:
    """An image in memory."""
    image = folder / "page.img"
    fk.create_image(image, ftl, device={"capacity": SIZE + "iB", **device})
    try:
        yield image
    finally:
        image.unlink()


@contextlib.contextmanager
def served(image: Path, latency: str) -> Iterator[Server]:
    """A server of an image."""
    command = [sys.executable, "-m", "ftlkit", "serve", str(image), "--latency", latency]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    if server.stderr is None or not server.stderr.readline().startswith("serving"):
        sys.exit("the server did not start")
    try:
        yield Server(f"nbd+unix:///?socket={image}.sock", server.pid)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


JOB = ("--name=job", "--ioengine=nbd", f"--size={SIZE}")


def fio(uri: str, rw: str, depth: int, seconds: float, *more: str) -> dict[str, Any]:
    """What fio says of its reads, or of its writes."""
    load = (f"--rw={rw}", "--bs=4k", f"--iodepth={depth}", "--time_based", f"--runtime={seconds}", "--norandommap")
    command = ["fio", *JOB, f"--uri={uri}", *load, *more, "--randseed=5", "--lat_percentiles=1", "--output-format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    side: dict[str, Any] = job["write" if "write" in rw else "read"]
    return side


def fill(uri: str) -> None:
    """Write everything once, so that reads find data and writes meet collections."""
    command = ["fio", *JOB, f"--uri={uri}", "--rw=write", "--bs=256k", "--iodepth=4"]
    subprocess.run(command, capture_output=True, check=True)


def measure(server: Server, rw: str, depth: int, seconds: float) -> tuple[float, float]:
    """Thousand requests per second, and microseconds of the server's processor time a request."""
    before = server.processor_s()
    side = fio(server.uri, rw, depth, seconds)
    return side["iops"] / 1000, (server.processor_s() - before) * 1e6 / side["total_ios"]


def compare(base: Server, live: Server, spare: float, seconds: float, rounds: int) -> None:
    """Measure all cases in turns and print a row for each."""
    for rw, depth in CASES:
        pairs = [[measure(server, rw, depth, seconds) for server in (base, live)] for _ in range(rounds)]
        ratios = sorted(ours[0] / theirs[0] for theirs, ours in pairs)
        theirs, ours = ([sum(kind) / rounds for kind in zip(*side, strict=True)] for side in zip(*pairs, strict=True))
        rates = f"{theirs[0]:.1f} | {ours[0]:.1f} | {ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        print(f"| {rw}, depth {depth}, spare {spare} | {rates} | {theirs[1]:.1f} | {ours[1]:.1f} |", flush=True)


def lateness(folder: Path, seconds: float) -> None:
    """Measure how late modelled reads are, one at a time, and print a row for each latency."""
    print("\n| read, depth 1, modelled | reply late, µs: median, 90 %, 99 % | fio: median, 90 %, 99 % |\n|---|---|---|")
    for modelled_us in MODELLED_US:
        device: dict[str, str | float] = {"read_latency": f"{modelled_us}us", "transfer_latency": "0us"}
        with made(folder, device, "page:checkpoint=summaries") as image:
            with served(image, "none") as live:
                fill(live.uri)
            with served(image, "modelled") as live:
                fio(live.uri, "randread", 1, 1)  # which waits for the modelled recovery
                of_fio = fio(live.uri, "randread", 1, seconds)["lat_ns"]["percentile"]
                of_replies = fk.stat(image)["lateness_ns"]
        replies = ", ".join(f"{of_replies[percentile] / 1000:.0f}" for percentile in ("p50", "p90", "p99"))
        client = ", ".join(f"{of_fio[f'{percent}.000000'] / 1000 - modelled_us:.0f}" for percent in (50, 90, 99))
        print(f"| {modelled_us} µs | {replies} | {client} |", flush=True)


def fairness(folder: Path, seconds: float) -> None:
    """Measure how long reads wait beside a busy client, and print a row for each kind of client."""
    print("\n| 4 KiB reads, depth 1, beside | ms: median, 99 %, most |\n|---|---|", flush=True)
    for name, load in GREEDY.items():
        with made(folder, {"spare": SPARES[1]}) as image, served(image, "none") as live:
            fill(live.uri)
            other = ["fio", *JOB, f"--uri={live.uri}", *load, "--time_based", f"--runtime={seconds + 2}"]
            greedy = subprocess.Popen(other, stdout=subprocess.DEVNULL) if load else None
            time.sleep(1)
            latency = fio(live.uri, "randread", 1, seconds)["lat_ns"]
            if greedy is not None and greedy.wait() != 0:
                sys.exit(f"the other client failed: {' '.join(other)}")
        waited = (latency["percentile"]["50.000000"], latency["percentile"]["99.000000"], latency["max"])
        print(f"| {name} | {', '.join(f'{nanoseconds / 1e6:.2f}' for nanoseconds in waited)} |", flush=True)


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
            fill(base.uri)
            print("| case | nbdkit memory, k IOPS | ftlkit page, k IOPS | ratio | nbdkit, processor µs | ftlkit |")
            print("|---|---|---|---|---|---|")
            for spare in SPARES:
                with made(folder, {"spare": spare}) as image, served(image, "none") as live:
                    fill(live.uri)
                    compare(base, live, spare, seconds, rounds)
        lateness(folder, seconds)
        fairness(folder, seconds)


if __name__ == "__main__":
    main()
