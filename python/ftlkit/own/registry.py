"""Classes of one's own by kind: what each derives from and needs, and how it is registered."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit.own import watchdog
from ftlkit.own.ftl import Ftl
from ftlkit.own.policies import Classifier, EvictionPolicy, Policy, VictimPolicy, WearPolicy


class Kind(NamedTuple):
    """What a class of one's own may be."""

    words: str
    base: type[Ftl | Policy]
    register: Callable[..., None]
    forget: Callable[[str], bool]
    needs: tuple[str, ...] = ()
    """The methods that it cannot do without; `read_pages` and `write_pages` take others' place."""


SETTINGS = {
    "victim": Kind("victim policy", VictimPolicy, _native.register_victims, _native.forget_victims, ("score",)),
    "streams": Kind("classifier", Classifier, _native.register_classifier, _native.forget_classifier, ("classify",)),
}
"""What stands for a parameter, by its name."""

PARTS = {
    "wear_policy": Kind("wear policy", WearPolicy, _native.register_wear, _native.forget_part),
    "buffer": Kind("write buffer", EvictionPolicy, _native.register_eviction, _native.forget_part, ("next_victim",)),
}
"""What stands behind a mapping, by the key under which a table names its class."""

KINDS = {"": Kind("FTL", Ftl, _native.register_ftl, _native.forget_part, ("read", "write")), **SETTINGS, **PARTS}

registered: dict[tuple[str, str], type] = {}
"""The classes of this process by the parameter they stand for, if any, and their names."""


def in_words(kinds: Iterable[Kind], between: str = " or ") -> str:
    """What classes of some kinds derive from."""
    return between.join(f"ftlkit.{kind.base.__name__}" for kind in kinds)


@contextmanager
def refused_with_place(what: str) -> Iterator[None]:
    """Turn all that a user's code raises, even `SystemExit`, into a `UserError` with the line.

    Ctrl-C stays what it is, and so do Rust panics.
    """
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        # The class of panics cannot be imported.
        if type(error) is KeyboardInterrupt or type(error).__name__ == "PanicException":
            raise
        raise UserError(f"{what}: {_raised_at(error)}") from error


def _raised_at(error: BaseException) -> str:
    """What was raised, with the last line of the user's that it came from."""
    what = ": ".join(filter(None, [type(error).__name__, str(error)]))
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {what}" if frames else what


def registered_name(part: type, *keys: str) -> str:
    """Register a class as one of the kinds of `keys`, and return the name by which stacks know it.

    It is an FTL without keys. A class of the same name that was registered before is replaced, so a
    cell of a notebook can be run again. Raises `UserError` when it is of no such kind, or its name
    or a parameter is refused.
    """
    kinds = {key: KINDS[key] for key in keys or ("",)}
    key = next((key for key, kind in kinds.items() if issubclass(part, kind.base) and part is not kind.base), None)
    if key is None:
        if keys:
            place = keys[0] if len(keys) == 1 else "+"
            raise UserError(f"{place}: {part.__name__} does not derive from {in_words(kinds.values())}.")
        if part is Ftl:
            raise UserError("ftlkit.Ftl is what FTLs derive from: name a class of your own.")
        raise UserError(f"{part!r} is no FTL: derive your class from ftlkit.Ftl.")
    kind = kinds[key]
    with refused_with_place(f"{part.__name__} ({_file_of(part)})"):
        name = str(part.stack_name())  # type: ignore[attr-defined] # which its base has
    for method in kind.needs:
        if getattr(part, method) is getattr(kind.base, method) and not hasattr(part, f"{method}_pages"):
            needed = f"{method}({', '.join(inspect.signature(getattr(kind.base, method)).parameters)})"
            why = "it needs one" if keys else "an FTL needs it"
            raise UserError(f"{part.__name__} ({_file_of(part)}) has no method {needed}: {why}.")
    if key in SETTINGS:
        origins = _origins(part, kind.base)
        kind.register(part, name, origins if key == "streams" else origins[kind.needs[0]])
    else:
        story = inspect.cleandoc(part.__doc__ or "")
        title = story.splitlines()[0] if story else "an FTL in Python" if key == "" else "a policy in Python"
        more = _origins(part, kind.base) if key else _parameters(part)
        kind.register(part, name, f"# {name}: {title}\n\n{story}", _file_of(part), more)
    registered[key if key in SETTINGS else "", name] = part
    watchdog.start()
    return name


def forget(part: type[Ftl | Policy]) -> bool:
    """Take a class out of the lists again: `fk.schemes` and torture of everything leave it out.

    Runs that are under way keep it. Returns whether a class of its name was listed: naming a class
    in `fk.compare` or `fk.torture` lists it.
    """
    key, kind = next((key, kind) for key, kind in KINDS.items() if issubclass(part, kind.base))
    registered.pop((key if key in SETTINGS else "", part.stack_name()), None)
    return kind.forget(part.stack_name())


def _parameters(scheme: type[Ftl]) -> str:
    return json.dumps(
        [
            {"name": name, "default": one.default, "choices": one.choices and list(one.choices), "meaning": one.meaning}
            for name, one in scheme.parameters.items()
        ]
    )


def _file_of(part: type) -> str:
    """The file of a class, as results name it."""
    try:
        return Path(inspect.getfile(part)).name
    except (TypeError, OSError):
        return "a session of Python"


def _origins(part: type, base: type) -> dict[str, str]:
    """The methods of a class that are not those of its base, as messages name them."""
    names = [name for name in vars(base) if not name.startswith("_") and callable(getattr(base, name))]
    return {name: _origin(getattr(part, name)) for name in names if getattr(part, name) is not getattr(base, name)}


def _origin(method: Callable[..., object]) -> str:
    """The method with file and line where they are known."""
    name = ".".join(method.__qualname__.split(".")[-2:])
    try:
        _, line = inspect.getsourcelines(method)
        return f"{inspect.getfile(method)}, line {line}, {name}"
    except (TypeError, OSError):
        return name
