"""Curves over offered load and queue depth: what is tried, what is said of it, and the commands."""

import io
import json
import math
import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import ftlkit as fk
from conftest import Call
from ftlkit._util import Json, units
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.curve import show_drawing
from ftlkit.curves import drawings, knees, service
from ftlkit.curves.service import METRICS, Point
from ftlkit.results.noise import Estimate
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.work import Answer, Job

SMALL = ("fin1", "--requests", "600", "--addresses", "dense", "--precondition", "fill", "--store", "points")


def point(ftl: str, over: float, mean_ns: float, *, served: float = 0.0, behind: bool = False) -> Point:
    figures = dict.fromkeys(METRICS, mean_ns) | {"iops": served or over}
    estimates = {name: Estimate(value, None, 1) for name, value in figures.items()}
    return Point(ftl, f"{over:g}", over, estimates, behind)


def test_layers_that_serve_alike_get_even_loads_to_just_above_the_most() -> None:
    rates = service.loads([1_000, 800])
    assert rates == [0.78, 3.1, 12, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 1_100]


def test_layers_that_serve_unlike_get_loads_by_factors_from_the_least_to_the_most() -> None:
    rates = service.loads([8_000, 500, 0])
    assert rates == sorted(set(rates))
    assert (rates[0], rates[-1]) == (0.39, 8_800)
    assert max(after / before for before, after in pairwise(rates[4:])) < 1.5
    *below, above = service.reachable(rates, 500)
    assert max(below) <= 500 * service.BEYOND < above, "where it falls behind is seen, and no more"
    assert service.reachable(rates, 10_000) == rates


def test_loads_become_factors_on_the_workloads_own_arrivals() -> None:
    assert service.speedup(1_000, 123.4) == "8.104"
    assert service.speedup(5, 1_000) == "0.005"
    assert service.speedup(250_000, 100) == "2500"


def test_what_follows_the_first_load_that_is_too_much_counts_as_too_much() -> None:
    points = [point("page", 100, 1), point("page", 200, 1, behind=True), point("page", 300, 1)]
    assert service.kept_up(points) == points[:1]


def test_the_verdict_over_load_ranks_by_what_layers_keep_up_with_and_compares_where_all_do() -> None:
    points = [
        *(point("page", rate, rate * 1_000) for rate in (100, 200, 400)),
        point("page", 800, 9e9, behind=True),
        *(point("dftl", rate, rate * 2_000) for rate in (100, 200)),
        point("dftl", 400, 9e9, behind=True),
        point("block", 100, 9e9, behind=True),
    ]
    most, half, together, page, dftl, block = knees.over_load(points)
    assert most == "page keeps up with most: 400 requests per second. Behind come dftl with 200."
    assert "At 100 a second, 50.0 % of what all of these keep up with, page answers fastest" in units.typed(half)
    assert "At 200 a second, the most that all of these keep up with, page answers fastest on average" in together
    assert "lowest" not in together, "its percentiles are lower, too"
    assert page.startswith("page keeps up with 400 requests per second and falls behind at 800.")
    rise = (
        "From 100 to there its mean response goes from 100 µs to 400 µs. The 99th percentile of reads rises from 100 µs"
    )
    assert f"{rise} to 400 µs between 100 and 400." in units.typed(page)
    assert "dftl keeps up with 200 requests per second and falls behind at 400." in dftl
    assert "The 99th percentile of reads rises from 200 µs to 400 µs" in units.typed(dftl), "not of both kinds together"
    assert block == "block was not shown to keep up with any load that was tried."


