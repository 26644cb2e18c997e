"""Every command of the tutorials runs, in their order, and prints what stands below it.

A block `sh` is run. A block `text` behind it is what it prints; `…` stands for lines, or for a part
of one, that are left out. A block that begins with a comment of one name is a file of that name. A
command that begins with `# takes a while` is run with FTLKIT_LONG alone.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import ftlkit as fk
from mounting import needs_fuse

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.md") if path.stem != "index")
GALLERY = TUTORIALS.parent / "gallery.md"
NEEDS = {"break-an-ftl": "write-an-ftl"}
"""Tutorials that begin with the files of another."""

TIMEOUT_S = 300
ANY = "…"


class Step(NamedTuple):
    """A command and the lines that it prints, or a file and what is in it."""

    kind: str
    text: str
    shown: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """The blocks of a page."""
    found: list[Step] = []
    for kind, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if kind == "text":
            found[-1] = found[-1]._replace(shown=tuple(text.splitlines()))
        else:
            found.append(Step(kind, text, ()))
    return found


def write_file(step: Step, folder: Path) -> None:
    """Write the file of a block that names one."""
    named = re.match(r"# ([\w.-]+)\n", step.text)
    if named is not None:
        (folder / named[1]).write_text(step.text, encoding="utf-8")


def environment(folder: Path) -> dict[str, str]:
    """An environment in which `ftlkit` and `python` are those of the tests."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, module in (("ftlkit", "-m ftlkit "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {module}"$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "80"}


def script(page: list[Step]) -> str:
    """All commands of a page as one script, so that a job of one can be ended in another."""
    marked = [
        f"{step.text}\necho '== {place}'\n"
        for place, step in enumerate(page)
        if step.kind == "sh" and (os.environ.get("FTLKIT_LONG") or not step.text.startswith("# takes a while"))
    ]
    return "set -e -o pipefail\n" + "".join(marked)


def missing(shown: tuple[str, ...], printed: list[str]) -> str | None:
    """The first of the lines shown that was not printed, in this order; spaces count as one."""
    lines = iter(" ".join(line.split()) for line in printed)
    for line in shown:
        pattern = re.compile(".*".join(map(re.escape, " ".join(line.split()).split(ANY))))
        if line != ANY and not any(pattern.fullmatch(each) for each in lines):
            return line
    return None


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_tutorial_runs_and_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    page = steps((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
    if any("ftlkit mount" in step.text for step in page):
        needs_fuse()
    before = steps((TUTORIALS / f"{NEEDS[name]}.md").read_text(encoding="utf-8")) if name in NEEDS else []
    variables = environment(tmp_path)
    for step in [*before, *page]:
        write_file(step, tmp_path)
    for step in before:
        if step.text.startswith("cat >>"):
            subprocess.run(["bash", "-e", "-c", step.text], cwd=tmp_path, check=True)
    ran = subprocess.run(
        ["bash", "-c", script(page)],
        cwd=tmp_path,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    parts = re.split(r"^== (\d+)\n", ran.stdout, flags=re.MULTILINE)
    printed = {int(place): text.splitlines() for text, place in zip(parts[::2], parts[1::2], strict=False)}
    assert printed
    for place, lines in printed.items():
        line = missing(page[place].shown, lines)
        assert line is None, f"{line!r} is not in\n" + "\n".join(lines)


def test_every_command_of_the_gallery_writes_its_report(tmp_path: Path) -> None:
    page = steps(GALLERY.read_text(encoding="utf-8"))
    assert len(page) == 11
    if not os.environ.get("FTLKIT_LONG"):
        pytest.skip("eleven reports take minutes: FTLKIT_LONG=1")
    (tmp_path / "examples").symlink_to(TUTORIALS.parents[1] / "examples")
    for step in page:
        subprocess.run(["bash", "-e", "-c", step.text], cwd=tmp_path, env=environment(tmp_path), check=True)
    assert len(list(tmp_path.glob("*.html"))) == 11


def test_every_tutorial_is_listed() -> None:
    index = (TUTORIALS / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(([\w-]+)\.md\)", index)) == set(NAMES)


def means(shown: tuple[str, ...]) -> dict[str, float]:
    """Mean responses in nanoseconds by translation layer, of a table that is shown."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown]
    times = next((row[1:] for row in rows if row[0] == "mean"), [])
    names = next((row for row in rows if "page" in row), [])
    scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
    values = [float(number) * scale[unit] for number, unit in (text.split() for text in times)]
    return dict(zip(names, values, strict=False))


def test_tutorials_agree_on_the_order_of_ftls_in_use() -> None:
    """On one trace and a device in a steady state; a new or filled one may answer otherwise."""
    tables = [
        means(step.shown)
        for name in NAMES
        for step in steps((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
        if "steady" in step.text and step.kind == "sh"
    ]
    tables = [table for table in tables if len(table) > 1]
    assert len(tables) == 3
    for table in tables:
        assert min(table, key=lambda name: table[name]) == "page", table


def test_the_demo_names_lives_and_warns_of_nothing() -> None:
    verdict = fk.run_study(TUTORIALS.parents[1] / "examples" / "demo.toml").verdict
    assert verdict.cautions == []
    assert "Under page the device lives longest" in " ".join(dict(verdict.brief[0])["Life"])


def test_a_line_that_is_not_printed_is_missed() -> None:
    assert missing(("a", ANY, "c"), ["a", "b", "c"]) is None
    assert missing(("took … s",), ["took 3 s"]) is None
    assert missing(("c", "a"), ["a", "b", "c"]) == "a"
    assert missing(("took … s",), ["took 3 ms"]) == "took … s"
