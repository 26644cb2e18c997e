"""An answer as JSON: what was asked, advised, measured and tried, in plain numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit._util.units import typed
from ftlkit.advice import phrasing, trial_table
from ftlkit.advice.query import FRONTS

if TYPE_CHECKING:
    from ftlkit.advice.answer import Answer, Told
    from ftlkit.advice.search_result import Found
    from ftlkit.results.document import Json


def document(answer: Answer) -> Json:
    """The answer; times in nanoseconds, sizes in bytes, as in the columns of runs."""
    asked, found = answer.asked, answer.found
    return {
        "ftlkit": __version__,
        "asked": {
            "workload": asked.workload,
            "device": asked.device,
            "options": dict(asked.options),
            "goal": asked.goal,
            "ram_bytes": asked.ram_bytes,
            "budget_s": asked.budget_s,
            "trials": asked.trials,
            "seeds": asked.seeds,
            "ftl": asked.ftl,
        },
        "advised": answer.advised.stack,
        "sentences": [typed(each) for each in answer.sentences],
        "sure": [typed(each) for each in answer.doubts],
        "cautions": [typed(each) for each in answer.cautions],
        "command": answer.command,
        "interrupted": found.interrupted,
        "measured_on": {
            "part": "held out" if answer.is_held_out else "searched",
            "requests": found.requests - found.searched if answer.is_held_out else found.last.requests,
            "seeds": found.seeds if answer.is_held_out else 1,
        },
        "stacks": [_told(each) for each in answer.told],
        "prefixes": _prefixes(found),
        "mappings": [
            {"name": each.name, "stacks": each.stacks, "requests": each.requests, "reason": typed(each.reason)}
            for each in trial_table.fates(asked, found)
        ],
    }


def _told(told: Told) -> Json:
    figures = {metric: phrasing.of(metric, told.measured) for metric in ("ram_bytes", *FRONTS)}
    life = told.measured.least("life_bytes")
    return {
        "stack": told.stack,
        "advised": told.is_advised,
        "on_fronts": [metric for metric in FRONTS if metric in told.fronts],
        "keys": [row["key"] for row in told.measured.rows],
        "life_at_least_bytes": life,
        **{
            metric: None if each is None else {"mean": each.mean, "half_width": each.half_width}
            for metric, each in figures.items()
        },
    }


def _finite(far: float) -> float | None:
    """A distance; null for one without bound, for which JSON has no number."""
    return far if math.isfinite(far) else None


def _prefixes(found: Found) -> list[Json]:
    return [
        {
            "requests": rung.requests,
            "tried": [
                {"stack": each.stack, **{metric: each.mean(metric) for metric in ("ram_bytes", *FRONTS)}}
                for each in rung.tried.values()
                if each.rows
            ],
            "too_much_ram": list(rung.over),
            "failed": rung.failed,
            "beaten": {stack: _finite(far) for stack, far in rung.halved.beaten.items()} if rung.halved else {},
            "crowded_out": rung.halved.crowded if rung.halved else [],
            "unfinished": [*rung.unfinished, *(rung.halved.late if rung.halved else [])],
        }
        for rung in found.rungs
    ]
