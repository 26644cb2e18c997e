"""Why a run answers as it does: waiting and service, measured request by request.

Nothing is said where that was not measured, as in results of older versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit.report.causes import cause_name
from ftlkit.results.derived import waiting
from ftlkit.results.noise import LITTLE

if TYPE_CHECKING:
    from ftlkit.results.document import Run

LARGE = 0.1
"""A part below this share of a difference is left out of the sentence."""

NAMED = 2
"""Parts that a sentence names at most; the others are in the table."""


def reasons(runs: list[Run], aside: str = "") -> list[str]:
    """A sentence about the first run's mean response, and one about each other's distance.

    An `aside` follows these times.
    """
    if not runs or any(not waiting(run) for run in runs):
        return []
    first = runs[0]
    return [_own(first, aside), *(sentence for run in runs[1:] if (sentence := _distance(run, first, aside)))]


def _own(run: Run, aside: str) -> str:
    mean = run["response_ns"]["all"]["mean"] or 0.0
    parts = _largest(waiting(run), mean)
    return f"A request to {run['label']} takes {units.duration(mean)} on average{aside}{_of_which(parts)}."


def _distance(run: Run, first: Run, aside: str) -> str | None:
    """The parts of a mean response by which a run is slower than the first; none if faster."""
    beyond = (run["response_ns"]["all"]["mean"] or 0.0) - (first["response_ns"]["all"]["mean"] or 0.0)
    if beyond <= 0:
        return None
    if beyond < LITTLE * (first["response_ns"]["all"]["mean"] or 0.0):
        return f"{run['label']} is as fast as {first['label']}{aside}, within {units.share(LITTLE)}."
    mine, base = waiting(run), waiting(first)
    more = {part: mine.get(part, 0.0) - base.get(part, 0.0) for part in {**mine, **base}}
    parts = _of_which(_largest(more, beyond))
    part, less = min(more.items(), key=lambda pair: pair[1], default=(("", ""), 0.0))
    saved = f", less {units.duration(-less)} {_words(*part)}" if -less >= LARGE * beyond else ""
    return f"{run['label']} takes {units.duration(beyond)} longer than {first['label']}{aside}{parts}{saved}."


def _largest(parts: dict[tuple[str, str], float], whole: float) -> list[tuple[tuple[str, str], float]]:
    """The largest parts, as far as they are worth a word."""
    largest = sorted(parts.items(), key=lambda pair: -pair[1])[:NAMED]
    return [(part, time) for part, time in largest if time >= LARGE * whole > 0]


def _of_which(parts: list[tuple[tuple[str, str], float]]) -> str:
    texts = [f"{units.duration(time)} {_words(*part)}" for part, time in parts]
    return f": {' and '.join(texts)}" if texts else ""


def _words(kind: str, cause: str) -> str:
    """What a part of a response is. Pages of one request also wait for each other."""
    if (kind, cause) == ("waiting", "host"):
        return "waiting behind other host pages"
    return f"waiting behind {cause_name(cause)}" if kind == "waiting" else f"on its own {cause_name(cause)}"
