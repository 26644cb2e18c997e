"""Reproductions keep their runs in a store: none runs twice, and a failed one is named."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit import reproduce
from ftlkit.results.point_state import DONE
from ftlkit.results.store import Store
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.work import Answer, Job
from reproduction import CLAIM, STUDY

HEAD = STUDY.partition("[sweeps")[0]
SWEEPS = """
[sweeps.files]
workloads = [{ label = "PM", files = { personality = "postmark", operations = 2_000 } }]
variants = [{ label = "page", ftl = { name = "page" } }, { label = "SAW", ftl = { name = "page+saw" } }]

[sweeps.n]
workloads = [{ preset = "fin1", requests = 4_000, addresses = "wrap" }]
vary = { group_blocks = [1, 2, 4, 8], "device.spare" = [0.2, 0.3] }
variants = [
    { label = "SAST", takes = ["group_blocks"], ftl = { name = "sast", log_blocks = "8" } },
    { label = "page", ftl = { name = "page" } },
]
"""
CLAIMS = CLAIM.format(id="F", kind="measured", measure='kind = "value", of = "page", only = { "device.spare" = 0.3 }')
FILES = '[study.files]\nfiles = 1_000\nvolume_bytes = "32MiB"\n'
LONG = HEAD + FILES + SWEEPS + CLAIMS + "partly = [0.0, 1e9]\n"
RUNS = 2 + 8 + 2
"""The page mapping takes no group_blocks: its runs at the same spare are one."""


KILLED = """
import signal, sys
from pathlib import Path
from ftlkit import reproduce
from ftlkit.results import store
from test_reproduce_store import Stopping
plan = reproduce.load(Path(sys.argv[1]))
reproduce.reproduce(plan, store=store.Store(Path(sys.argv[2])), executor=Stopping(signal.SIGKILL))
"""


class Counting(Local):
    """An executor that remembers how many points it was given."""

    given = 0

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Count, and run."""
        self.given += len(jobs)
        yield from super().run(jobs)


def results(done: reproduce.Reproduction) -> list[Any]:
    """What the runs of a reproduction gave, but for how long they took."""
    runs = [json.loads(json.dumps(point.results)) for point in done.points]
    for run in runs:
        for name in [name for name in run if "wall" in name]:
            del run[name]
    return runs


class Stopping(Local):
    """An executor whose process gets a signal when it has the results of three points."""

    def __init__(self, which: signal.Signals) -> None:
        super().__init__(1)
        self._which = which

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Run, and stop before the fourth answer."""
        for number, answer in enumerate(super().run(jobs)):
            if number == 3:
                os.kill(os.getpid(), self._which)
            yield answer


def test_a_killed_reproduction_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(LONG, encoding="utf-8")
    plan, store = reproduce.load(path), Store(tmp_path / "store", create=True)
    killed = subprocess.run([sys.executable, "-c", KILLED, path, store.path], cwd=Path(__file__).parent, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert store.frame()["state"].to_list() == [DONE] * 3
    counting = Counting()
    resumed = reproduce.reproduce(plan, store=store, executor=counting)
    # Also those of the file workload, which was recorded anew, and is the same to the byte.
    assert counting.given == RUNS - 3
    assert len(store.keys()) == RUNS
    again = reproduce.reproduce(plan, store=store, executor=counting)
    assert counting.given == RUNS - 3
    assert again.reused == len(again.points) == 2 + 16
    at_once = reproduce.reproduce(plan)
    assert results(resumed) == results(again) == results(at_once)
    assert [judgement.text for judgement in resumed.judgements] == [judgement.text for judgement in at_once.judgements]


def test_ctrl_c_says_how_to_go_on(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    monkeypatch.setattr("ftlkit.cli.reproduce.executor", lambda *_: Stopping(signal.SIGINT))
    result = call("reproduce", "long.toml", "--store", "store", exits=130)
    assert "Stopped. 3 of 18 runs are in store; the same command goes on from there." in result.stderr
    assert len(Store(tmp_path / "store").keys()) == 3
    assert not (tmp_path / "tiny.html").exists()


def test_a_run_that_fails_is_named_and_what_asks_for_it_is_not_judged(call: Call, tmp_path: Path) -> None:
    """With a spare of 0.01 there is no room for the log blocks."""
    text = STUDY.replace(
        "vary = { group_blocks = [1, 4] }", 'vary = { group_blocks = [1, 4], "device.spare" = [0.01, 0.2] }'
    )
    text += CLAIM.format(
        id="C3", kind="measured", measure='kind = "value", of = "SAST", only = { "device.spare" = 0.2 }'
    )
    (tmp_path / "tiny.toml").write_text(
        text.replace("group_blocks = 4 }", 'group_blocks = 4, "device.spare" = 0.2 }') + "partly = [0, 1e9]\n",
        encoding="utf-8",
    )
    result = call("reproduce", "tiny.toml")
    assert "measured: 0 reproduced, 1 partly reproduced, 0 not reproduced, 2 open" in result.stderr
    assert "8 runs: 0 were in ftlkit-results, 4 failed" in result.stderr
    failed = " ".join(result.stdout.split())
    assert "failed: slc-small, fin1, SAST, group_blocks=1, device.spare=0.01, seed 1: " in failed
    page = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    assert "Failed runs" in page
    assert page.count("a run failed: ") == 2
    again = call("reproduce", "tiny.toml", "--out", "again.html")
    assert "8 runs: 8 were in ftlkit-results, 4 failed" in again.stderr
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_seeds_that_end_before_the_claims_do_are_refused(study: Path) -> None:
    claims = CLAIMS.replace('[claims."F"]', '[claims."F"]\nseeds = 3')
    head = HEAD.replace("seed = 1\n", f"seed = {2**63 - 1}\n")
    study.write_text(f"{head}{FILES}{SWEEPS}{claims}partly = [0.0, 1e9]\n")
    with pytest.raises(fk.UserError, match=f"seed = {2**63 - 1}: with 3 seeds.*at most {2**63 - 3}"):
        reproduce.reproduce(reproduce.load(study), executor=Local(1))


def test_a_study_of_which_nothing_can_be_run_is_refused(study: Path) -> None:
    study.write_text(STUDY.replace("spare = 0.2", "spare = 0.01"), encoding="utf-8")
    with pytest.raises(fk.UserError, match="spare"):
        reproduce.reproduce(reproduce.load(study))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "mars"], "--on mars: points run on local"),
        (["--store", "full"], "full is no store of results and is not empty"),
        (["--store", "full/other"], "full/other is no folder"),
        (["--threads", "0"], "--threads"),
    ],
)
def test_places_that_there_are_not(arguments: list[str], words: str, call: Call, tmp_path: Path, study: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").touch()
    result = call("reproduce", study, *arguments, exits=2)
    assert words in " ".join(result.stderr.split())
    assert not (tmp_path / "tiny.html").exists()
