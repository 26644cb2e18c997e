"""A device whose blocks wear out: the run is kept, and all outputs say where it ended."""

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit.report.page import page
from ftlkit.report.tables import columns

DEVICE = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 64, "pages_per_block": 16}
WORKLOAD = {"generator": {"requests": 60_000, "span": "2MiB"}}


@pytest.fixture(scope="module")
def worn() -> fk.Results:
    """Two schemes on a device of little endurance, on which both die, at different times."""
    device = DEVICE | {"spare": 0.3, "endurance": 10}
    return fk.compare(WORKLOAD, "page,block", device=device, loop="closed", verify=True)


def test_frames_say_where_a_run_ended(worn: fk.Results) -> None:
    rows = worn.runs.to_dicts()
    assert [row["label"] for row in rows] == ["page", "block"]
    for row in rows:
        assert row["end_of_life_request"] == row["requests"] + 1
        assert row["spare_blocks_left"] == 0
        assert row["grown_bad_blocks"] > 0
        assert row["spare_blocks"] > 0
        assert row["proved"] == "this run, until the device was read-only; no cut"
    # A block rewritten for each page wears out many times sooner.
    assert rows[0]["host_pages_written"] > 3 * rows[1]["host_pages_written"]


def test_the_report_tells_it(worn: fk.Results) -> None:
    text = page(worn)
    assert "spares left" in text
    assert "The device wore out before the workload ended" in text
    assert "device is read-only" in text


def test_where_nothing_fails_nothing_is_said_of_spares(results: fk.Results) -> None:
    assert results.runs["end_of_life_request"].null_count() == len(results.labels)
    assert (results.runs["spare_blocks"] == results.runs["spare_blocks_left"]).all()
    assert "spares left" not in [column.name for column in columns(results.document["runs"])]


def test_the_command_shows_it_and_succeeds(call: Call) -> None:
    sets = [f"device.{key}={value}" for key, value in DEVICE.items()]
    settings = [part for setting in [*sets, "device.spare=0.3", "device.endurance=5"] for part in ("--set", setting)]
    workload = ["fin1", "--ftl", "page", "--requests", 50_000, "--addresses", "wrap", "--capacity", "2MiB"]
    done = call("compare", *workload, *settings)
    assert "device is read-only" in done.stdout.replace("\n", " ")
