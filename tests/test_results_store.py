"""Stores of results: listed, shown, exported, and compared with the noise of their seeds."""

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import conftest
import ftlkit as fk
from conftest import Call
from ftlkit._util import units
from ftlkit.cli import app
from ftlkit.results import noise
from ftlkit.results import store as stores
from ftlkit.results.columns import COLUMNS
from ftlkit.results.store import Store
from ftlkit.sweeps import comparison
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps.comparison import BETTER, SAME, UNKNOWN, UNSEEN, WORSE
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.values import order

STUDY: dict[str, Any] = {
    "workload": {"preset": "fin1", "requests": 3_000, "addresses": "dense"},
    "run": {"precondition": "fill"},
    "ftl": [{"name": "page"}, {"name": "dftl"}],
}
VARY = {"dftl.cmt": ["16KiB", "256KiB"], "device.spare": [0.1, 1.5]}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with nine points that have results, and nine that were refused."""
    path = tmp_path_factory.mktemp("filled") / "s"
    runs.run(plans.from_study(STUDY | {"sweep": {"vary": VARY, "seeds": 3}}), Store(path, create=True), Local())
    return path


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (30, 2.04227), (99, 1.98422)],
)
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert noise.student_t(freedom) == pytest.approx(t, rel=5e-6)


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    chance = random.Random(1)  # noqa: S311 - a test's numbers
    intervals = [noise.estimate([chance.gauss(10, 3) for _ in range(5)]) for _ in range(4_000)]
    held = sum(interval.low <= 10 <= interval.high for interval in intervals) / len(intervals)
    assert held == pytest.approx(noise.LEVEL, abs=4 * (0.95 * 0.05 / 4_000) ** 0.5)


@pytest.mark.parametrize(
    ("name", "values", "verdict"),
    [
        ("response_mean_ns", [(100, 80), (110, 90), (90, 71)], BETTER),
        ("response_mean_ns", [(100, 120), (110, 132), (90, 108.1)], WORSE),
        ("iops", [(100, 120), (110, 132), (90, 108.1)], BETTER),
        ("response_mean_ns", [(100, 80), (110, 130), (90, 95)], UNSEEN),
        ("response_mean_ns", [(100, 100), (110, 110)], SAME),
        ("response_mean_ns", [(100, 80)], UNKNOWN),
        ("response_mean_ns", [(100_000, 99_910)], SAME),
        ("response_mean_ns", [(100_000, 100_090), (110_000, 110_099)], SAME),
        ("response_mean_ns", [(100_000, 99_890)], UNKNOWN),
        ("response_mean_ns", [(100_000, 100_200), (110_000, 110_220)], WORSE),
        ("merges_full", [(0, 10), (0, 11), (0, 9)], WORSE),
        ("merges_full", [(0, 10), (3, 0), (0, 1)], UNSEEN),
    ],
)
def test_a_change_is_judged_by_its_interval(name: str, values: list[tuple[float, float]], verdict: str) -> None:
    assert comparison.change(COLUMNS[name], values).verdict == verdict


def test_a_seed_that_moves_both_sides_falls_out() -> None:
    """Seeds differ by a factor of eight, the sides by a twentieth with each of them."""
    values = [(float(base), base * factor) for base, factor in ((100, 1.05), (800, 1.051), (300, 1.049), (200, 1.05))]
    change = comparison.change(COLUMNS["response_mean_ns"], values)
    assert change.verdict == WORSE
    assert units.typed(change.text) == "+5.00 % (+4.87 % to +5.13 %), worse"


def test_values_are_in_order_of_their_size() -> None:
    values = ["1MiB", "16KiB", "fifo", "2", "0.5", "256KiB", "10"]
    assert sorted(values, key=order) == ["0.5", "2", "10", "16KiB", "256KiB", "1MiB", "fifo"]


def test_points_are_paired_by_what_is_not_fixed(filled: Path) -> None:
    pairs = comparison.compare(comparison.select("page", filled), comparison.select("dftl", filled))
    assert [pair.names for pair in pairs] == ["page → dftl, dftl.cmt 16KiB", "page → dftl, dftl.cmt 256KiB"]
    assert {pair.place for pair in pairs} == {"client-tlc, fin1, device.spare 0.1"}
    changes = {change.metric.name: change for change in pairs[0].changes}
    assert changes["response_mean_ns"].verdict == WORSE
    assert changes["ram_bytes"].verdict == BETTER
    assert changes["response_mean_ns"].ratio is not None
    assert changes["response_mean_ns"].ratio.seeds == 3
    pairs = comparison.compare(
        comparison.select("dftl,dftl.cmt=16KiB", filled), comparison.select("dftl.cmt=256KiB", filled)
    )
    assert [pair.names for pair in pairs] == ["dftl, dftl.cmt 16KiB → dftl, dftl.cmt 256KiB"]


def test_two_stores_are_compared_point_by_point(filled: Path, tmp_path: Path) -> None:
    study = STUDY | {"run": {"precondition": "steady"}, "sweep": {"vary": {"device.spare": [0.1]}, "seeds": 2}}
    other = Store(tmp_path / "other", create=True)
    runs.run(plans.from_study(study | {"ftl": [{"name": "page"}]}), other, Local())
    pairs = comparison.compare(comparison.select(str(filled), filled), comparison.select(str(other.path), filled))
    assert [(pair.place, pair.names) for pair in pairs] == [("client-tlc, fin1, page, device.spare 0.1", "")]
    assert {change.verdict for change in pairs[0].changes} <= {BETTER, WORSE, SAME, UNSEEN}
    assert pairs[0].apart == "run.precondition (fill and steady)"


SMALL = ("--requests", 500, "--addresses", "dense")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (["--set", "device.spare=0.1"], ["--set", "device.spare=0.4"], ["device.spare (0.1 and 0.4)"]),
        ([], ["--requests", "700"], ["workload.requests (500 and 700)"]),
        (["--queue-depth", "2", "--loop", "closed"], [], ["host.queue_depth (2 and none)"]),
    ],
)
def test_a_pair_that_differs_in_what_nobody_fixed_is_refused(
    first: list[str], second: list[str], words: list[str], call: Call
) -> None:
    call("sweep", "fin1", "--ftl", "page", *SMALL, *first)
    call("sweep", "fin1", "--ftl", "dftl", *SMALL, *second)
    result = call("results", "compare", "page", "dftl", exits=2)
    for word in [*words, "do not fix", "stores of their own"]:
        assert word in result.stderr


def test_what_differs_may_be_fixed_on_each_side(call: Call) -> None:
    for ftl, spare in (("page", 0.1), ("dftl", 0.4)):
        call("sweep", "fin1", "--ftl", ftl, *SMALL, "--set", f"device.spare={spare}")
    result = call("results", "compare", "page,device.spare=0.1", "dftl,device.spare=0.4")
    assert "page, device.spare 0.1 → dftl, device.spare 0.4" in result.stdout


def test_a_value_that_is_missing_may_be_fixed(call: Call) -> None:
    call("sweep", "fin1", "--ftl", "page", *SMALL)
    call("sweep", "fin1", "--ftl", "page", *SMALL, "--loop", "closed", "--queue-depth", "2")
    sides = ("host.loop=open,host.queue_depth=none", "host.loop=closed,host.queue_depth=2")
    call("results", "compare", *sides)
    result = call("results", "compare", sides[0].replace("queue_depth", "queue_dept"), sides[1], exits=2)
    assert "host.queue_dept is no key" in " ".join(result.stderr.split())


def test_seeds_of_different_requests_are_not_mixed(call: Call) -> None:
    for seed, requests in ((1, 500), (2, 600)):
        call("sweep", "fin1", "--ftl", "page,dftl", "--addresses", "dense", "--requests", requests, "--seed", seed)
    result = call("results", "compare", "page", "dftl", exits=2)
    assert "seeds of each other, and differ in workload.requests (500 and 600)" in result.stderr


def test_traces_of_one_name_are_told_apart(call: Call, tmp_path: Path) -> None:
    for folder, lines, ftl in (("a", 200, "page"), ("b", 201, "dftl")):
        (tmp_path / folder).mkdir()
        trace = conftest.write_msr(tmp_path / folder / "t.csv", lines)
        call("sweep", trace, "--ftl", ftl, "--requests", 200)
    result = call("results", "compare", "page", "dftl", exits=2)
    assert "the bytes of workload.trace" in result.stderr


def test_traces_that_were_varied_are_chosen_by_their_paths(call: Call, tmp_path: Path) -> None:
    paths = [conftest.write_msr(tmp_path / f"{lines}.csv", lines) for lines in (200, 210)]
    vary = ("--vary", f"workload.trace={paths[0]},{paths[1]}")
    call("sweep", paths[0], "--ftl", "page,dftl", *vary)
    result = call("results", "compare", *(f"workload.trace={path}" for path in paths))
    assert "2 pairs of points" in result.stderr
    call("results", "compare", "page", "dftl")


def test_two_engines_are_not_set_against_each_other_unasked(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", create=True)
    runs.run(plans.from_study(STUDY), store, Local())
    row = next(row for row in store.rows() if row["label"] == "dftl")
    store.add(row | {"engine": "9.9.9+feed"})
    sides = comparison.select("page", store.path), comparison.select("dftl", store.path)
    with pytest.raises(fk.UserError, match=r"two engines, .*9\.9\.9\+feed"):
        comparison.compare(*sides)


def test_a_point_is_found_by_what_it_is_whoever_ran_it(call: Call) -> None:
    """The first sweep has `dftl:cmt=16KiB`; the second finds it while varying `dftl.cmt`."""
    call("sweep", "fin1", "--ftl", "dftl:cmt=16KiB", *SMALL)
    assert "1 were in" in call("sweep", "fin1", "--ftl", "dftl", "--vary", "dftl.cmt=16KiB,64KiB", *SMALL).stderr
    for before in ("dftl.cmt=16KiB", "dftl.cmt=16384B", "dftl:cmt=16KiB"):
        result = call("results", "compare", before, "dftl.cmt=64KiB")
        assert "64KiB" in result.stdout


def test_what_was_paired_and_left_out_is_said(filled: Path, call: Call) -> None:
    result = call("results", "compare", "page,seed=1", "dftl", "--store", filled)
    assert "2 pairs of points, 1 seed in each" in result.stderr
    assert "skipped, with no matching point on the other side: 4 of dftl" in result.stderr


def test_points_that_differ_unseen_are_not_mixed(tmp_path: Path, call: Call) -> None:
    for requests in (500, 600):
        call("sweep", "fin1", "--ftl", "page,dftl", "--requests", requests, "--addresses", "dense")
    result = call("results", "compare", "page", "dftl", exits=2)
    assert "workload.requests" in result.stderr
    assert (tmp_path / stores.DEFAULT).is_dir()


def test_points_of_two_engines_are_not_mixed(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", create=True)
    runs.run(plans.from_study(STUDY | {"ftl": [{"name": "page"}]}), store, Local())
    row = store.rows()[0]
    store.add(row | {"key": "0" * 32, "engine": "9.9.9+feed"})
    both = comparison.select("page", store.path)
    with pytest.raises(fk.UserError, match=r"engine=9\.9\.9\+feed"):
        comparison.compare(both, both)
    pairs = comparison.compare(
        comparison.select("page,engine=9.9", store.path), comparison.select(f"engine={row['engine']}", store.path)
    )
    assert {change.verdict for change in pairs[0].changes} == {SAME}


def test_a_store_is_listed(filled: Path, call: Call) -> None:
    result = call("results", "list", "--store", filled)
    assert result.stdout.count("done") == result.stdout.count("refused") == 9
    assert "18 points" in result.stderr


def test_a_store_is_listed_in_part(filled: Path, call: Call) -> None:
    rows = list(Store(filled).rows())
    labels = sorted({row["label"] for row in rows})
    mine = call("results", "list", "--store", filled, "--ftl", labels[0])
    many = sum(row["label"] == labels[0] for row in rows)
    assert 0 < many < len(rows)
    assert f"{many} of {len(rows)} points" in mine.stderr
    assert not any(label in mine.stdout for label in labels[1:])
    done = call("results", "list", "--store", filled, "--state", "done", "--device", rows[0]["device"])
    assert "9 of 18 points" in done.stderr
    assert "refused" not in done.stdout
    same = call("results", "list", "--store", filled, "--workload", f"somewhere/{rows[0]['workload']}")
    assert "18 of 18 points" in same.stderr
    none = call("results", "list", "--store", filled, "--ftl", "nosuch", exits=2)
    assert "--ftl nosuch: none of the 18 points" in " ".join(none.stderr.split())
    assert "no state of a point" in " ".join(
        call("results", "list", "--store", filled, "--state", "good", exits=2).stderr.split()
    )


@pytest.mark.parametrize("width", ["40", "200"])
def test_keys_are_listed_however_narrow_the_terminal_is(width: str, filled: Path) -> None:
    result = CliRunner().invoke(app, ["results", "list", "--store", str(filled)], env={"COLUMNS": width})
    assert {row["key"][:8] for row in Store(filled).rows()} <= set(result.stdout.split())
    assert max(len(line) for line in result.stdout.splitlines()) <= int(width)


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_points_are_listed_in_a_line_each(width: str, filled: Path) -> None:
    result = CliRunner().invoke(app, ["results", "list", "--store", str(filled)], env={"COLUMNS": width})
    head, *points = result.stdout.splitlines()
    assert len(points) == 18
    assert ("Not shown: " in result.stderr) == ("seed" not in head)


def test_a_damaged_store_is_listed_with_all_that_is_damaged(call: Call, tmp_path: Path) -> None:
    assert "1 point: 0 were in" in call("sweep", "fin1", "--ftl", "page", *SMALL).stderr
    points = tmp_path / stores.DEFAULT / "points"
    (points / "x.parquet").write_bytes(b"PAR1")
    os.mkfifo(points / "y.parquet")
    result = call("results", "list", exits=2)
    assert "done" in result.stdout
    assert "1 point in" in result.stderr
    text = " ".join(result.stderr.split())
    assert "x.parquet is no point of a store" in text
    assert "So are 1 more: y.parquet." in text
    with pytest.raises(fk.UserError, match="it is no file"):
        Store(points.parent).rows(["y"])


def test_a_point_is_shown_whole(filled: Path, call: Call, tmp_path: Path) -> None:
    row = next(row for row in Store(filled).rows() if row["state"] == "done")
    result = call("results", "show", row["key"][:12], "--store", filled, "--report", "r.html")
    assert "Response times" in result.stdout
    assert (tmp_path / "r.html").stat().st_size > 100_000
    failed = next(row for row in Store(filled).rows() if row["state"] != "done")
    assert "device.spare = 1.5" in call("results", "show", failed["key"], "--store", filled).stdout


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_store_is_exported(suffix: str, filled: Path, call: Call, tmp_path: Path) -> None:
    call("results", "export", f"out.{suffix}", "--store", filled)
    frame = (pl.read_csv if suffix == "csv" else pl.read_parquet)(tmp_path / f"out.{suffix}")
    assert len(frame) == 18
    assert set(frame["dftl.cmt"].drop_nulls()) == {"16KiB", "256KiB"}
    assert frame["response_mean_ns"].null_count() == frame.filter(pl.col("state") == "refused").height == 9


def test_any_reader_of_parquet_can_query(filled: Path) -> None:
    points = pl.scan_parquet(filled / "points" / "*.parquet").filter(pl.col("state") == "done").collect()
    assert points.schema == pl.DataFrame(schema=stores.kinds()).schema
    assert points["write_amplification"].min() >= 1  # type: ignore[operator] # of a column of numbers


def test_a_point_of_an_older_ftlkit_is_read(filled: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "s", create=True)
    frame = Store(filled).frame().head(1).drop("life_years", strict=False).with_columns(pl.lit(1).alias("gone"))
    frame.drop("ram_bytes").write_parquet(store.path / "points" / "old.parquet")
    row = store.rows()[0]
    assert row["ram_bytes"] is None
    assert "gone" not in row


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--store", "none"], ["none is no store", "no such folder"]),
        (["list", "--store", "plain"], ["plain is no store", "ftlkit-store.json"]),
        (["list", "--store", "later"], ["another ftlkit"]),
        (["list", "--store", "broken"], ["broken"]),
        (["list", "--store", "torn"], ["x.parquet", "no point", "Remove it"]),
        (["show", "abc", "--store", "empty"], ["0 points", "abc"]),
        (["compare", "page", "dftl", "--store", "empty"], ["no point", "none"]),
        (["compare", "page", "./plain", "--store", "empty"], ["no point"]),
        (["export", "x.txt", "--store", "empty"], [".csv or .parquet"]),
        (["export", "no/x.csv", "--store", "empty"], ["does not exist"]),
    ],
)
def test_bad_stores_are_answered(arguments: list[str], words: list[str], call: Call, tmp_path: Path) -> None:
    for name, mark in (("plain", None), ("later", '{"ftlkit_store": 9}'), ("broken", "{")):
        (tmp_path / name).mkdir()
        if mark is not None:
            (tmp_path / name / "ftlkit-store.json").write_text(mark)
    Store(tmp_path / "empty", create=True)
    (Store(tmp_path / "torn", create=True).path / "points" / "x.parquet").write_bytes(b"PAR1")
    result = call("results", *arguments, exits=2)
    for word in words:
        assert word in " ".join(result.stderr.split())


def same(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What is the same of points whenever they are run."""
    return [(row["key"], row["state"], json.loads(row["document"])["runs"][0]["event_hash"]) for row in rows]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"key": None}, "it has no key"),
        ({"seed": None}, "it has no seed"),
        ({"state": None}, "it has no state"),
        ({"state": "fine"}, "its state is fine"),
        ({"document": None}, "has no results"),
        ({"write_amplification": math.nan}, "its write_amplification is no number"),
        ({"document": "{"}, "cannot be read"),
        ({"study": "{}"}, "cannot be read"),
    ],
)
def test_a_damaged_point_is_named_and_run_again(
    changed: dict[str, object], word: str, call: Call, tmp_path: Path
) -> None:
    sweep = ("sweep", "fin1", "--ftl", "page", *SMALL)
    call(*sweep)
    store = Store(tmp_path / stores.DEFAULT)
    row = store.rows()[0]
    frame = pl.DataFrame([row | changed], schema=stores.kinds())
    frame.write_parquet(store.path / "points" / f"{row['key']}.parquet")
    arguments = ("show", row["key"]) if "document" in changed else ("compare", "page", "page")
    result = call("results", *arguments, exits=2)
    assert word in result.stderr
    assert "Remove it" in result.stderr
    if "study" not in changed:
        again = call(*sweep)
        assert f"were damaged: {row['key']}" in again.stderr
        assert same(store.rows()) == same([row])


