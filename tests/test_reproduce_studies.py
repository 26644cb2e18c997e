"""The study files of papers: whole, and run on small devices."""

import re
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from conftest import LONG
from ftlkit import reproduce
from ftlkit.reproduce.judge import Row
from tool_modules import load_tool

ROOT = Path(__file__).parent.parent

STUDIES = sorted((ROOT / "studies").glob("*.toml"))

pytestmark = pytest.mark.usefixtures("no_pictures")

claims = load_tool("claims")


def reproduced(plan: reproduce.Plan, folder: Path) -> reproduce.Reproduction:
    """A study that was run: its page was drawn, and all its claims judged."""
    done = reproduce.reproduce(plan)
    done.page(folder / "page.html")
    assert [judgement.claim.id for judgement in done.judgements] == [claim.id for claim in plan.claims]
    return done


takes_long = pytest.mark.skipif(not LONG, reason="a study of many runs, as are others; set FTLKIT_LONG=1")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_file_is_whole_and_says_what_holds_and_what_decides(path: Path) -> None:
    plan = reproduce.load(path)
    assert plan.name == path.stem
    assert plan.claims
    parts = [part for claim in plan.claims for part in claim.parts]
    shown = {figure.sweep for figure in plan.figures} | {part.measure["sweep"] for part in parts}
    shown |= {factorial.sweep for factorial in plan.factorials}
    assert {sweep.id for sweep in plan.sweeps} == shown
    for sentence in (plan.holds, plan.differs, plan.decides):
        assert sentence.endswith(".")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_what_could_refute_a_reason_is_a_figure_or_a_sweep_of_the_study_or_a_command(path: Path) -> None:
    plan = reproduce.load(path)
    shown = "\n".join([*(figure.title for figure in plan.figures), *(sweep.id for sweep in plan.sweeps)])
    for claim in plan.claims:
        assert claim.command.startswith(("ftlkit reproduce ", "ftlkit compare ")) or not claim.command, claim.id
        named = re.findall(r'"([^"]+)"', claim.command) if claim.command.startswith("ftlkit reproduce ") else []
        assert all(name in shown for name in named), f"{claim.id}: {claim.command}"


def test_the_study_of_owl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "owl.toml")
    plan.study["device"] |= {"capacity": "64MiB", "spare": 0.05}
    for workload in (workload for sweep in plan.sweeps for workload in sweep.workloads if "trace" not in workload):
        workload["addresses"] = "wrap"
        workload.get("generator", workload)["requests"] = 3000
    for table in (table for sweep in plan.sweeps for table in sweep.vary if "workload.repeat" in table):
        table["workload.repeat"] = 1
    done = reproduced(plan, tmp_path)
    # Recorded traces, where they are at hand, do not fit on the small device.
    assert {point.sweep for point in done.points if point.error} <= {"traces", "rounds"}
    served = [point for point in done.points if not point.error]
    moved = {point.variant for point in served if point.value("notes.relocated_blocks") > 0}
    assert {"OWL", "lazy"} <= moved
    assert "OWL-nc" not in moved


