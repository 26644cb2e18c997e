"""The time of a search: how much is left, how long runs take, and when they are given up."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util.native_call import TimeIsUp
from ftlkit._util.progress import BUDGET, Watcher
from ftlkit._util.units import typed
from ftlkit.advice.choice import ranking
from ftlkit.advice.measure import wall_s
from ftlkit.advice.query import REFERENCE, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from typing_extensions import Self

    from ftlkit._util.progress import State
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import Rung, SearchResult
    from ftlkit.sweeps.local import Local


ANSWERING_S, DRAWING_S = 2.0, 4.0
"""What a budget keeps for the answer, and for the page with its drawings, on a busy machine."""
_SLOWEST = 4.0
"""A process that has hardly begun may have waited for its files, and says no more than that."""
_KEPT, _MOST = 0.02, 0.3
"""The share of the budget that is kept besides, and the most that is kept of a short one."""
RESERVED = 5
"""For so many finalists time is reserved while the search goes on."""
_SCARCE, _FITS, _AS_LONG = 0.25, 0.7, 2.0
"""Where the defaults take more of the time on the held-out part, they are measured there first.

That is if they take no more than so much of what is left, or whole runs at most so many times as
long as those on the first prefix.
"""
_SLOWER = 2.0
"""Others take so many times as long as the reference, where nothing else is known of them."""
_HELD_OUT = 0.4
"""The most of the time that is kept for the held-out part while stacks are tried."""


def process_began_s() -> float:
    """When this process began, on `time.monotonic`'s clock; now if the system does not tell."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        # The 22nd field, in ticks since the machine started; the name before it may have spaces.
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.monotonic() - max(0.0, age_s)
    return time.monotonic()


def slowness() -> float:
    """How many times as long as its work this process has taken, from 1 to `_SLOWEST`.

    Where other work runs, the answer takes as much longer.
    """
    worked_s = time.process_time()
    return min(max((time.monotonic() - process_began_s()) / worked_s, 1.0), _SLOWEST) if worked_s else 1.0


class Clock:
    """Counts from when the search was asked for; without a budget there is always time.

    The budget is of all that is done, so the search ends earlier by the seconds it takes to answer.
    """

    def __init__(self, budget_s: float | None, begun_s: float, answering_s: float = 0.0) -> None:
        self._budget_s, self._begun_s = budget_s, begun_s
        share = budget_s or 0.0
        self._kept_s = min(answering_s + _KEPT * share, _MOST * share) if answering_s else 0.0
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

    def part_s(self, share: float) -> float:
        """A share of the budget, in seconds; 0 without one."""
        return share * (self._budget_s or 0.0)

    def keep(self, share: float) -> None:
        """Keep a share of the budget for what follows the search; 0 gives it back."""
        self._later_s = self.part_s(share)

    def check(self) -> None:
        """Raise `TimeIsUp` when the time is over."""
        if self.left_s <= 0:
            raise TimeIsUp

    def counting(self, watch: Callable[[], Watcher]) -> Callable[[], Watcher]:
        """What shows the time spent of the budget instead of how many runs of a part are done."""
        budget_s, begun_s = self._budget_s, self._begun_s
        return watch if budget_s is None else lambda: _Spent(watch(), budget_s, begun_s)

    def limit(self, executor: Local, reserved_s: float) -> None:
        """Let runs go on until so many seconds are left."""
        executor.until_s = None if self.ends_s is None else self.ends_s - max(0.0, reserved_s)

    def too_short(self, what: str, *, fewer: bool = True) -> UserError:
        """An error that says what the time was enough for; `fewer`: fewer requests would help."""
        took = typed(duration(time.monotonic() - self._begun_s))
        why, instead = self.explain(self._budget_s or 0.0)
        return UserError(
            f"--budget {typed(duration(self._budget_s or 0.0))}: too short to try anything. After {took} {what}."
            f"{why and f' {why}'} Give {instead or 'several times as much'}"
            f"{', or fewer requests (--requests)' if fewer and not instead else ''}."
        )


class RunTimes:
    """About how long the runs take that a search is still to make, by what earlier ones took."""

    def __init__(self, query: Query, result: SearchResult, executor: Local, clock: Clock) -> None:
        self._query, self._result, self._executor, self._clock = query, result, executor, clock
        self._runs, self._beside_s = 0, 0.0

    def took(self, elapsed_s: float, runs: Collection[Measured]) -> None:
        """Note how long runs took that were made together: each takes some time beside itself."""
        served_s = sum(wall_s(measured, 1.0) for measured in runs if measured.rows)
        self._runs += len(runs)
        self._beside_s += max(0.0, elapsed_s * self._executor.checks - served_s)

    def kept_s(self, rung: Rung) -> float:
        """What the trials on a part leave to the held-out one: for the best and the defaults."""
        if not self._clock.is_running or rung.is_held_out:
            return 0.0
        best = ranking(self._query, self._result, rung)[:RESERVED]
        needed = [stack for stack in dict.fromkeys([*best, *self._result.defaults]) if self._is_waiting(stack)]
        return min(self.held_out_s(rung, needed), self._clock.part_s(_HELD_OUT))

    def is_scarce(self, rung: Rung) -> bool:
        """Whether a run takes so long that there is time for few more than those of the defaults.

        And for them there has to be, unless a prefix takes about as long as everything does.
        """
        known = [stack for stack, measured in rung.tried.items() if measured.rows]
        if not self._clock.is_running or not known:
            return False
        whole_s, part_s = (self._runs_s(rung, known, many) for many in (self._result.requests, rung.requests))
        takes_s = len(self._result.defaults) * whole_s / max(len(known), self._executor.checks)
        takes_s *= _SLOWER if known == [REFERENCE] else 1.0
        fits = takes_s <= _FITS * self._clock.left_s or _AS_LONG * part_s >= whole_s
        return takes_s > self._clock.part_s(_SCARCE) and fits

    def held_out_s(self, rung: Rung, stacks: Sequence[str]) -> float:
        """About how long stacks take on the held-out part with the seeds that are run."""
        beside_s = len(stacks) * self._beside_s / max(1, self._runs) / self._executor.checks
        return self._result.seeds * (beside_s + self._runs_s(rung, stacks, self._result.requests))

    def _is_waiting(self, stack: str) -> bool:
        return stack not in self._result.finalists

    def _runs_s(self, rung: Rung, stacks: Sequence[str], requests: int) -> float:
        """About how long stacks take over so many requests, by their runs on a prefix."""
        known = [rung.tried[stack] for stack in stacks if stack in rung.tried and rung.tried[stack].rows]
        runs = [wall_s(measured, requests / rung.requests) for measured in known]
        # Whatever the number of cores, the longest run has to end.
        return max(sum(runs) / self._executor.checks, max(runs, default=0.0))


class _Spent(Watcher):
    """Shows the seconds that are spent of a budget, whatever runs meanwhile."""

    def __init__(self, watcher: Watcher, budget_s: float, begun_s: float) -> None:
        self._watcher, self._budget_s, self._begun_s = watcher, budget_s, begun_s

    def __enter__(self) -> Self:
        self._watcher.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._watcher.__exit__(*error)

    def show(self, state: State) -> None:  # noqa: ARG002 - what a watcher is shown
        """Show the time."""
        budget_s = max(1, round(self._budget_s))
        spent_s = min(int(time.monotonic() - self._begun_s), budget_s)
        self._watcher.show([(BUDGET, spent_s, budget_s)])

    def stopping(self) -> None:
        """Say that the work was asked to stop."""
        self._watcher.stopping()
