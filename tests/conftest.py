"""What the tests share: ways to call the command, small real results, and traces to break."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import browser
import ftlkit as fk
import sample
from browser import Browser
from ftlkit.cli import app
from ftlkit.results.document import Document
from own_stacks import forget_own
from reproduction import STUDY

Call = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]

LONG = os.environ.get("FTLKIT_LONG") == "1"
"""Whether all is tried that the usual run takes a part of, and long campaigns run."""

LINES = 200
"""Requests of the small traces."""


FULL = frozenset(
    f"test_{name}"
    for name in (
        *(
            "advise",
            "advise_api",
            "advise_going_on",
            "advise_holds",
            "advise_limits",
            "advise_told",
            "advise_units",
            "browser",
            "calibrate",
            "curves",
        ),
        *("interrupt", "live_clients", "live_files", "live_soak", "mount_worn", "player", "plugins"),
        *("printed_studies", "reproduce_studies", "site", "tutorials", "wheel"),
    )
)
"""Modules that `make test` leaves to `make test-all`: three quarters of the time of all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out."""
    for item in items:
        if item.path.stem in FULL:
            item.add_marker("full")


@pytest.fixture(scope="session", autouse=True)
def _heard() -> None:
    """Let this process and its children get Ctrl-C, even under a shell that ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for all tests."""
    reason = browser.missing()
    if reason:
        pytest.skip(reason)
    opened = browser.Browser()
    yield opened
    opened.close()


@pytest.fixture
def own_are_forgotten() -> Iterator[None]:
    """What a test registers is not there for others: torture takes every FTL that there is."""
    yield
    forget_own()
    sys.modules.pop("own_ftl", None)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Call the command inside this process, in an empty folder; it exits with 0 unless `exits`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments: object, exits: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == exits, result.output
        return result

    return invoke


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their still pictures, which take most of the time; other tests look at them."""
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: "<svg></svg>")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The file of a reproduction that takes a moment."""
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command as a process of its own, in an empty folder."""
    started: list[subprocess.Popen[str]] = []

    def process(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-m", "ftlkit", *(str(argument) for argument in arguments)],
            cwd=tmp_path,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(made)
        return made

    yield process
    for running in started:
        running.kill()
        with running:
            pass


@pytest.fixture(scope="session")
def results() -> fk.Results:
    """A small comparison that was really run, under the oracle."""
    device = {"preset": "slc-small", "capacity": "auto"}
    return fk.compare("fin1", device=device, requests=2_000, addresses="dense", precondition="fill", verify=True)


@pytest.fixture(scope="session")
def report(results: fk.Results) -> str:
    """The report of that comparison."""
    from ftlkit.report.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

    return page(results)


@pytest.fixture
def document() -> Document:
    """Made-up results of four runs, which a test may change."""
    return sample.document()


@pytest.fixture
def msr(tmp_path: Path) -> Path:
    """A small MSR trace: 4 KiB requests to the first MiB, one a millisecond, a third reads."""
    return write_msr(tmp_path / "small.csv", LINES)


def write_msr(path: Path, lines: int, replaced: dict[int, str] | None = None) -> Path:
    """Write an MSR trace; `replaced` gives other text for lines by their number, from 1."""
    start = 128_166_372_000_000_000
    rows = []
    for i in range(lines):
        kind, offset = "Read" if i % 3 == 0 else "Write", i * 7919 % 256 * 4096
        rows.append(f"{start + 10_000 * i},host,0,{kind},{offset},4096,500")
    for number, text in (replaced or {}).items():
        rows[number - 1] = text
    path.write_text("\n".join(rows) + "\n")
    return path


def traces() -> Path | None:
    """The folder of real traces, where there is one."""
    named = os.environ.get("FTLKIT_TRACES")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "traces"
    return folder if folder.is_dir() else None
