"""What a search comes to: what was tried on the searched part, and measured on the held-out part.

As tables, too: what became of the stacks, and of each mapping.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit.advice.measure import distance
from ftlkit.advice.query import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.advice.measure import Measured, Point
    from ftlkit.advice.query import Query

SEARCHED = (2, 3)
"""The part of the workload that is searched; the rest is held out."""
SHARE = 3
"""A prefix is so many times as long as the next shorter one."""
LEAST_PREFIX, LEAST_REQUESTS = 5_000, 90
"""Requests of the shortest prefix of a long workload; of the shortest workload that is divided."""
MOST_PREFIXES = 5

HEADINGS = ("requests", "tried", "too much RAM", "failed", "no time", "beaten", "went on")
"""What `tried_rows` tells of a part."""


@dataclass
class Rung:
    """What was tried on one part: a prefix of the searched one, or what is held out."""

    requests: int
    precondition: str = ""
    """How the device was prepared, if not as asked."""
    tried: dict[str, Measured] = field(default_factory=dict)
    over: dict[str, float] = field(default_factory=dict)
    """Stacks that take more RAM than asked for, with what they take."""
    begun: dict[str, None] = field(default_factory=dict)
    """Stacks that were to be run, in order."""
    is_held_out: bool = False

    @property
    def span(self) -> str:
        """The part in words."""
        return "the requests that were held out" if self.is_held_out else f"the first {self.requests:,} requests"

    @property
    def unfinished(self) -> list[str]:
        """Stacks for which there was no time."""
        return [stack for stack in self.begun if stack not in self.tried]

    @property
    def failed(self) -> dict[str, str]:
        """Stacks that could not be run, each with the error."""
        return {stack: measured.error for stack, measured in self.tried.items() if measured.error}


@dataclass
class UnitTrial:
    """What was found of one mapping unit."""

    unit_bytes: int
    is_own: bool = False
    """Whether it is the device's own, with which all of the search was made."""
    refusal: str = ""
    """Why the advised stack cannot be on the device with this unit."""
    per_tb: dict[str, float] = field(default_factory=dict)
    """By how many bytes the RAM of stacks grows with each TB of the drive, where that is known."""
    searched: dict[str, Measured] = field(default_factory=dict)
    """Stacks on the part that was searched."""
    told: dict[str, Measured] = field(default_factory=dict)
    """Stacks on the part that figures are told of, with one seed: the advised one first."""


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
    touched_bytes: int = 0
    """What the workload touches of it; 0 if that is not known."""
    cores: int = 1
    """Runs at once."""
    whole: Measured | None = None
    """The reference on the whole searched part, to choose prefixes by; None if time was short."""
    unlike: list[str] = field(default_factory=list)
    """Stacks that do otherwise on the prefix than on the whole, if time forced its use."""
    host_erases: float = float("inf")
    """How often the host's writes alone erase a block where the searched part is measured."""
    too_large: dict[str, float] = field(default_factory=dict)
    """Mappings whose least RAM is more than asked for, with that RAM in bytes."""
    defaults: tuple[str, ...] = ()
    """The stacks as they are by default that take no more RAM than asked for."""
    required: list[str] = field(default_factory=list)
    """Stacks that any choice has to be held against on the held-out part."""
    lengths: list[int] = field(default_factory=list)
    """Requests of each prefix, ascending; the last is the whole part that is searched."""
    rung: Rung | None = None
    """The prefix of the searched part on which stacks were tried; None before any was."""
    asked_for: list[str] = field(default_factory=list)
    """The stacks that were to be measured on the held-out part, the advised one first."""
    finalists: dict[str, Measured] = field(default_factory=dict)
    """What was run there."""
    seeds: int = 1
    """How many seeds measured the held-out part: those asked for, or one for want of time."""
    units: list[UnitTrial] = field(default_factory=list)
    """What stacks come to with each mapping unit; none where the device does not name its own."""
    wear_policies: tuple[str, ...] = ()
    """The wear policies that were to be searched."""
    is_held_out_first: bool = False
    """Whether all was tried on the held-out part at once, for want of time."""
    is_surveyed: bool = False
    """Whether every mapping was tried as it is by default and with all of the RAM."""
    named_untried: list[str] = field(default_factory=list)
    """Of the stacks that were named those that were not tried."""
    is_least_tried: bool = False
    """Whether every mapping was tried with the least RAM."""
    is_near_tried: bool = True
    """Whether all that differs from the best in one thing was tried."""
    is_out_of_trials: bool = False
    """Whether the trials ended before every mapping and wear policy was tried as planned."""
    survey_trials: int = 0
    """So many trials try all of them."""
    interrupted: bool = False
    dry: bool = False
    """Whether the search ended since nothing near the best was new."""

    @property
    def last(self) -> Rung:
        """The prefix on which stacks were tried."""
        return self.rung or Rung(self.searched)

    @property
    def tried(self) -> set[str]:
        """All stacks that were run, on the searched part or on the held-out one."""
        return {*self.last.tried, *self.finalists}

    @property
    def untried(self) -> list[str]:
        """The mappings that may be advised and of which no stack was run."""
        return [name for name in sorted(self.candidates) if not any(is_of(stack, name) for stack in self.tried)]

    @property
    def untried_policies(self) -> list[str]:
        """The wear policies that were to be searched and of which no stack was run."""
        tried = {part.partition(":")[0] for stack in self.tried for part in stack.split("+")}
        return [name for name in self.wear_policies if name not in tried]

    @property
    def searched(self) -> int:
        """Requests of the part that was searched."""
        return prefix_lengths(self.requests)[-1]

    @property
    def missed(self) -> list[str]:
        """Stacks that were to be run on the held-out part, and were not."""
        return [stack for stack in self.asked_for if stack not in self.finalists]

    @property
    def was_cut(self) -> bool:
        """Whether stacks were tried on less than the whole searched part."""
        return self.last.requests < self.searched

    def may_be_advised(self, stack: str) -> bool:
        """Whether a stack was searched for; the reference may only be there for comparison."""
        return stack != REFERENCE or REFERENCE in self.candidates

    def of(self, rung: Rung) -> list[Measured]:
        """The candidates that have figures on a part and take no more RAM than asked for."""
        return [
            measured
            for stack, measured in rung.tried.items()
            if measured.rows and stack not in rung.over and self.may_be_advised(stack)
        ]

    def points(self, rung: Rung, metrics: Sequence[str]) -> list[Point]:
        """What these candidates take and cost, by some metrics."""
        return [measured.point(metrics) for measured in self.of(rung)]


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


