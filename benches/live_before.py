"""Throughput of the live device of two checkouts, in turns: what a change costs.

    python benches/live_before.py OTHER_CHECKOUT [FOLDER] [SECONDS] [ROUNDS]

OTHER_CHECKOUT has a `.venv` with a release build of its own. Both serve an image of 256 MiB with
the page scheme and every page written before, from FOLDER: `/dev/shm` unless it is named, or a
folder on a disk. Random 4 KiB writes and reads over NBD, one at a time and 32 at a time, and 32
writes at a time with a flush after each 32. A ratio above 1 says that this checkout is faster.
Needs fio with its nbd engine.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from live import SIZE, SPARES, fill, fio

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = [("randwrite", 1, ()), ("randwrite", 32, ()), ("randwrite", 32, ("--fsync=32",)), ("randread", 32, ())]


@contextlib.contextmanager
def served(python: Path, image: Path, spare: float) -> Iterator[str]:
    """A server of a new image, by the ftlkit of an interpreter."""
    command = [str(python), "-m", "ftlkit"]
    made = [*command, "image", "create", str(image), "--ftl", "page", "--capacity", f"{SIZE}iB"]
    subprocess.run([*made, "--set", f"device.spare={spare}"], check=True, capture_output=True)
    server = subprocess.Popen(
        [*command, "serve", str(image), "--latency", "none"], stderr=subprocess.PIPE, text=True, cwd=image.parent
    )
    if server.stderr is None or not server.stderr.readline().startswith("serving"):
        sys.exit(f"the server of {python} did not start")
    try:
        uri = f"nbd+unix:///?socket={image}.sock"
        fill(uri)
        yield uri
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def compare(uris: tuple[str, str], spare: float, seconds: float, rounds: int) -> None:
    """Measure all cases in turns, that of the other checkout first, and print a row for each."""
    for rw, depth, extra in CASES:
        pairs = [tuple(fio(uri, rw, depth, seconds, *extra)["iops"] for uri in uris) for _ in range(rounds)]
        ratios = sorted(ours / theirs for theirs, ours in pairs)
        mean = [sum(side) / rounds / 1000 for side in zip(*pairs, strict=True)]
        spread = f"{ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        name = f"{rw}, depth {depth}{', flushed' if extra else ''}, spare {spare}"
        print(f"| {name} | {mean[0]:.1f} | {mean[1]:.1f} | {spread} |", flush=True)


def main() -> None:
    """Measure and print a table."""
    words = [*sys.argv[1:], *["", "/dev/shm", "3", "3"][len(sys.argv) - 1 :]]  # noqa: S108 - memory, as the page says
    other = Path(words[0]).resolve() / ".venv" / "bin" / "python"
    if not words[0] or not other.exists():
        sys.exit(f"usage: {__doc__}")
    print("| case | other, k IOPS | this, k IOPS | ratio |\n|---|---|---|---|")
    for spare in SPARES:
        with tempfile.TemporaryDirectory(dir=words[1]) as name, contextlib.ExitStack() as servers:
            folder = Path(name)
            uris = tuple(
                servers.enter_context(served(python, folder / f"{side}.img", spare))
                for side, python in (("other", other), ("this", Path(sys.executable)))
            )
            compare((uris[0], uris[1]), spare, float(words[2]), int(words[3]))


if __name__ == "__main__":
    main()
