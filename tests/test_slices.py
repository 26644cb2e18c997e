"""A slice of a drive tells of the whole: write amplification, life, RAM and the header."""

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit import study
from ftlkit._util import Json
from ftlkit._util.sizes import quantity
from ftlkit.advice.footprints import TB, one_request, ram_per_tb, with_unit
from ftlkit.advice.measure import Measured, Runner
from ftlkit.advice.query import Query
from ftlkit.api import catalogue
from ftlkit.curves import hits
from ftlkit.models.uniform import greedy
from ftlkit.report.facts import blocks_bytes
from ftlkit.results.outcome import device_of
from ftlkit.results.store import Store
from ftlkit.study import slices
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.traces import Traces

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
_LEAST = one_request()

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


def footprints(device: Json, stacks: list[str], request: Json) -> Json:
    """The structures of each stack on a device, by name; those that do not fit are left out."""
    taken: Json = {}
    for stack in stacks:
        asked = {"device": device, "workload": request, "run": {"precondition": "none"}, "ftl": study.named(stack)}
        try:
            (run,) = fk.run_study(asked).document["runs"]
        except fk.UserError:
            continue
        taken[stack] = {part["name"]: part for part in run["footprint"]["structures"]}
    return taken


_STACKS = [
    *(part["name"] for part in catalogue.parts() if part["kind"] == "mapping" and part["family"] != "python"),
    *(f"page+{part['name']}" for part in catalogue.parts() if part["kind"] == "wear policy"),
    *(f"dftl+{part['name']}:ram=64KiB" for part in catalogue.parts() if part["kind"] == "buffer"),
    *("page:pslc_static=64MiB", "fast:log_blocks=64", "dftl:cmt=256KiB", "dftl:cmt=256KiB+lru:ram=1MiB"),
]


_OF_A_BLOCK = "pages being moved"
"""At most a block's, and blocks of a slice may hold up to twice as many units."""


