"""The time of a search: how much is left of it, and when runs are given up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.advice.asked import duration
from ftlkit.units import typed

if TYPE_CHECKING:
    from ftlkit.sweep.local import Local


class Clock:
    """Counts from when the search was asked for; without a budget there is always time."""

    def __init__(self, budget_s: float | None, begun_s: float) -> None:
        self._budget_s, self._begun_s = budget_s, begun_s

    @property
    def is_running(self) -> bool:
        """Whether there is a budget."""
        return self._budget_s is not None

    @property
    def ends_s(self) -> float | None:
        """When the time is over, on `time.monotonic`'s clock; None: never."""
        return None if self._budget_s is None else self._begun_s + self._budget_s

    @property
    def left_s(self) -> float:
        """The seconds that are left, below 0 where the time is over; infinite without a budget."""
        return float("inf") if self.ends_s is None else self.ends_s - time.monotonic()

    def part_s(self, share: float) -> float:
        """A share of the budget, in seconds; 0 without one."""
        return share * (self._budget_s or 0.0)

    def limit(self, executor: Local, reserved_s: float) -> None:
        """Let runs go on until so many seconds are left."""
        executor.until_s = None if self.ends_s is None else self.ends_s - max(0.0, reserved_s)

    def too_short(self, what: str) -> UserError:
        """An error that says what the time was enough for."""
        took = typed(duration(time.monotonic() - self._begun_s))
        return UserError(
            f"--budget {typed(duration(self._budget_s or 0.0))}: too short to try anything. After {took} {what}. Give "
            "several times as much, or fewer requests (--requests)."
        )
