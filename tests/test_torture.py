"""`ftlkit torture`: its trials, its reports, and that a printed line fails again."""

import json
import re
import shlex
import time
from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call, Start
from test_interrupt import STOPS_WITHIN_S, Impatient, said, stopped

MOMENT = 0.1
"""Minutes: enough for some trials of every kind, on a busy machine, too."""

BUGGY = "canary:bug=torn-trusted"
"""The suite's own test subject: a scheme that is in no list and breaks promises when told to."""

UNKNOWN = "check::replay scheme=dtfl geometry=1x1x1x8x4x512 pages=9 seed=1 workload=mixed requests=3"


def test_a_moment_of_torture_finds_nothing_and_counts_what_it_tried() -> None:
    report = fk.torture("page:victim=fifo", minutes=MOMENT, seed=7)
    assert [(scheme["scheme"], scheme["stack"]) for scheme in report["schemes"]] == [("page", "page:victim=fifo")]
    assert not report["cancelled"]
    assert report["options"]["seed"] == 7
    for scheme in report["schemes"]:
        assert not scheme["findings"]
        tried = scheme["trials"]
        counts = [tried["conformance"], tried["power_cuts"], tried["failing_flash"], tried["combined"]]
        assert min(counts) > 0
        tears = scheme["cuts"]
        assert min(tears["before"], tears["unseen"], tears["torn"], tears["after"], scheme["cut_points"]) > 0
        assert scheme["second_cuts"] > 0
        assert min(scheme["faults"]["failed_programs"], scheme["faults"]["failed_erases"]) > 0
        assert scheme["grown_bad_blocks"] > 0
        covered = scheme["covered"]
        assert 1 < covered["combinations"] <= sum(counts)
        assert 0 < covered["pairs"] <= covered["pairs_of"] - covered["pairs_refused"]
        assert covered["pairs"] < covered["triples"] <= covered["triples_of"]
        assert 0 < scheme["states"] <= scheme["states_of"]


def test_all_schemes_take_part_by_default(call: Call, tmp_path: Path) -> None:
    done = call("torture", "--minutes", MOMENT / 10, "--swarm", "--json", "t.json")
    assert "nothing found" in done.stdout
    report = json.loads((tmp_path / "t.json").read_text())
    assert [scheme["scheme"] for scheme in report["schemes"]] == [scheme["name"] for scheme in fk.schemes()]
    assert report["options"]["swarm"]


def test_a_finding_ends_with_a_line_that_fails_again(call: Call, tmp_path: Path) -> None:
    done = call("torture", "--ftl", BUGGY, "--minutes", "1", "--seed", "3", "--json", "t.json", exits=1)
    finding = json.loads((tmp_path / "t.json").read_text())["schemes"][0]["findings"][0]
    assert finding["reproduced"]
    # Which kind of trial finds it first is a matter of time.
    assert re.search(r"breaks promise [34]", finding["message"])
    pasted = next(line for line in done.stdout.splitlines() if line.startswith("ftlkit torture --replay"))
    again = call(*shlex.split(pasted)[1:], exits=1)
    assert finding["message"] in again.stdout
    befell = re.compile(r"the power was cut at the |could not be (programmed|erased)")
    assert any(befell.search(line) for line in finding["explanation"])
    assert len(finding["explanation"]) < 10
    assert all(line in done.stdout for line in finding["explanation"])
    # Without its bug, the canary holds what it promises as long as no flash fails.
    line = re.sub(r" faults=\S+", "", finding["replay"].replace("torn-trusted", "none"))
    healthy = call("torture", "--replay", line)
    assert "passes" in healthy.stdout


def test_a_failing_case_is_made_small() -> None:
    line = (
        "check::replay scheme=canary set.bug=forgotten-trim geometry=1x1x1x8x4x512 pages=14 seed=7 prefill=full "
        "workload=mixed requests=200"
    )
    whole, small = fk.replay(line), fk.replay(line, shrink=True)
    assert not whole["passes"]
    assert not small["passes"]
    assert "workload=script:" in small["replay"]
    assert len(small["replay"]) < len(line) + 40


