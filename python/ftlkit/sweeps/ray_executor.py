"""Points on a Ray cluster: tasks of one core each, begun again by Ray when their worker dies.

A trace travels once through Ray's object store to each machine, which keeps it in its temporary
folder under its digest; the tasks there read it from that file. Every machine needs the same
ftlkit.
"""

import importlib
import logging
import os
import socket
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from ftlkit._native import UserError
from ftlkit._util.at_once import cores
from ftlkit.results.point_state import LOST
from ftlkit.sweeps.key import engine
from ftlkit.sweeps.work import TRIES, Answer, Job, left_s, perform

_AT_ONCE = 4
"""Tasks for each core that Ray is given ahead, so that none waits for the next one to be told."""

_PATIENCE_S = 5.0
"""How long a cluster may take to answer."""


class RayExecutor:
    """Runs points on a Ray cluster: at an address, at `RAY_ADDRESS`, or a new local one."""

    least_readers = 1
    """Other machines have no trace of ours, so each is laid out to travel."""

    def __init__(self, address: str | None = None) -> None:
        self.checks = cores()
        self.memory_sharers = 1
        """Points run on other machines, each of which looks at its own memory."""
        self.until_s: float | None = None
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            raise UserError(
                "--on ray: Ray is not installed here. Install it with pip install 'ftlkit[ray]', or leave --on out to "
                "run on this machine's cores."
            ) from None
        _check_reachable(address or os.environ.get("RAY_ADDRESS") or "")
        # Ray reports each worker that it replaces; who runs a sweep hears of it if that does not
        # help.
        quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
        try:
            # Without an address Ray would look for a cluster that was started here, and wait long
            # for one that is gone.
            self._ray.init(address=address or os.environ.get("RAY_ADDRESS") or "local", **quiet)
        except (ConnectionError, RuntimeError, ValueError, ImportError, OSError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise _unreachable(address or os.environ.get("RAY_ADDRESS") or "a new cluster here", reason) from None

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Yield answers as they come, until the time is over; closing it cancels running work."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(point)
        traces = {job.trace.digest: job.trace.path for job in jobs if job.trace is not None}
        sent = {name: ray.put(path.read_bytes()) for name, path in traces.items()}
        ahead = max(1, int(_AT_ONCE * ray.cluster_resources().get("CPU", 1)))
        waiting = list(reversed(jobs))
        running: dict[Any, Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < ahead:
                    job = waiting.pop()
                    # In a list, Ray hands the reference over and not the trace.
                    trace = [] if job.trace is None else [sent[job.trace.digest]]
                    running[task.remote(job, trace)] = job
                finished = ray.wait(list(running), num_returns=1, timeout=left_s(self.until_s))[0]
                if not finished:
                    return
                for done in finished:
                    yield self._answer(running.pop(done), done)
        finally:
            for task in running:
                ray.cancel(task, force=True)
            ray.shutdown()

    def _answer(self, job: Job, done: object) -> Answer:
        try:
            state, text, of_engine = self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            return Answer(job.index, LOST, f"its worker on the cluster died {TRIES} times: {reason}")
        if of_engine != engine():
            raise UserError(
                f"--on ray: a machine of the cluster has ftlkit {of_engine}, this one has {engine()}. Install the same "
                "build everywhere: results of one store come from one engine."
            )
        return Answer(job.index, state, text)


def _check_reachable(address: str) -> None:
    """Refuse an address where nobody listens; Ray would try for half a minute and longer."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=_PATIENCE_S).close()
        except (OSError, OverflowError) as error:
            raise _unreachable(address, f"{error}.") from None


def _unreachable(where: str, reason: str) -> UserError:
    return UserError(
        f"--on ray: cannot reach {where}: {reason} Start a cluster with ray start --head, or leave --on out to run on "
        "this machine's cores."
    )


def point(job: Job, trace: list[Any]) -> tuple[str, str, str]:
    """What a machine of the cluster does: the state and the text of the answer, and its engine."""
    if job.trace is None:
        return *perform(job.text(), own=job.own), engine()
    place = Path(tempfile.gettempdir()) / f"ftlkit-{os.getuid()}" / f"{job.trace.digest}.parquet"
    if not place.exists():
        ray: Any = importlib.import_module("ray")
        place.parent.mkdir(exist_ok=True)
        handle, begun = tempfile.mkstemp(dir=place.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(ray.get(trace[0]))
        Path(begun).replace(place)
    return *perform(job.text(place), own=job.own), engine()
