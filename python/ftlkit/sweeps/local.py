"""Points on the cores of this machine: one worker process each, given one point after the other.

Processes and not threads, so that a point that takes all memory, or brings the interpreter down, is
one failed point. Each process is watched by a thread, which knows which point it died of and begins
that one again in another process; `concurrent.futures` would give up all points that were under
way.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import suppress
from queue import Empty, Queue, SimpleQueue

from ftlkit._util.at_once import at_once
from ftlkit.results.point_state import LOST
from ftlkit.sweeps.work import TRIES, Answer, Job, left_s


class Local:
    """Runs points on this machine."""

    least_readers = 2
    """A trace that only one point reads is read as it is."""

    def __init__(self, workers: int | None = None) -> None:
        self.checks = self.memory_sharers = at_once(workers)
        """As many as points are run."""
        self.until_s: float | None = None
        self._idle: list[subprocess.Popen[str]] = []
        """Workers that wait for the next run: a start takes as long as a small point."""
        weakref.finalize(self, _end, self._idle)

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Yield answers as they come, until the time is over; closing it kills busy workers."""
        waiting: SimpleQueue[Job] = SimpleQueue()
        for job in jobs:
            waiting.put(job)
        answers: Queue[Answer | BaseException] = Queue()
        workers = min(self.checks, len(jobs))
        slots = [_Slot(waiting, answers, self._idle, workers) for _ in range(workers)]
        for slot in slots:
            slot.start()
        try:
            for _ in jobs:
                try:
                    answer = answers.get(timeout=left_s(self.until_s))
                except Empty:
                    return
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            for slot in slots:
                slot.stop()


class _Slot(threading.Thread):
    """A thread with a worker process, which is replaced when it dies."""

    def __init__(
        self,
        waiting: SimpleQueue[Job],
        answers: Queue[Answer | BaseException],
        idle: list[subprocess.Popen[str]],
        at_once: int,
    ) -> None:
        super().__init__(name="ftlkit sweep", daemon=True)
        self._waiting = waiting
        self._answers = answers
        self._process: subprocess.Popen[str] | None = None
        self._idle = idle
        self._at_once = at_once
        self._lock = threading.Lock()
        self._is_stopped = self._is_busy = False

    def run(self) -> None:
        """Take jobs until there is none left; errors are raised where answers are awaited."""
        try:
            while not self._is_stopped:
                job = self._waiting.get_nowait()
                with self._lock:
                    self._is_busy = True
                answer = self._answered(job)
                with self._lock:
                    self._is_busy = False
                self._answers.put(answer)
        except Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again there
            self._answers.put(error)
        self._hand_back()

    def stop(self) -> None:
        """Kill the process if it is at a point, and wait for the thread."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None and self._is_busy:
                self._process.kill()
        self.join()
        if self._process is not None:
            _close(self._process)

    def _hand_back(self) -> None:
        """Leave the process to the next run, unless it is at a point or has ended."""
        with self._lock:
            if self._process is not None and not self._is_busy and self._process.poll() is None:
                self._idle.append(self._process)
                self._process = None

    def _answered(self, job: Job) -> Answer:
        died = ""
        for _ in range(TRIES):
            process = self._living()
            if process is None:
                break
            line = _asked(process, json.dumps([job.text(), job.sharers(self._at_once), job.own]))
            if line.endswith("\n"):
                return Answer(job.index, *json.loads(line))
            died = _ending(process.wait())
        return Answer(
            job.index,
            LOST,
            f"its worker process ended {TRIES} times, the last time {died}. If it took too much memory, run fewer "
            "points at once (--threads)",
        )

    def _living(self) -> subprocess.Popen[str] | None:
        """The process, made anew if it has ended; None when there shall be none any more."""
        with self._lock:
            if self._is_stopped:
                return None
            if self._process is not None and self._process.poll() is not None:
                _close(self._process)
                self._process = None
            while self._process is None and self._idle:
                self._process = self._idle.pop()
                if self._process.poll() is not None:
                    _close(self._process)
                    self._process = None
            if self._process is None:
                # In a session of its own, so that Ctrl-C is heard in one place. It
                # imports classes of one's own where this process does.
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "ftlkit.sweeps.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            return self._process


def _asked(process: subprocess.Popen[str], text: str) -> str:
    """The line that answers a line; empty if the process died instead."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        return ""
    try:
        stdin.write(text + "\n")
        stdin.flush()
        return stdout.readline()
    except (OSError, ValueError):
        return ""


def _close(process: subprocess.Popen[str]) -> None:
    """Close the pipes to a process that has ended or is about to, and wait for it."""
    for pipe in (process.stdin, process.stdout):
        # What it did not read any more cannot be written.
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    process.wait()


def _end(idle: list[subprocess.Popen[str]]) -> None:
    """End workers that wait: there is nothing more to read for them."""
    while idle:
        _close(idle.pop())


def _ending(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else str(-code)
    return f"by the signal {name}"
