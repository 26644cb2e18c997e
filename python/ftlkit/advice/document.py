"""An answer as JSON: question, advice, measurements and trials, in plain numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit._util import Json
from ftlkit._util.units import typed
from ftlkit.advice import phrasing
from ftlkit.advice.query import FRONTS
from ftlkit.advice.search_result import SearchResult, fates
from ftlkit.advice.unit_answer import UnitRow, rows

if TYPE_CHECKING:
    from ftlkit.advice.answer import Answer, StackResult


def document(answer: Answer) -> Json:
    """The answer; times in nanoseconds, sizes in bytes, as in the columns of runs."""
    query, result = answer.query, answer.result
    return {
        "ftlkit": __version__,
        "asked": {
            "workload": query.workload,
            "device": query.device,
            "options": dict(query.options),
            "goal": query.goal,
            "ram_bytes": query.ram_bytes,
            "budget_s": query.budget_s,
            "trials": query.trials,
            "seeds": query.seeds,
            "ftl": query.ftl,
        },
        "advised": answer.advised.stack,
        "sentences": [typed(sentence) for sentence in answer.sentences],
        "sure": [typed(sentence) for sentence in answer.doubts],
        "facts": [typed(fact) for fact in answer.facts],
        "cautions": [typed(sentence) for sentence in answer.cautions],
        "command": answer.command,
        "interrupted": result.interrupted,
        "measured_on": {
            "part": "held out" if answer.is_held_out else "searched",
            "requests": result.requests - result.searched if answer.is_held_out else result.last.requests,
            "seeds": answer.seeds,
        },
        "stacks": [_told(stack) for stack in answer.stacks],
        "mapping_units": [_unit(row) for row in rows(query, result)],
        "prefixes": _prefixes(result),
        "mappings": [
            {"name": fate.name, "stacks": fate.stacks, "requests": fate.requests, "reason": typed(fate.reason)}
            for fate in fates(query, result)
        ],
    }


def _told(stack: StackResult) -> Json:
    figures = {metric: phrasing.of(metric, stack.measured) for metric in ("ram_bytes", *FRONTS)}
    life = stack.measured.least("life_bytes")
    return {
        "stack": stack.stack,
        "advised": stack.is_advised,
        "on_fronts": [metric for metric in FRONTS if metric in stack.fronts],
        "keys": [row["key"] for row in stack.measured.rows],
        "life_at_least_bytes": life,
        **{
            metric: None if estimate is None else {"mean": estimate.mean, "half_width": estimate.half_width}
            for metric, estimate in figures.items()
        },
    }


def _unit(row: UnitRow) -> Json:
    """A stack with a mapping unit, measured with one seed."""
    return {
        "unit_bytes": row.trial.unit_bytes,
        "is_of_the_device": row.trial.is_own,
        "stack": row.measured.stack,
        "is_best": row.is_best,
        "ram_per_tb_bytes": row.per_tb,
        "key": row.measured.rows[0]["key"],
        **{metric: row.measured.mean(metric) for metric in ("ram_bytes", *FRONTS)},
    }


def _finite(far: float) -> float | None:
    """A distance; null for one without bound, for which JSON has no number."""
    return far if math.isfinite(far) else None


def _prefixes(result: SearchResult) -> list[Json]:
    return [
        {
            "requests": rung.requests,
            "tried": [
                {"stack": measured.stack, **{metric: measured.mean(metric) for metric in ("ram_bytes", *FRONTS)}}
                for measured in rung.tried.values()
                if measured.rows
            ],
            "too_much_ram": list(rung.over),
            "failed": rung.failed,
            "beaten": {stack: _finite(far) for stack, far in rung.halved.beaten.items()} if rung.halved else {},
            "crowded_out": rung.halved.crowded if rung.halved else [],
            "unfinished": [*rung.unfinished, *(rung.halved.late if rung.halved else [])],
        }
        for rung in result.rungs
    ]
