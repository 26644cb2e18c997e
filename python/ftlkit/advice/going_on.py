"""One last run, as long as the budget has time for: the advised stack and the reference go on.

The advised stack goes on with other mapping units, too, which are compared by settled runs alone.

Write amplification takes passes over the data to settle, and a life is forecast from four erases
per block, so the figures of a short run lie beside those of a drive in use. A generated workload
can go on for that. The second half of the longer run is measured, which no choice has seen.

Where a life was asked for, the advised stack goes on under each wear policy, too: only there is the
evenness of wear measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted, TimeIsUp
from ftlkit._util.stacks import mapping
from ftlkit.advice import phrasing
from ftlkit.advice.choice import NOTHING, is_tied_life, leading, named_settings
from ftlkit.advice.fitting import generated
from ftlkit.advice.mapping_units import best_first, is_settled, is_within
from ftlkit.advice.measure import ratio
from ftlkit.advice.query import REFERENCE, Query
from ftlkit.advice.search_result import LastRun, SearchResult
from ftlkit.advice.space import with_policies
from ftlkit.api import catalogue
from ftlkit.report.drift import more_times, passes
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.goals import TIMELESS

if TYPE_CHECKING:
    from ftlkit.advice.clock import Clock
    from ftlkit.advice.measure import Measured, Runner
    from ftlkit.sweeps.local import Local

SHARE = 0.1
"""The share of a budget that is kept for the last run."""
_TIMES = (2, 5, 10, 20, 50, 100, 200, 500)
"""How many times as many requests it has, coarsely, so that the store has it when asked again."""
_USUAL = 20
"""The most of these before it is known how many have not settled."""
_OWN = 0
"""Stands for the device's own mapping unit."""
_SAFE = 0.8
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


