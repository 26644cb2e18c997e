"""Measures and verdicts of reproductions, on runs with known numbers."""

from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from ftlkit import reproduce
from ftlkit.results.columns import METRICS
from reproduction import STUDY, claim, judged, made
from tool_modules import load_tool


def each(**times: float) -> list[reproduce.Point]:
    """Runs that took so long, by variant."""
    return [made(time, variant=name) for name, time in times.items()]


def varied(**times: float) -> list[reproduce.Point]:
    """Runs of SAST that took so long, by n, as in n2 = 3.0."""
    return [made(time, int(n[1:])) for n, time in times.items()]


def pairs(**times: tuple[float, float]) -> list[reproduce.Point]:
    """Runs of A and B that took so long, by workload."""
    return [made(pair[at], variant="AB"[at], workload=name) for name, pair in times.items() for at in (0, 1)]


AB = 'of = "A", against = "B"'
AT_BEST = 'kind = "change_at_best", of = "A", against = ["B", "C"]'
BEST = 'kind = "best", of = "SAST", key = "n"'
BEST_BOUNDS = "reproduced = [4, 4]\npartly = [4, 8]"
EDGES = 'kind = "rise_at_edges", of = "SAST", key = "n"'
EDGES_BOUNDS = "reproduced = [0.01, 9]\npartly = [0, 9]"
GAINS = f'kind = "workload_order", {AB}, rising = '
GAINS_BOUNDS = "reproduced = [0.01, 1]\npartly = [0, 1]"
HALVES = pairs(fin1=(0.5, 1.0), fin2=(0.9, 1.0), fin3=(1.0, 1.0))
HIDDEN = pairs(fin1=(1.0, 2.0), fin2=(11.0, 10.0))
"""A takes half of B's time on one workload, 1.1 times as long on the other, which is longer."""
BOTH = "[fin1: -50.0 %, fin2: +10.0 %]"
LESS = "reproduced = [-0.3, -0.1]"
LINE = 'kind = "correlation", of = "SAST", key = "n"'
LINE_BOUNDS = "reproduced = [0.95, 1]\npartly = [0.5, 1]"
MOST = f'kind = "share_lower", {AB}'
ORDER = 'kind = "order", rising = ["A", "B", "C"]'
ORDER_BOUNDS = "reproduced = [0, 9]\npartly = [-0.1, 9]"
SINGLE = reproduce.Point("n", "fin1", "A", {}, None, {"flash_time_s": 1.0, "erases": 5.0})
SPREAD = 'kind = "workload_spread", of = '
SPREAD_BOUNDS = "reproduced = [0.05, 9]\npartly = [0.01, 9]"
TWO_TIMES = pairs(fin1=(2.0, 2.0), fin2=(3.0, 2.0))


@pytest.mark.parametrize(
    ("measure", "bounds", "points", "text", "verdict"),
    [
        # The lowest of A, over all n, and the lowest of B and C.
        (AT_BEST, LESS, [made(2.0, 1, "A"), made(1.0, 2, "A"), *each(B=1.5, C=0.8)], "+25.0 %", "not"),
        (f'kind = "change_up_to", {AB}', "reproduced = [-0.6, -0.3]", HIDDEN, "-50.0 %", "no control"),
        (f'kind = "mean_change", {AB}', LESS, HIDDEN, f"-20.0 % {BOTH}", "no control"),
        (f'kind = "change_of_sums", {AB}', LESS, HIDDEN, f"+0.0 % {BOTH}", "partly"),
        (MOST, "reproduced = [0.51, 1]\npartly = [0.5, 1]", HIDDEN, "50.0 %", "partly"),
        (MOST, "partly = [0.5, 1]", pairs(fin1=(1.0, 1.0), fin2=(1.0, 1.0)), "0.0 %", "not"),  # as long is not lower
        (SPREAD + '"A"', SPREAD_BOUNDS, TWO_TIMES, "+50.0 %", "no control"),
        (SPREAD + '"B"', SPREAD_BOUNDS, TWO_TIMES, "+0.0 %", "not"),
        # An order is judged by its weakest step.
        (ORDER, ORDER_BOUNDS, each(A=1.0, B=1.0, C=2.0), "+0.0 %", "no control"),
        (ORDER, ORDER_BOUNDS, each(A=1.0, B=2.0, C=1.0), "-50.0 %", "not"),
        # A takes half the time of B on one workload, nine tenths on another, as long on the third.
        (GAINS + '["fin1", ["fin2", "fin3"]]', GAINS_BOUNDS, HALVES, "+40.0 %", "no control"),
        (GAINS + '["fin2", "fin1"]', GAINS_BOUNDS, HALVES, "-40.0 %", "not"),
        # An optimum at the edge of a sweep is no optimum.
        (BEST, BEST_BOUNDS, varied(n2=3.0, n4=1.0, n8=2.0), "4", "no control"),
        (BEST, BEST_BOUNDS, varied(n4=1.0, n8=2.0), "4; the sweep's edge", "partly"),
        (EDGES, EDGES_BOUNDS, varied(n2=3.0, n4=1.0, n8=2.0), "+100.0 %", "no control"),
        (EDGES, EDGES_BOUNDS, varied(n2=3.0, n4=2.0, n8=1.0), "-50.0 %", "not"),
        # A line is told from a curve, and a metric that never changes lies on no rising line.
        (LINE, LINE_BOUNDS, varied(n0=1.0, n16=33.0, n32=65.0, n64=129.0), "1", "no control"),
        (LINE, LINE_BOUNDS, [made(0.001 * 1.2**n, n) for n in (0, 16, 32, 64)], "0.879", "partly"),
        (LINE, LINE_BOUNDS, varied(n0=0.0, n16=-16.0, n32=-32.0), "-1", "not"),
        (LINE, LINE_BOUNDS, varied(n0=7.0, n16=7.0, n32=7.0), "0", "not"),
        # A mean over a key shows what it is taken of.
        ('kind = "value", of = "SAST"', "partly = [2, 2]", varied(n1=1.0, n2=3.0), "2 [n 1: 1, n 2: 3]", "partly"),
    ],
)
def test_a_measure_makes_one_number_of_runs(
    study: Path, measure: str, bounds: str, points: list[reproduce.Point], text: str, verdict: str
) -> None:
    judgement = judged(study, claim("measured", measure, bounds), points)
    assert (judgement.text, judgement.verdict) == (text, verdict)


