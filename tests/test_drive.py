"""A drive's counters at two times: figures by own arithmetic, each with its range."""

import json
from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._util import Json

UNIT = 512_000

HOURS_BACK = {"percentage_used": 3, "data_units_written": 1000, "power_on_hours": 4}


def smartctl(*, day: float = 0, units: int = 1000, used: int = 3, serial: str = "S1", **more: object) -> Json:
    """The report of an NVMe drive."""
    log = {"percentage_used": used, "data_units_written": units, "data_units_read": 5, "power_on_hours": 24 * int(day)}
    return {
        "model_name": "Example SSD",
        "serial_number": serial,
        "local_time": {"time_t": 1_700_000_000 + round(day * 86_400)},
        "user_capacity": {"bytes": 10**12},
        "nvme_smart_health_information_log": log,
        **more,
    }


def sata(*rows: tuple[str, int, int]) -> Json:
    """The report of a SATA drive with these attributes: name, normalised and raw value."""
    table = [
        {"id": number, "name": name, "value": value, "raw": {"value": raw}}
        for number, (name, value, raw) in enumerate(rows)
    ]
    return {"model_name": "SATA", "local_time": {"time_t": 0}, "ata_smart_attributes": {"table": table}}


def life(folder: Path, before: Json | list[Json], after: Json | list[Json], **options: str) -> Json:
    paths = [folder / "before.json", folder / "after.json"]
    for path, report in zip(paths, (before, after), strict=True):
        path.write_text(json.dumps(report))
    return fk.drive_life(*paths, **options)


def test_rates_and_life_by_own_arithmetic_with_their_ranges(tmp_path: Path) -> None:
    found = life(tmp_path, smartctl(used=10), smartctl(day=10, units=1_001_000, used=15))
    assert found["host_written_bytes"] == {
        "value": 10**6 * UNIT,
        "low": (10**6 - 1) * UNIT,
        "high": (10**6 + 1) * UNIT,
    }
    assert found["per_day_bytes"]["value"] == pytest.approx(51.2e9)
    assert found["dwpd"]["value"] == pytest.approx(0.0512)
    # 85 % left at 0.5 % per day; 84 % at 0.6, and 85 at 0.4.
    assert found["days_left"] == {"value": 170, "low": pytest.approx(140), "high": pytest.approx(212.5)}
    assert found["write_amplification"] is None


@pytest.mark.parametrize(("rate", "days"), [(0.07, 30), (0.2, 4), (0.33, 9), (1.4, 3)])
def test_truth_lies_in_the_range_wherever_in_a_step_the_drive_is(rate: float, days: float, tmp_path: Path) -> None:
    """A drive that is read at any place in a step of its per cent used."""
    for tenth in range(10):
        begin = 20 + tenth / 10
        end = begin + rate * days
        found = life(tmp_path, smartctl(used=int(begin)), smartctl(day=days, units=2000, used=int(end)))["days_left"]
        truth = (100 - end) / rate
        assert found["low"] <= truth <= (found["high"] or truth), (begin, found, truth)


def test_counter_that_has_not_moved_gives_a_least_life(tmp_path: Path) -> None:
    left = life(tmp_path, smartctl(), smartctl(day=30, units=2000))["days_left"]
    assert left == {"value": pytest.approx(96 * 30), "low": pytest.approx(96 * 30), "high": None}


def test_rated_bytes_give_the_life_left_in_place_of_the_per_cent(tmp_path: Path) -> None:
    found = life(tmp_path, smartctl(), smartctl(day=1, units=2_001_000), tbw="2TB")
    written = 2_001_000 * UNIT
    assert found["days_left"]["value"] == pytest.approx((2e12 - written) / (2e6 * UNIT))


