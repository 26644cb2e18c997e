"""A chart by itself, as a notebook's cell shows it: no style sheet, no script, no network."""

from dataclasses import dataclass

from ftlkit._native import UserError
from ftlkit.report import figures, wear_charts
from ftlkit.report.causes import cause_name
from ftlkit.report.figures import Figure
from ftlkit.report.page import template
from ftlkit.report.palette import CAUSE_COLOURS, styles
from ftlkit.results.outcome import Outcome


@dataclass(frozen=True)
class Chart:
    """A drawn chart, which a notebook shows."""

    title: str
    note: str
    legend: dict[str, tuple[str, tuple[int, ...]]]
    """Colour and dashes of each line or area."""
    svg: str

    def _repr_html_(self) -> str:
        """Title, meaning, legend and picture."""
        return template("chart.html.j2").render(chart=self)


def of_results(results: Outcome, name: str | None) -> Chart:
    """The chart of a report by its name, or the first."""
    drawn = figures.draw(results, name)
    if not drawn:
        known = ", ".join(figure.name for figure in figures.draw(results)) or "none, since no run finished"
        raise UserError(f"the results have no chart {name}. There are {known}.")
    figure = drawn[0]
    return Chart(figure.title, figure.note, _legend(results, figure), figure.still)


def _legend(results: Outcome, figure: Figure) -> dict[str, tuple[str, tuple[int, ...]]]:
    if figure.legend == "wear":
        return {name: (colour, ()) for name, (_, colour) in wear_charts.wear_stops(results).items()}
    if figure.legend == "causes":
        return {cause_name(cause): (CAUSE_COLOURS[cause], ()) for cause in figure.entries}
    every = styles(results.labels)
    return {
        label: (every[label].colour, every[label].dash if figure.legend == "runs" else ()) for label in figure.entries
    }
