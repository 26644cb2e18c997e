"""Knock-outs and unprinted constants of reproductions, on runs with known numbers."""

from dataclasses import replace
from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce
from ftlkit.reproduce import workloads
from ftlkit.reproduce.factorial import effects
from reproduction import STUDY, claim, judged, made
from tool_modules import load_tool

claims = load_tool("claims")

LESS = "reproduced = [-0.3, -0.1]\n"
CHANGE = 'kind = "change", of = "A", against = "B"'
VALUES = '["small size", "large depth"]'
KNOCKOUT = LESS + 'mechanism = "magic"\nknockout = { of = "C" }\n'


def runs(*, a: float, c: float, seed: int = 0) -> list[reproduce.Point]:
    """Runs of A, of B with time 1, and of C, which is A without its mechanism."""
    return [made(time, variant=variant, seed=seed) for variant, time in (("A", a), ("B", 1.0), ("C", c))]


@pytest.mark.parametrize(
    ("bounds", "points", "verdict"),
    [
        pytest.param(LESS, runs(a=0.8, c=0.8), "no control", id="no knock-out"),
        pytest.param(KNOCKOUT, runs(a=0.8, c=0.9), "reproduced", id="loses half"),
        pytest.param(KNOCKOUT, runs(a=0.8, c=0.89), "without", id="keeps more than half"),
        pytest.param(KNOCKOUT, runs(a=0.8, c=0.8), "without", id="keeps all"),
        pytest.param(KNOCKOUT, runs(a=0.8, c=0.6), "without", id="leaves its bounds on the stronger side"),
        pytest.param(KNOCKOUT, runs(a=0.8, c=1.2), "reproduced", id="turns"),
        pytest.param(KNOCKOUT, runs(a=0.95, c=0.95), "partly", id="did not hold"),
        pytest.param(KNOCKOUT, runs(a=1.1, c=0.8), "not", id="holds only without it"),
        pytest.param(
            f"{KNOCKOUT}seeds = 2", runs(a=0.8, c=0.95) + runs(a=0.88, c=0.92, seed=1), "reproduced", id="seeds apart"
        ),
        pytest.param(
            f"{KNOCKOUT}seeds = 2", runs(a=0.8, c=0.95) + runs(a=0.89, c=0.895, seed=1), "without", id="seeds overlap"
        ),
    ],
)
def test_claim_counts_as_reproduced_only_if_it_falls_without_its_mechanism(
    study: Path, bounds: str, points: list[reproduce.Point], verdict: str
) -> None:
    judgement = judged(study, claim("measured", CHANGE, bounds), points)
    assert judgement.verdict == verdict
    shown = claims.line(judgement)
    assert ("magic: " in shown) == ("magic" in bounds)


@pytest.mark.parametrize("nearest", [-0.19, -0.1, -0.05, -0.001])
@pytest.mark.parametrize(("c", "verdict"), [(0.85, "without"), (0.92, "reproduced")])
def test_same_share_of_an_effect_gives_the_same_verdict_whatever_the_bound(
    study: Path, nearest: float, c: float, verdict: str
) -> None:
    bounds = KNOCKOUT.replace("-0.1]", f"{nearest}]")
    assert judged(study, claim("measured", CHANGE, bounds), runs(a=0.8, c=c)).verdict == verdict


@pytest.mark.parametrize(
    ("a", "c", "verdict"),
    [
        pytest.param(1.0, 1.0, "without", id="stays 0"),
        pytest.param(1.0, 1.005, "without", id="within the noise"),
        pytest.param(1.0, 1.4, "without", id="stays within its bounds"),
        pytest.param(1.0, 4.0, "reproduced", id="leaves them"),
        pytest.param(1.4, 1.6, "without", id="leaves them, not doubled"),
        pytest.param(1.4, 0.4, "reproduced", id="leaves them on the other side"),
    ],
)
def test_claim_that_nothing_differs_falls_out_of_its_bounds(study: Path, a: float, c: float, verdict: str) -> None:
    """Of a number with a unit, less 1."""
    measure = 'kind = "difference", of = "A", against = "B"'
    bounds = KNOCKOUT.replace(LESS, "reproduced = [-0.5, 0.5]\npartly = [-9.0, 9.0]\n")
    assert judged(study, claim("measured", measure, bounds), runs(a=a, c=c)).verdict == verdict


