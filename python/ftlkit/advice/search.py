"""The search: every mapping, then what differs from the best in one thing, then the held-out part.

Stacks are tried on a part of the workload (`ftlkit.advice.prefixes`), of which the first half is a
warm-up, served and not measured. First comes every mapping as it is by default. Then, a few at a
time, what differs in one thing from the best of two mappings, until nothing of it is new: whoever
is better leads from then on. What they are said to cost is measured on the rest of the workload,
where the defaults, the best of each family and those near to the best are run. The best there is
advised. Where there is time for little more than the defaults, all of it is done there at once.
"""

from __future__ import annotations

import time
from itertools import zip_longest
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.stacks import mapping
from ftlkit.advice import choice
from ftlkit.advice.choice import ranking
from ftlkit.advice.clock import RESERVED, RunTimes
from ftlkit.advice.prefixes import Prefixes
from ftlkit.advice.query import REFERENCE, TRIALS
from ftlkit.advice.search_result import Rung, SearchResult, is_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ftlkit.advice.clock import Clock
    from ftlkit.advice.measure import Measured, Point, Runner
    from ftlkit.advice.query import Query
    from ftlkit.advice.space import Space
    from ftlkit.sweeps.local import Local

BATCH = 8
"""Without a budget so many are run together, whatever runs at once: the same trials, one answer."""
_FEW = 2
"""With a budget so many are run together for each that runs at once."""
_LEVELLED = 3
"""For the goal life so many mappings are tried under each wear policy."""
_FIRST, _FAMILIES = 2, 5
"""What differs from the best of so many mappings is tried first, and of how many at last."""


