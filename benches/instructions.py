"""Count the instructions of a flash operation and compare with `instructions.json`.

Speeds drift with the machine; instructions do not. Each row of the steady-state bench runs on a
small device under valgrind (cachegrind), once with so many requests and once with twice as many:
the difference is what the later ones cost, without start and preparation. A row that costs 3 % more
than its kept figure fails.

`python benches/instructions.py [--release] [--write] [ROW...]`, where a row is named by any part of
its name. Without `--release` it takes the program that the tests are built with. `--write` keeps
what was counted, with misses of the first-level data cache and of the last level; these depend on
where memory lies, so nobody compares them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benches" / "instructions.json"
TOLERANCE = 0.03
WITHOUT_WAITING = ("page, 32 GiB, zipf", "dftl, 32 GiB, 10 %", "fast, 4 GiB")
"""Rows that are counted without the breakdown of waiting, too."""
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=33554432,16,64")

Counts = dict[str, float]


def build(*, release: bool) -> Path:
    """The program that runs a case. Its code depends on how it is split into units: as in CI."""
    profile = ["--release"] if release else []
    command = ["cargo", "build", "--quiet", "--package", "benches", "--bin", "small-case", *profile]
    environment = os.environ | ({} if release else {"CARGO_INCREMENTAL": "0"})
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / ("release" if release else "debug") / "small-case"


def run(program: Path, row: str, options: list[str], times: int, *, misses: bool) -> tuple[int, list[int]]:
    """Flash operations of one run; its instructions and, if asked for, misses."""
    caches = ["--cache-sim=yes", *CACHES] if misses else ["--cache-sim=no"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        valgrind = ["valgrind", "--quiet", "--tool=cachegrind", f"--cachegrind-out-file={out}", *caches]
        done = subprocess.run(
            [*valgrind, str(program), row, str(times), *options], check=True, capture_output=True, text=True
        )
        text = out.read_text()
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)
    summary = re.search(r"^summary:? (.*)$", text, re.MULTILINE)
    if events is None or summary is None:
        sys.exit(f"{row}: valgrind wrote no summary of what it counted; run it by hand to see why")
    counted = dict(
        zip(events[1].split(), (int(number.replace(",", "")) for number in summary[1].split()), strict=False)
    )
    wanted = [["Ir"], ["D1mr", "D1mw"], ["DLmr", "DLmw", "ILmr"]][: 3 if misses else 1]
    return int(done.stdout), [sum(counted[name] for name in names) for names in wanted]


def count(program: Path, row: str, options: list[str], *, misses: bool) -> Counts:
    """What a flash operation of a row costs."""
    (few, before), (many, after) = (run(program, row, options, times, misses=misses) for times in (1, 2))
    costs = [(last - first) / (many - few) for first, last in zip(before, after, strict=True)]
    return dict(
        zip(
            ("instructions", "first_level_misses", "last_level_misses"),
            (round(cost, 3) for cost in costs),
            strict=False,
        )
    )


def plan(rows: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Labels of all that is counted, each with its row and options."""
    labels = {row: (row, list[str]()) for row in rows}
    for row in rows:
        if any(part in row for part in WITHOUT_WAITING):
            labels[f"{row}, without waiting"] = (row, ["--no-waiting"])
    return labels


def main() -> None:
    """Count, then keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("rows", nargs="*", help="count rows with this in their name; default: all")
    parser.add_argument("--release", action="store_true", help="count the optimised program")
    parser.add_argument("--write", action="store_true", help="keep what is counted")
    asked = parser.parse_args()
    if shutil.which("valgrind") is None:
        print(
            "Instructions are not counted: valgrind is missing. Install it (apt-get install valgrind) to compare them."
        )
        return
    program = build(release=asked.release)
    names = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [name for name in names if not asked.rows or any(part in name for part in asked.rows)]
    if not rows:
        sys.exit(f"no row has {' or '.join(asked.rows)} in its name; the rows are: {'; '.join(names)}")
    labels = plan(rows)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = list(pool.map(lambda what: count(program, *what, misses=asked.write), labels.values()))
    compiler = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    finish(
        dict(zip(labels, counted, strict=True)), "release" if asked.release else "tests", compiler, write=asked.write
    )


def finish(counted: dict[str, Counts], profile: str, compiler: str, *, write: bool) -> None:
    """Keep what was counted, or compare it with what is kept."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    before = kept.get(profile, {"compiler": None, "rows": {}})
    is_comparable = before["compiler"] == compiler
    worse = []
    for label, counts in counted.items():
        now, then = counts["instructions"], before["rows"].get(label, {}).get("instructions")
        change = now / then - 1 if then else None
        told = f"{change:+8.1%}" if change is not None else "     new"
        print(f"{label:<60} {now:>9.0f} {told}")
        if change is not None and change > TOLERANCE:
            worse.append(f"{label}: {now:.0f} instructions an operation, {then:.0f} are kept, {change:+.1%}")
    if write:
        rows = (before["rows"] if is_comparable else {}) | counted
        kept[profile] = {"compiler": compiler, "rows": rows}
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    elif not is_comparable:
        print(f"Not compared: kept are figures of {before['compiler']}, this is {compiler}. `--write` keeps new ones.")
    elif worse:
        sys.exit(
            "\n".join(worse)
            + f"\nA rise above {TOLERANCE:.0%} fails. Find what costs it (valgrind --tool=callgrind), or keep the new "
            "figures with --write and say in docs/performance.md what they buy."
        )


if __name__ == "__main__":
    main()
