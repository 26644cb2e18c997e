"""Help and catalogues: they name what an option takes and where a scheme comes from."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import ftlkit as fk
from conftest import Call
from ftlkit.api.catalogue import TITLES
from ftlkit.cli import COMMANDS as PLACES
from ftlkit.cli import app
from ftlkit.cli.shell import Later
from ftlkit.study import FORMATS


def commands(command: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - click's own
    """The names of all commands, with those of their groups."""
    yield names
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from commands(subcommand.loaded() if isinstance(subcommand, Later) else subcommand, (*names, name))


COMMANDS = list(commands(get_command(app)))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_is_whole_on_narrow_terminals_and_names_no_types(
    names: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = call(*names, "--help").stdout
        assert max(map(len, text.splitlines())) <= columns
        assert "…" not in text
        assert not re.findall("<[a-z]", text), "what is meant stands there"


def test_the_formats_in_help_are_those_of_errors(msr: Path) -> None:
    with pytest.raises(fk.UserError) as caught:
        fk.trace_info(msr, format="tape")
    known = re.findall(r"choose from ([^.]*)\.", str(caught.value))[0]
    assert set(known.split(", ")) - {"generated", "columns"} == set(FORMATS)


def test_every_format_has_a_row_in_the_docs() -> None:
    page = Path(__file__).parents[1] / "docs" / "trace-formats.md"
    rows = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]
    assert set(FORMATS) <= set(re.findall(r"`([a-z0-9-]+)`", " ".join(rows)))


@pytest.mark.parametrize("name", PLACES)
def test_help_shows_a_commands_own_first_line(name: str) -> None:
    later = get_command(app).commands[name]  # type: ignore[attr-defined] # a group
    assert later.help == later.loaded().help.splitlines()[0]


SLOW = ("polars", "altair", "optuna", "jinja2")
"""What takes longer to import than help and the version take to print."""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], []], ids=" ".join)
def test_starting_imports_no_library_that_is_slow(arguments: list[str]) -> None:
    loaded = loaded_by(arguments)
    assert "ftlkit.cli" in loaded
    assert not {*SLOW, "rich.markdown", "rich.traceback"} & loaded


@pytest.mark.parametrize("name", ["compare", "advise"])
def test_help_of_a_command_makes_no_frames(name: str) -> None:
    assert not {"polars.dataframe", "altair", "optuna", "jinja2", "pydantic"} & loaded_by([name, "--help"])


def loaded_by(arguments: list[str]) -> set[str]:
    """The modules that a command has loaded when it ends."""
    ends = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))"
    command = f"{ends}\nsys.argv[1:] = {arguments}\nimport ftlkit.entry\nftlkit.entry.main()"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=False)
    return set(done.stderr.split())


def test_importing_the_package_imports_no_slow_library() -> None:
    command = "import sys, ftlkit; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert not set(SLOW) & set(done.stdout.split())


def test_completion_can_be_installed_and_knows_names(call: Call) -> None:
    assert "--install-completion" in call("--help").stdout
    command = Path(sys.executable).with_name("ftlkit")
    line = "ftlkit compare fin1 --ftl page,df"
    variables = {"_FTLKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"}
    done = subprocess.run([command], env=os.environ | variables, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["page,dftl"]


def test_schemes_are_listed_with_family_and_idea(call: Call) -> None:
    listed = {line.split()[0]: line for line in call("schemes").stdout.splitlines() if line.strip()}
    for scheme in fk.schemes():
        assert scheme["family"] in listed[scheme["name"]]
        assert scheme["idea"] in listed[scheme["name"]]


@pytest.mark.parametrize("word", ["separation", "hot", "cold", "streams", "FDP", "temperature"])
def test_words_for_separation_list_what_keeps_data_apart(call: Call, word: str) -> None:
    listed = call("schemes", word).stdout
    names = {line.split()[0] for line in listed.splitlines() if line[:1].strip()}
    assert {"page:streams", "page:hint_collection", "dftl:streams", "last", "rejuvenator"} <= names
    assert not {"page", "dftl", "fast:sequential"} & names
    assert "--ftl page:streams=hints" in listed


def test_words_of_schemes_are_whole_and_names_come_first(call: Call) -> None:
    assert "also dftl:gc," in call("schemes", "gc").stdout
    assert "Did you mean page?" in call("schemes", "pag", exits=2).stderr
    assert call("schemes", "saw").stdout.startswith("saw\n")


def test_sources_are_spelled_out(call: Call) -> None:
    letter = re.compile(r"(?<![\w-])[ABRTW](?:'s\b| (?:[IVX]+\b|[1-9]\.|tab|fig|eq|alg|says|gives|tells))")
    for scheme in fk.schemes():
        assert scheme["idea"]
        assert scheme["sources"], scheme["name"]
        for source in (scheme["source"], *(parameter["source"] for parameter in scheme["parameters"])):
            assert source != "ftlkit"
            assert not letter.search(source), source
        assert not letter.search(scheme["story"]), letter.findall(scheme["story"])
    for preset in fk.devices():
        assert not letter.search(preset["source"]), preset["source"]
    shown = " ".join(call("schemes", "dftl").stdout.split())
    for title in (
        "DFTL: a flash translation layer employing demand-based selective caching",
        "RFTL: improving performance",
    ):
        assert title in shown


def test_every_name_and_year_that_a_scheme_cites_has_its_title() -> None:
    for scheme in fk.schemes():
        text = "\n".join(
            [scheme["story"], scheme["source"], *(parameter["source"] for parameter in scheme["parameters"])]
        )
        for name in re.findall(r"\b(?:Van )?[A-Z][a-z]+ (?:19|20)[0-9]{2}b?\b", text):
            assert name in TITLES, f"{scheme['name']} cites {name}"


@pytest.mark.parametrize("spare", ["7%", "7.5 %", "28%"])
def test_a_percentage_is_its_share_in_tables_and_settings(spare: str, call: Call, tmp_path: Path) -> None:
    def event_hash(given: object) -> str:
        results = fk.compare("fin1", "page", device={"spare": given}, requests=200, addresses="dense")
        return str(results.runs["event_hash"][0])

    expected = event_hash(float(f"{spare.rstrip(' %')}e-2"))
    assert event_hash(spare) == expected
    options = ("--requests", 200, "--addresses", "dense", "--ftl", "page", "--json", tmp_path / "r.json")
    call("compare", "fin1", "--set", f"device.spare={spare}", *options)
    assert json.loads((tmp_path / "r.json").read_text())["runs"][0]["event_hash"] == expected


def test_sizes_have_one_kind_of_unit(call: Call, msr: Path) -> None:
    for shown in (call("trace", "info", msr).stdout, call("compare", msr, "--ftl", "page").stdout):
        assert "KiB" in shown
        assert not re.findall(r"[0-9] [kKMG]B\b(?! per day| under)", shown)


@pytest.mark.parametrize("kind", ["devices", "workloads"])
def test_presets_are_shown_whole_on_sixty_columns(kind: str, call: Call, monkeypatch: Any) -> None:  # noqa: ANN401
    monkeypatch.setenv("COLUMNS", "60")
    for preset in fk.devices() if kind == "devices" else fk.workloads():
        text = call(kind, preset["name"]).stdout
        assert max(len(line) for line in text.splitlines()) <= 60
        assert "…" not in text
        assert not re.findall(r"[0-9]ns\b|True|False|\{", text), "values have a unit, and are written as in TOML"
