"""Traces of a sweep: each is read once on a machine, and laid out for every point.

A trace in text is parsed, checked and put in order once, and written as Parquet, which reads
fastest and holds what was read, to the byte: runs over the one and the other give the same event
hash. What the results say of the workload is that of the trace as it was given.

Traces are laid out in a temporary folder (`scratch`). Those of killed sweeps are removed by the
next one: who works in a folder holds a lock on a file in it, which the system takes from a process
however that ended.
"""

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ftlkit import _native
from ftlkit._native import Control
from ftlkit._util import Json
from ftlkit._util.lookup import several
from ftlkit.study import ReadingOptions
from ftlkit.sweeps import key

_READING = tuple(ReadingOptions.__annotations__)

_COUNTED = (
    ("skipped", "skipped", "bad record", ""),
    ("unmet", "skipped", "row", " not matching where"),
    ("clamped", "clamped", "request", " to the latest time seen"),
    ("sorted", "put", "request", " in order of time"),
)
"""What may happen to records while a trace is laid out: the key of its count, and words."""

_PREFIX = "ftlkit-sweep-"
_LOCK = "lock"

_NEW_S = 60.0
"""A folder that was made so lately may not be locked yet."""


@dataclass(frozen=True)
class LaidOut:
    """A trace that was laid out."""

    digest: str
    """Of the file as it was given, and of how it is read: the name of what was laid out."""
    path: Path
    facts: Json
    """How it was read: its format, and how many records were skipped, clamped or sorted."""


class Traces:
    """The traces of a sweep by their `[workload]` tables."""

    def __init__(self, folder: Path, *, in_place: bool = False) -> None:
        self._folder = folder
        self.in_place = in_place
        """Whether all are read where they are: Parquet that ftlkit wrote, on this machine."""
        self._digests: dict[str, str] = {}
        self._laid_out: dict[str, LaidOut] = {}
        self.resolved: dict[str, Json] = {}
        """The filled-in table of each workload with a trace that could be read, by its text."""

    def digest(self, workload: Json) -> str | None:
        """The digest of a workload's trace; None for a generated one."""
        path = workload.get("trace")
        if path is None:
            return None
        if path not in self._digests:
            self._digests[path] = key.digest(Path(path))
        return self._digests[path]

    def lay_out(self, workloads: Iterable[Json], least: int, control: Control) -> None:
        """Lay out the traces that are read by this many of the workloads, or more."""
        tables = [workload for workload in workloads if "trace" in workload]
        names = [_name(self.digest(workload), workload) for workload in tables]
        readers = Counter(names)
        for name, table in zip(names, tables, strict=True):
            if name in self._laid_out or readers[name] < least:
                continue
            path = self._folder / f"{name}.parquet"
            options = json.dumps({key: table[key] for key in _READING if key in table})
            facts = json.loads(_native.trace_convert(table["trace"], str(path), options, control))
            self._laid_out[name] = LaidOut(name, path, facts)

    def laid_out(self, workload: Json) -> LaidOut | None:
        """The laid-out trace of a workload, if it was laid out."""
        return self._laid_out.get(_name(self.digest(workload), workload)) if "trace" in workload else None


def over(workload: Json, path: str) -> Json:
    """The workload that reads the laid-out trace at a path instead of its own."""
    described = {key: value for key, value in workload.items() if key not in _READING}
    return described | {"trace": path}


def as_given(document: Json, resolved: Json, laid_out: LaidOut) -> Json:
    """Results over a laid-out trace, with the facts of the trace as it was given."""
    facts = laid_out.facts
    counted = [f"{verb} {several(facts[key], kind)}{which}" for key, verb, kind, which in _COUNTED if facts.get(key)]
    counted += [f"skipped {several(count, kind)}" for kind, count in facts.get("left_out", {}).items()]
    counted += facts.get("unmatched", [])
    workload = document["workload"]
    others = [sentence for sentence in workload.get("facts", []) if not sentence.startswith("read as parquet")]
    others = [sentence for sentence in others if sentence not in counted]
    facts_text = [f"read as {facts['format']}, laid out once for the sweep", *counted, *others]
    table = resolved["workload"]
    # What was laid out has columns and a unit of its own.
    read_as = dict(workload.get("read_as") or {}) | {"format": facts["format"], "columns": table.get("columns", "")}
    read_as |= {"time_unit": table["time_unit"]} if "time_unit" in table else {}
    named = {"name": Path(resolved["workload"]["trace"]).name, "format": facts["format"]}
    return document | {
        "workload": workload | named | {"facts": facts_text, "read_as": read_as},
        "study": document["study"] | {"workload": resolved["workload"]},
    }


def _name(digest: str | None, workload: Json) -> str:
    """A name for a trace that is read so."""
    text = json.dumps({key: workload.get(key) for key in _READING}, sort_keys=True)
    return key.text_digest(f"{digest} {text}")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the block; removes folders that killed sweeps of this user left."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_left(path):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, (Path(name) / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _is_left(folder: Path) -> bool:
    try:
        facts = folder.lstat()
        if facts.st_uid != os.getuid() or folder.is_symlink() or time.time() - facts.st_mtime < _NEW_S:
            return False
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        # Killed before it made its lock, or removed by another sweep just now.
        return True
    except OSError:
        return False
    return True
