"""What a reader must know before trusting a ranking: things in the results that weaken it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ftlkit import units

if TYPE_CHECKING:
    from ftlkit.document import Run
    from ftlkit.results import Results

FEW_REQUESTS = 10_000
"""Below this fewer than a hundred requests lie beyond the 99th percentile, and one merge more or less moves it."""

GROWTH = 3.0
"""A mean response of the last fifth this many times the first fifth's is growth, not noise."""


FILLING = 1.25
"""Write amplification that ends this many times higher than it began had not settled."""

BACKLOG = 1.02
"""A run that ends this much after the last arrival has a queue left over. Growth without one is a device filling up."""


def cautions(results: Results) -> list[str]:
    """Sentences, the gravest first."""
    runs = results.document["runs"]
    found = (
        _cancelled(results),
        _worn_out(runs),
        _overload(results),
        _filling(results),
        _few(results),
        _fresh(results, runs),
        _unsettled(runs),
    )
    return [sentence for sentence in found if sentence]


def _names(runs: list[Run]) -> str:
    labels = [run["label"] for run in runs]
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _cancelled(results: Results) -> str | None:
    if not results.cancelled:
        return None
    done = {run["label"] for run in results.document["runs"]}
    asked = [ftl.get("label") or ftl["name"] for ftl in results.document["study"].get("ftl", [])]
    missing = [label for label in asked if label not in done]
    tail = f": {', '.join(missing)} did not finish" if missing else ""
    return f"The study was stopped before its end{tail}."


def _worn_out(runs: list[Run]) -> str | None:
    """Runs that ended before the workload did, each with the device's own words."""
    ends = [(run["label"], run["end_of_life"]) for run in runs]
    worn = [f"{label} at request {units.count(end['request'])} ({end['message']})" for label, end in ends if end]
    if not worn:
        return None
    return f"The device wore out before the workload ended: {'; '.join(worn)}. Figures are of the requests before."


def _overload(results: Results) -> str | None:
    """An open loop that asks for more than the device can do: queues grow as long as it lasts."""
    if results.document["study"].get("host", {}).get("loop", "open") != "open":
        return None
    arrived_ns = results.document["workload"]["duration_ns"]
    growing = [run for run in results.document["runs"] if grows(run) and run["simulated_ns"] > BACKLOG * arrived_ns]
    if not growing:
        return None
    return (
        f"{_names(growing)} cannot keep up with the arrivals: response times grow until the end, so they measure the "
        "length of the trace as much as the scheme. Compare throughput, lower the load, or use a closed loop."
    )


def grows(run: Run) -> bool:
    """Whether the sampled mean response of a run grows steadily."""
    parts = _fifths(run["series"]["mean_response_ns"])
    steady = all(after > before for before, after in pairwise(parts))
    return bool(parts) and steady and parts[-1] > GROWTH * parts[0]


def _fifths(samples: list[float | None]) -> list[float]:
    """The means of five equal stretches of a series; none of a series too short to tell."""
    values = [value for value in samples if value is not None]
    fifth = len(values) // 5
    return [sum(values[i * fifth : (i + 1) * fifth]) / fifth for i in range(5)] if fifth >= 2 else []


def _filling(results: Results) -> str | None:
    """A device that was not in its lasting state when measured: the longer the run, the worse the mean."""
    parts = {run["label"]: _fifths(run["series"]["write_amplification"]) for run in results.document["runs"]}
    filling = {label: part for label, part in parts.items() if part and part[-1] > FILLING * part[0]}
    if not filling:
        return None
    texts = [f"{label} from {units.digits(part[0])} to {units.digits(part[-1])}" for label, part in filling.items()]
    return (
        f"Write amplification rose during the run ({', '.join(texts)}): the device was filling up, so means depend on "
        "how long the run was. Precondition it to a steady state to see how it goes on."
    )


def _few(results: Results) -> str | None:
    requests = results.document["workload"]["requests"]
    if requests >= FEW_REQUESTS:
        return None
    return (
        f"Only {units.count(requests)} requests were replayed: percentiles beyond the 99th rest on a handful of them."
    )


def _fresh(results: Results, runs: list[Run]) -> str | None:
    idle = [run for run in runs if not run["erases"]["total"]]
    if not idle:
        return None
    text = (
        f"No block was erased under {_names(idle)}: the workload never filled the device, so garbage collection was "
        "not tested"
    )
    if results.document["study"].get("run", {}).get("precondition", "none") == "none":
        return f"{text}. Precondition the device (steady), or give it less capacity."
    return f"{text}. Replay more requests, or give the device less capacity."


def _unsettled(runs: list[Run]) -> str | None:
    unsettled = [run for run in runs if run["precondition"] and run["precondition"]["settled"] is False]
    if not unsettled:
        return None
    names = _names(unsettled)
    return f"Write amplification had not settled under {names} when measuring began: a steady state may differ."
