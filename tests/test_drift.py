"""Bounds of years and cautions about short runs, held against runs ten and twenty times as long."""

import json
import random
from functools import cache
from typing import Any

import pytest

from conftest import LONG
from ftlkit import _native, study
from ftlkit._native import Control
from ftlkit.report import drift
from ftlkit.report.cautions import all_cautions
from ftlkit.report.drift import bounds
from ftlkit.results.outcome import Outcome

PAGES, UNIT = 8192, 4096
STACKS = ["page", "page:streams=fadac:victim=cat", *(["dftl:cmt=4KiB", "page:victim=fifo"] if LONG else [])]
PATTERNS: dict[str, Any] = {
    "uniform": "uniform",
    "zipf": {"zipf": {"theta": 0.99}},
    "hot and cold": {"hot_cold": {"hot_data_share": 0.1, "hot_request_share": 0.9}},
    "log": "sequential",
}
PREPARATIONS = ["steady", "fill", "none"]
DIGITS = 1.01
"""Figures are told with three digits."""
LENGTHS, TIMES = ((1, 2, 4, 8), (10, 20)) if LONG else ((0.25, 1, 3), (10,))
"""Passes over the data of short runs, and how many times as long the others are."""


@cache
def ran(stack: str, pattern: str, preparation: str, passes: float) -> Outcome:
    """A run without a clock, of a number of passes over a device of 32 MiB."""
    generator = {"pattern": PATTERNS[pattern], "span": PAGES * UNIT, "requests": int(PAGES * passes)}
    asked = {
        "device": {"preset": "slc-small", "capacity": PAGES * UNIT, "spare": 0.25, "endurance": 100_000},
        "run": {"clock": False, "precondition": preparation},
        "workload": {"generator": generator},
        "ftl": [study.scheme(stack)],
    }
    return Outcome(json.loads(_native.run_study(json.dumps(asked), Control(), 1)))


@pytest.mark.parametrize(
    ("fifths", "is_trend"), [([0.0, 0.4], True), ([0.4, 0.0], True), ([0.0, 0.0], False), ([2.0, 2.1], False)]
)
def test_a_fifth_that_a_buffer_absorbed_is_no_division(fifths: list[float], *, is_trend: bool) -> None:
    assert drift.has_trend(fifths) == is_trend


def kinds(outcome: Outcome) -> set[str]:
    """The kinds of caution of a run."""
    return {caution.kind for caution in all_cautions(outcome)}


CASES = [(stack, pattern, preparation) for stack in STACKS for pattern in PATTERNS for preparation in PREPARATIONS]


def test_longer_runs_are_within_the_bounds_of_a_short_one() -> None:
    within, bounded = [], 0
    for case in CASES:
        for passes in LENGTHS:
            outcome = ran(*case, passes)
            between = bounds(outcome, outcome.document["runs"][0])
            if between is None:
                continue
            bounded += 1
            for times in TIMES:
                (run,) = ran(*case, passes * times).document["runs"]
                is_within = between[0] <= (run["write_amplification"] or 0.0) <= between[1]
                within.append((is_within, case, passes, times, between, run["write_amplification"]))
    missed = [each for each in within if not each[0]]
    assert len(missed) <= 0.05 * len(within), missed
    assert bounded >= len(CASES) / 4, "bounds that are never given hold nothing"


CACHED = [f"{name}:cmt={size}" for name in ("dftl", "cdftl", "tpftl", "s-ftl") for size in ("6KiB", "16KiB")]


@cache
def wrote(stack: str, pages: int, spare: float, passes: float) -> Outcome:
    """A run of uniform writes of some pages on a drive that was prepared in a steady state."""
    bytes_each, capacity = pages * UNIT, 4 * PAGES * UNIT
    generator = {"span": capacity, "unit": bytes_each, "sizes": bytes_each}
    generator["requests"] = int(passes * capacity / bytes_each)
    asked = {
        "device": {"preset": "slc-small", "capacity": capacity, "spare": spare},
        "run": {"clock": False, "precondition": "steady"},
        "workload": {"generator": generator},
        "ftl": [study.scheme(stack)],
    }
    return Outcome(json.loads(_native.run_study(json.dumps(asked), Control(), 1)))


