"""What a search comes to: what was tried on each prefix, and measured on the held-out part.

As tables, too: what became of the stacks on each prefix, and of each mapping.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit.advice.measure import Measured, Point, distance
from ftlkit.advice.query import REFERENCE, Query

SEARCHED = (2, 3)
"""The part of the workload that is searched; the rest is held out."""
SHARE = 3
"""One stack in this many goes on to the next prefix, which is longer by this factor."""
LEAST_PREFIX, LEAST_REQUESTS = 5_000, 90
"""Requests of the shortest prefix of a long workload; of the shortest workload that is divided."""
MOST_PREFIXES = 5
FEW = 10_000
"""Requests of a workload that are served where a budget is too short for a search."""

HEADINGS = ("requests", "tried", "too much RAM", "failed", "beaten", "crowded out", "no time", "went on")
"""What `rungs` tells of each prefix."""


@dataclass(frozen=True)
class Halved:
    """Who goes on, and why the others do not."""

    kept: list[Point]
    """Those on fronts first, then by distance."""
    beaten: dict[str, float]
    """Stacks that another beats, each with its distance from the nearest front."""
    crowded: list[str]
    """Stacks on a front that do not go on: they were too many, or another fills their place."""
    late: list[str] = field(default_factory=list)
    """Stacks that would have gone on, had there been time."""


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

    def note(self, measured: Mapping[str, Measured], most_bytes: int | None) -> None:
        """Take runs of stacks, which may take no more RAM than that."""
        self.tried |= measured
        for stack, run in measured.items():
            ram = run.mean("ram_bytes")
            if most_bytes is not None and ram is not None and ram > most_bytes:
                self.over[stack] = ram

    @property
    def span(self) -> str:
        """The prefix in words."""
        return f"the first {self.requests:,} requests"

    @property
    def unfinished(self) -> list[str]:
        """Stacks for which there was no time."""
        return [stack for stack in self.begun if stack not in self.tried]

    @property
    def failed(self) -> dict[str, str]:
        """Stacks that could not be run, each with the error."""
        return {stack: measured.error for stack, measured in self.tried.items() if measured.error}


@dataclass(eq=False)
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
    """Stacks on the searched part."""
    told: dict[str, Measured] = field(default_factory=dict)
    """Stacks on the part that figures are told of, with one seed: the advised one first."""


@dataclass(frozen=True)
class LastRun:
    """Stacks over more requests than were searched, with one seed."""

    requests: int
    skip: int
    """Of these, those before the measured part."""
    runs: dict[str, Measured]
    """The advised stack and the reference, and for a life the former under wear policies."""


VOLATILE = "keeps written data in RAM, so a power cut loses unflushed writes"
"""Why a stack is not durable."""
SLICED = "keeps written data in RAM, of which a slice has a larger share than the drive would"
"""Why a stack is not tried on a slice: what it absorbs of the writes would come out too much."""
TOO_LARGE = "takes too much RAM"
"""Why a mapping was not tried, before how much it takes."""


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
    is_slice: bool = False
    """Whether a slice stands for the device."""
    touched_bytes: int = 0
    """What the workload touches of it; 0 if that is not known."""
    flushes: int = 0
    """Of the whole workload."""
    cores: int = 1
    """Runs at once."""
    whole: Measured | None = None
    """The reference on the whole searched part, to choose prefixes by; None if time was short."""
    unlike: list[str] = field(default_factory=list)
    """Stacks that do otherwise on the first prefix than on the whole, if time forced its use."""
    host_erases: float = float("inf")
    """How often the host's writes alone erase a block where the searched part is measured."""
    too_large: dict[str, float] = field(default_factory=dict)
    """Mappings whose least RAM is more than asked for, with that RAM in bytes."""
    defaults: tuple[str, ...] = ()
    """The stacks as they are by default that take no more RAM than asked for, or than `page`."""
    required: list[str] = field(default_factory=list)
    """Stacks that any choice has to be held against on the held-out part."""
    lengths: list[int] = field(default_factory=list)
    """Requests of each prefix, ascending; the last is the whole searched part."""
    rungs: list[Rung] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    """The stacks that were to be measured on the held-out part, the advised one first."""
    finalists: dict[str, Measured] = field(default_factory=dict)
    """What was run there."""
    seeds: int = 1
    """How many seeds measured the held-out part: those asked for, or one for want of time."""
    units: list[UnitTrial] = field(default_factory=list)
    """What stacks come to with each mapping unit; none where the device does not name its own."""
    last_run: LastRun | None = None
    """The advised stack and the reference going on, if there was time."""
    wear_policies: tuple[str, ...] = ()
    """The wear policies that were to be searched."""
    is_held_out_first: bool = False
    """Whether the defaults were measured there before anything was searched, for want of time."""
    is_surveyed: bool = False
    """Whether every mapping was tried with half of the RAM and with all of it."""
    named_untried: list[str] = field(default_factory=list)
    """Of the stacks that were named those that were not tried with half of the RAM."""
    is_least_tried: bool = False
    """Whether every mapping was tried with the least RAM."""
    is_shared: bool = True
    """Whether the best was tried with its RAM shared otherwise between its caches and buffers."""
    is_rivalled: bool = True
    """Whether the reference behind a write buffer was tried with as much RAM as the best."""
    is_turned: bool = True
    """Whether the best was tried with each other value of its words and switches."""
    is_out_of_trials: bool = False
    """Whether the trials ended before every mapping and wear policy was tried as planned."""
    survey_trials: int = 0
    """Number of trials that try all of them."""
    interrupted: bool = False
    dry: bool = False
    """Whether the proposals ended since none was new."""

    @property
    def mappings(self) -> list[str]:
        """The mappings that may be advised and have figures on some prefix."""
        stacks = {measured.stack for rung in self.rungs for measured in self.of(rung)}
        return [name for name in sorted(self.candidates) if any(is_of(stack, name) for stack in stacks)]

    @property
    def tried(self) -> set[str]:
        """All stacks that were run, on a prefix or on the held-out part."""
        return {stack for rung in self.rungs for stack in rung.tried} | self.finalists.keys()

    @property
    def untried(self) -> list[str]:
        """The mappings that may be advised and of which no stack was run."""
        return [name for name in sorted(self.candidates) if not any(is_of(stack, name) for stack in self.tried)]

    @property
    def untried_policies(self) -> list[str]:
        """The wear policies that were to be searched and of which no stack was run."""
        tried = {part.partition(":")[0] for rung in self.rungs for stack in rung.tried for part in stack.split("+")}
        return [name for name in self.wear_policies if name not in tried]

    @property
    def searched(self) -> int:
        """Requests of the searched part."""
        return prefix_lengths(self.requests)[-1]

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

    def known(self, stack: str) -> tuple[Rung, Measured] | None:
        """The longest prefix on which a stack has figures, with these; None if it has none."""
        rungs = (rung for rung in reversed(self.rungs) if stack in rung.tried and rung.tried[stack].rows)
        return next(((rung, rung.tried[stack]) for rung in rungs), None)

    def of(self, rung: Rung) -> list[Measured]:
        """The candidates that have figures on a prefix and take no more RAM than asked for."""
        return [
            measured
            for stack, measured in rung.tried.items()
            if measured.rows and stack not in rung.over and (stack != REFERENCE or REFERENCE in self.candidates)
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
    """The lengths of the prefixes, ascending; the last is the whole searched part."""
    if requests < LEAST_REQUESTS:
        raise UserError(
            f"the workload has {requests:,} requests, too few to search one part of them and measure on another: "
            f"give one with {LEAST_REQUESTS} or more, or compare layers yourself (ftlkit compare)."
        )
    lengths = [requests * SEARCHED[0] // SEARCHED[1]]
    while len(lengths) < MOST_PREFIXES and lengths[0] // SHARE >= LEAST_PREFIX:
        lengths.insert(0, lengths[0] // SHARE)
    return lengths


def rungs(result: SearchResult) -> list[list[str]]:
    """A row for each prefix: how many stacks were tried on it, and what became of them."""
    return [_rung(result, rung) for rung in result.rungs]


def _rung(result: SearchResult, rung: Rung) -> list[str]:
    halved = rung.halved
    over = [stack for stack in rung.over if stack != REFERENCE or REFERENCE in result.candidates]
    # The reference runs on each prefix, so it always goes on.
    gone = {point.stack for point in halved.kept} if halved else set()
    unaccounted = (
        {*rung.tried} - {*over, *rung.failed, *halved.beaten, *halved.crowded, *halved.late} - gone if halved else set()
    )
    later = gone | (unaccounted & {REFERENCE})
    waiting = unaccounted - later
    numbers = [
        rung.requests,
        len(rung.tried),
        len(over),
        len(rung.failed),
        len(halved.beaten) if halved else 0,
        len(halved.crowded) if halved else 0,
        len(rung.unfinished) + len(waiting) + (len(halved.late) if halved else 0),
        len(later),
    ]
    return [units.count(number) for number in numbers]


@dataclass(frozen=True)
class Fate:
    """What became of a mapping."""

    name: str
    stacks: int
    """How many stacks of it were tried."""
    requests: int
    """The longest prefix that one of them was run on."""
    common: str
    """Why no longer part followed, or that one did, as it may be of several mappings."""
    own: str = ""
    """What of it is this mapping's alone."""

    @property
    def reason(self) -> str:
        """Both."""
        return f"{self.common}{self.own and f': {self.own}'}"


def by_reason(fates: Sequence[Fate]) -> list[str]:
    """A line for each reason with its mappings, and how many stacks of each were tried.

    Reasons that differ in numbers alone share a line, with those of the first mapping.
    """
    alike: dict[str, list[Fate]] = {}
    for fate in fates:
        alike.setdefault(re.sub(r"\d+", "", fate.common), []).append(fate)
    lines = []
    for first, *others in alike.values():
        figures = f" (figures of {first.name})" if any(fate.common != first.common for fate in others) else ""
        names = (f"{fate.name}{_aside(fate)}" for fate in (first, *others))
        lines.append(f"{first.common[0].upper()}{first.common[1:]}{figures}: {', '.join(names)}.")
    return lines


def _aside(fate: Fate) -> str:
    """How many stacks were tried, and what is the mapping's own, in brackets."""
    told = [units.count(fate.stacks)] if fate.stacks else []
    told += [fate.own.rstrip(".")] if fate.own else []
    return f" ({', '.join(told)})" if told else ""


def fates(query: Query, result: SearchResult) -> list[Fate]:
    """A row for each mapping that may be advised, the ones that do not fit the device last."""
    mappings = [_fate(query, result, name) for name in sorted(result.candidates)]
    mappings.sort(key=lambda fate: (-fate.requests, fate.name))
    mappings += [Fate(name, 0, 0, TOO_LARGE, f"{units.size(ram)} or more") for name, ram in result.too_large.items()]
    unfit = {name: why.removeprefix(f'ftl "{name}": {name} ').rstrip(".") for name, why in result.unfit.items()}
    return mappings + [
        Fate(name, 0, 0, why if why in (VOLATILE, SLICED) else f"does not fit the device: {why}")
        for name, why in unfit.items()
    ]


def tally(result: SearchResult) -> str:
    """How many mappings and stacks there were at each step, from all to the measured ones."""
    candidates, tried = len(result.candidates), len(result.candidates) - len(result.untried)
    return (
        f"Of {several(candidates + len(result.too_large) + len(result.unfit), 'mapping')}, {candidates} may be advised "
        f"and {tried} were tried, as {several(len(result.tried), 'stack')} with different parameters and parts. "
        f"The held-out part measured {several(len(result.finalists), 'stack')}."
    )


def _fate(query: Query, result: SearchResult, name: str) -> Fate:
    mine = {stack for stack in result.tried if is_of(stack, name)}
    last = [result.finalists[stack] for stack in mine if stack in result.finalists]
    if last:
        return Fate(name, len(mine), result.requests, *_held_out(last))
    reached = [rung for rung in result.rungs if any(stack in rung.tried for stack in mine)]
    if not reached:
        if result.interrupted:
            return Fate(name, 0, 0, "not tried, since the search was stopped before")
        waiting = any(is_of(stack, name) for rung in result.rungs for stack in rung.unfinished)
        no_time = waiting or query.budget_s is not None
        return Fate(
            name, 0, 0, "not tried, since there was no time" if no_time else "not tried, since the trials ended before"
        )
    rung = reached[-1]
    return Fate(
        name, len(mine), rung.requests, *_reason(query, result, rung, [stack for stack in mine if stack in rung.tried])
    )


def _held_out(stacks: list[Measured]) -> list[str]:
    """What became of the stacks of a mapping that were run on the held-out part."""
    if any(measured.rows and all(row["requests"] for row in measured.rows) for measured in stacks):
        return ["measured on the held-out part"]
    failed = next((measured.error for measured in stacks if measured.error), "")
    return ["failed on the held-out part", failed] if failed else ["nothing was measured on the held-out part"]


def _reason(query: Query, result: SearchResult, rung: Rung, stacks: list[str]) -> list[str]:
    """Why the stacks of a mapping did not go on, in common with others, then of this one alone."""
    good = [stack for stack in stacks if rung.tried[stack].rows and stack not in rung.over]
    if not good:
        return _nothing(rung, stacks)
    halved = rung.halved
    if halved is None:
        return ["the search ended here"]
    if any(stack not in (*halved.beaten, *halved.crowded) for stack in good):
        return ["the search was stopped before it went on" if result.interrupted else "there was no time to go on"]
    if any(stack in halved.crowded for stack in good):
        return ["its neighbours on the front do almost as well"]
    nearest = min(good, key=lambda stack: (halved.beaten[stack], stack))
    points = [measured.point([query.response]) for measured in result.of(rung)]
    slower = distance(rung.tried[nearest].point([query.response]), points, query.response)
    if slower <= 1:
        return ["another takes less RAM and does as well", nearest]
    figure = "response" if query.keeps_time else "write amplification"
    return [f"beaten in {figure} with no more RAM", f"{nearest} {units.factor(slower)}"]


def _nothing(rung: Rung, stacks: list[str]) -> list[str]:
    """Why no stack of a mapping can be advised."""
    over = {stack: rung.over[stack] for stack in stacks if stack in rung.over}
    if not over:
        return ["failed", rung.tried[min(stacks)].error]
    stack, ram = min(over.items(), key=lambda pair: pair[1])
    return [TOO_LARGE, f"{units.size(ram)} or more, {stack}"]
