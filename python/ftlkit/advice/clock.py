"""The time of a search: how much is left, how long runs take, and when they are given up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._util.native_call import TimeIsUp
from ftlkit._util.progress import BUDGET, State, Watcher
from ftlkit._util.units import typed
from ftlkit.advice.choice import LEAST, halve, ranking
from ftlkit.advice.measure import Measured, wall_s
from ftlkit.advice.query import REFERENCE, Query, TooShortError, duration
from ftlkit.advice.search_result import SHARE, Rung, SearchResult

if TYPE_CHECKING:
    from ftlkit.sweeps.local import Local


ANSWERING_S, DRAWING_S = 2.0, 8.0
"""What a budget keeps for the answer, and for the page with its drawings, where nothing else runs.

The drawing libraries and a first page took 7 s of processor time.
"""
_SLOWEST = 4.0
"""A process that has hardly begun may have waited for its files: no more is kept for that."""
_BUSY = 2.0
"""From this slowness on the machine is told to be the reason."""
_LOOKING_OVER_S = 4.0
"""Processor time from which on device and workload are looked over and the first stacks measured.

With less there would be nothing to answer.
"""
_KEPT, _MOST = 0.02, 0.3
"""The share of the budget that is kept besides, and the most that is kept of a short one."""
FIRST_HELD_OUT = 2
"""Number of stacks that run on the held-out part in any case."""
_OFF = 5.0
"""The factor by which a time is off at most."""
RESERVED = 5
"""Number of finalists for which the search reserves time."""
_SCARCE, _FITS, _AS_LONG = 0.25, 0.7, 2.0
"""Where the defaults take more of the time on the held-out part, they are measured there first.

That is if they take no more than so much of what is left, or whole runs at most this many times as
long as those on the first prefix.
"""
_SLOWER = 2.0
"""Assumed time of another stack as a multiple of the reference's, without a measurement."""
_REQUIRED = 0.4
"""The most of the time that is reserved for what is held out whatever else is."""
_LATE = 1.5
"""How much longer than expected the first ones there may take: what runs beside them changes."""
_SURVEYED = 0.5
"""Trying every mapping once leaves at most this share of the time to the held-out part."""
_SIMPLIFYING = 0.15
"""The share of the time that proposals leave to stacks that are made of the best ones."""
_SHARES = (0.35, 0.7)
"""The least and the most of the time that the first prefix leaves, whatever the estimate."""


