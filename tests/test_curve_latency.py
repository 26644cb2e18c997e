"""Curves over offered load and queue depth: what is tried, what is said of it, and the commands."""

import json
import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import ftlkit as fk
from conftest import Call
from ftlkit._util import Json, units
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
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
    most, together, page, dftl, block = knees.over_load(points)
    assert most == "page keeps up with most: 400 requests per second. Behind come dftl with 200."
    assert "At 200 a second, which all of these keep up with, page answers fastest" in together
    assert page.startswith("page keeps up with 400 requests per second and falls behind at 800.")
    knee = "Its knee is no lower than 400: the 99th percentile stays below 2 times that at half."
    assert knee in units.typed(page)
    assert "dftl keeps up with 200 requests per second and falls behind at 400." in dftl
    assert "and the 99th percentile of reads from 200 µs to 400 µs." in units.typed(dftl), "not of both kinds together"
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
    limit = "page keeps up with 200 requests per second; 400 is undecided, and it falls behind at 800. On the way"
    assert verdict[0].startswith(limit)
    drawn = drawings.latency(
        "load", {"workload": {"preset": "fin1"}}, points, None, facts=[], verdict=verdict, cautions=[]
    )
    assert [row[2] for row in drawn.cells] == ["100", "200", "undecided", "falls behind"]
    assert not any("".join(row[3:]) for row in drawn.cells[2:])
    assert {row["x"] for row in drawn.charts[0].rows} == {100, 200}
    assert "a longer run (--requests, or --repeat) may fall behind" in drawn.notes[-1]


def queue(loads: Iterable[float], of: Callable[[float], float]) -> list[Point]:
    """Points below saturation at 1,000 requests per second, and one above it."""
    kept = [point("page", load, of(load / 1_000)) for load in sorted(loads) if load < 1_000]
    return [*kept, point("page", 1_100, 9e9, behind=True)]


def m_m_1(load: float) -> float:
    """A percentile of the responses of a queue with one server: in proportion to 1 / (1 - load)."""
    return 100_000 / (1 - load)


CLOSED_FORMS = {
    # The load at which each is twice its value at half of 990 requests per second.
    "one server": (m_m_1, 747.5),
    "deterministic service": (lambda load: 100_000 * (2 - load) / (1 - load), 798.4),
    "straight, then steep": (lambda load: 100_000 * (1 + 99 * max(0.0, load - 0.9)), 910.1),
    "a step far below": (lambda load: (100_000 if load > 0.004 else 50_000) / (1 - load), 747.5),
}
LOADS = [*range(25, 1_000, 25), 990]


@pytest.mark.parametrize("form", CLOSED_FORMS)
@pytest.mark.parametrize("metric", [*service.KINDS, *service.TAILS])
def test_the_knee_of_a_closed_form_is_where_that_is_steep(form: str, metric: str) -> None:
    of, load = CLOSED_FORMS[form]
    *kept, _ = queue(LOADS, of)
    place = knees.knee(kept, metric)
    assert kept[place].over <= load <= kept[place + 1].over


@pytest.mark.parametrize("seed", range(30))
def test_low_loads_do_not_move_the_knee(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    few = queue([*LOADS[18:], *chance.sample(LOADS[:18], chance.randint(0, 5)), chance.uniform(0.1, 9)], m_m_1)
    of_few, of_all = (
        knees.over_load(points)[0].partition(" Its knee ")[2].split(" Reads begin")[0]
        for points in (few, queue(LOADS, m_m_1))
    )
    assert of_few == of_all
    assert units.typed(of_all).startswith(
        "is between 725 and 750, 73.2 % to 75.8 % of 990: the 99th percentile of reads passes"
    )


@pytest.mark.parametrize("most", [100, 400, 990])
def test_a_flat_curve_has_its_knee_at_the_highest_load(most: int) -> None:
    (said,) = map(units.typed, knees.over_load(queue([load for load in LOADS if load <= most], lambda _: 1_000.0)))
    assert f"Its knee is no lower than {units.typed(units.rate(most))}: " in said
    assert f"The knee of its tail is no lower than {units.typed(units.rate(most))}: " in said


@pytest.mark.parametrize("device", ["", " on 7450-max-like", " on qlc-16k-like"])
def test_the_tail_of_reads_is_in_a_table_of_80_columns(device: str) -> None:
    points = [point(f"page{device}", load, 123_000) for load in (81_000, 162_000)]
    drawn = drawings.latency("load", {"workload": {"preset": "fin1"}}, points, None, facts=[], verdict=[], cautions=[])
    rows = [Row("", name, cells) for name, *cells in drawn.cells]
    _, left_out = AdaptiveTable(("", "FTL"), drawn.headings[1:], rows).lines(Console(width=80), 2)
    assert not {"read p99", "read p99.9"} & {*left_out}


def test_a_knee_needs_the_highest_load_and_half_of_it() -> None:
    *kept, behind = queue(LOADS, m_m_1)
    assert "knee" not in knees.over_load(kept)[0], "it may be sustained at more"
    high = [point for point in kept if point.over > 500]
    assert "Its knee is not known: it takes a load of half of 990 or less." in knees.over_load([*high, behind])[0]
    for at in kept:
        del at.estimates["write_p99_ns"]
    assert knees.over_load([*kept, behind])[0].count("of writes") == 0, "a kind without requests"


def test_reads_that_meet_programs_at_low_loads_are_no_knee() -> None:
    of, _ = CLOSED_FORMS["a step far below"]
    (said,) = knees.over_load(queue([1, 4, 6, *LOADS], lambda load: of(load) * (1.5 if load > 0.004 else 1)))
    assert "Reads begin to meet programs between 4.00 and 6.00: their 99.9th percentile goes from" in units.typed(said)
    assert "Its knee is between 725 and 750" in units.typed(said)


def test_the_lowest_default_load_has_the_responses_of_an_idle_device() -> None:
    """A knee told against a load that requests already meet at would lie too high."""
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
    assert most == "page and dftl keep up with 100 requests per second alike."
    assert "mean responses are level" in together
    assert "fastest" not in together


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