def test_claim_against_runs_that_give_0_is_open(study: Path) -> None:
    points = [made(0.8, variant="A"), made(0.0, variant="B"), made(0.8, variant="C")]
    (row,) = judged(study, claim("measured", CHANGE, LESS), points).rows
    assert (row.verdict, row.note) == ("open", "a share of 0 has no meaning: the runs that it is compared with give 0")


def test_value_of_0_falls_by_more_than_an_absolute_noise(study: Path) -> None:
    measure = 'kind = "difference", of = "A", against = "B"'
    bounds = KNOCKOUT.replace(LESS, "reproduced = [0.0, 0.0]\npartly = [-9.0, 9.0]\n")
    found = [judged(study, claim("measured", measure, bounds), runs(a=1.0, c=c)).verdict for c in (1.005, 1.02)]
    assert found == ["without", "reproduced"]


def test_knockout_without_results_leaves_the_claim_open(study: Path) -> None:
    points = runs(a=0.8, c=0.95)
    points[2] = reproduce.Point("n", "fin1", "C", {"n": 1}, None, error="C is not at hand", is_absent=True)
    judgement = judged(study, claim("measured", CHANGE, KNOCKOUT), points)
    assert judgement.verdict == "open"
    assert judgement.text == "-20.0 %; without: left out: C is not at hand"


@pytest.mark.parametrize(
    ("of_a", "verdict", "text"),
    [
        pytest.param([0.8, 0.8, 0.8], "no control", "1: -20.0 %, 2: -20.0 %, 4: -20.0 %", id="over all"),
        pytest.param([0.8, 0.8, 1.2], "no control", "", id="over two thirds"),
        pytest.param([0.8, 0.8, 1.2, 1.2], "open", "", id="over half"),
        pytest.param([0.8, 1.2, 1.2], "open", "1: -20.0 %, 2: +20.0 %, 4: +20.0 %", id="over a third"),
    ],
)
def test_claim_is_open_unless_its_verdict_holds_over_more_than_half_of_a_range(
    study: Path, of_a: list[float], verdict: str, text: str
) -> None:
    sizes = [1, 2, 4, 8][: len(of_a)]
    points = [point for n, time in zip(sizes, of_a, strict=True) for point in (made(time, n, "A"), made(1.0, n, "B"))]
    measure = CHANGE + ", only = { n = 1 }"
    ranged = 'unprinted = { sweep = "n", key = "n" }\n'
    judgement = judged(study, claim("measured", measure, LESS + ranged), points)
    assert judgement.verdict == verdict
    assert text in judgement.rows[0].over_text
    assert "n decides" in judgement.text or verdict != "open"


@pytest.mark.parametrize(
    ("of_fin1", "of_fin2", "verdict", "rows"),
    [
        pytest.param([0.8, 1.2], [1.2, 0.8], "not", ["no control", "not"], id="fails at each value"),
        pytest.param([0.8, 1.2], [1.2, 1.2], "not", ["no control", "not"], id="one row fails at each value"),
        pytest.param([0.8, 0.8], [1.2, 0.8], "open", ["no control", "open"], id="one value fails"),
        pytest.param([0.8, 0.8, 1.2], [0.8, 1.2, 0.8], "open", ["open", "open"], id="each row holds over two thirds"),
    ],
)
def test_claim_is_judged_by_its_worst_row_at_each_value_of_a_range(
    study: Path, of_fin1: list[float], of_fin2: list[float], verdict: str, rows: list[str]
) -> None:
    of_rows = {"fin1": of_fin1, "fin2": of_fin2}
    timed = [(time, 2**step, load) for load, times in of_rows.items() for step, time in enumerate(times)]
    points = [made(*run) for time, n, load in timed for run in ((time, n, "A", load), (1.0, n, "B", load))]
    measure = CHANGE + ', only = { n = 1 }, each = ["workload"]'
    judgement = judged(study, claim("measured", measure, LESS + 'unprinted = { sweep = "n", key = "n" }\n'), points)
    assert [judgement.verdict, *(row.verdict for row in judgement.rows)] == [verdict, *rows]


