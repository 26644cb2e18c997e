"""Runs native work in a thread of its own and watches it from the caller's.

The native functions release the GIL, so the watching thread stays free to draw progress and to hear
Ctrl-C. An interrupt asks the work to stop and waits for what it has finished; it never kills a
thread.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ftlkit._native import Control

if TYPE_CHECKING:
    from ftlkit._util.progress import Watcher

T = TypeVar("T")

POLL_S = 0.1
"""How often the work is polled. Shorter wastes wake-ups; longer makes Ctrl-C feel stuck."""


PATIENCE_S = 10.0
"""How long cancelled work may take to hand over finished runs. A second Ctrl-C ends it."""

BRIEF_S = 0.7
"""How long it may take when nothing is finished; then it is left behind."""


class Interrupted(KeyboardInterrupt, Generic[T]):
    """Ctrl-C stopped the work; `finished` is its result so far, if any.

    `unfinished` is what work that does not end had when it last told.
    """

    def __init__(self, finished: T | None, unfinished: str | None = None) -> None:
        super().__init__("interrupted")
        self.finished = finished
        self.unfinished = unfinished


class TimeIsUp(Exception):
    """Work was not done in the time that there was, and was asked to stop."""


class _Worker(threading.Thread, Generic[T]):
    """One call in a thread, with its result or its exception kept."""

    def __init__(self, work: Callable[[Control], T], control: Control) -> None:
        super().__init__(name="ftlkit", daemon=True)
        self._work = work
        self._control = control
        self._result: list[T] = []
        self._error: BaseException | None = None
        self.ended = threading.Event()
        """Waited for, since before Python 3.13 an interrupted `join` takes a thread for ended."""

    def run(self) -> None:
        """Do the work; a Rust panic arrives as a BaseException and is kept as well."""
        try:
            self._result.append(self._work(self._control))
        except BaseException as error:  # noqa: BLE001 - raised again in the watching thread
            self._error = error
        finally:
            self.ended.set()

    def take(self) -> T:
        """The result, or the exception raised again; call after the thread has ended."""
        if self._error is not None:
            raise self._error
        return self._result[0]

    def taken_if_finished(self) -> T | None:
        """The result, or nothing when the work failed: an interrupted call often does."""
        return self._result[0] if self._result else None


def _finished_any(control: Control) -> bool:
    return any(0 < total <= done for _, done, total in control.progress())


def watched(
    work: Callable[[Control], T],
    watcher: Watcher,
    *,
    keeps_unfinished: bool = False,
    hands_over: bool = True,
    until_s: float | None = None,
) -> T:
    """Do native work while `watcher` shows its progress.

    Raises what the work raises, and `Interrupted` on Ctrl-C with the part that was finished.
    `keeps_unfinished` is for work that has something to hand over whenever it is stopped, and
    `hands_over` is false for work that has nothing unless it is done. With `until_s`, on
    `time.monotonic`'s clock, work that is not done by then is stopped, and `TimeIsUp` raised.
    """
    control = Control()
    worker = _Worker(work, control)
    worker.start()
    with watcher:
        try:
            while not worker.ended.wait(POLL_S):
                watcher.show(control.progress())
                if until_s is not None and time.monotonic() > until_s:
                    control.cancel()
                    worker.ended.wait(BRIEF_S)
                    raise TimeIsUp
        except KeyboardInterrupt:
            control.cancel()
            watcher.stopping()
            has_something = keeps_unfinished or (hands_over and _finished_any(control))
            worker.ended.wait(PATIENCE_S if has_something else BRIEF_S)
            raise Interrupted(worker.taken_if_finished(), control.unfinished()) from None
    return worker.take()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Answer Ctrl-C and SIGTERM at the end: in the middle of Polars they became a `TypeError`."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread hears them.
        return
    heard: list[int] = []
    usual = {
        number: signal.signal(number, lambda number, _: heard.append(number)) or signal.SIG_DFL
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])


def asked(work: Callable[[Control], str], watcher: Watcher | None) -> dict[str, Any]:
    """What native work answers, read from its JSON."""
    from ftlkit._util.progress import Silent  # noqa: PLC0415 - rich's bars, which help does not need

    answer: dict[str, Any] = json.loads(watched(work, watcher or Silent()))
    return answer
