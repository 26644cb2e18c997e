"""Reproductions of papers: run a study file, judge its claims, write one HTML page.

A study file (`studies/*.toml`, described in `docs/reproduce.md`) holds what all its runs share,
*sweeps* of runs, the paper's figures as charts over them, and its claims, each with a measure and
the bounds within which it counts as reproduced. Nothing here knows a paper or a scheme.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ftlkit._util.outputs import write
from ftlkit._util.progress import Silent, Watcher
from ftlkit.reproduce.claims import Claim
from ftlkit.reproduce.judge import Judgement, counted, judge
from ftlkit.reproduce.plan import Plan, find, load
from ftlkit.reproduce.points import Point
from ftlkit.reproduce.quick import quick_plan
from ftlkit.reproduce.runs import absent_points, absent_traces, run_sweeps
from ftlkit.results.store import Store
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.work import Executor

__all__ = ["Judgement", "Plan", "Point", "Reproduction", "counted", "find", "judge", "load", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """A study that was run: what every run gave, and what became of the claims."""

    plan: Plan
    points: list[Point]
    judgements: list[Judgement]
    absent: list[str]
    """Recorded traces that are not at hand, whose runs were left out."""
    reused: int
    """How many runs were in the store."""
    is_quick: bool = False
    """Whether claims were chosen by the time that their runs take."""
    not_run: list[Claim] = field(default_factory=list)
    """Claims that a quick reproduction leaves out: they have no verdict."""

    @property
    def counted(self) -> str:
        """The counts of verdicts as a line; those of a quick reproduction are told apart."""
        counts = counted(self.judgements)
        if not self.is_quick:
            return counts
        claims = len(self.judgements)
        return f"quick, {claims} of {claims + len(self.not_run)} claims; {counts}".removesuffix("; ")

    @property
    def failed(self) -> list[Point]:
        """Points whose runs have an error; claims that need one of them are not judged."""
        return [point for point in self.points if point.error]

    def page(self, path: Path) -> None:
        """Write the page, one self-contained HTML file."""
        from ftlkit.reproduce.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        not_run = self.not_run if self.is_quick else None
        write(path, page(self.plan, self.points, self.judgements, self.absent, not_run).encode())


def reproduce(
    plan: Plan,
    *,
    store: Store | None = None,
    executor: Executor | None = None,
    watch: Callable[[], Watcher] = Silent,
    is_quick: bool = False,
) -> Reproduction:
    """Run a study and judge its claims.

    Runs are points of a sweep: what the store has is not run again, and what is finished is kept
    there, so that a study that was stopped goes on from there; without a store nothing is kept. The
    executor says where they run, by default on this machine's cores. `watch` makes a watcher for
    each part of the work. With `is_quick` the cheapest claims are judged, within an estimated 600 s
    of one core, and the others are not run. Raises `UserError` where the study is at fault or none
    of its runs can be done, and `Interrupted` on Ctrl-C, whose `finished` is the sweep of the runs
    that are finished, if it had begun.
    """
    run = quick_plan(plan, watch) if is_quick else plan
    points, reused = run_sweeps(run, store, executor or Local(), watch, claims_only=is_quick)
    asked = points + absent_points(run)
    judgements = [judge(claim, asked) for claim in run.claims]
    not_run = [claim for claim in plan.claims if claim not in run.claims]
    return Reproduction(run, points, judgements, absent_traces(run), reused, is_quick, not_run)