def process_began_s() -> float:
    """When this process began, on `time.monotonic`'s clock; now if the system does not tell."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        # The 22nd field, in ticks since the machine started; the name before it may have spaces.
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.monotonic() - max(0.0, age_s)
    return time.monotonic()


def slowness(began_s: float, worked_s: float = 0.0) -> float:
    """How many times as long as its work this process has taken since then, 1 or more.

    `worked_s` is its processor time by then. Where other work runs, the rest takes as much longer.
    """
    worked_s = time.process_time() - worked_s
    return max((time.monotonic() - began_s) / worked_s, 1.0) if worked_s > 0 else 1.0


class Clock:
    """Counts from when the search was asked for; without a budget there is always time.

    The budget is of all that is done, so the search ends earlier by the seconds it takes to answer:
    `answering_s`, times the slowness of the machine.
    """

    def __init__(self, budget_s: float | None, begun_s: float, answering_s: float = 0.0, slowness: float = 1.0) -> None:
        self._budget_s, self._begun_s, self._slowness = budget_s, begun_s, slowness
        share = budget_s or 0.0
        kept_s = min(slowness, _SLOWEST) * answering_s + _KEPT * share
        self._kept_s = min(kept_s, _MOST * share) if answering_s else 0.0
        self.beyond_s = max(0.0, slowness * answering_s - self._kept_s) if self.is_running else 0.0
        """How much longer than is kept for it the answer takes at this slowness."""
        self._later_s = 0.0
        self.explain: Callable[[float], tuple[str, str]] = lambda _: ("", "")
        """Why such a budget is too short, and what to give instead; empty if that is not known."""

    @property
    def is_running(self) -> bool:
        """Whether there is a budget."""
        return self._budget_s is not None

    @property
    def ends_s(self) -> float | None:
        """When the time of the search is over, on `time.monotonic`'s clock; None: never."""
        return None if self._budget_s is None else self._begun_s + self._budget_s - self._kept_s - self._later_s

    @property
    def left_s(self) -> float:
        """The seconds that are left, below 0 where the time is over; infinite without a budget."""
        return float("inf") if self.ends_s is None else self.ends_s - time.monotonic()

    @property
    def is_scarce(self) -> bool:
        """Whether a search could not begin in the processor time that is left."""
        return self.left_s < _LOOKING_OVER_S * self._slowness

    def part_s(self, share: float) -> float:
        """A share of the budget, in seconds; 0 without one."""
        return share * (self._budget_s or 0.0)

    def keep(self, share: float) -> None:
        """Keep a share of the budget for what follows the search; 0 gives it back."""
        self._later_s = self.part_s(share)

    def keep_half(self) -> None:
        """Keep half of the time left for first figures, should a look over take the other half."""
        self._later_s = max(0.0, self.left_s) / 2 if self.is_running else 0.0

    def check(self) -> None:
        """Raise `TimeIsUp` when the time is over."""
        if self.left_s <= 0:
            raise TimeIsUp

    def counting(self, watch: Callable[[], Watcher]) -> Callable[[], Watcher]:
        """What shows the time spent of the budget instead of how many runs of a part are done."""
        if self._budget_s is None:
            return watch
        budget_s, begun_s = max(1, round(self._budget_s)), self._begun_s

        def counted() -> Watcher:
            watcher = watch()
            shown = watcher.show

            def show(state: State) -> None:  # noqa: ARG001 - what a watcher is shown
                shown([(BUDGET, min(int(time.monotonic() - begun_s), budget_s), budget_s)])

            watcher.show = show  # type: ignore[method-assign] # of this one alone
            return watcher

        return counted

    def limit(self, executor: Local, reserved_s: float) -> None:
        """Let runs go on until so many seconds are left."""
        executor.until_s = None if self.ends_s is None else self.ends_s - max(0.0, reserved_s)

    def too_short(self, what: str, *, fewer: bool = True) -> TooShortError:
        """An error that says what the time was enough for; `fewer`: fewer requests would help."""
        took = typed(duration(time.monotonic() - self._begun_s))
        why, instead = self.explain(self._budget_s or 0.0)
        busy = f" The machine left it {100 / self._slowness:.0f} % of a core." if self._slowness >= _BUSY else ""
        return TooShortError(
            f"--budget {typed(duration(self._budget_s or 0.0))}",
            f"After {took} {what}.",
            f"{busy}{why and f' {why}'} Give {instead or 'several times as much'}"
            f"{', or fewer requests (--requests)' if fewer and not instead else ''}.",
        )