@pytest.mark.parametrize(
    ("offered", "bottleneck", "backlog_us", "is_told"),
    [
        pytest.param(61_001, 64_207, [376, 393, 391, 382], False, id="level"),
        pytest.param(63_002, 63_057, [383, 403, 402, 399], True, id="near the busiest die"),
        pytest.param(61_001, 64_207, [390, 406, 5_356, 11_579], True, id="growing"),
        pytest.param(61_001, 64_207, [390, 406, 11_579, 5_356], False, id="a burst"),
        pytest.param(61_001, 64_207, [390, 406, 411, 415], False, id="growing a little"),
        pytest.param(61_001, None, None, False, id="nothing was held"),
    ],
)
def test_short_run_near_saturation_decides_nothing(
    offered: float, bottleneck: float | None, backlog_us: list[float] | None, *, is_told: bool
) -> None:
    """Figures of `7450-like`: 63,000 per second overload it in 400,000 requests, not in 100,000."""
    backlog = backlog_us and [1_000 * value for value in backlog_us]
    load = {"offered_iops": offered, "bottleneck_iops": bottleneck, "backlog_ns": backlog}
    row = {"document": json.dumps({"runs": [{"load": load}]}), "simulated_ns": 1_560_000_000}
    assert service.may_fall_behind(row) is is_told


def test_undecided_and_overloaded_loads_show_no_capacity() -> None:
    doubtful = replace(point("page", 400, 9e9), is_undecided=True)
    points = [*(point("page", rate, 1_000) for rate in (100, 200)), doubtful, point("page", 800, 9e9, behind=True)]
    verdict = knees.over_load(points)
    limit = (
        "page keeps up with 200 requests per second; 400 is undecided, and it falls behind at 800. From 100 to there"
    )
    assert verdict[0].startswith(limit)
    drawn = drawings.latency(
        "load", {"workload": {"preset": "fin1"}}, points, None, facts=[], verdict=verdict, cautions=[]
    )
    assert [units.typed(row[2]) for row in drawn.cells] == ["1.00 µs", "1.00 µs", "undecided", "falls behind"]
    assert not any("".join(row[3:]) for row in drawn.cells[2:])
    assert {row["x"] for row in drawn.charts[0].rows} == {100, 200}
    assert drawn.notes[-1].endswith("if its queue grows: there a longer run (--requests, or --repeat) decides.")
    assert "which longer runs seldom change" in drawn.notes[-1]


def rises(loads: Iterable[float], of: Callable[[float], float]) -> list[tuple[float, float]]:
    """Where a percentile is told to rise, of a curve over loads as shares of saturation."""
    kept = [point("page", load, 100_000 * of(load)) for load in sorted(loads)]
    return [(kept[low].over, kept[high].over) for low, high in knees.rises(kept, "read_p99_ns")]


def drawn(seed: int, low: float = 0.001) -> list[float]:
    """Loads by draw, up to 0.99 of saturation: few or many, even or by factors."""
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    count = chance.choice((2, 4, 8, 30))
    even = [chance.uniform(low, 0.98) for _ in range(count)]
    return [low, *(even if seed % 2 else [low * (0.98 / low) ** load for load in even]), 0.99]


STEEP_FROM = {
    # Percentiles of a queue with one server, and the load from which they grow faster than that.
    "M/M/1": (lambda load: 1 / (1 - load), 1 / 2),
    "M/D/1": (lambda load: (2 - load) / (1 - load), 2 - 2**0.5),
}
STEPS = (0.03, 0.4)


def two_steps(load: float) -> float:
    """The shape of reads that meet one program, then two, and wait a little more on the way."""
    return float(3 ** sum(load > step for step in STEPS) * (1 + load / 10))


@pytest.mark.parametrize("seed", range(60))
def test_told_rises_hold_the_true_ones(seed: int) -> None:
    loads = drawn(seed)
    for of, true in STEEP_FROM.values():
        ((low, high),) = rises(loads, of)
        assert low <= true
        assert high == 0.99
    told = rises(loads, two_steps)
    assert all(any(low < step <= high for low, high in told) for step in STEPS)
    assert all(any(low < step <= high for step in STEPS) for low, high in told), "and none is told where none is"
    assert not rises(loads, lambda load: 1 + load / 10)


