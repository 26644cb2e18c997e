"""Counters of a drive, as `smartctl -j` and `nvme smart-log -o json` report them.

A counter counts in steps: an NVMe data unit is 512,000 bytes, an attribute of a SATA drive has its
unit in its name (`Host_Writes_32MiB`). A reading is up to a step away from the truth. Counters
without a unit in their names are not guessed: they are listed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ftlkit._native import UserError
from ftlkit._util import Json

DATA_UNIT = 512_000
"""Bytes of a data unit of NVMe."""

MOST_PERCENT = 100
"""Attributes of SATA count life in per cent of the rated one."""

NEAR_PERCENT = 2
"""Two counters of the life used that are so near agree, per cent."""

_MEDIA = ("Physical media units written", "physical_media_units_written")
"""Bytes programmed, in the two spellings of the OCP log."""

FASTEST = 128e9
"""Bytes per second beyond every host interface: 16 lanes of PCIe 6."""

MOST_PER_WRITE = 1000
"""Write amplification beyond that of any drive."""

MOST_USED = 255
"""Per cent of the rated life that a report can tell: NVMe and ATA have one byte for it."""

MOST_HOURS = 24 * 365 * 100
"""Hours of power beyond the age of every drive: a hundred years."""

COMMANDS = "`smartctl -j -x DEVICE` or `nvme smart-log -o json DEVICE`"

_SIZES = {"MiB": 1 << 20, "GiB": 1 << 30, "GB": 10**9, "TB": 10**12, "TiB": 1 << 40}
_HOST = re.compile(r"^(?:Host|Lifetime)_Writes?_(\d*)(MiB|GiB|GB|TB|TiB)$")
_FLASH = re.compile(r"^(?:NAND|TLC|SLC|MLC|Flash)_(?:Writes?|Written)_(\d*)(MiB|GiB|GB|TB|TiB)$")
_FLASH_OTHER = re.compile(r"^NAND_(MiB|GiB|GB|TB|TiB)_Written(?:_(?:TLC|SLC|MLC))?$")
"""Attributes of the drive database of smartctl that name what they count, and in what step."""

_OWN_PAGES = re.compile(r"^(?:FTL|Bckgnd)_Program_Page_(?:Count|Cnt)$")
"""Pages that the drive programmed on its own account."""

_WORN = ("Percent_Lifetime_Used", "Percentage_Used")
"""Attributes whose raw value is the life used, per cent; the normalised one counts up or down."""
_LEFT = ("Percent_Lifetime_Remain", "SSD_Life_Left", "Media_Wearout_Indicator", "Remaining_Lifetime_Perc")
"""Attributes whose normalised value is the life left, per cent; the raw one may be anything."""
_OF_VENDOR = re.compile(r"(?!.*(?:fail|error|reads))(?:.*(?:writ|nand|program|erase|wear|life|unknown))", re.IGNORECASE)
"""Names of attributes that may tell of writes and wear."""
_OF_LOG = re.compile(
    r"(?!.*(?:normalized|read|fail|error))(?:.*(?:nand|flash|media_units|wear|bytes_written))", re.IGNORECASE
)
"""The same of vendors' logs of NVMe."""


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
    host_again: Counter | None = None
    """The same by another counter."""
    flash: Counter | None = None
    """Bytes that the drive has programmed."""
    host_pages: Counter | None = None
    """Pages programmed for the host."""
    own_pages: Counter | None = None
    """Pages programmed for the drive itself."""
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
    _require_possible(reading)
    if reading.host is None and reading.used is None and reading.host_pages is None:
        raise UserError(
            f"{path} has no counter of host writes and none of the life that is used. Give what {COMMANDS} printed."
            + _unknown(reading)
        )
    return reading


def _require_possible(reading: Reading) -> None:
    """Raise a `UserError` that names a counter which no drive can have, and its limit."""
    powered_s = 3600 * (reading.hours.value + 1 if reading.hours else MOST_HOURS)
    limits: list[tuple[Counter | None, float]] = [(reading.hours, MOST_HOURS), (reading.used, MOST_USED)]
    limits += [(reading.host, FASTEST * powered_s), (reading.flash, MOST_PER_WRITE * FASTEST * powered_s)]
    limits += [(pages, MOST_PER_WRITE * FASTEST * powered_s / 512) for pages in (reading.host_pages, reading.own_pages)]
    for counter, most in limits:
        if counter is None or 0 <= counter.value <= most:
            continue
        # As the report has it: in steps, or as the life that is left.
        count, limit = counter.value / counter.step, f"{most / counter.step:,.4g}"
        if counter.name in _LEFT:
            count, limit = 100 - counter.value, "100"
        after = f" after {reading.hours.value:,g} hours of power" if reading.hours and most > MOST_HOURS else ""
        raise UserError(
            f"{reading.source}: {counter.name} is {count:,.12g}, and can be from 0 to {limit}{after}. Give the report "
            f"as {COMMANDS} printed it."
        )


