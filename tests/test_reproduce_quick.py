"""Quick reproductions: whole claims, cheapest first, and the others told as not run."""

from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit import reproduce
from ftlkit._util.progress import Silent
from ftlkit.reproduce.quick import quick_plan
from reproduction import STUDY, claim

RECORDED = """
[sweeps.recorded]
workloads = [{ label = "recorded", trace = "nowhere.csv" }]
variants = [{ label = "BAST", ftl = { name = "bast" } }]
"""


def budget(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr("ftlkit.reproduce.quick.BUDGET_S", seconds)


def test_a_claim_has_the_verdict_of_the_whole_study(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1 asks for BAST alone, which takes no `group_blocks`: two points are one run of 0.1 s."""
    plan = reproduce.load(study)
    budget(monkeypatch, 0.2)
    done, whole = reproduce.reproduce(plan, is_quick=True), reproduce.reproduce(plan)
    assert [(found.claim.id, found.verdict, found.text) for found in done.judgements] == [
        ("C1", whole.judgements[0].verdict, whole.judgements[0].text)
    ]
    assert [left.id for left in done.not_run] == ["C2"]
    assert [point.variant for point in done.points] == ["BAST", "BAST"]
    assert (
        done.counted == "quick, 1 of 2 claims; measured: 0 reproduced, 1 no control, 0 partly reproduced, "
        "0 not reproduced"
    )
    assert whole.counted == reproduce.counted(whole.judgements)
    assert (whole.not_run, len(whole.plan.figures), done.plan.figures) == ([], 4, [])


def test_figures_stay_whose_runs_claims_ask_for(study: Path) -> None:
    done = reproduce.reproduce(reproduce.load(study), is_quick=True)
    assert done.not_run == []
    assert done.counted.startswith("quick, 2 of 2 claims; ")
    assert [figure.id for figure in done.plan.figures] == ["time", "sizes", "groups", "over"]


def test_the_page_and_the_command_tell_what_was_not_run(
    call: Call, tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget(monkeypatch, 0.2)
    result = call("reproduce", study, "--quick")
    assert "quick, 1 of 2 claims; measured: 0 reproduced, 1 no control" in result.stderr
    assert "not run: C2" in result.stderr
    assert not (tmp_path / "tiny.html").exists()
    page = (tmp_path / "tiny-quick.html").read_text(encoding="utf-8")
    for words in ("Quick: 1 of 2 claims", "<li>C2: SAST takes no time.</li>", "reproduce tiny --quick</code> repeats"):
        assert words in page, words
    assert "What holds" not in page
    call("reproduce", study)
    whole = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    assert "Quick" not in whole
    assert "Not run" not in whole


def test_claims_that_lack_a_recorded_trace_are_not_run(study: Path) -> None:
    text = claim("measured", 'kind = "value", of = "BAST"', "partly = [0.0, 1e9]").replace('"n"', '"recorded"')
    study.write_text(STUDY.replace("[claims.C1]", f"{RECORDED}[claims.C1]") + text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study), is_quick=True)
    assert [left.id for left in done.not_run] == ["C"]


def test_a_study_without_a_cheap_claim_is_refused(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget(monkeypatch, 0.05)
    with pytest.raises(fk.UserError, match=r"tiny: no claim .* runs in 0.05 s of one core: leave --quick out"):
        quick_plan(reproduce.load(study))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("requests = 4000", "requests = 100_000", id="requests"),
        pytest.param('capacity = "64MiB"', 'capacity = "4GiB"', id="device"),
        pytest.param('precondition = "fill"', 'precondition = "steady"', id="preparation"),
    ],
)
def test_longer_runs_are_estimated_longer(study: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    budget(monkeypatch, 0.15)
    assert [chosen.id for chosen in quick_plan(reproduce.load(study)).claims] == ["C1"]
    study.write_text(STUDY.replace(old, new), encoding="utf-8")
    with pytest.raises(fk.UserError, match="no claim"):
        quick_plan(reproduce.load(study))


def test_looking_over_workloads_shows_its_progress(study: Path) -> None:
    """A long recorded trace takes a while, before the first run."""
    watchers: list[Silent] = []

    def watch() -> Silent:
        watchers.append(Silent())
        return watchers[-1]

    quick_plan(reproduce.load(study), watch)
    assert len(watchers) == 1, "points over the same workload share its statistics"


def test_a_device_as_large_as_its_workload_is_estimated(study: Path) -> None:
    study.write_text(STUDY.replace('capacity = "64MiB"', 'capacity = "auto"'), encoding="utf-8")
    assert len(quick_plan(reproduce.load(study)).claims) == 2
