"""Statements of a sweep, against random rows and against the cautions of single runs."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
import sample
from conftest import Call
from ftlkit._util import units
from ftlkit.report.cautions import CAUTIONS
from ftlkit.report.verdict import CLOSE
from ftlkit.results.columns import COLUMNS
from ftlkit.sweeps.goals import NO_RANKING
from ftlkit.sweeps.statements import KINDS, statements, summary
from ftlkit.sweeps.summary import groups

MEAN = COLUMNS["response_mean_ns"]


SAMPLE: Any = sample.document()


def row(label: str, mean: float, seed: int = 1, **changes: object) -> dict[str, Any]:
    """A point of a store: one run with this mean response; `changes` replaces keys of the run."""
    run = SAMPLE["runs"][0] | {"label": label, "precondition": None} | changes
    document = SAMPLE | {"runs": [run]}
    return {
        "state": "done",
        "device": "slc-small",
        "workload": "fin1",
        "label": label,
        "seed": seed,
        "varied": [],
        "study": json.dumps({"ftl": [{"name": label}]}),
        "document": json.dumps(document),
        "response_mean_ns": mean,
        "ram_bytes": 1024,
    }


def overloaded(*, is_overloaded: bool) -> dict[str, Any]:
    """The key of a run that fell behind its arrivals, or of one that did not."""
    return {"load": {"is_overloaded": is_overloaded, "offered_iops": 1.0, "bottleneck_iops": 2.0}}


def named(pattern: str, text: str) -> str:
    """The one group of a pattern that has to be there."""
    match = re.search(pattern, text)
    assert match, text
    return match[1]


def is_level(mean: float, best: float) -> bool:
    """Whether a mean is told as the best one."""
    return MEAN.text(mean) == MEAN.text(best) or mean < CLOSE * best


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_two_seeds_are_said_to_be_few(seeds: int) -> None:
    rows = [row(label, 1e5, seed) for label in ("page", "dftl") for seed in range(seeds)]
    few = [sentence for sentence in statements(rows).cautions if sentence.startswith("Two seeds give wide intervals")]
    assert len(few) == (seeds == 2)


@pytest.mark.parametrize("seed", range(60))
def test_every_superlative_of_a_sweep_holds(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    means = [chance.choice([1e5, 2e5, 2.0001e5, 3e5, 5e5]) for _ in range(chance.randint(2, 6))]
    behind = [chance.random() < 0.3 for _ in means]
    rows = [
        row(f"ftl{place}", mean * chance.uniform(0.8, 1.2), number, **overloaded(is_overloaded=late))
        for place, (mean, late) in enumerate(zip(means, behind, strict=True))
        for number in range(1, chance.choice([1, 3]) + 1)
    ]
    text = " ".join(statements(rows).headline)
    ranked = {}
    for place, group in enumerate(groups(rows)):
        estimate_ = group.estimate(MEAN.name)
        assert estimate_ is not None
        if not behind[place]:
            ranked[group.label] = estimate_.mean
    if not ranked:
        assert "no point can be ranked" in text
        return
    values = sorted(ranked.values())
    if len(values) == 1:
        assert f"{next(iter(ranked))} is the only point that can be ranked, with a mean response of " in text
        return
    if all(is_level(value, values[0]) for value in values):
        assert f"all {len(values)} ranked points are level in mean response, {MEAN.text(values[0])}" in text
        return
    lead, rest = text.split(". The next is ", 1)
    level = [label for label, value in ranked.items() if is_level(value, values[0])]
    assert f"the lowest mean response, {MEAN.text(values[0])}" in lead
    assert set(re.findall(r"ftl\d", lead)) == set(level)
    assert ranked[named(r"\((ftl\d)", rest)] == values[len(level)]
    if "the highest is" in rest:
        assert ranked[named(r"the highest is [^(]+\((ftl\d)\)", rest)] == values[-1]
    else:
        assert len(values) == len(level) + 1
    assert ("not ranked" in text) == any(behind)


def test_a_ranking_by_write_amplification_keeps_overloaded_points() -> None:
    rows = [
        row("a", 1e5, **overloaded(is_overloaded=True)) | {"write_amplification": 1.5, "simulated_ns": 1},
        row("b", 1e5) | {"write_amplification": 2.0, "simulated_ns": 1},
    ]
    assert "1 point not ranked: overloaded" in statements(rows).headline[0]
    rows[1]["simulated_ns"] = None
    assert "a has the lowest write amplification, 1.50. The next is 2.00 (b)." in statements(rows).headline[0]


def test_the_longest_life_leads_and_overload_bars_no_point_from_it() -> None:
    rows = [
        row(label, 1e5, **overloaded(is_overloaded=True))
        | {"life_bytes": life, "life_low_bytes": life, "life_high_bytes": life}
        for label, life in {"a": 1e12, "b": 3e12}.items()
    ]
    (told,) = statements(rows, "life").headline
    assert "b has the longest life, 3.00 TB. The next is 1.00 TB (a)." in units.typed(told)


def test_lives_are_ranked_under_even_wear_where_one_has_no_forecast() -> None:
    erases = {"total": 8000, "mean": 2.0, "std": 0.0, "min": 2, "max": 2, "gini": None, "histogram": [[2, 2, 4000]]}
    endurance = SAMPLE["runs"][0]["endurance"] | {"limit": 1000}
    runs = [
        row(
            name,
            1e5,
            erases=erases | {"mean": mean},
            endurance=endurance,
            series=SAMPLE["runs"][0]["series"] | {"write_amplification": [wa] * 200},
        )
        | {"life_bytes": life}
        for name, mean, wa, life in (("a", 2.0, 2.0, 1e12), ("b", 2.0, 1.5, None), ("new", 0.5, 1.0, None))
    ]
    (told,) = statements(runs, "life").headline
    assert "b has the longest life under even wear (some have no forecast)" in told
    assert "(a)" in told, "the forecast, too, is ranked by its write amplification"
    assert "1 point not ranked: in its first turn" in told
    (told,) = statements(runs[2:], "life").headline
    assert "no point can be ranked: each is in its first turn" in told


def test_a_goal_without_a_figure_is_told() -> None:
    (told,) = statements([row(name, 1e5) | {"read_p99_ns": None} for name in "ab"], "p99-read").headline
    assert told == "On fin1 (slc-small) no point has a 99th percentile of reads."
    with pytest.raises(fk.UserError, match=r"--goal p99-read: needs a clock .* rank by wa or life"):
        fk.sweep("zipf", "page", goal="p99-read", clock=False)


@pytest.mark.parametrize("goal", ['"was"', "3", '["wa"]'])
def test_what_is_no_goal_of_a_study_is_refused(goal: str, tmp_path: Path) -> None:
    study = tmp_path / "sweep.toml"
    study.write_text(f'[workload]\npreset = "fin1"\n[[ftl]]\nname = "page"\n[sweep]\ngoal = {goal}\n')
    with pytest.raises(fk.UserError, match=r"there is no such goal.* There are mean, p99"):
        fk.sweep(study)


def test_equals_are_told_by_their_ram() -> None:
    rows = [row("a", 1e5) | {"ram_bytes": 4 << 20}, row("b", 1e5) | {"ram_bytes": 1 << 20}]
    (told,) = statements(rows).headline
    assert "of these b takes least RAM, 1 MiB (most: 4 MiB, a)." in units.typed(told)
    rows = [row("a", 1e5) | {"write_p99_ns": 2e6}, row("b", 2e5) | {"write_p99_ns": 1e6}]
    assert "b has the lowest 99th percentile of writes" in statements(rows, "p99-write").headline[0]


def test_points_within_the_noise_are_said_to_be() -> None:
    close = [row("a", 1.0e5 + 1e4 * seed, seed) for seed in range(3)] + [
        row("b", 1.1e5 + 1e4 * seed, seed) for seed in range(3)
    ]
    apart = [row("a", 1.0e5 + seed, seed) for seed in range(3)] + [row("b", 2.0e5 + seed, seed) for seed in range(3)]
    assert "within the noise of the seeds" in statements(close).headline[0]
    assert "within the noise of the seeds" not in statements(apart).headline[0]
    near = [one | {"response_mean_ns": one["response_mean_ns"] - 8e3 * (one["label"] == "b")} for one in close]
    assert "all 2 ranked points are level in mean response" in statements(near).headline[0]


@pytest.mark.parametrize(
    ("seeds", "told"), [(1, "all 2 ranked points are level in mean response, "), (3, "a has the ")]
)
def test_a_distance_within_the_noise_of_a_trace_ranks_only_with_seeds_that_tell_it(seeds: int, told: str) -> None:
    rows = [row(name, mean + seed, seed) for name, mean in (("a", 1e5), ("b", 1.03e5)) for seed in range(seeds)]
    assert told in statements(rows).headline[0]


@pytest.mark.parametrize(
    ("low", "told"),
    [
        (2.2e12, "all 3 ranked points are level in life, 3.00 TB to 2.40 TB"),
        (2.45e12, "c and b have the longest life, 3.00 TB to 2.70 TB. The next is 2.40 TB (a)."),
    ],
)
def test_lives_whose_forecasts_overlap_are_told_as_a_tie_as_compare_does(low: float, told: str) -> None:
    rows = [
        row(name, 1e5) | {"life_bytes": life, "life_low_bytes": least, "life_high_bytes": most}
        for name, life, least, most in (
            ("a", 2.40e12, 2.1e12, 2.4e12),
            ("b", 2.70e12, 2.5e12, 2.9e12),
            ("c", 3.00e12, low, 3.2e12),
        )
    ]
    assert told in units.typed(statements(rows, "life").headline[0])


def test_a_sweep_ranks_by_what_the_host_waits_for_where_flushes_weigh() -> None:
    flush = {"flush_ns": SAMPLE["runs"][0]["response_ns"]["all"] | {"mean": 3e5}}
    rows = [
        row(name, mean, response_ns={"all": SAMPLE["runs"][0]["response_ns"]["all"] | {"mean": mean}}, **changes)
        | {"flush_mean_ns": (changes and 3e5) or None}
        for name, mean, changes in (("a", 1e5, flush), ("b", 2e5, {}))
    ]
    told = units.typed(statements(rows).headline[0])
    assert "b has the lowest mean response with flushes, 200 us. The next is 400 us (a)." in told.replace("µ", "u")
    assert (
        "a has the lowest 99th"
        in statements([one | {"response_p99_ns": one["response_mean_ns"]} for one in rows], "p99").headline[0]
    )


def test_points_that_differ_by_nothing_share_the_lead() -> None:
    rows = [row("a", 123_490.0), row("b", 123_510.0), row("c", 130_000.0)]
    assert MEAN.text(123_490.0) != MEAN.text(123_510.0)
    assert "a and b have the lowest mean response" in statements(rows).headline[0]


def test_a_misread_trace_is_hinted_at_by_a_sweep() -> None:
    document = sample.document(
        workload=SAMPLE["workload"]
        | {
            "misalignment": {"aligned": 0.01, "align_offset_bytes": 512, "aligned_with_offset": 0.7},
            "repeated": {"requests": 20_000, "within_ns": 1_000_000},
        }
    )
    rows = [row("a", 1e5) | {"document": json.dumps(document)}, row("b", 2e5) | {"document": json.dumps(document)}]
    for kind in ("misaligned", "repeated"):
        assert f"All 2 points: {summary(kind)}." in statements(rows).cautions


def test_a_caution_is_said_once_with_its_points() -> None:
    none = {"total": 0, "mean": 0.0, "std": 0.0, "min": 0, "max": 0, "gini": None, "histogram": [[0, 0, 1000]]}
    statements_ = statements([row("a", 1e5, erases=none), row("b", 2e5, erases=none), row("c", 3e5)])
    mine = [sentence for sentence in statements_.cautions if "No block was erased" in sentence]
    assert mine == [f"2 of 3 points (a on fin1, b on fin1): {summary('nothing_erased', {'is_steady': True})}."]
    advised = ["--precondition steady" in sentence for sentence in (mine[0], summary("nothing_erased"))]
    assert advised == [False, True], "the device was in a steady state"


def test_every_kind_of_caution_has_a_summary() -> None:
    assert {rule.id for rule in CAUTIONS} == {"stopped", *KINDS}
    assert set(NO_RANKING) <= set(KINDS)


def test_a_sweep_without_erases_says_so(call: Call, tmp_path: Path) -> None:
    arguments = ["fin1", "--ftl", "dftl", "--vary", "dftl.cmt=16KiB,64KiB", "--requests", 2000, "--addresses", "dense"]
    result = call("sweep", *arguments, "--report", "r.html")
    text = " ".join(result.stdout.split())
    assert " On fin1 (client-tlc) " in text
    assert f"All 2 points: {summary('nothing_erased')}" in text
    html = re.sub("</?(span|wbr)[^>]*>", "", (tmp_path / "r.html").read_text(encoding="utf-8"))
    assert html.index("Verdict") < html.index(summary("nothing_erased")) < html.index("<figure")
