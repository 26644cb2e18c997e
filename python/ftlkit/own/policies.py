"""Policies written in Python, for engines that are built in.

A victim policy says which block collection takes next, a write classifier which pages share blocks.
An eviction policy is a write buffer, and says which page leaves it; a wear policy says which free
block is taken, and which block is emptied.

A policy is named where its word stands otherwise: `page:victim=mine.py:Oldest`,
`page+mine.py:Recent:ram=1MiB`, or in a table the class itself. It is registered under a name then,
as FTLs are (`loading.py`).
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ftlkit._native import (
    UserError,
    forget_classifier,
    forget_part,
    forget_victims,
    register_classifier,
    register_eviction,
    register_victims,
    register_wear,
)
from ftlkit.own import watchdog
from ftlkit.own.ftl import spelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit._native import Block, Blocks, FlashDevice

CLASS = r"(?:(?P<file>[^:+,=]+\.py):(?P<name>\w+)|(?P<module>[\w.]+):(?P<cls>[A-Z]\w*))(?=$|[:+])"
"""How text names a class: `mine.py:Oldest` or `package.module:Oldest`."""

REFERENCE = re.compile(r"(?<=:)(?P<key>\w+)=" + CLASS)
"""How a setting names a class: `victim=mine.py:Oldest`."""

PART = re.compile(r"(?<=\+)" + CLASS)
"""How a stack names a class behind its mapping: `page+mine.py:Recent`."""


class Policy:
    """What all policies have."""

    name: ClassVar[str] = ""
    call_seconds: float = 10.0

    @classmethod
    def stack_name(cls) -> str:
        """Say what stacks call it."""
        return cls.name or spelled(cls.__name__)


class VictimPolicy(Policy):
    """Which closed block garbage collection takes next. Derive from it, and implement score.

    One object is made for each device, without arguments. Collection asks for the score of every
    closed block of a die and takes the highest; of equal ones that which was filled first. What
    the policy keeps must follow from the blocks that it sees: the same seed gives the same run.

    Attributes
    ----------
    name
        What it is called in stacks and results; by default the class's name, `OldFirst` as
        `old-first`.
    call_seconds
        How long one choice may take before it is ended as one that hangs.

    """

    def score(self, block: Block) -> float:
        """Say how much collecting a block is worth: any finite number, the higher the better."""
        raise NotImplementedError(f"{type(self).__name__} has no method score(self, block)")


class WriteClassifier(Policy):
    """Which pages that the host writes share blocks. Derive from it, and implement stream.

    One object is made for each device, with its shape. It is asked for each page that the host
    writes. What is collected goes to blocks of its own, and a power cut may forget everything: the
    object is made anew then.

    Attributes
    ----------
    name, call_seconds
        As of `VictimPolicy`; the time is that of one page.
    streams
        How many streams it tells apart, from 1 to 16. Each keeps a block open on every die, which
        has to be spared.

    """

    streams: int = 2

    def __init__(self, device: FlashDevice) -> None:
        """Make it for a device that is empty, or was recovered."""
        self.device = device

    def stream(self, lpn: int, pages: int) -> int:
        """Give the stream, from 0 on, of a page that is written with a request of `pages` pages."""
        raise NotImplementedError(f"{type(self).__name__} has no method stream(self, lpn, pages)")

    def ram_bytes(self) -> int:
        """Say how much RAM its tables would need in a controller; asked once."""
        return 0


class EvictionPolicy(Policy):
    """Which page leaves a write buffer when another needs room. Implement next_victim.

    It stands behind the mapping, `page+mine.py:Recent:ram=1MiB`, and has the parameters of every
    buffer (`ram`, `access_delay`). One object is made for each device, with its shape and the pages
    for which there is room. The pages themselves lie in ftlkit: they are read from there, and all
    of them are written down by a flush. After a power cut they are lost and the object is made
    anew.

    Attributes
    ----------
    name, call_seconds
        As of `VictimPolicy`; the time is that of one call.
    evicts
        What next_victim gives: the LPN of a `page`; the number of a logical `block`, of which all
        pages leave that wait; or of a `whole_block`, whose other pages are read and written with
        them. Page `lpn` is of block `lpn // device.pages_per_block`.

    """

    evicts: str = "page"

    def __init__(self, device: FlashDevice, room: int) -> None:
        """Make it for an empty buffer with room for so many pages."""
        self.device = device
        self.room = room

    def on_inserted(self, lpn: int, pages: int) -> None:
        """Note that a page waits now, which came with a request of `pages` pages."""

    def on_rewritten(self, lpn: int, pages: int) -> None:
        """Note that a page that waits was written once more."""

    def on_read(self, lpn: int) -> None:
        """Note that a page that waits was read."""

    def on_left(self, lpn: int) -> None:
        """Note that a page waits no more: it was written down, or trimmed."""

    def next_victim(self) -> int:
        """Say what is written down, since a page needs room: something of which a page waits."""
        raise NotImplementedError(f"{type(self).__name__} has no method next_victim(self)")

    def ram_bytes(self) -> int:
        """Say how much RAM its tables would need in a controller; asked once."""
        return 0


class WearPolicy(Policy):
    """Which free block is taken, and which block is emptied though nobody needs its space.

    It stands behind the mapping, `page+mine.py:Even`. An object is made whenever a device is
    formatted or recovered, perhaps more than one. What it decides costs wear and never data: the
    engine moves what a block holds before it is erased. After a power cut the object is made anew,
    and `blocks.erases` tells what the flash remembers.

    Attributes
    ----------
    name, call_seconds
        As of `VictimPolicy`; the time is that of one call.
    order
        How free blocks stand when place is asked: `first_freed` first, `least_worn`, or `rested`,
        whose first is the least worn of those that were not freed lately.

    """

    order: str = "first_freed"

    def __init__(self, device: FlashDevice) -> None:
        """Make it for a device that is empty, or was recovered."""
        self.device = device

    def place(self, purpose: str, free: int) -> int:  # noqa: ARG002 (what others choose by)
        """Choose one of `free` blocks, from 0 on, that is taken for `purpose`."""
        return 0

    def on_erased(self, block: int, erases: int) -> None:
        """Note that a block has been erased, so often by now."""

    def next_move(self, blocks: Blocks) -> int | None:  # noqa: ARG002 (what others choose by)
        """Name a block that is emptied now, or None; asked after each write of the host."""
        return None

    def on_moved(self, block: int, outcome: str) -> None:
        """Note what became of the block that it named.

        `done`, `retired` because it failed, or why not: `no_room`, `read_only`, `bad`.
        """

    def ram_bytes(self) -> int:
        """Say how much RAM its tables would need in a controller; asked once."""
        return 0


BASES: dict[str, type[Policy]] = {"victim": VictimPolicy, "streams": WriteClassifier}
"""The parameters that take a class, and what it derives from."""

ASKED = {"victim": "score", "streams": "stream"}
"""The method that each of them needs."""

PARTS: dict[str, type[EvictionPolicy | WearPolicy]] = {"wear_policy": WearPolicy, "buffer": EvictionPolicy}
"""The keys under which a table names the class of a part, and what it derives from."""


registered: dict[tuple[str, str], type] = {}
"""The classes of this process by the parameter they stand for, if any, and their names."""


def base_of(key: str, cls: str) -> type[Policy]:
    """What a class derives from that stands for a parameter. Raises `UserError` if none may."""
    if key not in BASES:
        raise UserError(f"{key}={cls}: only {' and '.join(BASES)} take a class of your own.")
    return BASES[key]


def registered_policy(policy: type, key: str) -> str:
    """Register a class that stands for a parameter, and return the name by which stacks know it.

    A class of the same name that was registered before is replaced. Raises `UserError` when the
    parameter takes no class, or the class is no such policy.
    """
    base = base_of(key, policy.__name__)
    if not issubclass(policy, base) or policy is base:
        raise UserError(f"{key}: {policy.__name__} does not derive from ftlkit.{base.__name__}.")
    name = policy.stack_name()
    _refuse_missing(policy, base, ASKED[key])
    if issubclass(policy, VictimPolicy):
        register_victims(policy, name, _origin(policy.score))
    elif issubclass(policy, WriteClassifier):
        register_classifier(policy, name, _origin(policy.stream))
    registered[key, name] = policy
    watchdog.start()
    return name


def registered_part(policy: type, key: str | None = None) -> str:
    """Register a class that stands behind a mapping, and return the name by which stacks know it.

    A class of the same name that was registered before is replaced. Raises `UserError` when it is
    no such class, or none that the key of a table asks for.
    """
    bases = tuple(PARTS.values()) if key is None else (PARTS[key],)
    if not issubclass(policy, bases) or policy in bases:
        known = " or ".join(f"ftlkit.{base.__name__}" for base in bases)
        raise UserError(f"{key or '+'}: {policy.__name__} does not derive from {known}.")
    name = policy.stack_name()
    base = WearPolicy if issubclass(policy, WearPolicy) else EvictionPolicy
    if base is EvictionPolicy:
        _refuse_missing(policy, base, "next_victim")
    methods = [method for method in vars(base) if not method.startswith("_") and callable(getattr(base, method))]
    own = [getattr(policy, method) for method in methods if _is_own(policy, base, method)]
    register = register_wear if base is WearPolicy else register_eviction
    story = f"# {name}: {first_line(policy, 'a policy in Python')}\n\n{own_story(policy)}"
    register(policy, name, story, file_of(policy), {method.__name__: _origin(method) for method in own})
    registered["", name] = policy
    watchdog.start()
    return name


def _refuse_missing(policy: type, base: type, method: str) -> None:
    """Raise a `UserError` for a class without the method that it is there for."""
    if getattr(policy, method) is getattr(base, method):
        taken = ", ".join(inspect.signature(getattr(base, method)).parameters)
        raise UserError(f"{policy.__name__} ({file_of(policy)}) has no method {method}({taken}): it needs one.")


def _is_own(policy: type, base: type, method: str) -> bool:
    """Whether a class has a method of its own."""
    return getattr(policy, method) is not getattr(base, method)


def forget(policy: type[Policy]) -> bool:
    """Take a policy out of the list again; tells whether it was there. Runs under way keep it."""
    name = policy.stack_name()
    key = next((key for key, base in BASES.items() if issubclass(policy, base)), "")
    registered.pop((key, name), None)
    if not key:
        return forget_part(name)
    return forget_victims(name) if issubclass(policy, VictimPolicy) else forget_classifier(name)


def first_line(part: type, otherwise: str) -> str:
    """The first line of what a class says of itself."""
    return (part.__doc__ or otherwise).strip().splitlines()[0]


def own_story(part: type) -> str:
    """What a class says of itself, and nothing of what it derives from."""
    return inspect.cleandoc(part.__doc__ or "")


def file_of(part: type) -> str:
    """The file of a class, as results name it."""
    try:
        return Path(inspect.getfile(part)).name
    except (TypeError, OSError):
        return "a session of Python"


def _origin(method: Callable[..., object]) -> str:
    """The method as messages name it, with file and line where they are known."""
    name = ".".join(method.__qualname__.split(".")[-2:])
    try:
        _, line = inspect.getsourcelines(method)
        return f"{inspect.getfile(method)}, line {line}, {name}"
    except (TypeError, OSError):
        return name
