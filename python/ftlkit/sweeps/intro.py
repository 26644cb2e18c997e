"""What a sweep was run on, as lines: its devices, how traces were read, the preparation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ftlkit.report.facts import intro

if TYPE_CHECKING:
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.summary import Group


def facts(plan: Plan, groups: Sequence[Group]) -> list[str]:
    """Each line once, whichever points it holds for."""
    workloads, devices = dict(plan.workloads), dict(plan.devices)
    # A device without a name is the default with the plan's keys, unless it is what is varied.
    unnamed = {"preset": None} if any(axis.key == "device.preset" for axis in plan.axes) else plan.devices[0][1]
    lines = [
        intro(
            json.loads(group.rows[0]["document"]),
            {
                "workload": workloads.get(group.workload, plan.workloads[0][1]),
                "device": devices.get(group.device, unnamed),
            },
        )
        for group in groups
    ]
    return list(dict.fromkeys(line for group in lines for line in group))
