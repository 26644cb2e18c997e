"""One last run, as long as the budget has time for: the advised stack and the reference go on.

Write amplification takes passes over the data to settle, and a life is forecast from four erases
per block, so the figures of a short run lie beside those of a drive in use. A generated workload
can go on for that. The second half of the longer run is measured, which no choice has seen.

Where a life was asked for, the advised stack goes on under each wear policy, too: only there is the
evenness of wear measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted, TimeIsUp
from ftlkit._util.stacks import mapping
from ftlkit.advice import phrasing
from ftlkit.advice.choice import NOTHING, is_tied_life, leading, named_settings
from ftlkit.advice.fitting import generated
from ftlkit.advice.mapping_units import is_within
from ftlkit.advice.measure import ratio
from ftlkit.advice.query import REFERENCE, Query
from ftlkit.advice.search_result import LastRun, SearchResult
from ftlkit.advice.space import with_policies
from ftlkit.api import catalogue
from ftlkit.report.drift import bounds, more_times
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.goals import TIMELESS

if TYPE_CHECKING:
    from ftlkit.advice.clock import Clock
    from ftlkit.advice.measure import Measured, Runner
    from ftlkit.sweeps.local import Local

SHARE = 0.1
"""The share of a budget that is kept for the last run."""
_TIMES = (2, 5, 10, 20)
"""How many times as many requests it has, coarsely, so that the store has it when asked again."""
_SAFE = 0.9
"""The share of the time left that it may take by the estimate; if it takes more, it is not told."""
_MEASURED = 2
"""The last of this many equal parts is measured."""
_LEAST_PACE = 0.1
"""The least of the estimate that a run took: less says that it was in the store."""
_NAMED = 2
"""Most wear policies to name."""


def may_go_on(query: Query) -> bool:
    """Whether there is a budget, a goal that settles, and a workload of which more can be had."""
    is_endless = generated(query.document()["workload"]) > 0
    return query.budget_s is not None and query.goal in TIMELESS and is_endless


def go_on(
    query: Query,
    result: SearchResult,
    advised: Measured,
    runner: Runner,
    executor: Local,
    clock: Clock,
    tell: Callable[[str], None],
) -> None:
    """Fill in the last run of a result, if the time is enough for the advised stack and `page`."""
    first = list(dict.fromkeys([advised.stack, *([REFERENCE] if REFERENCE in result.finalists else [])]))
    policies = [part["name"] for part in catalogue.parts() if part["kind"] == "wear policy"]
    others = with_policies(advised.stack, policies) if query.levels_wear and query.ftl is None else []
    erases = max(advised.rows[0]["erases_mean"] or 0.0, 1e-3)
    share = (result.requests - result.searched) / (result.requests / _MEASURED)
    needed = more_times(erases) * share if query.levels_wear else 0.0
    for stacks in ([*first, *others], [*first, *others[:2]], first):
        times = _affordable(_took_s(result, stacks, executor.checks), clock.left_s)
        if times >= needed:
            break
    took_s, done = _took_s(result, stacks, executor.checks), 0
    while times > done and not result.interrupted:
        began_s, done = time.monotonic(), times
        requests = times * result.requests
        tell(f"now {several(len(stacks), 'stack')} on {requests:,} requests")
        clock.limit(executor, 0.0)
        runs = _ran(runner.going_on(requests), result, stacks, requests - requests // _MEASURED)
        if not runs.keys() >= {*first}:
            return
        result.last_run = LastRun(requests, requests - requests // _MEASURED, runs)
        if _has_settled(query, runs[advised.stack]):
            return
        # By the pace of this run: the earlier ones had more beside them.
        pace = min(1.0, (time.monotonic() - began_s) / took_s(times))
        times = _affordable(took_s, clock.left_s / max(pace, _LEAST_PACE))


def _ran(runner: Runner, result: SearchResult, stacks: Sequence[str], skip: int) -> dict[str, Measured]:
    """Runs of stacks with figures, as far as there was time."""
    runs: dict[str, Measured] = {}
    try:
        with suppress(TimeIsUp):
            runs = runner.held_out(stacks, skip, 1)
    except Interrupted as stop:
        runs, result.interrupted = (stop.finished or {}), True
    return {stack: run for stack, run in runs.items() if run.rows and run.mean("write_amplification") is not None}


def _has_settled(query: Query, run: Measured) -> bool:
    """Whether a longer run would tell nothing else."""
    outcome = Outcome(json.loads(run.rows[0]["document"]))
    is_forecast = not query.levels_wear or run.mean("life_bytes") is not None
    return is_forecast and bounds(outcome, outcome.document["runs"][0]) is not None


def _took_s(result: SearchResult, stacks: Sequence[str], checks: int) -> Callable[[int], float]:
    """About how long a number of times as many requests take, by the runs on the held-out part."""
    known = [result.finalists.get(stack, result.finalists[stacks[0]]).rows[0] for stack in stacks]
    served = [row["measured_wall_s"] * result.requests / (result.requests - result.searched) for row in known]
    before = [max(0.0, row["wall_s"] - its) for row, its in zip(known, served, strict=True)]

    def took_s(times: int) -> float:
        each = [fixed + times * its for fixed, its in zip(before, served, strict=True)]
        return float(max(sum(each) / checks, *each))

    return took_s


def _affordable(took_s: Callable[[int], float], left_s: float) -> int:
    """How many times as many requests there is time for; or 0."""
    return next((times for times in reversed(_TIMES) if took_s(times) <= _SAFE * left_s), 0)


def chosen(query: Query, result: SearchResult, last: LastRun, best: Measured) -> Measured:
    """The best of the last run of the advised stack, it under wear policies, and a plain `page`.

    Of those that tie with the best the simplest. That is by lives where they count and are known.
    """
    aim = replace(query, goal="life") if query.levels_wear and is_forecast(result) else query
    others = [run for stack, run in last.runs.items() if mapping(stack) == mapping(best.stack) and is_within(aim, run)]
    first = leading(aim.metric, others) or last.runs[best.stack]

    def ties(run: Measured) -> bool:
        if aim.goal == "life":
            return is_tied_life(aim, first, run)
        return ratio(*(each.point([aim.metric]).costs[aim.metric] for each in (run, first))) < NOTHING

    return min(
        (run for run in (first, *others) if run is first or ties(run)), key=lambda run: named_settings(run.stack)
    )


def is_forecast(result: SearchResult) -> bool:
    """Whether all of the last run has lives."""
    last = result.last_run
    return last is not None and all(run.mean("life_bytes") is not None for run in last.runs.values())


def told(query: Query, last: LastRun, best: Measured) -> list[str]:
    """What the figures that are told are of, and what wear policies come to."""
    names = " and ".join(dict.fromkeys([best.stack, *([REFERENCE] if REFERENCE in last.runs else [])]))
    sentences = [
        (
            f"These figures are of a longer run: {last.requests - last.skip:,} requests after {last.skip:,}, with one "
            f"seed, of {names}. The table is of fewer."
        )
    ]
    policies = {stack: run for stack, run in last.runs.items() if stack not in (best.stack, REFERENCE)}
    lives = sorted(
        (run for run in policies.values() if run.mean("life_bytes") is not None),
        key=lambda run: -(run.mean("life_bytes") or 0.0),
    )
    if lives and query.levels_wear:
        named = " and ".join(f"{run.stack} ({phrasing.text('life_bytes', run)})" for run in lives[:_NAMED])
        sentences.append(f"The longest lives with other wear policies or none: {named}.")
    return sentences
