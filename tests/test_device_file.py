"""`--device FILE.toml`: a device's table from a file, wherever a preset's name is taken."""

from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._util import units
from ftlkit.report import facts
from ftlkit.sweeps.plan import from_options

TABLE = '[device]\npreset = "slc-small"\ncapacity = "64MiB"\nread_latency = "77us"\nlink_latency = "9us"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "drive.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_a_file_is_the_device_as_its_table_would_be(file: Path) -> None:
    options = {"requests": 500, "addresses": "wrap"}
    table = {"preset": "slc-small", "capacity": "64MiB", "read_latency": "77us", "link_latency": "9us"}
    by_file = fk.run(workload="fin1", device=str(file), **options)  # type: ignore[arg-type] # of one kind each
    by_table = fk.run(workload="fin1", device=table, **options)  # type: ignore[arg-type] # as above
    assert by_file.document["runs"][0]["event_hash"] == by_table.document["runs"][0]["event_hash"]


def test_options_override_a_file(file: Path, call: Call, tmp_path: Path) -> None:
    saved = tmp_path / "r.json"
    call(
        *["compare", "fin1", "--ftl", "page", "--requests", "200", "--addresses", "wrap", "--device", file],
        *["--capacity", "128MiB", "--set", "device.read_latency=50us", "--json", saved],
    )
    device = fk.load(saved).document["study"]["device"]
    assert (device["capacity"], device["read_latency"]) == (128 << 20, "50000ns")


def test_a_sweep_names_a_device_by_its_file(file: Path) -> None:
    plan = from_options(["fin1"], "page", f"slc-small,{file}", {"capacity": "128MiB"})
    assert [name for name, _ in plan.devices] == ["slc-small", "drive"]
    assert plan.devices[1][1]["capacity"] == "128MiB"
    assert "label" not in plan.devices[1][1]


def test_an_image_keeps_the_link_of_its_device(file: Path, tmp_path: Path) -> None:
    fk.create_image(tmp_path / "a.img", "page", device=str(file))
    description = fk.image_info(tmp_path / "a.img")["description"]
    assert description["latencies"]["read_ns"] == 77_000
    assert description["front_end"]["link_ns"] == 9_000


@pytest.mark.parametrize(
    ("text", "words"),
    [("[host]\n", "it has no table"), ("[device\n", "drive.toml"), ('[device]\nred_latency = "1us"\n', "red_latency")],
    ids=["none", "no-toml", "unknown-key"],
)
def test_a_file_that_is_no_device_is_named(text: str, words: str, file: Path, call: Call) -> None:
    file.write_text(text, encoding="utf-8")
    result = call("compare", "fin1", "--requests", "10", "--device", file, exits=2)
    assert words in result.stderr


def test_a_file_that_is_missing_is_named(call: Call, tmp_path: Path) -> None:
    result = call("compare", "fin1", "--device", tmp_path / "gone.toml", exits=2)
    assert "gone.toml" in result.stderr


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, "default"),
        ({"capacity": "64MiB", "spare": 0.2}, "default"),
        ({"preset": "slc-small"}, "preset"),
        ({"preset": "thesis", "capacity": "64MiB"}, "preset"),
        ({"read_latency": "77us"}, "keys"),
        ({"capacity": "64MiB", "page_size": "2KiB", "channels": 2}, "keys"),
    ],
    ids=["none", "sizes", "default-by-name", "preset", "one-key", "calibrated"],
)
def test_device_line_says_default_where_none_was_named(table: dict[str, object], expected: str) -> None:
    options: dict[str, object] = {"requests": 200, "addresses": "wrap"}
    compared = fk.run(workload="fin1", device=table, **options)  # type: ignore[arg-type] # of one kind each
    device = compared.document["device"]
    assert device is not None
    assert device["named_by"] == expected == facts.named_by(table)
    # A point of a sweep runs with every key filled in; its lines are about the study as given.
    swept = fk.run_study(compared.document["study"]).document
    for line in (facts.device_line(compared.document), facts.intro(swept, {"device": table, "workload": {}})[0]):
        assert ("the default since no device was named" in line) == (expected == "default"), line
        assert line.startswith("Device given by its keys") == (expected == "keys"), line


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"preset": "slc-small"}, None),
        ({"preset": "slc-small", "capacity": "920MiB"}, None),
        (
            {"preset": "slc-small", "capacity": "2GiB"},
            (
                "Scaled by larger dies: 4 of 569 MiB (slc-small: 256 MiB), with the preset's speed; a drive of this "
                "size has more dies (--set device.dies_per_channel=3)"
            ),
        ),
        (
            {"preset": "slc-small", "capacity": "200MiB"},
            "Scaled by smaller dies: 4 of 55.8 MiB (slc-small: 256 MiB), with the preset's speed",
        ),
        ({"preset": "slc-small", "capacity": "2GiB", "dies_per_channel": 3}, None),
        ({"capacity": "2GiB"}, None),
    ],
    ids=["own", "own-rounded", "larger", "smaller", "more-dies", "default"],
)
def test_header_says_how_a_preset_was_scaled(table: dict[str, object], expected: str | None) -> None:
    results = fk.run(workload="randwrite", device=table, requests=10, precondition="none")
    line = facts.scaled_line(results.document)
    assert (line and units.typed(line)) == expected
    assert (f"{line}." in facts.intro(results.document)) is (line is not None)
