"""The time of a search: how much is left of it, and when runs are given up."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util.native_call import TimeIsUp
from ftlkit._util.units import typed
from ftlkit.advice.query import duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from ftlkit._util.progress import State, Watcher
    from ftlkit.sweeps.local import Local


ANSWERING_S, DRAWING_S = 2.0, 4.0
"""What a budget keeps for the answer, and for the page with its drawings, on a busy machine."""
_SLOWEST = 4.0
"""A process that has hardly begun may have waited for its files, and says no more than that."""
_KEPT, _MOST = 0.02, 0.3
"""The share of the budget that is kept besides, and the most that is kept of a short one."""


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

    @property
    def is_running(self) -> bool:
        """Whether there is a budget."""
        return self._budget_s is not None

    @property
    def ends_s(self) -> float | None:
        """When the time of the search is over, on `time.monotonic`'s clock; None: never."""
        return None if self._budget_s is None else self._begun_s + self._budget_s - self._kept_s

    @property
    def left_s(self) -> float:
        """The seconds that are left, below 0 where the time is over; infinite without a budget."""
        return float("inf") if self.ends_s is None else self.ends_s - time.monotonic()

    def part_s(self, share: float) -> float:
        """A share of the budget, in seconds; 0 without one."""
        return share * (self._budget_s or 0.0)

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
        return UserError(
            f"--budget {typed(duration(self._budget_s or 0.0))}: too short to try anything. After {took} {what}. Give "
            f"several times as much{', or fewer requests (--requests)' if fewer else ''}."
        )


class _Spent:
    """Shows the seconds that are spent of a budget, whatever runs meanwhile."""

    def __init__(self, watcher: Watcher, budget_s: float, begun_s: float) -> None:
        self._watcher, self._budget_s, self._begun_s = watcher, budget_s, begun_s

    def __enter__(self) -> Self:
        self._watcher.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.__exit__(kind, error, trace)

    def show(self, state: State) -> None:  # noqa: ARG002 - what a watcher is shown
        """Show the time."""
        budget_s = max(1, round(self._budget_s))
        spent_s = min(int(time.monotonic() - self._begun_s), budget_s)
        self._watcher.show([("seconds of the budget", spent_s, budget_s)])

    def stopping(self) -> None:
        """Say that the work was asked to stop."""
        self._watcher.stopping()
