"""The page of a curve: one self-contained HTML file with chart, numbers and question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit.report.drawing import sized
from ftlkit.report.figures import page_spec, still
from ftlkit.report.page import drawing_script, own_script, style, template
from ftlkit.report.palette import styles
from ftlkit.study import toml
from ftlkit.sweeps.charts import chart

if TYPE_CHECKING:
    from ftlkit.results.document import Json
    from ftlkit.results.metric import Metric


@dataclass(frozen=True)
class Drawing:
    """A curve as it is drawn and told."""

    title: str
    notes: list[str]
    """What it is, sentence by sentence."""
    key: str
    """What the curve is over."""
    metric: Metric
    rows: list[Json]
    """Points: `line`, `x` as text, `mean`, `low` and `high`."""
    headings: list[str]
    cells: list[list[str]]
    """The table."""
    study: Json


def page(drawing: Drawing) -> str:
    """The page's HTML."""
    lines = styles(list(dict.fromkeys(row["line"] for row in drawing.rows)))
    spec = page_spec(sized(chart(drawing.rows, drawing.key, drawing.metric, lines)))
    return template("curve.html.j2").render(
        drawing=drawing,
        version=__version__,
        lines=lines,
        spec=spec,
        still=still("curve", spec),
        study=toml.written(drawing.study),
        css=style(),
        script=own_script(),
        vega=drawing_script(),
    )
