"""Counters of a drive, as `smartctl -j` and `nvme smart-log -o json` report them.

A counter counts in steps: an NVMe data unit is 512,000 bytes, an attribute of a SATA drive has its
unit in its name (`Host_Writes_32MiB`). A reading is up to a step away from the truth. Counters
without a unit in their names are not guessed: they are listed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlkit._native import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ftlkit.results.document import Json

DATA_UNIT = 512_000
"""Bytes of a data unit of NVMe."""

COMMANDS = "`smartctl -j -x DEVICE` or `nvme smart-log -o json DEVICE`"

_SIZES = {"MiB": 1 << 20, "GiB": 1 << 30, "GB": 10**9, "TB": 10**12, "TiB": 1 << 40}
_HOST = re.compile(r"^(?:Host|Lifetime)_Writes?_(\d*)(MiB|GiB|GB|TB|TiB)$")
_FLASH = re.compile(r"^(?:NAND|TLC|SLC|MLC|Flash)_(?:Writes?|Written)_(\d*)(MiB|GiB|GB|TB|TiB)$")
_FLASH_OTHER = re.compile(r"^NAND_(MiB|GiB|GB|TB|TiB)_Written(?:_(?:TLC|SLC|MLC))?$")
"""Attributes of the drive database of smartctl that name what they count, and in what step."""

_WORN = ("Percent_Lifetime_Used", "Percentage_Used")
_LEFT = ("Percent_Lifetime_Remain", "SSD_Life_Left", "Media_Wearout_Indicator", "Remaining_Lifetime_Perc")
"""Attributes whose normalised value is the life used or left, per cent."""


@dataclass(frozen=True)
class Counter:
    """A count of bytes or of per cent, in steps."""

    value: float
    step: float
    name: str
    """How the report calls it."""


@dataclass
class Reading:
    """A drive's counters at one time."""

    source: str
    model: str | None = None
    serial: str | None = None
    time_s: float | None = None
    """When the report was made, in seconds since 1970."""
    capacity: float | None = None
    host: Counter | None = None
    """Bytes that the host has written."""
    flash: Counter | None = None
    """Bytes that the drive has programmed."""
    pages: tuple[Counter, Counter] | None = None
    """Pages programmed for the host and for the drive itself."""
    used: Counter | None = None
    """Rated life that is used, per cent."""
    hours: Counter | None = None
    """Hours of power."""
    unknown: dict[str, float] = field(default_factory=dict)
    """Counters of the vendor whose names say no unit."""


