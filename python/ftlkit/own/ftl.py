"""What a translation layer written in Python is: the class to derive from.

A scheme maps logical pages (`lpn`) to physical pages (`ppn`) of flash. ftlkit calls its methods,
and each call gets `flash`, through which every operation goes: it is checked against the rules of
NAND, counted under a cause and given its time. Data never reach Python: a `Page` is a token for
what was read or what the host writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from ftlkit._native import Flash, FlashDevice, Page


def spelled(name: str) -> str:
    """The name of a class as stacks spell it: `HotCold` is `hot-cold`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


class Parameter(NamedTuple):
    """A parameter of a scheme, which a stack's text may set: `hot-cold:window=64`.

    Its kind follows from the default: a whole number from 0 on, a real number, True or False, or
    one of the `choices`.
    """

    default: int | float | bool | str
    meaning: str
    choices: tuple[str, ...] | None = None


class Ftl:
    """A flash translation layer. Derive from it, and implement read, write, trim and recover.

    One object is made for each device: empty, or after a power cut, when `recover` follows. Every
    parameter is handed to `__init__` by its name. `__init__` raises `ValueError` for a device on
    which the scheme cannot work, with what to change; not for one that is `in_use`.

    Two methods are optional, and serve a whole request in one call, which is faster.
    `read_pages(self, flash, lpn, count)` is called instead of `read`, and returns what
    `flash.read_many` gives, or a list of pages and None. `write_pages(self, flash, lpn, pages)` is
    called instead of `write`.

    Attributes
    ----------
    name
        What it is called in stacks, results and plots; by default the class's name, `HotCold` as
        `hot-cold`.
    parameters
        What a user may set, by name.
    spare_blocks
        How many blocks may fail before the device is read-only. With 0 any failure of a block may
        leave the call that met it: writes are refused from then on.
        With more the scheme catches `ProgramFailed` and `EraseFailed` itself, moves what the block
        holds, and calls `flash.retire`.
    call_seconds
        How long one call may take before it is ended as one that hangs.

    """

    name: ClassVar[str] = ""
    parameters: ClassVar[dict[str, Parameter]] = {}
    spare_blocks: int = 0
    call_seconds: float = 10.0

    def __init__(self, device: FlashDevice) -> None:
        """Make the scheme for an erased device, or for one that `recover` brings back next."""
        self.device = device

    @classmethod
    def stack_name(cls) -> str:
        """Say what stacks call it."""
        return cls.name or spelled(cls.__name__)

    def read(self, flash: Flash, lpn: int) -> Page | None:
        """Read a logical page: what `flash.read` returns, or None if it was never written."""
        raise NotImplementedError(f"{type(self).__name__} has no method read(self, flash, lpn)")

    def write(self, flash: Flash, lpn: int, page: Page) -> None:
        """Write a logical page: `flash.program(ppn, page)`. It must last from now on."""
        raise NotImplementedError(f"{type(self).__name__} has no method write(self, flash, lpn, page)")

    def trim(self, flash: Flash, lpn: int, pages: int) -> None:
        """Forget logical pages: they read as never written.

        After a power cut, too, once `flush` has run.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method trim(self, flash, lpn, pages)")

    def flush(self, flash: Flash) -> None:
        """Make everything last that was written or trimmed."""

    def idle(self, flash: Flash, budget_ns: int) -> None:
        """Work while nobody waits, for this many nanoseconds at most."""

    def recover(self, flash: Flash) -> None:
        """Find everything again from the tags (`flash.scan`), after any power cut."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method recover(self, flash): after a power cut its data are gone"
        )

    def check(self) -> None:
        """Raise `AssertionError` where the scheme's own tables contradict each other."""

    def footprint(self) -> dict[str, int]:
        """Bytes of RAM that a controller would need, by table.

        By default a map of four bytes a logical page: say what your scheme needs instead.
        """
        return {"page map": 4 * self.device.logical_pages}

    def gauges(self) -> dict[str, float]:
        """Numbers of its own, sampled into the time series."""
        return {}