@takes_long
def test_the_study_of_waftl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "waftl.toml")
    printed = {workload["name"] for workload in fk.workloads() if workload["source"] == "WAFTL, table III"}
    look_alikes = [load for sweep in plan.sweeps for load in sweep.workloads if "trace" not in load]
    assert {workload["preset"] for workload in look_alikes} == printed
    plan.study["device"] |= {"capacity": "32MiB", "spare": 0.4, "channels": 2}
    for workload in look_alikes:
        workload.update({"span": "16MiB", "requests": 7_000 if "fin" in workload["preset"] else 1_300})
    for sweep in plan.sweeps:
        for key, value in (("device.capacity", "32MiB"), ("device.spare", 0.4)):
            for table in sweep.vary:
                table.update({key: value} if key in table else {})
        for variant in sweep.variants:
            blocks = int(variant.ftl.get("zone_blocks", 0))
            variant.ftl.update({"zone_blocks": str(min(max(blocks // 32, 1), 4))} if blocks else {})
    done = reproduced(plan, tmp_path)
    written = {
        (point.workload, point.variant): point.value("mapping_writes")
        for point in done.points
        if point.sweep == "load" and point.keys["gaps"] == 1000 and "DFTL" in point.variant
    }
    for name in {name for name, _ in written}:
        assert written[name, "DFTL"] > 1.1 * written[name, "DFTL, batching"] > 0, name
    # The tables of the paper are told at full size in the study; here each is four bytes per page
    # of 32 MiB.
    tables = {point.variant: point.value("mapping_table_bytes") for point in done.points if point.sweep == "full size"}
    assert tables["page"] == tables["DFTL"] == 4 * 8192
    for point in done.points:
        share = point.results["gauges"].get("pmb_share") if point.results else None
        if share is not None:
            assert point.value("mapping_table_bytes") == pytest.approx(4 * 128 + share * 4 * 8192)


@pytest.mark.parametrize("name", ["waftl", "bdb"])
def test_dftl_is_judged_without_batches_and_stands_beside_with_them(name: str) -> None:
    """The public FlashSim writes a translation page for one entry; batches make DFTL faster."""
    plan = reproduce.load(ROOT / "studies" / f"{name}.toml")
    variants = {sweep.id: {variant.label: variant.ftl for variant in sweep.variants} for sweep in plan.sweeps}
    judged = 0
    for claim in (claim for claim in plan.claims if claim.kind == "measured"):
        of_sweep = variants[claim.measure["sweep"]]
        named = [claim.measure[key] for key in ("of", "against", "rising") if key in claim.measure]
        labels = {label for value in named for label in (value if isinstance(value, list) else [value])}
        if not any(of_sweep[label]["name"] == "dftl" for label in labels):
            continue
        for ftl in (of_sweep[label] for label in labels if of_sweep[label]["name"] in ("dftl", "bdb")):
            judged += 1
            assert ftl.get("batch_update") == "false", claim.id
            batching = {key: value for key, value in ftl.items() if key != "batch_update"}
            assert batching in of_sweep.values(), claim.id
    assert judged >= 10


def test_waftl_and_dftl_write_their_maps_alike_wherever_a_claim_compares_them() -> None:
    """Batches of DFTL alone put WAFTL 18 % above it on DevDiv, not 20 % below."""
    plan = reproduce.load(ROOT / "studies" / "waftl.toml")
    variants = {sweep.id: {variant.label: variant.ftl for variant in sweep.variants} for sweep in plan.sweeps}
    compared = set()
    for claim in (
        claim for claim in plan.claims if claim.kind == "measured" and "mapping" not in claim.measure["metric"]
    ):
        of_sweep = variants[claim.measure["sweep"]]
        named = [claim.measure[key] for key in ("of", "against", "rising") if key in claim.measure]
        ftls = [of_sweep[label] for value in named for label in (value if isinstance(value, list) else [value])]
        rules = {ftl.get("batch_update", "true") for ftl in ftls if ftl["name"] in ("dftl", "waftl")}
        if {"dftl", "waftl"} <= {ftl["name"] for ftl in ftls}:
            compared.add(claim.measure["sweep"])
            assert rules == {"false"}, claim.id
    assert compared == {"pricing", "equal ram", "recorded", "streams"}


def test_adapt_is_judged_on_windows_of_hm_0_at_the_addresses_that_they_were_recorded_at() -> None:
    """Numbered by first touch, the pages of a window leave a log of seven blocks, which decides."""
    plan = reproduce.load(ROOT / "studies" / "adapt.toml")
    (sweep,) = (sweep for sweep in plan.sweeps if sweep.id == "own size")
    assert plan.study["device"]["capacity"] == "auto"
    assert not any("device.capacity" in table for table in sweep.vary)
    assert not any("addresses" in workload for workload in sweep.workloads)
    assert sum("hm0-window" in workload["trace"] for workload in sweep.workloads) == 2
    (claim,) = (claim for claim in plan.claims if claim.measure["sweep"] == "own size")
    assert (claim.group, claim.rows) == ("ours", ["workload"])


@takes_long
def test_the_study_of_adapt_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "adapt.toml")
    plan.study["device"] |= {"capacity": "32MiB", "spare": 0.3}
    for sweep in plan.sweeps:
        for workload in (workload for workload in sweep.workloads if "trace" not in workload):
            workload["addresses"] = "wrap"
            workload.get("generator", workload)["requests"] = 2000
        for table in sweep.vary:
            table.update({"device.capacity": "32MiB"} if "device.capacity" in table else {})
            spares = {0.033: 0.3, 0.05: 0.35, 0.1: 0.4, 0.8: 0.8}
            given = table.get("device.spare", [])
            chosen = [spares[spare] for spare in (given if isinstance(given, list) else [given])]
            table.update({"device.spare": chosen} if chosen else {})
        for variant in sweep.variants:
            if variant.ftl and variant.ftl["name"].startswith("adapt") and "log_" not in variant.ftl["name"]:
                variant.ftl["log_blocks"] = "20"  # for as many sequential ones as the study varies
    done = reproduced(plan, tmp_path)
    moves = {
        name: sum(p.value("gauges.aggregated_moves") for p in done.points if (p.sweep, p.variant) == ("settings", name))
        for name in ("τ = 32", "ADAPT", "never aggregate")
    }
    assert moves["τ = 32"] > moves["ADAPT"] > moves["never aggregate"] == 0


def test_the_study_of_saw_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    text = (ROOT / "studies" / "saw.toml").read_text(encoding="utf-8")
    for old, small in (
        (r'"(60|240|960)MiB"', '"20MiB"'),
        (r"\bspare = 0.0625", "spare = 0.15"),
        (r"gc_threshold( ?= ?)(32|128)\b", r"gc_threshold\g<1>8"),
        (r"operations = [0-9_]+", "operations = 100_000"),
        (r"\[4_194_304, 67_108_864\]", "[65_536, 131_072]"),
        (r'"files.dirty_bytes" = (262_144|1_048_576|4_194_304)', '"files.dirty_bytes" = 65_536'),
        (r"^trims = true", "trims = true\ndirty_bytes = 65_536"),
        (r"^scale = 0.0625", "scale = 0.02"),
        (r'"files.scale" = 1\b', '"files.scale" = 0.02'),
        (r'"files.scale" = 0.25', '"files.scale" = 0.021'),
        (r'"files.scale" = 0.0625', '"files.scale" = 0.022'),
    ):
        text, replaced = re.subn(old, small, text, flags=re.MULTILINE)
        assert replaced > 0, old
    study = tmp_path / "saw.toml"
    study.write_text(text, encoding="utf-8")
    plan = reproduce.load(study)
    done = reproduced(plan, tmp_path)
    hashes = {
        point.variant: point.run["event_hash"]
        for point in done.points
        if (point.sweep, point.workload) == ("flashsim", "PM-1m")
    }
    for without, saws in (("lazy", "lazy-S"), ("BET", "BET-S"), ("OWL", "O-SAW")):
        assert hashes[without] != hashes[saws], f"{saws} takes no notice of hints"
    amplification = {
        point.variant: point.value("write_amplification")
        for point in done.points
        if (point.sweep, point.workload, point.keys.get("files.trims")) == ("streams", "mix", True)
    }
    assert len(set(amplification.values())) == 3


def test_in_the_study_of_adapt_dftl_and_waftl_get_the_ram_of_fasters_tables() -> None:
    plan = reproduce.load(ROOT / "studies" / "adapt.toml")
    (sweep,) = (sweep for sweep in plan.sweeps if sweep.id == "schemes")
    taking = [variant.label for variant in sweep.variants if "cmt" in variant.takes]
    assert taking == ["DFTL", "WAFTL"]
    spans = {workload["name"]: workload["generator"]["span"] for workload in fk.workloads()}
    assert len(sweep.workloads) == 10
    # The tables depend on the capacity, of which there are four, but for what is rounded.
    least, *others = sorted(
        {(spans[workload["preset"]], float(workload["keys"]["cmt"].removesuffix("B"))) for workload in sweep.workloads}
    )
    assert len(others) == 3
    assert all(cmt / capacity == pytest.approx(least[1] / least[0], rel=5e-4) for capacity, cmt in others)
    for capacity, cmt in (least, *others) if LONG else (least, others[0]):
        study = plan.study | {
            "device": plan.study["device"] | {"capacity": capacity},
            "workload": {"preset": "spc1", "requests": 1, "addresses": "wrap"},
            "run": {"precondition": "none"},
            "ftl": [{"name": "faster"}],
        }
        (run,) = fk.run_study(study).document["runs"]
        assert cmt == run["footprint"]["ram_bytes"], capacity


def test_the_study_of_treeftl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "treeftl.toml")
    plan.study["device"] |= {"capacity": "64MiB", "spare": 0.2}

    def smaller(table: dict[str, Any]) -> None:
        for key in ("ram", "cmt"):
            sizes = table.get(key, [])
            less = [size.replace("MiB", "KiB") for size in ([sizes] if isinstance(sizes, str) else sizes)]
            table.update({key: less[0] if isinstance(sizes, str) else less} if less else {})

    for sweep in plan.sweeps:
        for workload in sweep.workloads:
            own = workload.get("generator", workload)
            own["requests"] = 1000
            workload["addresses"] = "wrap"
        # Hot data of 24 MiB and more meet no 64 KiB of RAM within so few requests.
        tables = [] if sweep.id == "hot set" else [*sweep.vary, *(variant.ftl for variant in sweep.variants)]
        for table in tables:
            smaller(table)
    done = reproduced(plan, tmp_path)
    # Two microseconds a page in RAM, and ten nanoseconds for each data page that a search
    # looks at: never less than without.
    selection = {(p.workload, p.variant, p.keys["data_selection"]): p for p in done.points if p.sweep == "selection"}
    for (name, variant, delay), point in selection.items():
        if delay == "10us":
            free = selection[name, variant, "0us"]
            assert point.value("controller_ns") > free.value("controller_ns") > 0
            assert point.value("flash_time_s") == free.value("flash_time_s")


def verdicts_on_page(name: str) -> dict[str, str]:
    """The verdicts of a study's page, by claim."""
    text = (ROOT / "docs" / "reproduce" / f"{name}.md").read_text(encoding="utf-8")
    table = text.partition(claims.BEGIN)[2].partition(claims.END)[0].strip().partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()[2:]]
    held = {"calibrated": "holds", "identity": "holds"}
    return {name: held.get(verdict, verdict) for names, verdict in rows for name in names.split("; ")}


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_page_of_study_lists_each_claim_and_its_verdict(path: Path) -> None:
    """The counts of its verdicts are those in the table of all studies."""
    verdicts = verdicts_on_page(path.stem)
    plan = reproduce.load(path)
    assert sorted(verdicts) == sorted(claim.id for claim in plan.claims)
    listed = [
        reproduce.Judgement(claim, [Row("", [], verdicts[claim.id], "", is_signed=False)]) for claim in plan.claims
    ]
    assert claims.summary(path.stem, listed) in (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_verdicts_of_page_need_the_controls_of_its_study(path: Path) -> None:
    """Its counts are those that the study's own knock-outs and ranges allow."""
    text = (ROOT / "docs" / "reproduce" / f"{path.stem}.md").read_text(encoding="utf-8")
    verdicts = verdicts_on_page(path.stem)
    for claim in reproduce.load(path).claims:
        verdict = verdicts[claim.id]
        if verdict == "no control":
            assert not claim.knockout, claim.id
        if verdict in ("reproduced", "without"):
            row = next(line for line in text.splitlines() if line.startswith(f"| {claim.id} | "))
            assert f"| {claim.mechanism}: " in row, claim.id


NO_CONTROL = {
    "adapt": ["D2, TPC-C moves", "D7, larger is better", "D9, κ", "D9, κ, phases"],
    "learned": ["E2, start"],
    "owl": [
        "O2",
        "O5, TPC-C erases, BET",
        "O6, TPC-C erases",
        "O8, prxy_0 suffers, 6 KB",
        "O8, prxy_0 best",
        "O8, most traces",
        "O9, others",
    ],
    "rftl": ["R3, writes in the background"],
    "saw": [
        "S1, tables",
        "S1, small",
        "S1, large",
        "S2, time, O-SAW",
        "S3, f",
        "S3, s",
        "T",
        "T, two degrees",
        "T, whole size",
        "OWL's table",
        "streams, collected",
    ],
    "waftl": [
        "W1, WAFTL",
        "W1, DFTL",
        "W7, page is best",
        "W7, page is best, streams",
        "table I, collection",
        "table I, performance",
    ],
}
"""Claims that hold without a control: a new one wants a knock-out, or its place here."""


def test_claims_that_hold_without_a_control_are_known() -> None:
    pages = {path.stem: verdicts_on_page(path.stem) for path in STUDIES}
    found = {
        name: [claim for claim, verdict in page.items() if verdict == "no control"] for name, page in pages.items()
    }
    assert {name: ids for name, ids in found.items() if ids} == NO_CONTROL
