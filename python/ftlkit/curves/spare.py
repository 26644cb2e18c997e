"""Page write amplification against spare, beside theory for uniform writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.models.uniform import greedy
from ftlkit.report.life import warranty_years
from ftlkit.sweeps.intro import facts
from ftlkit.sweeps.statements import statements
from ftlkit.sweeps.summary import groups, lives

if TYPE_CHECKING:
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep

KEY = "device.spare"


@dataclass(frozen=True)
class Measured:
    """A layer at a spare."""

    layer: str
    spare: str
    page_write_amplification: Estimate
    model: float
    """Greedy victims under uniform writes of single pages, with no block kept free."""
    slice_bytes: int | None
    """Of the slice that stood for the device, if one did."""
    has_clock: bool
    data_bytes: int
    """In use when measuring begins: a share of what the host sees of the device."""
    flash_bytes: int
    life: tuple[str, ...]
    """Head and cell of its column; empty where no point has one."""
    warranty: float
    """Years of the warranty."""
    lasts: float | None
    """The life over those years; None where it is not known or not kept up with."""


def measured(done: Sweep) -> list[Measured]:
    """What the points of a sweep over spares say; those without writes are left out."""
    points, found = [], groups(done.rows)
    head, years, shares = lives(found)
    for place, group in enumerate(found):
        amplification = group.estimate("page_write_amplification")
        if amplification is not None:
            document = json.loads(group.rows[0]["document"])
            device = document["device"]
            part, sizes = device.get("slice_bytes"), (_data_bytes(document), device["physical_bytes"])
            has_clock = any(row["simulated_ns"] is not None for row in group.rows)
            spare = group.varied[KEY]
            points.append(
                Measured(
                    group.label,
                    spare,
                    amplification,
                    _model(document),
                    part,
                    has_clock,
                    *sizes,
                    (*head, *years[place : place + 1]),
                    warranty_years(document),
                    shares[place] if shares else None,
                )
            )
    if not points:
        raise UserError("no point has a write amplification: the workload writes nothing, or every point failed.")
    return points


def told(plan: Plan, done: Sweep) -> tuple[list[str], list[str]]:
    """What the points were run on, by the first of them, and the cautions of all."""
    return facts(plan, groups(done.rows)[:1]), statements(done.rows, "wa").cautions


def _model(document: Json) -> float:
    device = document["device"]
    return greedy(_data_bytes(document) / device["physical_bytes"], device["geometry"]["pages_per_block"])


def _data_bytes(document: Json) -> int:
    in_use = float(document["study"].get("run", {}).get("in_use") or 1)
    return round(in_use * float(document["device"]["logical_bytes"]))