@pytest.mark.parametrize("seed", range(60))
def test_more_loads_contradict_no_rise(seed: int) -> None:
    """Of drawn curves: finer grids show rises only where one was told."""
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    steps = [(10 ** chance.uniform(-3, 0), chance.uniform(1, 3)) for _ in range(5)]
    power = chance.uniform(0, 0.3)

    def of(load: float) -> float:
        return float(load**power * math.prod(by for step, by in steps if load > step))

    few = drawn(seed, 0.01)
    told, finer, lower = (rises([*few, *more], of) for more in ([], drawn(seed + 1, 0.01), [0.001, 0.003]))
    assert max(map(len, (told, finer, lower))) <= knees.MOST
    for low, high in finer:
        assert any(low < above and below < high for below, above in told)
    for low, high in told:
        assert any(below <= low and high <= above for below, above in lower), "low loads remove none"


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param({0.001: 1.0, 0.031: 1.3, 0.99: 1.7}, id="between which loads is not known"),
        pytest.param({0.01: 72, 0.025: 208, 0.05: 272}, id="less steep at its end"),
    ],
)
def test_a_rise_is_told_whole(curve: dict[float, float]) -> None:
    assert rises(curve, curve.__getitem__) == [(min(curve), max(curve))]


def test_the_lowest_of_many_rises_are_told_as_one() -> None:
    loads = [2**place / 10_000 for place in range(13)]
    stairs = {load: 3.0 ** ((place + 1) // 3) for place, load in enumerate(loads)}
    assert rises(loads, stairs.__getitem__) == [(loads[1], loads[5]), (loads[7], loads[8]), (loads[10], loads[11])]


def test_rises_of_a_drive_are_told_as_its_table_shows_them() -> None:
    """Reads on `cm7-r-like` among 30 % writes: a step to 224 µs, and one to 700 µs."""
    table = {1: 73.7, 2: 73.7, 5: 76.5, 10: 138, 20: 224, 30: 224, 40: 259, 50: 364, 100: 658, 155: 708, 195: 718}
    points = [point("page", 1_000 * load, 1_000 * time) for load, time in table.items()]
    (said,) = map(units.typed, knees.over_load([*points, replace(points[-1], over=2e5, is_undecided=True)]))
    rise = (
        "The 99th percentile of reads rises from 76.5 µs to 224 µs between 5.00 k and 20.0 k and from 224 µs to 658 µs"
    )
    assert f"{rise} between 30.0 k and 100 k. No rise follows: at 195 k it is 718 µs." in said
    for at in points:
        at.estimates.update(dict.fromkeys(METRICS, Estimate(6e3, None, 1)))
        del at.estimates["write_p99_9_ns"]
    (said,) = map(units.typed, knees.over_load(points))
    reads, writes, tail = (f"the {name} (6.00 µs to 6.00 µs)" for name in list(knees.PERCENTILES.values())[:3])
    assert (
        f" Without a rise: {reads}, {writes} and {tail}. At 100 k, 51.3 % of its most: mean 6.00 µs, read p50" in said
    )
    assert said.endswith(" write p99 6.00 µs, WA 6,000.")


@pytest.mark.parametrize("device", ["", " on 7450-max-like", " on qlc-16k-like"])
def test_the_tail_of_reads_is_in_a_table_of_80_columns(device: str) -> None:
    points = [point(f"page{device}", load, 123_000) for load in (81_000, 162_000)]
    drawn = drawings.latency("load", {"workload": {"preset": "fin1"}}, points, None, facts=[], verdict=[], cautions=[])
    rows = [Row("", name, cells) for name, *cells in drawn.cells]
    _, left_out = AdaptiveTable(("", "FTL"), drawn.headings[1:], rows).lines(Console(width=80), 2)
    assert not {"read p99", "read p99.9"} & {*left_out}


def test_a_table_of_several_drives_has_percentiles_and_wa_in_80_columns() -> None:
    points = [point(f"page on {device}", load, 123e3) for device in ("7450-max-like", "p5520") for load in (1e4, 2e4)]
    for at in points:
        at.estimates["write_amplification"] = Estimate(3.19, None, 1)
    out = io.StringIO()
    told: dict[str, Any] = {"facts": [], "cautions": [], "verdict": knees.over_load(points)}
    drawn = drawings.latency("load", {"workload": {}}, points, None, **told)
    show_drawing(drawn, None, Console(width=80, file=out))
    _, kinds, heads, first, *lines = units.typed(out.getvalue()).splitlines()
    assert heads.split()[:8] == ["device", "offered", "mean", "p50", "p99", "p99.9", "p99", "WA"]
    assert kinds.split() == ["read", "read", "read", "write"]
    assert first.split()[:3] == ["7450-max-like", "10.0", "k"]
    assert first.split()[-2:] == ["3.19", "0.123"]
    assert "At 10.0 k, 50.0 % of its most: mean 123 µs" in " ".join(" ".join(lines).split())


def test_columns_of_a_kind_without_requests_are_left_out() -> None:
    points = [point("page", load, 1e3) for load in (1e4, 2e4)]
    for at in points:
        for name in ("read_p50_ns", "read_p99_ns", "read_p99_9_ns"):
            del at.estimates[name]
    drawn = drawings.latency("load", {"workload": {}}, points, None, facts=[], verdict=[], cautions=[])
    assert drawn.headings == ["FTL", "offered", "mean", "write p99", "WA", "MB/s"]
    assert [len(row) for row in drawn.cells] == [6, 6]


def test_the_lowest_default_load_has_the_responses_of_an_idle_device() -> None:
    """A rise below it would not be seen."""
    curve = fk.curve_load("randrw", "page", device="7450-like", loads="80", bs="4k", write_share="30%", requests=20_000)
    assert curve.capacity is not None
    assert service.loads(curve.capacity.served.values())[0] <= 80
    (row,) = curve.frame.to_dicts()
    for percentile in ("read_p99_ns", "read_p99_9_ns"):
        assert row[percentile] == pytest.approx(row["read_p50_ns"], rel=0.25), percentile


@pytest.mark.parametrize(
    ("device", "served", "is_told"),
    [
        pytest.param({"preset": "7450-like"}, 900, True, id="stops for reads"),
        pytest.param({"preset": "7450-like", "suspend": "off"}, 900, False, id="stops for nothing"),
        pytest.param({}, 900, False, id="default device"),
        pytest.param({"preset": "7450-like"}, 700, False, id="sustained"),
    ],
)
def test_arrivals_that_sustain_less_than_a_closed_loop_are_explained(
    device: Json, served: float, *, is_told: bool
) -> None:
    points = [point("page", 400, 1_000), point("page", 800, 9e9, behind=True)]
    study: Json = {"workload": {"preset": "fin1"}, "device": device}
    capacity = service.Capacity(100, {"page": served})
    drawn = drawings.latency("load", study, points, capacity, facts=[], verdict=[], cautions=[])
    assert ("Arrivals sustain less" in drawn.notes[-1]) is is_told


def test_layers_that_are_level_are_not_ranked() -> None:
    points = [point(ftl, 100, mean) for ftl, mean in (("page", 100_000), ("dftl", 101_000))]
    most, together, *_ = knees.over_load(points)
    assert most == "page and dftl keep up with at least 100 requests per second alike."
    assert "mean responses are level" in together
    assert not {"fastest", "lowest"} & {*together.split()}


def test_percentiles_that_lead_both_ways_are_all_told() -> None:
    page, dftl = point("page", 100, 100_000), point("dftl", 100, 200_000)
    page.estimates.update({"read_p99_ns": Estimate(400_000, None, 1), "read_p99_9_ns": Estimate(700_000, None, 1)})
    dftl.estimates.update({"read_p99_ns": Estimate(560_000, None, 1), "read_p99_9_ns": Estimate(590_000, None, 1)})
    _, together, *_ = knees.over_load([page, dftl])
    for told in ("page has the lowest 99th percentile of reads (400", "dftl has the lowest 99.9th percentile of reads"):
        assert told in together.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("mean", [99_000, 100_000, 200_000])
def test_lower_tails_than_those_of_the_fastest_are_told(mean: float) -> None:
    page, dftl = point("page", 100, 100_000), point("dftl", 100, mean)
    dftl.estimates.update(page.estimates | {"response_mean_ns": Estimate(mean, None, 1)})
    dftl.estimates["read_p99_9_ns"] = Estimate(50_000, None, 1)
    _, together, *_ = knees.over_load([page, dftl])
    told = "dftl has the lowest 99.9th percentile of reads (50.0 µs against 100 µs)."
    assert units.typed(together).endswith(f" {told}")
    assert ("page answers fastest on average" in together) is (mean > 100_000)


def test_loads_are_tried_between_the_highest_sustained_and_the_next() -> None:
    points = [point("page", rate, 1_000, behind=rate > 700) for rate in (100, 700, 800, 900)]
    assert service.between(points) == [733, 767]
    assert service.between(points[:2]) == service.between(points[2:]) == []


def test_default_loads_end_near_the_limit_of_each_layer() -> None:
    options: Any = {"requests": 20_000, "capacity": "64MiB", "precondition": "fill", "seed": 2}
    curve = fk.curve_load("randwrite", "page,dftl", device="slc-small", **options)
    for ftl in ("page", "dftl"):
        mine = service.of_layer(curve.points, ftl)
        kept = service.kept_up(mine)
        assert mine[len(kept)].over / kept[-1].over < 1.15, "the first grid has steps of 1.4"
    assert any("of what all of these keep up with" in sentence for sentence in curve.verdict)


def test_a_hole_of_the_grid_is_no_limit() -> None:
    points = [point(ftl, load, 1_000) for ftl, loads in (("page", (100, 200)), ("dftl", (100,))) for load in loads]
    doubtful = replace(point("dftl", 200, 1_000), is_undecided=True)
    most, *_ = knees.over_load([*points, point("page", 300, 9e9, behind=True), doubtful])
    assert most == "page keeps up with most: 200 requests per second. Behind come dftl with at least 100."


def test_the_verdict_over_depth_names_the_depth_that_is_enough() -> None:
    served = {1: 1_000, 2: 1_900, 4: 2_000, 8: 1_990}
    points = [point("page", depth, depth * 1e6 / 2, served=rate) for depth, rate in served.items()]
    (sentence,) = (text.replace("\N{NO-BREAK SPACE}", " ") for text in knees.over_depth(points))
    assert sentence.startswith("page serves at most 2.00 k requests per second, with 4 outstanding, and 1.90 k with 2.")
    assert "From 2 to 8 outstanding its mean response goes from 1.00 ms to 4.00 ms." in sentence


def test_a_curve_over_load_is_shown_saved_and_the_same_from_python(call: Call, tmp_path: Path) -> None:
    files = ("--report", "l.html", "--json", "l.json", "--csv", "l.csv")
    result = call("curve", "load", *SMALL, "--loads", "200,400000", *files)
    assert "falls behind" in result.stdout
    assert "keeps up with" in " ".join(result.stdout.split())
    document = json.loads((tmp_path / "l.json").read_text())
    assert document["over"] == "load"
    kept, behind = document["points"][:2]
    assert not kept["is_overloaded"]
    assert behind["is_overloaded"]
    assert kept["offered_iops"] == pytest.approx(200, rel=0.05)
    frame = pl.read_csv(tmp_path / "l.csv")
    assert frame.height == len(document["points"]) == 4
    curve = fk.curve_load("fin1", loads="200,400000", requests=600, addresses="dense", precondition="fill")
    assert curve.frame["response_mean_ns"].to_list() == frame["response_mean_ns"].to_list()
    html = (tmp_path / "l.html").read_text(encoding="utf-8")
    assert html.index(">Verdict<") < html.index("<figure")
    spec = json.loads(html.partition('id="spec-curve">')[2].partition("</script>")[0])
    drawn = [row["x"] for data in spec["datasets"].values() for row in data]
    assert max(drawn) < 1_000, "response times of a growing queue are not drawn"


def test_a_curve_over_depth_is_shown_and_serves_no_less_with_more(call: Call, tmp_path: Path) -> None:
    result = call("curve", "depth", *SMALL, "--ftl", "page", "--depths", "1,8", "--csv", "d.csv", "--report", "d.html")
    assert "page serves at most" in " ".join(result.stdout.split())
    frame = pl.read_csv(tmp_path / "d.csv")
    assert frame["queue_depth"].to_list() == [1, 8]
    assert frame["iops"][1] > frame["iops"][0]
    assert 'id="spec-curve-2"' in (tmp_path / "d.html").read_text(encoding="utf-8"), "three charts"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["load", "fin1", "--loads", "10ms"], ["--loads: 10ms is no load", "500..4000:+500"]),
        (["load", "fin1", "--loads", "0"], ["--loads: 0 is no load"]),
        (
            ["spare", "fin1", "--device", "slc-small,tlc-nvme"],
            ["of one device", "ftlkit sweep fin1 --device slc-small,tlc-nvme --ftl page --vary device.spare=0.05..0.3"],
        ),
        (["load", "fin1", "--csv", "a.json"], ["must end in .csv"]),
        (["depth", "fin1", "--depths", "0"], ["queue_depth"]),
        (["depth", "fin1", "--ftl", "pag"], ["pag", "page"]),
    ],
)
def test_bad_input_is_answered(arguments: list[str], words: list[str], call: Call) -> None:
    result = call("curve", *arguments, "--requests", 200, "--addresses", "dense", "--store", "s", exits=2)
    for word in words:
        assert word in " ".join(result.stderr.split())


