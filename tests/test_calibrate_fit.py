"""The search, the intervals and the doubts of `ftlkit calibrate`, on a model of a few formulas."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ftlkit.calibration.certainty import for_any_victims, reason
from ftlkit.calibration.fit import Fit, Prior, Problem, fitted
from ftlkit.calibration.model import Engine, Shape, Values
from ftlkit.calibration.points import IOPS, LATENCY, READ, TRIMMED, WRITE, Point
from ftlkit.calibration.profile import Profile
from ftlkit.calibration.shapes import Choice, chosen
from ftlkit.models.uniform import greedy
from tool_modules import load_tool

VALUES: Values = {
    "read_latency": 80e3,
    "transfer_latency": 20e3,
    "program_latency": 600e3,
    "link_latency": 10e3,
    "controller_latency": 0.0,
    "link_ns_per_byte": 0.0,
    "erase_latency": 3e6,
    "spare": 0.2,
}

PRIORS = {
    "read_latency": Prior(50e3, 1.5),
    "transfer_latency": Prior(50e3, 1.5),
    "link_latency": Prior(0.0, 100e3),
}


def shape_of(channels: int, beside: int) -> Shape:
    return Shape(channels, beside, 4096, 64, 1 << 30)


class Formulas:
    """Reads of a drive by formulas: a stand-in for the simulator."""

    runs = 0

    def figure(self, point: Point, shape: Shape, values: Values) -> float:
        """A point's figure."""
        self.runs += 1
        link = values["link_latency"] + values["controller_latency"]
        if point.kind == TRIMMED:
            return link
        pages = point.size // shape.page_size
        moved = math.ceil(min(pages, shape.dies) / shape.channels) + max(0, pages - shape.dies) / shape.channels
        if point.kind == WRITE:
            return link + values["program_latency"]
        alone = link + values["read_latency"] + moved * values["transfer_latency"]
        if point.figure == LATENCY:
            return alone
        dies = shape.dies / (values["read_latency"] + values["transfer_latency"])
        dies *= point.depth / (point.depth + shape.dies - 1)
        return 1e9 * min(dies, shape.channels / values["transfer_latency"], point.depth / alone)


def measured(shape: Shape, values: Values, noise: float = 0.01, seed: int | None = None) -> list[Point]:
    """The points of a drive, with noise if there is a seed."""
    draw = random.Random(seed)  # noqa: S311 - a draw that repeats
    point = Point(
        "",
        READ,
        is_random=True,
        is_uniform=True,
        size=4096,
        depth=1,
        used=0.5,
        figure=LATENCY,
        measured=1.0,
        noise=noise,
    )
    points = [replace(point, job=f"read-{size}", size=4096 * size) for size in (1, 2, 4, 8, 16, 32, 64)]
    points += [replace(point, job=f"depth-{depth}", depth=depth, figure=IOPS) for depth in (2, 4, 8, 16, 64, 256)]
    points.append(replace(point, job="trimmed", kind=TRIMMED))
    return [
        replace(
            one,
            measured=Formulas().figure(one, shape, values) * (1 if seed is None else math.exp(draw.gauss(0, noise))),
        )
        for one in points
    ]


def problem_of(points: Sequence[Point], shape: Shape, priors: dict[str, Prior]) -> tuple[Problem, Fit]:
    """A problem, and its fit from a start far off."""
    engine = cast("Engine", Formulas())
    start = VALUES | {name: prior.value for name, prior in priors.items()}
    fit = fitted(points, shape, start, priors, engine, lambda: None)
    return Problem(points, shape, priors, engine, lambda: None), fit


@pytest.mark.parametrize("seed", [None, 1], ids=["exact", "noise"])
def test_a_fit_from_a_far_start_finds_the_truth(seed: int | None) -> None:
    _, fit = problem_of(measured(shape_of(2, 8), VALUES, seed=seed), shape_of(2, 8), PRIORS)
    for name in PRIORS:
        assert fit.values[name] == pytest.approx(VALUES[name], rel=0.002 if seed is None else 0.05), name


def test_profile_intervals_hold_the_truth_as_often_as_stated() -> None:
    held = of = 0
    for seed in range(40):
        shape = shape_of(*((2, 4), (4, 2), (1, 8), (8, 2))[seed % 4])
        problem, fit = problem_of(measured(shape, VALUES, seed=seed), shape, PRIORS)
        for name, (low, high) in Profile(problem, fit).intervals.items():
            held, of = held + (low <= VALUES[name] <= high), of + 1
            assert low <= fit.values[name] <= high, name
            assert high < 2 * low, name
    assert held >= 0.9 * of, (held, of)


def test_an_interval_grows_by_what_the_model_misses() -> None:
    exact = measured(shape_of(2, 4), VALUES)
    missed = [replace(one, measured=one.measured * (1.1 if place % 2 else 0.9)) for place, one in enumerate(exact)]
    widths = []
    for points in (exact, missed):
        low, high = Profile(*problem_of(points, shape_of(2, 4), PRIORS)).intervals["read_latency"]
        assert low < VALUES["read_latency"] < high
        widths.append(high / low - 1)
    assert widths[1] > 3 * widths[0]


