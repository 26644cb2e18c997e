"""The search: Optuna proposes stacks, prefixes of growing length sift them, and the part held out measures the last.

On the shortest prefix stacks are proposed in batches, so that what is proposed does not depend on how many run at once,
and Optuna learns from every batch. Each further prefix is three times as long, and those that go on
(`ftlkit.advice.halving`) are run on it. Of each prefix the first half is a warm-up, served and not measured. The last
prefix is the whole part that is searched: by it the finalists are chosen. What they are said to cost is measured on the
rest of the workload, which no choice has seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import optuna

from ftlkit._native import UserError
from ftlkit.advice import halving
from ftlkit.advice.asked import FINALISTS, REFERENCE, TRIALS
from ftlkit.advice.choice import ranked
from ftlkit.advice.found import Found, Rung, prefixes
from ftlkit.advice.likeness import ladder
from ftlkit.advice.measure import wall_s
from ftlkit.advice.space import filling, first
from ftlkit.engine import Interrupted
from ftlkit.seeds import of_32_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ftlkit.advice.asked import Asked
    from ftlkit.advice.clock import Clock
    from ftlkit.advice.halving import Halved, Point
    from ftlkit.advice.measure import Measured, Runner
    from ftlkit.advice.space import Space
    from ftlkit.sweep.local import Local

BATCH = 16
"""Trials that are proposed together, whatever runs at once, so that the same number gives the same answer."""
_FEW = 2
"""With a budget so many are run together for each that runs at once."""
PROPOSALS = 20
"""After so many proposals a trial that are not new, the search on the first prefix ends."""
_TOLD, _OFF = 2, 5.0
"""So many are measured on the held-out part, whatever time is left; and by which factor a time may be off at most."""
_RESERVED = 5
"""For so many finalists time is reserved while the search goes on."""
_LOOKING = 0.2
"""The most of the time that is taken for choosing prefixes."""
_SIMPLER = 3
"""So often simpler stacks are tried: those that go on then may be others."""
_SIMPLIFYING = 0.15
"""The share of the time that proposals leave to simpler stacks."""
_TRYING, _ENOUGH = 0.4, 24
"""The share of the time in which so many stacks must be run on the whole part for it to be the only prefix."""
_BEST = 3
"""So many of the best are run first on each prefix, whatever time is left."""
_SHARES = (0.35, 0.7)
"""The least and the most of the time that the first prefix leaves to the others, whatever they are reckoned to take."""

_LACKING = {
    "life": (
        "no life is forecast from the part that is searched, since blocks have to be erased four times on average "
        "for that (docs/endurance.md). Give more requests, a smaller device (--capacity), or another goal."
    ),
    "wa": "the workload writes nothing in the part that is searched, so there is none. Give another goal.",
}
"""Why there may be no figure for a goal."""
_NO_RESPONSE = (
    "the workload neither reads nor writes in the part that is searched, so there is no response time. Give a workload "
    "that does, or more of its requests."
)
"""Why there may be none for a goal that is a response time."""


class Search:
    """One search over a space."""

    def __init__(self, asked: Asked, space: Space, runner: Runner, executor: Local, found: Found, clock: Clock) -> None:
        self._asked, self._space, self._runner, self._executor = asked, space, runner, executor
        self._clock = clock
        self._lengths = prefixes(found.requests)
        self._precondition = ""
        self._objectives = asked.metrics
        self._proposer = _optuna(asked, len(self._objectives))
        self.found = found
        self.tell: Callable[[str], None] = lambda _: None
        """Hears how far the search is."""

    def run(self) -> Found:
        """Search until every part of it is done, the time is over, or Ctrl-C."""
        found = self.found
        try:
            self._propose()
            for requests in self._lengths[1:]:
                if not self._sift(requests):
                    break
            self._finish()
        except KeyboardInterrupt as stop:
            # It may come between two runs, too.
            self._take((stop.finished if isinstance(stop, Interrupted) else None) or {})
            found.interrupted = True
        return found

    def _take(self, measured: Mapping[str, Measured]) -> None:
        """Keep what was finished of a part that was interrupted."""
        if self.found.asked_for:
            self.found.finalists |= {
                stack: each for stack, each in measured.items() if each.is_complete(self._asked.seeds)
            }
        elif self.found.rungs:
            self._note(self.found.rungs[-1], measured)

    def _measure(self, rung: Rung, stacks: Sequence[str], reserved_s: float) -> None:
        self._clock.limit(self._executor, reserved_s)
        rung.begun |= dict.fromkeys(stacks)
        self._note(rung, self._runner.prefix(stacks, rung.requests, rung.precondition))

    def _note(self, rung: Rung, measured: Mapping[str, Measured]) -> None:
        rung.tried |= measured
        most = self._asked.ram_bytes
        for stack, each in measured.items():
            ram = each.mean("ram_bytes")
            if most is not None and ram is not None and ram > most:
                rung.over[stack] = ram

    # The first prefix: proposals.

    def _begin(self) -> Rung:
        """The shortest prefix that tells something of the whole, with the reference run on it."""
        asked, found = self._asked, self.found
        self._clock.limit(self._executor, self._clock.part_s(1 - _LOOKING))
        chosen = ladder(
            self._lengths,
            self._runner.prefix,
            asked.metrics,
            probes=self._space.probes(),
            may_prepare="precondition" not in asked.options,
            affords=self._affords,
        )
        self._lengths, self._precondition, found.whole = chosen.lengths, chosen.precondition, chosen.whole
        found.unlike = chosen.unlike
        rung = self._rung(self._lengths[0])
        self._measure(rung, [REFERENCE], 0.0)
        there = [
            each.point(asked.metrics, is_exact=True).costs
            for each in (rung.tried.get(REFERENCE), chosen.whole)
            if each and each.rows
        ]
        if there:
            if all(asked.metric not in each for each in there):
                raise UserError(f"--goal {asked.goal}: {_LACKING.get(asked.goal, _NO_RESPONSE)}")
            self._objectives = [metric for metric in asked.metrics if metric in there[0]]
            self._proposer = _optuna(asked, len(self._objectives))
        return rung

    def _affords(self, whole: Sequence[Measured]) -> bool:
        """Whether there is time to try enough stacks on the whole part, by what these took there."""
        took = [wall_s(each, 1.0) for each in whole if each.rows]
        if not self._clock.is_running or not took:
            return True
        return self._clock.part_s(_TRYING) * self._executor.checks >= _ENOUGH * sum(took) / len(took)

    def _rung(self, requests: int) -> Rung:
        """A prefix; the whole part that is searched is prepared as asked, whatever the others are."""
        rung = Rung(requests, "" if requests == self._lengths[-1] else self._precondition)
        self.found.rungs.append(rung)
        return rung

    def _propose(self) -> None:
        rung = self._begin()
        beginnings = self._enqueue(first(self._space))
        most, count = self._asked.trials or TRIALS, 0
        while count < most and not self.found.dry:
            batch = self._batch(rung, min(BATCH, most - count))
            self._try(rung, list(batch))
            for stack, trial in batch.items():
                self._learn(trial, rung.tried.get(stack))
            count += len(batch)
            there = sum(bool(each.rows) for each in rung.tried.values())
            failed = f", {len(rung.failed)} failed" if rung.failed else ""
            self.tell(f"{_stacks(there)} measured on the first {rung.requests:,} requests{failed}")
            if count >= beginnings > 0:
                self._refuse_little_ram(rung)
                self._fill(rung)
                beginnings = 0
            if self._reserved_s(rung) >= self._clock.left_s:
                break
        if not self.found.of(rung):
            self._refuse(rung)
        self._simplify(rung)

    def _try(self, rung: Rung, stacks: Sequence[str]) -> None:
        """Run proposals: all at once, or with a budget a few, since what they take tells how many there is time for."""
        few = _FEW * self._executor.checks if self._clock.is_running else max(1, len(stacks))
        for place in range(0, len(stacks), few):
            if place and self._reserved_s(rung) >= self._clock.left_s:
                return
            self._measure(rung, stacks[place : place + few], self._reserved_s(rung))

    def _simplify(self, rung: Rung) -> None:
        """Try those that would go on without what may do nothing: settings, and half of their RAM.

        Of equals the simpler one goes on, and one with less RAM that does as well beats the other.
        """
        for _ in range(_SIMPLER):
            going = [point.stack for point in halving.halve(self._points(rung), self._asked.metrics).kept]
            tried = [each for stack in going for each in (*self._space.simpler(stack), *self._space.smaller(stack))]
            new = [stack for stack in dict.fromkeys(tried) if stack not in rung.tried]
            if not new or self._clock.left_s <= self._rest_s(rung):
                return
            self._measure(rung, new, self._rest_s(rung))

    def _enqueue(self, proposals: Sequence[Mapping[str, str | int]]) -> int:
        for params in proposals:
            self._proposer.enqueue_trial(dict(params))
        return len(proposals)

    def _fill(self, rung: Rung) -> None:
        """Propose all the RAM that may be taken, now that it is known what mappings take beside their caches."""
        if self._asked.ram_bytes is not None:
            there = {stack: each.mean("ram_bytes") for stack, each in rung.tried.items()}
            self._enqueue(filling(self._space, self._asked.ram_bytes, there.get))

    def _batch(self, rung: Rung, most: int) -> dict[str, Any]:
        """New stacks, each with the trial that proposed it."""
        found: dict[str, Any] = {}
        for _ in range(PROPOSALS * most):
            trial = self._proposer.ask()
            stack = self._space.ask(_Trial(trial))
            if stack in rung.tried or stack in found:
                self._learn(trial, rung.tried.get(stack))
                continue
            found[stack] = trial
            if len(found) == most:
                return found
        self.found.dry = True
        return found

    def _learn(self, trial: Any, measured: Measured | None) -> None:  # noqa: ANN401 - a trial of Optuna
        """Tell Optuna what a trial came to; one that failed or was not run is told as failed."""
        point = None if measured is None or not measured.rows else measured.point(self._objectives)
        if point is None or len(point.costs) < len(self._objectives):
            self._proposer.tell(trial, state=optuna.trial.TrialState.FAIL)
            return
        if self._asked.ram_bytes is not None:
            trial.set_constraint("ram", point.ram - self._asked.ram_bytes)
        self._proposer.tell(trial, [point.ram, *(point.costs[metric] for metric in self._objectives)])

    def _refuse_little_ram(self, rung: Rung) -> None:
        """Raise a `UserError` if every candidate takes more RAM than asked for."""
        if rung.over and not self.found.of(rung):
            stack, least = min(rung.over.items(), key=lambda pair: pair[1])
            raise self._asked.too_little_ram(stack, least, len(rung.tried))

    def _refuse(self, rung: Rung) -> None:
        """Raise why there is nothing to choose from."""
        self._refuse_little_ram(rung)
        if rung.unfinished:
            raise self._clock.too_short(
                f"the workload was looked over, but no stack had been run over its first {rung.requests:,} requests"
            )
        raise UserError(next(iter(rung.failed.values()), "no stack could be tried. Name some with --ftl."))

    # The longer prefixes.

    def _points(self, rung: Rung) -> list[Point]:
        return [each.point(self._asked.metrics) for each in self.found.of(rung)]

    def _sift(self, requests: int) -> bool:
        """Run those that go on over a longer prefix; whether there was time for all of them."""
        before = self.found.rungs[-1]
        before.halved = self._going(before, requests)
        going = [point.stack for point in before.halved.kept]
        rung = self._rung(requests)
        self.tell(f"now {_stacks(len(going))} on the first {requests:,} requests")
        # The reference first: without it there is nothing to compare with; then the best, should time end.
        best = [point.stack for point in ranked(before.halved.kept, self._asked)[:_BEST]]
        self._measure(rung, list(dict.fromkeys([REFERENCE, *best, *going])), self._final_s(before, going))
        return not rung.unfinished

    def _going(self, rung: Rung, requests: int) -> Halved:
        """Those that go on to a longer prefix, as many as there is time for."""

        def fits(stacks: Sequence[str]) -> bool:
            takes = self._wall_s(rung, stacks, requests) + self._final_s(rung, stacks)
            return takes <= self._clock.left_s

        points = self._points(rung)
        best = [point.stack for point in ranked(points, self._asked)[:_BEST]]
        return halving.within(points, self._asked.metrics, fits, best)

    def _rest_s(self, rung: Rung) -> float:
        """About how long the longer prefixes and the held-out part would take from here, within bounds."""
        points = self._points(rung)
        if not self._clock.is_running or not points:
            return 0.0
        going = [point.stack for point in halving.halve(points, self._asked.metrics).kept]
        total, many = 0.0, len(going)
        for requests in self._lengths[self._lengths.index(rung.requests) + 1 :]:
            total += self._wall_s(rung, going[:many], requests)
            many = max(halving.LEAST, many // halving.SHARE)
        least, most = (self._clock.part_s(share) for share in _SHARES)
        return min(max(total + self._final_s(rung, going), least), most)

    def _reserved_s(self, rung: Rung) -> float:
        """What proposals leave of the time: for the rest, and for simpler forms of those that go on."""
        return self._rest_s(rung) + self._clock.part_s(_SIMPLIFYING)

    def _final_s(self, rung: Rung, going: Sequence[str]) -> float:
        return self._told_s(rung, going[:_RESERVED])

    def _wall_s(self, rung: Rung, stacks: Sequence[str], requests: int) -> float:
        longer = requests / rung.requests
        runs = [wall_s(rung.tried[stack], longer) for stack in stacks]
        # Whatever the number of cores, the longest run has to end.
        return self._pace(rung) * max(sum(runs) / self._executor.checks, max(runs, default=0.0))

    def _pace(self, rung: Rung) -> float:
        """How long the reference took on the whole, over what its run on a prefix makes one expect; within bounds."""
        whole, part = self.found.whole, rung.tried.get(REFERENCE)
        if whole is None or part is None or not part.rows or rung.requests == self.found.searched:
            return 1.0
        expected = wall_s(part, self.found.searched / rung.requests)
        return min(max(wall_s(whole, 1.0) / expected, 1 / _OFF), _OFF) if expected else 1.0

    # The held-out part.

    def _finish(self) -> None:
        found, rung = self.found, self.found.last
        points = self._points(rung)
        best = ranked(points, self._asked)
        rung.halved = halving.halve(points, self._asked.metrics, FINALISTS)
        order = [best[0].stack, REFERENCE, *(point.stack for point in rung.halved.kept)] if best else []
        measured = [stack for stack in dict.fromkeys(order) if stack in rung.tried and rung.tried[stack].rows]
        found.asked_for = measured
        self._clock.limit(self._executor, 0.0)
        waiting, pace, least = measured, 1.0, _TOLD
        while waiting and self._clock.left_s > 0:
            many = len(waiting)
            while many > least and pace * self._told_s(rung, waiting[:many]) > self._clock.left_s:
                many -= 1
            if not many:
                break
            held = f"on the {found.requests - found.searched:,} requests that were held out"
            self.tell(f"now {_stacks(many)} {held}")
            begun_s, expected = self._clock.left_s, self._told_s(rung, waiting[:many])
            found.finalists |= self._runner.held_out(waiting[:many], found.searched, self._asked.seeds)
            there = sum(bool(found.finalists[stack].rows) for stack in waiting[:many] if stack in found.finalists)
            if there < many:
                self.tell(f"{there} of {_stacks(many)} measured {held}")
            # What the first ones took tells whether there is time for more.
            pace = (begun_s - self._clock.left_s) / expected if expected else 1.0
            waiting, least = waiting[many:], 0

    def _told_s(self, rung: Rung, stacks: Sequence[str]) -> float:
        """About how long stacks take on the held-out part with all seeds."""
        return self._asked.seeds * self._wall_s(rung, stacks, self.found.requests)


def _stacks(number: int) -> str:
    return "1 stack" if number == 1 else f"{number} stacks"


class _Trial:
    """A trial of Optuna as what the space asks."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of some words."""
        return str(self._trial.suggest_categorical(name, list(choices)))

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """A whole number."""
        return self._trial.suggest_int(name, low, high)


def _optuna(asked: Asked, metrics: int) -> optuna.Study:
    """What proposes: TPE over RAM and so many metrics, seeded."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=of_32_bits(asked.options.get("seed", 1)))
    return optuna.create_study(directions=["minimize"] * (1 + metrics), sampler=sampler)