@pytest.mark.parametrize(
    ("measure", "bounds", "points", "words"),
    [
        (ORDER, "reproduced = [-0.1, 9]\npartly = [-0.1, 9]", [], "must not go below 0"),
        (EDGES, "reproduced = [0, 9]\npartly = [0, 9]", [], "must leave out 0"),
        (LINE, "reproduced = [0, 1]\npartly = [0, 1]", [], "must leave out 0"),
        (LINE, LINE_BOUNDS, varied(n0=1.0, n64=2.0), "two points always lie on a line"),
        ('kind = "agreement", with = "erases", of = "A"', "partly = [0, 1]", [SINGLE], "a single run has no order"),
    ],
)
def test_what_a_measure_cannot_tell_is_refused(
    study: Path, measure: str, bounds: str, points: list[reproduce.Point], words: str
) -> None:
    with pytest.raises(fk.UserError, match=words):
        judged(study, claim("measured", measure, bounds), points)


def test_only_measured_claims_count_as_reproduced(study: Path) -> None:
    texts = [
        claim("measured", 'kind = "value", of = "SAST"', "reproduced = [1, 1]\npartly = [1, 1]", "M"),
        claim("calibrated", 'kind = "value", of = "SAST"', "holds = [1, 1]", "C"),
        claim("identity", 'kind = "value", of = "SAST"', "holds = [1, 1]", "I"),
        claim("identity", 'kind = "value", of = "SAST"', "holds = [2, 2]", "J"),
    ]
    judgements = [judged(study, text, [made(1.0)]) for text in texts]
    assert [judgement.verdict for judgement in judgements] == ["no control", "holds", "holds", "fails"]
    assert reproduce.counted(judgements) == (
        "measured: 0 reproduced, 1 no control, 0 partly reproduced, 0 not reproduced; "
        "calibrated: 1 holds, 0 do not hold; identity: 1 holds, 1 does not hold"
    )


def test_a_studys_own_questions_are_counted_apart_from_the_papers(study: Path) -> None:
    bounds = "reproduced = [1, 1]\npartly = [1, 1]"
    texts = [claim("measured", 'kind = "value", of = "SAST"', bounds + own) for own in ("", "\nours = true")]
    judgements = [judged(study, text, [made(1.0)]) for text in texts]
    assert reproduce.counted(judgements) == (
        "measured: 0 reproduced, 1 no control, 0 partly reproduced, 0 not reproduced; "
        "ours: 0 reproduced, 1 no control, 0 partly reproduced, 0 not reproduced"
    )
    with pytest.raises(fk.UserError, match="ours = true is for measured claims"):
        judged(study, claim("identity", 'kind = "value", of = "SAST"', "holds = [1, 1]\nours = true"), [made(1.0)])