@pytest.mark.parametrize(("device", "part"), [(_WORD_LINES, 4), (_PAGES, 2)], ids=["word lines", "pages"])
def test_every_structure_of_a_slice_is_that_of_the_whole(device: Json, part: int) -> None:
    sliced = device | {"slice": resolved(device)["capacity"] // part}
    whole = footprints(device, _STACKS, one_request())
    scaled = footprints(sliced, _STACKS, one_request())
    assert scaled.keys() == whole.keys()
    assert len(scaled) > 20
    wrong = []
    for stack, parts in scaled.items():
        for name, structure in parts.items():
            for kind in ("ram_bytes", "flash_bytes"):
                mine, its = structure[kind], whole[stack][name][kind]
                if name == _OF_A_BLOCK and its <= mine <= 2 * its:
                    continue
                # Whole entries are rounded up on either, and whole pages where there are some.
                if abs(mine - its) > 0.03 * its + part * (4096 if its > 4 * 4096 else 64):
                    wrong.append(f"{stack}: {name} has {mine} {kind} by the slice, {its} on the whole")
    assert not wrong, "\n".join(wrong)


def test_stacks_fit_a_small_slice_where_they_fit_the_drive() -> None:
    device = _WORD_LINES | {"pages_per_block": 4800}
    sliced = device | {"slice": resolved(device)["capacity"] // 150}
    scale = resolved(device)["capacity"] / resolved(sliced)["slice"]
    assert scale > 100
    stacks = [stack for stack in _STACKS if ":" not in stack]
    whole, scaled = (footprints(asked, stacks, one_request()) for asked in (device, sliced))
    assert scaled.keys() == whole.keys() >= {"page", "dftl", "cdftl", "jtl"}
    asked = {"device": sliced, "workload": _LEAST, "run": {"precondition": "none"}}
    document = fk.run_study(asked | {"ftl": study.named("cdftl")}).document
    least = math.ceil(4096 * scale)
    assert f"cdftl.ctp = {least}, not the default 32KiB" in " ".join(document["workload"]["facts"])
    assert scaled["cdftl"]["cached translation pages"]["ram_bytes"] == pytest.approx(least, rel=0.01)


def test_parameters_below_a_slice_are_refused_with_one_that_fits() -> None:
    device = _WORD_LINES | {"pages_per_block": 4800}
    sliced = device | {"slice": resolved(device)["capacity"] // 150}
    for stack, parameter in (
        ("dftl:cmt=4KiB", "dftl.cmt"),
        ("cdftl:ctp=32KiB", "cdftl.ctp"),
        ("jtl:ram=64KiB", "jtl.ram"),
    ):
        assert footprints(device, [stack], one_request())
        with pytest.raises(
            fk.UserError, match=rf"{parameter} = .*; give \w+ = \d+, or device.slice = \"all\""
        ) as refused:
            fk.check_study({"device": sliced, "workload": _LEAST, "ftl": study.named(stack)})
        fits = re.search(r"give (\w+ = \d+),", str(refused.value))
        assert fits is not None
        taken = footprints(sliced, [f"{stack.partition(':')[0]}:{fits[1].replace(' ', '')}"], one_request())
        assert taken
    bytes_of_slice = resolved(sliced)["slice"]
    for ram, is_refused in ((bytes_of_slice, False), (bytes_of_slice + 4096, True)):
        assert bool(footprints(sliced, [f"page+lru:ram={ram}B"], one_request())) != is_refused


@pytest.mark.parametrize(
    "varied",
    [
        "device.spare=7%,20%",
        "device.op=7%,28%",
        "device.mapping_unit=4KiB,16KiB",
        "device.capacity=2GiB,100GiB",
        "run.in_use=50%,100%",
        "workload.span=1GiB,64GiB",
    ],
)
def test_each_point_of_a_sweep_spans_its_own_device(varied: str) -> None:
    axis = values.parse(varied)
    made = plans.with_more(plans.from_options(["randwrite"], "page", "7450-like", {}), [axis], None)
    again = plans.from_study(made.document)
    for points in (made.points(), again.points()):
        for value, point in zip(axis.values(), points, strict=True):
            alone = study.build("randwrite", "page", "7450-like", {"settings": [f"{axis.key}={value}"]})
            assert point.study["workload"]["generator"]["span"] == alone["workload"]["generator"]["span"]
            drive, simulated = slices.sizes(point.study["device"]) or (0, 0)
            share = 0.5 if value == "50%" else 1.0
            if axis.key != "workload.span":
                span = point.study["workload"]["generator"]["span"]
                assert span == pytest.approx(share * simulated, rel=1e-4)
            assert (point.study["device"].get("slice") == "auto") == (drive > 16 << 30)


def test_write_amplification_at_each_spare_is_that_of_a_full_device() -> None:
    done = fk.sweep(
        "randwrite",
        "page",
        device="slc-small",
        requests=60_000,
        settings=["device.channels=1", "device.blocks_per_plane=256"],
        vary="device.spare=12%,30%",
    )
    amplification = []
    for row in done.rows:
        device = json.loads(row["document"])["device"]
        utilisation = device["logical_bytes"] / device["physical_bytes"]
        amplification.append(row["page_write_amplification"])
        assert amplification[-1] == pytest.approx(greedy(utilisation, device["geometry"]["pages_per_block"]), rel=0.1)
    assert amplification[1] < 0.6 * amplification[0]


_UNITS = [("client-like", "4KiB"), ("client-like", "32KiB"), ("7450-like", "4KiB"), ("7450-like", "16KiB")]
_UNITS += [("qlc-16k-like", unit) for unit in ("4KiB", "16KiB", "64KiB")]


@pytest.mark.parametrize(("preset", "unit"), _UNITS, ids=[" ".join(case) for case in _UNITS])
def test_blocks_of_a_slice_have_enough_units_whatever_their_size(preset: str, unit: str) -> None:
    device = {"preset": preset, "mapping_unit": unit, "slice": "auto"}
    asked = {"device": device, "workload": _LEAST, "run": {"precondition": "none"}, "ftl": study.named("page")}
    document: Json = dict(fk.run_study(asked).document)
    told = document["device"]
    utilisation, units = told["logical_bytes"] / told["physical_bytes"], told["geometry"]["pages_per_block"]
    assert greedy(utilisation, units) == pytest.approx(greedy(utilisation, 1 << 14), rel=0.05)
    assert told["slice_bytes"] / quantity("size", "unit", unit) < 3e6, "it costs no more than one of small units"


def test_write_amplification_of_a_slice_is_that_of_the_drive_for_every_unit() -> None:
    few = {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 2048, "pages_per_block": 400}
    drive = {"preset": "qlc-16k-like", "spare": 0.12} | few

    def amplification(device: Json) -> float:
        asked = {"device": device, "workload": _LEAST, "run": {"precondition": "steady"}, "ftl": study.named("page")}
        run: Json = dict(fk.run_study(asked).document["runs"][0])
        return float(run["precondition"]["page_write_amplification"])

    whole = amplification(drive | {"mapping_unit": "64KiB"})
    for unit in ("4KiB", "16KiB", "64KiB"):
        assert amplification(drive | {"mapping_unit": unit, "slice": "auto"}) == pytest.approx(whole, rel=0.06)


@pytest.mark.full
def test_write_amplification_of_large_writes_on_a_slice_is_that_of_the_drive() -> None:
    few = {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 512, "pages_per_block": 400}
    amplification, parts = {}, []
    for unit, part in (("64KiB", "all"), ("16KiB", "auto"), ("4KiB", "auto")):
        device = {"preset": "qlc-16k-like", "spare": 0.12, "mapping_unit": unit, "slice": part} | few
        writes = {"unit": "128KiB", "pattern": "uniform"}
        drive, simulated = slices.sizes(device, writes) or (0, 0)
        of_span = simulated // 131_072
        generator = writes | {"span": of_span * 131_072, "requests": 8 * of_span}
        asked = {
            "device": device,
            "workload": {"generator": generator},
            "host": {"loop": "closed"},
            "run": {"precondition": "fill", "skip": 4 * of_span, "clock": False},
            "ftl": study.named("page"),
        }
        document: Json = dict(fk.run_study(asked).document)
        assert (document["device"]["slice_bytes"] or drive) == simulated
        amplification[unit] = document["runs"][0]["page_write_amplification"]
        parts.append(simulated)
    assert amplification["4KiB"] == pytest.approx(amplification["16KiB"], rel=0.02)
    assert amplification["4KiB"] == pytest.approx(amplification["64KiB"], rel=0.04)
    assert parts[0] / 8 < parts[1] == pytest.approx(parts[2], rel=0.05), "units compare on one slice"


def test_slices_whose_blocks_hold_few_large_writes_are_told() -> None:
    for bs, is_told in (("64KiB", False), ("1MiB", True)):
        settings = ["device.slice=64GiB", "run.precondition=none"]
        made = study.build("randwrite", "page", "7450-like", {"bs": bs, "requests": 100, "settings": settings})
        told = " ".join(fk.run_study(made).document["workload"]["facts"])
        assert is_told == ("write amplification may come out up to 24 % low" in told)


def test_advice_on_mapping_units_asks_slices_as_runs_have_them() -> None:
    own = fk.check_study(study.build("randwrite", "page", "client-like", {"requests": 1000}))["device"]
    for unit in (4096, 16_384, 32_768):
        per_tb = ram_per_tb("page", with_unit(own, unit), None)
        assert per_tb == pytest.approx(4 * TB / unit, rel=1e-3)
        settings = [f"device.mapping_unit={unit}B"]
        run = fk.check_study(study.build("randwrite", "page", "client-like", {"requests": 1000, "settings": settings}))
        _, simulated = slices.sizes(with_unit(own, unit)) or (0, 0)
        assert run["device"]["slice"] == pytest.approx(simulated, rel=1e-3)


def test_slice_of_own_size_stays_with_other_units() -> None:
    settings = ["device.slice=20GiB"]
    own = fk.check_study(study.build("randwrite", "page", "client-like", {"requests": 1000, "settings": settings}))
    assert with_unit(own["device"], 16_384)["slice"] == own["device"]["slice"] >= 20 << 30


@pytest.mark.parametrize("asked", ["all", "18GiB", "auto"])
def test_advise_prefixes_run_on_the_slice_asked_for(asked: str, tmp_path: Path) -> None:
    settings = ["device.capacity=20GiB", f"device.slice={asked}"]
    query = Query("randwrite", "client-like", {"requests": 4000, "settings": settings, "precondition": "none"})
    own = fk.check_study(query.document())["device"]
    runner = Runner(query, own, Store(tmp_path / "store", create=True), Local(1), Traces(tmp_path))
    measured_stacks = runner.prefix(["page"], 2000), runner.held_out(["page"], 2000, 1)
    rows = [measured["page"].rows[0] for measured in measured_stacks]
    assert [json.loads(row["document"])["device"]["slice_bytes"] for row in rows] == [own.get("slice")] * 2


def test_what_a_slice_is_refused_for_names_the_slice() -> None:
    device = _WORD_LINES | {"slice": resolved(_WORD_LINES)["capacity"] // 4}
    size = resolved(device)["slice"]
    refusal = r"those of the simulated slice, .* of the drive; .* device\.slice = \"all\""
    with pytest.raises(fk.UserError, match=refusal):
        fk.check_study({"device": device, "workload": _LEAST, "ftl": study.named("page:pslc_static=1TiB")})
    beyond = one_request()["generator"] | {"span": 5 * size, "pattern": "uniform", "requests": 100}
    with pytest.raises(fk.UserError, match=r"Make device\.capacity larger"):
        fk.check_study({"device": device, "workload": {"generator": beyond}, "ftl": study.named("page")})
    far = one_request()["generator"] | {"span": 2 * size, "pattern": "uniform", "requests": 100}
    for placed in ({}, {"addresses": "wrap"}):
        asked = {"device": device, "workload": {"generator": far} | placed, "ftl": study.named("page")}
        with pytest.raises(fk.UserError, match=r"the slice has \d+ .* device\.slice (larger|= \"all\")"):
            fk.check_study(asked)
    with pytest.raises(fk.UserError, match=r"device\.slice = \"4KiB\".*smallest has \d+ bytes"):
        resolved(_WORD_LINES | {"slice": "4KiB"})
    in_use = {"run": {"precondition": "fill", "in_use": 0.1}, "ftl": study.named("page"), "device": device}
    near = far | {"span": size // 2 // 4096 * 4096, "requests": 20_000}
    with pytest.raises(fk.UserError, match=r"of the slice's \d+ pages .* make device\.slice larger"):
        fk.check_study(in_use | {"workload": {"generator": near}})


def test_a_drive_is_simulated_whole_where_that_is_asked_for() -> None:
    whole = study.build("randwrite", "page", "7450-like", {"settings": ["device.slice=all"]})
    drive, simulated = slices.sizes(whole["device"]) or (0, 0)
    assert drive == simulated == whole["workload"]["generator"]["span"]
    assert "slice" not in resolved(_WORD_LINES | {"slice": "all"})


def test_data_on_a_slice_age_as_on_the_drive() -> None:
    worn = _WORD_LINES | {"bit_errors": "tlc-72l", "initial_erases": 1000, "retention_speedup": 1e7, "refresh_at": 0}
    capacity = resolved(worn)["capacity"]
    retries = []
    for device in (worn, worn | {"slice": capacity // 4}):
        size = resolved(device).get("slice") or capacity
        units = size // 4096
        generator = {"requests": 4 * units, "span": size, "pattern": "uniform", "write_share": 0.5}
        asked = {
            "device": device,
            "workload": {"generator": generator | {"arrivals": {"constant": {"gap": "200us"}}}},
            "run": {"precondition": "fill", "skip": 3 * units, "waiting": False},
            "ftl": study.named("page"),
        }
        run: Json = dict(fk.run_study(asked).document["runs"][0])
        retries.append(run["bit_errors"]["mean_retries"])
    assert retries[0] > 1
    assert retries[1] == pytest.approx(retries[0], rel=0.05)


def test_the_curve_of_a_cache_is_that_of_the_drive() -> None:
    device = _WORD_LINES | {"slice": resolved(_WORD_LINES)["capacity"] // 4}
    ratios = []
    for table in (_WORD_LINES, device):
        curve = hits.curve("randwrite", device=table, sizes="32KiB,128KiB", requests=40_000)
        assert curve.document["logical_pages"] == pytest.approx(resolved(_WORD_LINES)["capacity"] // 4096, rel=0.01)
        ratios.append(curve.frame["hit_ratio"].to_list())
    assert ratios[1] == pytest.approx(ratios[0], abs=0.02)


def test_the_least_life_of_a_slice_is_that_of_the_drive() -> None:
    document = {"device": {"logical_bytes": 4000, "slice_bytes": 1000}}
    row = {"life_bytes": None, "end_of_life_request": None, "host_written_bytes": 7, "document": json.dumps(document)}
    assert Measured("page", [row]).least("life_bytes") == 28


@pytest.mark.full
def test_a_preset_answers_for_the_whole_drive_in_seconds(call: Call) -> None:
    result = call("compare", "randwrite", "--device", "7450", "--requests", 60_000, "--daily-writes", "200GB")
    text = " ".join(result.stdout.split())
    assert "Device 7450-like: 895 GiB for the host" in text
    assert text.count("Simulated: a slice of 2.54 GiB") == 1
    assert "where WA, waits for GC and hits of caches come out low (docs/device.md, Slices)" in text
    assert "RAM and life are of the drive, erases of the slice." in text
    own = "WA of 7450-like leaves out the drive's own writes: multiply WA by 1.035, and divide lives by it."
    assert text.count(own) == 1, "of this drive, and not of those whose WA has them"
    assert "own writes" not in call("compare", "randwrite", "--device", "p5520", "--requests", 100).stdout
    assert "895 MiB" in text, "the map of the whole drive"
    assert "blocks are" not in text.partition("mean")[0], "its blocks are filled in order"
    assert "With even wear, host writes last until" in text
    assert "years) under" not in text
    assert re.search(r"at 200 GB per day \(0\.\d+ drive writes\), 3,000 erases per block", text)


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


@pytest.mark.parametrize("device", ["7450-like", "client-like", "sata-tlc-1t"])
def test_the_state_of_blocks_beside_a_slice_is_that_of_the_drive(device: str) -> None:
    told = []
    for part in ("auto", "all"):
        options: Any = {"clock": False, "precondition": "none", "settings": [f"device.slice={part}"]}
        results = fk.compare("randwrite", "page", device=device, requests=10, **options)
        assert bool(device_of(results.document).get("slice_bytes")) == (part == "auto")
        told.append(blocks_bytes(results.document))
    assert told[0] == pytest.approx(told[1], rel=0.01)