@pytest.mark.parametrize(
    ("of_size", "of_depth", "verdict", "text"),
    [
        pytest.param([0.8, 0.8], [0.8, 0.8], "no control", "", id="neither decides"),
        pytest.param([0.8, 1.2], [0.8, 0.8], "open", "size decides", id="first decides"),
        pytest.param([0.8, 0.8], [0.8, 1.2], "open", "depth decides", id="second decides"),
        pytest.param([0.8, 1.2], [0.8, 1.2], "open", "size and depth decide", id="both decide"),
    ],
)
def test_claim_with_several_ranges_is_judged_by_the_worst_of_them(
    study: Path, of_size: list[float], of_depth: list[float], verdict: str, text: str
) -> None:
    points = [made(0.8, variant="A"), made(1.0, variant="B")]
    for key, times in (("size", of_size), ("depth", of_depth)):
        for value, time in zip(("small size", "large depth"), times, strict=True):
            keys = {"n": 2, key: value}
            points += [replace(made(t, variant=v), keys=keys) for v, t in (("A", time), ("B", 1.0))]
    ranges = ", ".join(f'{{ key = "{key}", only = {{ n = 2, {key} = {VALUES} }} }}' for key in ("size", "depth"))
    judgement = judged(
        study, claim("measured", f"{CHANGE}, only = {{ n = 1 }}", f"{LESS}unprinted = [{ranges}]\n"), points
    )
    assert judgement.verdict == verdict
    assert judgement.text.endswith(text)
    shown = [
        f"{key} small size: -20.0 %, large depth: {100 * t - 100:+.1f} %"
        for key, (_, t) in (("size", of_size), ("depth", of_depth))
    ]
    assert judgement.rows[0].over_text == "; ".join(shown)
    assert claims.over(judgement) == "; ".join(
        f"{key} large depth: +20.0 %" for key, (_, t) in (("size", of_size), ("depth", of_depth)) if t > 1
    )


def test_points_of_a_range_without_results_count(study: Path) -> None:
    """Two of four hold, and one was not run."""
    points = [point for n in (1, 2) for point in (made(0.8, n, "A"), made(1.0, n, "B"))]
    points += [made(1.2, 4, "A"), made(1.0, 4, "B"), made(1.0, 8, "B")]
    points.append(reproduce.Point("n", "fin1", "A", {"n": 8}, None, error="A is not at hand", is_absent=True))
    text = claim("measured", CHANGE + ", only = { n = 1 }", LESS + 'unprinted = { sweep = "n", key = "n" }\n')
    judgement = judged(study, text, points)
    assert judgement.verdict == "open"
    assert claims.over(judgement) == "n 4: +20.0 %, 8: no result"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('mechanism = "magic"', "mechanism names what its knockout takes out: give both, or neither"),
        ('knockout = { of = "C" }', "mechanism names what its knockout takes out: give both, or neither"),
        ('mechanism = "magic"\nknockout = { off = "C" }', "off is no key of the measure change"),
        ('mechanism = "magic"\nknockout = { of = "B" }', "its knockout compares a variant with itself"),
        ('mechanism = "magic"\nknockout = { of = ["A", "B"] }', "its knockout compares a variant with itself"),
        ('mechanism = "magic"\nknockout = { of = "A" }', "its knockout has the variants of the claim itself"),
        ('unprinted = { sweep = "n" }', "unprinted lacks the key of the constant that varies"),
        ('unprinted = [{ key = "n" }, { key = "n" }]', "such as device.page_size, or repeats it"),
    ],
)
def test_incomplete_control_is_refused(study: Path, keys: str, message: str) -> None:
    with pytest.raises(fk.UserError, match=message):
        judged(study, claim("measured", CHANGE, f"{LESS}{keys}\n"), runs(a=0.8, c=0.95))


SPELT_ALIKE = """
[sweeps.n]
workloads = [{ preset = "fin1", requests = 4000, addresses = "wrap" }]
variants = [
    { label = "A", ftl = { name = "sast", log_blocks = "8" } },
    { label = "B", ftl = { name = "bast", log_blocks = "8" } },
    { label = "BAST", ftl = { name = "bast", log_blocks = "8" } },
    { label = "SAST", ftl = { name = "sast", log_blocks = "8" } },
]
"""


@pytest.mark.parametrize(
    ("measure", "knockout", "message"),
    [
        (CHANGE, '{ of = "B", against = "C" }', "or is a rival"),
        (CHANGE, '{ of = "BAST" }', "compares a variant with itself"),
        (CHANGE, '{ of = "SAST" }', "has the variants of the claim itself"),
        ('kind = "order", rising = ["B", "A"]', '{ rising = ["A", "SAST"] }', "has a variant twice in rising"),
        ('kind = "order", rising = ["B", "A"]', '{ rising = ["B", "B"] }', "has a variant twice in rising"),
    ],
)
def test_knockout_of_a_variant_spelt_like_another_is_refused(
    study: Path, measure: str, knockout: str, message: str
) -> None:
    bounds = LESS if measure == CHANGE else "reproduced = [0.1, 1.0]\npartly = [0.0, 1.0]\n"
    text = claim("measured", measure, f'{bounds}mechanism = "magic"\nknockout = {knockout}\n')
    study.write_text(STUDY.partition("[sweeps.n]")[0] + SPELT_ALIKE + text, encoding="utf-8")
    with pytest.raises(fk.UserError, match=message):
        reproduce.load(study)


