"""Whether a search ended too early: what was not done that could have changed the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._util.lookup import several
from ftlkit.advice.halving import MARGIN
from ftlkit.advice.query import RAM_SLACK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import Rung, SearchResult


def shortage(query: Query, result: SearchResult, best: Measured, *, is_held_out: bool) -> str:
    """Why the search cannot say which stack to take; empty if what is missing cannot change it.

    Only time and Ctrl-C leave something out that was to be done; a number of trials was asked for.
    """
    if query.budget_s is None and not result.interrupted:
        return ""
    reasons = (
        _mappings(query, result),
        "" if result.is_surveyed else "not every mapping was tried with all of the RAM",
        _policies(result),
        "" if is_held_out else "nothing was measured on the part that was held out",
        "" if query.goal != "ram" or result.is_least_tried else "not every mapping was tried with the least RAM",
        _sifted(result),
        "" if result.is_shared else "not every way to share the RAM between caches and buffers was tried",
        _not_gone_on(query, result, best),
        _missed(query, result, best),
    )
    return next((reason for reason in reasons if reason), "")


def _mappings(query: Query, result: SearchResult) -> str:
    tried, all_ = len(result.candidates) - len(result.untried), len(result.candidates)
    if tried == all_:
        return ""
    more = ""
    # A search that was stopped has not spent its budget, which so says nothing of its pace.
    if query.budget_s is not None and tried and not result.interrupted:
        more = f"; at this pace all take about --budget {query.budget_s * -(-all_ // tried):g}s"
    return f"{tried} of {all_} mappings were tried{more}"


def _policies(result: SearchResult) -> str:
    tried, all_ = len(result.wear_policies) - len(result.untried_policies), len(result.wear_policies)
    if tried == all_:
        return ""
    return f"{tried} of {all_} wear policies were tried" if tried else "no wear policy was tried"


def _sifted(result: SearchResult) -> str:
    """Whether stacks were left out by a prefix that is unlike the whole, or may be."""
    first = result.rungs[0]
    if first.requests == result.searched:
        return ""
    sifted = f"stacks were sifted by the first {first.requests:,} requests"
    if result.whole is None:
        return f"{sifted}, and it was not seen whether these are like the whole"
    return f"{sifted}, which are not like the whole" if result.unlike else ""


def _not_gone_on(query: Query, result: SearchResult, best: Measured) -> str:
    """Whether one that could be the best was not run on a longer prefix."""
    dropped = {
        stack
        for rung, longer in zip(result.rungs, [*result.rungs[1:], None], strict=True)
        for stack in [*(rung.halved.late if rung.halved else []), *(longer.unfinished if longer else [])]
        if _may_be_best(query, result, rung, stack, best)
    }
    return f"{several(len(dropped), 'stack')} that did well on a prefix did not go on" if dropped else ""


def _missed(query: Query, result: SearchResult, best: Measured) -> str:
    """Whether one that could be the best was not measured on the held-out part."""
    candidates = [stack for stack in result.missed if _may_be_best(query, result, result.last, stack, best)]
    if not candidates:
        return ""
    were = "was" if len(candidates) == 1 else "were"
    return (
        f"{len(candidates)} of {several(len(result.asked_for), 'stack')} that may be as good {were} not measured on "
        "the part that was held out"
    )


def _may_be_best(query: Query, result: SearchResult, rung: Rung, stack: str, best: Measured) -> bool:
    """Whether a stack's cost on a prefix is near enough to the best there to be best elsewhere."""
    metric, measured = query.metric, rung.tried.get(stack)
    if measured is None or stack in rung.over or stack == best.stack or stack not in _candidates(result, rung):
        return False
    costs = measured.point([metric]).costs
    advised = rung.tried.get(best.stack)
    least = min(_costs([advised] if advised else result.of(rung), metric), default=float("inf"))
    slack = 1 + RAM_SLACK if query.goal == "ram" else 1.0
    is_behind = measured.is_behind and not best.is_behind
    return metric in costs and costs[metric] <= slack * MARGIN * least and not is_behind


def _candidates(result: SearchResult, rung: Rung) -> set[str]:
    return {measured.stack for measured in result.of(rung)}


def _costs(stacks: Iterable[Measured], metric: str) -> list[float]:
    return [costs[metric] for measured in stacks if metric in (costs := measured.point([metric]).costs)]
