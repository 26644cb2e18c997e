"""Drives that several volumes of a fleet share, with a stream for each."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._native import UserError
from ftlkit.fleets import drives, generator
from ftlkit.fleets.run import volumes
from test_fleet import HEADER

HINTS = "page:hint_streams={}:streams=hints"


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """Three volumes in one trace; the first to appear has most requests, the last fewest."""
    turns = [0, 0, 0, 1, 1, 2]
    rows = [
        f"{1000 * number},write,{4096 * (number * (7 + turn) % (900 + 300 * turn))},{4096 * (1 + turn)},0,v{turn}\n"
        for number in range(30_000)
        for turn in [turns[number % 6]]
    ]
    (tmp_path / "all.csv").write_text(HEADER + "".join(rows))
    fk.trace_split(tmp_path / "all.csv", tmp_path / "out")
    return tmp_path / "out"


def test_a_drive_of_all_volumes_is_the_stacked_trace_to_the_event_hash(split: Path) -> None:
    done = fk.fleet(split, "page,dftl", consolidate=3)
    stacked = fk.compare(split.parent / "all.csv", "page,dftl", trace_device="stacked", clock="auto")
    assert [row["event_hash"] for row in done.rows] == [run["event_hash"] for run in stacked.document["runs"]]
    assert done.frame["volumes"].to_list() == ["v0 v1 v2"]


def test_a_drive_names_the_stream_of_each_volume_and_is_merged_once(split: Path) -> None:
    shared = drives.consolidated(volumes(split), 2, split)
    assert [(drive.name, drive.members, drive.requests) for drive in shared] == [
        ("drive-0", ("v0", "v2"), 20_000),
        ("drive-1", ("v1",), 10_000),
    ]
    path = Path(shared[0].workload["trace"])
    merged = pl.read_parquet(path)
    counted = dict(merged.group_by("stream").len().iter_rows())
    assert (counted, merged["time_ns"].is_sorted()) == ({0: 15_000, 1: 5_000}, True)
    ranges = dict(merged.group_by("stream").agg(pl.col("offset").min() // 2**20).iter_rows())
    assert ranges == {0: 0, 1: 4}, "the second begins at the first MiB behind 900 pages"
    before = path.stat().st_mtime_ns
    assert drives.consolidated(volumes(split), 2, split) == shared
    assert path.stat().st_mtime_ns == before
    shutil.copy(split / "volumes" / "volume=v0" / "00000.parquet", split / "volumes" / "volume=v2" / "00000.parquet")
    with pytest.raises(UserError, match="volume v2 have changed"):
        drives.consolidated(volumes(split), 2, split)


def test_streams_by_volume_keep_volumes_apart_and_folded_ones_are_told(call: Call) -> None:
    stacks = ["page", HINTS.format(3), HINTS.format(2)]
    asked = ["--fleet", 6, "--requests", 3000, "--consolidate", 3, "--set", "device.spare=0.2"]
    said = call("fleet", *asked, "--ftl", ",".join(stacks)).output
    (folded,) = [line for line in " ".join(said.split()).split("• ") if "beyond hint_streams" in line]
    assert folded.startswith(f"All 2 volumes under {stacks[2]}: Writes named streams beyond hint_streams")
    assert "1 to 256" in call("fleet", "--fleet", 3, "--consolidate", 0, exits=2).output
    assert "1 to 256" in call("fleet", "--fleet", 3, "--consolidate", 257, exits=2).output


def test_a_drive_of_drawn_volumes_has_the_writes_of_each_as_a_stream() -> None:
    fleet = generator.drawn(8, 5_000)
    (drive,) = drives.consolidated(fleet, 8, None)
    run = fk.compare(drive.workload, HINTS.format(8), clock=False, settings=["device.spare=0.2"]).document["runs"][0]
    assert sum(run["requests"].values()) == drive.requests == sum(volume.requests for volume in fleet)
    for volume, stream in zip(fleet, run["streams"] or [], strict=False):
        large = volume.workload["generator"]["sizes"]["choice"][1]["weight"]
        pages = volume.requests * (volume.write_share or 0) * (1 - large + 16 * large)
        assert stream["host_pages"] == pytest.approx(pages, rel=0.1, abs=250), volume.name
    spec = drive.workload["generator"]
    week = int(spec["arrivals"]["poisson"]["mean_gap"].removesuffix("ns")) * sum(
        generator.WEEK_NS / int(volume.workload["generator"]["arrivals"]["poisson"]["mean_gap"].removesuffix("ns"))
        for volume in fleet
    )
    assert week == pytest.approx(generator.WEEK_NS, rel=1e-3), "requests come as fast as from all volumes together"
