"""`fk.drive_life`: what two reports of a drive's counters tell.

>>> import ftlkit as fk
>>> life = fk.drive_life("monday.json", "friday.json")  # doctest: +SKIP
>>> life["per_day_bytes"]  # doctest: +SKIP
{'value': 812000000000.0, 'low': 811999872000.0, 'high': 812000128000.0}
"""

from dataclasses import asdict
from pathlib import Path

from ftlkit._util import Json
from ftlkit._util.sizes import drive_bytes
from ftlkit.drive.counters import read
from ftlkit.drive.life import Life, Range, between


def drive_life(before: str | Path, after: str | Path, *, capacity: str | None = None, tbw: str | None = None) -> Json:
    """Compare two reports of a drive, `smartctl -j -x` or `nvme smart-log -o json`.

    `capacity` is the drive's size where the reports lack it, `tbw` its rated bytes written, both
    such as `960GB`. Each figure is a table of `value`, `low` and `high`, or None where no counter
    tells it; `high` is None without bound.
    """
    return document(compared(before, after, capacity=capacity, tbw=tbw))


def compared(before: str | Path, after: str | Path, *, capacity: str | None = None, tbw: str | None = None) -> Life:
    """The same before it is a document."""
    sizes = {name: drive_bytes(name, text) for name, text in (("capacity", capacity), ("tbw", tbw))}
    return between(read(before), read(after), **sizes)


def document(life: Life) -> Json:
    """All figures, as JSON has them."""

    def table(found: Range | None) -> Json | None:
        return None if found is None else asdict(found)

    after = life.after
    return {
        "model": after.model or life.before.model,
        "serial": after.serial or life.before.serial,
        "days": table(life.days),
        "clock": life.clock,
        "host_written_bytes": table(life.written),
        "host_written_doubt": life.doubt,
        "per_day_bytes": table(life.per_day),
        "write_amplification": table(life.write_amplification),
        "write_amplification_by": life.counted_by,
        "dwpd": table(life.dwpd),
        "days_left": table(life.days_left),
        "days_left_by": life.left_by,
        "used_percent": after.used.value if after.used else None,
        "unknown": after.unknown,
    }
