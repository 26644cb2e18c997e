"""A slice of a drive tells of the whole: write amplification, life, RAM and the header."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

import ftlkit as fk
from ftlkit import study

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from ftlkit.results.document import Json

_WORD_LINES: Json = {
    "preset": "client-like",
    "channels": 2,
    "dies_per_channel": 1,
    "blocks_per_plane": 128,
    "pages_per_block": 48,
    "spare": 0.12,
}
"""A drive that programs word lines, so that a slice has shorter blocks."""
_PAGES: Json = {"preset": "slc-small", "channels": 2, "blocks_per_plane": 512}
"""One that programs single pages, so that a slice has fewer blocks."""
_HOT: Json = {"hot_cold": {"hot_data_share": 0.2, "hot_request_share": 0.8}}
_LEAST = {"preset": "fin1", "requests": 1, "addresses": "wrap"}

CASES = {
    "uniform writes, shorter blocks": (_WORD_LINES, 4, "uniform", "page"),
    "popular writes, a cached map": (_WORD_LINES, 4, {"zipf": {"theta": 0.9}}, "dftl:cmt=96KiB"),
    "hot and cold, fewer blocks": (_PAGES, 2, _HOT, "page"),
}
"""Whole devices, their size over that of the slice, writes and a stack."""


def resolved(device: Json) -> Json:
    """A device with every key."""
    return dict(fk.check_study({"device": device, "workload": _LEAST, "ftl": [{"name": "page"}]})["device"])


def measured(device: Json, pattern: object, stack: str, data_bytes: int) -> Json:
    """Random writes over all data, long enough for a forecast."""
    units = data_bytes // 4096
    generator = {"requests": 8 * units, "span": data_bytes, "pattern": pattern}
    return dict(
        fk.run_study(
            {
                "device": device,
                "workload": {"generator": generator | {"arrivals": {"constant": {"gap": "100us"}}}},
                "host": {"loop": "closed"},
                "run": {"precondition": "fill", "skip": 4 * units, "waiting": False},
                "ftl": study.named(stack),
            }
        ).document
    )


@pytest.mark.parametrize("name", list(CASES))
def test_a_slice_tells_of_the_whole(name: str) -> None:
    device, part, pattern, stack = CASES[name]
    capacity = resolved(device)["capacity"]
    asked = device | {"slice": capacity // part}
    size = resolved(asked)["slice"]
    whole, slice_of_it = measured(device, pattern, stack, capacity), measured(asked, pattern, stack, size)
    assert slice_of_it["device"]["slice_bytes"] == size < 0.6 * capacity
    assert slice_of_it["device"]["logical_bytes"] == whole["device"]["logical_bytes"] == capacity
    for document in (whole, slice_of_it):
        assert document["write_rate"] == {"bytes_per_day": capacity, "source": "drive_write"}
    (one,), (other,) = whole["runs"], slice_of_it["runs"]
    assert other["write_amplification"] == pytest.approx(one["write_amplification"], rel=0.06)
    lives = [run["endurance"]["spares_gone"] for run in (one, other)]
    assert lives[1]["written_bytes"] == pytest.approx(lives[0]["written_bytes"], rel=0.06)
    assert lives[1]["years"] == pytest.approx(lives[1]["written_bytes"] / capacity / 365)
    maps = [{part["name"]: part["ram_bytes"] for part in run["footprint"]["structures"]} for run in (one, other)]
    table = "page map" if stack == "page" else "cached mapping table"
    assert maps[1][table] == pytest.approx(maps[0][table], rel=0.001)


def test_a_preset_answers_for_the_whole_drive_in_seconds(call: Callable[..., Result]) -> None:
    result = call("compare", "randwrite", "--device", "7450", "--requests", 60_000, "--daily-writes", "200GB")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Device 7450-like: 895 GiB for the host" in text
    assert text.count("Simulated: a slice of 2.54 GiB") == 1
    assert "895 MiB" in text, "the map of the whole drive"
    assert "block" not in text.partition("mean")[0], "its blocks are filled in order"
    assert "With even wear, host writes last until" in text
    assert "years) under" not in text
    assert "at 200 GB per day, 3,000 erases per block" in text


def test_small_devices_and_studies_are_simulated_as_a_whole() -> None:
    assert "slice" not in study.build("randwrite", "page", "slc-small", {})["device"]
    table = study.build("randwrite", "page", "7450-like", {"in_use": "50%"})
    assert table["device"]["slice"] == "auto"
    assert table["workload"]["generator"]["span"] < 0.51 * 2.55 * (1 << 30)
    whole = study.build("fin1", "page", "7450-like", {"settings": ["device.slice=1TiB"]})["device"]
    assert "slice" not in resolved(whole), "a slice as large as the drive is the drive"
    with pytest.raises(fk.UserError, match=r"device\.slice: an image holds the whole device"):
        fk.create_image("never.img", "page", device={"capacity": "64MiB", "slice": "8MiB"})


def test_the_rate_of_writes_is_given_or_that_of_the_workload() -> None:
    few = partial(fk.compare, "fin1", "page", requests=2_000, capacity="32MiB", addresses="wrap")
    own = few().document
    rate = own["write_rate"]
    assert rate is not None
    assert rate["source"] == "workload"
    days = own["workload"]["duration_ns"] / 86_400e9
    assert rate["bytes_per_day"] == pytest.approx(own["workload"]["bytes_written"] / days)
    given = few(daily_writes="2GB").document
    assert given["write_rate"] == {"bytes_per_day": 2e9, "source": "given"}
    with pytest.raises(fk.UserError, match=r"run\.daily_writes.*200GB"):
        few(daily_writes="1B")
