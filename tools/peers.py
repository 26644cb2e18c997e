"""Hold processor time, memory and write amplification beside those of other simulators.

    python tools/peers.py [--ssd-iq SIM] [--mqsim MQSIM] [--rounds 3] [--write]

The arguments are programs built from their public sources: SSD-iq's simulator
(`g++ -std=c++23 -O3 -march=native -I../shared -I.. sim.cpp`), and MQSim 7ec40e3 (`make`), beside
its settings. Each gets the device and writes of ftlkit, and runs in turns with it. Times are of the
processor, user and system; memory is the largest resident size. `--write` puts the table into the
page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mqsim

from ftlkit.study import toml

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
UNIT = 4096
PAGES_PER_BLOCK = 2048
FILL = 0.875
"""The share of the flash that is in use."""

NO_COLLECTIONS = (8, 4, 32, 0.02, 2_000_000)
"""Channels, dies of each, outstanding requests, share of writes, requests."""


@dataclass(frozen=True)
class Cost:
    """Processor time in s and largest resident size in MB of a run, and its write amplification."""

    seconds: float
    megabytes: float
    amplification: float | None = None


Run = Callable[[Path], Cost]
"""Runs once, in an empty folder."""


@dataclass(frozen=True)
class Case:
    """Another simulator's run, and the study that is the same for ftlkit."""

    peer: str
    what: str
    run: Run
    study: dict[str, Any]


def spent(command: list[str | Path], folder: Path, answer: str = "", **environment: str) -> tuple[Cost, str]:
    """Cost of a command and its output; `answer` is its input."""
    with (folder / "out").open("w+") as out, (folder / "answer").open("w+") as typed:
        typed.write(answer)
        typed.seek(0)
        process = subprocess.Popen(command, cwd=folder, stdin=typed, stdout=out, env={**os.environ, **environment})
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        printed = out.read()
    if os.WIFSIGNALED(status):
        raise SystemExit(f"{command[0]} was ended by signal {os.WTERMSIG(status)} after printing: {printed[-500:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3), printed


def found(pattern: str, text: str) -> float:
    """The last number that a pattern finds."""
    numbers = re.findall(pattern, text)
    if not numbers:
        raise SystemExit(f"No {pattern!r} in the output: {text[-500:]}")
    return float(numbers[-1])


def ours(study: dict[str, Any], *, clock: bool) -> Run:
    """A study as the command line runs it."""

    def run(folder: Path) -> Cost:
        asked = {**study, "run": {**study["run"], "clock": clock}}
        (folder / "study.toml").write_text(toml.written(asked))
        cost, _ = spent([sys.executable, "-m", "ftlkit", "run", "study.toml", "--json", "results.json"], folder)
        results = json.loads((folder / "results.json").read_text())
        return replace(cost, amplification=results["runs"][0]["write_amplification"])

    return run


def one_die(blocks: int) -> tuple[int, dict[str, Any]]:
    """Mapped units, and a device of one die that collects greedily into the open block."""
    units = int(FILL * blocks * PAGES_PER_BLOCK)
    device = {
        "channels": 1,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": blocks,
        "pages_per_block": PAGES_PER_BLOCK,
        "page_size": UNIT,
        "capacity": units * UNIT,
    }
    return units, {
        "device": device,
        "host": {"loop": "closed", "queue_depth": 1},
        "ftl": [{"name": "page", "streams": "shared"}],
    }


def ssd_iq(program: Path) -> Case:
    """A fill, a flash's worth of random writes that are not counted, and four turns that are."""
    blocks, turns = 2048, 4
    units, study = one_die(blocks)
    flash = blocks * PAGES_PER_BLOCK
    generator = {"requests": flash + turns * units, "span": units * UNIT, "write_share": 1.0}
    study |= {"workload": {"generator": generator}, "run": {"precondition": "fill", "skip": flash}}

    def run(folder: Path) -> Cost:
        cost, printed = spent([program], folder, PATTERN="uniform", GC="greedy", WRITES=str(turns))
        return replace(cost, amplification=found(r",([0-9.]+)\n", printed))

    return Case("SSD-iq's simulator", "16 GiB, 18.9 M uniform writes after a fill", run, study)


def mqsim_case(program: Path) -> Case:
    """Reads, and so few writes that nothing is collected: collections end it in an error."""

    def run(folder: Path) -> Cost:
        return spent(mqsim.prepare(folder, program, *NO_COLLECTIONS), folder, "\n")[0]

    return Case("MQSim", "1 GiB, 2 M requests at depth 32, 2 % writes", run, mqsim.study(*NO_COLLECTIONS))


def row(case: Case, rounds: int) -> str:
    """Medians of a case as a row of the table: the peer's, ours with a clock, ours without."""
    runs = [case.run, *(ours(case.study, clock=clock) for clock in (True, False))]
    costs: list[list[Cost]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, mine in zip(runs, costs, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                mine.append(run(Path(folder)))
    seconds = [statistics.median(cost.seconds for cost in mine) for mine in costs]
    megabytes = [statistics.median(cost.megabytes for cost in mine) for mine in costs]
    amplification = [mine[0].amplification for mine in costs]
    cells = [
        f"{case.peer}: {case.what}",
        *(f"{value:.1f}" for value in seconds),
        *(f"{value:.0f}" for value in megabytes),
        *("" if value is None else f"{value:.3f}" for value in amplification[:2]),
    ]
    if amplification[1] != amplification[2]:
        raise SystemExit(
            f"{case.peer}: write amplification {amplification[1]} with a clock, {amplification[2]} without."
        )
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| | s | ftlkit | without a clock | MB | ftlkit | without a clock | WA | ftlkit |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("\n")[2].strip())
    cases = {"ssd_iq": ssd_iq, "mqsim": mqsim_case}
    for name in cases:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = [HEAD]
    for name, case in cases.items():
        if program := getattr(asked, name):
            lines.append(row(case(program.resolve()), asked.rounds))
            print(lines[-1], file=sys.stderr)
    table = "\n".join(lines)
    if not asked.write:
        print(table)
        return
    begin, end = "<!-- peers -->\n\n", "\n\n<!-- /peers -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}{table}{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
