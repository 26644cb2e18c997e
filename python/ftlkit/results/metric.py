"""One metric of a run: name, meaning, unit, type, source, better direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlkit._util import units

if TYPE_CHECKING:
    from ftlkit.results.document import Run

LOWER, HIGHER = "lower", "higher"

_SHOWN: dict[str, Callable[[Any], str]] = {
    "ns": units.duration,
    "B": units.size,
    "share": units.share,
    "1/s": units.rate,
    "B/s": lambda value: units.plain(None if value is None else value / 1e6),
    "": units.plain,
}
"""How people read values of a unit; counts (requests, pages, blocks ...) are whole numbers.

Bytes per second are shown in MB/s, as makers of drives state them, and the heading says so.
"""


@dataclass(frozen=True)
class Metric:
    """One number or word about a run."""

    name: str
    """Its column in frames and files and its name in reproductions; a unit comes last."""
    meaning: str
    unit: str
    """`ns`, `B` (bytes), `B/s`, `1/s`, `share` (0 to 1), what is counted, or nothing."""
    type: type
    source: str
    """Its source: keys of a run in the JSON results, parts by dots, several by commas."""
    better: str = ""
    """`lower`, `higher`, or nothing where neither is."""
    heading: str = ""
    """What it is called at the head of a table; those without one are in no table."""
    short: str = ""
    """The same on a terminal, if shorter."""
    when: str = ""
    """The metric that must be above 0 in some run for this one to be shown; empty: none."""
    compute: Callable[[Run], Any] | None = None
    """How it follows from its source; without this it is the value that stands there."""
    is_column: bool = True
    """Whether it is a column of `Results.runs`; the others are for reproductions alone."""

    @property
    def needs_clock(self) -> bool:
        """Whether it is null without a clock: a time, a rate, or a share of time."""
        is_of_time = self.source.startswith(("load.", "utilisation.")) or self.name == "levelling_time_share"
        return is_of_time or self.unit in ("ns", "1/s", "B/s")

    def value(self, run: Run) -> Any:  # noqa: ANN401 - text, whole number, real number, switch or null
        """Its value in a run; null where there is none."""
        return self.compute(run) if self.compute else look_up(run, self.source)

    def text(self, value: Any) -> str:  # noqa: ANN401 - any value of the metric
        """A value as people read it."""
        lives = self.source.startswith(("endurance.", "bit_errors."))
        if self.unit == "B" and (lives or self.source.endswith("host_written_bytes")):
            # A life, which makers of drives state in decimal units: so do all sentences and tables
            # here.
            return units.written(value)
        return _SHOWN.get(self.unit, units.count)(value)


def look_up(run: Run, source: str) -> Any:  # noqa: ANN401 - any JSON
    """The value at a dotted key of a run; null without such a key, as in older results."""
    node: Any = run
    for key in source.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    return node
