"""Studies as TOML: read from files, and written so that `ftlkit run` reads them again."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import tomli_w

from ftlkit._native import UserError, parse_study_toml
from ftlkit._util import Json
from ftlkit.own.loading import beside
from ftlkit.own.references import study_as_typed

tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
"""By name: type checkers know the oldest Python's module, which later ones lack."""

_ORDER = ("device", "workload", "host", "run", "ftl", "sweep")
"""The tables of a study in the order in which one would write them."""

_MOST = 1 << 24
"""The most characters of a study: a file without an end, such as a device, is not read to it."""

_SPAN_OF_DEVICE = re.compile(r"""(\bspan\s*=\s*)["']device["']""")

_FIRST = ("name", "label", "preset")
"""Keys that stand first in their table."""


def load(path: Path) -> Json:
    """The study of a TOML file; paths of traces and of classes in it are relative to the file."""
    read = text(path, "study")
    _refuse_json(path, read)
    # The simulator knows no such span, which `one_line.fit` replaces; errors keep their places.
    study: Json = json.loads(parse_study_toml(_SPAN_OF_DEVICE.sub(r'\1"  1GiB"', read), str(path)))
    if _SPAN_OF_DEVICE.search(read):
        span = tomllib.loads(read).get("workload", {}).get("generator", {}).get("span")
        study["workload"] |= {"generator": study["workload"]["generator"] | {"span": span}} if span else {}
    return {**study, "ftl": [beside(layer, path.parent) for layer in study["ftl"]]} if study.get("ftl") else study


def _refuse_json(path: Path, read: str) -> None:
    """Raise a `UserError` that says what a file of JSON holds; no TOML begins with a brace."""
    if not read.lstrip().startswith("{"):
        return
    try:
        held = json.loads(read)
    except ValueError:
        return
    if {"runs", "study"} <= held.keys():
        raise UserError(
            f"{path} holds results, not a study. `ftlkit report {path}` draws their report without a new run; the "
            "study that gave them stands in it."
        )
    if "study" in held:
        raise UserError(f"{path} holds results, not a study: its key study is the configuration. Write that as TOML.")
    raise UserError(f"{path} is JSON, and a study is TOML. docs/study.md lists its keys.")


def text(path: Path, what: str) -> str:
    """The text of a TOML file; `what` says in the error what it should be."""
    try:
        with path.open(encoding="utf-8") as file:
            read = file.read(_MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"cannot read the {what} {path}: {reason}. Give the path of a TOML file.") from None
    if len(read) > _MOST:
        raise UserError(f"{path}: has more than {_MOST:,} characters, the most that a {what} may have.")
    return read


def written(study: Json) -> str:
    """The TOML of a study for `ftlkit run`: classes by file, no nulls, which TOML lacks."""
    study = study_as_typed(study)
    tables = {key: study[key] for key in _ORDER if study.get(key)}
    plain = {key: value for key, value in study.items() if key not in _ORDER}
    return tomli_w.dumps(_table(plain | tables)).strip()


def _table(table: Json) -> Json:
    keys = dict.fromkeys([*(key for key in _FIRST if key in table), *table])
    return {key: _value(table[key]) for key in keys if table[key] is not None}


def _value(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    if isinstance(value, dict):
        return _table(value)
    return [_value(item) for item in value] if isinstance(value, list) else value