def test_a_sum_alone_leaves_each_part_open() -> None:
    priors = PRIORS | {"controller_latency": Prior(0.0, 30e3)}
    intervals = Profile(*problem_of(measured(shape_of(2, 4), VALUES), shape_of(2, 4), priors)).intervals
    assert intervals["controller_latency"][0] == 0.0
    assert intervals["controller_latency"][1] > 9e3
    assert intervals["link_latency"][0] < 1e3
    assert intervals["link_latency"][1] > 9.9e3


def test_an_interval_ends_where_one_of_two_times_takes_their_whole_sum() -> None:
    """No two dies share a channel: tR + transfer shows; transfers are assumed too short."""
    shape, values = shape_of(8, 1), VALUES | {"transfer_latency": 50e3}
    points = [one for one in measured(shape, values) if one.size <= 8 * 4096]
    priors = PRIORS | {"read_latency": Prior(100e3, 1.5), "transfer_latency": Prior(10e3, 1.5)}
    low, high = Profile(*problem_of(points, shape, priors)).intervals["read_latency"]
    assert low < 80e3
    assert 125e3 < high < 132e3


@pytest.mark.parametrize(("pages", "least", "most"), [(32, 0.312, 0.322), (4096, 0.3, 0.3005)], ids=["short", "long"])
def test_a_spare_may_be_that_of_collections_of_oldest_blocks(pages: int, least: float, most: float) -> None:
    """Of the oldest block a share p is valid, with ln p = (p - 1) / utilisation."""
    low, high = for_any_victims({"spare": (0.28, 0.3)}, pages)["spare"]
    assert low == 0.28
    assert least < high < most
    valid = 1 - 1 / greedy(0.7, pages)
    assert 1 - high == pytest.approx((valid - 1) / math.log(valid), rel=0.002)
    assert for_any_victims({}, pages) == {}


def test_a_profile_reports_a_better_fit_than_its_own() -> None:
    points, shape = measured(shape_of(2, 4), VALUES), shape_of(2, 4)
    problem, fit = problem_of(points, shape, PRIORS)
    trapped = replace(fit, values=fit.values | {"read_latency": 84e3})
    better = Profile(problem, trapped).better
    assert better is not None
    assert abs(better["read_latency"] - 80e3) < 3e3
    assert Profile(problem, fit).better is None


def found(shape: Shape, values: Values) -> Choice:
    engine: Any = Formulas()
    return chosen(
        measured(shape, values),
        replace(shape, channels=1, dies_per_channel=1),
        (),
        VALUES,
        PRIORS,
        engine,
        lambda: None,
    )


@pytest.mark.parametrize("transfer", [3e3, 20e3, 60e3])
@pytest.mark.parametrize(("channels", "beside"), [(1, 8), (8, 1), (2, 8), (8, 2), (4, 4), (16, 2), (2, 16), (4, 1)])
def test_the_shape_is_found_or_told_as_alike(channels: int, beside: int, transfer: float) -> None:
    choice = found(shape_of(channels, beside), VALUES | {"transfer_latency": transfer})
    assert choice.best.misfit < 1
    shapes = [(fit.shape.channels, fit.shape.dies_per_channel) for fit in (choice.best, *choice.rivals)]
    assert (channels, beside) in shapes


@pytest.mark.parametrize(
    ("explain", "words"),
    [
        ({}, ""),
        ({"first writes": 9.7}, "up to 9.7 times as fast as its flash, as from a cache."),
        ({"first writes": 0.6}, "otherwise than the model."),
        ({"settled writes": 9.7}, "otherwise than the model."),
        ({"first writes": 9.7, "settled writes": 0.6}, "nothing tells which of them the model lacks."),
    ],
    ids=["none", "cache", "slow", "settled", "both"],
)
def test_a_reason_is_told_only_where_one_fit_tells_it(explain: dict[str, float], words: str) -> None:
    text = reason(explain, "first writes")
    assert text.endswith(words)
    assert bool(text) == bool(explain)


def test_a_trial_counts_the_intervals_that_hold() -> None:
    def row(key: str, value: float, low: float | None, high: float | None, state: str = "roughly") -> dict[str, Any]:
        return {"key": key, "value": value, "low": low, "high": high, "state": state}

    parameters = [
        row("channels", 2, 1, 8),
        row("dies_per_channel", 4, 1, 8),
        row("read_latency", 5e4, 4e4, 6e4),
        row("spare", 0.2, 0.19, 0.21),
        row("erase_latency", 1e6, None, None, "assumed"),
    ]
    device = {"channels": 8, "dies_per_channel": 1, "read_latency": "55000ns", "spare": 0.3, "erase_latency": "2000ns"}
    made = load_tool("calibrate_trial").judged({"parameters": parameters, "doubt": "", "runs": 1}, device)
    assert (made["held"], made["of"], made["right"]) == (1, 2, "alike")
    assert list(made["missed"]) == ["spare"]