class Search:
    """One search over a space."""

    def __init__(
        self, query: Query, space: Space, runner: Runner, executor: Local, result: SearchResult, clock: Clock
    ) -> None:
        self._query, self._space, self._runner, self._executor = query, space, runner, executor
        self._clock = clock
        self._prefixes = Prefixes(query, space, runner, executor, result, clock)
        self._times = RunTimes(query, result, executor, clock)
        self._held = Rung(result.requests, tried=result.finalists, is_held_out=True)
        self._running: Rung | None = None
        """The part that is run."""
        self._spent = 0
        """Trials so far; what differs in one thing from the best is none."""
        self._to_level: list[str] = []
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
            self._search()
        except KeyboardInterrupt as stop:
            # It may come between two runs, too.
            finished = (stop.finished if isinstance(stop, Interrupted) else None) or {}
            if self._running is not None:
                self._note(self._running, finished)
            result.interrupted = True
        self._look_around()
        return result

    def _search(self) -> None:
        result, part = self.result, self._begin()
        if self._query.goal not in ("life", "ram") and self._times.is_scarce(part):
            result.is_held_out_first, result.seeds = True, 1
            part = self._held
        while new := self._next(part):
            # Without any figures there would be no answer, so they are tried whatever time is left.
            kept_s = self._times.kept_s(part) if result.of(part) else 0.0
            if kept_s >= self._clock.left_s:
                break
            self._try(part, new, kept_s)
        self._refuse(part)
        if part is self._held:
            return
        self._prefixes.require_goal(part)
        self._finish(part)
        while self._clock.is_running and (new := self._next(part)):
            kept_s = self._times.kept_s(part)
            if kept_s >= self._clock.left_s:
                break
            self._try(part, new, kept_s)
            self._hold_out(self._finalists(part)[: 2 + len(result.required)])

    def _begin(self) -> Rung:
        """The part on which stacks are tried, with what was run to look it over."""
        query, result = self._query, self.result
        prefix = self._prefixes.choose(self.tell)
        result.whole, result.unlike = prefix.whole, prefix.unlike
        rung = result.rung = Rung(prefix.requests, prefix.precondition)
        self._note(rung, self._prefixes.runs_on(rung))
        if REFERENCE not in rung.tried:
            self._measure(rung, [REFERENCE], 0.0)
        runs = {rung.requests: rung.tried.get(REFERENCE)} | ({result.searched: prefix.whole} if prefix.whole else {})
        known = {requests: run for requests, run in runs.items() if run is not None and run.rows}
        if known and all(run.point([query.metric], is_exact=True).costs == {} for run in known.values()):
            requests, run = max(known.items(), key=lambda item: item[0])
            if requests == result.searched:
                raise self._prefixes.lacking(run, requests)
            what = f"nothing was known of the goal {query.goal} from {rung.span}"
            raise self._clock.too_short(what, fewer=query.goal != "life")
        return rung

    def _measure(self, rung: Rung, stacks: Sequence[str], kept_s: float) -> None:
        self._clock.limit(self._executor, kept_s)
        rung.begun |= dict.fromkeys(stacks)
        self._running, begun_s = rung, time.monotonic()
        if rung.is_held_out:
            self.result.asked_for += [stack for stack in stacks if stack not in self.result.asked_for]
            measured = self._runner.held_out(stacks, self.result.searched, self.result.seeds)
        else:
            measured = self._runner.prefix(stacks, rung.requests, rung.precondition)
        self._times.took(time.monotonic() - begun_s, measured.values())
        self._note(rung, measured)
        self._running = None

    def _note(self, rung: Rung, measured: Mapping[str, Measured]) -> None:
        """Keep what was finished of a part."""
        rung.tried |= {
            stack: run for stack, run in measured.items() if not rung.is_held_out or run.is_complete(self.result.seeds)
        }
        if self.result.of(rung):
            self._clock.keep(self.later)
        most = self._query.ram_bytes
        for stack, run in measured.items():
            ram = run.mean("ram_bytes")
            if most is not None and ram is not None and ram > most:
                rung.over[stack] = ram

    def _try(self, rung: Rung, stacks: Sequence[str], kept_s: float) -> None:
        self._measure(rung, stacks, kept_s)
        successes = sum(bool(measured.rows) for measured in rung.tried.values())
        failed = f", {len(rung.failed)} failed" if rung.failed else ""
        self.tell(f"{several(successes, 'stack')} measured on {rung.span}{failed}")

    # What is tried, in this order.

    def _next(self, rung: Rung) -> list[str]:
        """The next few stacks to try; none if nothing is new that there are trials for."""
        few = _FEW * self._executor.checks if self._clock.is_running else BATCH
        left = (self._query.trials or TRIALS) - self._spent
        for step, is_trial in self._steps():
            new = [stack for stack in dict.fromkeys(step(rung)) if stack not in rung.begun and stack not in rung.tried]
            if not new:
                continue
            if not is_trial:
                return new[:few]
            if left > 0:
                self._spent += min(few, left, len(new))
                return new[: min(few, left)]
            self.result.is_out_of_trials = True
        self.result.dry = not self.result.is_out_of_trials
        return []

    def _steps(self) -> list[tuple[Callable[[Rung], Iterable[str]], bool]]:
        """Each with whether it takes trials."""
        first, least = [(self._starts, True), (self._levelled, True)], [(self._least, True), (self._halvings, True)]
        near = [(self._near_best, False), (self._near_leaders, False)]
        return [*first, *least, *near] if self._query.goal == "ram" else [*first, *near, *least]

    def _starts(self, _: Rung) -> list[str]:
        """The reference, and every mapping by default or, if it takes too much, with less."""
        stacks = self._space.stacks(with_tails=self._query.ftl is not None)
        starts = [stack if stack in self.result.defaults else self._space.within(stack) for stack in stacks]
        # Nothing is told without the reference, whether it may be advised or not.
        return [REFERENCE, *starts]

    def _levelled(self, rung: Rung) -> list[str]:
        """For the goal life each wear policy behind the best mappings that it may go behind."""
        if self._to_level or self._query.ftl is not None:
            return self._to_level
        tails = {head.text: head.tails for head in self._space.heads.values()}
        best = dict.fromkeys(stack.partition("+")[0] for stack in ranking(self._query, self.result, rung))
        for policy in self.result.wear_policies:
            over = [stack for stack in best if f"+{policy}" in tails.get(mapping(stack), ())]
            self._to_level += [f"{stack}+{policy}" for stack in over[:_LEVELLED]]
        return self._to_level

    def _near_best(self, rung: Rung) -> list[str]:
        """Every mapping with all of the RAM, in turn with what is near to the best of two."""
        best: dict[str, str] = {}
        for stack in ranking(self._query, self.result, rung):
            best.setdefault(mapping(stack), stack)
        near = _in_turn(*(self._around(rung, stack) for stack in list(best.values())[:_FIRST]))
        return _in_turn(self._filled(rung), near)

    def _near_leaders(self, rung: Rung) -> list[str]:
        """What differs in one thing from the best of each mapping near the best of all."""
        leaders = choice.leaders(self._query, self._points(rung))[:_FAMILIES]
        return _in_turn(*(self._around(rung, stack) for stack in leaders))

    def _points(self, rung: Rung) -> list[Point]:
        return self.result.points(rung, self._query.metrics)

    def _around(self, rung: Rung, stack: str) -> list[str]:
        """What differs from a stack in one thing: log and RAM first, then words and numbers."""
        ram = int(rung.tried[stack].mean("ram_bytes") or 0)
        unused, space = self._space.ceiling - ram, self._space
        shared = (
            [] if self._query.goal == "ram" else [*self._fit(rung, space.refilled(stack, unused)), *self._rivals(rung)]
        )
        sized = _in_turn(space.relogged(stack, unused), shared)
        return [*sized, *space.rebuffered(stack), *space.turned(stack), *space.smaller(stack), *space.simpler(stack)]

    def _rivals(self, rung: Rung) -> list[str]:
        """The reference behind each write buffer with all the RAM: keeping data may lead."""
        alone = rung.tried[REFERENCE].mean("ram_bytes") if REFERENCE in rung.tried else None
        if alone is None or REFERENCE not in self._space.heads:
            return []
        return self._fit(rung, self._space.refilled(REFERENCE, int(self._space.ceiling - alone)))

    def _fit(self, rung: Rung, shared: Iterable[Sequence[str]]) -> list[str]:
        """Of each way to share the RAM the largest size that did not take too much."""
        return [sizes[0] if sizes[0] not in rung.over else sizes[-1] for sizes in shared]

    def _filled(self, rung: Rung) -> list[str]:
        """Every mapping with all of the RAM, the best first."""
        takes = {stack: rung.tried[stack].mean("ram_bytes") for stack in self._starts(rung) if stack in rung.tried}
        order = ranking(self._query, self.result, rung)
        known = sorted(takes, key=lambda stack: order.index(stack) if stack in order else len(order))
        filled = [self._space.filled(stack, ram) for stack in known if (ram := takes[stack]) is not None]
        return self._fit(rung, filled)

    def _least(self, _: Rung) -> list[str]:
        """Every mapping with the least RAM."""
        return list(self._space.least().values())

    def _halvings(self, rung: Rung) -> list[str]:
        """The mappings on fronts and near the best with half of the RAM, a quarter and so on."""
        going = choice.finalists(self._query, self._points(rung))
        heads = [head for head in self._space.heads.values() if any(is_of(stack, head.text) for stack in going)]
        return _in_turn(*(self._space.halvings(self._space.within(head.text + head.tails[0])) for head in heads))

    # The end of it.

    def _look_around(self) -> None:
        """Note what of the search was done."""
        result = self.result
        part = self._held if result.is_held_out_first else result.last
        tried = {*part.tried, *part.over}
        starts = self._starts(part)
        filled = [] if self._query.ram_bytes is None else self._filled(part)
        result.is_surveyed = all(stack in tried for stack in (*starts, *filled))
        result.named_untried = (
            [stack for stack in starts[1:] if stack not in tried] if self._query.ftl is not None else []
        )
        result.is_least_tried = all(stack in tried for stack in self._least(part))
        result.survey_trials = len(starts) + _LEVELLED * len(result.wear_policies)
        result.survey_trials += len(self._least(part)) if self._query.goal == "ram" else 0
        best = ranking(self._query, result, part)[:1]
        result.is_near_tried = all(stack in tried for each in best for stack in self._around(part, each))

    def _refuse(self, rung: Rung) -> None:
        """Raise why there is nothing to choose from."""
        if self.result.of(rung):
            return
        if rung.over and not rung.unfinished:
            stack, least = min(rung.over.items(), key=lambda pair: pair[1])
            raise self._query.too_little_ram(stack, least, len(rung.tried))
        if rung.unfinished:
            raise self._clock.too_short(f"the workload was looked over, but no stack had been run over {rung.span}")
        raise UserError(next(iter(rung.failed.values()), "no stack could be tried. Name some with --ftl."))

    # The held-out part.

    def _finish(self, rung: Rung) -> None:
        """Run the best, the reference, the best of each family and the defaults; then all near."""
        result, order = self.result, self._finalists(rung)
        result.asked_for = list(order)
        self._clock.limit(self._executor, 0.0)
        if self._times.held_out_s(rung, order[: max(RESERVED, 2 + len(result.required))]) > self._clock.left_s:
            # One run of each of several stacks can refute the choice, several of one stack cannot.
            result.seeds = 1
        self._hold_out(order)

    def _hold_out(self, stacks: Sequence[str]) -> None:
        """Run what was not yet run on the held-out part, while there is time."""
        waiting = [stack for stack in stacks if stack not in self.result.finalists]
        few = _FEW * self._executor.checks if self._clock.is_running else max(1, len(waiting))
        for place in range(0, len(waiting), few):
            if self._clock.left_s > 0:
                self._try(self._held, waiting[place : place + few], 0.0)

    def _finalists(self, rung: Rung) -> list[str]:
        """Those that are to be run on the held-out part.

        After the best and the reference come the best of each family and the defaults: what may
        refute the choice.
        """
        best = ranking(self._query, self.result, rung)
        families: dict[str, str] = {}
        for stack in best:
            families.setdefault(self._space.family(stack), stack)
        defaults = [stack for stack in best if stack in self.result.defaults]
        self.result.required = list(dict.fromkeys([*families.values(), *defaults]))
        near = choice.finalists(self._query, self._points(rung))
        order = dict.fromkeys([*best[:1], REFERENCE, *self.result.required, *near])
        return [stack for stack in order if stack in rung.tried and rung.tried[stack].rows]


def _in_turn(*lists: Sequence[str]) -> list[str]:
    """One of each list in turn."""
    return [stack for each in zip_longest(*lists) for stack in each if stack is not None]
