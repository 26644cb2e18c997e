"""Policies written in Python, for engines that are built in.

A victim policy says which block collection takes next, a classifier which pages share blocks.
An eviction policy is a write buffer, and says which page leaves it; a wear policy says which free
block is taken, and which block is emptied.

A policy is named where its word stands otherwise: `page:victim=mine.py:Oldest`,
`page+mine.py:Recent:ram=1MiB`, or in a table the class itself. It is registered under a name then,
as FTLs are (`registry.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ftlkit.own.ftl import spelled

if TYPE_CHECKING:
    from ftlkit._native import Block, Blocks, FlashDevice, Unit, Write


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


class Classifier(Policy):
    """Which pages share blocks. Derive from it, and implement classify.

    One object is made for each device, with its shape. It is asked for each page that the host
    writes and, if it has a method relocate, for each page that is relocated. Classes are wishes:
    with little room, a relocated page may join another class. A power cut may forget everything:
    the object is made anew then. Time counts pages that the host has written.

    Attributes
    ----------
    name, call_seconds
        As of `VictimPolicy`; the time is that of one page.
    classes
        How many classes it tells apart, from 2 to 17. Each keeps a block open on every die, which
        has to be spared.
    host_classes
        How many of them, the first ones, wear policies and pacing see as the host's.

    """

    classes: int = 3
    host_classes: int = 2

    def __init__(self, device: FlashDevice) -> None:
        """Make it for a device that is empty, or was recovered."""
        self.device = device

    def classify(self, write: Write) -> int:
        """Give the class, from 0 on, of a page that the host writes."""
        raise NotImplementedError(f"{type(self).__name__} has no method classify(self, write)")

    def relocate(self, page: int, age: int | None, from_class: int) -> int:  # noqa: ARG002 (what others choose by)
        """Give the class of a page that is relocated, that long after the host wrote it."""
        return self.classes - 1

    def reclaimed(self, unit: Unit) -> None:
        """Note that a block is collected; its pages are relocated next."""

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
        """Make it for an empty buffer with room for this many pages."""
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