def prefix_lengths(requests: int) -> list[int]:
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


def tried_rows(result: SearchResult) -> list[list[str]]:
    """How many stacks were tried on the searched part, and what became of them, as rows."""
    rung = result.last
    over = [stack for stack in rung.over if result.may_be_advised(stack)]
    # The reference is run on each part, whoever else is.
    went = [stack for stack in rung.tried if stack in result.asked_for and stack not in over]
    late = [stack for stack in went if stack in result.missed]
    beaten = {*rung.tried} - {*over, *rung.failed, *went}
    numbers = [
        rung.requests,
        len(rung.tried),
        len(over),
        len(rung.failed.keys() - {*went}),
        len(rung.unfinished) + len(late),
        len(beaten),
        len(went) - len(late),
    ]
    return [[units.count(number) for number in numbers]]


@dataclass(frozen=True)
class Fate:
    """What became of a mapping."""

    name: str
    stacks: int
    """How many stacks of it were tried."""
    requests: int
    """The longest prefix that one of them was run on."""
    reason: str
    """Why no longer part followed, or that one did."""


def fates(query: Query, result: SearchResult) -> list[Fate]:
    """A row for each mapping that may be advised, the ones that do not fit the device last."""
    mappings = [_fate(query, result, name) for name in sorted(result.candidates)]
    mappings.sort(key=lambda fate: (-fate.requests, fate.name))
    mappings += [Fate(name, 0, 0, f"takes {units.size(ram)} of RAM or more") for name, ram in result.too_large.items()]
    return [*mappings, *(Fate(name, 0, 0, f"does not fit the device: {why}") for name, why in result.unfit.items())]


def _fate(query: Query, result: SearchResult, name: str) -> Fate:
    mine = {stack for stack in result.tried if is_of(stack, name)}
    last = [result.finalists[stack] for stack in mine if stack in result.finalists]
    if last:
        return Fate(name, len(mine), result.requests, _held_out(last))
    if not mine:
        if result.interrupted:
            return Fate(name, 0, 0, "not tried: the search was stopped before")
        waiting = any(is_of(stack, name) for stack in result.last.unfinished)
        no_time = waiting or query.budget_s is not None
        return Fate(name, 0, 0, "not tried: there was no time" if no_time else "not tried: the trials ended before")
    return Fate(name, len(mine), result.last.requests, _reason(query, result, sorted(mine)))


def _held_out(stacks: list[Measured]) -> str:
    """What became of the stacks of a mapping that were run on the held-out part."""
    if any(measured.mean("response_mean_ns") is not None for measured in stacks):
        return "measured on the held-out part"
    failed = next((measured.error for measured in stacks if measured.error), "")
    return f"failed on the held-out part: {failed}" if failed else "nothing was measured on the held-out part"


def _reason(query: Query, result: SearchResult, stacks: list[str]) -> str:
    rung = result.last
    good = [stack for stack in stacks if rung.tried[stack].rows and stack not in rung.over]
    if not good:
        return _nothing(rung, stacks)
    if any(stack in result.missed for stack in good) or not result.asked_for:
        return "the search was stopped before it went on" if result.interrupted else "there was no time to go on"
    points = [measured.point([query.response]) for measured in result.of(rung)]
    far = {stack: distance(rung.tried[stack].point([query.response]), points, query.response) for stack in good}
    nearest = min(good, key=lambda stack: (far[stack], stack))
    if far[nearest] <= 1:
        return f"another takes less RAM and does as well ({nearest})"
    return f"beaten: {nearest} has {units.factor(far[nearest])} the response of another with no more RAM"


def _nothing(rung: Rung, stacks: list[str]) -> str:
    """Why no stack of a mapping can be advised."""
    over = {stack: rung.over[stack] for stack in stacks if stack in rung.over}
    if not over:
        return f"failed: {rung.tried[min(stacks)].error}"
    stack, ram = min(over.items(), key=lambda pair: pair[1])
    return f"takes {units.size(ram)} of RAM or more ({stack})"
