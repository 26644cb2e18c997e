"""The tool that holds ftlkit beside real drives: some rows, its workloads, and its page."""

from pathlib import Path

import pytest

from conftest import LONG
from ftlkit.models import uniform
from tool_modules import load_tool

ROOT = Path(__file__).parents[1]


drives = load_tool("drives")


@pytest.mark.parametrize("fill", [0.5, 0.75])
def test_greedy_has_the_write_amplification_of_ssd_iqs_simulator(fill: float) -> None:
    ours = drives.Device(fill, 128, 512).amplification()
    assert ours == pytest.approx(drives.FILLS[fill], rel=0.01)


@pytest.mark.parametrize("used", drives.HELD_OUT)
def test_points_of_the_7450_that_were_held_out_are_met(used: float) -> None:
    """With the two parameters that the other five points give."""
    ours = drives.FACTOR * drives.Device(used / drives.PHYSICAL, 128, 512).amplification()
    assert ours == pytest.approx(drives.MICRON[used], rel=0.01)


def test_skew_makes_greedy_worse_unless_survivors_are_kept_apart() -> None:
    pattern, published = drives.zones(0.95), drives.ZONES[0.95]
    shared = drives.Device(0.875, 256, 128).amplification(pattern, 2, 3)
    apart = drives.Device(0.875, 256, 128, streams="separate").amplification(pattern, 2, 3)
    assert shared == pytest.approx(published[0], rel=0.02)
    assert apart == pytest.approx(published[1], rel=0.02)


@pytest.mark.parametrize("hot", drives.ZONES)
def test_the_bound_of_separated_zones_is_the_published_optimum(hot: float) -> None:
    ours = uniform.separated(0.875, [(1 - hot, hot), (hot, 1 - hot)])
    assert ours == pytest.approx(drives.ZONES[hot][3], rel=0.002)


def test_a_zone_is_trimmed_and_then_written_in_order() -> None:
    used, zone = 1000, 64
    trace = drives.zone_trace(used, zone, 2)
    units = [(op, place // drives.UNIT, size // drives.UNIT) for op, place, size in trace.drop("time_ns").iter_rows()]
    assert units[:used] == [(1, unit, 1) for unit in range(used)]
    written: dict[int, int] = {}
    for op, place, size in units[used:]:
        number, offset = divmod(place, zone)
        if op == 2:
            assert (offset, size) == (0, zone)
            assert written.pop(number, zone) == zone
            written[number] = 0
            assert sum(0 <= count < zone for count in written.values()) <= 2
        else:
            assert (written[number], size) == (offset, 1)
            written[number] += 1
    assert sum(op == 1 for op, _, _ in units) == 5 * used


def test_the_page_has_every_table_once() -> None:
    page = drives.PAGE.read_text(encoding="utf-8")
    for name in drives.TABLES:
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- /{name} -->") == 1, name
    assert drives.replaced(page, "park", drives.park().text()) == page


@pytest.mark.skipif(not LONG, reason="some minutes of simulation; set FTLKIT_LONG=1")
@pytest.mark.parametrize("name", drives.TABLES)
def test_the_page_has_the_figures_that_the_tool_measures(name: str) -> None:
    page = drives.PAGE.read_text(encoding="utf-8")
    assert drives.replaced(page, name, drives.TABLES[name]().text()) == page