def test_flash_writes_of_every_known_kind_give_the_write_amplification(tmp_path: Path) -> None:
    media = {"Physical media units written": {"hi": 0, "lo": 10**9}}
    later = {"Physical media units written": {"hi": 0, "lo": 10**9 + 3 * 10**6 * UNIT}}
    cases: list[tuple[Json | list[Json], Json | list[Json], float]] = [
        ([smartctl(), media], [smartctl(day=1, units=1_001_000), later], 3.0),
        (
            sata(("Host_Writes_32MiB", 100, 100), ("NAND_Writes_1GiB", 100, 50)),
            sata(("Host_Writes_32MiB", 100, 32_100), ("NAND_Writes_1GiB", 100, 2_550)),
            2.5,
        ),
        (
            sata(("Host_Program_Page_Count", 100, 0), ("FTL_Program_Page_Count", 100, 0)),
            sata(("Host_Program_Page_Count", 100, 10**6), ("FTL_Program_Page_Count", 100, 10**6 // 2)),
            1.5,
        ),
    ]
    for before, after, expected in cases:
        if isinstance(after, dict):
            after["local_time"] = {"time_t": 86_400}
        found = life(tmp_path, before, after)["write_amplification"]
        assert found["value"] == pytest.approx(expected)
        assert found["low"] < expected < found["high"] < 1.01 * expected


def test_counters_of_unknown_unit_are_named_and_not_read(tmp_path: Path) -> None:
    rows = [("Total_LBAs_Written", 100, 5), ("Percent_Lifetime_Used", 3, 3), ("Unknown_SSD_Attribute", 1, 7)]
    before, after = sata(*rows), sata(*rows)
    after["local_time"] = {"time_t": 86_400}
    found = life(tmp_path, before, after)
    assert list(found["unknown"]) == ["0 Total_LBAs_Written", "2 Unknown_SSD_Attribute"]
    assert found["host_written_bytes"] is None


def test_smart_log_of_nvme_counts_days_by_hours_of_power(tmp_path: Path) -> None:
    def log(hours: int, units: int) -> Json:
        return {"percent_used": 3, "data_units_written": str(units), "power_on_hours": hours, "temperature": 310}

    found = life(tmp_path, log(100, 10), log(148, 1_000_010), capacity="512GB")
    assert found["clock"] == "hours of power"
    assert found["days"] == {"value": 2, "low": 47 / 24, "high": 49 / 24}
    assert found["dwpd"]["low"] < 0.5 == found["dwpd"]["value"] < found["dwpd"]["high"]


def test_statistics_of_ata_count_sectors_of_the_drive_unless_it_says_that_they_are_not_valid(tmp_path: Path) -> None:
    def report(day: int, sectors: int, *, valid: bool = True) -> Json:
        row = {"name": "Logical Sectors Written", "value": sectors, "flags": {"valid": valid}}
        worn = {"name": "Percentage Used Endurance Indicator", "value": 3, "flags": {"valid": True}}
        statistics = {"pages": [{"table": [row, worn]}]}
        return {"logical_block_size": 4096, "local_time": {"time_t": day * 86_400}, "ata_device_statistics": statistics}

    found = life(tmp_path, report(1, 10**9), report(11, 12 * 10**8))
    assert found["host_written_bytes"]["value"] == 2 * 10**8 * 4096
    assert life(tmp_path, report(1, 10**9), report(11, 12 * 10**8, valid=False))["host_written_bytes"] is None


def test_per_cent_used_is_one_counter_whichever_tool_reports_it(tmp_path: Path) -> None:
    later = {"percent_used": 4, "data_units_written": 2000, "power_on_hours": 96}
    assert life(tmp_path, smartctl(), later)["days_left_by"] == "percentage_used"


def test_rated_bytes_of_a_drive_that_was_not_written_give_a_least_life(tmp_path: Path) -> None:
    left = life(tmp_path, smartctl(), smartctl(day=10), tbw="100TB")["days_left"]
    assert left == {"value": left["low"], "low": pytest.approx((1e14 - 1000 * UNIT) / (UNIT / 10)), "high": None}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (smartctl(), smartctl(day=1, serial="S2"), "of the serial number S1"),
        (smartctl(), smartctl(day=1, user_capacity={"bytes": 2 * 10**12}), "of the capacity 1000000000000"),
        (
            smartctl(day=1),
            smartctl(day=2, nvme_smart_health_information_log=HOURS_BACK),
            "power_on_hours fell from 24 to 4",
        ),
        (smartctl(units=9), smartctl(day=1, units=3), "Give the earlier report first"),
        (smartctl(day=1), smartctl(), "no later than"),
        ({"a": 1}, smartctl(), "no counter of host writes"),
    ],
    ids=["another-drive", "another-size", "hours-back", "cleared", "swapped", "no-report"],
)
def test_reports_that_cannot_be_compared_are_refused_with_the_way(
    before: Json, after: Json, says: str, tmp_path: Path
) -> None:
    with pytest.raises(fk.UserError, match=says):
        life(tmp_path, before, after)


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (smartctl(day=1, units=-5), "data_units_written is -5, and can be from 0"),
        (
            smartctl(day=1, units=2**64),
            "data_units_written is 1.84467440737e.19, and .* 24 hours of power",
        ),
        (smartctl(day=1, used=256), "percentage_used is 256, and can be from 0 to 255"),
        (smartctl(day=1, used=-1), "percentage_used is -1, and can be from 0 to 255"),
        (smartctl(day=50_000), "power_on_hours is 1,200,000, and can be from 0 to 8.76e.05"),
        ([smartctl(day=1), {"Physical media units written": -1}], "Physical media units written is -1"),
        ([smartctl(day=1), {"Physical media units written": {"hi": 2**60, "lo": 0}}], "media units written is .*e.37"),
        (sata(("Host_Writes_32MiB", 100, 5), ("NAND_Writes_1GiB", 100, -7)), "NAND_Writes_1GiB is -7"),
        (
            sata(("Host_Writes_32MiB", 100, 5), ("SSD_Life_Left", 101, 0)),
            "SSD_Life_Left is 101, and .* 0 to 100",
        ),
        (
            sata(("Host_Program_Page_Count", 100, 5), ("FTL_Program_Page_Count", 100, -1)),
            "FTL_Program_Page_Count is -",
        ),
        (sata(("Host_Writes_32MiB", 100, 5), ("Power_On_Hours", 100, -3)), "Power_On_Hours is -3"),
    ],
)
def test_counters_that_no_drive_can_have_are_named_with_their_limit(
    report: Json | list[Json], says: str, tmp_path: Path
) -> None:
    with pytest.raises(fk.UserError, match=says):
        life(tmp_path, smartctl(), report)