class RunTimes:
    """About how long the runs take that a search is still to make, by what earlier ones took."""

    def __init__(self, query: Query, result: SearchResult, executor: Local, clock: Clock) -> None:
        self._query, self._result, self._executor, self._clock = query, result, executor, clock
        self.held_out_pace = 1.0
        """How long runs on the held-out part took, over what was expected."""
        self._runs, self._beside_s = 0, 0.0

    def took(self, elapsed_s: float, runs: Collection[Measured]) -> None:
        """Note how long runs took that were made together: each takes some time beside itself."""
        served_s = sum(wall_s(measured, 1.0) for measured in runs if measured.rows)
        self._runs += len(runs)
        self._beside_s += max(0.0, elapsed_s * self._executor.checks - served_s)

    def survey_s(self, rung: Rung) -> float:
        """What trying every mapping leaves of the time: held-out runs of the best and the defaults.

        Without those of the two best there is no answer that was held against another.
        """
        if not self._clock.is_running:
            return 0.0
        best = ranking(self._query, self._result, rung)[:FIRST_HELD_OUT]
        needed = min(_LATE * self.runs_s(rung, best, self._result.requests), self._clock.part_s(_SURVEYED))
        required = self.runs_s(rung, [*best, *self._required(best)], self._result.requests)
        return max(needed, min(required, self._clock.part_s(_REQUIRED)))

    def rest_s(self, rung: Rung) -> float:
        """About how long longer prefixes and the held-out part would still take, within bounds."""
        points = self._result.points(rung, self._query.metrics)
        if not self._clock.is_running or not points:
            return 0.0
        going = [point.stack for point in halve(points, self._query.metrics).kept]
        total, many = 0.0, len(going)
        for requests in self._result.lengths[self._result.lengths.index(rung.requests) + 1 :]:
            total += self.runs_s(rung, going[:many], requests)
            many = max(LEAST, many // SHARE)
        least, most = (self._clock.part_s(share) for share in _SHARES)
        return min(max(total + self.final_s(rung, going), least), most)

    def reserved_s(self, rung: Rung) -> float:
        """The time that proposals leave for the rest, and for simpler forms of those that go on."""
        return self.rest_s(rung) + self._clock.part_s(_SIMPLIFYING)

    def final_s(self, rung: Rung, going: Sequence[str]) -> float:
        """About how long the held-out part takes for the first of those that go on."""
        most_s = self._clock.part_s(_REQUIRED) if self._clock.is_running else float("inf")
        first = going[:RESERVED]
        return self.held_out_s(rung, first) + min(most_s, self.held_out_s(rung, self._required(first)))

    def waiting_s(self, rung: Rung, stacks: Sequence[str]) -> float:
        """About how long those stacks take there that were not run; no more than is kept."""
        waiting = [stack for stack in stacks if stack not in self._result.finalists]
        most_s = self._clock.part_s(_REQUIRED) if self._clock.is_running else float("inf")
        return min(most_s, self.held_out_paced_s(rung, waiting))

    def _required(self, stacks: Sequence[str]) -> list[str]:
        """What is held out whatever else is, without some stacks."""
        return [stack for stack in self._result.defaults if stack not in (*stacks, *self._result.finalists)]

    def is_scarce(self, rung: Rung) -> bool:
        """Whether a run takes so long that there is time for few more than those of the defaults.

        And for them there has to be, unless a prefix takes about as long as everything does.
        """
        known = [stack for stack, measured in rung.tried.items() if measured.rows]
        whole_s, part_s = (self._served_s(rung, known, many) for many in (self._result.requests, rung.requests))
        if not self._clock.is_running or not known:
            return False
        takes_s = len(self._result.defaults) * whole_s / max(len(known), self._executor.checks)
        takes_s *= _SLOWER if known == [REFERENCE] else 1.0
        fits = takes_s <= _FITS * self._clock.left_s or _AS_LONG * part_s >= whole_s
        return takes_s > self._clock.part_s(_SCARCE) and fits

    def runs_s(self, rung: Rung, stacks: Sequence[str], requests: int) -> float:
        """Estimated time of stacks over this many requests, by their runs on a prefix."""
        known = sum(stack in rung.tried or self._result.known(stack) is not None for stack in stacks)
        beside_s = known * self._beside_s / max(1, self._runs) / self._executor.checks
        return beside_s + self._served_s(rung, stacks, requests)

    def _served_s(self, rung: Rung, stacks: Sequence[str], requests: int) -> float:
        """The same, without what a run takes beside itself."""
        known = [(rung, rung.tried[stack]) if stack in rung.tried else self._result.known(stack) for stack in stacks]
        runs = [wall_s(measured, requests / there.requests) for there, measured in filter(None, known) if measured.rows]
        # Whatever the number of cores, the longest run has to end.
        return self._pace(rung) * max(sum(runs) / self._executor.checks, max(runs, default=0.0))

    def _pace(self, rung: Rung) -> float:
        """The reference's time on the whole over that expected by its prefix, within bounds."""
        whole, part = self._result.whole, rung.tried.get(REFERENCE)
        if whole is None or part is None or not part.rows or rung.requests == self._result.searched:
            return 1.0
        expected = wall_s(part, self._result.searched / rung.requests)
        return min(max(wall_s(whole, 1.0) / expected, 1 / _OFF), _OFF) if expected else 1.0

    def beyond_s(self, rung: Rung, many: int) -> float:
        """About how long the `many` best of a prefix take on longer ones and the held-out part."""
        best = ranking(self._query, self._result, rung)[:many]
        longer = [other.requests for other in self._result.rungs if other.requests > rung.requests]
        there_s = self.held_out_paced_s(rung, best)
        return sum(self.runs_s(rung, best, requests) for requests in longer) + there_s

    def held_out_s(self, rung: Rung, stacks: Sequence[str]) -> float:
        """About how long stacks take on the held-out part with the seeds that are run."""
        return self._result.seeds * self.runs_s(rung, stacks, self._result.requests)

    def held_out_paced_s(self, rung: Rung, stacks: Sequence[str]) -> float:
        """The same, by how long the runs took that were made there."""
        return self.held_out_pace * self.held_out_s(rung, stacks)

    def on_and_held_out_s(self, rung: Rung, stacks: Sequence[str], requests: int) -> float:
        """About how long stacks take over a longer prefix and then on the held-out part."""
        return self.runs_s(rung, stacks, requests) + self.held_out_s(rung, stacks)

    def again_s(self, rung: Rung, stack: str, many: int) -> float:
        """Estimated time of this many stacks like one over the same prefix."""
        return self.runs_s(rung, [stack] * many, rung.requests)
