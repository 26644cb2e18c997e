"""Policies written in Python, for engines that are built in.

A victim policy says which block collection takes next, a write classifier which pages share blocks.

A policy is named where its word stands otherwise: `page:victim=mine.py:Oldest`, or in a table the
class itself. It is registered under a name then, as FTLs are (`loading.py`).
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, ClassVar

from ftlkit._native import UserError, forget_classifier, forget_victims, register_classifier, register_victims
from ftlkit.own import watchdog
from ftlkit.own.ftl import spelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit._native import Block, FlashDevice

REFERENCE = re.compile(
    r"(?<=:)(?P<key>\w+)=(?:(?P<file>[^:+,=]+\.py):(?P<name>\w+)|(?P<module>[\w.]+):(?P<cls>[A-Z]\w*))(?=$|[:+])"
)
"""How a setting names a class: `victim=mine.py:Oldest` or `victim=package.module:Oldest`."""


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


BASES: dict[str, type[Policy]] = {"victim": VictimPolicy, "streams": WriteClassifier}
"""The parameters that take a class, and what it derives from."""


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
    if issubclass(policy, VictimPolicy):
        register_victims(policy, name, _origin(policy.score))
    elif issubclass(policy, WriteClassifier):
        register_classifier(policy, name, _origin(policy.stream))
    watchdog.start()
    return name


def forget(policy: type[Policy]) -> bool:
    """Take a policy out of the list again; tells whether it was there. Runs under way keep it."""
    forget_name = forget_victims if issubclass(policy, VictimPolicy) else forget_classifier
    return forget_name(policy.stack_name())


def _origin(method: Callable[..., object]) -> str:
    """The method as messages name it, with file and line where they are known."""
    name = ".".join(method.__qualname__.split(".")[-2:])
    try:
        _, line = inspect.getsourcelines(method)
        return f"{inspect.getfile(method)}, line {line}, {name}"
    except (TypeError, OSError):
        return name
