"""Outputs: no input is overwritten, and only regular files are replaced, as a whole."""

import json
import os
import stat
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._util.outputs import replacing

STUDY = '[workload]\ntrace = "small.csv"\n[device]\ncapacity = "auto"\n[[ftl]]\nname = "page"\n'
ONE = ("--ftl", "page", "--requests", "100")


@pytest.fixture
def links(msr: Path, tmp_path: Path) -> dict[str, Path]:
    """The trace by its own name, a symbolic link, a link to that, a hard link, its folder."""
    for name, target in (("soft.csv", msr), ("softer.csv", "soft.csv")):
        (tmp_path / name).symlink_to(target)
    os.link(msr, tmp_path / "hard.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    names = ("soft.csv", "softer.csv", "hard.csv")
    return {"own": msr, **{name: tmp_path / name for name in names}, "around": folder / ".." / msr.name}


@pytest.mark.parametrize("name", ["own", "soft.csv", "softer.csv", "hard.csv", "around"])
@pytest.mark.parametrize("option", ["--csv", "--series", "--report", "--timeline"])
def test_an_output_never_overwrites_the_trace(
    name: str, option: str, call: Call, links: dict[str, Path], msr: Path
) -> None:
    before = msr.read_bytes()
    result = call("compare", msr, *ONE, option, links[name], exits=2)
    assert "is read here" in result.stderr
    assert msr.read_bytes() == before
    assert links["soft.csv"].is_symlink()


def test_nor_the_study_nor_its_trace(call: Call, msr: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(STUDY)
    for target in ("s.toml", msr.name):
        assert "is read here" in call("run", "s.toml", "--report", target, exits=2).stderr
    assert (tmp_path / "s.toml").read_text() == STUDY
    assert msr.read_text().startswith("128166372")


def test_nor_saved_results(call: Call, results: fk.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "r.json")
    before = (tmp_path / "r.json").read_bytes()
    call("report", "r.json", "-o", "r.json", exits=2)
    (tmp_path / "again.html").symlink_to("r.json")
    call("report", "r.json", "-o", "again.html", exits=2)
    with pytest.raises(fk.UserError, match="is read here"):
        fk.load(tmp_path / "r.json").report(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_bytes() == before


def test_nor_in_python_the_trace_that_results_come_from(msr: Path) -> None:
    before = msr.read_bytes()
    results = fk.run(workload=msr, requests=50)
    with pytest.raises(fk.UserError, match="is read here"):
        results.save(msr)
    with pytest.raises(fk.UserError, match="is read here"):
        fk.trace_convert(msr, msr)
    assert msr.read_bytes() == before


@pytest.mark.parametrize("command", ["convert", "generate"])
def test_traces_are_written_whole_and_never_onto_their_source(
    command: str, call: Call, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "l.parquet").symlink_to(msr)
    source = msr if command == "convert" else "fin1"
    arguments = ["trace", command, source, "l.parquet", *(["--requests", 9] if command == "generate" else [])]
    before = msr.read_bytes()
    call(*arguments, exits=2 if command == "convert" else 0)
    if command == "convert":
        assert msr.read_bytes() == before
    else:
        # A link to a regular file: what it leads to is replaced, the link stays.
        assert (tmp_path / "l.parquet").is_symlink()
        assert pl.read_parquet(msr).height == 9


@pytest.mark.parametrize(
    ("name", "words"), [("full", "device"), ("pipe", "pipe"), ("folder", "folder"), ("link", "device")]
)
@pytest.mark.parametrize("option", ["--report", "--timeline"])
def test_only_regular_files_are_replaced(name: str, words: str, option: str, call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/full")
    target = "/dev/full" if name == "full" else str(tmp_path / name)
    before = os.lstat(target)
    result = call("compare", "fin1", *ONE, option, target, exits=2)
    assert words in result.stderr
    after = os.lstat(target)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_nor_in_python(results: fk.Results, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for write in (results.report, results.save):
        with pytest.raises(fk.UserError, match="pipe"):
            write(tmp_path / "pipe.csv")
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


def test_links_that_lead_nowhere_or_round_are_no_crash(results: fk.Results, tmp_path: Path) -> None:
    (tmp_path / "new.csv").symlink_to("made.csv")
    results.save(tmp_path / "new.csv")
    assert (tmp_path / "made.csv").is_file()
    (tmp_path / "round.csv").symlink_to("round.csv")
    with pytest.raises(fk.UserError, match=r"round\.csv"):
        results.save(tmp_path / "round.csv")


def test_two_names_of_one_file_are_one_output(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    os.link(tmp_path / "a.csv", tmp_path / "b.csv")
    assert "two outputs" in call("compare", "fin1", *ONE, "--csv", "a.csv", "--series", "b.csv", exits=2).stderr
    assert (tmp_path / "a.csv").read_text() == "old"


def test_a_failed_write_leaves_the_old_file_and_its_permissions_stay(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    target.write_text("old")
    target.chmod(0o600)

    def fail() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert target.read_text() == "old"
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o600)


def test_a_dash_is_standard_output_and_what_is_shown_goes_elsewhere(call: Call) -> None:
    whole = call("compare", "fin1", *ONE, "--json", "-")
    assert json.loads(whole.stdout)["runs"][0]["label"] == "page"
    assert "page answers" in whole.stderr
    rows = call("compare", "fin1", *ONE, "--csv", "-")
    assert pl.read_csv(StringIO(rows.stdout))["label"].to_list() == ["page"]
    points = call("compare", "fin1", *ONE, "--series", "-")
    assert pl.read_csv(StringIO(points.stdout))["request"].max() == 100


@pytest.mark.parametrize("options", [("--json", "-", "--csv", "-"), ("--parquet", "-"), ("--report", "-")])
def test_a_dash_that_cannot_be_is_refused(options: tuple[str, ...], call: Call, tmp_path: Path) -> None:
    assert call("compare", "fin1", *ONE, *options, exits=2).stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_time_series_are_saved(call: Call, tmp_path: Path) -> None:
    call("compare", "fin1", *ONE, "--samples", 10, "--series", "s.parquet")
    assert pl.read_parquet(tmp_path / "s.parquet")["request"].to_list() == [10 * (i + 1) for i in range(10)]