def test_a_mean_does_not_hide_what_a_workload_gives(study: Path) -> None:
    # On the first 12 % longer, on the second half as long: the mean of both is a gain.
    points = [
        made(1.12),
        made(1.0, variant="BAST"),
        made(0.5, workload="fin2"),
        made(1.0, variant="BAST", workload="fin2"),
    ]
    measure = 'kind = "change", of = "SAST", against = "BAST", each = ["workload"]'
    bounds = 'unit = "%"\neffect = "lower"\nreproduced = [-1, -0.01]\npartly = [-1, 0]'
    judgement = judged(study, claim("measured", measure, bounds), points)
    assert [(row.label, row.verdict) for row in judgement.rows] == [("fin1", "not"), ("fin2", "no control")]
    assert judgement.verdict == "not"
    assert judgement.text == "fin1: +12.0 %; fin2: -50.0 %"


def test_all_seeds_must_lie_within_bounds(study: Path) -> None:
    bounds = 'seeds = 3\nunit = "%"\nreproduced = [0.1, 0.3]\npartly = [0.0, 1.0]'
    text = claim("measured", 'kind = "value", of = "SAST"', bounds)
    inside = judged(study, text, [made(0.1, seed=0), made(0.3, seed=1), made(0.2, seed=2)])
    assert inside.verdict == "no control"
    assert inside.text == "20.0 % (10.0 % to 30.0 %, 3 seeds)"
    assert judged(study, text, [made(0.1, seed=0), made(0.33, seed=1), made(0.17, seed=2)]).verdict == "partly"
    assert judged(study, text, [made(0.1, seed=0), made(-0.1, seed=1), made(0.6, seed=2)]).verdict == "not"