class GoingOn:
    """Makes runs over more and more requests, while there is time, until they have settled."""

    def __init__(
        self,
        query: Query,
        result: SearchResult,
        runner: Runner,
        executor: Local,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._query, self._result, self._runner = query, result, runner
        self._executor, self._clock, self._tell = executor, clock, tell
        self._advised: dict[str, Measured] = {}

    def run(self, advised: Measured) -> None:
        """Fill in the last run of a result, if the time is enough for the advised stack and `page`.

        With other units runs go on beside it, if there is time for them to settle: for all of them,
        or for the nearest ones of those that were asked for.
        """
        query, self._advised = self._query, {advised.stack: advised}
        first = list(dict.fromkeys([advised.stack, *([REFERENCE] if REFERENCE in self._held_out() else [])]))
        policies = [part["name"] for part in catalogue.parts() if part["kind"] == "wear policy"]
        others = with_policies(advised.stack, policies) if query.levels_wear and query.ftl is None else []
        erases = max(advised.rows[0]["erases_mean"] or 0.0, 1e-3)
        needed = more_times(erases) * self._share(advised) if query.levels_wear else 0.0
        alone = [({_OWN: [*first, *some]}, needed) for some in (others, others[:2], [])]
        options, by_unit = alone, self._unsettled()
        if by_unit:
            nearest = [dict([*by_unit.items()][:many]) for many in range(len(by_unit), 0, -1)]
            some = [({_OWN: first} | near, self._settling(advised, near)) for near in nearest]
            beside = [(runs | by_unit, max(needed, some[0][1])) for runs, _ in alone]
            # Units that were asked for come before wear policies and forecasts.
            options = [*beside, *some, *alone] if query.units else [*beside[:1], *alone]
        for runs, least in options:
            times = _affordable(self._took_s(runs), self._clock.left_s, least)
            if times >= least:
                break
        self._repeat(runs, times, first)

    def _held_out(self) -> Mapping[str, Measured]:
        """The runs on the held-out part or, if there was no time, on the last prefix."""
        return self._result.finalists or self._result.last.tried

    def _settling(self, advised: Measured, by_unit: Mapping[int, Sequence[str]]) -> float:
        """How many times as many requests write all of the data."""
        return max(self._share(run) / _passes(run) for run in (advised, *self._known(by_unit)))

    def _share(self, run: Measured) -> float:
        """The requests that a run measured, over those that one of all requests would."""
        return float(run.rows[0]["requests"] * _MEASURED / self._result.requests)

    def settle_units(self) -> None:
        """Make longer runs of what was found with other units, if the device's own has settled."""
        last = self._result.last_run
        own = [run for trial in self._result.units if trial.is_own for run in trial.told.values()]
        if last is not None and own and is_settled(self._query, own[0]) and (runs := self._unsettled()):
            times = last.requests // self._result.requests
            self._repeat(runs, times if self._took_s(runs)(times) <= _SAFE * self._clock.left_s else 0, [])

    def _repeat(self, runs: dict[int, list[str]], times: int, first: Sequence[str]) -> None:
        """Make runs over this many times as many requests, then the unsettled ones over more."""
        result, done = self._result, 0
        has_units = runs.keys() != {_OWN}
        while runs and times > done and not result.interrupted:
            began_s, done, took_s = time.monotonic(), times, self._took_s(runs)
            requests = times * result.requests
            self._tell(f"now {several(sum(map(len, runs.values())), 'stack')} on {requests:,} requests")
            self._clock.limit(self._executor, 0.0)
            made = self._ran(requests, runs)
            for trial in result.units:
                longer = made.get(_OWN if trial.is_own else trial.unit_bytes, {})
                trial.told |= {stack: run for stack, run in longer.items() if stack in trial.told}
            own = {stack: made[_OWN][stack] for stack in runs.get(_OWN, ()) if stack in made.get(_OWN, {})}
            if own.keys() >= {*first} and own:
                result.last_run = LastRun(requests, requests - requests // _MEASURED, own)
            elif _OWN in runs:
                return
            is_open = _OWN in runs and not _has_settled(self._query, own[first[0]])
            runs = ({_OWN: runs[_OWN]} if is_open else {}) | (self._unsettled() if has_units else {})
            # By the pace of this run: the earlier ones had more beside them.
            pace = min(1.0, (time.monotonic() - began_s) / took_s(times))
            left_s = self._clock.left_s / max(pace, _LEAST_PACE)
            times = _affordable(self._took_s(runs), left_s, _TIMES[-1]) if runs else 0

    def _ran(self, requests: int, stacks: Mapping[int, Sequence[str]]) -> dict[int, dict[str, Measured]]:
        """Runs of stacks with figures, as far as there was time."""
        runs: dict[int, dict[str, Measured]] = {}
        try:
            with suppress(TimeIsUp):
                runs = self._runner.going_on(requests).beside(stacks, requests - requests // _MEASURED)
        except Interrupted as stop:
            runs, self._result.interrupted = (stop.finished or {}), True
        return {
            unit: {
                stack: run for stack, run in made.items() if run.rows and run.mean("write_amplification") is not None
            }
            for unit, made in runs.items()
        }

    def _unsettled(self) -> dict[int, list[str]]:
        """By unit the stacks to compare with it: the advised one, and the best one there."""
        runs: dict[int, list[str]] = {}
        for trial in (trial for trial in self._result.units if not trial.is_own):
            told = {stack: run for stack, run in trial.told.items() if run.rows}
            names = dict.fromkeys([*[*told][:1], *best_first(self._query, told)[:1]])
            if unsettled := [stack for stack in names if not is_settled(self._query, told[stack])]:
                runs[trial.unit_bytes] = unsettled
        return runs

    def _known(self, runs: Mapping[int, Sequence[str]]) -> list[Measured]:
        """The runs on the held-out part; of others that of the first stack there.

        The advised stack may have had no time there.
        """
        held_out = {**self._advised, **self._held_out()}
        told = {trial.unit_bytes: trial.told for trial in self._result.units} | {_OWN: held_out}
        names = [(unit, stack) for unit, stacks in runs.items() for stack in stacks]
        return [told[unit].get(stack) or held_out[runs.get(_OWN, [*held_out])[0]] for unit, stack in names]

    def _took_s(self, runs: Mapping[int, Sequence[str]]) -> Callable[[int], float]:
        """About how long a number of times as many requests take, by the runs so far."""
        known, result = [run.rows[0] for run in self._known(runs)], self._result
        before = [max(0.0, row["wall_s"] - row["measured_wall_s"]) for row in known]
        served = [
            row["measured_wall_s"] * result.requests / json.loads(row["document"])["workload"]["requests"]
            for row in known
        ]

        def took_s(times: int) -> float:
            each = [fixed + times * its for fixed, its in zip(before, served, strict=True)]
            return float(max(sum(each) / self._executor.checks, *each))

        return took_s


def _passes(run: Measured) -> float:
    """How often a run wrote as much as the data while it was measured."""
    outcome = Outcome(json.loads(run.rows[0]["document"]))
    return max(passes(outcome, outcome.document["runs"][0]), 1e-6)


def _has_settled(query: Query, run: Measured) -> bool:
    """Whether a longer run would tell nothing else."""
    is_forecast = not query.levels_wear or run.mean("life_bytes") is not None
    return is_forecast and is_settled(query, run)


def _affordable(took_s: Callable[[int], float], left_s: float, least: float = 0.0) -> int:
    """How many times as many requests there is time for, no more than usual or needed; or 0."""
    most = next((times for times in _TIMES if times >= max(_USUAL, least)), _TIMES[-1])
    return next((times for times in reversed(_TIMES) if times <= most and took_s(times) <= _SAFE * left_s), 0)


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
        sentences.append(f"Its lives under other wear policies or none, longest first: {named}.")
    return sentences
