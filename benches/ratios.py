"""Measure the promises about cores, memory and Ctrl-C on this machine, after the Rust benches.

Each figure is measured in processes of their own, in turns, so that a drift of the machine's speed
slows both alike.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 3
COMPARE = "compare fin1 --precondition steady --ftl " + ",".join(f"page:gc_threshold={free}" for free in range(1, 9))
"""Eight runs of about equal length: with few unequal ones, one core ends up waiting."""
SWEEP = (
    "sweep fin1 --ftl page --vary device.spare=0.1..0.298:+0.002 --seeds 2 --requests 200000 --addresses dense "
    "--precondition fill"
)
"""Two hundred points: what a process adds to each, checking and storing, is then small."""
BIG = (
    "compare fin1 --ftl page --device slc-small --capacity 1TiB --requests 1000 --precondition fill "
    "--set device.channels=8 --set device.dies_per_channel=4 --set device.pages_per_block=256"
)
"""Every page is written once, so that all memory that a page takes is really used."""


def command(text: str, *more: str) -> list[str]:
    """The command line of one call."""
    return [sys.executable, "-m", "ftlkit", *text.split(), *more]


def seconds(threads: int) -> float:
    """Wall-clock seconds of one comparison."""
    started = time.perf_counter()
    subprocess.run(
        command(COMPARE, "--requests", "10000000", "--threads", str(threads)), check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - started


def cores() -> None:
    """How much faster a comparison is on two threads."""
    if (os.cpu_count() or 1) < 2:
        print("compare on two cores: this machine has one")
        return
    ratios = []
    for _ in range(ROUNDS):
        one, two = seconds(1), seconds(2)
        ratios.append(one / two)
        print(f"compare on one thread {one:.2f} s, on two {two:.2f} s: {one / two:.2f} times as fast")
    print(f"compare on two cores: median {statistics.median(ratios):.2f} times one core (promised: 1.8)")


def start() -> None:
    """What it takes to say something short: the processor's time of a whole process."""
    for arguments, promised in (("--version", " (promised: 0.15)"), ("--help", "")):
        spent = []
        for _ in range(5 * ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command(arguments), check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        told = f"{statistics.median(spent):.3f} s of CPU ({min(spent):.3f}-{max(spent):.3f})"
        print(f"ftlkit {arguments}: {told}{promised}")


def interrupt() -> None:
    """How long commands go on after Ctrl-C: one in Rust, one whose longest part is Python."""
    for text in ("compare fin1 --ftl block --requests 100000000", "curve cache fin1 --requests 10000000"):
        taken = []
        for after in range(1, ROUNDS + 1):
            process = subprocess.Popen(command(text), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(2 * after)
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            process.wait()
            taken.append(time.perf_counter() - sent)
        print(f"ftlkit {text.split(' --')[0]}: Ctrl-C ends it in {max(taken):.2f} s at most (promised: 1)")


def sweep() -> None:
    """How much faster two hundred points are on two worker processes."""
    if (os.cpu_count() or 1) < 2:
        print("sweep on two cores: this machine has one")
        return
    ratios = []
    for _ in range(ROUNDS):
        taken = []
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                more = ["--threads", str(workers), "--store", f"{folder}/store"]
                started = time.perf_counter()
                subprocess.run(command(SWEEP, *more), check=True, stdout=subprocess.DEVNULL)
                taken.append(time.perf_counter() - started)
        ratios.append(taken[0] / taken[1])
        print(f"sweep in one worker {taken[0]:.1f} s, in two {taken[1]:.1f} s: {ratios[-1]:.2f} times as fast")
    print(f"sweep on two cores: median {statistics.median(ratios):.2f} times one core (promised: 1.8)")


def memory() -> None:
    """Peak memory of the page scheme on 1 TiB, with all of Python."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.json"
        subprocess.run(command(BIG, "--json", str(path)), check=True, stdout=subprocess.DEVNULL)
        geometry = json.loads(path.read_text())["device"]
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    pages = geometry["physical_bytes"] / geometry["geometry"]["page_size_bytes"]
    per_page = f"{peak / pages:.1f} bytes per page"
    print(f"page on 1 TiB of 4 KiB pages: peak {peak / 2**30:.2f} GiB, {per_page} (promised: 2.6 GiB)")


if __name__ == "__main__":
    start()
    interrupt()
    memory()
    cores()
    sweep()
