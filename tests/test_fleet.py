"""Fleets: traces split by volume, each volume with every stack, and one answer for all."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ftlkit as fk
from conftest import Call, Start, write_msr
from ftlkit._native import UserError
from ftlkit.api.fleet import Fleet, planned
from ftlkit.fleets import drives, generator
from ftlkit.fleets.run import volumes
from ftlkit.fleets.split import MANIFEST, manifest, split, volume_trace
from ftlkit.results.store import Store
from ftlkit.sweeps import key
from own_ftls import EXAMPLE
from test_fleet_answers import answers

HEADER = "time_ns,op,offset,length,stream,device\n"
VOLUMES = 20
SPLIT = (
    "import sys; from pathlib import Path; from ftlkit.fleets.split import split; "
    "split([sys.argv[1]], Path(sys.argv[2]), {}"
)
"""A program that splits a trace into a folder; limits and a bracket are missing."""


def lines(volumes: int, requests: int) -> Iterator[str]:
    """Requests of volumes in our own format: overwrites of a footprint that grows by volume."""
    drawn = random.Random(1)  # noqa: S311 - a test's data
    yield HEADER
    for number in range(requests):
        volume = drawn.randrange(volumes)
        page = drawn.randrange(300 + 40 * volume)
        yield f"{1000 * number},{'read' if number % 4 == 0 else 'write'},{4096 * page},4096,0,v{volume}\n"


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of twenty volumes, compressed."""
    path = tmp_path_factory.mktemp("fleet") / "all.csv.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(lines(VOLUMES, 40_000))
    return path


@pytest.fixture(scope="session")
def folder(trace: Path) -> Path:
    """Its volumes."""
    fk.trace_split(trace, trace.parent / "volumes")
    return trace.parent / "volumes"


def hash_of(results: fk.Results) -> str:
    """What the flash did in a run."""
    return results.document["runs"][0]["event_hash"]


