"""The search: Optuna proposes stacks, growing prefixes sift them, the held-out part measures them.

On the shortest prefix stacks are proposed in batches, so that what is proposed does not depend on
how many run at once, and Optuna learns from every batch. Each further prefix is three times as
long, and those that go on (`ftlkit.advice.choice`) are run on it. Of each prefix the first half is
a warm-up, served and not measured. The last prefix is the whole searched part: by it the
finalists are chosen. What they are said to cost is measured on the rest of the workload, which the
search has not seen. What leads there alone is tried there with other settings, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import optuna

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.stacks import mapping
from ftlkit.advice import choice
from ftlkit.advice.choice import ranked, ranking
from ftlkit.advice.clock import FIRST_HELD_OUT, RESERVED, Clock, RunTimes
from ftlkit.advice.prefixes import Prefixes, is_like
from ftlkit.advice.proposer import TrialChooser, optuna_study
from ftlkit.advice.query import FINALISTS, REFERENCE, TRIALS, Query
from ftlkit.advice.rivals import rivals
from ftlkit.advice.search_result import FEW, Halved, Rung, SearchResult, is_of
from ftlkit.advice.space import (
    Proposals,
    Space,
    collecting,
    doublings,
    filling,
    halves,
    holders,
    levelled,
    logs,
    named,
    others,
)
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.sweeps.goals import TIMELESS

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured, Point, Runner
    from ftlkit.sweeps.local import Local

BATCH = 16
"""Trials proposed together, whatever runs at once: the same number of trials, the same answer."""
_FEW = 2
"""Stacks per batch and parallel run, with a budget."""
PROPOSALS = 20
"""Repeated proposals per trial after which the search on the first prefix ends."""
_SEEDED = 0.5
"""The most of the time for which the finalists are run with all seeds; else with one."""
_SEARCHED = 0.2
"""So much of the time is left to other stacks then."""
_SIMPLER = 3
"""So often simpler stacks are tried: those that go on then may be others."""
_SHARED = 12
"""So often the RAM of the best is shared otherwise: each time the leader is another, or it ends."""
_REFILLED, _FAMILIES = 2, 5
"""Number of best stacks, with those of near mappings, that are tried otherwise."""
_LEVELLED = 3
"""Mappings that are tried first under each wear policy, for the goal life."""
_FILLED, _LOGGED = 2.0, 3.0
"""A mapping that costs more than this over the best trails with all of the RAM, or any log, too."""
_BEST = 3
"""Number of best stacks that run first on each prefix, in any case."""


class Search:
    """One search over a space."""

    def __init__(
        self, query: Query, space: Space, runner: Runner, executor: Local, result: SearchResult, clock: Clock
    ) -> None:
        self._query, self._space, self._runner, self._executor = query, space, runner, executor
        self._clock = clock
        self._prefixes = Prefixes(query, space, runner, executor, result, clock)
        self._objectives = query.metrics
        self._proposer = optuna_study(query, len(self._objectives))
        self._times = RunTimes(query, result, executor, clock)
        self._running: Rung | None = None
        """The prefix that is run; None while the held-out part is."""
        self.result = result
        self.tell: Callable[[str], None] = lambda _: None
        """Hears how far the search is."""
        self.later = 0.0
        """The share of a budget that is kept for what follows the search, if it has figures."""

    def run(self) -> SearchResult:
        """Search until every part of it is done, the time is over, or Ctrl-C."""
        result = self.result
        result.seeds = self._query.seeds
        try:
            self._propose()
            for requests in self.result.lengths[1:]:
                if not self._sift(requests):
                    break
            self._finish()
            while self._hold_out_near():
                pass
            self._use_what_is_left()
        except KeyboardInterrupt as stop:
            # It may come between two runs, too.
            self._take((stop.finished if isinstance(stop, Interrupted) else None) or {})
            result.interrupted = True
        if result.rungs:
            self._look_around()
        return result

    def _take(self, measured: Mapping[str, Measured]) -> None:
        """Keep what was finished of a part that was interrupted."""
        if self._running is not None:
            self._note(self._running, measured)
        elif self.result.asked_for:
            self.result.finalists |= {
                stack: run for stack, run in measured.items() if run.is_complete(self.result.seeds)
            }

    def _measure(self, rung: Rung, stacks: Sequence[str], reserved_s: float) -> None:
        self._clock.limit(self._executor, reserved_s)
        rung.begun |= dict.fromkeys(stacks)
        self._running, begun_s = rung, time.monotonic()
        measured = self._runner.prefix(stacks, rung.requests, rung.precondition)
        self._times.took(time.monotonic() - begun_s, measured.values())
        self._note(rung, measured)
        self._running = None

    def _note(self, rung: Rung, measured: Mapping[str, Measured]) -> None:
        rung.note(measured, self._query.ram_bytes)
        if self.result.of(rung):
            self._clock.keep(self.later)

    # The first prefix: proposals.

    def _begin(self) -> Rung:
        """The shortest prefix that tells of the whole, with what was run to look it over."""
        query, result = self._query, self.result
        chosen = self._prefixes.choose(self.tell)
        result.whole, result.unlike = chosen.whole, chosen.unlike
        rung = self._rung(chosen.lengths[0])
        is_long = self._clock.is_running and rung.requests > FEW
        # Fewer requests have to be possible yet.
        self._measure(rung, [REFERENCE], self._clock.left_s / 2 if is_long else 0.0)
        if is_long and REFERENCE not in rung.tried:
            raise self._clock.too_short(f"the workload was looked over, but {REFERENCE} had not ended on {rung.span}")
        references = [measured for measured in (rung.tried.get(REFERENCE), chosen.whole) if measured and measured.rows]
        if references:
            known = [measured.point(query.metrics, is_exact=True).costs for measured in references]
            if all(query.metric not in costs for costs in known):
                looked_at, requests = chosen.whole or references[0], result.searched if chosen.whole else rung.requests
                is_known = chosen.whole is not None or rung.requests == result.searched
                if not is_known and not self._prefixes.erases_too_little(looked_at, requests):
                    raise self._clock.too_short(
                        f"the goal {query.goal} had no figure from {rung.span}", fewer=query.goal != "life"
                    )
                raise self._prefixes.lacking(looked_at, requests)
            self._objectives = [metric for metric in query.metrics if metric in known[0]]
            self._proposer = optuna_study(query, len(self._objectives))
        return rung

    def _rung(self, requests: int) -> Rung:
        """A prefix; the whole searched part is prepared as asked, whatever the others are."""
        rung = Rung(requests, self._prefixes.precondition_of(requests))
        self.result.rungs.append(rung)
        self._note(rung, self._prefixes.runs_on(rung))
        return rung

    def _propose(self) -> None:
        rung = self._begin()
        if self._query.goal not in ("life", "ram") and self._times.is_scarce(rung):
            self._hold_out_defaults()
        most, spent = self._query.trials or TRIALS, 0
        half = halves(self._space)
        self.result.survey_trials = len(half) * (1 if self._query.ram_bytes is None else 2)
        pioneers = self._space.pioneers()
        first = {stack: half[stack] for stack in half if any(is_of(stack, head) for head in pioneers)}
        spent += self._round(rung, first, most, self._times.survey_s)
        spent += self._round(rung, self._by_family(rung, half), most - spent, self._times.survey_s)
        # A choice has to be held against what everybody has without a search.
        self._try(rung, [stack for stack in self.result.defaults if stack not in rung.tried], self._times.survey_s)
        # How data are collected decides by a factor, and few such settings are drawn by chance.
        collected = collecting(self._space, timeless=self._query.goal in TIMELESS)
        self.result.survey_trials += len(collected)
        spent += self._round(rung, collected, most - spent, self._times.survey_s)
        # What a log mapping does hangs on the size of its log more than on anything else.
        sized = self._logs(rung)
        self.result.survey_trials += len(sized.keys() - half.keys())
        spent += self._round(rung, sized, most - spent, self._times.survey_s)
        if self._query.ftl is not None:
            stacks = named(self._space)
            self.result.survey_trials += len(stacks.keys() - half.keys())
            spent += self._round(rung, stacks, most - spent, self._times.survey_s)
            self.result.named_untried = [stack for stack in stacks if stack not in rung.tried]
        elif self.result.wear_policies:
            # The longest lives first: a policy adds to what the mapping erases.
            best = self._heads(self._ranking(rung))[:_LEVELLED]
            self.result.survey_trials += _LEVELLED * len(self.result.wear_policies)
            spent += self._round(rung, levelled(self._space, best), most - spent, self._times.survey_s)
        if rung.requests == self.result.searched:
            self._prefixes.require_goal(rung)
        self._plan_seeds(rung)
        filled = self._filling(rung)
        leading = {stack: filled[stack] for stack in filled if self._may_lead(rung, stack, _FILLED)}
        # Those are variations of the best, so they are tried whatever trials are left.
        spent += self._round(rung, leading | filled, max(most - spent, len(leading)), self._times.survey_s)
        self.result.is_surveyed = not self.result.untried and all(stack in rung.tried for stack in leading)
        self._improve(rung)
        least = others(self._space)
        self.result.survey_trials += len(least) if self._query.goal == "ram" else 0
        spent += self._round(rung, least, most - spent, self._times.reserved_s)
        self.result.is_out_of_trials = spent >= most < self.result.survey_trials
        self.result.is_least_tried = all(stack in rung.tried for stack in least)
        doubled = doublings(self._space, self._going_heads(rung))
        spent += self._round(rung, doubled, most - spent, self._times.reserved_s)
        self._refuse_little_ram(rung)
        while spent < most and not self.result.dry and self._times.reserved_s(rung) < self._clock.left_s:
            spent += self._ask(rung, min(BATCH, most - spent), self._times.reserved_s)
        if not self.result.of(rung) and not self.result.finalists:
            self._refuse(rung)
        self._simplify(rung)

    def _by_family(self, rung: Rung, proposals: Proposals) -> Proposals:
        """Proposals by their families, the one with the best stack first."""
        family = self._space.family
        order = list(dict.fromkeys([*map(family, self._ranking(rung)), *map(family, proposals)]))
        return dict(sorted(proposals.items(), key=lambda pair: order.index(family(pair[0]))))

    def _hold_out_defaults(self) -> None:
        """Measure the reference and the defaults on the held-out part before anything is searched.

        The best of them is an answer. Then come what differs from it in the size of its log or in
        what its RAM is shared among, and the same of each that is better.
        """
        self.result.is_held_out_first, self.result.seeds = True, 1
        kept_s = self._clock.part_s(_SEARCHED)
        near = list(dict.fromkeys([REFERENCE, *self.result.defaults]))
        while near and self._clock.left_s > kept_s:
            self.result.asked_for += near
            # All at once: a slow one holds up no others.
            self._clock.limit(self._executor, kept_s)
            self._hold_out(near)
            near = self._near_the_best()[: _FEW * self._executor.checks]

    def _near_the_best(self) -> list[str]:
        """What differs in one thing from the two best on the held-out part and was not run."""
        query, near = self._query, []
        most = query.ram_bytes or float("inf")
        for point in self._best_held_out()[:2]:
            near += [other for other, _ in self._space.relogged(point.stack, most - point.ram)]
            if query.ram_bytes is not None:
                near += [sizes[0] for sizes in self._space.refilled(point.stack, int(most - point.ram))]
        return [stack for stack in dict.fromkeys(near) if stack not in self.result.asked_for]

    def _best_held_out(self) -> list[Point]:
        """Those that may be advised of what was run on the held-out part, the best first."""
        most, is_searched = self._query.ram_bytes or float("inf"), REFERENCE in self.result.candidates
        points = [
            run.point(self._query.metrics)
            for run in self.result.finalists.values()
            if run.rows and (run.stack != REFERENCE or is_searched)
        ]
        return ranked([point for point in points if point.ram <= most], self._query, slack=1.0)

    def _logs(self, rung: Rung) -> Proposals:
        """The mappings that have a log with each second size of it, the best mapping first.

        But those that trail by more than its size can gain: their runs are the slowest.
        """
        heads = dict.fromkeys([*self._heads(self._ranking(rung)), *self._space.heads])
        order = [head for head in heads if self._may_lead(rung, head, _LOGGED)]
        return logs(self._space, order, self._query.ram_bytes or float("inf"))

    def _relogged(self, rung: Rung, stack: str) -> list[str]:
        """A stack with each other size of its log that the RAM allows."""
        most, ram = self._query.ram_bytes, rung.tried[stack].mean("ram_bytes")
        unused = float("inf") if most is None or ram is None else most - ram
        return [other for other, _ in self._space.relogged(stack, unused)]

    def _round(self, rung: Rung, proposals: Proposals, most: int, reserved_s: Callable[[Rung], float]) -> int:
        """Try at most this many new proposals while there is time; returns the number of trials."""
        new = [params for stack, params in proposals.items() if stack not in rung.tried][: max(0, most)]
        for params in new:
            self._proposer.enqueue_trial(dict(params))
        spent = 0
        # Without any figures there would be no answer, so they are tried whatever time is left.
        while spent < len(new) and self._clock.left_s > 0:
            if self.result.of(rung) and reserved_s(rung) >= self._clock.left_s:
                break
            spent += self._ask(rung, min(BATCH, len(new) - spent), reserved_s)
        return spent

    def _ask(self, rung: Rung, many: int, reserved_s: Callable[[Rung], float]) -> int:
        """Try this many stacks proposed by Optuna, and report their results to it."""
        batch = self._batch(rung, many)
        self._try(rung, list(batch), reserved_s)
        for stack, trial in batch.items():
            self._learn(trial, rung.tried.get(stack))
        successes = sum(bool(measured.rows) for measured in rung.tried.values())
        failed = f", {len(rung.failed)} failed" if rung.failed else ""
        self.tell(f"{several(successes, 'stack')} measured on {rung.span}{failed}")
        return many

    def _try(self, rung: Rung, stacks: Sequence[str], reserved_s: Callable[[Rung], float]) -> None:
        """Run proposals: all at once, or with a budget a few at a time.

        What these take tells for how many more there is time.
        """
        few = _FEW * self._executor.checks if self._clock.is_running else max(1, len(stacks))
        for place in range(0, len(stacks), few):
            if place and reserved_s(rung) >= self._clock.left_s:
                return
            self._measure(rung, stacks[place : place + few], reserved_s(rung))

    def _improve(self, rung: Rung) -> None:
        """Try the best with other settings, and with its RAM shared otherwise, until none is new.

        What differs in one thing from the best of the survey is likelier to be better than what is
        drawn. So, after it, is what differs from others near to it: their settings may gain more.
        """
        near = self._near_mappings(ranked(self._points(rung), self._query))[:_FAMILIES]
        for name in ("", *(mapping(point.stack) for point in near)):
            for _ in range(_SHARED):
                best = (stack for stack in self._ranking(rung) if name in ("", mapping(stack)))
                new = self._changed(rung, stack) if (stack := next(best, None)) else []
                if not new:
                    break
                if self._clock.left_s <= self._times.rest_s(rung):
                    return
                self._try(rung, new, self._times.rest_s)

    def _changed(self, rung: Rung, stack: str) -> list[str]:
        """What differs from a stack in one thing and was not tried on a prefix."""
        changed = (
            *self._relogged(rung, stack),
            *self._rivals(rung, stack),
            *self._refilled(rung, stack),
            *self._space.turned(stack),
        )
        return [other for other in dict.fromkeys(changed) if other not in rung.tried]

    def _simplify(self, rung: Rung) -> None:
        """Try the best with their RAM shared otherwise, and those that would go on without extras.

        Extras are what may do nothing: settings, and half of their RAM. Of equals the simpler one
        goes on, and one with less RAM that does as well beats the other.
        """
        for _ in range(_SIMPLER):
            going = [point.stack for point in choice.halve(self._points(rung), self._query.metrics).kept]
            tried = [
                *(changed for stack in self._leaders(rung) for changed in self._refilled(rung, stack)),
                *(changed for stack in going for changed in (*self._space.simpler(stack), *self._space.smaller(stack))),
            ]
            new = [stack for stack in dict.fromkeys(tried) if stack not in rung.tried]
            if not new or self._clock.left_s <= self._times.rest_s(rung):
                return
            self._measure(rung, new, self._times.rest_s(rung))

    def _leaders(self, rung: Rung) -> list[str]:
        """The best stack for the goal, the best of other parts, and of each mapping near to it."""
        metric = self._query.metric
        order = ranked(self._points(rung), self._query)
        by_parts: dict[tuple[str, ...], str] = {}
        near: dict[str, str] = {}
        for point in order:
            parts = tuple(part.partition(":")[0] for part in point.stack.split("+"))
            by_parts.setdefault(parts, point.stack)
            if point.costs[metric] <= choice.MARGIN * order[0].costs[metric]:
                near.setdefault(parts[0], point.stack)
        return list(dict.fromkeys([*list(by_parts.values())[:_REFILLED], *near.values()]))[:_FAMILIES]

    def _refilled(self, rung: Rung, stack: str) -> list[str]:
        """A stack with its RAM, and what it leaves unused, shared otherwise where that fits."""
        fit = (
            next((candidate for candidate in shared if candidate not in rung.over), None)
            for shared in self._sharings(rung, stack)
        )
        return [candidate for candidate in fit if candidate is not None]

    def _rivals(self, rung: Rung, stack: str) -> list[str]:
        """The reference behind a write buffer with as much RAM as a stack, if that is not known."""
        return [] if self._query.goal == "ram" else rivals(self._space, self.result, rung, stack)

    def _sharings(self, rung: Rung, stack: str) -> list[list[str]]:
        """The ways to share the RAM of a stack; none without a limit, or where little is sought."""
        ram = rung.tried[stack].mean("ram_bytes")
        if self._query.ram_bytes is None or self._query.goal == "ram" or ram is None:
            return []
        return self._space.refilled(stack, int(self._query.ram_bytes - ram))

    def _filling(self, rung: Rung) -> Proposals:
        """Mappings with all the RAM that may be taken, the best first.

        By now it is known what they take beside their caches.
        """
        if self._query.ram_bytes is None:
            return {}
        takes = {stack: measured.mean("ram_bytes") for stack, measured in rung.tried.items()}
        filled = filling(self._space, self._query.ram_bytes, takes.get)
        heads = self._heads(self._ranking(rung))
        places = {
            stack: next((place for place, head in enumerate(heads) if is_of(stack, head)), len(heads))
            for stack in filled
        }
        return {stack: filled[stack] for stack in sorted(filled, key=lambda stack: places[stack])}

    def _may_lead(self, rung: Rung, stack: str, most: float) -> bool:
        """Whether the best of a stack's mapping costs at most so much over the best of all."""
        points, metric = ranked(self._points(rung), self._query), self._query.metric
        mine = next((point for point in points if mapping(point.stack) == mapping(stack)), None)
        return mine is None or mine.costs[metric] <= most * points[0].costs[metric]

    def _going_heads(self, rung: Rung) -> list[str]:
        """The mappings of which a stack would go on, the best for the goal first."""
        going = choice.halve(self._points(rung), self._query.metrics).kept
        return self._heads([point.stack for point in ranked(going, self._query)])

    def _heads(self, stacks: Sequence[str]) -> list[str]:
        """The beginnings of some stacks, in their order."""
        return list(dict.fromkeys(head for stack in stacks for head in self._space.heads if is_of(stack, head)))

    def _plan_seeds(self, rung: Rung) -> None:
        """Use one seed on the held-out part if all would take too long, by what runs took."""
        if self.result.is_held_out_first:
            return
        if self._clock.is_running and self._times.final_s(rung, self._ranking(rung)) > self._clock.part_s(_SEEDED):
            self.result.seeds = 1

    def _batch(self, rung: Rung, most: int) -> dict[str, Any]:
        """New stacks, each with the trial that proposed it."""
        batch: dict[str, Any] = {}
        for _ in range(PROPOSALS * most):
            trial = self._proposer.ask()
            stack = self._space.ask(TrialChooser(trial))
            if stack in rung.tried or stack in batch:
                self._learn(trial, rung.tried.get(stack))
                continue
            batch[stack] = trial
            if len(batch) == most:
                return batch
        self.result.dry = True
        return batch

    def _learn(self, trial: Any, measured: Measured | None) -> None:  # noqa: ANN401 - a trial of Optuna
        """Tell Optuna what a trial came to; one that failed or was not run is told as failed."""
        point = None if measured is None or not measured.rows else measured.point(self._objectives)
        if point is None or len(point.costs) < len(self._objectives):
            self._proposer.tell(trial, state=optuna.trial.TrialState.FAIL)
            return
        if self._query.ram_bytes is not None:
            trial.set_constraint("ram", point.ram - self._query.ram_bytes)
        self._proposer.tell(trial, [point.ram, *(point.costs[metric] for metric in self._objectives)])

    def _refuse_little_ram(self, rung: Rung) -> None:
        """Raise a `UserError` if the least of every candidate takes more RAM than asked for."""
        is_open = rung.unfinished or self._are_untried(rung) or self.result.of(rung) or self.result.finalists
        if rung.over and not is_open:
            stack, least = min(rung.over.items(), key=lambda pair: pair[1])
            raise self._query.too_little_ram(stack, least, len(rung.tried))

    def _are_untried(self, rung: Rung) -> bool:
        """Whether a mapping was not run with the least RAM, which fits by its build."""
        return not rung.tried.keys() >= {*self._space.least().values()}

    def _refuse(self, rung: Rung) -> None:
        """Raise why there is nothing to choose from."""
        self._refuse_little_ram(rung)
        if rung.unfinished or self._are_untried(rung):
            most = self._query.ram_bytes
            within = "" if most is None else f" within {units.typed(units.size(most))} of RAM"
            if not self._clock.is_running:
                raise UserError(
                    f"--trials {self._query.trials}: no stack{within} was tried. "
                    f"--trials {self.result.survey_trials} tries every mapping."
                )
            raise self._clock.too_short(
                f"the workload was looked over, but no stack{within} had been run over its first "
                f"{rung.requests:,} requests"
            )
        raise UserError(next(iter(rung.failed.values()), "no stack could be tried. Name some with --ftl."))

    # The longer prefixes.

    def _ranking(self, rung: Rung) -> list[str]:
        """The stacks of a prefix that may be advised, the best for the goal first."""
        return ranking(self._query, self.result, rung)

    def _points(self, rung: Rung) -> list[Point]:
        return self.result.points(rung, self._query.metrics)

    def _sift(self, requests: int) -> bool:
        """Run those that go on over a longer prefix; whether there was time for all of them."""
        before = self.result.rungs[-1]
        best = self._ranking(before)[:_BEST]
        if (
            not best
            or self._times.runs_s(before, best, requests) + self._times.final_s(before, best) > self._clock.left_s
        ):
            return False
        before.halved = self._going(before, requests)
        going = [point.stack for point in before.halved.kept]
        rung = self._rung(requests)
        self.tell(f"now {several(len(going), 'stack')} on {rung.span}")
        # The reference first: without it there is nothing to compare with. Then the best, should
        # time end.
        best = [point.stack for point in ranked(before.halved.kept, self._query)[:_BEST]]
        self._measure(rung, list(dict.fromkeys([REFERENCE, *best, *going])), self._times.final_s(before, going))
        return not rung.unfinished

    def _going(self, rung: Rung, requests: int) -> Halved:
        """Those that go on to a longer prefix, as many as there is time for."""

        def fits(stacks: Sequence[str]) -> bool:
            takes = self._times.runs_s(rung, stacks, requests) + self._times.final_s(rung, stacks)
            return takes <= self._clock.left_s

        points = self._points(rung)
        order = ranked(points, self._query)
        going = choice.within(points, self._query.metrics, fits, [point.stack for point in order[:_BEST]])
        # Though buffers may lead: the best without one is told beside them.
        return choice.with_more(going, [point for point in order if not holders(point.stack)][:1])

    def _refine(self) -> bool:
        """Try what may be better than the leader of the last prefix; whether any was run.

        That is the leader with its RAM shared otherwise, with other settings that no prefix has
        seen, and without its extras. It may be a late find, or another one than on the first
        prefix. Then come those near to it with their RAM shared otherwise.
        """
        rung, is_any = self.result.last, False
        for _ in range(_SHARED):
            order = self._ranking(rung)
            best = order[:RESERVED]
            if not best:
                break
            tried = [
                *self._relogged(rung, best[0]),
                *self._rivals(rung, best[0]),
                *self._refilled(rung, best[0]),
                *(changed for changed in self._space.turned(best[0]) if changed not in self._seen()),
                *self._space.simpler(best[0]),
                *self._space.smaller(best[0]),
                *(changed for stack in self._leaders(rung) for changed in self._refilled(rung, stack)),
            ]
            reserved_s = self._times.waiting_s(rung, list(dict.fromkeys([*best, REFERENCE, *self._required(order)])))
            if not self._try_beside(rung, best[0], tried, reserved_s):
                break
            is_any = True
        return is_any

    def _try_beside(self, rung: Rung, stack: str, others: Sequence[str], reserved_s: float) -> bool:
        """Run those that differ from a stack over its prefix, as many as fit; whether any was."""
        new = [other for other in dict.fromkeys(others) if other not in rung.tried]
        while new and self._times.again_s(rung, stack, len(new)) + reserved_s > self._clock.left_s:
            new.pop()
        if not new:
            return False
        self._measure(rung, new, reserved_s)
        # They were no part of what had to be run.
        rung.begun = {other: None for other in rung.begun if other in rung.tried or other not in new}
        return any(other in rung.tried for other in new)

    def _seen(self) -> set[str]:
        """The stacks that were tried on any prefix."""
        return {stack for rung in self.result.rungs for stack in rung.tried}

    def _look_around(self) -> None:
        """Note whether the leader of the last prefix was tried with what differs in one thing."""
        rung, seen = self.result.last, self._seen()
        best = self._ranking(rung)[:1]
        self.result.is_shared = all(
            not seen.isdisjoint(shared) for stack in best for shared in self._sharings(rung, stack)
        )
        self.result.is_rivalled = not any(self._rivals(rung, stack) for stack in best)
        self.result.is_turned = all(changed in seen for stack in best for changed in self._space.turned(stack))

    # The held-out part.

    def _finish(self) -> None:
        result, rung = self.result, self.result.last
        self._prefixes.require_goal(rung)
        self._refine()
        rung.halved = self._halved_at_last(rung)
        first = result.asked_for
        result.asked_for = list(dict.fromkeys([*self._finalists(rung), *first]))
        self._clock.limit(self._executor, 0.0)
        least = max(RESERVED, 2 + len(result.required))
        if self._times.held_out_s(rung, result.asked_for[:least]) > self._clock.left_s:
            # One run of each of several stacks can refute the choice, several of one stack cannot.
            result.seeds = 1
        waiting, least = [stack for stack in result.asked_for if stack not in result.finalists], FIRST_HELD_OUT
        self._hold_out_what_fits(waiting, least)

    def _halved_at_last(self, rung: Rung) -> Halved:
        """Those that are to be run on the held-out part, among them the near ones of each mapping.

        Else a leader's many forms would crowd out another mapping that is better there.
        """
        points = self._points(rung)
        near = self._near_mappings(ranked(points, self._query))
        return choice.with_more(choice.halve(points, self._query.metrics, FINALISTS), near)

    def _near_mappings(self, order: Sequence[Point]) -> list[Point]:
        """The best of each mapping that is near to the first of some stacks in their order."""
        metric = self._query.metric
        near: dict[str, Point] = {}
        for point in order:
            is_near = point.costs[metric] <= choice.MARGIN * order[0].costs[metric]
            if is_near and point.is_behind <= order[0].is_behind:
                near.setdefault(mapping(point.stack), point)
        return list(near.values())

    def _finalists(self, rung: Rung) -> list[str]:
        """Those that are to be run on the held-out part.

        After the best and the reference come the best of each family and the defaults: what may
        refute the choice. Of the others the mappings take turns, since forms of one do alike.
        """
        best = self._ranking(rung)
        if not best:
            return []
        self.result.required = self._required(best)
        halved_stacks = {point.stack for point in rung.halved.kept} if rung.halved else set()
        turns: dict[str, int] = {}
        turn: dict[str, int] = {}
        for stack in (*best, *sorted(halved_stacks - {*best})):
            if stack in halved_stacks:
                name = mapping(stack)
                turn[stack] = turns[name] = turns.get(name, 0) + 1
        order = [*best[:1], REFERENCE, *self.result.required, *sorted(turn, key=lambda stack: turn[stack])]
        return [stack for stack in dict.fromkeys(order) if self.result.known(stack)]

    def _required(self, best: Sequence[str]) -> list[str]:
        """The best stack of each family, the best durable one, and every default that was run.

        Of each family it is the best that chooses by age, too, however it did on a prefix. The best
        come first.
        """
        families: dict[tuple[str, bool], str] = {}
        defaults: dict[str, None] = {}
        # On a longer prefix the order tells more; what did not get there follows.
        for stack in (*best, *(stack for rung in reversed(self.result.rungs) for stack in self._ranking(rung))):
            families.setdefault((self._space.family(stack), self._space.is_by_age(stack)), stack)
            if not holders(stack):
                families.setdefault(("durable", True), stack)
            if stack in self.result.defaults:
                defaults[stack] = None
        return list(dict.fromkeys([*families.values(), *defaults]))

    def _hold_out_what_fits(self, waiting: Sequence[str], least: int) -> None:
        """Run stacks over everything while there is time, the first `least` in any case."""
        rung, waiting = self.result.last, list(waiting)
        while waiting and self._clock.left_s > 0:
            many = len(waiting)
            while many > least and self._times.held_out_paced_s(rung, waiting[:many]) > self._clock.left_s:
                many -= 1
            if not many:
                return
            expected, left_s = self._times.held_out_s(rung, waiting[:many]), self._clock.left_s
            self._hold_out(waiting[:many])
            # What the first ones took tells whether there is time for more.
            self._times.held_out_pace = (left_s - self._clock.left_s) / expected if expected else 1.0
            waiting, least = waiting[many:], 0

    def _hold_out_near(self) -> bool:
        """Run what differs in one thing from the leaders of the held-out part there, too.

        The searched part may have misjudged a mapping, and then its settings: of each near mapping
        these are the next sizes of its log, and the largest in place of its buffer. Of a leader
        that the search did not choose they are all words and switches, too. Then, or where the
        reference tells that the parts differ, so are the best of its family's other mappings.
        Returns whether any was run. Of few requests luck would choose.
        """
        result, most = self.result, self._query.ram_bytes or float("inf")
        leaders = self._near_mappings(self._best_held_out())[:_FAMILIES]
        is_luck = result.requests - result.searched < FEW_FOR_P99
        if not leaders or is_luck or self._query.goal == "ram":
            return False
        rung, before, best = result.last, len(result.finalists), leaders[0].stack
        near = [other for point in leaders for other, _ in self._space.relogged(point.stack, most - point.ram)[:2]]
        near += [other for point in leaders for other in self._unbuffered(point.stack, most)]
        is_misjudged = best not in self._ranking(rung)[:1]
        near += self._siblings(best) if is_misjudged or self._do_parts_differ(rung) else []
        near += self._space.turned(best) if is_misjudged else []
        new = [stack for stack in dict.fromkeys(near) if stack not in result.finalists and stack not in rung.over]
        new = new[: _FEW * self._executor.checks if self._clock.is_running else None]
        self._try_beside(rung, best, new, self._times.held_out_paced_s(rung, [best] * len(new)))
        rung.halved = self._halved_at_last(rung)
        self._clock.limit(self._executor, 0.0)
        self._hold_out_what_fits([stack for stack in new if stack in rung.tried and stack not in rung.over], 0)
        result.asked_for += [stack for stack in new if stack in result.finalists]
        return len(result.finalists) > before

    def _unbuffered(self, stack: str, most: float) -> list[str]:
        """A stack without what is behind its mapping, with the RAM in its log instead."""
        alone = stack.partition("+")[0]
        known = self.result.known(alone)
        if alone == stack or known is None:
            return []
        unused = most - (known[1].mean("ram_bytes") or 0.0)
        larger = [(more, other) for other, more in self._space.relogged(alone, unused) if more > 0]
        return [other for _, other in sorted(larger, reverse=True)[:1]]

    def _do_parts_differ(self, rung: Rung) -> bool:
        """Whether the reference does otherwise on the held-out part than on a prefix."""
        runs = [part.get(REFERENCE) for part in (rung.tried, self.result.finalists)]
        known = [run for run in runs if run and run.rows]
        return len(known) == len(runs) and not is_like(known[0], known[1], self._query.metrics)

    def _siblings(self, stack: str) -> list[str]:
        """The best stack of each mapping of a stack's family, on the longest prefix that has it."""
        family = self._space.family
        siblings: dict[str, str] = {}
        for other in (other for rung in reversed(self.result.rungs) for other in self._ranking(rung)):
            if family(other) == family(stack):
                siblings.setdefault(mapping(other), other)
        return list(siblings.values())

    # What a budget leaves.

    def _use_what_is_left(self) -> None:
        """Go on with what seemed to take too long, then with new proposals, while time lasts."""
        result, first = self.result, self.result.rungs[0]
        most = self._query.trials or TRIALS
        while self._clock.is_running and self._clock.left_s > 0:
            is_refined = self._refine()
            if self._go_on() or is_refined:
                continue
            tried, few = len(first.tried), min(_FEW * self._executor.checks, most - len(first.tried))
            if few <= 0 or result.dry or self._times.beyond_s(first, 1) > self._clock.left_s:
                return
            self._ask(first, few, lambda rung: self._times.beyond_s(rung, 1))
            if len(first.tried) == tried:
                return

    def _go_on(self) -> bool:
        """Run those left behind on the next prefix, and new finalists on the held-out part.

        Left behind are those that would go on and did not. Returns whether any stack was run.
        """
        is_any = False
        for rung, longer in pairwise(self.result.rungs):
            going = choice.halve(self._points(rung), self._query.metrics).kept
            new = [
                point.stack
                for point in going
                if point.stack not in longer.tried
                and self._times.on_and_held_out_s(rung, [point.stack], longer.requests) < self._clock.left_s
            ][: self._executor.checks]
            # One that was cut short does not count, and few more would make it no better.
            if new and 2 * len(longer.unfinished) <= len(longer.begun):
                self._measure(longer, new, 0.0)
                is_any |= any(stack in longer.tried for stack in new)
            rung.halved = self._halved_so_far(rung, longer)
        return self._hold_out_new() or is_any

    def _hold_out_new(self) -> bool:
        """Run finalists on the held-out part that were not; whether any was.

        Of those that were proposed after the others had been measured only what would be advised
        has to be.
        """
        result, rung = self.result, self.result.last
        before = len(result.finalists)
        rung.halved = self._halved_at_last(rung)
        order = self._finalists(rung)
        result.asked_for = list(dict.fromkeys([*order[:1], *result.asked_for]))
        waiting = [stack for stack in order if stack not in result.finalists]
        self._clock.limit(self._executor, 0.0)
        self._hold_out_what_fits(waiting[: self._executor.checks], 0)
        return len(result.finalists) > before

    def _halved_so_far(self, rung: Rung, longer: Rung) -> Halved:
        """What became of the stacks of a prefix, now that more of them were run on the next one.

        Late are those that were meant to go on, and of later proposals those that lead all that
        did.
        """
        halved = choice.halve(self._points(rung), self._query.metrics)
        meant = set(rung.halved.late if rung.halved else []) | {*longer.unfinished}
        repeated = [point for point in self._points(rung) if point.stack in longer.tried]
        gone = {point.stack for point in repeated}
        metric = self._query.metric
        lead = min((point.costs[metric] for point in repeated if metric in point.costs), default=float("inf"))
        late = [
            point.stack
            for point in halved.kept
            if point.stack not in gone and (point.stack in meant or point.costs.get(metric, lead) < lead)
        ]
        beaten = {stack: far for stack, far in halved.beaten.items() if stack not in gone}
        return Halved(repeated, beaten, [stack for stack in halved.crowded if stack not in gone], late)

    def _hold_out(self, stacks: Sequence[str]) -> None:
        """Run stacks over everything, measured on the held-out part."""
        result = self.result
        held = f"on the {result.requests - result.searched:,} held-out requests"
        self.tell(f"now {several(len(stacks), 'stack')} {held}")
        result.finalists |= self._runner.held_out(stacks, result.searched, result.seeds)
        successes = sum(bool(result.finalists[stack].rows) for stack in stacks if stack in result.finalists)
        if successes < len(stacks):
            self.tell(f"{successes} of {several(len(stacks), 'stack')} measured {held}")