def test_command_prints_figures_and_json(call: Call, tmp_path: Path) -> None:
    life(tmp_path, smartctl(used=10), smartctl(day=10, units=1_001_000, used=15))
    paths = [str(tmp_path / "before.json"), str(tmp_path / "after.json")]
    done = call("drive", *paths)
    for part in ("51.2 GB", "0.0512", "15 % (percentage_used)", "170 days (140 days to 212 days)", "not told"):
        assert part in done.stdout, done.stdout
    assert json.loads(call("drive", *paths, "--json").stdout)["dwpd"]["value"] == pytest.approx(0.0512)


@pytest.mark.parametrize("size", ["0", "0GB", "-1TB", "many", "1EB"])
def test_sizes_that_are_none_are_refused(size: str, tmp_path: Path) -> None:
    with pytest.raises(fk.UserError, match=f"tbw {size}: is no size"):
        life(tmp_path, smartctl(), smartctl(day=1), tbw=size)


def sata_day_later(*rows: tuple[str, int, int]) -> Json:
    """The report of a SATA drive a day after `sata`."""
    return sata(*rows) | {"local_time": {"time_t": 86_400}}


def test_pages_of_host_and_drive_need_both_counters(tmp_path: Path) -> None:
    def grown(*names: str) -> Json:
        later = sata_day_later(*((name, 100, 10**6 * (place + 1)) for place, name in enumerate(names)))
        return life(tmp_path, sata(*((name, 100, 0) for name in names)), later)

    assert grown("Host_Program_Page_Count")["write_amplification"] is None
    for own in ("FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt"):
        found = grown("Host_Program_Page_Count", own)
        assert found["write_amplification"]["value"] == pytest.approx(3)
        assert found["write_amplification_by"] == f"Host_Program_Page_Count and {own}"


@pytest.mark.parametrize("name", ["SSD_Life_Left", "Remaining_Lifetime_Perc", "Percent_Lifetime_Used"])
def test_life_whose_two_values_contradict_is_not_told(name: str, tmp_path: Path) -> None:
    """Of any two values, what is told is the one that both can mean."""
    is_left = name != "Percent_Lifetime_Used"
    for normal in range(0, 101, 5):
        for raw in (0, normal, 100 - normal, 37, 74, 5_000_000):
            rows = [("Host_Writes_32MiB", 100, 1), (name, normal, raw)]
            found = life(tmp_path, sata(*rows), sata_day_later(*rows))
            if raw in (normal, 100 - normal):
                assert found["used_percent"] == (100 - normal if is_left else raw)
            elif is_left and raw in (0, 5_000_000):
                assert found["used_percent"] == 100 - normal
            else:
                assert found["used_percent"] is None
                assert f"1 {name}" in found["unknown"]