def test_only_what_a_claim_asks_for_is_run_with_further_seeds(study: Path) -> None:
    text = claim("measured", 'kind = "spread", of = "SAST"', "seeds = 2\npartly = [0, 9]")
    study.write_text(STUDY.partition("[claims")[0] + text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert [(point.variant, point.seed) for point in done.points] == [
        ("SAST", 0), ("SAST", 0), ("BAST", 0), ("BAST", 0), ("SAST", 1), ("SAST", 1),
    ]  # fmt: skip
    first, second = (done.points[number].value("flash_time_s") for number in (0, 4))
    assert first != second
    assert len(done.judgements[0].rows[0].values) == 2


def test_a_metric_is_more_sensitive_if_it_spreads_more(study: Path) -> None:
    measure = 'kind = "sensitivity", of = "A", with = "erases"'
    text = claim("measured", measure, "reproduced = [0.01, 9]\npartly = [0, 9]")
    values = [{"flash_time_s": time, "erases": erases} for time, erases in ((1.0, 10.0), (3.0, 11.0))]
    points = [reproduce.Point("n", "fin1", "A", {"n": n}, None, value) for n, value in enumerate(values)]
    judgement = judged(study, text, points)
    assert judgement.verdict == "no control"
    assert judgement.value == pytest.approx(1.9)
    swapped = text.replace('"flash_time_s"', '"erases"').replace('with = "erases"', 'with = "flash_time_s"')
    assert judged(study, swapped, points).verdict == "not"


def test_two_metrics_agree_as_far_as_they_order_runs_alike(study: Path) -> None:
    measure = 'kind = "agreement", with = "erases", of = ["A", "B", "C"]'
    text = claim("measured", measure, "reproduced = [1, 1]\npartly = [0.6, 1]")

    def both(times: str, erases: str) -> list[reproduce.Point]:
        values = [
            {"flash_time_s": float(time), "erases": float(erase)} for time, erase in zip(times, erases, strict=True)
        ]
        return [reproduce.Point("n", "fin1", name, {}, None, value) for name, value in zip("ABC", values, strict=True)]

    assert judged(study, text, both("123", "579")).verdict == "no control"
    one_pair_swapped = judged(study, text, both("123", "597"))
    assert one_pair_swapped.verdict == "partly"
    assert one_pair_swapped.value == pytest.approx(2 / 3)
    assert judged(study, text, both("123", "559")).value == pytest.approx(2 / 3), (
        "equal in one of them only is no order"
    )
    assert judged(study, text, both("113", "559")).verdict == "no control"
    assert judged(study, text, both("123", "975")).value == 0.0


def test_what_the_paper_prints_for_each_workload_stands_beside_ours(study: Path) -> None:
    points = [made(1.0, variant="A"), made(3.0, variant="A", workload="fin2")]
    measure = 'kind = "off_by", of = "A", printed = { fin1 = 1.25, fin2 = 2 }, each = ["workload"]'
    judgement = judged(study, claim("measured", measure, "reproduced = [-0.3, 0.3]\npartly = [-2, 2]"), points)
    assert judgement.text == "fin1: -0.25; 1, printed 1.25; fin2: 1; 3, printed 2"
    assert [row.verdict for row in judgement.rows] == ["no control", "partly"]
    large = judged(study, claim("measured", measure, "partly = [0, 2e5]"), [made(123456.7, variant="A")])
    assert large.text == "fin1: 123,455; 123,457, printed 1.25"
    share = measure.replace(", each", ", relative = true, each")
    assert [
        row.value for row in judged(study, claim("measured", share, "partly = [-2, 2]"), points).rows
    ] == pytest.approx([-0.2, 0.5])
    missing = measure.replace("fin2 = 2", "fin3 = 2")
    with pytest.raises(fk.UserError, match="printed has no number for fin2; it has some for fin1, fin3"):
        judged(study, claim("measured", missing, "partly = [-2, 2]"), points)


def test_a_difference_is_in_the_metrics_own_unit(study: Path) -> None:
    text = claim("identity", 'kind = "difference", of = "A", against = "B"', "holds = [-2, -1]")
    assert judged(study, text, [made(1.5, variant="A"), made(3.0, variant="B")]).verdict == "holds"
    assert judged(study, text, [made(3.0, variant="A"), made(1.5, variant="B")]).verdict == "fails"


def test_pages_moved_on_are_told_by_what_became_of_them() -> None:
    metric = METRICS["prediction_hit_ratio"]
    (run,) = fk.run_study(
        {
            "device": {"preset": "slc-small", "capacity": "16MiB", "spare": 0.2, "channels": 1},
            "workload": {"generator": {"requests": 20_000, "span": "16MiB", "pattern": {"zipf": {"theta": 1.2}}}},
            "host": {"loop": "closed", "queue_depth": 1},
            "ftl": [{"name": "adapt", "log_blocks": "6", "hat": "2KiB"}],
        }
    ).document["runs"]
    hits, misses = run["gauges"]["prediction_hits"], run["gauges"]["prediction_misses"]
    assert hits > 0
    assert misses > 0
    assert metric.value(run) == hits / (hits + misses)
    merged, rewritten = run["gauges"]["merge_decisions"], run["gauges"]["merged_and_rewritten"]
    assert 0 < rewritten < merged
    both = METRICS["decision_hit_ratio"]
    assert both.value(run) == (hits + merged - rewritten) / (hits + misses + merged)
    run["gauges"] = {}
    assert metric.value(run) == both.value(run) == 0


def sampled(requests: list[int], column: list[float | None]) -> reproduce.Point:
    """A run of which the time series has one column."""
    run: Any = {"series": {"request": requests, "mean_response_ns": column, "gauges": {"groups": column}}}
    return reproduce.Point("n", "fin1", "SAST", {}, run)


def test_a_sum_that_grows_evenly_has_no_bend_and_one_that_jumps_has_all_of_it(study: Path) -> None:
    text = claim("measured", 'kind = "bend", of = "SAST"', "reproduced = [0, 0.1]\npartly = [0, 0.3]")
    text = text.replace("flash_time_s", "mean_response_ns")
    even = judged(study, text, [sampled([10, 30, 40], [2.0, 2.0, 2.0])])
    assert even.rows[0].value == pytest.approx(0)
    assert even.verdict == "no control"
    # A quarter of the requests takes half of the time: the sum is 0.25 above the line there.
    # A stretch without any adds nothing.
    bent = judged(study, text, [sampled([10, 30, 40], [4.0, 2.0, None])])
    assert bent.rows[0].value == pytest.approx(0.25)
    assert bent.verdict == "partly"
    (row,) = judged(study, text, [sampled([10], [0.0])]).rows
    assert row.verdict == "open"
    assert row.note.endswith("0 throughout")


def test_a_column_over_time_varies_as_much_as_its_highest_value_is_above_its_lowest(study: Path) -> None:
    text = claim("measured", 'kind = "spread_over_time", of = "SAST"', "reproduced = [0.5, 9]\npartly = [0.1, 9]")
    text = text.replace("flash_time_s", "gauges.groups")
    judgement = judged(study, text, [sampled([10, 20, 30], [2.0, 3.0, None])])
    assert judgement.rows[0].value == pytest.approx(0.5)
    assert judgement.verdict == "no control"
    with pytest.raises(fk.UserError, match=r"no series gauges\.group;"):
        judged(study, text.replace("gauges.groups", "gauges.group"), [sampled([10], [2.0])])


def test_claim_of_a_page_has_its_range_and_what_decides(study: Path) -> None:
    bounds = 'reproduced = [1, 1]\npartly = [1, 3]\nwhy = "Time decides: it passes."\ncommand = "sleep"'
    text = claim("measured", 'kind = "value", of = "SAST", each = ["n"]', bounds)
    table = load_tool("claims").table([judged(study, text, [made(1.0), made(2.0, n=4)])])
    assert table.splitlines()[2:] == ["| C | partly | a number | 1 to 2; 1 of 2 |  |  | Time |"]
