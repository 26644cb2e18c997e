"""What a search comes to: what was tried on each prefix, and measured on the held-out part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.advice.halving import SHARE
from ftlkit.advice.query import REFERENCE

if TYPE_CHECKING:
    from ftlkit.advice.halving import Halved
    from ftlkit.advice.measure import Measured

SEARCHED = (2, 3)
"""The part of the workload that is searched; the rest is held out."""
LEAST_PREFIX, LEAST_REQUESTS = 5_000, 90
"""Requests of the shortest prefix of a long workload; of the shortest workload that is divided."""
MOST_PREFIXES = 5


@dataclass
class Rung:
    """What was tried on one prefix."""

    requests: int
    precondition: str = ""
    """How the device was prepared, if not as asked."""
    tried: dict[str, Measured] = field(default_factory=dict)
    over: dict[str, float] = field(default_factory=dict)
    """Stacks that take more RAM than asked for, with what they take."""
    halved: Halved | None = None
    begun: dict[str, None] = field(default_factory=dict)
    """Stacks that were to be run, in order."""

    @property
    def unfinished(self) -> list[str]:
        """Stacks for which there was no time."""
        return [stack for stack in self.begun if stack not in self.tried]

    @property
    def failed(self) -> dict[str, str]:
        """Stacks that could not be run, each with the error."""
        return {stack: measured.error for stack, measured in self.tried.items() if measured.error}


@dataclass
class SearchResult:
    """What a search came to."""

    requests: int
    """Of the whole workload."""
    candidates: frozenset[str]
    """The beginnings of the stacks that may be advised; the reference may be none of them."""
    unfit: dict[str, str]
    """Mappings that do not fit the device, each with the reason."""
    capacity: int
    """Of the device, in bytes."""
    whole: Measured | None = None
    """The reference on the whole searched part, to choose prefixes by; None if time was short."""
    unlike: list[str] = field(default_factory=list)
    """Stacks that do otherwise on the first prefix than on the whole, if time forced its use."""
    host_erases: float = float("inf")
    """How often the host's writes alone erase a block where the searched part is measured."""
    too_large: dict[str, float] = field(default_factory=dict)
    """Mappings whose least RAM is more than asked for, with that RAM in bytes."""
    rungs: list[Rung] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    """The stacks that were to be measured on the held-out part, the advised one first."""
    finalists: dict[str, Measured] = field(default_factory=dict)
    """What was run there."""
    seeds: int = 1
    """How many seeds measured the held-out part: those asked for, or one for want of time."""
    wear_policies: tuple[str, ...] = ()
    """The wear policies that were to be searched."""
    is_surveyed: bool = False
    """Whether every mapping was tried with half of the RAM and with all of it."""
    named_untried: list[str] = field(default_factory=list)
    """Of the stacks that were named those that were not tried with half of the RAM."""
    is_least_tried: bool = False
    """Whether every mapping was tried with the least RAM."""
    is_shared: bool = True
    """Whether the best was tried with its RAM shared otherwise between its caches and buffers."""
    is_turned: bool = True
    """Whether the best was tried with each other value of its words and switches."""
    is_out_of_trials: bool = False
    """Whether the trials ended before every mapping and wear policy was tried as planned."""
    survey_trials: int = 0
    """So many trials try all of them."""
    interrupted: bool = False
    dry: bool = False
    """Whether the proposals ended since none was new."""

    @property
    def mappings(self) -> list[str]:
        """The mappings that may be advised and have figures on some prefix."""
        stacks = {measured.stack for rung in self.rungs for measured in self.of(rung)}
        return [name for name in sorted(self.candidates) if any(is_of(stack, name) for stack in stacks)]

    @property
    def untried(self) -> list[str]:
        """The mappings that may be advised and of which no stack was run."""
        tried = {stack for rung in self.rungs for stack in rung.tried}
        return [name for name in sorted(self.candidates) if not any(is_of(stack, name) for stack in tried)]

    @property
    def untried_policies(self) -> list[str]:
        """The wear policies that were to be searched and of which no stack was run."""
        tried = {part.partition(":")[0] for rung in self.rungs for stack in rung.tried for part in stack.split("+")}
        return [name for name in self.wear_policies if name not in tried]

    @property
    def searched(self) -> int:
        """Requests of the part that was searched."""
        return prefixes(self.requests)[-1]

    @property
    def missed(self) -> list[str]:
        """Stacks that were to be run on the held-out part, and were not."""
        return [stack for stack in self.asked_for if stack not in self.finalists]

    @property
    def last(self) -> Rung:
        """The longest prefix with a candidate's figures that was mostly run; else the first.

        Mostly run: at least half of those that went on to it were run. Where time ended early on a
        prefix, those that were run there are a choice by the order of the runs.
        """
        most = (rung for rung in reversed(self.rungs) if 2 * len(rung.unfinished) <= len(rung.begun) and self.of(rung))
        return next(most, self.rungs[0])

    @property
    def was_cut(self) -> bool:
        """Whether the choice lacked the whole searched part: then only held-out figures tell."""
        return self.last.requests < self.searched

    def of(self, rung: Rung) -> list[Measured]:
        """The candidates that have figures on a prefix and take no more RAM than asked for."""
        return [
            measured
            for stack, measured in rung.tried.items()
            if measured.rows and stack not in rung.over and (stack != REFERENCE or REFERENCE in self.candidates)
        ]


def is_of(stack: str, head: str) -> bool:
    """Whether a stack is of these parts, each with at least these settings, in whatever order.

    What stands behind the parts asked for, such as a write buffer, may be anything.
    """
    parts, requested = stack.split("+"), head.split("+")
    return len(requested) <= len(parts) and all(map(_has_settings, parts, requested))


def _has_settings(part: str, requested: str) -> bool:
    """Whether a part of a stack is the one asked for, with its settings and maybe more."""
    name, *settings = part.split(":")
    wanted, *least = requested.split(":")
    return name == wanted and set(least) <= set(settings)


def prefixes(requests: int) -> list[int]:
    """The lengths of the prefixes, ascending; the last is the whole part that is searched."""
    if requests < LEAST_REQUESTS:
        raise UserError(
            f"the workload has {requests:,} requests, too few to search one part of them and measure on another: "
            f"give one with {LEAST_REQUESTS} or more, or compare layers yourself (ftlkit compare)."
        )
    lengths = [requests * SEARCHED[0] // SEARCHED[1]]
    while len(lengths) < MOST_PREFIXES and lengths[0] // SHARE >= LEAST_PREFIX:
        lengths.insert(0, lengths[0] // SHARE)
    return lengths
