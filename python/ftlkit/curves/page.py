"""The page of a curve: one self-contained HTML file with chart, numbers and question."""

from dataclasses import dataclass, field

from ftlkit._native import __version__
from ftlkit._util import Json
from ftlkit.report.drawing import sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import template
from ftlkit.report.palette import Style, styles
from ftlkit.results.metric import Metric
from ftlkit.study import toml
from ftlkit.sweeps.charts import Panel, chart


@dataclass(frozen=True)
class Chart:
    """One chart of a curve."""

    metric: Metric
    rows: list[Json]
    """Points: `line`, `x`, `mean`, `low` and `high`."""
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A curve as it is drawn and told."""

    title: str
    notes: list[str]
    """What it is, sentence by sentence."""
    key: str
    """What the curve is over."""
    charts: list[Chart]
    headings: list[str]
    cells: list[list[str]]
    """The table."""
    study: Json
    verdict: list[str] = field(default_factory=list)
    """What the curve says, the first sentence alone if need be."""
    cautions: list[str] = field(default_factory=list)
    axis: str = ""
    """The labels of the axis of what the curve is over, if that is a number; else it is text."""


def page(drawing: Drawing) -> str:
    """The page's HTML."""
    return template("curve.html.j2").render(
        drawing=drawing,
        version=__version__,
        figures=figures(drawing),
        study=toml.written(drawing.study),
    )


def figures(drawing: Drawing) -> list[Panel]:
    """The charts."""
    every = styles(list(dict.fromkeys(row["line"] for drawn in drawing.charts for row in drawn.rows)))
    return [_panel(drawing, place, every) for place in range(len(drawing.charts))]


def _panel(drawing: Drawing, place: int, every: dict[str, Style]) -> Panel:
    """A chart with the lines that it has; a line looks alike in all charts."""
    drawn = drawing.charts[place]
    lines = {name: look for name, look in every.items() if any(row["line"] == name for row in drawn.rows)}
    spec = page_spec(sized(chart(drawn.rows, drawing.key, drawn.metric, lines, drawing.axis)))
    name = "curve" if not place else f"curve-{place}"
    heading = drawn.metric.heading
    return Panel(
        name, f"{heading[0].upper()}{heading[1:]} over {drawing.key}", drawn.note, lines, spec, still(name, spec)
    )
