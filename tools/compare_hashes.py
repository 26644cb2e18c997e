"""Show that a change of the code changes no result: compare event hashes before and after.

    python tools/compare_hashes.py record before.json       # in the old checkout's environment
    python tools/compare_hashes.py record after.json        # in the new one
    python tools/compare_hashes.py compare before.json after.json

A run's event hash covers each flash operation with its address, its cause and its time. Recorded
are every stack of a mapping with at most one other part on three workloads, the examples, and the
regression cases. `--studies` adds each point of each study, which takes hours.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import ftlkit as fk
from ftlkit import reproduce

ROOT = Path(__file__).parents[1]
REGRESSIONS = ROOT / "crates" / "check" / "tests" / "check"


def preset(name: str) -> str:
    """The look-alike that had this name before places were fitted, in either checkout."""
    cold = f"{name}-cold"
    return cold if any(workload["name"] == cold for workload in fk.workloads()) else name


# A small device of four dies, and one with two dies on each of two channels.
WORKLOADS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "small": (
        {"preset": "fin1", "requests": 6_000, "addresses": "wrap"},
        {"preset": "slc-small", "capacity": "32MiB", "spare": 0.35},
    ),
    "two channels": (
        {"preset": preset("prxy_0"), "requests": 6_000, "addresses": "wrap"},
        {"preset": "slc-small", "capacity": "64MiB", "spare": 0.25, "channels": 2, "dies_per_channel": 2},
    ),
}


# The others need a trace, or are sweeps.
EXAMPLES = ("demo.toml", "idle.toml", "mapping-cache.toml", "phases.toml", "timeline.toml", "wear.toml")


def stacks() -> list[str]:
    """Every mapping alone, and with each other part."""
    further = [part["name"] for part in fk.parts() if part["kind"] != "mapping"]
    return [name for each in fk.schemes() for name in (each["name"], *(f"{each['name']}+{part}" for part in further))]


def hash_of_run(workload: dict[str, object], device: dict[str, object], stack: str) -> str:
    """The event hash of one run, or why it was refused."""
    try:
        results = fk.compare(workload, [stack], device=device, seed=1)
    except fk.UserError as refused:
        return f"refused: {refused}"
    (run,) = results.document["runs"]
    return run["event_hash"]


def regressions() -> str:
    """The lines of the regression cases, whatever the file was called in this checkout."""
    (path,) = REGRESSIONS.glob("*.txt")
    return path.read_text(encoding="utf-8")


def hashes_with_hints() -> dict[str, str]:
    """The hashes of all stacks on a mail server's file workload, with hints and trims."""
    device: dict[str, object] = {"preset": "slc-small", "capacity": "64MiB", "spare": 0.25}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "files.parquet"
        fk.generate_files({"personality": "postmark", "trims": True, "files": 400}, trace, operations=4_000)
        workload: dict[str, object] = {"trace": str(trace), "addresses": "wrap"}
        return {f"files: {stack}": hash_of_run(workload, device, stack) for stack in stacks()}


def recorded(*, studies: bool) -> dict[str, str]:
    """All hashes of this checkout, by name."""
    hashes = {
        f"{name}: {stack}": hash_of_run(workload, device, stack)
        for name, (workload, device) in WORKLOADS.items()
        for stack in stacks()
    }
    hashes |= hashes_with_hints()
    for name in EXAMPLES:
        runs = fk.run_study(ROOT / "examples" / name).document["runs"]
        hashes |= {f"{name}: {run['label']}": run["event_hash"] for run in runs}
    lines = [line for line in regressions().splitlines() if line.startswith("check::replay")]
    hashes |= {f"regression {number}": json.dumps(fk.replay(line)) for number, line in enumerate(lines, start=1)}
    if studies:
        for path in sorted((ROOT / "studies").glob("*.toml")):
            for point in reproduce.reproduce(reproduce.load(path)).points:
                name = f"{path.stem}: {point.sweep} {point.workload} {point.variant} {point.keys}"
                hashes[name] = point.error or point.run["event_hash"]
    return hashes


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what differs; 1 if anything does."""
    different = [name for name in before if before[name] != after.get(name)]
    for name in different:
        print(f"{name}: {before[name]} before, {after.get(name, 'not run')} after")
    refused = sum(text.startswith("refused") for text in before.values())
    equal, new = len(before) - len(different), len(after.keys() - before)
    print(f"{equal} of {len(before)} equal, {refused} of them refusals; {new} are new")
    return 1 if different else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write the hashes of this checkout")
    record.add_argument("out", type=Path)
    record.add_argument("--studies", action="store_true", help="each point of each study as well")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    asked = parser.parse_args()
    if asked.command == "record":
        hashes = recorded(studies=asked.studies)
        asked.out.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        print(f"{len(hashes)} hashes in {asked.out}")
        return 0
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (asked.before, asked.after))
    return compare(before, after)


if __name__ == "__main__":
    sys.exit(main())