def test_figure_of_a_variant_has_no_knockout(study: Path) -> None:
    bounds = 'partly = [0.0, 1.0]\nmechanism = "magic"\nknockout = { of = "C" }\n'
    with pytest.raises(fk.UserError, match="the measure value is a figure, of which no mechanism takes a part"):
        judged(study, claim("measured", 'kind = "value", of = "A"', bounds), runs(a=0.8, c=0.95))


def test_only_measured_claims_have_knockouts(study: Path) -> None:
    bounds = 'holds = [-0.3, -0.1]\nmechanism = "magic"\nknockout = { of = "C" }\n'
    with pytest.raises(fk.UserError, match="kind identity has no knockout"):
        judged(study, claim("identity", CHANGE, bounds), runs(a=0.8, c=0.95))


FACTORIAL = """
[factorials.both]
sweep = "n"
metric = "flash_time_s"
mechanisms = ["P", "A"]
variants = { none = "A0", P = "A1", A = "A2", "P, A" = "A3" }
"""


def test_factorial_gives_a_mechanism_alone_and_over_all_subsets(study: Path) -> None:
    study.write_text(STUDY + FACTORIAL, encoding="utf-8")
    plan = reproduce.load(study)
    (both,) = plan.factorials
    times = {"A0": 10.0, "A1": 8.0, "A2": 10.0, "A3": 4.0}
    points = [made(time, variant=variant) for variant, time in times.items()]
    unfinished = [made(1.0, variant="A0", workload="fin2")]
    found = {effect.mechanism: effect for effect in effects(both, points + unfinished)}
    assert [found["P"].alone, found["P"].mean] == pytest.approx([-0.2, (-0.2 - 0.6) / 2])
    assert [found["A"].alone, found["A"].mean] == pytest.approx([0.0, (0.0 - 0.5) / 2])
    assert {effect.workload for effect in found.values()} == {"fin1"}
    assert claims.factorial(plan, points).splitlines()[3:] == [
        "| P | −20.0 to −20.0 % | −40.0 to −40.0 % |",
        "| A | +0.0 to +0.0 % | −25.0 to −25.0 % |",
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"P, A" = "A3"', '"A, P" = "A3"', "variants must name the subsets none; P; A; P, A"),
        ('["P", "A"]', '["P", "A", "B", "C"]', "4 mechanisms; give 1 to 3"),
        ('sweep = "n"', 'sweep = "m"', "both names the sweep m"),
    ],
)
def test_incomplete_factorial_is_refused(study: Path, before: str, after: str, message: str) -> None:
    study.write_text(STUDY + FACTORIAL.replace(before, after), encoding="utf-8")
    with pytest.raises(fk.UserError, match=message):
        reproduce.load(study)


def test_page_names_workloads_that_cannot_show_an_effect(study: Path) -> None:
    own = claim("measured", 'kind = "change", of = "SAST", against = "BAST"', KNOCKOUT.replace('"C"', '"BAST"'))
    needs = own.replace('knockout = { of = "BAST" }', "knockout = { only = {} }")
    study.write_text(
        STUDY.partition("[claims")[0] + needs + "needs = { runs = 0.9, rewritten = 0.01 }\n", encoding="utf-8"
    )
    plan = reproduce.load(study)
    (shown,) = workloads.shown(plan)
    assert (shown.workload, shown.requests) == ("fin1", 4000)
    runs = f"{100 * shown.shares['runs']:.1f}"
    assert [text.replace("\u00a0", " ") for text in workloads.lacking(plan, [shown])] == [
        f"C: fin1 has {runs} % in runs of writes above 4 KiB; the claim needs 90.0 %."
    ]


@pytest.mark.parametrize(
    ("needs", "said"),
    [("{ luck = 0.5 }", "luck is no share of a workload"), ("{ runs = 26.0 }", "needs.runs = 26.0: must be above 0")],
)
def test_needs_name_shares_up_to_one(study: Path, needs: str, said: str) -> None:
    with pytest.raises(fk.UserError, match=said):
        judged(study, claim("measured", CHANGE, f"{KNOCKOUT}needs = {needs}\n"), [])
