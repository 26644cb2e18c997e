"""The study files of papers: whole, and run on small devices."""

from __future__ import annotations

from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_every_study_file_is_whole_and_explains_what_differs(path: Path) -> None:
    plan = reproduce.load(path)
    assert plan.name == path.stem
    assert plan.claims
    assert plan.figures


def test_the_study_of_owl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "owl.toml")
    plan.study["device"] |= {"capacity": "64MiB", "spare": 0.05}
    for workload in (each for sweep in plan.sweeps for each in sweep.workloads if "trace" not in each):
        workload["addresses"] = "wrap"
        workload.get("generator", workload)["requests"] = 8000
    done = reproduce.reproduce(plan)
    done.page(tmp_path / "page.html")
    assert [each.claim.id for each in done.judgements] == [claim.id for claim in plan.claims]
    moved = {point.variant for point in done.points if point.value("notes.evacuations") > 0}
    assert {"OWL", "lazy"} <= moved
    assert "OWL-nc" not in moved


def test_the_study_of_waftl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "waftl.toml")
    printed = {each["name"] for each in fk.workloads() if each["source"] == "WAFTL, table III"}
    assert {each["preset"] for sweep in plan.sweeps for each in sweep.workloads} == printed
    plan.study["device"] |= {"capacity": "32MiB", "spare": 0.4, "channels": 2}
    for sweep in plan.sweeps:
        for workload in sweep.workloads:
            workload.update({"span": "16MiB", "requests": 7_000 if "fin" in workload["preset"] else 1_300})
        for key, value in (("device.capacity", "32MiB"), ("device.spare", 0.4)):
            for table in sweep.vary:
                table.update({key: value} if key in table else {})
        for variant in sweep.variants:
            blocks = int(variant.ftl.get("zone_blocks", 0))
            variant.ftl.update({"zone_blocks": str(min(max(blocks // 32, 1), 4))} if blocks else {})
    done = reproduce.reproduce(plan)
    done.page(tmp_path / "page.html")
    assert [each.claim.id for each in done.judgements] == [claim.id for claim in plan.claims]
    # The tables of the paper are told at full size in the study; here each is four bytes a page of 32 MiB.
    tables = {point.variant: point.value("mapping_table_bytes") for point in done.points if point.sweep == "full size"}
    assert tables["page"] == tables["DFTL"] == 4 * 8192
    for point in done.points:
        share = point.results["gauges"].get("pmb_share") if point.results else None
        if share is not None:
            assert point.value("mapping_table_bytes") == pytest.approx(4 * 128 + share * 4 * 8192)