def test_layers_of_several_devices_are_called_by_both() -> None:
    options: Json = {"span": "32MiB", "requests": 300, "precondition": "fill"}
    devices = ("slc-small", "sd-card-32g")
    curves = [
        fk.curve_load("randread", "page", device=",".join(devices), loads="100,200", **options),
        fk.curve_depth("randread", "page", device=",".join(devices), depths="1,2", **options),
    ]
    for curve in curves:
        assert curve.frame["ftl"].unique(maintain_order=True).to_list() == [f"page on {name}" for name in devices]
        assert [line.split()[1].rstrip(":,") for line in curve.facts if line.startswith("Device ")] == [*devices]
    alone = fk.curve_load("randread", "page", device=devices[1], loads="100,200", **options)
    assert curves[0].frame["response_mean_ns"][2:].to_list() == alone.frame["response_mean_ns"].to_list()


def test_cautions_name_points_by_the_load_or_depth_that_was_asked_for() -> None:
    ftls, options = "page,dftl:cmt=4m", {"device": "slc-small", "span": "32MiB", "requests": 300}
    curves = [
        fk.curve_load("randread", ftls, loads="1200,62e2", **options),  # type: ignore[arg-type] # as a study has them
        fk.curve_depth("randread", ftls, depths="1,4", **options),  # type: ignore[arg-type] # as above
    ]
    words = (("at 1.20 k/s", "at 6.20 k/s"), ("with 1 outstanding", "with 4 outstanding"))
    for curve, asked in zip(curves, words, strict=True):
        points = " on randread, ".join(f"dftl:cmt=4m {how}" for how in asked)
        assert any(f"2 of 4 points ({points} on randread)" in units.typed(text) for text in curve.cautions), asked