def _unknown(reading: Reading) -> str:
    return f" Counters of unknown meaning: {', '.join(reading.unknown)}." if reading.unknown else ""


def _take(report: Json, reading: Reading) -> None:
    """Add what a report has to a reading."""
    reading.model = reading.model or report.get("model_name")
    reading.serial = reading.serial or report.get("serial_number")
    reading.time_s = reading.time_s or _number(_within(report, "local_time", "time_t"))
    size = _within(report, "user_capacity", "bytes") or report.get("nvme_total_capacity")
    # 0 where a drive does not tell.
    reading.capacity = reading.capacity or max(_number(size) or 0, 0) or None
    hours = _number(_within(report, "power_on_time", "hours"))
    if hours is not None:
        reading.hours = Counter(hours, 1, "power_on_time")
    log = report.get("nvme_smart_health_information_log") or report.get("smart_log")
    _nvme(log if isinstance(log, dict) else report, reading)
    _scsi(report, reading)
    sector = int(_number(report.get("logical_block_size")) or 512)
    for row in _statistics(report):
        _statistic(row, reading, sector)
    for row in _list(_within(report, "ata_smart_attributes", "table")):
        _attribute(row, reading)
    for name in _MEDIA:
        if (units := _number(_wide(report.get(name)))) is not None:
            reading.flash = Counter(units, 1, _MEDIA[0])
    _vendor(report, "", reading)


def _vendor(report: Json, path: str, reading: Reading) -> None:
    """Name the counters of the vendor in a log of NVMe, wherever they stand in it."""
    for name, value in report.items():
        if name in _MEDIA or name.startswith(("ata_", "scsi_")):
            continue
        if isinstance(value, dict) and not {"hi", "lo"} <= value.keys():
            _vendor(value, f"{path}{name} ", reading)
        elif (count := _number(_wide(value))) is not None and _OF_LOG.match(path + name):
            reading.unknown[path + name] = count


def _scsi(report: Json, reading: Reading) -> None:
    """The counters of a SAS drive: its log counts 10^9 bytes, to three digits."""
    gigabytes = _number(_within(report, "scsi_error_counter_log", "write", "gigabytes_processed"))
    if gigabytes is not None:
        reading.host = Counter(gigabytes * 10**9, 10**6, "gigabytes_processed")
    if (used := _number(report.get("scsi_percentage_used_endurance_indicator"))) is not None:
        reading.used = Counter(used, 1, "scsi_percentage_used_endurance_indicator")


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
    if _counts_bytes(name, raw, reading):
        return
    if name == "Host_Program_Page_Count":
        reading.host_pages = Counter(raw, 1, name)
    elif _OWN_PAGES.match(name):
        reading.own_pages = Counter(raw, 1, name)
    elif (used := _used(name, normal, raw)) is not None:
        reading.used = reading.used or Counter(used, 1, name)
        if abs(reading.used.value - used) > NEAR_PERCENT:
            reading.unknown[f"{row.get('id')} {name}"] = raw
    elif name == "Power_On_Hours":
        reading.hours = reading.hours or Counter(raw, 1, name)
    elif _OF_VENDOR.match(name):
        reading.unknown[f"{row.get('id')} {name}"] = raw


def _counts_bytes(name: str, raw: float, reading: Reading) -> bool:
    """Take a counter whose name has a unit of bytes; tells whether it is one."""
    if host := _HOST.match(name):
        step = int(host[1] or 1) * _SIZES[host[2]]
        counted = Counter(raw * step, step, name)
        if reading.host is None:
            reading.host = counted
        elif reading.host.name != name:
            reading.host_again = counted
    elif flash := _FLASH.match(name) or _FLASH_OTHER.match(name):
        *many, unit = flash.groups()
        step = int((many or ["1"])[0] or 1) * _SIZES[unit]
        reading.flash = Counter(raw * step, step, name)
    else:
        return False
    return True


def _used(name: str, normal: float | None, raw: float) -> float | None:
    """The life used, per cent; None where normalised and raw value contradict each other."""
    if normal is None:
        return None
    agree = raw in (normal, MOST_PERCENT - normal)
    if name in _WORN and agree:
        return raw
    # Raw values of nothing, and those that are no per cent, say nothing of it.
    if name in _LEFT and (agree or raw == 0 or raw > MOST_PERCENT):
        return MOST_PERCENT - normal
    return None


def _statistics(report: Json) -> Iterator[Json]:
    for page in _list(_within(report, "ata_device_statistics", "pages")):
        yield from _list(page.get("table"))


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
        number = re.fullmatch(r"-?\d+(\.\d+)?", value, re.ASCII)
        value = (float if number[1] else int)(value) if number else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
