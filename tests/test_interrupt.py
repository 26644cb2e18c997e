"""Ctrl-C: the command stops at once, keeps finished runs, and leaves nothing half-written."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ftlkit as fk
import ftlkit.sweeps.run
from conftest import Call, Start
from ftlkit._native import Control
from ftlkit._util.native_call import Interrupted
from ftlkit._util.progress import LINE_EVERY_S, Silent, State

STOPS_WITHIN_S = 20.0
"""What no busy machine takes, and less than the work. `benches/ratios.py` times the promise."""


def stopped(process: subprocess.Popen[str]) -> float:
    """Interrupt a process and return how long it took to end."""
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    finally:
        process.kill()
    return time.monotonic() - sent


def said(process: subprocess.Popen[str], words: str, within_s: float) -> str:
    """Read standard error until a line holds some words."""
    assert process.stderr is not None
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        line = process.stderr.readline()
        if words in line or not line:
            return line
    return ""


def test_finished_runs_are_kept(start: Start, tmp_path: Path) -> None:
    """The page run takes a moment, the block run long; one thread runs them in turn."""
    workload = "compare fin1 --ftl page,block --requests 2000000 --precondition steady --addresses dense --threads 1"
    process = start(*workload.split(), "--json", "r.json")
    assert "page: done" in said(process, "page: done", 90)
    assert stopped(process) < STOPS_WITHIN_S
    assert process.returncode == 130
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["cancelled"]
    assert [run["label"] for run in document["runs"]] == ["page"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_ctrl_c_between_files_says_which_are_whole(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fk.Results, "report", interrupted)
    short = ("compare", "fin1", "--ftl", "page", "--requests", "500", "--addresses", "dense")
    result = call(*short, "--json", "r.json", "--report", "r.html", "--timeline", "t.html", exits=130)
    assert result.stderr.splitlines()[-1] == (
        "Stopped before these were written: r.html, t.html. Whole: r.json. "
        "ftlkit report r.json draws the report without a new run."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    result = call(*short, "--report", "r.html", exits=130)
    assert "r.html. No file is whole. The runs are not kept" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "after_s", "says"),
    [
        (
            "compare fin1 --ftl block --requests 100000000 --json r.json --report r.html",
            LINE_EVERY_S / 2,
            "Nothing was written",
        ),
        ("trace generate fin1 g.parquet --requests 200000000", LINE_EVERY_S / 2, "Nothing was written"),
        # Its requests are generated in a moment, and what follows has nothing to hand over.
        ("curve cache fin1 --requests 10000000 --json c.json", LINE_EVERY_S, "Stopped"),
    ],
    ids=["run", "generation", "curve"],
)
def test_nothing_is_written_when_nothing_was_finished(
    command: str, after_s: float, says: str, start: Start, tmp_path: Path
) -> None:
    process = start(*command.split())
    time.sleep(after_s)
    assert process.poll() is None
    assert stopped(process) < STOPS_WITHIN_S
    assert process.returncode == 130
    assert process.stderr is not None
    errors = process.stderr.read()
    assert says in errors
    assert "kept" not in errors, "nothing was finished that could be"
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_in_plain_lines(start: Start) -> None:
    process = start(*["compare", "fin1", "--ftl", "page,block", "--requests", "20000000", "--addresses", "dense"])
    line = said(process, "/s", 60)
    process.kill()
    assert "\r" not in line
    assert "/s" in line


@pytest.mark.parametrize(
    ("module", "command"),
    [("typer", "schemes"), ("polars", "sweep fin1 --ftl page --vary device.channels=2 --requests 100")],
)
def test_ctrl_c_while_something_is_loaded_ends_the_command_in_a_line(
    module: str, command: str, start: Start, tmp_path: Path
) -> None:
    """What takes time to load, for all or for a subcommand, interrupts as a user would."""
    (tmp_path / f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="utf-8")
    process = start(*command.split(), PYTHONPATH=str(tmp_path))
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors) == (130, "", "Stopped. Nothing was written.\n")


def test_ctrl_c_while_the_interpreter_ends_shows_no_traceback(start: Start, tmp_path: Path) -> None:
    """What is called at the interpreter's end interrupts the process as a user would."""
    interrupts = "import atexit, os, signal\natexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    (tmp_path / "sitecustomize.py").write_text(interrupts, encoding="utf-8")
    process = start("schemes", "page", PYTHONPATH=str(tmp_path))
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (-signal.SIGINT, "")
    assert "page" in out


def test_a_sweep_that_is_stopped_before_its_first_run_has_no_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C comes as the last of its points is prepared."""

    def watched(work: Callable[[Control], object], *_: object, **_more: object) -> object:
        raise Interrupted(work(Control()))

    monkeypatch.setattr(ftlkit.sweeps.run, "watched", watched)
    with pytest.raises(fk.Interrupted) as stop:
        fk.sweep("fin1", "page", store=tmp_path / "store", requests=1000)
    assert stop.value.finished is None


def test_a_command_that_ignores_ctrl_c_goes_on_ignoring_it(start: Start) -> None:
    """A shell starts what runs in the background so."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = start("compare", "fin1", "--ftl", "page", "--requests", "50000")
    finally:
        signal.signal(signal.SIGINT, before)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert process.returncode == 0


def test_what_comes_before_the_command_hears_ctrl_c_loads_nothing_that_takes_time() -> None:
    loaded = "import sys, ftlkit.entry; print(*(name for name in sys.modules if name.startswith('ftlkit')))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ftlkit", "ftlkit.entry"]


class Impatient(Silent):
    """A watcher whose user presses Ctrl-C as soon as there is progress."""

    def show(self, state: State) -> None:
        """Interrupt."""
        if any(done for _, done, _ in state):
            raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_conversion_leaves_nothing_behind(suffix: str, tmp_path: Path) -> None:
    source = tmp_path / "g.parquet"
    fk.trace_generate("fin1", source, requests=2_000_000)
    with pytest.raises(fk.Interrupted):
        fk.trace_convert(source, tmp_path / f"out.{suffix}", watcher=Impatient())
    assert list(tmp_path.iterdir()) == [source]


def test_the_api_hands_over_what_was_finished() -> None:
    with pytest.raises(fk.Interrupted) as stopped:
        fk.compare("fin1", "page,dftl", requests=5_000_000, watcher=Impatient())
    assert isinstance(stopped.value, KeyboardInterrupt)
    finished = stopped.value.finished
    assert finished is None or (finished.cancelled and not finished.labels)


def test_statistics_stop_too() -> None:
    started = time.monotonic()
    with pytest.raises(fk.Interrupted):
        fk.trace_info("fin1", requests=50_000_000, watcher=Impatient())
    assert time.monotonic() - started < STOPS_WITHIN_S