def test_what_a_curve_goes_through_itself_is_no_option() -> None:
    with pytest.raises(fk.UserError, match="speedup: a curve over load or depth sets it itself"):
        fk.curve_load("fin1", speedup=2.0)


def test_loads_are_counts_as_anywhere() -> None:
    curves = [
        fk.curve_load("randread", "page", device="slc-small", capacity="32MiB", requests=100, loads=loads)
        for loads in ("2k,4e3", "2000,4000")
    ]
    assert [point.over for point in curves[0].points] == [point.over for point in curves[1].points]
    assert len(curves[0].points) == 2


def test_a_workload_without_times_has_no_load(tmp_path: Path) -> None:
    lines = ["time_ms,op,offset,length", *(f"0,write,{at * 4096},4096" for at in range(50))]
    (tmp_path / "now.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(fk.UserError, match="arrive at once, so there is no load to vary"):
        fk.curve_load(tmp_path / "now.csv", "page", columns="time:ms, op, offset:B, size:B")


class Stopping(Local):
    """A place to run whose user presses Ctrl-C when one load of several is served."""

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Run, and stop before the second answer of more than two."""
        for number, answer in enumerate(super().run(jobs)):
            if number == 1 and len(jobs) > 2:
                raise KeyboardInterrupt
            yield answer


def test_ctrl_c_says_where_finished_loads_are_kept(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftlkit.curves.latency.executor", lambda **_: Stopping(1))
    result = call("curve", "load", *SMALL, "--loads", "100,200,300", "--json", "c.json", exits=130)
    assert "page keeps up with 100 requests per second, the highest load" in " ".join(result.stdout.split())
    assert "Stopped. 3 of 8 runs are in points; the same command goes on from there." in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["points"]
