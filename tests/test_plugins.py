"""Plugins: what packages add by entry points is known by name; one that fails stops no other."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit._native import Block
from ftlkit.own.loading import settled
from ftlkit.own.references import references

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

Ftlkit = Callable[..., subprocess.CompletedProcess[str]]

COMPARE = ["--requests", "300", "--capacity", "32MiB", "--addresses", "wrap"]


def install(folder: Path, package: str, points: str, **modules: str) -> None:
    """Lay a package into a folder as an installer does."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    facts = folder / f"{package.replace('-', '_')}-1.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (facts / "entry_points.txt").write_text(points)


@pytest.fixture
def ftlkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ftlkit:
    """The command in a process of its own, which sees the packages of a folder."""
    package = Path(__file__).parents[1] / "python"
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{package}")
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ftlkit", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return call


def test_plugins_are_listed_and_those_that_fail_are_named(ftlkit: Ftlkit, tmp_path: Path) -> None:
    install(tmp_path, "fk-parts", POINTS, fk_parts=PARTS, fk_broken=BROKEN, fk_exits=EXITS)
    listed = ftlkit("plugins")
    assert listed.returncode == 0, listed.stderr
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


def test_plugins_run_by_their_names_beside_a_broken_one(ftlkit: Ftlkit, tmp_path: Path) -> None:
    install(tmp_path, "fk-parts", POINTS, fk_parts=PARTS, fk_broken=BROKEN, fk_exits=EXITS)
    done = ftlkit("compare", "fin1", "--ftl", "append,page:victim=oldest", *COMPARE)
    assert done.returncode == 0, done.stderr
    assert "append" in done.stdout
    assert "page:victim=oldest" in done.stdout
    assert "Warning: fk_broken:Thing of fk-parts 1.2 is left out: cannot be loaded" in " ".join(done.stderr.split())
    assert "append" in ftlkit("schemes").stdout
    study = "[workload]\npreset = 'fin1'\nrequests = 300\naddresses = 'wrap'\n[device]\ncapacity = '32MiB'\n"
    (tmp_path / "study.toml").write_text(f"{study}[[ftl]]\nname = 'append'\n")
    assert ftlkit("run", "study.toml").returncode == 0


OWN = ["append,page:victim=oldest", "append,page:victim=mine.py:Oldest"]
"""Plugins, and a plugin beside a class by path."""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    install(tmp_path, "fk-parts", POINTS, fk_parts=PARTS, fk_broken=BROKEN, fk_exits=EXITS)
    (tmp_path / "mine.py").write_text(PARTS)
    return tmp_path


@pytest.mark.parametrize("ftl", OWN, ids=["plugins", "path"])
@pytest.mark.parametrize(
    "command",
    [
        ["sweep", "fin1", "--seeds", "2"],
        ["curve", "depth", "fin1", "--depths", "1,2"],
        ["advise", "fin1", "--trials", "3"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("installed")
def test_commands_with_workers_take_own_classes_and_warn_once(ftlkit: Ftlkit, command: list[str], ftl: str) -> None:
    done = ftlkit(*command, "--ftl", ftl, *COMPARE)
    assert done.returncode == 0, done.stderr
    assert "append" in done.stdout
    assert "oldest" in done.stdout.lower()
    assert " ".join(done.stderr.split()).count("fk_broken:Thing of fk-parts 1.2 is left out") == 1


def test_points_of_changed_code_are_run_again(ftlkit: Ftlkit, installed: Path) -> None:
    sweep = ["sweep", "fin1", "--ftl", "append,page:victim=mine.py:Oldest", *COMPARE]
    said = [ftlkit(*sweep), ftlkit(*sweep)]
    (installed / "mine.py").write_text(PARTS + "\n# changed\n")
    said.append(ftlkit(*sweep))
    (installed / "fk_parts.py").write_text(PARTS + "\n# changed\n")
    said.append(ftlkit(*sweep))
    found = [re.search(r"2 points: (\d) were in", done.stdout + done.stderr) for done in said]
    assert [match and int(match[1]) for match in found] == [0, 2, 1, 1]


def test_a_class_of_a_session_is_refused_by_workers_with_the_way_out() -> None:
    class Mine(fk.VictimPolicy):
        def score(self, block: Block) -> float:  # noqa: ARG002 - as asked
            return 0.0

    layer = {"name": "page", "victim": Mine}
    with pytest.raises(fk.UserError, match=r"Mine is known to this process alone.*name it as mine\.py:Mine"):
        references([settled(layer)])


@pytest.mark.parametrize("ftl", ["append", "page:victim=oldest", "page:victim=mine.py:Oldest"])
@pytest.mark.usefixtures("installed")
def test_images_are_made_and_opened_with_own_classes(ftlkit: Ftlkit, ftl: str) -> None:
    made = ftlkit("image", "create", "d.img", "--ftl", ftl, "--capacity", "32MiB")
    assert made.returncode == 0, made.stderr
    checked = ftlkit("image", "check", "d.img")
    if ftl == "append":
        # It is known, and has no recover.
        assert "append" in checked.stdout + checked.stderr
        assert "made by another ftlkit" not in checked.stderr
        return
    assert checked.returncode == 0, checked.stderr


def test_the_first_package_keeps_a_name(ftlkit: Ftlkit, tmp_path: Path) -> None:
    install(tmp_path, "fk-one", "[ftlkit.plugins]\na = fk_parts:Append\n", fk_parts=PARTS)
    install(tmp_path, "fk-two", "[ftlkit.plugins]\nb = fk_parts:Append\n")
    said = " ".join(ftlkit("plugins").stdout.split())
    assert "b is left out: fk-one 1.2 has the FTL append already" in said


def test_without_plugins_the_list_says_how_to_add_one(
    ftlkit: Ftlkit,
) -> None:
    done = ftlkit("plugins")
    assert done.returncode == 0, done.stderr
    assert "ftlkit.plugins" in done.stdout
