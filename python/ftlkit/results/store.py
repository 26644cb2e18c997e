"""A store of results: a folder with a Parquet file a point, for any tool to query.

A point's file is written under another name and renamed when it is whole, so a killed writer leaves
no half point, and several may write at once: two that run the same point write the same file. What
a point is called is its key (`ftlkit.sweeps.key`); a store knows nothing of sweeps.
"""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.outputs import mode
from ftlkit.results.columns import COLUMNS
from ftlkit.results.outcome import Outcome
from ftlkit.results.point_state import DONE, STATES

DEFAULT = Path("ftlkit-results")
"""Where sweeps keep their points if nothing else is said."""

_MARK, _POINTS, _BEGUN = "ftlkit-store.json", "points", "begun"
_FORMAT = {"ftlkit_store": 1}
_STALE_S = 3600.0
"""A file begun so long ago belongs to a killed writer: writing one takes a moment."""

_TEXT = str

PLACE: dict[str, tuple[type, str]] = {
    "key": (_TEXT, "what the point is: a digest of the study with every key filled in, the engine and the trace"),
    "engine": (_TEXT, "version of ftlkit and digest of its compiled module"),
    "trace": (_TEXT, "digest of the bytes of the trace; null for a generated workload"),
    "device": (_TEXT, "what the sweep called the device"),
    "workload": (_TEXT, "what the sweep called the workload"),
    "seed": (int, "the seed of the run"),
    "varied": (list, "the varied keys that the translation layer takes, with their values as text"),
    "state": (_TEXT, "`done`, `refused` (the study), `bug` (of a translation layer) or `lost` (its worker died)"),
    "error": (_TEXT, "why there are no results; null where there are"),
}
"""Columns of a point before those of its run, with their meanings."""

_NEEDED = ("key", "engine", "device", "workload", "seed", "label", "state", "study")
"""Columns that are null in no point."""

_LAST: dict[str, type] = {"study": _TEXT, "document": _TEXT}
"""The study as it was asked, and the whole results, as JSON."""

SCHEMA: dict[str, type] = {
    **{name: kind for name, (kind, _) in PLACE.items()},
    **{name: metric.type for name, metric in COLUMNS.items()},
    **_LAST,
}
"""All columns of a point's file, with the types of their values in Python."""


def kinds() -> dict[str, Any]:
    """The same as types of polars; varied keys are pairs of texts."""
    return {**SCHEMA, "varied": pl.List(pl.Struct({"key": pl.String(), "value": pl.String()}))}


def files(path: Path) -> list[Path]:
    """What a store at a path consists of, or will: nothing else may be written there."""
    parts = [path / name for name in (_MARK, _POINTS, _BEGUN)]
    return parts if path.exists() else [path, *parts]


