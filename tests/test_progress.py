"""Progress: one line per run, in the stage it is in, with a rate and the time left."""

import io
import time

import pytest
from rich.console import Console

from ftlkit._util import progress
from ftlkit._util.progress import Bars, Lines, stages


def test_the_survey_is_shown_while_it_is_all_there_is() -> None:
    assert stages([("workload", 5, 0)]) == [("workload", "workload", 5, 0)]
    assert stages([("workload", 9, 9), ("page", 0, 9)]) == [("page", "page", 0, 9)]


@pytest.mark.parametrize(
    ("prepared", "served", "shown"),
    [(0, 0, "page (precondition)"), (3, 0, "page (precondition)"), (3, 1, "page"), (8, 9, "page")],
)
def test_a_run_shows_its_preconditioning_until_it_moves(prepared: int, served: int, shown: str) -> None:
    lines = stages([("page (precondition)", prepared, 8), ("page", served, 9)])
    assert [(run, label) for run, label, _, _ in lines] == [("page", shown)]


def test_lines_tell_share_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 11.0, 12.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    out = io.StringIO()
    lines = Lines(Console(file=out, width=200))
    lines.show([("page", 1_000, 100_000)])
    lines.show([("page", 51_000, 100_000), ("dftl", 7, 7)])
    lines.show([("page", 52_000, 100_000)])
    text = out.getvalue()
    assert text == "page: 51.0 % of 100,000, 5.00 k/s, 9.80 s left; dftl: done\n"


def test_the_rate_of_a_next_survey_is_not_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 100.0, 110.0, 120.0, 130.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    out = io.StringIO()
    lines = Lines(Console(file=out, width=200))
    for done in (500, 100, 200, 0):
        lines.show([("workload", done, 0)])
    assert out.getvalue().splitlines() == [
        "workload: 500",
        "workload: 100",
        "workload: 200, 10.0/s",
        "workload: 0, waiting",
    ]


def test_of_a_budget_the_seconds_that_are_used_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = io.StringIO()
    lines = Lines(Console(file=out, width=100))
    for spent_s in (3, 43):
        now[0] += progress.LINE_EVERY_S
        lines.show([(progress.BUDGET, spent_s, 300)])
    assert out.getvalue().splitlines() == ["3 of 300 s used", "43 of 300 s used"]
    bars = Bars(Console(file=out, width=100, force_terminal=True))
    with bars:
        bars.show([(progress.BUDGET, 43, 300)])
    assert "43 of 300 s used" in out.getvalue()[40:]


@pytest.mark.parametrize("width", [40, 100])
def test_bars_show_every_run_and_nothing_else_remains(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True)
    with Bars(console) as bars:
        bars.show([("workload", 10, 0)])
        bars.show([("page (precondition)", 5, 10), ("page", 0, 10), ("[b]", 1, 10)])
        bars.show([("page (precondition)", 5, 10), ("page", 3, 10), ("[b]", 10, 10)])
        assert sorted(task.description for task in bars._progress.tasks) == ["\\[b]", "page"]  # noqa: SLF001
    assert "page" in out.getvalue()


def test_the_watcher_suits_the_console() -> None:
    assert isinstance(progress.watcher(Console(file=io.StringIO(), force_terminal=True)), Bars)
    assert isinstance(progress.watcher(Console(file=io.StringIO())), Lines)
