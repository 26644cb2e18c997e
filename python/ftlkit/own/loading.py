"""Finding an FTL written in Python and registering it: `mine.py:HotCold`, or the class itself."""

import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.own.registry import KINDS, PARTS, SETTINGS, in_words, refused_with_place, registered_name

REFERENCE = re.compile(r"(?:(?P<file>[^:+,]+\.py):(?P<name>\w+)|(?P<module>[\w.]+):(?P<cls>[A-Z]\w*))(?=$|[:+])")
"""How text names a class: `path/to/mine.py:HotCold` or `package.module:HotCold`.

A setting of a built-in scheme has `=` where this has the end, `:` or `+`. Behind a module the class
begins with a capital, so that `page:d` is a setting without a value.
"""

CLASS = r"(?:(?P<file>[^:+,=]+\.py):(?P<name>\w+)|(?P<module>[\w.]+):(?P<cls>[A-Z]\w*))(?=$|[:+])"
"""The same behind a sign."""

SETTING = re.compile(r"(?<=:)(?P<key>\w+)=" + CLASS)
"""How a setting names a class: `victim=mine.py:Oldest`."""

PART = re.compile(r"(?<=\+)" + CLASS)
"""How a stack names a class behind its mapping: `page+mine.py:Recent`."""

FILE_ALONE = re.compile(r"(?:^|(?<=\+)|(?<==))[^:+,=]+\.py(?=$|[:+])")
"""A file in a stack without a class of it."""


def resolved(stack: str) -> str:
    """A stack's text with registered names in place of the classes that it names."""
    reference = REFERENCE.match(stack)
    if reference is not None:
        stack = registered_name(load(*_named(reference))) + stack[reference.end() :]

    def setting(reference: re.Match[str]) -> str:
        key = reference["key"]
        return f"{key}={registered_name(_of_setting(key, reference), key)}"

    def part(reference: re.Match[str]) -> str:
        return registered_name(load(*_named(reference), *PARTS), *PARTS)

    stack = PART.sub(part, SETTING.sub(setting, stack))
    alone = FILE_ALONE.search(stack)
    if alone is not None:
        raise UserError(_lacks_class(alone[0], stack[: alone.start()]))
    return stack


def beside(table: Mapping[str, object], folder: Path) -> Json:
    """An `[[ftl]]` table of a study in a folder; files of classes in it are relative to that."""

    def there(value: object) -> object:
        return (
            re.sub(r"[^:+,=]+\.py(?=:)", lambda file: str(folder / file[0]), value) if isinstance(value, str) else value
        )

    return {key: there(value) if key in ("name", *SETTINGS) else value for key, value in table.items()}


def names_own(stack: str) -> bool:
    """Whether a stack's text names a class of one's own."""
    return bool(REFERENCE.match(stack) or SETTING.search(stack) or PART.search(stack))


def settled(table: Mapping[str, object]) -> Json:
    """An `[[ftl]]` table with registered names in place of the classes that it has or names.

    Without a label it is called by them, so that it is told from its siblings.
    """
    if isinstance(table.get("name"), str) and names_own(str(table["name"])):
        table = {**table, "name": resolved(str(table["name"]))}
    if isinstance(named := table.get("name"), type):
        table = {**table, "name": registered_name(named)}
    for key in SETTINGS.keys() & table.keys():
        reference = SETTING.fullmatch(f":{key}={table[key]}", 1)
        if reference is not None:
            table = {**table, key: _of_setting(key, reference)}
    classes = {key: value for key, value in table.items() if isinstance(value, type)}
    if not classes:
        return dict(table)
    parts = [registered_name(classes[key], key) for key in PARTS if key in classes]
    own = {key: registered_name(value, _setting(key, value)) for key, value in classes.items() if key not in PARTS}
    name = "+".join([str(table.get("name")), *parts])
    left = {key: value for key, value in table.items() if key not in classes}
    settings = {
        key: value
        for key, value in sorted((left | own).items())
        if key not in ("label", "name") and not isinstance(value, dict)
    }
    mapping, *behind = name.split("+")
    label = "+".join([":".join([mapping, *(f"{key}={value}" for key, value in settings.items())]), *behind])
    return {"label": label, **left, **own, "name": name}


def _lacks_class(home: str, before: str) -> str:
    """Which class of a file is meant where the text only names the file."""
    keys = ("",) if not before else tuple(PARTS if before[-1] == "+" else SETTINGS)
    if known := [f"{home}:{name}" for name in _classes(_module(home, home), keys)]:
        return f"{home}: name the class: {' or '.join(known)}."
    return f"{home}: has no class that derives from {_wanted(keys)}."


def _of_setting(key: str, reference: re.Match[str]) -> Any:  # noqa: ANN401 - a class
    """The class that a parameter names."""
    home, cls = _named(reference)
    return load(home, cls, _setting(key, cls))


def _setting(key: str, named: object) -> str:
    """A parameter that takes classes. Raises `UserError` for one that does not."""
    if key not in SETTINGS:
        name = named.__name__ if isinstance(named, type) else named
        raise UserError(f"{key}={name}: only {' and '.join(SETTINGS)} take a class of your own.")
    return key


def _named(reference: re.Match[str]) -> tuple[str, str]:
    return reference["file"] or reference["module"], reference["name"] or reference["cls"]


def load(home: str, cls: str, *keys: str) -> Any:  # noqa: ANN401 - a class of one of these kinds
    """A class of a Python file or of a module, of one of the kinds of `keys`: an FTL without them.

    Raises `UserError` when it cannot be loaded.
    """
    keys = keys or ("",)
    module = _module(home, f"{home}:{cls}")
    part = getattr(module, cls, None)
    if part is None:
        known = _classes(module, keys)
        there = f"it has {', '.join(known)}" if known else f"it has no class that derives from {_wanted(keys)}"
        raise UserError(f"{home}:{cls}: {home} has no {cls}; {there}.")
    if not _derives(part, keys):
        raise UserError(f"{home}:{cls}: {cls} does not derive from {_wanted(keys)}.")
    return part


def _module(home: str, asked: str) -> ModuleType:
    """The module of a file or of a name, of which `asked` is asked."""
    with refused_with_place(f"{asked}: cannot be loaded"):
        try:
            return _from_file(Path(home)) if home.endswith(".py") else importlib.import_module(home)
        except ModuleNotFoundError as error:
            if error.name == home or home.startswith(f"{error.name}."):
                raise UserError(
                    f"{asked}: there is no module {home}, and no file; write a path that ends in .py, such as "
                    f"./{home}.py{asked.removeprefix(home)}."
                ) from None
            raise


def _derives(value: object, keys: Iterable[str]) -> bool:
    bases = tuple(KINDS[key].base for key in keys)
    return isinstance(value, type) and issubclass(value, bases) and value not in bases


def _classes(module: ModuleType, keys: Iterable[str]) -> list[str]:
    """The classes of a module's own that are of some kinds."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in own if _derives(getattr(module, name), keys)]


def _wanted(keys: Iterable[str]) -> str:
    return in_words(KINDS[key] for key in keys)


def _from_file(path: Path) -> ModuleType:
    """The module of a file, run once and again when the file has changed."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from None
    name = f"ftlkit_own_{hashlib.sha256(str(path.resolve()).encode() + text).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