def test_a_torn_point_does_not_stop_the_sweep_that_needs_it(call: Call, tmp_path: Path) -> None:
    sweep = ("sweep", "fin1", "--ftl", "page,dftl", *SMALL)
    call(*sweep)
    store = Store(tmp_path / stores.DEFAULT)
    rows = store.rows()
    torn = store.path / "points" / f"{rows[0]['key']}.parquet"
    torn.write_bytes(torn.read_bytes()[:-100])
    result = call(*sweep)
    assert f"run again, since their files in ftlkit-results were damaged: {rows[0]['key']}" in result.stderr
    assert "2 points: 1 were in" in result.stderr
    assert same(store.rows()) == same(rows)


@pytest.mark.parametrize("lost", ["begun", "points"])
def test_a_store_without_one_of_its_folders_is_used(lost: str, call: Call, tmp_path: Path) -> None:
    store = Store(tmp_path / stores.DEFAULT, create=True)
    (store.path / lost).rmdir()
    call("results", "list")
    call("sweep", "fin1", "--ftl", "page", *SMALL)
    assert len(store.rows()) == 1


def test_what_killed_writers_began_is_removed_and_no_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "s", create=True)
    (store.path / "begun" / "folder").mkdir()
    for path in (store.path / "begun" / "old", store.path / "begun" / "new"):
        path.touch()
    for name in ("old", "folder"):
        os.utime(store.path / "begun" / name, (0, 0))
    store.tidy()
    assert sorted(path.name for path in (store.path / "begun").iterdir()) == ["folder", "new"]


