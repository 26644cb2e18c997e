"""Count the instructions of a flash operation and compare with `instructions.json`.

Speeds drift with the machine; instructions do not. Each row of the steady-state bench runs on a
small device under valgrind (callgrind), once with this many requests and once with twice as many:
the difference is what the later ones cost, without start and preparation. A row that costs 3 % more
than its kept figure fails.

`make instructions` counts all rows. `make instructions ARGS="--write ROW..."` keeps what it counts,
and counts the rows alone that have one of these words in their name. With `--write` it counts
misses of the first-level data cache and of the last level, too. These depend on where memory lies,
so nobody compares them.

It runs the program of the benches' own tests, which it learns from what cargo writes to its input.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benches" / "instructions.json"
TOLERANCE = 0.03
RUN = "benches::steady::Case::run_small"
TEST = "steady::tests::count_operations"
MISSES = {"first_level_misses": ["D1mr", "D1mw"], "last_level_misses": ["DLmr", "DLmw", "ILmr"]}
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=33554432,16,64")

Counts = dict[str, float]


def built(messages: Iterable[str]) -> Path:
    """The program of the benches' own tests, from cargo's messages."""
    artifacts = (json.loads(line) for line in messages if line.startswith("{"))
    for artifact in artifacts:
        if artifact.get("executable") and artifact["target"]["name"] == "benches":
            return Path(artifact["executable"])
    sys.exit("cargo named no program of the benches' tests; call `make instructions`")


def count(program: Path, rows: list[str], *, misses: bool) -> dict[str, Counts]:
    """What a flash operation of each row costs. Callgrind writes a file after each run."""
    caches = ["--cache-sim=yes", *CACHES] if misses else ["--cache-sim=no"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}", *caches]
        when = [f"--dump-{moment}={RUN}" for moment in ("before", "after")]
        test = [str(program), "--exact", TEST, "--ignored", "--nocapture"]
        environment = os.environ | {"FTLKIT_CASES": "\n".join(rows)}
        done = subprocess.run([*valgrind, *when, *test], env=environment, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the cases could not be counted:\n{done.stderr.strip()}")
        dumps = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        runs = [events(text) for text in (path.read_text() for path in dumps) if "--dump-after=" in text]
    lines = [line.split(" ", 3)[1:] for line in done.stdout.splitlines() if line.startswith("operations ")]
    if 2 * len(lines) != len(runs):
        sys.exit(f"valgrind told of {len(runs)} runs of {2 * len(lines)}; is {RUN} still the name of what is counted?")
    counted = {}
    for (few, many, label), before, after in zip(lines, runs[::2], runs[1::2], strict=True):
        operations = int(many) - int(few)
        names = {"instructions": ["Ir"], **(MISSES if misses else {})}
        counted[label] = {
            name: round(sum(after.get(event, 0) - before.get(event, 0) for event in events) / operations, 3)
            for name, events in names.items()
        }
    return counted


def events(text: str) -> dict[str, int]:
    """The totals of one file of callgrind by their events; the last ones are left out if 0."""
    words = {name: rest.split() for name, _, rest in (line.partition(": ") for line in text.splitlines())}
    return dict(zip(words["events"], map(int, words["totals"]), strict=False))


def main() -> None:
    """Count, then keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("rows", nargs="*", help="count rows with this in their name; default: all")
    parser.add_argument("--write", action="store_true", help="keep what is counted")
    asked = parser.parse_args()
    if shutil.which("valgrind") is None:
        print(
            "Instructions are not counted: valgrind is missing. Install it (apt-get install valgrind) to compare them."
        )
        return
    program = built(sys.stdin.readlines())
    counted = count(program, asked.rows, misses=asked.write)
    if not counted:
        sys.exit(f"no row has {' or '.join(asked.rows)} in its name; CASES of benches/src/steady.rs names them")
    compiler = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    finish(counted, compiler, write=asked.write)


def finish(counted: dict[str, Counts], compiler: str, *, write: bool) -> None:
    """Keep what was counted, or compare it with what is kept."""
    before = json.loads(KEPT.read_text())
    is_comparable = before["compiler"] == compiler
    worse = []
    for label, counts in counted.items():
        now, then = counts["instructions"], before["rows"].get(label, {}).get("instructions")
        change = now / then - 1 if then else None
        told = f"{change:+8.1%}" if change is not None else "     new"
        print(f"{label:<60} {now:>9.0f} {told}")
        if change is not None and change > TOLERANCE:
            worse.append(f"{label}: {now:.0f} instructions per operation, {then:.0f} are kept, {change:+.1%}")
    if write:
        rows = (before["rows"] if is_comparable else {}) | counted
        KEPT.write_text(json.dumps({"compiler": compiler, "rows": rows}, indent=1, ensure_ascii=False) + "\n")
    elif not is_comparable:
        print(f"Not compared: kept are figures of {before['compiler']}, this is {compiler}. --write keeps new ones.")
    elif worse:
        sys.exit(
            "\n".join(worse)
            + f"\nA rise above {TOLERANCE:.0%} fails. Find what costs it (valgrind --tool=callgrind), or keep the new "
            "figures with --write and say in docs/performance.md what they buy."
        )


if __name__ == "__main__":
    main()