def files(folder: Path) -> dict[str, bytes]:
    """The files of all volumes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def test_a_split_has_all_requests_and_says_what_they_are(trace: Path, folder: Path) -> None:
    made = manifest(folder)
    whole = fk.trace_info(trace)["statistics"]
    assert made["requests"] == whole["total"]["requests"] == 40_000
    assert (made["format"], len(made["volumes"]), (folder / ".split").exists()) == ("csv", VOLUMES, False)
    of_trace = {device["device"]: device for device in whole["devices"]}
    for volume in made["volumes"]:
        for name in ("requests", "write_percent", "footprint", "overwrite_factor", "span_gb"):
            assert volume[name] == of_trace[volume["name"]][name], name
        assert volume["digest"] == key.digest(volume_trace(folder, volume))
    scanned = pl.scan_parquet(folder / "volumes", hive_partitioning=True)
    counted = dict(scanned.group_by("volume").len().collect().iter_rows())
    assert counted == {name: device["requests"] for name, device in of_trace.items()}


def test_a_volume_is_the_device_of_the_trace_to_the_event_hash(trace: Path, folder: Path) -> None:
    volume = manifest(folder)["volumes"][3]
    alone = fk.compare(volume_trace(folder, volume), "dftl")
    assert hash_of(alone) == hash_of(fk.compare(trace, "dftl", trace_device=volume["name"]))


def test_the_command_names_what_it_left_out_and_is_done_once(call: Call, tmp_path: Path) -> None:
    write_msr(tmp_path / "a.csv", 100, {7: "no request"})
    later = [
        line.replace("1281663720", "1281663730") for line in write_msr(tmp_path / "b.csv", 50).read_text().split("\n")
    ]
    (tmp_path / "b.csv").write_text("\n".join(later))
    (tmp_path / "c.csv").write_text("")
    done = call("trace", "split", "b.csv", "a.csv", "c.csv", "--out", "out", "--skip-bad")
    assert "a.csv: 99 requests, 1 malformed record left out" in done.output
    assert "c.csv: left out, since it has no request" in done.output
    assert "read 2 traces as msr: 149 requests" in done.output
    assert "wrote out: 1 volume" in done.output
    before = (tmp_path / "out" / MANIFEST).stat()
    call("trace", "split", "b.csv", "a.csv", "c.csv", "--out", "out", "--skip-bad")
    assert (tmp_path / "out" / MANIFEST).stat() == before
    refused = call("trace", "split", "a.csv", "--out", "out", "--skip-bad", exits=2)
    assert "of other traces" in refused.output
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    assert "no unfinished split" in call("trace", "split", "a.csv", "--out", "full", exits=2).output


def test_mixed_formats_are_refused(call: Call, msr: Path, trace: Path) -> None:
    refused = call("trace", "split", msr, trace, "--out", "out", exits=2)
    assert "small.csv is read as msr" in refused.output
    assert "as csv" in refused.output


def test_times_that_go_back_are_refused_or_sorted_as_asked(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEADER}9,write,0,4096,0,a\n5,write,4096,4096,0,b\n7,write,0,4096,0,a\n")
    refused = call("trace", "split", "a.csv", "--out", "out", exits=2)
    assert "line 4: time goes back" in refused.output
    sorted_ = call("trace", "split", "a.csv", "--out", "sorted", "--time-backwards", "sort:8")
    assert "put in order" in sorted_.output


def small_volumes(path: Path, names: list[str]) -> Path:
    """A trace of volumes with a few requests each, the first with one."""
    rows = [
        f"{1000 * turn + place},write,{4096 * (7 * turn + place)},4096,0,{name}\n"
        for turn in range(4)
        for place, name in enumerate(names)
        if place or not turn
    ]
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


def test_thousands_of_small_volumes_share_files(tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(5_000)]
    made = fk.trace_split(small_volumes(tmp_path / "a.csv", names), tmp_path / "out")
    assert ([volume["name"] for volume in made["volumes"]], made["requests"]) == (names, 19_997)
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 5, "1,024 volumes in each"
    fleet = volumes(tmp_path / "out")
    assert [volume.requests for volume in fleet] == [4] * 4_999 + [1]
    traces = [
        drives.consolidated(fleet[place : place + 100], 100, tmp_path / "out")[0].workload["trace"]
        for place in (0, 100)
    ]
    assert traces[0] != traces[1], "other volumes of the same file"
    for trace in traces:
        assert pl.read_parquet(trace).group_by("stream").len()["len"].to_list() == [4] * 100


def test_a_volume_of_a_shared_file_is_as_one_with_a_folder(tmp_path: Path) -> None:
    names = ["only", "stacked", "", ".", "..", "a/../b", "A", "a", "Größe 1", "x" * 255, "x" * 255 + "y", "name:a"]
    source = small_volumes(tmp_path / "a.csv", names)
    split([source], tmp_path / "apart", {})
    for place in (".split", "shared"):
        (tmp_path / "shared" / place).mkdir(parents=True)
        (tmp_path / "shared" / place / ".ftlkit-a.part").touch()
    split([source], tmp_path / "shared", {}, folders=3)
    assert len([path for path in (tmp_path / "shared").rglob("*") if path.is_file()]) == 2, "no rest of a killed one"
    assert {path.name for path in (tmp_path / "shared").iterdir()} == {MANIFEST, "shared"}
    assert {path.name for path in (tmp_path / "apart").iterdir()} == {MANIFEST, "volumes"}
    assert len(list((tmp_path / "apart" / "volumes").iterdir())) == len(names)
    apart, shared = (fk.fleet(tmp_path / place, "page", goal="p99") for place in ("apart", "shared"))
    assert {row["state"] for row in shared.rows} == {"done"}
    figures = [[(row["volume"], row["event_hash"], row["response_p99_ns"]) for row in f.rows] for f in (apart, shared)]
    assert sorted(figures[0]) == sorted(figures[1])
    assert {row["volume"] for row in shared.rows} == set(names)


def test_names_with_slashes_and_unicode_are_volumes(call: Call, tmp_path: Path) -> None:
    names = ["/dev/sda", "Größe 1", "../x", "a*b", "日本"]
    rows = [f"{number},write,{4096 * number},4096,0,{name}\n" for number, name in enumerate(names * 3)]
    (tmp_path / "a.csv").write_text(HEADER + "".join(rows))
    call("trace", "split", "a.csv", "--out", "out")
    assert [volume["name"] for volume in manifest(tmp_path / "out")["volumes"]] == names
    assert {path.name for path in (tmp_path / "out").iterdir()} == {MANIFEST, "volumes"}
    scanned = pl.scan_parquet(tmp_path / "out" / "volumes", hive_partitioning=True).select("volume").collect()
    assert set(scanned["volume"]) == set(names)
    done = fk.fleet(tmp_path / "out", "page")
    assert [row["volume"] for row in done.rows if row["state"] == "done"] == names


def test_a_killed_split_goes_on_and_writes_the_same(tmp_path: Path) -> None:
    source = tmp_path / "all.csv"
    with source.open("w") as file:
        file.writelines(lines(50, 400_000))
    split([source], tmp_path / "whole", {}, kept_bytes=300_000, part_requests=3_000)
    out, text = tmp_path / "out", f"{SPLIT}, kept_bytes=300_000, part_requests=3_000)"
    seen = []
    for waits_for in (".split/00001", ".split/00004", "volumes/volume=v7"):
        process = subprocess.Popen([sys.executable, "-c", text, source, out])
        wait(lambda path=out / waits_for: path.exists(), process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen.append({path.name: path.stat().st_mtime_ns for path in (out / ".split").glob("0*")})
    assert seen[0].items() <= seen[1].items() <= seen[2].items()
    done = {str(path): path.stat().st_mtime_ns for path in (out / "volumes").iterdir()}
    split([source], out, {}, kept_bytes=300_000, part_requests=3_000)
    assert {str(path): path.stat().st_mtime_ns for path in (out / "volumes").iterdir()}.items() >= done.items()
    assert files(out) == files(tmp_path / "whole")
    assert manifest(out)["volumes"] == manifest(tmp_path / "whole")["volumes"]


def wait(is_there: Any, process: subprocess.Popen[Any]) -> None:  # noqa: ANN401 - asked again and again
    """Wait until something is there, while the process runs."""
    until = time.monotonic() + 120
    while not is_there():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)


def test_an_unfinished_split_goes_on_with_the_same_traces_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    msr = write_msr(tmp_path / "a.csv", 10)

    error = "No space left on device (os error 28)"

    def failing(*_: object) -> str:
        (tmp_path / "out" / ".split" / "00000").touch()
        raise UserError(error)

    with monkeypatch.context() as patched:
        patched.setattr("ftlkit._native.trace_split", failing)
        with pytest.raises(UserError, match="free some space, and repeat"):
            split([msr], tmp_path / "out", {})
        error = "Input/output error (os error 5)"
        with pytest.raises(UserError, match=r"error 5\)$"):
            split([msr], tmp_path / "out", {})
    with pytest.raises(UserError, match="not finished"):
        fk.fleet(tmp_path / "out")
    write_msr(msr, 11)
    with pytest.raises(UserError, match="unfinished split of other traces"):
        split([msr], tmp_path / "out", {})


def test_the_memory_of_a_split_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    text = (
        f"{SPLIT}, kept_bytes=1_000_000); import resource; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    peaks = []
    for requests in (100_000, 800_000):
        source = tmp_path / f"{requests}.csv"
        with source.open("w") as file:
            file.writelines(lines(50, requests))
        command = [sys.executable, "-c", text, str(source), str(tmp_path / f"out-{requests}")]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    # 700,000 more requests would take 28 MB as records, and 5 MB packed.
    assert peaks[1] - peaks[0] < 4_000_000, peaks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=False, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_ends_a_split_that_goes_on_with_more_space(small_disk: Path, tmp_path: Path) -> None:
    source = tmp_path / "all.csv"
    with source.open("w") as file:
        file.writelines(lines(50, 200_000))
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(700_000))
    with pytest.raises(UserError, match=r"No space left.*free some space"):
        split([source], small_disk / "out", {}, kept_bytes=300_000)
    runs = list((small_disk / "out" / ".split").glob("0*"))
    assert runs
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    split([source], small_disk / "out", {}, kept_bytes=300_000)
    split([source], tmp_path / "whole", {}, kept_bytes=300_000)
    assert files(small_disk / "out") == files(tmp_path / "whole")


def test_each_volume_of_a_fleet_equals_a_comparison_of_it_alone(folder: Path) -> None:
    done = fk.fleet(folder, "page,dftl", vary="dftl.cmt=4KiB,16KiB")
    assert (len(done.rows), done.failed) == (3 * VOLUMES, [])
    found = {(row["volume"], row["stack"]): row["event_hash"] for row in done.rows}
    for volume in manifest(folder)["volumes"]:
        alone = fk.compare(volume_trace(folder, volume), "page,dftl:cmt=4KiB,dftl:cmt=16KiB", clock="auto")
        hashes = [run["event_hash"] for run in alone.document["runs"]]
        stacks = ["page", "dftl, dftl.cmt 4KiB", "dftl, dftl.cmt 16KiB"]
        assert [found[volume["name"], stack] for stack in stacks] == hashes, volume["name"]


def test_each_of_twenty_drawn_volumes_equals_a_comparison_of_it_alone() -> None:
    done = fk.fleet(20, "page,dftl", requests=300, seed=7)
    found = {(row["volume"], row["stack"]): row["event_hash"] for row in done.rows}
    for volume in generator.drawn(20, 300, seed=7):
        alone = fk.compare(volume.workload, "page,dftl", capacity="auto", clock="auto", seed=7)
        hashes = {(volume.name, run["label"]): run["event_hash"] for run in alone.document["runs"]}
        assert hashes.items() <= found.items(), volume.name
    assert len(set(found.values())) == len(found) == 40


def test_large_volumes_go_first_without_a_clock_unless_time_is_asked(folder: Path) -> None:
    done = fk.fleet(folder, "page")
    assert [row["requests"] for row in done.rows] == sorted((row["requests"] for row in done.rows), reverse=True)
    assert all(row["response_p99_ns"] is None for row in done.rows)
    timed = fk.fleet(folder, "page", goal="p99", requests=200)
    assert all(row["response_p99_ns"] > 0 for row in timed.rows)


def test_a_fleet_is_reused_and_a_killed_one_resumed(call: Call, start: Start, folder: Path, tmp_path: Path) -> None:
    points = tmp_path / "store" / "points"
    process = start("fleet", folder, "--ftl", "page,dftl", "--store", "store")
    wait(lambda: len(list(points.glob("*.parquet"))) > 4, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in points.glob("*.parquet")}
    done = call("fleet", folder, "--ftl", "page,dftl", "--store", "store", "--csv", "volumes.csv")
    assert f"40 points: {len(kept)} were in store" in done.output
    assert {path.name: path.stat().st_mtime_ns for path in points.glob("*.parquet")}.items() >= kept.items()
    table = pl.read_csv(tmp_path / "volumes.csv")
    assert (table.height, set(table["best"])) == (VOLUMES, {None}), "no block was erased"
    volume = manifest(folder)["volumes"][0]
    fk.sweep(volume_trace(folder, volume), "page", store=tmp_path / "store", clock="auto")
    assert len(list(points.glob("*.parquet"))) == 40, "a sweep of the volume has the same key"


def test_volumes_that_fail_or_cannot_be_ranked_are_results(call: Call, tmp_path: Path) -> None:
    many = [f"{number},write,{4096 * (number % 50)},4096,0,good\n" for number in range(500)]
    odd = ["600,write,0,4096,0,one\n", "601,read,0,4096,0,reads\n", "602,write,4611686018427387904,4096,0,far\n"]
    zeros = ["603,write,0,1,0,zero\n"] * 3
    (tmp_path / "a.csv").write_text(HEADER + "".join([*many, *odd, *zeros]))
    call("trace", "split", "a.csv", "--out", "out")
    done = call("fleet", "out", "--ftl", "page", "--precondition", "steady", "--report", "fleet.html")
    assert "page failed (refused) on volume far" in done.output
    assert "for all 3 volumes that can be ranked (of 5), page has" in done.output
    assert "2 volumes (reads, far) cannot be ranked" in done.output
    page = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert "cannot be ranked" in page
    assert "Quantiles over volumes" in page
    assert "Volumes: page 3 of 5." in page
    rows = fk.fleet(tmp_path / "out", "page").rows
    assert {row["volume"]: row["state"] for row in rows} == {
        "good": "done",
        "zero": "done",
        "one": "done",
        "reads": "done",
        "far": "refused",
    }


def test_a_volume_that_changed_after_the_split_is_refused(tmp_path: Path) -> None:
    fk.trace_split(write_msr(tmp_path / "a.csv", 50), tmp_path / "out")
    made = manifest(tmp_path / "out")
    fk.trace_convert(write_msr(tmp_path / "b.csv", 60), volume_trace(tmp_path / "out", made["volumes"][0]))
    with pytest.raises(UserError, match="volume host_0 have changed"):
        fk.fleet(tmp_path / "out", "page")
    for other in (json.dumps(made | {"ftlkit_fleet": 9}), "[]"):
        (tmp_path / "out" / MANIFEST).write_text(other)
        with pytest.raises(UserError, match=r"another ftlkit.*Split the traces again"):
            fk.fleet(tmp_path / "out", "page")


def test_a_wrong_folder_is_told_with_the_command_that_makes_one(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    for name, why, source in (
        (".", "it has no manifest.json", "TRACES"),
        ("nowhere", "it is not there", "TRACES"),
        ("a.csv", "it is no folder", "a.csv"),
    ):
        said = call("fleet", name, exits=2).output
        assert f"{name} is no fleet: {why}. Make one: `ftlkit trace split {source} --out DIR`" in said


def test_a_key_that_nobody_takes_ends_a_fleet_before_it_runs(call: Call, tmp_path: Path) -> None:
    said = call("fleet", "--fleet", 2, "--requests", 100, "--ftl", "page,dftl", "--vary", "dftl.cmtt=1,2", exits=2)
    assert "--vary dftl.cmtt: no point with it can be run" in said.output
    assert "--vary dftl.cmt=1,2" in said.output
    assert list((tmp_path / "ftlkit-results" / "points").glob("*")) == []
    assert "such as --consolidate 8" in call("fleet", "--fleet", 2, "--consolidate", 0, exits=2).output


def test_a_split_refused_at_once_leaves_its_folder_to_the_corrected_one(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEADER}9,write,0,4096,0,a\n5,write,0,4096,0,a\n")
    for wrong in (["nowhere.csv"], ["a.csv"], ["a.csv", "--format", "nonsense"]):
        call("trace", "split", *wrong, "--out", "out", exits=2)
        assert not (tmp_path / "out").exists()
    call("trace", "split", "a.csv", "--time-backwards", "clamp", "--out", "out")


def test_a_manifest_that_calls_kib_kb_is_read_alike(tmp_path: Path) -> None:
    made = fk.trace_split(small_volumes(tmp_path / "a.csv", ["a", "b"]), tmp_path / "out")
    fleet = volumes(tmp_path / "out")
    assert [volume.traits["write size"] for volume in fleet] == [4096.0, 4096.0]
    old = json.dumps(made).replace("_size_kib", "_size_kb")
    assert old != json.dumps(made)
    (tmp_path / "out" / MANIFEST).write_text(old)
    assert volumes(tmp_path / "out") == fleet


@pytest.mark.parametrize("folders", [0, 1])
def test_a_lost_or_truncated_file_of_a_split_is_named(folders: int, tmp_path: Path) -> None:
    source = small_volumes(tmp_path / "a.csv", ["a", "b", "c"])
    made = split([source], tmp_path / "out", {}, folders=folders)
    path = volume_trace(tmp_path / "out", made["volumes"][1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    again = (lambda: fk.fleet(tmp_path / "out", "page"), lambda: split([source], tmp_path / "out", {}, folders=folders))
    for ask in again:
        with pytest.raises(UserError, match=r"volume [abc] have changed .*Split the traces again.*new folder"):
            ask()
    path.unlink()
    for ask in again:
        with pytest.raises(UserError, match=r"volume [abc]: /\S*\.parquet is gone\. Split the traces again"):
            ask()
    path.write_bytes(whole)
    assert fk.fleet(tmp_path / "out", "page").failed == []


@pytest.mark.usefixtures("own_are_forgotten")
def test_a_volume_on_which_a_layer_fails_is_a_failed_point(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").replace(
        "def write(self, flash, lpn, page):", 'def write(self, flash, lpn, page):\n        assert lpn != 8, "eight"'
    )
    (tmp_path / "mine.py").write_text(lines)
    fk.trace_split(small_volumes(tmp_path / "a.csv", ["a", "b", "c"]), tmp_path / "out")
    done = fk.fleet(tmp_path / "out", f"page,{tmp_path / 'mine.py'}:Simple")
    assert [(row["volume"], row["stack"]) for row in done.failed] == [("b", "simple")]
    assert "eight" in done.failed[0]["error"]
    assert sum(row["state"] == "done" for row in done.rows) == 5


def test_a_full_disk_ends_a_fleet_that_goes_on_with_more_space(call: Call, small_disk: Path, folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=300k", small_disk], check=True)
    stopped = call("fleet", folder, "--ftl", "page", "--store", small_disk / "store", exits=2)
    assert "No space left" in stopped.output
    kept = len(list((small_disk / "store" / "points").glob("*.parquet")))
    assert 0 < kept < VOLUMES
    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    assert f"{kept} were in" in call("fleet", folder, "--ftl", "page", "--store", small_disk / "store").output


def test_two_fleets_at_once_in_one_folder_give_the_same(start: Start, folder: Path, tmp_path: Path) -> None:
    asked = ["fleet", folder, "--ftl", "page,dftl", "--consolidate", "2", "--store", "store", "--csv"]
    both = [start(*asked, f"{number}.csv") for number in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    tables = [pl.read_csv(tmp_path / f"{number}.csv") for number in range(2)]
    assert tables[0].height == VOLUMES // 2
    assert tables[0].equals(tables[1])
    assert list((tmp_path / "store" / "begun").iterdir()) == []


@pytest.mark.parametrize(("goal", "head"), [("life", "life"), ("p99-read", "read p99"), ("wa", "write amp.")])
@pytest.mark.usefixtures("no_pictures")
def test_every_figure_has_a_heading_in_the_report(goal: str, head: str, tmp_path: Path) -> None:
    plan = planned(generator.drawn(2), "page", None, {}, [], None, goal)
    Fleet(plan, answers({"page": [2e9, 4e9]}, goal), "Drawn volumes").report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"{head[0].upper()}{head[1:]}</" in page
    assert f">{head}</" in page.replace('<span class="unbroken">', "").replace("<wbr>", "").replace("</span>", "")


def test_a_drawn_fleet_has_the_published_quantiles_and_ranks() -> None:
    fleet = generator.drawn(2_000, requests=20_000)
    scale = 20_000 / 10.5e6
    specs = [volume.workload["generator"] for volume in fleet]
    footprints = [volume.footprint_bytes / scale / 2**30 for volume in fleet]
    requests = [volume.requests / scale / 1e6 for volume in fleet]
    writes = [spec["write_share"] for spec in specs]
    sequential = [spec["sequential_share"] for spec in specs]
    skews = [spec["pattern"]["zipf"]["theta"] for spec in specs]
    found = [footprints, requests, writes, sequential, skews]
    figures = [generator.FIGURES[place] for place in (0, 1, 3, 4, 5)]
    for figure, values in zip(figures, found, strict=True):
        for share in (0.25, 0.5, 0.75):
            below = sum(value < figure.at(share) for value in values) / len(values)
            assert below == pytest.approx(share, abs=0.04), figure.name
    ranks = np.corrcoef([np.argsort(np.argsort(values)) for values in found])
    published = np.array(generator.RANKS)[np.ix_((0, 1, 3, 4, 5), (0, 1, 3, 4, 5))]
    assert np.abs(ranks - published).max() < 0.08
    assert [volume.requests for volume in fleet] == sorted((volume.requests for volume in fleet), reverse=True)
    assert generator.drawn(5, seed=3) == generator.drawn(5, seed=3) != generator.drawn(5, seed=4)


def test_a_fleet_is_drawn_where_there_is_no_trace(call: Call) -> None:
    new = call("fleet", "--fleet", 4, "--requests", 300, "--ftl", "page,dftl")
    head, said = new.output.split("Preconditioning, by volumes: fill (3 of 4), none (1 of 4).\n")
    assert head.startswith("Device client-tlc, 8 dies of TLC, ")
    assert said.startswith("No block was erased: write amplification counts only rounding")
    assert "Least RAM on the median volume: dftl" in new.output
    asked = ["--fleet", 4, "--requests", 300, "--ftl", "page,dftl", "--precondition", "steady"]
    done = call("fleet", *asked, "--csv", "a.csv", "--report", "a.html")
    assert "Of one stack for all 4 volumes" in done.output
    assert pl.read_csv("a.csv")["volume"].sort().to_list() == ["v0", "v1", "v2", "v3"]
    assert "8 points: 8 were in" in call("fleet", *asked).output
    assert "not both" in call("fleet", exits=2).output
    assert "not both" in call("fleet", "out", "--fleet", 3, exits=2).output
    assert "1 to 10,000" in call("fleet", "--fleet", 0, exits=2).output


def test_one_thread_and_two_give_the_same_though_a_worker_is_killed(start: Start, tmp_path: Path) -> None:
    asked = [
        "fleet",
        "--fleet",
        "12",
        "--requests",
        "5000",
        "--ftl",
        "page,dftl",
        "--seeds",
        "2",
        "--consolidate",
        "2",
        "--store",
    ]
    process = start(*asked, "two", "--threads", "2")
    wait(lambda: len(list((tmp_path / "two" / "points").glob("*.parquet"))) > 2 and workers(process), process)
    os.kill(workers(process)[0], signal.SIGKILL)
    assert process.wait(300) == 0
    assert start(*asked, "one", "--threads", "1").wait(300) == 0
    one, two = (
        {row["key"]: (row["state"], row["event_hash"]) for row in Store(tmp_path / name).rows()}
        for name in ("one", "two")
    )
    assert len(one) == 6 * 2 * 2
    assert one == two
    assert {state for state, _ in one.values()} == {"done"}


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Processes that run points for a process."""
    children = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/children")]
    return [
        int(child)
        for child in " ".join(children).split()
        if b"ftlkit.sweeps.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