def test_no_output_overwrites_what_was_read(call: Call, tmp_path: Path, msr: Path) -> None:
    """The study, a trace that is varied, and the files of a store."""
    (tmp_path / "st.toml").write_text(
        "[workload]\npreset = 'fin1'\nrequests = 500\naddresses = 'dense'\n[[ftl]]\nname = 'page'\n"
    )
    other = conftest.write_msr(tmp_path / "v2.csv", 150)
    call("sweep", "st.toml")
    point = next((tmp_path / stores.DEFAULT / "points").iterdir())
    vary = ("--vary", f"workload.trace={msr},{other}")
    attempts = {
        tmp_path / "st.toml": ("sweep", "st.toml", "--report", "st.toml"),
        other: ("sweep", msr, "--ftl", "page", *vary, "--report", "v2.csv"),
        point: ("results", "export", point),
        tmp_path / stores.DEFAULT / "ftlkit-store.json": (
            "sweep",
            "st.toml",
            "--report",
            "ftlkit-results/ftlkit-store.json",
        ),
    }
    more = [("results", "show", point.stem, "--report", point), ("curve", "spare", "fin1", "--report", point)]
    before = {path: path.read_bytes() for path in attempts}
    for arguments in (*attempts.values(), *more):
        result = call(*arguments, exits=2)
        assert "an output would overwrite it" in result.stderr
    assert before == {path: path.read_bytes() for path in attempts}
    beside = point.with_name("new.csv")
    call("results", "export", beside, exits=2)
    call("sweep", "st.toml", "--store", "fresh", "--report", "fresh", exits=2)
    assert not (tmp_path / "fresh").exists()


def test_seeds_that_are_not_shared_are_named(filled: Path) -> None:
    sides = comparison.select("seed=1", filled), comparison.select("seed=2", filled)
    with pytest.raises(fk.UserError, match=r"paired by seed, and seed=1 and seed=2 have none in common \(1 and 2\)"):
        comparison.compare(*sides)


def test_a_key_that_is_near_is_offered(filled: Path) -> None:
    with pytest.raises(fk.UserError, match=r"dftl\.cmtt is no key .* Did you mean dftl\.cmt\?"):
        comparison.select("dftl.cmtt=16KiB", filled)


def test_a_name_that_is_near_is_offered(filled: Path) -> None:
    with pytest.raises(fk.UserError, match=r"Did you mean dftl\? Its layers are dftl, page"):
        comparison.select("dftll", filled)
