"""A point as work: what an executor gets, what it answers, what happens in between."""

import json
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ftlkit import _native
from ftlkit._native import Control, FtlBug, UserError
from ftlkit._util import Json
from ftlkit.own.references import Reference, register
from ftlkit.results.point_state import BUG, DONE, REFUSED
from ftlkit.sweeps.traces import LaidOut, over

TRIES = 3
"""How often a point whose worker dies is begun: too large a point kills each worker."""


@dataclass(frozen=True)
class Job:
    """A point to be run."""

    index: int
    study: Json
    trace: LaidOut | None
    """The laid-out trace that is read instead of the study's own."""
    own: tuple[Reference, ...] = ()
    """The classes of one's own that it names."""

    def sharers(self, at_once: int) -> int:
        """How many points share the memory limit while it runs, of as many as run at once.

        A limit that the study states is shared. Without one per run may take a part of what is
        available when it begins, which is what the others have left.
        """
        return 1 if self.study.get("run", {}).get("memory_limit") is None else at_once

    def text(self, trace: Path | None = None) -> str:
        """The study as the engine takes it, over the laid-out trace on this machine."""
        if self.trace is None:
            return json.dumps(self.study)
        return json.dumps(self.study | {"workload": over(self.study["workload"], str(trace or self.trace.path))})


@dataclass(frozen=True)
class Answer:
    """What became of a job."""

    index: int
    state: str
    """`done`, `refused`, `bug` or `lost`."""
    text: str
    """The results (JSON) where it is done, else the error."""


class Executor(Protocol):
    """Runs jobs somewhere, several at once."""

    checks: int
    """How many studies are checked at once before, on this machine."""
    memory_sharers: int
    """How many points at once share the memory of this machine, and so a study's memory limit."""
    least_readers: int
    """By how many points a trace must be read to be laid out before."""
    until_s: float | None
    """When points that are not finished are given up, on `time.monotonic`'s clock; None: never."""

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Yield answers in any order, until the time is over; closing it ends all running work."""


def left_s(until_s: float | None) -> float | None:
    """The seconds until a time, none below 0; None where there is no such time."""
    return None if until_s is None else max(0.0, until_s - time.monotonic())


def perform(text: str, sharers: int = 1, own: Sequence[Sequence[str]] = ()) -> tuple[str, str]:
    """Run a study (JSON) on one thread: the state and the text of the answer.

    `sharers` points keep to the study's memory limit together, this one included. `own` are the
    fields of the `Reference` of each class of one's own.
    """
    control = Control()
    control.share_memory(sharers)
    try:
        register(own)
        return DONE, _native.run_study(text, control, 1)
    except UserError as error:
        return REFUSED, str(error)
    except FtlBug as error:
        return BUG, str(error)
    except BaseException as error:
        # PyO3 raises Rust panics as a class of its own that derives from BaseException and cannot
        # be imported.
        if type(error).__name__ != "PanicException":
            raise
        return BUG, f"the simulator panicked: {error}"
