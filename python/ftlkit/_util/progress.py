"""Progress for people: bars on a terminal, a plain line every few seconds elsewhere.

Everything goes to standard error, so that standard output stays the result alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text
from typing_extensions import Self

from ftlkit._util import units

if TYPE_CHECKING:
    from rich.console import Console

State = list[tuple[str, int, int]]
"""(label, done, total) of every piece of work; total is 0 while unknown.

The list changes when a study goes from surveying its workload to running.
"""

SURVEY = "workload"
PRECONDITION = " (precondition)"
LINE_EVERY_S = 5.0
NARROW_COLUMNS = 72
BUDGET = "budget"
"""The label of seconds that are spent of a budget: neither a rate nor what is left is news."""


class Watcher:
    """What shows the progress of native work; this one shows nothing, as for Python by default."""

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop showing."""

    def show(self, state: State) -> None:
        """Show the present state; called several times a second."""

    def stopping(self) -> None:
        """Say that the work was asked to stop."""


Silent = Watcher


@dataclass
class _Pace:
    """When a run was first seen to move, and its speed until it last moved."""

    started_s: float | None = None
    first_done: int = 0
    rate: float = 0.0
    finished: bool = False

    def update(self, done: int, total: int, now_s: float) -> None:
        """Take a reading; the clock starts with the run, so waiting for a core does not count."""
        if done < self.first_done:
            # The survey of a next workload counts from the beginning.
            self.started_s, self.first_done, self.rate = None, 0, 0.0
        if done and self.started_s is None:
            self.started_s, self.first_done, self.rate = now_s, done, 0.0
        elif self.started_s is not None and now_s > self.started_s and not self.finished:
            self.finished = 0 < total <= done
            self.rate = (done - self.first_done) / (now_s - self.started_s)


class _Rate(ProgressColumn):
    """Requests per second and the time left."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        spent = _spent(task.completed, task.total or 0) if task.description == BUDGET else ""
        text = spent or _pace_text(task.completed, task.total or 0, task.fields["pace"])
        return Text(text, style="progress.data.speed")


def _spent(done: float, total: float) -> str:
    """What is spent of a budget."""
    return f"{units.count(done)} of {units.count(total)} s used"


def _pace_text(done: float, total: float, pace: _Pace) -> str:
    if not pace.rate:
        return "waiting" if not done else ""
    text = f"{units.rate(pace.rate)}/s"
    if 0 < done < total:
        text += f", {units.duration((total - done) / pace.rate * 1e9)} left"
    return text


def stages(state: State) -> list[tuple[str, str, int, int]]:
    """One line per run, as (run, label, done, total): first preconditioning, then the run.

    The survey of the workload is shown only while it is all there is.
    """
    done_by = {label: done for label, done, _ in state}
    lines = []
    for label, done, total in state:
        run = label.removesuffix(PRECONDITION)
        if label != run and done_by.get(run, 0):
            continue
        if label == run and not done and done_by.get(label + PRECONDITION) is not None:
            continue
        lines.append((run, label, done, total))
    return [line for line in lines if line[0] != SURVEY] or lines


class Bars(Watcher):
    """One bar a run."""

    def __init__(self, console: Console) -> None:
        columns: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn(bar_width=None)]
        columns += [TaskProgressColumn()] if console.width < NARROW_COLUMNS else [TaskProgressColumn(), _Rate()]
        self._progress = Progress(*columns, console=console, expand=True, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, _Pace] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def show(self, state: State) -> None:
        """Move the bars."""
        now_s = time.monotonic()
        lines = stages(state)
        for gone in self._tasks.keys() - {run for run, *_ in lines}:
            self._progress.remove_task(self._tasks.pop(gone))
        for run, label, done, total in lines:
            pace = self._paces.setdefault(label, _Pace())
            pace.update(done, total, now_s)
            if run not in self._tasks:
                self._tasks[run] = self._progress.add_task("", total=None, pace=pace)
            self._progress.update(
                self._tasks[run], description=escape(label), completed=done, total=total or None, pace=pace
            )

    def stopping(self) -> None:
        """Say that the work was asked to stop."""
        self._progress.console.print("Stopping.")


@dataclass
class Lines(Watcher):
    """A line every few seconds, for logs."""

    console: Console
    _last_s: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - looked up when called
    _paces: dict[str, _Pace] = field(default_factory=dict)
    _last: str = ""

    def show(self, state: State) -> None:
        """Print a line if the last one is old enough."""
        now_s = time.monotonic()
        lines = stages(state)
        for _, label, done, total in lines:
            self._paces.setdefault(label, _Pace()).update(done, total, now_s)
        if now_s - self._last_s < LINE_EVERY_S:
            return
        self._last_s = now_s
        texts = [_line(label, done, total, self._paces[label]) for _, label, done, total in lines]
        line = units.typed("; ".join(texts))
        if line != self._last:
            self.console.print(line, soft_wrap=True, markup=False, highlight=False)
        self._last = line

    def stopping(self) -> None:
        """Say that the work was asked to stop."""
        self.console.print("Stopping.")


def _line(label: str, done: int, total: int, pace: _Pace) -> str:
    if label == BUDGET:
        return _spent(done, total)
    if total and done >= total:
        return f"{label}: done"
    amount = f"{units.share(done / total)} of {units.count(total)}" if total else units.count(done)
    speed = _pace_text(done, total, pace)
    return f"{label}: {amount}, {speed}" if speed else f"{label}: {amount}"


def watcher(console: Console) -> Watcher:
    """The watcher that suits a console."""
    return Bars(console) if console.is_terminal else Lines(console)
