"""The folder of a fleet: traces taken apart by volume, and a manifest.

```
DIR/manifest.json                          format, traces, skipped records, volumes
DIR/volumes/volume=hm_0/00000.parquet …    a volume's requests in order of time
DIR/shared/00000.parquet …                 of thousands of volumes: small ones together
DIR/.split/                                of a split that is not finished: what it goes on from
```

The compiled module reads and writes; what a killed split has done is in `.split`, with a note of
its traces and options (`job.json`), since it can go on with the same ones alone. The manifest is
written last: a folder with one is whole.
"""

import fcntl
import functools
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.native_call import asked
from ftlkit._util.outputs import write
from ftlkit._util.progress import Watcher
from ftlkit._util.trace_files import trace_files
from ftlkit.sweeps import key

MANIFEST = "manifest.json"
_FORMAT = {"ftlkit_fleet": 2}
_READ = (1, 2)
"""Formats that are read; the first has no shared files."""
_WORK, _JOB, _LOCK, _JOURNAL = ".split", "job.json", "lock", "volumes.jsonl"

_LEFT_OUT = ("device", "sizes", "write_sizes", "alignment")
"""Facts of a volume that its manifest has not: of 100,000 they take half of a GB of memory."""

_AGAIN = "Split the traces again (`ftlkit trace split`) into a new folder"

_FULL = "os error 28"
"""A full disk, in the words of the compiled module."""


def split(
    traces: Sequence[str | Path],
    out: Path,
    options: Any,  # noqa: ANN401 - of how a trace is read
    watcher: Watcher | None = None,
    *,
    kept_bytes: int = 0,
    part_requests: int = 0,
    folders: int = 0,
) -> Json:
    """Split traces by volume into a folder, or go on with it; the manifest.

    Of more volumes than `folders`, small ones share files.
    """
    limits = (kept_bytes, part_requests, folders)
    job = _job(traces, options, limits if folders else limits[:2])
    if (out / MANIFEST).exists():
        made = manifest(out)
        if made["job"] == job:
            digest = functools.cache(key.digest)
            for volume in made["volumes"]:
                trace = volume_trace(out, volume)
                check_unchanged(volume["name"], volume["digest"], functools.partial(digest, trace))
            return made
        raise UserError(f"{out} holds the volumes of other traces or of other options. Give another folder.")
    work = out / _WORK
    if not work.is_dir() and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there and is no unfinished split. Give a new folder, or an empty one.")
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {out}: {error.strerror}. Give another one.") from None
    with _alone(out):
        _check_same(work / _JOB, job)
        for begun in out.glob("*/.ftlkit-*.part"):
            begun.unlink()  # By a killed split.
        text, paths = json.dumps(options), [str(path) for path in traces]
        try:
            read = asked(lambda control: _native.trace_split(paths, str(out), text, control, *limits), watcher)
            made = _manifest(out, job, read)
            write(out / MANIFEST, json.dumps(made, ensure_ascii=False).encode())
        except UserError as error:
            if _FULL not in str(error):
                _forget(out)
                raise
            raise UserError(f"{error}. The disk is full: free some space, and repeat the command to go on.") from None
        shutil.rmtree(work)
    return made


def manifest(folder: Path) -> Json:
    """The manifest of a fleet."""
    path = folder / MANIFEST
    try:
        made: Any = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if (folder / _WORK).is_dir():
            raise UserError(f"{folder}: its split is not finished. Repeat `ftlkit trace split` to go on.") from None
        why = (
            f"it has no {MANIFEST}" if folder.is_dir() else "it is no folder" if folder.exists() else "it is not there"
        )
        source = folder if folder.is_file() else "TRACES"
        raise UserError(
            f"{folder} is no fleet: {why}. Make one: `ftlkit trace split {source} --out DIR`, then `ftlkit fleet DIR`."
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}. {_AGAIN}.") from None
    if not isinstance(made, dict) or made.get("ftlkit_fleet") not in _READ:
        raise UserError(f"{path} is of another ftlkit; this one reads {_FORMAT}. {_AGAIN}.")
    found: Json = made
    return found


def volume_trace(folder: Path, volume: Json) -> Path:
    """The trace of a volume: its one file, maybe shared, or a pattern for several."""
    place = folder / str(volume["folder"])
    if "number" in volume:
        return place
    return place / ("00000.parquet" if volume["files"] == 1 else "*.parquet")


def volume_workload(folder: Path, volume: Json) -> Json:
    """The `[workload]` table of a volume: its trace, of a shared one its device."""
    made = {"trace": str(volume_trace(folder, volume))}
    return made | ({"trace_device": f"name:{volume['name']}"} if "number" in volume else {})


def check_unchanged(name: str, split: str | None, digest: Callable[[], str | None]) -> None:
    """Refuse a volume whose trace is not as it was split; a drawn one has no trace."""
    try:
        if split in (None, digest()):
            return
    except UserError as error:
        path = str(error).removeprefix("cannot read ").partition(".parquet")[0]
        raise UserError(f"volume {name}: {path}.parquet is gone. {_AGAIN}.") from None
    raise UserError(f"the files of volume {name} have changed since they were split. {_AGAIN}.")


def _job(traces: Sequence[str | Path], options: Json, limits: Sequence[int]) -> Json:
    """What must be the same for a split to go on: the files, as they are now, and the options."""
    files = [
        (str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns)
        for name in traces
        for path in trace_files(name)
    ]
    return {"files": [list(facts) for facts in files], "options": dict(options), "limits": list(limits)}


def _check_same(path: Path, job: Json) -> None:
    if not path.exists():
        write(path, json.dumps(job).encode())
    elif json.loads(path.read_text(encoding="utf-8")) != job:
        raise UserError(
            f"{path.parents[1]} holds an unfinished split of other traces, options, or of files that have changed. "
            "Give another folder, or remove that one."
        )


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other processes from the same split; the system takes the lock from a dead one."""
    with (out / _WORK / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{out}: another process is splitting into it. Wait for it, or stop it.") from None
        yield


def _forget(out: Path) -> None:
    """Remove the work of a split that ended before it read a request: it may be asked otherwise."""
    if {path.name for path in out.rglob("*")} <= {_WORK, _JOB, _LOCK}:
        shutil.rmtree(out)


def _manifest(out: Path, job: Json, read: Json) -> Json:
    volumes, digest = [], functools.cache(key.digest)
    with (out / _WORK / _JOURNAL).open(encoding="utf-8") as lines:
        for line in lines:
            volume = {name: value for name, value in json.loads(line).items() if name not in _LEFT_OUT}
            volumes.append(volume | {"digest": digest(volume_trace(out, volume))})
    requests = sum(volume["requests"] for volume in volumes)
    return {**_FORMAT, "requests": requests, **read, "volumes": volumes, "job": job}
