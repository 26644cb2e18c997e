"""Plugins: what packages add by entry points is known by name; one that fails stops no other."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ftlkit as fk
from conftest import Call
from ftlkit._native import Block
from ftlkit.cli import app
from ftlkit.own.loading import settled
from ftlkit.own.plugins import plugins
from ftlkit.own.references import _of_module, references
from own_stacks import forget_own

PARTS = '''
import ftlkit as fk


class Oldest(fk.VictimPolicy):
    """Filled longest ago."""

    def score(self, block):
        return block.since_filled


class Append(fk.Ftl):
    """Writes behind the last page, and never collects."""

    def __init__(self, device):
        super().__init__(device)
        self.map, self.next = {}, 0

    def read(self, flash, lpn):
        return flash.read(self.map[lpn]) if lpn in self.map else None

    def write(self, flash, lpn, page):
        flash.program(self.next, page)
        self.map[lpn] = self.next
        self.next += 1


class Page(Append):
    """Has the name of a built-in one."""


class Other:
    """Nothing of ftlkit's."""
'''

BROKEN = "raise RuntimeError('no such device')\n"

EXITS = "import sys\n\nsys.exit()\n"

POINTS = """
[ftlkit.plugins]
append = fk_parts:Append
broken = fk_broken:Thing
exits = fk_exits:Thing
missing = fk_parts:Missing
oldest = fk_parts:Oldest
other = fk_parts:Other
page = fk_parts:Page
"""

COMPARE = ["--requests", "300", "--capacity", "32MiB", "--addresses", "wrap", "--precondition", "none"]


def install(folder: Path, package: str, points: str, **modules: str) -> None:
    """Lay a package into a folder as an installer does."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    facts = folder / f"{package.replace('-', '_')}-1.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (facts / "entry_points.txt").write_text(points)


@pytest.fixture
def seen(
    own_are_forgotten: None,  # noqa: ARG001 - it ends last
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Path]:
    """A folder whose packages this process and its workers see."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("warnings.filters", [("always", None, RuntimeWarning, None, 0)])
    plugins.cache_clear()
    yield tmp_path
    plugins.cache_clear()
    for name in ("fk_parts", "fk_broken", "fk_exits"):
        sys.modules.pop(name, None)


@pytest.fixture
def installed(seen: Path) -> Path:
    """A package with classes of every kind, those that fail included, and a file of classes."""
    install(seen, "fk-parts", POINTS, fk_parts=PARTS, fk_broken=BROKEN, fk_exits=EXITS)
    (seen / "mine.py").write_text(PARTS)
    return seen


@pytest.mark.usefixtures("installed")
def test_plugins_are_listed_and_those_that_fail_are_named(call: Call) -> None:
    listed = call("plugins")
    rows = {line.split()[0]: line for line in listed.stdout.splitlines() if line.strip()}
    assert "FTL" in rows["append"]
    assert "fk-parts 1.2" in rows["append"]
    assert "victim policy" in rows["oldest"]
    said = " ".join(listed.stdout.split())
    for name, why in [
        ("broken", "fk_broken.py, line 1: RuntimeError: no such device"),
        ("exits", "fk_exits.py, line 3: SystemExit"),
        ("missing", "Missing"),
        (
            "other",
            "derives from none of ftlkit.Ftl, ftlkit.VictimPolicy, ftlkit.Classifier, ftlkit.WearPolicy and",
        ),
        ("page", "there is a mapping of this name already"),
    ]:
        assert f"{name} is left out: " in said
        assert why in said
    assert listed.stderr == ""


def test_plugins_run_by_their_names_beside_a_broken_one(installed: Path, call: Call) -> None:
    # In a process of its own, as users see it.
    command = [sys.executable, "-m", "ftlkit", "compare", "fin1", "--ftl", "append,page:victim=oldest", *COMPARE]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "120"}
    done = subprocess.run(command, cwd=installed, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "append" in done.stdout
    assert "page:victim=oldest" in done.stdout
    assert "Warning: fk_broken:Thing of fk-parts 1.2 is left out: cannot be loaded" in " ".join(done.stderr.split())
    assert "append" in call("schemes").stdout
    study = "[workload]\npreset = 'fin1'\nrequests = 300\naddresses = 'wrap'\n[device]\ncapacity = '32MiB'\n"
    (installed / "study.toml").write_text(f"{study}[[ftl]]\nname = 'append'\n")
    call("run", "study.toml")


@pytest.mark.parametrize(
    ("command", "ftl"),
    [
        (["sweep", "fin1"], "append,page:victim=oldest"),
        (["curve", "depth", "fin1", "--depths", "1"], "append,page:victim=mine.py:Oldest"),
        (["advise", "fin1", "--trials", "2", "--seeds", "1"], "append,page:victim=mine.py:Oldest"),
    ],
    ids=["sweep", "curve", "advise"],
)
@pytest.mark.usefixtures("installed")
def test_commands_with_workers_take_own_classes_and_warn_once(
    command: list[str], ftl: str, call: Call, capfd: pytest.CaptureFixture[str]
) -> None:
    """Plugins, and a plugin beside a class by path."""
    done = call(*command, "--ftl", ftl, *COMPARE)
    assert "append" in done.stdout
    assert "oldest" in done.stdout.lower()
    printed = done.stderr + capfd.readouterr().err  # workers print where the tests do
    assert " ".join(printed.split()).count("fk_broken:Thing of fk-parts 1.2 is left out") == 1


def test_points_of_changed_code_are_run_again(installed: Path, call: Call) -> None:
    def found() -> int:
        done = call("sweep", "fin1", "--ftl", "append,page:victim=mine.py:Oldest", "--threads", 1, *COMPARE)
        match = re.search(r"2 points: (\d) were in", done.output)
        assert match
        return int(match[1])

    assert found() == 0
    (installed / "mine.py").write_text(PARTS + "\n# changed\n")
    assert found() == 1
    (installed / "fk_parts.py").write_text(PARTS + "\n# changed\n")
    _of_module.cache_clear()
    assert found() == 1


def test_a_class_of_a_session_is_refused_by_workers_with_the_way_out() -> None:
    class Mine(fk.VictimPolicy):
        def score(self, block: Block) -> float:  # noqa: ARG002 - as asked
            return 0.0

    layer = {"name": "page", "victim": Mine}
    with pytest.raises(fk.UserError, match=r"Mine is known to this process alone.*name it as mine\.py:Mine"):
        references([settled(layer)])


@pytest.mark.parametrize("ftl", ["append", "page:victim=oldest", "page:victim=mine.py:Oldest"])
def test_images_are_made_and_opened_with_own_classes(ftl: str, installed: Path, call: Call) -> None:
    call("image", "create", "d.img", "--ftl", ftl, "--capacity", "32MiB")
    # Another process knows no class of this one.
    forget_own()
    plugins.cache_clear()
    check = CliRunner().invoke(app, ["image", "check", str(installed / "d.img")])
    if ftl == "append":
        # It is known, and has no recover.
        assert "append" in check.output
        assert "made by another ftlkit" not in check.stderr
        return
    assert check.exit_code == 0, check.output


def test_the_first_package_keeps_a_name(seen: Path, call: Call) -> None:
    install(seen, "fk-one", "[ftlkit.plugins]\na = fk_parts:Append\n", fk_parts=PARTS)
    install(seen, "fk-two", "[ftlkit.plugins]\nb = fk_parts:Append\n")
    said = " ".join(call("plugins").stdout.split())
    assert "b is left out: fk-one 1.2 has the FTL append already" in said


@pytest.mark.usefixtures("seen")
def test_without_plugins_the_list_says_how_to_add_one(call: Call) -> None:
    assert "ftlkit.plugins" in call("plugins").stdout
