"""Classes of one's own in other processes: a class by its home and name, with a digest of its code.

A worker imports a class where this process found it: a file, or an importable module such as that
of an installed plugin. The digest keeps results of other code apart, and a worker refuses code that
changed since.
"""

import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ftlkit._native import UserError, parse_stack
from ftlkit._util import Json
from ftlkit.own.loading import load
from ftlkit.own.registry import PARTS, SETTINGS, registered, registered_name


class Reference(NamedTuple):
    """A class as another process finds it."""

    name: str
    """Its name in stacks."""
    home: str
    """A file, or a module."""
    cls: str
    key: str
    """The parameter that it stands for; empty for a part of a stack."""
    digest: str
    """Of its code."""


def references(layers: Iterable[Json]) -> list[Reference]:
    """The classes that `[[ftl]]` tables name; a `UserError` for one of this process alone."""
    found = []
    for layer in layers:
        parts = [name.partition(":")[0] for name in str(layer.get("name", "")).split("+")]
        asked = [("", name) for name in parts]
        asked += [(key, str(layer[key])) for key in SETTINGS if key in layer]
        known = [(key, name, registered.get((key, name))) for key, name in asked]
        found += [_reference(name, cls, key) for key, name, cls in known if cls is not None]
    return list(dict.fromkeys(found))


def as_typed(stack: str) -> str:
    """A stack's text with the files of its classes in place of their names here."""
    found = references([json.loads(parse_stack(stack))])
    places = {one.name: f"{one.home}:{one.cls}" for one in found if _is_file(one)}
    words = re.split(r"([+:=])", stack)
    return "".join(places.get(word, word) for word in words)


def study_as_typed(study: Json) -> Json:
    """A study with files of classes for their names here, unless one is of this process alone."""
    try:
        places = {one.name: f"{one.home}:{one.cls}" for one in references(study.get("ftl") or []) if _is_file(one)}
    except UserError:
        return study
    return {**study, "ftl": [_at(places, layer) for layer in study["ftl"]]} if places else study


def _at(places: dict[str, str], layer: Json) -> Json:
    """An `[[ftl]]` table with places for names."""
    words = re.split(r"([+:])", str(layer["name"]))
    settings = {key: places.get(str(layer[key]), layer[key]) for key in SETTINGS if key in layer}
    return {**layer, "name": "".join(places.get(word, word) for word in words), **settings}


def _is_file(one: Reference) -> bool:
    return one.home.endswith(".py")


def code(references: Iterable[Reference]) -> str:
    """The code of classes, as the engine of a point names it: empty without any."""
    return "".join(f"+{one.name}@{one.digest}" for one in sorted(references))


def register(references: Sequence[Sequence[str]], *, is_same: bool = True) -> None:
    """Make classes known by their names; `is_same` refuses code that has changed since."""
    for given in references:
        one = Reference(*given)
        if is_same and _digest(one.home) != one.digest:
            raise UserError(f"{one.home} has changed since the runs began: start them again.")
        keys = (one.key,) if one.key else ("", *PARTS)
        registered_name(load(one.home, one.cls, *keys), *keys)


def _reference(name: str, cls: type, key: str) -> Reference:
    module = sys.modules.get(cls.__module__)
    home = getattr(module, "__file__", None)
    if home is None or cls.__module__ == "__main__" or getattr(module, cls.__qualname__, None) is not cls:
        raise UserError(
            f"{name}: the class {cls.__qualname__} is known to this process alone, and runs in other processes "
            f"cannot import it. Put it into a file, and name it as mine.py:{cls.__name__}."
        )
    if not cls.__module__.startswith("ftlkit_own_"):
        home = cls.__module__
    return Reference(name, home, cls.__qualname__, key, _digest(home))


def _digest(home: str) -> str:
    """A digest of a file; of a module, of its package's sources and version."""
    if home.endswith(".py"):
        return _hashed([Path(home)])
    return _of_module(home)


@cache
def _of_module(home: str) -> str:
    top = home.partition(".")[0]
    spec = importlib.util.find_spec(top)
    places = [Path(place) for place in (spec.submodule_search_locations if spec else None) or ()]
    files = [file for place in places for file in sorted(place.rglob("*.py"))]
    files = files or ([Path(spec.origin)] if spec is not None and spec.origin else [])
    from importlib.metadata import packages_distributions, version  # noqa: PLC0415 - only FTLs in Python need it

    versions = [f"{name} {version(name)}" for name in sorted(packages_distributions().get(top, ()))]
    return _hashed(files, json.dumps(versions))


def _hashed(files: Iterable[Path], text: str = "") -> str:
    try:
        return hashlib.sha256(b"".join([text.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:12]
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}.") from None
