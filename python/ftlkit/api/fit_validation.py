"""Validate a look-alike: compare results of six stacks on the trace and on it.

No figure of these runs is fitted, so they are held out. Only the service times of
`fit/arrivals.rs` were chosen once with mean responses of hm_0 and Financial1 in sight. A
look-alike is drawn several times, and what is told is the draw that is furthest off: one draw may
hit a figure by luck. Both workloads run on one device, renumbered densely and filled first, with
little beyond the pages that they touch: there collections, merges and misses decide. Of a long
workload its beginning is run.
"""

import json
from dataclasses import dataclass

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.native_call import asked
from ftlkit._util.progress import Watcher
from ftlkit.api.compare import compare

STACKS = ("page", "page+lru:ram=256KiB", "dftl:cmt=16KiB", "fast", "adapt", "treeftl")
"""All maps in RAM, a write buffer, a small map cache, merges, a log that adapts, data in RAM."""

DRAWS = 3
"""How often the look-alike is drawn."""

REQUESTS = 20_000
"""Requests that are run, at most, so that validation takes seconds."""

_PAGE = 4096
"""Bytes of a page of footprints."""
_ROOM = 32 << 20
"""Bytes beyond the footprint: what small layers need for maps and logs."""
_ROOM_SHARE = 1.25
"""The capacity is this many footprints, and the room."""
_LEAST = 64 << 20
"""The smallest capacity, as each die keeps blocks of its own free."""


@dataclass(frozen=True)
class Question:
    """What a look-alike may be asked, and how near its answer has to be."""

    words: str
    metrics: tuple[str, ...]
    most: float
    """Percentage points of a share, else per cent."""
    is_share: bool = False

    def error(self, trace: float, look_alike: float) -> float:
        """How far the look-alike is off, in the question's unit."""
        return 100.0 * (look_alike - trace if self.is_share else look_alike / trace - 1.0)


QUESTIONS = (
    Question("write amplification", ("write_amplification",), 5.0),
    Question("hit ratio", ("mapping_hit_ratio", "buffer_hit_ratio"), 3.0, is_share=True),
    Question("mean response", ("response_mean_ns",), 15.0),
)


def validate(trace: Json, generator: Json, *, seed: int, watcher: Watcher | None) -> Json:
    """Run both; the result has `requests`, `capacity_bytes`, `rows` and `unmet`.

    It has a `reason` if they do not run. `trace` and `generator` are tables of studies. `unmet` has
    the translation layers that miss the aim, by question.
    """
    requests = min(REQUESTS, generator["requests"])
    sides = [trace | {"requests": requests}, {"generator": generator, "requests": requests}]
    infos = [_info(side, seed, watcher) for side in sides]
    if len(infos[0]["devices"]) > 1 and "trace_device" not in sides[0]:
        sides[0]["trace_device"] = "stacked"
    pages = max(info["total"]["footprint"]["touched_pages"] for info in infos)
    capacity = -(-max(_LEAST, int(pages * _PAGE * _ROOM_SHARE + _ROOM)) // (1 << 20))
    # In an open loop, requests that all arrive at once say nothing of response times.
    loop = "closed" if generator.get("arrivals", "at_once") == "at_once" else "open"

    def ran(side: Json, seed: int) -> list[Json]:
        results = compare(
            side,
            STACKS,
            capacity=f"{capacity}MiB",
            addresses="dense",
            precondition="fill",
            loop=loop,
            seed=seed,
            watcher=watcher,
        )
        return results.runs.to_dicts()

    try:
        trace_runs = ran(sides[0], seed)
        draws = [ran(sides[1], seed + draw) for draw in range(DRAWS)]
    except UserError as error:
        return {"requests": requests, "capacity_bytes": capacity << 20, "rows": [], "unmet": {}, "reason": str(error)}
    rows = [row for one, *others in zip(trace_runs, *draws, strict=True) for row in _rows(one, others)]
    unmet = {
        question.words: list(dict.fromkeys(row["stack"] for row in rows if _misses(row, question)))
        for question in QUESTIONS
    }
    return {"requests": requests, "capacity_bytes": capacity << 20, "rows": rows, "unmet": unmet}


def _info(side: Json, seed: int, watcher: Watcher | None) -> Json:
    text = json.dumps(side)
    statistics: Json = asked(lambda control: _native.trace_info(text, seed, control), watcher)["statistics"]
    return statistics


def _rows(one: Json, others: list[Json]) -> list[Json]:
    rows: list[Json] = []
    for question in QUESTIONS:
        for metric in question.metrics:
            trace, drawn = one[metric], [other[metric] for other in others if other[metric] is not None]
            if trace is None or not drawn or (trace <= 0 and not question.is_share):
                continue
            error, look_alike = max(
                ((question.error(trace, value), value) for value in drawn), key=lambda found: abs(found[0])
            )
            row = {"question": question.words, "metric": metric, "stack": one["stack"]}
            rows.append(row | {"trace": trace, "look_alike": look_alike, "error": error, "most": question.most})
    return rows


def _misses(row: Json, question: Question) -> bool:
    return bool(row["question"] == question.words and abs(row["error"]) > question.most)
