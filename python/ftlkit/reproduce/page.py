"""The page of a reproduction: claims, verdicts, the paper's figures beside ours, assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import altair as alt

from ftlkit._native import UserError, __version__
from ftlkit._util import Json, units
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import styles
from ftlkit.reproduce.claims import GROUPS, SHARES, Claim
from ftlkit.reproduce.factorial import effects
from ftlkit.reproduce.judge import VERDICTS, Judgement, counts
from ftlkit.reproduce.points import Point, column, distribution, over_time
from ftlkit.reproduce.workloads import REQUESTS, lacking, shown
from ftlkit.study import toml

if TYPE_CHECKING:
    from markupsafe import Markup

    from ftlkit.reproduce.plan import FigurePlan, Plan


def page(
    plan: Plan, points: Sequence[Point], judgements: Sequence[Judgement], absent: list[str], not_run: list[Claim] | None
) -> str:
    """The page's HTML, without scripts or files to load. `not_run` is None if all claims ran."""
    run, workloads = {point.sweep for point in points}, shown(plan)
    # Sweeps may share runs.
    runs = {id(point.results): point.results for point in points if point.results}.values()
    return template("reproduction.html.j2").render(
        plan=plan,
        version=__version__,
        judgements=judgements,
        is_quick=not_run is not None,
        not_run=not_run,
        words=VERDICTS,
        groups=GROUPS,
        counts=counts(judgements),
        figures=[(figure, draw(figure, points) if figure.sweep in run else None) for figure in plan.figures],
        shares=SHARES,
        workloads=workloads,
        lacking=lacking(plan, workloads),
        looked_over=REQUESTS,
        factorials=[(factorial, effects(factorial, points)) for factorial in plan.factorials],
        absent=absent,
        failed=[point.error for point in points if point.error],
        overloaded=list(dict.fromkeys(point.title for point in points if point.is_overloaded)),
        runs=len(runs),
        wall=units.duration(1e9 * sum(run["wall_s"] for run in runs)),
        study=toml.written(plan.study),
    )


WIDTH, HEIGHT = 300, 190

Drawn = alt.Chart | alt.LayerChart


def draw(plan: FigurePlan, points: Sequence[Point]) -> list[tuple[str, Markup]]:
    """A figure's panels, one per workload (for gauges over time: one per run), each with its title.

    Runs that failed are left out, and with the one that others are set against the whole workload.
    """
    mine = [point for point in points if point.seed == 0 and point.matches(plan.sweep, plan.only)]
    if plan.kind not in _KINDS or not mine:
        wrong = f"no kind {plan.kind}; there are {', '.join(_KINDS)}" if mine else "no run matches"
        raise UserError(f"figure {plan.id}: {wrong}.")
    bare = {point.workload for point in mine if point.error and point.variant == plan.against}
    mine = [point for point in mine if not point.error and point.workload not in bare]
    panels: dict[str, list[Point]] = {}
    for point in mine:
        titles = {"shares": point.title, "ratios": f"over {plan.against}" if plan.against else "by workload"}
        panels.setdefault(titles.get(plan.kind, point.workload), []).append(point)
    drawn = []
    for number, (title, panel) in enumerate(panels.items()):
        spec = page_spec(_KINDS[plan.kind](plan, panel).properties(height=HEIGHT))
        drawn.append((title, still(f"{plan.id}-{number}", spec, 2 * WIDTH if plan.kind == "ratios" else WIDTH)))
    return drawn


def _chart(rows: Sequence[Json], mark: str, **style: object) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(rows)), mark=alt.MarkDef.from_dict({"type": mark} | style))


def _colour(variants: Iterable[str]) -> alt.Color:
    known = styles(list(dict.fromkeys(variants)))
    scale = alt.Scale(domain=list(known), range=[style.colour for style in known.values()])
    return alt.Color(
        "variant:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=4, columnPadding=18)
    )


def _requests(field: str) -> alt.X:
    """The axis of requests over a run."""
    return alt.X(f"{field}:Q", title="requests served", axis=alt.Axis(labelExpr=units.axis(""), tickCount=4))


def _axis_scale(plan: FigurePlan) -> alt.Scale:
    if plan.scale not in ("linear", "log"):
        raise UserError(f"figure {plan.id}: scale = {plan.scale}: there are linear, log.")
    return alt.Scale(type="log") if plan.scale == "log" else alt.Scale(zero=False)