def read(path: str | Path) -> Reading:
    """Read a report. A file may also have an array of reports of one drive, made at one time."""
    path = Path(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. Give what {COMMANDS} printed.") from None
    except (ValueError, UnicodeDecodeError):
        raise UserError(f"{path} is not JSON. Give what {COMMANDS} printed.") from None
    reading = Reading(str(path))
    for report in found if isinstance(found, list) else [found]:
        if isinstance(report, dict):
            _take(report, reading)
    if reading.host is None and reading.used is None and reading.pages is None:
        raise UserError(
            f"{path} has no counter of host writes and none of the life that is used. Give what {COMMANDS} printed."
            + _unknown(reading)
        )
    return reading


def _unknown(reading: Reading) -> str:
    return f" Counters of unknown meaning: {', '.join(reading.unknown)}." if reading.unknown else ""


def _take(report: Json, reading: Reading) -> None:
    """Add what a report has to a reading."""
    reading.model = reading.model or report.get("model_name")
    reading.serial = reading.serial or report.get("serial_number")
    reading.time_s = reading.time_s or _number(_within(report, "local_time", "time_t"))
    size = _within(report, "user_capacity", "bytes") or report.get("nvme_total_capacity")
    reading.capacity = reading.capacity or _number(size)
    hours = _number(_within(report, "power_on_time", "hours"))
    if hours is not None:
        reading.hours = Counter(hours, 1, "power_on_time")
    log = report.get("nvme_smart_health_information_log", report)
    _nvme(log, reading)
    sector = int(_number(report.get("logical_block_size")) or 512)
    for row in _statistics(report):
        _statistic(row, reading, sector)
    for row in _rows(report, "ata_smart_attributes"):
        _attribute(row, reading)
    units = _number(_wide(report.get("Physical media units written")))
    if units is not None:
        reading.flash = Counter(units, 1, "Physical media units written")


def _nvme(log: Json, reading: Reading) -> None:
    units = _number(_wide(log.get("data_units_written")))
    if units is not None:
        reading.host = Counter(units * DATA_UNIT, DATA_UNIT, "data_units_written")
    for name in ("percentage_used", "percent_used"):
        if (used := _number(log.get(name))) is not None:
            reading.used = Counter(used, 1, "percentage_used")
    if (hours := _number(_wide(log.get("power_on_hours")))) is not None:
        reading.hours = Counter(hours, 1, "power_on_hours")


def _statistic(row: Json, reading: Reading, sector: int) -> None:
    """A row of the device statistics of ATA, whose meanings the standard has."""
    name, value = str(row.get("name")), _number(row.get("value"))
    if value is None or _within(row, "flags", "valid") is False:
        return
    if name == "Logical Sectors Written":
        reading.host = Counter(value * sector, sector, name)
    elif name == "Percentage Used Endurance Indicator":
        reading.used = Counter(value, 1, name)


def _attribute(row: Json, reading: Reading) -> None:
    """An attribute of a SATA drive, by its name: numbers differ between makers."""
    name, raw = str(row.get("name")), _number(_within(row, "raw", "value"))
    normal = _number(row.get("value"))
    if raw is None:
        return
    if host := _HOST.match(name):
        step = int(host[1] or 1) * _SIZES[host[2]]
        reading.host = reading.host or Counter(raw * step, step, name)
    elif flash := _FLASH.match(name) or _FLASH_OTHER.match(name):
        *many, unit = flash.groups()
        step = int((many or ["1"])[0] or 1) * _SIZES[unit]
        reading.flash = Counter(raw * step, step, name)
    elif name in ("Host_Program_Page_Count", "FTL_Program_Page_Count"):
        pages = reading.pages or (Counter(0, 1, ""), Counter(0, 1, ""))
        counted = Counter(raw, 1, name)
        reading.pages = (counted, pages[1]) if name.startswith("Host") else (pages[0], counted)
    elif name in _WORN and normal is not None:
        reading.used = reading.used or Counter(normal, 1, name)
    elif name in _LEFT and normal is not None:
        reading.used = reading.used or Counter(100 - normal, 1, name)
    elif name == "Power_On_Hours":
        reading.hours = reading.hours or Counter(raw, 1, name)
    elif re.search(r"writ|nand|program|erase|wear|life|unknown", name, re.IGNORECASE):
        reading.unknown[f"{row.get('id')} {name}"] = raw


def _statistics(report: Json) -> Iterator[Json]:
    for page in _list(_within(report, "ata_device_statistics", "pages")):
        yield from _list(page.get("table"))


def _rows(report: Json, name: str) -> list[Json]:
    return _list(_within(report, name, "table"))


def _list(value: Any) -> list[Json]:  # noqa: ANN401 - as the report has it
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _within(report: Json, *path: str) -> Any:  # noqa: ANN401 - as the report has it
    value: Any = report
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _wide(value: Any) -> Any:  # noqa: ANN401 - as the report has it
    """A number of 128 bits, which some reports have in halves."""
    if isinstance(value, dict) and {"hi", "lo"} <= value.keys():
        return (int(value["hi"]) << 64) + int(value["lo"])
    return value


def _number(value: Any) -> float | None:  # noqa: ANN401 - as the report has it
    """A number, or one that stands in a text, perhaps with commas."""
    if isinstance(value, str):
        value = value.replace(",", "").strip()
        value = int(value) if value.isdigit() else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None
