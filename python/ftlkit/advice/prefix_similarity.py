"""Which prefixes of a workload tell of the whole: those on which the reference does as there.

A device that is filled and then written collects only once its spare is used up, so a short prefix
may see none of what a long run is made of. Where no prefix does as the whole, prefixes on a device
in a steady state are looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit.advice.halving import ratio
from ftlkit.advice.query import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ftlkit.advice.measure import Measured

STEADY = "steady"
LIKE = {"response": 1.5, "write_amplification": 1.25}
"""By which factors response and write amplification of the reference may be off on a prefix."""
STEP = 2.0
"""Each prefix takes at least so many times the flash work of the one before."""
UNPRICED = 1 / 6
"""The time of a page in preparation, which is not priced, over that of a page that is served.

On fin1 in a steady state it was a third with page and a ninth with dftl, by `wall_s`,
`measured_wall_s` and pages.
"""


@dataclass(frozen=True)
class Ladder:
    """The prefixes of a search."""

    lengths: list[int]
    """Requests of each, ascending; the last is the whole searched part, prepared as asked."""
    precondition: str = ""
    """How the device is prepared for all but the last; empty: as asked."""
    whole: Measured | None = None
    """The reference on the whole part; None if there was no time."""
    unlike: list[str] = field(default_factory=list)
    """Probes that do otherwise on the first prefix than on the whole, if time forced its use."""


def ladder(
    lengths: Sequence[int],
    measure: Callable[[Sequence[str], int, str], Mapping[str, Measured]],
    metrics: Sequence[str],
    *,
    probes: Sequence[str],
    may_prepare: bool,
    affords: Callable[[Sequence[Measured]], bool],
) -> Ladder:
    """Choose among prefixes by what the reference and the probes do on them and on the whole.

    `measure` runs stacks on a prefix with a preparation, or as asked, and has what was in time. The
    reference must do on a prefix as on the whole, and so must the probes, one of each other family
    of mappings. If it does and they do not, the prefixes are taken only where `affords` says, of
    the runs on the whole, that there is no time to try every stack on the whole. The first of the
    metrics is the response. `may_prepare`: whether the preparation was left open.
    """
    last = lengths[-1]
    wholes = {stack: measured for stack, measured in measure([REFERENCE, *probes], last, "").items() if measured.rows}
    whole = wholes.pop(REFERENCE, None)
    if whole is None:
        return Ladder(list(lengths))
    otherwise = Ladder([last], "", whole)
    is_settled = affords([whole, *wholes.values()])
    for precondition in ("", STEADY) if may_prepare else ("",):
        references: dict[int, Measured] = {}
        for length in lengths[:-1]:
            reference = measure([REFERENCE], length, precondition).get(REFERENCE)
            if reference is not None and reference.rows and is_like(reference, whole, metrics):
                references[length] = reference
        off = {length: _unlike(measure(list(wholes), length, precondition), wholes, metrics) for length in references}
        alike = {length: measured for length, measured in references.items() if not off[length]}
        if alike:
            return Ladder(_spaced({**alike, last: whole}), precondition, whole)
        if references and not is_settled:
            spaced = _spaced({**references, last: whole})
            otherwise, is_settled = Ladder(spaced, precondition, whole, off.get(spaced[0], [])), True
    return otherwise


def _unlike(parts: Mapping[str, Measured], wholes: Mapping[str, Measured], metrics: Sequence[str]) -> list[str]:
    """The stacks that do otherwise on a prefix than on the whole."""
    return [
        stack for stack, measured in parts.items() if measured.rows and not is_like(measured, wholes[stack], metrics)
    ]


def is_like(part: Measured, whole: Measured, metrics: Sequence[str]) -> bool:
    """Whether a stack has the metrics of the whole on a part, and costs about as much there."""
    costs, expected = (measured.point(metrics, is_exact=True).costs for measured in (part, whole))
    limits = {metrics[0]: LIKE["response"], "write_amplification": LIKE["write_amplification"]}
    return costs.keys() == expected.keys() and all(
        1 / limit <= ratio(costs[metric], expected[metric]) <= limit
        for metric, limit in limits.items()
        if metric in expected
    )


def _spaced(measured: dict[int, Measured]) -> list[int]:
    """The longest prefix, then each time the longest with a `STEP`-th of its work or less."""
    lengths = sorted(measured, reverse=True)
    spaced = [lengths[0]]
    for length in lengths[1:]:
        if work(measured[length]) * STEP <= work(measured[spaced[-1]]):
            spaced.append(length)
    return sorted(spaced)


def work(measured: Measured) -> float:
    """The pages that a run reads and programs, warm-up and preparation included.

    A page of the preparation counts as `UNPRICED` pages. The sum says what a run costs and is the
    same on every machine, so that the same number of trials gives the same answer.
    """
    row = measured.rows[0]
    prepared = json.loads(row["document"])["runs"][0].get("precondition") or {}
    # A page that a collection programs was read before.
    before = float(prepared.get("pages_written") or 0) * (2 * float(prepared.get("page_write_amplification") or 1) - 1)
    before *= UNPRICED
    # The warm-up is as long as what is measured.
    return before + 2 * float(row["pages_read"] + row["pages_programmed"])
