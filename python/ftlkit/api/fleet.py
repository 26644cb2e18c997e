"""`fk.fleet` and `ftlkit fleet`: every volume of a fleet with every stack, and one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from ftlkit import study
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import write
from ftlkit._util.progress import Silent, Watcher
from ftlkit.fleets import drives, generator
from ftlkit.fleets import run as runs
from ftlkit.fleets.answers import Answers
from ftlkit.results.store import Store
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import values
from ftlkit.sweeps.executors import LOCAL, executor
from ftlkit.sweeps.goals import GOALS
from ftlkit.sweeps.traces import scratch

if TYPE_CHECKING:
    import polars as pl

    from ftlkit._util import Json
    from ftlkit.fleets.answers import Choice
    from ftlkit.sweeps.plan import Plan

GOAL = "wa"
"""The default: it needs no clock."""


@dataclass(frozen=True)
class Fleet:
    """A fleet's volumes with all stacks."""

    plan: Plan
    answers: Answers
    source: str

    @property
    def frame(self) -> pl.DataFrame:
        """A row per volume: requests, footprint, best stack, regret, and the goal by stack."""
        return self.answers.table()

    @property
    def rows(self) -> list[Json]:
        """A row per volume and stack, with the key of its whole results in the store."""
        return self.answers.points.rows

    @property
    def choices(self) -> list[Choice]:
        """The one stack for all volumes: by mean, 95th percentile and worst volume."""
        return self.answers.choices

    @property
    def failed(self) -> list[Json]:
        """Points that have an error in place of results."""
        return self.answers.points.failed

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file with answers, distributions and all volumes."""
        from ftlkit.fleets.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        write(Path(path), page(self.plan, self.answers, self.source).encode())

    def __repr__(self) -> str:
        return f"<ftlkit.Fleet of {several(len(self.answers.fleet), 'volume')}, {len(self.failed)} points failed>"


@typed_kwargs(study.Options)
def fleet(  # noqa: PLR0913 - as many as there are options
    source: str | Path | int,
    ftls: str | None = None,
    *,
    device: str | None = None,
    vary: str | Sequence[str] = (),
    seeds: int | None = None,
    goal: str = GOAL,
    consolidate: int | None = None,
    store: str | Path | None = None,
    on: str = LOCAL,
    threads: int | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Fleet:
    """Run every volume of a fleet with every translation layer and value.

    `source` is a folder of `trace_split`, or a number of volumes to draw: then `requests` are those
    of the median one (docs/fleet.md). Each volume has a device of its own, as large as its span.
    `consolidate` is the number of volumes per drive; each has a stream of its own there.
    `goal` is one of a sweep's: wa and life need no clock. The rest is as of `ftlkit.sweep`: points
    with the same keys are reused from `store`, and one that cannot be run is in `failed`.
    """
    axes = [vary] if isinstance(vary, str) else list(vary)
    volumes, options = volumes_of(source, options, consolidate)
    plan = planned(volumes, ftls, device, options, axes, seeds, goal)
    watch = lambda: watcher or Silent()  # noqa: E731 - one for each part of the work
    if store is None:
        with scratch() as place:
            return ran(volumes, plan, place / "store", on, threads, watch, source)
    return ran(volumes, plan, Path(store), on, threads, watch, source)


def volumes_of(
    source: str | Path | int, options: study.Options, consolidate: int | None = None
) -> tuple[list[runs.Volume], study.Options]:
    """The volumes of a folder, or drawn, or drives of them; and the options left for their runs."""
    left = options.copy()
    folder = None if isinstance(source, int) else Path(source)
    if isinstance(source, int):
        volumes = generator.drawn(source, left.pop("requests", generator.REQUESTS), options.get("seed", 1))
    else:
        volumes = runs.volumes(Path(source))
    return volumes if consolidate is None else drives.consolidated(volumes, consolidate, folder), left


def planned(
    volumes: Sequence[runs.Volume],
    ftls: str | None,
    device: str | None,
    options: Any,  # noqa: ANN401 - the options that were given
    vary: Sequence[str],
    seeds: int | None,
    goal: str,
) -> Plan:
    """The plan of a fleet, checked."""
    plan = runs.planned(volumes, study.usual_ftls(device) if ftls is None else ftls, device, options)
    plan = plans.with_more(plans.with_goal(plan, goal), [values.parse(axis) for axis in vary], seeds)
    plan.check()
    return plan


def ran(
    volumes: Sequence[runs.Volume],
    plan: Plan,
    store: Path,
    on: str = LOCAL,
    threads: int | None = None,
    watch: Callable[[], Watcher] = Silent,
    source: str | Path | int = "",
) -> Fleet:
    """Run the points of a plan that a store has not, and keep them there."""
    where = executor(on, threads)
    result_store = Store(store, create=True, lazily=True)
    result_store.tidy()

    described = "Drawn volumes" if isinstance(source, int) else f"Volumes of {source}"

    def made(points: runs.Points) -> Fleet:
        return Fleet(plan, Answers(volumes, points, GOALS[plan.goal or GOAL]), described)

    try:
        return made(runs.run(volumes, plan, result_store, where, watch))
    except Interrupted as stop:
        raise Interrupted(None if stop.finished is None else made(stop.finished)) from None