@pytest.mark.full
def test_ten_times_as_long_a_run_of_a_cached_map_is_within_the_bounds() -> None:
    """Preparations of single pages left 128 KiB of writes a fall from 11.2 to 9.4."""
    drawn = random.Random(53)  # noqa: S311 - cases of a test
    cases = [
        (drawn.choice(CACHED), drawn.choice((1, 4, 16)), drawn.choice((0.12, 0.2, 0.28)))
        for _ in range(20 if LONG else 6)
    ]
    missed = []
    for case in cases:
        between = bounds(short := wrote(*case, 1.5), short.document["runs"][0])
        (run,) = wrote(*case, 15).document["runs"]
        if between is None or not between[0] <= (run["write_amplification"] or 0.0) <= between[1]:
            missed.append((case, between, drift.parts(short.document["runs"][0]), run["write_amplification"]))
    assert len(missed) <= 0.05 * len(cases), missed


def spares_gone(outcome: Outcome) -> Any:  # noqa: ANN401 - a forecast, if there is one
    """The forecast of the device's life."""
    (run,) = outcome.document["runs"]
    return run["endurance"]["spares_gone"] if "endurance" in run else None


def test_lives_of_longer_runs_are_in_the_range_of_a_short_one_without_a_caution() -> None:
    within = []
    for case in CASES:
        for passes in LENGTHS:
            life = spares_gone(short := ran(*case, passes))
            if life is None or {"drifting", "rising", "under_a_pass", "laps"} & kinds(short):
                continue
            for times in TIMES:
                longer = spares_gone(ran(*case, passes * times))["written_bytes"]
                is_within = life["low_bytes"] <= DIGITS * longer and longer <= DIGITS * life["high_bytes"]
                within.append((is_within, case, passes, times, life, longer))
    missed = [each for each in within if not each[0]]
    assert len(missed) <= 0.05 * len(within), missed
    assert len(within) >= len(CASES) / 8


def test_a_run_that_longer_ones_differ_from_is_cautioned() -> None:
    silent, differing = [], 0
    for case in CASES:
        for passes in LENGTHS:
            short, long = (ran(*case, length) for length in (passes, passes * TIMES[-1]))
            amplifications = [each.document["runs"][0]["write_amplification"] or 0.0 for each in (short, long)]
            differs = not 1 / 1.1 <= amplifications[1] / amplifications[0] <= 1.1
            differing += differs
            told = {
                "drifting",
                "under_a_pass",
                "rising",
                "nothing_erased",
                "collections_not_reached",
                "unsettled",
            } & kinds(short)
            silent += [(case, passes, amplifications)] if differs and not told else []
    assert differing >= len(CASES) / 4
    assert len(silent) <= 0.05 * differing, silent


def test_the_noise_of_a_run_that_is_too_short_is_no_trend() -> None:
    short = ran("page", "uniform", "steady", 0.25)
    (run,) = short.document["runs"]
    assert drift.has_trend(drift.parts(run)), "by chance"
    assert "under_a_pass" in kinds(short)
    assert "drifting" not in kinds(short)


@pytest.mark.parametrize("pattern", ["zipf", "log"])
def test_the_requests_that_are_asked_for_settle_the_run(pattern: str) -> None:
    short = ran("page:streams=fadac:victim=cat", pattern, "steady", 0.5)
    told = [caution for caution in all_cautions(short) if caution.kind in ("drifting", "under_a_pass")]
    passes = max(caution.facts["enough"] for caution in told) / PAGES
    assert passes > 2
    longer = ran("page:streams=fadac:victim=cat", pattern, "steady", passes)
    assert drift.passes(longer, longer.document["runs"][0]) == pytest.approx(passes, rel=0.01)
    assert longer.document["runs"][0]["erases"]["mean"] >= drift.ENOUGH_ERASES or pattern == "log"
