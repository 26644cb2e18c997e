"""Find values that the compiler reads but no longer computes in the optimised program.

    python tools/lost_assignments.py

Rust 1.95 can lose a comparison (rust-lang/rust#158206), and so could the nightly 1.97 of May 2026.
It does so where an inlined function uses the comparison as a number and returns it, and the caller
branches on what is returned. The number is then arbitrary. Builds with checks of overflow were not
affected, so tests saw nothing. The command compiles all crates as a release without machine code
(about four minutes) and reads their MIR. A local that is read and never written is printed with its
function, and the exit code is 1. The cure is to branch instead of counting with the comparison.

Functions with inline assembly are left out, since it writes where this does not look.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "target" / "lost-assignments"
LOCAL = re.compile(r"\b_(\d+)\b")
READ = re.compile(r"(?:copy|move) \(*\*?\(*_(\d+)\b")
BORROWED = re.compile(r"&(?:raw )?(?:mut |const |fake shallow )?\(*_(\d+)\b")
# What is no statement: declarations, the ends of blocks, and marks of where a local lives.
NO_STATEMENT = ("let ", "debug ", "scope ", "bb", "}", "//", "nop", "Storage", "return", "unreachable")


class Lost(NamedTuple):
    """A local without a value: the head of its function, and the first statement that reads it."""

    function: str
    statement: str


def bodies(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The head and the lines of each function, constant and static of a MIR listing."""
    head: str | None = None
    body: list[str] = []
    for line in lines:
        if head is None:
            if line.startswith(("fn ", "const ", "static ")) and line.rstrip().endswith("{"):
                head, body = line.strip(), []
        elif line.rstrip() == "}":
            yield head, body
            head = None
        else:
            body.append(line.strip())


def sides(statement: str) -> tuple[str, str]:
    """What a statement writes, empty if nothing, and the rest. `Item = T` in a type is skipped."""
    for sign in re.finditer(" = ", statement):
        left = statement[: sign.start()]
        if left.count("(") == left.count(")") and left.count("<") == left.count(">"):
            return left, statement[sign.end() :]
    return "", statement


def lost(head: str, body: list[str]) -> list[Lost]:
    """The locals of a function that are read and never written."""
    if any("asm!(" in line for line in body):
        return []
    written = set(re.findall(r"\b_(\d+): ", head))
    read: dict[str, str] = {}
    for line in body:
        if line.startswith(NO_STATEMENT):
            continue
        left, right = sides(line)
        if "*" in left:
            read.update({local: line for local in LOCAL.findall(left) if local not in read})
        else:
            written.update(LOCAL.findall(left)[:1])
        written.update(BORROWED.findall(right))
        read.update({local: line for local in READ.findall(right) if local not in read})
    return [Lost(head, line) for local, line in read.items() if local not in written]


def listings() -> list[Path]:
    """Compiles all crates and gives their MIR. Raises `CalledProcessError` if that fails."""
    for old in TARGET.glob("release/deps/*.mir"):
        old.unlink()
    flags = f"{os.environ.get('RUSTFLAGS', '')} --emit=mir".strip()
    subprocess.run(
        ["cargo", "check", "--release", "--workspace", "--quiet"],
        cwd=ROOT,
        env={**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(TARGET)},
        check=True,
    )
    return sorted(TARGET.glob("release/deps/*.mir"))


def main() -> int:
    """Reads the MIR of all crates; 1 if a local is read and never written."""
    found = 0
    paths = listings()
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for head, body in bodies(lines):
                for each in lost(head, body):
                    found += 1
                    print(f"{path.stem}: {each.function}\n    {each.statement}")
    print(f"{len(paths)} crates read; {found} values are read and never computed.")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
