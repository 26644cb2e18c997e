"""A device whose blocks wear out: the run is kept, and all outputs say where it ended."""

import json
from typing import Any

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit.report.life import column, even_bytes, worn_before
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


@pytest.mark.parametrize(("ftl", "apart"), [("page", 1.03), ("dftl", 1.1)])
def test_even_wear_is_that_of_the_workload_not_of_the_preparation(ftl: str, apart: float) -> None:
    """Means over the whole run were 4 and 13 % apart: half of it still filled erased blocks."""
    asked: Any = {"device": "slc-small", "capacity": "64MiB", "clock": False, "seed": 3}
    asked["settings"] = ["workload.generator.write_share=1.0"]
    lives = [
        even_bytes(fk.compare("zipf", ftl, requests=requests, skip=skip, precondition=mode, **asked))
        for mode in ("fill", "steady")
        for skip, requests in ((0, 60_000), (0, 120_000), (60_000, 120_000))
    ]
    known = [life for life in lives if life]
    assert len(known) == len(lives)
    assert max(known) < apart * min(known)


def test_cycles_that_a_preparation_used_up_are_told() -> None:
    """A skip of as many requests more shortens the forecast by as much as is told."""
    asked: Any = {"device": "slc-small", "capacity": "64MiB", "clock": False, "daily_writes": "1GB"}
    asked["settings"] = ["device.endurance=1000"]
    lives, shares = [], []
    for skip in (60_000, 180_000):
        found = fk.compare("randwrite", "page", requests=skip + 60_000, skip=skip, precondition="steady", **asked)
        endurance = found.document["runs"][0].get("endurance")
        assert endurance is not None
        assert endurance["spares_gone"] is not None
        lives.append(endurance["spares_gone"]["years"])
        (sentence,) = worn_before(found)
        shares.append(float(sentence.partition("about ")[2].split("\N{NO-BREAK SPACE}")[0]) / 100)
    assert lives[1] / lives[0] == pytest.approx((1 - shares[1]) / (1 - shares[0]), rel=0.03)
    assert shares[1] - shares[0] > 0.02
    small: Any = asked | {"settings": []}
    assert not worn_before(fk.compare("randwrite", "page", requests=60_000, precondition="steady", **small))


def test_a_column_of_lives_has_one_kind(results: fk.Results) -> None:
    documents: list[Any] = [json.loads(json.dumps(results.document)) for _ in range(2)]
    forecast = {"written_bytes": 10**12, "low_bytes": 1, "high_bytes": 10**13, "is_measured": False, "years": 7.0}
    for place, document in enumerate(documents):
        endurance = {"limit": 100, "drift": None, "first_block": None, "refusal": None, "spares_gone": forecast}
        document["runs"] = [document["runs"][place] | {"endurance": endurance, "precondition": {"mode": "steady"}}]
        document["write_rate"] = {"bytes_per_day": 1e9, "source": "given"}
    points = [[fk.Results(document)] for document in documents]
    assert column(points) == (["7.00\N{NO-BREAK SPACE}years"] * 2, False, [7.0, 7.0])
    documents[1]["runs"][0]["endurance"]["spares_gone"] = None
    cells, is_even, _ = column(points)
    assert is_even
    assert all(cells)
    assert "7.00" not in cells[0], "a forecast beside a life under even wear"
