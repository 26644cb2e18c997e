"""Under which conditions the figures of an answer hold: the device in use, its size, RAM, power.

A stack that is best on a new device, on one much larger than what the workload touches, or with all
the RAM that was searched, may not be best on another.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit._util.stacks import mapping
from ftlkit.advice.life import is_wide, missing_options
from ftlkit.advice.query import REFERENCE
from ftlkit.advice.space import holders, is_ram
from ftlkit.api import catalogue
from ftlkit.own.references import as_typed
from ftlkit.report.cautions import all_cautions, writes
from ftlkit.results.derived import program_buffer
from ftlkit.results.outcome import Outcome, device_of
from ftlkit.study.device_size import GEOMETRY
from ftlkit.sweeps.goals import TIMELESS

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import SearchResult

_WIDER = 1.1
"""From this ratio of span to device on, the span of a densely placed trace is named."""
_ALL = 0.95
"""From this share of the most RAM that was tried on, a stack takes all of it."""
_ALL_HITS = 0.9995
"""From this share of look-ups on, printed as 100 %, a cache holds all that is asked for."""
_HARDLY = 0.01
"""Below this share of the blocks so few were erased that collecting was not measured."""
_OF_A_NEW_DEVICE = {
    "nothing_erased": "no block was erased",
    "collections_not_reached": "collecting and merging copied hardly anything",
    "rising": "write amplification had risen in the run",
}
"""Kinds of caution that tell of a device which is not in use yet, and what they say."""


def of_a_new_device(query: Query, result: SearchResult, best: Measured, reference: Measured | None) -> list[str]:
    """That the advice may be another on a device in use; nothing where it was in use.

    It was new if the run of the advised stack tells so, or that of the reference: what one of them
    erases by its own way of merging says nothing of what collecting would cost.
    """
    if preparation(best.rows[0]) == "steady":
        return []
    for measured in (best, *([reference] if reference is not None and reference.rows else [])):
        why = _is_new(measured)
        if why:
            return [
                (
                    f"On a device in use another stack may be best: {why} under {measured.stack}. "
                    f"{_in_use(query, result, is_unerased=why == _OF_A_NEW_DEVICE['nothing_erased'])}."
                )
            ]
    return []


def _in_use(query: Query, result: SearchResult, *, is_unerased: bool) -> str:
    """What measures a device in use: one as large as what the trace touches, if that may be."""
    smaller = _smaller(query, result)
    if not smaller:
        return "--precondition steady measures a device in use"
    so = ", so nothing was collected" if is_unerased else ""
    parts = f"{units.size(result.touched_bytes)} of {units.size(result.capacity)}"
    return (
        f"The trace touches {parts}{so}; {smaller} --precondition steady measures one in use that is as large as that"
    )


def _smaller(query: Query, result: SearchResult) -> str:
    """The option that makes a wide device as large as what is touched; empty if there is none."""
    return next(iter(missing_options(query)), "") if is_wide(result) else ""


def _is_new(measured: Measured) -> str:
    """What in the run of a stack tells that the device was new; empty if nothing does."""
    outcome = Outcome(json.loads(measured.rows[0]["document"]))
    caution_kinds = {caution.kind for caution in all_cautions(outcome)}
    kinds = [kind for kind in _OF_A_NEW_DEVICE if kind in caution_kinds]
    if kinds:
        return _OF_A_NEW_DEVICE[kinds[0]]
    device, run = device_of(outcome.document), outcome.document["runs"][0]
    geometry, erases = device["geometry"], run["erases"]["total"]
    blocks = math.prod(geometry[key] for key in GEOMETRY[:-1])
    if not writes(run) or erases >= _HARDLY * blocks:
        return ""
    return f"only {units.count(erases)} of {several(round(blocks), 'block')} {'was' if erases == 1 else 'were'} erased"


def preparation(row: Json) -> str:
    """How the device was prepared for a run."""
    return str((json.loads(row["document"])["runs"][0].get("precondition") or {}).get("mode", "none"))


def without_responses(query: Query, best: Measured) -> list[str]:
    """That responses were not measured where the goal needs no clock, and how they are."""
    if query.goal not in TIMELESS or any(row["simulated_ns"] is not None for row in best.rows):
        return []
    both = f"Ask for both goals (--goal {'life' if query.levels_wear else query.goal},mean)"
    if best.stack == REFERENCE:
        return [f"Response times were not measured: this goal needs no clock. {both}."]
    return [
        (
            f"Response times were not measured: this goal needs no clock, and {best.stack} may answer slower than "
            f"{REFERENCE}. {both}, or compare the two (ftlkit compare)."
        )
    ]


def durably(query: Query, result: SearchResult, best: Measured) -> list[str]:
    """That the advised stack loses no acknowledged write, where that matters."""
    if not (query.durable or result.flushes) or holders(best.stack):
        return []
    document = json.loads(best.rows[0]["document"])
    buffer = program_buffer(document["runs"][0])
    also = f", and a program buffer of {units.size(buffer)}, saved by power_loss_protection" if buffer else ""
    is_exposed = document["study"].get("device", {}).get("power_loss_protection") is False
    return [
        (
            f"A power cut loses no {'flushed' if is_exposed else 'acknowledged'} write: RAM of {best.stack} holds "
            f"mapping data, found again in flash{also}. {_torture(best.stack)}"
        )
    ]


def _torture(stack: str) -> str:
    """How to check that."""
    return f"To check it: `ftlkit torture --minutes 1 --ftl {as_typed(stack)}`."


def in_ram(query: Query, result: SearchResult, best: Measured) -> list[str]:
    """What the advised stack keeps in RAM, and whether more than was searched may be better."""
    sentences = []
    ram = best.mean("ram_bytes") or 0.0
    is_most = query.ram_bytes is None and ram >= _ALL * _most_ram(result, best.stack)
    if is_most and query.goal != "ram" and not caches_all(best):
        better = "faster" if query.metric == query.response and query.keeps_time else "better"
        limit = "about what a whole map takes (--ram sets another limit)"
        sentences.append(f"RAM was searched up to {units.size(ram)}, {limit}; more may be {better}.")
    buffers = holders(best.stack)
    if result.flushes and query.goal not in TIMELESS:
        unpriced = "" if query.ftl else ", so stacks with a write buffer were not searched (--ftl names them)"
        unpriced = f", in which {' and '.join(buffers)} writes its RAM" if buffers else unpriced
        sentences.append(f"Response times leave out the workload's {several(result.flushes, 'flush')}{unpriced}.")
    if not buffers:
        return sentences
    amplification = best.mean("write_amplification")
    if amplification is not None and amplification < 1:
        sentences.append(
            f"It works as a write cache: flash programs {units.plain(amplification)} per byte written by the host."
        )
    flushes = f"flushes {several(result.flushes, 'time')}" if result.flushes else "never flushes"
    check = f" {_torture(best.stack)}" if result.flushes else ""
    loses = f"A power cut loses unflushed data in RAM of {' and '.join(buffers)}; the workload {flushes}."
    sentences.append(loses + check)
    return sentences


def caches_all(stack: Measured) -> bool:
    """Whether a cache of the map answered all look-ups, so that a larger one would buy nothing."""
    return (stack.mean("mapping_hit_ratio") or 0.0) >= _ALL_HITS


def _most_ram(result: SearchResult, stack: str) -> float:
    """The most RAM that was tried with a mapping; infinite if no part of the stack has a size."""
    parts = {part["name"]: part["parameters"] for part in catalogue.parts()}
    if not any(is_ram(parameter) for part in stack.split("+") for parameter in parts[mapping(part)]):
        return float("inf")
    tried = [measured for rung in result.rungs for measured in rung.tried.values() if measured.rows]
    return max(measured.mean("ram_bytes") or 0.0 for measured in tried if mapping(measured.stack) == mapping(stack))


def of_the_size(query: Query, result: SearchResult, best: Measured) -> list[str]:
    """That RAM and life are of a device of its size, where the workload's span is another one.

    The span is wider than a device for what the workload touches, or that is a part of the device.
    """
    if query.document()["workload"].get("addresses") == "dense":
        told = _of_a_dense_device(best)
        if told:
            return told
    if smaller := _smaller(query, result):
        return [
            (
                f"The device has {units.size(result.capacity)} for the host, and the trace touches "
                f"{units.size(result.touched_bytes)} of it. On a device for that alone ({smaller}) the RAM of "
                f"maps and the life are about {units.share(result.touched_bytes / result.capacity)} as large."
            )
        ]
    return []


def _of_a_dense_device(best: Measured) -> list[str]:
    """That RAM and life are of a device for what the workload touches, where its span is wider."""
    document = json.loads(best.rows[0]["document"])
    span = (document["workload"].get("read_as") or {}).get("end_byte") or 0
    room = document["device"]["logical_bytes"]
    times = span / room
    if times < _WIDER:
        return []
    return [
        (
            f"--addresses dense: the device has {units.size(room)} for the host, and the trace's addresses reach "
            f"{units.size(span)}. The RAM of maps and the life grow with the device: for the whole span both are about "
            f"{units.factor(times)} as large."
        )
    ]
