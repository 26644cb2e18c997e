"""Finding an FTL written in Python and registering it: `mine.py:HotCold`, or the class itself."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ftlkit._native import UserError, forget_part, register_ftl
from ftlkit.own import policies, watchdog
from ftlkit.own.ftl import Ftl
from ftlkit.own.policies import (
    PARTS,
    Policy,
    base_of,
    file_of,
    first_line,
    own_story,
    registered_part,
    registered_policy,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from ftlkit.results.document import Json

_Base = TypeVar("_Base")

REFERENCE = re.compile(r"(?:(?P<file>[^:+,]+\.py):(?P<name>\w+)|(?P<module>[\w.]+):(?P<cls>[A-Z]\w*))(?=$|[:+])")
"""How text names a class: `path/to/mine.py:HotCold` or `package.module:HotCold`.

A setting of a built-in scheme has `=` where this has the end, `:` or `+`. Behind a module the class
begins with a capital, so that `page:d` is a setting without a value.
"""


FILE_ALONE = re.compile(r"(?:^|(?<=\+)|(?<==))[^:+,=]+\.py(?=$|[:+])")
"""A file in a stack without a class of it."""

MUST_HAVE = ("read", "write")
"""What no FTL does without; `read_pages` and `write_pages` take their place."""


def registered_name(scheme: type) -> str:
    """Register a class, and return the name by which stacks know it.

    A class of the same name that was registered before is replaced, so a cell of a notebook can be
    run again. Raises `UserError` when the class is no FTL, or its name or a parameter is refused.
    """
    if not issubclass(scheme, Ftl):
        raise UserError(f"{scheme!r} is no FTL: derive your class from ftlkit.Ftl.")
    if scheme is Ftl:
        raise UserError("ftlkit.Ftl is what FTLs derive from: name a class of your own.")
    for method in MUST_HAVE:
        if getattr(scheme, method) is getattr(Ftl, method) and not hasattr(scheme, f"{method}_pages"):
            taken = inspect.signature(getattr(Ftl, method))
            given = f"{method}({', '.join(taken.parameters)})"
            raise UserError(f"{scheme.__name__} ({file_of(scheme)}) has no method {given}: an FTL needs it.")
    name = scheme.stack_name()
    parameters = [
        {
            "name": key,
            "default": parameter.default,
            "choices": list(parameter.choices) if parameter.choices else None,
            "meaning": parameter.meaning,
        }
        for key, parameter in scheme.parameters.items()
    ]
    story = f"# {name}: {first_line(scheme, 'an FTL in Python')}\n\n{own_story(scheme)}"
    register_ftl(scheme, name, story, file_of(scheme), json.dumps(parameters))
    policies.registered["", name] = scheme
    watchdog.start()
    return name


def forget(part: type[Ftl | Policy]) -> bool:
    """Take a class out of the lists again: `fk.schemes` and torture of everything leave it out.

    Runs that are under way keep it. Returns whether a class of its name was listed: naming a class
    in `fk.compare` or `fk.torture` lists it.
    """
    if not issubclass(part, Ftl):
        return policies.forget(part)
    policies.registered.pop(("", part.stack_name()), None)
    return forget_part(part.stack_name())


def resolved(stack: str) -> str:
    """A stack's text with registered names in place of the classes that it names."""
    reference = REFERENCE.match(stack)
    if reference is not None:
        stack = registered_name(load(*_named(reference), Ftl)) + stack[reference.end() :]

    def setting(reference: re.Match[str]) -> str:
        key = reference["key"]
        home, cls = _named(reference)
        return f"{key}={registered_policy(load(home, cls, base_of(key, cls)), key)}"

    def part(reference: re.Match[str]) -> str:
        return registered_part(load(*_named(reference), *PARTS.values()))

    stack = policies.PART.sub(part, policies.REFERENCE.sub(setting, stack))
    alone = FILE_ALONE.search(stack)
    if alone is not None:
        raise UserError(_lacks_class(alone[0], stack[: alone.start()]))
    return stack


def names_own(stack: str) -> bool:
    """Whether a stack's text names a class of one's own."""
    return bool(REFERENCE.match(stack) or policies.REFERENCE.search(stack) or policies.PART.search(stack))


def settled(table: Mapping[str, object]) -> Json:
    """An `[[ftl]]` table with registered names in place of the classes that it has or names.

    Without a label it is called by them, so that it is told from its siblings.
    """
    if isinstance(table.get("name"), str) and names_own(str(table["name"])):
        table = {**table, "name": resolved(str(table["name"]))}
    for key in policies.BASES.keys() & table.keys():
        reference = policies.REFERENCE.fullmatch(f":{key}={table[key]}", 1)
        if reference is not None:
            home, cls = _named(reference)
            table = {**table, key: load(home, cls, base_of(key, cls))}
    classes = {key: value for key, value in table.items() if isinstance(value, type)}
    if not classes:
        return dict(table)
    parts = [registered_part(classes[key], key) for key in PARTS if key in classes]
    own = {key: registered_policy(value, key) for key, value in classes.items() if key not in PARTS}
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
    bases = (Ftl,) if not before else tuple(PARTS.values()) if before[-1] == "+" else tuple(policies.BASES.values())
    module = _module(home, home)
    known = [f"{home}:{name}" for name, value in vars(module).items() if _derives(value, bases, module)]
    wanted = " or ".join(f"ftlkit.{base.__name__}" for base in bases)
    if not known:
        return f"{home}: has no class that derives from {wanted}."
    return f"{home}: name the class: {' or '.join(known)}."


def _named(reference: re.Match[str]) -> tuple[str, str]:
    return reference["file"] or reference["module"], reference["name"] or reference["cls"]


def load(home: str, cls: str, *bases: type[_Base]) -> type[_Base]:
    """A class of a Python file or of a module that derives from one of `bases`.

    Raises `UserError` when it cannot be loaded.
    """
    wanted = " or ".join(f"ftlkit.{base.__name__}" for base in bases)
    module = _module(home, f"{home}:{cls}")
    scheme = getattr(module, cls, None)
    if scheme is None:
        known = [name for name, value in vars(module).items() if _derives(value, bases, module)]
        there = f"it has {', '.join(known)}" if known else f"it has no class that derives from {wanted}"
        raise UserError(f"{home}:{cls}: {home} has no {cls}; {there}.")
    if not _derives(scheme, bases):
        raise UserError(f"{home}:{cls}: {cls} does not derive from {wanted}.")
    loaded: type[_Base] = scheme
    return loaded


def _module(home: str, asked: str) -> ModuleType:
    """The module of a file or of a name, of which `asked` is asked."""
    try:
        return _from_file(Path(home)) if home.endswith(".py") else importlib.import_module(home)
    except UserError:
        raise
    except ModuleNotFoundError as error:
        if error.name == home or home.startswith(f"{error.name}."):
            raise UserError(
                f"{asked}: there is no module {home}, and no file; write a path that ends in .py, such as "
                f"./{home}.py{asked.removeprefix(home)}."
            ) from None
        raise UserError(f"{asked}: cannot be loaded: {raised_at(error)}") from error
    except Exception as error:
        raise UserError(f"{asked}: cannot be loaded: {raised_at(error)}") from error


def _derives(value: object, bases: tuple[type, ...], module: ModuleType | None = None) -> bool:
    is_own = isinstance(value, type) and issubclass(value, bases) and value not in bases
    return is_own and (module is None or getattr(value, "__module__", None) == module.__name__)


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


def raised_at(error: BaseException) -> str:
    """What was raised, with the last line of the user's that it came from."""
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {what}" if frames else what
