"""The page of a reproduction: claims, verdicts, the paper's figures beside ours, assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit._util import units
from ftlkit.report.page import style, template
from ftlkit.reproduce.claims import GROUPS
from ftlkit.reproduce.figures import draw
from ftlkit.reproduce.judge import VERDICTS, counts
from ftlkit.study import toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.reproduce.judge import Judgement
    from ftlkit.reproduce.plan import Plan
    from ftlkit.reproduce.points import Point


def page(plan: Plan, points: Sequence[Point], judgements: list[Judgement], absent: list[str]) -> str:
    """The page's HTML. It needs no script and loads nothing."""
    run = {point.sweep for point in points}
    # Sweeps may share runs.
    runs = {id(point.results): point.results for point in points if point.results}.values()
    return template("reproduction.html.j2").render(
        plan=plan,
        version=__version__,
        judgements=judgements,
        words=VERDICTS,
        groups=GROUPS,
        counts=counts(judgements),
        figures=[(figure, draw(figure, points) if figure.sweep in run else None) for figure in plan.figures],
        absent=absent,
        failed=[point.error for point in points if point.error],
        runs=len(runs),
        wall=units.duration(1e9 * sum(run["wall_s"] for run in runs)),
        study=toml.written(plan.study),
        css=style(),
    )
