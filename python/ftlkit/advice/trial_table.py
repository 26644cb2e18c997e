"""What a search tried, as tables: what became of the stacks on each prefix, and of each mapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit.advice import halving
from ftlkit.advice.query import REFERENCE
from ftlkit.advice.search_result import is_of

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import Rung, SearchResult

HEADINGS = ("requests", "tried", "too much RAM", "failed", "beaten", "crowded out", "no time", "went on")


def rungs(result: SearchResult) -> list[list[str]]:
    """A row for each prefix: how many stacks were tried on it, and what became of them."""
    return [_rung(result, rung) for rung in result.rungs]


def _rung(result: SearchResult, rung: Rung) -> list[str]:
    halved = rung.halved
    over = [stack for stack in rung.over if stack != REFERENCE or REFERENCE in result.candidates]
    # The reference is run on each prefix, and so goes on, whoever else does.
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
    reason: str
    """Why no longer part followed, or that one did."""


def fates(query: Query, result: SearchResult) -> list[Fate]:
    """A row for each mapping that may be advised, the ones that do not fit the device last."""
    mappings = [_fate(query, result, name) for name in sorted(result.candidates)]
    mappings.sort(key=lambda fate: (-fate.requests, fate.name))
    mappings += [Fate(name, 0, 0, f"takes {units.size(ram)} of RAM or more") for name, ram in result.too_large.items()]
    return [*mappings, *(Fate(name, 0, 0, f"does not fit the device: {why}") for name, why in result.unfit.items())]


def _fate(query: Query, result: SearchResult, name: str) -> Fate:
    mine = {stack for rung in result.rungs for stack in rung.tried if is_of(stack, name)}
    reached = [rung for rung in result.rungs if any(stack in rung.tried for stack in mine)]
    if not reached:
        if result.interrupted:
            return Fate(name, 0, 0, "not tried: the search was stopped before")
        waiting = any(is_of(stack, name) for rung in result.rungs for stack in rung.unfinished)
        no_time = waiting or query.budget_s is not None
        return Fate(name, 0, 0, "not tried: there was no time" if no_time else "not tried: the trials ended before")
    rung = reached[-1]
    last = [result.finalists[stack] for stack in mine if stack in result.finalists]
    if last:
        return Fate(name, len(mine), result.requests, _held_out(last))
    return Fate(
        name, len(mine), rung.requests, _reason(query, result, rung, [stack for stack in mine if stack in rung.tried])
    )


def _held_out(stacks: list[Measured]) -> str:
    """What became of the stacks of a mapping that were run on the held-out part."""
    if any(measured.mean("response_mean_ns") is not None for measured in stacks):
        return "measured on the held-out part"
    failed = next((measured.error for measured in stacks if measured.error), "")
    return f"failed on the held-out part: {failed}" if failed else "nothing was measured on the held-out part"


def _reason(query: Query, result: SearchResult, rung: Rung, stacks: list[str]) -> str:
    good = [stack for stack in stacks if rung.tried[stack].rows and stack not in rung.over]
    if not good:
        return _nothing(rung, stacks)
    halved = rung.halved
    if halved is None:
        return "the search ended here"
    if any(stack not in (*halved.beaten, *halved.crowded) for stack in good):
        return "the search was stopped before it went on" if result.interrupted else "there was no time to go on"
    if any(stack in halved.crowded for stack in good):
        return "its neighbours on the front do almost as well"
    nearest = min(good, key=lambda stack: (halved.beaten[stack], stack))
    points = [measured.point([query.response]) for measured in result.of(rung)]
    slower = halving.distance(rung.tried[nearest].point([query.response]), points, query.response)
    if slower <= 1:
        return f"another takes less RAM and does as well ({nearest})"
    return f"beaten: {nearest} has {units.factor(slower)} the response of another with no more RAM"


def _nothing(rung: Rung, stacks: list[str]) -> str:
    """Why no stack of a mapping can be advised."""
    over = {stack: rung.over[stack] for stack in stacks if stack in rung.over}
    if not over:
        return f"failed: {rung.tried[min(stacks)].error}"
    stack, ram = min(over.items(), key=lambda pair: pair[1])
    return f"takes {units.size(ram)} of RAM or more ({stack})"