def test_flash_counter_that_stands_still_while_the_host_writes_gives_no_amplification(tmp_path: Path) -> None:
    before = sata(("Host_Writes_32MiB", 100, 0), ("NAND_Writes_32MiB", 100, 50))
    for host, is_told in ((1, True), (1000, False)):
        later = sata_day_later(("Host_Writes_32MiB", 100, host), ("NAND_Writes_32MiB", 100, 50))
        found = life(tmp_path, before, later)
        assert (found["write_amplification"] is not None) == is_told
        assert ("stood still" in (found["write_amplification_by"] or "")) != is_told


def test_counters_of_other_logs_are_read_or_named(tmp_path: Path) -> None:
    media = [
        [smartctl(day=day, units=units), {"physical_media_units_written": {"hi": 0, "lo": units * UNIT * 2}}]
        for day, units in ((0, 10**6), (1, 2 * 10**6))
    ]
    assert life(tmp_path, *media)["write_amplification"]["value"] == pytest.approx(2)
    vendor = {"Maker's log": {"nand_bytes_written": {"normalized": 100, "raw": 61_652_081}}}
    found = life(tmp_path, [smartctl(), vendor], [smartctl(day=1), vendor])
    assert found["unknown"] == {"Maker's log nand_bytes_written raw": 61_652_081}
    nested = [{"smart_log": smartctl(day=day)["nvme_smart_health_information_log"]} for day in (0, 1)]
    assert life(tmp_path, *nested)["used_percent"] == 3

    def sas(day: int, gigabytes: str) -> Json:
        counts = {"write": {"gigabytes_processed": gigabytes}}
        return {"local_time": {"time_t": 86_400 * day}, "scsi_error_counter_log": counts}

    assert life(tmp_path, sas(0, "806.827"), sas(1, "1,806.827"))["host_written_bytes"]["value"] == pytest.approx(1e12)


def test_two_counters_of_host_writes_agree_or_none_is_told(tmp_path: Path) -> None:
    def report(day: int, gib: int, sectors: int) -> Json:
        found = sata(("Host_Writes_GiB", 100, gib), ("NAND_Writes_1GiB", 100, 2 * gib))
        row = {"name": "Logical Sectors Written", "value": sectors, "flags": {"valid": True}}
        found["ata_device_statistics"] = {"pages": [{"table": [row]}]}
        return found | {"local_time": {"time_t": 86_400 * day}}

    sectors = (1 << 30) // 512
    for factor in (1, 10):
        found = life(tmp_path, report(0, 0, 0), report(1, 100, 100 * sectors * factor))
        assert (found["host_written_bytes"] is not None) == (factor == 1)
        assert ("contradict" in (found["host_written_doubt"] or "")) == (factor == 10)
        assert (found["write_amplification"] is not None) == (factor == 1)


def test_what_no_drive_does_is_refused_or_not_told(tmp_path: Path) -> None:
    with pytest.raises(fk.UserError, match="power was on for 240 hours in 24"):
        life(
            tmp_path,
            smartctl(),
            smartctl(day=1)
            | {"power_on_time": {"hours": 0}}
            | {"nvme_smart_health_information_log": {"data_units_written": 2000, "power_on_hours": 240}},
        )
    rows = (("Host_Writes_GiB", 100, 0), ("NAND_Writes_1GiB", 100, 0))
    later = sata_day_later(("Host_Writes_GiB", 100, 500), ("NAND_Writes_1GiB", 100, 10))
    found = life(tmp_path, sata(*rows), later)
    assert found["write_amplification"] is None
    assert "can hardly both" in found["write_amplification_by"]
    only_flash = [
        sata(("NAND_Writes_1GiB", 100, 0), ("Percentage_Used", 3, 3)),
        sata_day_later(("NAND_Writes_1GiB", 100, 10), ("Percentage_Used", 3, 3)),
    ]
    assert life(tmp_path, *only_flash)["write_amplification_by"] == "no counter of host writes is known"


@pytest.mark.parametrize("option", ["capacity", "tbw"])
def test_bare_numbers_of_a_drive_s_size_are_refused_with_units(option: str, tmp_path: Path) -> None:
    with pytest.raises(fk.UserError, match=f"{option} 600: has no unit.*Write 600GB"):
        life(tmp_path, smartctl(), smartctl(day=1), **{option: "600"})
