"""The page of a reproduction: claims with their verdicts, the paper's figures beside ours, and what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit import __version__, units
from ftlkit.report.facts import study_toml
from ftlkit.report.page import style, template
from ftlkit.reproduce.claims import KINDS
from ftlkit.reproduce.figures import draw
from ftlkit.reproduce.judge import VERDICTS, counts

if TYPE_CHECKING:
    from ftlkit.reproduce import Reproduction


def page(reproduction: Reproduction) -> str:
    """The page's HTML. It needs no script and loads nothing."""
    plan, points = reproduction.plan, reproduction.points
    run = {point.sweep for point in points}
    return template("reproduction.html.j2").render(
        plan=plan,
        version=__version__,
        judgements=reproduction.judgements,
        words=VERDICTS,
        kinds=KINDS,
        counts=counts(reproduction.judgements),
        figures=[(figure, draw(figure, points) if figure.sweep in run else []) for figure in plan.figures],
        absent=reproduction.absent,
        runs=sum(point.results is not None for point in points),
        wall=units.duration(1e9 * sum(point.run["wall_s"] for point in points if point.results)),
        study=study_toml(plan.study),
        css=style(),
    )
