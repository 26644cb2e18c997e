"""Numbers for people."""

import re

import altair as alt
import pytest
import vl_convert

from ftlkit._util import units
from ftlkit.results.columns import COLUMNS


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.000312, "312 µs"),
        (0.1365, "136 ms"),
        (179.4, "179 s"),
        (299.9999, "5 min 0 s"),
        (3_599.9, "60 min 0 s"),
        (7_199.0, "2 h 0 min"),
        (90_000.0, "25 h 0 min"),
    ],
)
def test_durations_never_have_sixty_seconds_or_minutes(seconds: float, shown: str) -> None:
    assert units.typed(units.duration(seconds * 1e9)) == shown


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (1.0, 0.0000828, "1.00 ± <0.01"),
        (1.0, 0.254, "1.00 ± 0.25"),
        (312e3, 4e3, "312 ± 4"),
        (9.6, None, "9.60"),
        (0.0, 0.5, "0 ± 0.5"),
    ],
)
def test_an_interval_has_the_digits_of_its_mean(mean: float, half: float | None, shown: str) -> None:
    text = units.plain if mean < 1e3 else units.duration
    assert units.typed(units.with_interval(text, mean, half)).replace(" µs", "") == shown


def _labels(unit: str, *values: float) -> list[str]:
    """The labels of an axis with ticks at some values, as a browser draws them."""
    axis = alt.Axis(values=list(values), labelExpr=units.axis(unit), labelOverlap=False)
    scale = alt.Scale(type="log", domain=[min(values), max(values)], nice=False)
    chart = alt.Chart(alt.InlineData(values=[{"x": value} for value in values])).mark_point()
    drawn = vl_convert.vegalite_to_svg(
        chart.encode(x=alt.X("x:Q", axis=axis, scale=scale)).properties(width=900).to_dict()
    )
    return re.findall(r">([^<>]+)</text>", drawn)[: len(values)]


@pytest.mark.parametrize(
    ("unit", "values", "shown"),
    [
        ("B", [512, 1.4e14, 2.0**50], ["512 B", "127.3 TiB", "1 PiB"]),
        ("", [0.9, 1.5, 12_000, 3e6], ["0.9", "1.5", "12 k", "3 M"]),
        ("erases", [0.5, 20_000], ["0.5", "20 k"]),
        ("ns", [500, 2e6, 3e9], ["500 ns", "2 ms", "3 s"]),
        ("share", [0.01, 0.5], ["1%", "50%"]),
    ],
)
def test_axes_are_labelled_in_units_people_read(unit: str, values: list[float], shown: list[str]) -> None:
    assert _labels(unit, *values) == shown


@pytest.mark.parametrize(
    ("years", "shown"),
    [(3.1, "3.10 years"), (0.9, "328 days"), (1.5 / 365, "1.50 days"), (0.0636 / 365, "1 h 32 min"), (1e-7, "3.15 s")],
)
def test_a_short_life_is_told_in_hours_and_less(years: float, shown: str) -> None:
    assert units.typed(units.years(years)) == shown


def test_a_life_is_told_in_decimal_bytes_wherever_it_stands() -> None:
    life = COLUMNS["host_written_bytes"]
    assert units.typed(life.text(2e12)) == units.typed(units.written(2e12)) == "2.00 TB"
    assert units.typed(COLUMNS["ram_bytes"].text(2 * 2**40)) == "2 TiB"


def test_an_interval_never_crosses_zero() -> None:
    for mean, half in ((605.0, 665.0), (5.32, 5.94), (1.0, 1.0)):
        shown = units.with_interval(lambda number: f"{number:.2f} ms", mean, half)
        assert shown == f"{mean:.2f} ms (0 to {mean + half:.2f} ms)"