def test_a_failing_case_is_explained_from_the_flash(call: Call) -> None:
    line = (
        "check::replay scheme=canary set.bug=lost-write geometry=1x1x1x8x4x512 pages=14 seed=7 prefill=full "
        "workload=mixed requests=200"
    )
    done = fk.replay(line, explain=True)
    assert done["message"]
    lpn = done["message"].partition("LPN ")[2].split()[0]
    printed = call("torture", "--replay", line, "--explain", exits=1)
    assert (done["explanation"] or "").strip() in printed.stdout
    assert f"LPN {lpn}" in printed.stdout.partition("The page in question:")[2]
    done_with = printed.stdout.partition(f"What was done with LPN {lpn}, in order:")[2]
    assert re.search(r"erase of PBN \d+, cause collection, in \w\S*, destroyed the (last|newest) copy of", done_with)
    assert "die 0: " in printed.stdout
    assert fk.replay(line)["explanation"] is None
    assert fk.replay(line.replace("lost-write", "none"), explain=True)["explanation"] is None


def test_torture_goes_to_the_device_that_is_asked_for(call: Call) -> None:
    done = call(
        *["torture", "--ftl", "canary:bug=panic", "--geometry", "1x2x1x8x5x512,any,bad:3", "--minutes", "1"], exits=1
    )
    assert "geometry=1x2x1x8x5x512,any,bad:3" in done.stdout


@pytest.mark.full
def test_a_named_device_is_scaled_down_and_refusals_are_told(call: Call, tmp_path: Path) -> None:
    done = call("torture", "--device", "7450-like", "--minutes", MOMENT, "--json", "t.json")
    report = json.loads((tmp_path / "t.json").read_text())
    assert report["devices"]
    assert all(device.endswith(",strict,together:48,units:4") for device in report["devices"])
    assert all(device in done.stdout for device in report["devices"])
    left_out = [left["scheme"] for left in report["left_out"]]
    assert "block" in left_out
    assert "left out: block (" in done.stdout
    tried = [scheme["scheme"] for scheme in report["schemes"]]
    assert {"page", "dftl"} <= set(tried)
    assert not set(tried) & set(left_out)


def test_a_device_of_a_file_is_tortured(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[device]\ncell = "mlc"\nspare = 0.2\npower_loss_protection = false\nprogram_order = "strict"\n'
    )
    done = call("torture", "--ftl", "canary:bug=panic", "--device", "mine.toml", "--minutes", "1", exits=1)
    assert "x512,strict,paired:mlc " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ftl", "dtfl"], "dtfl"),
        (["--ftl", "dftl:speed=1"], "dftl has no parameter speed"),
        (["--ftl", "dftl:cmt"], "not KEY=VALUE"),
        (["--ftl", ""], "--ftl is empty: give NAMES"),
        (["--minutes", "0"], "must be above 0"),
        (["--minutes", "nan"], "is no number"),
        (["--seed", "-1"], "seed"),
        (["--device", "no-such-drive"], "no-such-drive"),
        (["--device", "slc-small,raw-slc"], "one device is taken here"),
        (["--geometry", "8x4"], "for example 1x2x1x8x5x512"),
        (["--geometry", "1x1x1x9999x8x512"], "at most 2000"),
        (["--ftl", "block", "--geometry", "1x1x1x8x4x512,strict"], "program_order = strict"),
        (["--json", "nowhere/t.json"], "does not exist"),
        (["--shrink"], "--replay"),
        (["--explain"], "--replay"),
        (["--replay", "nonsense"], "not a replay line"),
        (
            ["--replay", "check::replay scheme=dtfl geometry=1x1x1x8x4x512 pages=9 seed=1 workload=mixed requests=3"],
            "dtfl",
        ),
        (["--replay", "nonsense", "--minutes", "1"], "leave --minutes out"),
    ],
)
def test_bad_input_is_refused_in_a_paragraph(call: Call, arguments: list[str], words: str) -> None:
    done = call("torture", *arguments, exits=2)
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_ctrl_c_keeps_what_was_tried(start: Start, tmp_path: Path) -> None:
    process = start(*["torture", "--ftl", "page", "--minutes", "30", "--json", "t.json"])
    assert "page:" in said(process, "page:", 60)
    assert stopped(process) < STOPS_WITHIN_S
    assert process.returncode == 130
    report = json.loads((tmp_path / "t.json").read_text())
    assert report["cancelled"]
    assert report["schemes"][0]["requests"] > 0


def test_the_api_hands_over_what_was_tried() -> None:
    started = time.monotonic()
    with pytest.raises(fk.Interrupted) as interrupted:
        fk.torture("page", minutes=30, watcher=Impatient())
    assert time.monotonic() - started < 30
    report = interrupted.value.finished
    assert report is not None
    assert report["cancelled"]
