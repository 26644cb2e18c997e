"""How long the device lives under each run: sentences and table rows.

The forecast's method and its error are in docs/endurance.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._util import units

if TYPE_CHECKING:
    from ftlkit.results.document import Endurance, Json, Lifetime
    from ftlkit.results.outcome import Outcome

COLUMNS = ("first block fails", "spares gone", "range", "DWPD", "at the workload's rate")
"""Headings of the cells of `rows`: bytes written until then, and the final estimate."""


def lives(results: Outcome) -> list[str]:
    """Which run lives longest and shortest; and why others have no forecast."""
    known = [(run["label"], endurance) for run in results.document["runs"] if (endurance := run.get("endurance"))]
    forecast = sorted(
        ((label, life) for label, endurance in known if (life := endurance["spares_gone"])), key=_longest_first
    )
    sentences = [_ranking(forecast)] if len(forecast) > 1 else [_alone(*labelled) for labelled in forecast]
    if forecast and not all(life["is_measured"] for _, life in forecast):
        years = results.document["study"].get("run", {}).get("warranty_years", 5.0)
        sentences.append(
            "Lives are forecast as if the workload went on as it was measured (docs/endurance.md says how well that "
            f"does); drive writes a day (DWPD) are over {units.digits(years)} years."
        )
    if len(forecast) > 1:
        sentences += _least_worn(results, [label for label, _ in forecast])
    refused: dict[str, list[str]] = {}
    for label, endurance in known:
        if endurance["refusal"]:
            refused.setdefault(endurance["refusal"], []).append(label)
    return sentences + [f"No life is forecast for {', '.join(labels)}: {why}." for why, labels in refused.items()]


def _least_worn(results: Outcome, ranked: list[str]) -> list[str]:
    """Runs without a forecast that erased less than all with one."""
    whole = {run["label"]: run["erases"]["total"] for run in results.document["runs"] if not run["end_of_life"]}
    fewest = min((whole[label] for label in ranked if label in whole), default=0)
    less = [f"{label} {units.count(erases)}" for label, erases in whole.items() if erases < fewest]
    if not less:
        return []
    start = f"The ranking leaves out those that wear the device least: erases of {', '.join(less)} while measuring"
    return [f"{start}, against {units.count(fewest)} or more of those with a forecast."]


def _longest_first(labelled: tuple[str, Lifetime]) -> int:
    return -labelled[1]["written_bytes"]


def _alone(label: str, life: Lifetime) -> str:
    verb = "was" if life["is_measured"] else "is"
    return f"Under {label} the device {verb} read-only after {_bytes(life)} of host writes{_years(life)}."


def _ranking(forecast: list[tuple[str, Lifetime]]) -> str:
    """The longest life, those whose ranges reach into its own, and the shortest."""
    (label, best), (other, worst) = forecast[0], forecast[-1]
    peers = [name for name, life in forecast[1:] if life["high_bytes"] >= best["low_bytes"]]
    if len(peers) == len(forecast) - 1:
        return (
            f"Lives are too close to be ranked: {_bytes(best)} of host writes{_years(best)} under {label} to "
            f"{_bytes(worst)} under {other}."
        )
    also = f"; it may live as long under {', '.join(peers)}" if peers else ""
    # Another whose range reaches down into this one may live no longer.
    is_clear = all(life["low_bytes"] > worst["high_bytes"] for _, life in forecast[:-1])
    least = f"It lives shortest under {other}" if is_clear else f"The least, though not clearly, is that under {other}"
    return (
        f"Under {label} the device lives longest: {_bytes(best)} of host writes{_years(best)}{also}. "
        f"{least}: {_bytes(worst)}."
    )


def _bytes(life: Lifetime) -> str:
    if life["is_measured"]:
        return f"{units.written(life['written_bytes'])} (measured)"
    return f"{units.written(life['written_bytes'])} ({_span(life)})"


def _span(life: Lifetime) -> str:
    return f"{units.written(life['low_bytes'])} to {units.written(life['high_bytes'])}"


def _years(life: Lifetime) -> str:
    return f", {units.years(life['years'])} at its own arrivals" if life["years"] is not None else ""


def rows(results: Outcome) -> list[Json]:
    """The table: one row a run of which something is known; cells as `COLUMNS`."""
    endurances = [(run["label"], run.get("endurance")) for run in results.document["runs"]]
    return [
        {"label": label, "cells": _cells(known)}
        for label, known in endurances
        if known and (known["first_block"] or known["spares_gone"])
    ]


def _cells(endurance: Endurance) -> list[str]:
    first, last = endurance["first_block"], endurance["spares_gone"]
    cells = [units.written(first["written_bytes"] if first else None)]
    if last is None:
        return [*cells, *[units.plain(None)] * 4]
    span = "measured" if last["is_measured"] else _span(last)
    return [
        *cells,
        units.written(last["written_bytes"]),
        span,
        units.digits(last["drive_writes_per_day"]),
        units.years(last["years"]),
    ]
