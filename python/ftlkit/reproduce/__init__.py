"""Reproductions of papers: a declarative study file is run, its claims are judged, and one HTML page shows both.

A study file (`studies/*.toml`, described in `docs/reproduce.md`) holds what all its runs share, *sweeps* of runs, the
paper's figures as charts over them, and its claims, each with a measure and the bounds within which it counts as
reproduced. Nothing here knows a paper or a scheme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit.outputs import write
from ftlkit.reproduce.judge import Judgement, counted, judge
from ftlkit.reproduce.plan import Plan, find, load
from ftlkit.reproduce.points import Point
from ftlkit.reproduce.runs import absent_traces, run_sweeps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ftlkit.progress import Watcher

__all__ = ["Judgement", "Plan", "Point", "Reproduction", "counted", "find", "judge", "load", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """A study that was run: what every run gave, and what became of the claims."""

    plan: Plan
    points: list[Point]
    judgements: list[Judgement]
    absent: list[str]
    """Recorded traces that are not at hand, whose runs were left out."""

    def page(self, path: Path) -> None:
        """Write the page, one self-contained HTML file."""
        from ftlkit.reproduce.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        write(path, page(self.plan, self.points, self.judgements, self.absent).encode())


def reproduce(plan: Plan, *, threads: int | None = None, watch: Callable[[], Watcher] | None = None) -> Reproduction:
    """Run a study and judge its claims. `watch` makes a watcher for each batch of runs."""
    points = run_sweeps(plan, threads, watch)
    return Reproduction(plan, points, [judge(claim, points) for claim in plan.claims], absent_traces(plan))
