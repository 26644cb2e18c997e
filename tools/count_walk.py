"""Count the files that a command walks through, from what is typed to what is printed.

    python tools/count_walk.py python advise fin1 --budget 20s
    python tools/count_walk.py rust callgrind.out.1234

A walk is the files of which a function ran; who wants to follow it opens these. The first form runs
an `ftlkit` command and prints the files of the package, each with the function that was entered
first. `_util` is counted apart, and so are files from which only functions ran that call nothing of
the package: their names say what they do. What only an import runs is no part of a walk.

The second form reads what callgrind says of a Rust program and prints the files of `crates/` with
the number of their functions:

    valgrind --tool=callgrind --toggle-collect='*Run*::serve*' target/debug/examples/study FILE.toml

Functions that the compiler inlined count, since the debug information names their files.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT / 'python' / 'ftlkit'}/"
PARTS = re.compile(r"<(listcomp|dictcomp|setcomp|genexpr|lambda)>")


class Walk:
    """The functions of the package that ran, by file, in the order of the first call."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, None]] = {}
        self.callers: set[str] = set()
        """Files of which a function called one of another file."""

    def enter(self, frame: FrameType, event: str, _argument: object) -> None:
        """What the interpreter calls at each event of a function."""
        code = frame.f_code
        # The body of a module or a class is no function: it has no fast locals.
        if event != "call" or not code.co_filename.startswith(PACKAGE) or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        name, callers = code.co_filename.removeprefix(PACKAGE), list(_callers(frame))
        if any(not caller.co_flags & inspect.CO_OPTIMIZED for caller in callers):
            # It runs in an import.
            return
        if not PARTS.search(code.co_name):
            self.functions.setdefault(name, {}).setdefault(code.co_name)
        if callers and callers[0].co_filename != code.co_filename:
            self.callers.add(callers[0].co_filename.removeprefix(PACKAGE))


def _callers(frame: FrameType) -> Iterator[CodeType]:
    """The functions and module bodies of the package that lead to a call, the last first."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(PACKAGE):
            yield caller.f_code
        caller = caller.f_back


def of_command(arguments: list[str]) -> None:
    """Run a command and print its walk."""
    sys.argv = ["ftlkit", *arguments]
    walk = Walk()
    threading.setprofile(walk.enter)
    sys.setprofile(walk.enter)
    from ftlkit.entry import main  # noqa: PLC0415 - as the command does

    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    leaves = [name for name in walk.functions if name not in walk.callers or name.startswith("_util/")]
    passed = [name for name in walk.functions if name not in leaves]
    for title, names in (("the walk", passed), ("called on the way, calling nothing on", leaves)):
        print(f"\n{title}: {len(names)} files", file=sys.stderr)
        for name in names:
            first, *more = walk.functions[name]
            print(f"  {name:32} {first}{f' and {len(more)} more' if more else ''}", file=sys.stderr)


def of_callgrind(path: Path) -> None:
    """Print the files of the crates that a profile of callgrind names, with their functions."""
    names: dict[str, str] = {}
    functions: dict[str, set[str]] = defaultdict(set)
    file = function = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(r"(fl|fi|fe|fn)=\((\d+)\)(?: (.*))?$", line)
        if match is None:
            continue
        kind, number, text = match.groups()
        # Files and functions are numbered apart, and named where they first occur.
        key = f"{'fn' if kind == 'fn' else 'fl'}{number}"
        name = names.setdefault(key, text or "")
        if kind == "fn":
            function = name
            functions[file].add(function)
            continue
        file = name
        if kind != "fl":
            functions[file].add(function)
    crates = {name.partition("crates/")[2]: ran for name, ran in functions.items() if "/crates/" in name}
    print(f"{len(crates)} files")
    for name, ran in sorted(crates.items()):
        print(f"  {name:44} {len(ran)} functions")


if __name__ == "__main__":
    if sys.argv[1:2] == ["python"]:
        of_command(sys.argv[2:])
    elif sys.argv[1:2] == ["rust"] and len(sys.argv) == 3:
        of_callgrind(Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