class Store:
    """A folder of points."""

    def __init__(self, path: Path, *, create: bool = False, lazily: bool = False) -> None:
        """Open a store; with `create` make it if nothing is there. Another folder is an error.

        With `lazily` as well, a new one is made with its first point: until then it is only checked
        that it can be.
        """
        self.path = path
        self._points, self._begun = path / _POINTS, path / _BEGUN
        self._is_made = not (create and lazily) or (path / _MARK).exists()
        if self._is_made:
            self._open(create=create)
        else:
            self._check_place()

    def _open(self, *, create: bool) -> None:
        path = self.path
        try:
            if create and not (path / _MARK).exists():
                self._make()
            mark = json.loads((path / _MARK).read_text(encoding="utf-8"))
        except FileNotFoundError:
            problem = "it has no " + _MARK if path.is_dir() else "there is no such folder"
            raise UserError(
                f"{path} is no store of results: {problem}. Give the folder that `ftlkit sweep --store` wrote."
            ) from None
        except (OSError, ValueError) as error:
            raise UserError(f"cannot use {path} as a store of results: {error}. Give another folder.") from None
        if mark != _FORMAT:
            raise UserError(
                f"{path} is a store of another ftlkit ({mark}); this one reads {_FORMAT}. Give another one."
            )
        if create:
            self._make_folders()

    def _check_place(self) -> None:
        """Refuse a place where no store can be made."""
        # Another process may be making the same store.
        own = {self._points.name, self._begun.name, _MARK}
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is no folder, so it cannot be a store of results. Give a new folder.")
        if self.path.exists() and {path.name for path in self.path.iterdir()} - own:
            raise UserError(
                f"{self.path} is no store of results and is not empty: points would lie among other files. "
                "Give a new folder, or an empty one."
            )
        above = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if above == self.path:
            return
        try:
            # A trial also sees read-only file systems, which permission bits do not tell.
            Path(tempfile.mkdtemp(prefix=".ftlkit-", dir=above)).rmdir()
        except OSError as error:
            raise UserError(f"cannot make a store at {self.path}: {error.strerror}. Give another folder.") from None

    def _make(self) -> None:
        self._check_place()
        self._make_folders()
        self._write(json.dumps(_FORMAT).encode(), self.path / _MARK)

    def _make_folders(self) -> None:
        """Make missing folders: copies and Git drop empty ones."""
        try:
            self._points.mkdir(parents=True, exist_ok=True)
            self._begun.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make a store at {self.path}: {error.strerror}. Give another folder.") from None

    @property
    def files(self) -> list[Path]:
        """What it consists of, which no other output may overwrite."""
        return files(self.path)

    def keys(self) -> set[str]:
        """The keys of all points."""
        return {path.stem for path in self._points.glob("*.parquet")}

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a point; one of the same key is replaced."""
        if not self._is_made:
            self._open(create=True)
            self._is_made = True
        frame = pl.DataFrame([{name: row.get(name) for name in SCHEMA}], schema=kinds())
        out = io.BytesIO()
        # Of 130 columns of one row zstd takes 3.4 ms of processor time and 46 KB, this 1 ms and
        # 36 KB.
        frame.write_parquet(out, compression="lz4", statistics=False)
        self._write(out.getvalue(), self._points / f"{row['key']}.parquet")

    def _write(self, data: bytes, path: Path) -> None:
        """Write a file that is whole or not there, even if the power fails."""
        try:
            handle, name = tempfile.mkstemp(dir=self._begun)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode(path))
            Path(name).replace(path)
        except OSError as error:
            raise UserError(
                f"cannot write {path}: {error.strerror}. Free some space or choose another store."
            ) from None

    def tidy(self) -> None:
        """Remove what killed writers had begun."""
        for path in self._begun.iterdir() if self._is_made else ():
            # Another process may tidy, too.
            with suppress(FileNotFoundError):
                if path.is_file() and time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()

    def rows(self, keys: Iterable[str] | None = None) -> list[Json]:
        """Points as rows, those of the keys or all of them by key."""
        return self.frame(keys).to_dicts()

    def frame(self, keys: Iterable[str] | None = None) -> pl.DataFrame:
        """Points as a frame with the columns of `SCHEMA`, some null if from an older ftlkit."""
        names = sorted(self.keys()) if keys is None else list(keys)
        return pl.concat([pl.DataFrame(schema=kinds()), *(self._read(name) for name in names)], how="diagonal")

    def readable(self) -> tuple[list[Json], dict[str, str]]:
        """All points as rows, and by the keys of those whose files are damaged what is wrong."""
        rows, damaged = [], {}
        for key in sorted(self.keys()):
            try:
                rows.append(dict.fromkeys(SCHEMA) | self._read(key).to_dicts()[0])
            except UserError as error:  # noqa: PERF203 - each may be damaged
                damaged[key] = str(error)
        return rows, damaged

    def sound(self, keys: Iterable[str]) -> tuple[list[Json], list[str]]:
        """Points of some keys as rows, and the keys of those whose files are damaged."""
        rows = {key: self._sound(key) for key in keys}
        return [row for row in rows.values() if row is not None], [key for key, row in rows.items() if row is None]

    def _sound(self, key: str) -> Json | None:
        try:
            row = dict.fromkeys(SCHEMA) | self._read(key).to_dicts()[0]
            if row["state"] == DONE:
                results(row)
        except UserError:
            return None
        return row

    def _read(self, key: str) -> pl.DataFrame:
        path = self._points / f"{key}.parquet"
        try:
            # Reading what is no file, such as a pipe, may never end.
            if path.exists() and not path.is_file():
                raise OSError("it is no file")  # noqa: TRY301 - told as what cannot be read is
            frame = pl.read_parquet(path)
            frame = frame.select([name for name in SCHEMA if name in frame.columns]).cast(
                {name: kind for name, kind in kinds().items() if name in frame.columns}
            )
            reason = _fault(frame)
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = str(error).splitlines()[0]
        if reason:
            raise UserError(f"{path} is no point of a store: {reason}. Remove it; the sweep will run it again.")
        return frame


def _fault(frame: pl.DataFrame) -> str:
    """What is wrong with a point's columns; nothing where they are as they were written."""
    if frame.height != 1:
        return f"it has {frame.height} rows, and a point has one"
    row = frame.row(0, named=True)
    missing = next((name for name in _NEEDED if row.get(name) is None), None)
    if missing:
        return f"it has no {missing}"
    if row["state"] not in STATES:
        return f"its state is {row['state']}, which is none of {', '.join(STATES)}"
    if row["state"] == DONE and row.get("document") is None:
        return f"it is {DONE} and has no results (document)"
    if row["state"] != DONE and row.get("error") is None:
        return f"it is {row['state']} and has no error"
    broken = next((name for name, value in row.items() if isinstance(value, float) and math.isnan(value)), None)
    return f"its {broken} is no number" if broken else ""


def results(row: Mapping[str, Any]) -> Outcome:
    """The whole results of a point that has some; a `UserError` if they cannot be read."""
    try:
        document: Any = json.loads(row["document"])
        if document["runs"][0]["label"] is not None:
            return Outcome(document)
        reason = "its run has no label"
    except (TypeError, ValueError, KeyError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise UserError(
        f"the results of point {row['key']} cannot be read ({reason}): its file is damaged. Remove it; the sweep will "
        "run it again."
    )


def measured(row: Json) -> Json:
    """The metrics of a run, computed from its results; nothing for a point without any."""
    if not row.get("document"):
        return {}
    run = json.loads(row["document"])["runs"][0]
    return {name: metric.value(run) for name, metric in COLUMNS.items()}


def varied(row: Mapping[str, Any]) -> dict[str, str]:
    """The values of a row's varied keys."""
    return {varied_key["key"]: varied_key["value"] for varied_key in row["varied"] or []}


def named(row: Mapping[str, Any]) -> str:
    """What a point is called in messages."""
    settings = [f"{key}={value}" for key, value in varied(row).items()]
    return ", ".join([row["device"], row["workload"], row["label"], *settings, f"seed {row['seed']}"])