def _lines(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    rows = [{"x": str(point.keys[plan.x]), "y": point.value(plan.metric), "variant": point.variant} for point in points]
    order = list(dict.fromkeys(str(row["x"]) for row in rows))
    return _chart(rows, "line", point=True, strokeWidth=2).encode(
        x=alt.X("x:O", title=plan.x, sort=order, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:Q", title=plan.axis, scale=_axis_scale(plan)),
        color=_colour(point.variant for point in points),
    )


def _ratios(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    """A metric of each variant over that of one of them, by workload; else the metric itself."""
    if len({(point.workload, point.variant) for point in points}) < len(points):
        raise UserError(f"figure {plan.id}: several runs of a variant on a workload; choose one by its keys with only.")
    base = {
        point.workload: point.value(plan.metric) if plan.against else 1.0
        for point in points
        if point.variant == plan.against or not plan.against
    }
    others = [point for point in points if point.variant != plan.against]
    bare = [point.workload for point in others if not base.get(point.workload)]
    if bare:
        raise UserError(
            f"figure {plan.id}: {plan.against} has no {plan.metric} above 0 on {bare[0]} to set others against."
        )
    rows = [
        {"x": point.workload, "y": point.value(plan.metric) / base[point.workload], "variant": point.variant}
        for point in others
    ]
    variants = list(dict.fromkeys(point.variant for point in others))
    if len(base) == 1:
        return _one_workload(plan, rows, variants)
    return _chart(rows, "point", filled=True, size=60).encode(
        x=alt.X("x:N", title=None, sort=list(base), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:Q", title=plan.axis, scale=alt.Scale(zero=False)),
        color=_colour(variants),
        shape=alt.Shape("variant:N", title=None, sort=variants, legend=None),
    )


def _one_workload(plan: FigurePlan, rows: Sequence[Json], variants: Sequence[str]) -> alt.Chart:
    """The variants below each other, where they would all stand in one column."""
    # Room for the labels, which are drawn wider than the chart reckons.
    names = alt.Axis(grid=True, labelLimit=WIDTH, minExtent=round(7.2 * max(map(len, variants))))
    return _chart(rows, "point", filled=True, size=60).encode(
        x=alt.X("y:Q", title=plan.axis, scale=alt.Scale(zero=False)),
        y=alt.Y("variant:N", title=None, sort=list(variants), axis=names),
        color=alt.value(next(iter(styles(["run"]).values())).colour),
    )


def _cdf(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    """Shares of a class's flash operations that are done within a time."""
    rows = [
        {"x": ns / 1e3, "y": share, "variant": point.variant}
        for point in points
        for ns, share in distribution(point, plan.x)
    ]
    return _chart(rows, "line", strokeWidth=2, interpolate="step-after").encode(
        x=alt.X("x:Q", title=plan.metric, scale=alt.Scale(type="log")),
        y=alt.Y("y:Q", title=plan.axis, axis=alt.Axis(format="~%"), scale=alt.Scale(domain=[0, 1])),
        color=_colour(point.variant for point in points),
    )


def _bars(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    """A run's gauges that begin with a prefix, one bar each."""
    rows = [
        {"x": name.removeprefix(plan.x), "y": value}
        for point in points
        for name, value in point.run["gauges"].items()
        if name.startswith(plan.x)
    ]
    return _chart(rows, "bar").encode(
        x=alt.X("x:O", title=plan.metric, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:Q", title=plan.axis),
        color=alt.value(next(iter(styles(["run"]).values())).colour),
    )


def _heat(plan: FigurePlan, points: Sequence[Point]) -> Drawn:
    best = min(point.value(plan.metric) for point in points)
    rows: list[Json] = [
        {"x": point.keys[plan.x], "y": point.keys[plan.y], "loss": point.value(plan.metric) / best - 1}
        for point in points
    ]
    base = _chart(rows, "rect").encode(
        x=alt.X("x:O", title=plan.x, axis=alt.Axis(labelAngle=0)), y=alt.Y("y:O", title=plan.y)
    )
    colour = alt.Color("loss:Q", title=plan.axis, scale=alt.Scale(scheme="blues"), legend=None)
    tiles = base.mark_rect(opacity=0.75).encode(color=colour)
    texts = base.mark_text(fill="currentColor").encode(text=alt.Text("loss:Q", format="+.0%"))
    return alt.LayerChart(layer=[tiles, texts])


def _shares(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    """Gauges that begin with a prefix, as shares of their sum over the run."""
    series = points[0].run["series"]
    names = sorted((name for name in series["gauges"] if name.startswith(plan.x)), key=_number)
    rows = [
        {"request": request, "group": name.removeprefix(plan.x), "order": order, "value": series["gauges"][name][i]}
        for order, name in enumerate(names)
        for i, request in enumerate(series["request"])
    ]
    return _chart(rows, "area").encode(
        x=_requests("request"),
        y=alt.Y("value:Q", stack="normalize", title=plan.axis, axis=alt.Axis(format="~%", tickCount=4)),
        color=alt.Color("group:O", title=plan.metric, scale=alt.Scale(scheme="viridis"),
                        sort=[name.removeprefix(plan.x) for name in names], legend=alt.Legend(orient="right")),
        order="order:O",
    )  # fmt: skip


def _series(plan: FigurePlan, points: Sequence[Point]) -> alt.Chart:
    """A column of the time series, or a gauge over the run, of each variant."""
    if len({point.variant for point in points}) < len(points):
        raise UserError(f"figure {plan.id}: several runs of a variant on a workload; choose one by its keys with only.")
    try:
        columns = [(point, column(point, plan.metric)) for point in points]
    except UserError as error:
        raise UserError(f"figure {plan.id}: {error}") from None
    rows = [
        {"x": request, "y": value, "variant": point.variant}
        for point, values in columns
        for request, value in zip(over_time(point)["request"], values, strict=True)
    ]
    return _chart(rows, "line", strokeWidth=2).encode(
        x=_requests("x"),
        y=alt.Y("y:Q", title=plan.axis, scale=_axis_scale(plan)),
        color=_colour(point.variant for point in points),
    )


def _number(name: str) -> tuple[int, str]:
    """Sorts names by the number at their end."""
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0, name


_KINDS: dict[str, Callable[[FigurePlan, Sequence[Point]], Drawn]] = {
    "lines": _lines,
    "ratios": _ratios,
    "bars": _bars,
    "heat": _heat,
    "shares": _shares,
    "series": _series,
    "cdf": _cdf,
}
