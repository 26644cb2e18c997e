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
    from ftlkit.advice.query import Asked
    from ftlkit.advice.search_result import Found, Rung

HEADINGS = ("requests", "tried", "too much RAM", "failed", "beaten", "crowded out", "no time", "went on")


def rungs(found: Found) -> list[list[str]]:
    """A row for each prefix: how many stacks were tried on it, and what became of them."""
    return [_rung(found, rung) for rung in found.rungs]


def _rung(found: Found, rung: Rung) -> list[str]:
    halved = rung.halved
    over = [stack for stack in rung.over if stack != REFERENCE or REFERENCE in found.candidates]
    numbers = [
        rung.requests,
        len(rung.tried),
        len(over),
        len(rung.failed),
        len(halved.beaten) if halved else 0,
        len(halved.crowded) if halved else 0,
        len(rung.unfinished) + (len(halved.late) if halved else 0),
        len(halved.kept) if halved else 0,
    ]
    return [units.count(each) for each in numbers]


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


def fates(asked: Asked, found: Found) -> list[Fate]:
    """A row for each mapping that may be advised, the ones that do not fit the device last."""
    told = [_fate(asked, found, name) for name in sorted(found.candidates)]
    told.sort(key=lambda fate: (-fate.requests, fate.name))
    told += [Fate(name, 0, 0, f"takes {units.size(ram)} of RAM or more") for name, ram in found.too_large.items()]
    return [*told, *(Fate(name, 0, 0, f"does not fit the device: {why}") for name, why in found.unfit.items())]


def _fate(asked: Asked, found: Found, name: str) -> Fate:
    mine = {stack for rung in found.rungs for stack in rung.tried if is_of(stack, name)}
    reached = [rung for rung in found.rungs if any(stack in rung.tried for stack in mine)]
    if not reached:
        waiting = any(is_of(stack, name) for rung in found.rungs for stack in rung.unfinished)
        no_time = waiting or asked.budget_s is not None
        return Fate(name, 0, 0, "not tried: there was no time" if no_time else "not tried: the trials ended before")
    rung = reached[-1]
    last = [found.finalists[stack] for stack in mine if stack in found.finalists]
    if last:
        return Fate(name, len(mine), found.requests, _held_out(last))
    return Fate(
        name, len(mine), rung.requests, _reason(asked, found, rung, [each for each in mine if each in rung.tried])
    )


def _held_out(stacks: list[Measured]) -> str:
    """What became of the stacks of a mapping that were run on the held-out part."""
    if any(each.mean("response_mean_ns") is not None for each in stacks):
        return "measured on the held-out part"
    failed = next((each.error for each in stacks if each.error), "")
    return f"failed on the held-out part: {failed}" if failed else "nothing was measured on the held-out part"


def _reason(asked: Asked, found: Found, rung: Rung, stacks: list[str]) -> str:
    good = [stack for stack in stacks if rung.tried[stack].rows and stack not in rung.over]
    if not good:
        return _nothing(rung, stacks)
    halved = rung.halved
    if halved is None:
        return "the search ended here"
    if any(stack not in (*halved.beaten, *halved.crowded) for stack in good):
        return "there was no time to go on"
    if any(stack in halved.crowded for stack in good):
        return "its neighbours on the front do almost as well"
    nearest = min(good, key=lambda stack: (halved.beaten[stack], stack))
    points = [each.point([asked.response]) for each in found.of(rung)]
    slower = halving.distance(rung.tried[nearest].point([asked.response]), points, asked.response)
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
