"""The files of a trace: one, all that a pattern such as `hour*.csv` names, or standard input."""

import atexit
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from ftlkit._native import UserError

STANDARD_INPUT = "-"


@cache
def standard_input() -> str:
    """The path of a temporary file with all of standard input: a trace is read more than once."""
    if sys.stdin.isatty():
        raise UserError("-: a trace is read from standard input, but that is a terminal. Pipe it: zcat t.gz | ftlkit …")
    folder = tempfile.mkdtemp(prefix="ftlkit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "stdin")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return str(path)


def trace_files(path: str | Path) -> list[Path]:
    """The files by name; none where there is no such file."""
    path = Path(path)
    if path.exists():
        return [path]
    if "*" not in path.name:
        return []
    # Only the star has a meaning in a pattern.
    pattern = path.name.replace("[", "[[]").replace("?", "[?]")
    return sorted(path.parent.glob(pattern))
