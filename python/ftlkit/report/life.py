"""How long the device lives under each run: sentences and table rows.

The forecast's method and its error are in docs/endurance.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit.report.cautions import STEPS, more
from ftlkit.report.drift import BEYOND, is_filling, is_in_first_turn
from ftlkit.report.load import is_overloaded, written_between
from ftlkit.report.rules import listed
from ftlkit.results.noise import LITTLE
from ftlkit.results.outcome import Outcome, device_of
from ftlkit.study.device_size import GEOMETRY, preset

if TYPE_CHECKING:
    from ftlkit.results.document import Document, Lifetime, Run

COLUMNS = ("first block fails", "spares gone", "range", "DWPD", "life at that rate", "erases")
"""Headings of the cells of `rows`: bytes written by then, the final estimate, the run's erases."""

DAYS_A_YEAR = 365

MUCH_WORN = 0.01
"""From this share of its cycles on a preparation is told to have worn the device."""

MOST_FLASH = 2
"""Flash over capacity at the most spare that is worth a try; without copies it lasts longest."""

SCALED = "client-tlc"
"""The preset that follows the workload; it has flash and dies of client-like."""

DRIVE_BYTES = 512e9
"""What a client-like shows to the host."""

_SEEN = 0.01
"""From this difference on a reader of a table's write amplification gets another life."""

EVEN = "under even wear"
"""Behind the head of a column of lives that are no forecasts, since some have none."""

NOT_KEPT_UP = "not kept up with"
"""In place of the time of a life where the run could not write at the workload's rate."""

IF_KEPT_UP = "if it keeps up"
"""Behind the time of a life where a run without a clock did not measure that."""

_ERASED = re.compile(r"(a block was erased )(\S+)( times.*)")
"""A reason of the engine, and the number in it that differs from run to run."""

MORE = "replay more requests"
"""The advice of a reason, which does not know the options that do it."""


@dataclass(frozen=True)
class _Forecast:
    """The life of the device under a run."""

    label: str
    life: Lifetime
    is_behind: bool | None
    """Whether the run could not write at that rate; null where that was not measured."""
    rate: str
    """The rate of writes by which years are counted, behind a preposition."""
    noise: tuple[float, float]
    """Least and most of such a life by the rates of wear in parts of the run, over its figure."""

    def is_longer(self, other: _Forecast) -> bool:
        """Whether it is longer by more than the noise of both, if they wear on alike.

        The ends of a range are two ways to wear on, so each is compared with the same end of the
        other.
        """
        mine, its = self.life, other.life
        apart = mine["written_bytes"] * self.noise[0] > its["written_bytes"] * other.noise[1]
        return apart and all(mine[end] >= its[end] for end in ("low_bytes", "high_bytes"))


def lives(results: Outcome) -> list[str]:
    """Which run lives longest and shortest; and why others have no forecast."""
    known = [(run, endurance) for run in results.document["runs"] if (endurance := run.get("endurance"))]
    forecast = sorted(
        (
            _Forecast(run["label"], life, _is_behind(results, run), rate(results.document), _noise(run, life))
            for run, endurance in known
            if (life := endurance["spares_gone"])
        ),
        key=lambda one: -one.life["written_bytes"],
    )
    is_all = len(forecast) == len(results.document["runs"])
    sentences = [_ranking(forecast, is_all=is_all)] if len(forecast) > 1 else [_alone(one) for one in forecast]
    if forecast and not all(one.life["is_measured"] for one in forecast):
        years = warranty_years(results.document)
        sentences.append(
            "Lives are forecast as if the workload went on as it was measured (docs/endurance.md says how well that "
            f"does), with {cycles(results.document)}; drive writes per day (DWPD) are over {years:g} years."
        )
    sentences += worn_before(results)
    if unknown := [one.label for one in forecast if one.is_behind is None]:
        sentences.append(
            f"Without a clock it was not measured whether {listed(unknown)} can write at that rate, or at the DWPD."
        )
    if len(forecast) > 1:
        sentences += _least_worn(results, [one.label for one in forecast])
    sentences += _beyond(results, forecast)
    reasons = {run["label"]: reason for run, endurance in known if (reason := endurance["refusal"])}
    told = [*even(results), *sentences] if reasons else sentences
    if told:
        told[0] += _scaled(results) + _over_spare(results)
        told += _too_slow(results)
    return [*told, *_refused(reasons, more(results))]


def worn_before(results: Outcome) -> list[str]:
    """The share of their cycles that blocks had used before, where lives are shorter by it.

    Requests that were skipped shorten each life, a preparation those that ended in the run. By the
    pages that were written then: results do not have the erases.
    """
    pages = math.prod(device_of(results.document)["geometry"][key] for key in GEOMETRY)
    chosen = results.document.get("precondition_chosen")
    live = (chosen.get("live_pages") or 0) if chosen else 0
    told = []
    for run in results.document["runs"]:
        endurance, prepared = run.get("endurance"), run["precondition"]
        if endurance is None or (life := endurance["spares_gone"]) is None:
            continue
        written = prepared["pages_written"] if prepared else 0
        skipped = run.get("skipped_requests", 0) * run["host_pages_written"] / max(1, sum(run["requests"].values()))
        again = max(0, written - live) * prepared["page_write_amplification"] if prepared else 0.0
        programmed = min(written, live) + again
        worn = [max(0.0, each / pages - 1) for each in (programmed, programmed + skipped * (lasting(run) or 0.0))]
        share = (worn[1] - (0.0 if life["is_measured"] else worn[0])) / endurance["limit"]
        if share >= MUCH_WORN:
            told.append(f"{units.share(share)} under {run['label']}")
    if not told:
        return []
    return [f"Before the measurement blocks lost about {listed(told)} of their cycles, which lives leave out."]


def _scaled(results: Outcome) -> str:
    """What a life means for a drive, behind the first of a device that was scaled from one."""
    device = device_of(results.document)
    if device["preset"] != SCALED:
        return ""
    drive, times = units.size(DRIVE_BYTES), units.digits(DRIVE_BYTES / device["logical_bytes"])
    return f" The device is scaled from a drive of {drive}, which takes {times} times these writes."


def _over_spare(results: Outcome) -> str:
    """The command that tells which spare is enough, where a life at a given rate falls short."""
    known, years = results.document.get("write_rate"), warranty_years(results.document)
    if known is None or known["source"] != "given":
        return ""
    device, needed = device_of(results.document), years * DAYS_A_YEAR * known["bytes_per_day"]
    flash = max(device["physical_bytes"], MOST_FLASH * device["logical_bytes"])
    for run in results.document["runs"]:
        endurance = run.get("endurance")
        life = endurance["spares_gone"] if endurance else None
        written = life["written_bytes"] if life else _allowed(results, run)
        if endurance and written is not None and written < needed <= flash * endurance["limit"]:
            return f" `ftlkit curve spare` tells from which spare on a drive lasts {years:g} years."
    return ""


def rate(document: Document) -> str:
    """The rate of writes by which years are counted, behind a preposition."""
    known = document.get("write_rate")
    if known is None:
        return "the workload's own rate"
    daily = known["bytes_per_day"] / device_of(document)["logical_bytes"]
    source = {
        "given": f" ({units.digits(daily)} drive writes)",
        "workload": " (the workload's own rate)",
        "drive_write": " (one drive write)",
    }
    return f"{units.written(known['bytes_per_day'])} per day{source[known['source']]}"


def heading(document: Document) -> str:
    """The head of a column of years, with the rate of writes and the cycles that they rest on."""
    known = document.get("write_rate")
    source = known["source"] if known else "workload"
    given = f"{units.written(known['bytes_per_day'])} per day" if known else ""
    counted = {"drive_write": "1 DWPD", "workload": "own rate"}.get(source, given)
    return f"life ({', '.join(filter(None, [counted, cycles(document)]))})"


def conditions(document: Document) -> str:
    """The rate of writes, and the erases that blocks survive."""
    return ", ".join(filter(None, [rate(document), cycles(document)]))


def cycles(document: Document) -> str:
    """The erases that blocks survive, and who says so; empty where no run tells.

    A preset's description (`ftlkit devices NAME`) has their source, or that they are assumed.
    """
    limits = [endurance["limit"] for run in document["runs"] if (endurance := run.get("endurance"))]
    if not limits:
        return ""
    name = device_of(document)["preset"]
    source = f"by the preset {name}" if preset(name).get("endurance") == limits[0] else "as given"
    return f"{units.count(limits[0])} erases per block, {source}"


def warranty_years(document: Document) -> float:
    """The years over which drive writes per day are told."""
    return float(document["study"].get("run", {}).get("warranty_years", 5.0))


def is_own_rate(document: Document) -> bool:
    """Whether years are counted at the workload's own rate, which an overloaded run missed."""
    known = document.get("write_rate")
    return known is None or known["source"] == "workload"


def _is_behind(results: Outcome, run: Run) -> bool | None:
    """Whether a run misses the rate by which years are counted; null where it was not measured.

    A given rate is missed if the busiest die or channel cannot serve as many writes.
    """
    known, most = results.document.get("write_rate"), _most_per_day(run)
    if known is None or is_own_rate(results.document):
        return is_overloaded(run)
    return most is not None and most < known["bytes_per_day"]


def _most_per_day(run: Run) -> float | None:
    """Bytes that the host can write per day while the busiest die or channel is never idle."""
    load = run.get("load")
    most, requests = load.get("bottleneck_iops") if load else None, run["requests"]
    if most is None or "host_written_bytes" not in run:
        return None
    return units.DAY_S * most * run["host_written_bytes"] / max(1, requests["read"] + requests["write"])


def _too_slow(results: Outcome) -> list[str]:
    """What can be written at most, where a given rate is more."""
    slow = [run for run in results.document["runs"] if _is_behind(results, run)]
    most = [f"{units.written(_most_per_day(run))} under {run['label']}" for run in slow]
    if not slow or is_own_rate(results.document):
        return []
    return [f"Years are left out where the drive cannot write as much: at most {listed(most)} per day."]


def even(results: Outcome) -> list[str]:
    """What write amplification alone tells of lives, where some are not forecast."""
    known = results.document.get("write_rate")
    runs = results.document["runs"]
    lives = [(run, allowed) for run in runs if (allowed := _allowed(results, run)) is not None]
    if known is None or not lives:
        return []
    a_year = known["bytes_per_day"] * DAYS_A_YEAR
    years = warranty_years(results.document)
    warranty_bytes = years * DAYS_A_YEAR * device_of(results.document)["logical_bytes"]
    filling = [run["label"] for run, _ in lives if is_filling(results, run)]
    told = []
    for run, allowed in lives:
        most = "at most " if run["label"] in filling else ""
        lasts = _lasts(allowed / a_year, _is_behind(results, run))
        writes = f"{lasts and f'{lasts}, '}{units.digits(allowed / warranty_bytes)} DWPD"
        told.append(f"{most}{units.written(allowed)} under {run['label']} ({writes})")
    at = f"{conditions(results.document)}; drive writes per day (DWPD) are over {years:g} years"
    even = f"With even wear, host writes last until {listed(told)}, at {at}."
    halves = [(run, lasting(run) or 0.0) for run, _ in lives]
    if any(abs(half / (run["write_amplification"] or half) - 1) > _SEEN for run, half in halves):
        each = listed([f"{units.digits(half)} under {run['label']}" for run, half in halves])
        even += f" That is by the write amplification of the run's second half: {each}."
    if filling:
        even += f" At most: erased blocks were left under {listed(filling)}, so write amplification will rise."
    return [even]


def _allowed(results: Outcome, run: Run) -> float | None:
    """Bytes that the host may write if all good blocks are worn alike, by write amplification."""
    endurance, amplification = run.get("endurance"), lasting(run)
    if not amplification or endurance is None:
        return None
    device = device_of(results.document)
    blocks = math.prod(device["geometry"][key] for key in GEOMETRY[:-1])
    good_bytes = device["physical_bytes"] * (1 - device["bad_blocks"] / blocks)
    return endurance["limit"] * good_bytes / amplification


def _refused(reasons: dict[str, str], options: str) -> list[str]:
    """Why there is no forecast; runs whose reasons differ in a number alone share a sentence.

    `options` replay more requests.
    """
    alike: dict[tuple[str, str], dict[str, str]] = {}
    for label, reason in reasons.items():
        parts = _ERASED.fullmatch(reason)
        before, number, behind = parts.groups() if parts else (reason, "", "")
        alike.setdefault((before, behind), {})[label] = number
    sentences = []
    for (before, behind), runs in alike.items():
        numbers = list(runs.values())
        number = numbers[0] if len(set(numbers)) == 1 else listed(numbers)
        reason = f"{before}{number}{behind}".replace(MORE, f"{MORE} ({options})")
        sentences.append(f"No lifetime forecast for {listed(list(runs))}: {reason}.")
    return sentences


def _beyond(results: Outcome, forecast: list[_Forecast]) -> list[str]:
    """Forecasts above what write amplification allows, since erased blocks were filled."""
    runs = {run["label"]: run for run in results.document["runs"]}
    sentences = []
    for one in forecast:
        run = runs[one.label]
        allowed, erased = _allowed(results, run), _erased_share(results, run)
        if one.life["is_measured"] or allowed is None or one.life["written_bytes"] <= BEYOND * allowed:
            continue
        why = "this run does not tell why, so take the smaller one"
        if erased * BEYOND < 1:
            why = (
                f"in the second half of the run only {units.share(erased)} of the pages programmed were erased, since "
                "erased blocks were left. It comes out too late: fill the device first "
                f"({STEPS['fill']}), or replay more requests ({more(results)})"
            )
        sentences.append(
            f"{one.label}'s forecast is above the {units.written(allowed)} that its write amplification allows "
            f"(endurance × flash ÷ {units.plain(lasting(run))}): {why}."
        )
    return sentences


def lasting(run: Run) -> float | None:
    """Write amplification in the second half of a run, which forecasts go by, too.

    In the first one the device may still be as it was prepared: that is no cost of the workload.
    """
    programmed_bytes, written_bytes = _second_half(run)
    return programmed_bytes / written_bytes if written_bytes else run["write_amplification"]


def _second_half(run: Run) -> tuple[float, float]:
    """Bytes programmed and written by the host in the second half of a run; 0 where not known."""
    series = run["series"]
    written_bytes = written_between(series.get("host_written_bytes") or [])
    first = len(written_bytes) // 2
    known = [
        (amplification * written, written)
        for amplification, written in zip(series["write_amplification"][first:], written_bytes[first:], strict=True)
        if first and amplification is not None
    ]
    return sum(programmed for programmed, _ in known), sum(written for _, written in known)


def _noise(run: Run, life: Lifetime) -> tuple[float, float]:
    """Between which multiples of a life others of the same run lie, by its rates of wear.

    These are the three of the forecast: of the last two quarters of the run, and of all of it.
    """
    if life["is_measured"]:
        return 1.0, 1.0
    points = [*zip(run["series"]["erases"], run["series"].get("host_written_bytes") or [], strict=False)]
    parts = len(points) // 4
    if not parts:
        return life["low_bytes"] / life["written_bytes"], life["high_bytes"] / life["written_bytes"]
    begin, end = (0, 0), points[-1]
    half, last = points[-1 - 2 * parts], points[-1 - parts]
    rates = [_per_byte(*ends) for ends in ((half, last), (last, end), (begin, end))]
    lasting_rate = _per_byte(half, end)
    return lasting_rate / max(rates), lasting_rate / min(rates) if min(rates) else math.inf


def _per_byte(begin: tuple[float, float], end: tuple[float, float]) -> float:
    """Erases per byte that the host wrote between two points of a run."""
    return (end[0] - begin[0]) / max(1, end[1] - begin[1])


def _erased_share(results: Outcome, run: Run) -> float:
    """Erased pages over programmed ones in the second half; 1 where that is not known."""
    programmed_bytes, _ = _second_half(run)
    if not programmed_bytes:
        return 1.0
    erases, geometry = run["series"]["erases"], device_of(results.document)["geometry"]
    erased = erases[-1] - erases[len(erases) // 2 - 1]
    return erased * geometry["pages_per_block"] * geometry["page_size_bytes"] / programmed_bytes


def cuts(results: Outcome) -> str:
    """By how much a mount's erases shorten lives at one power cut per day, behind a space."""
    known, device = results.document.get("write_rate"), device_of(results.document)
    if known is None or device.get("slice_bytes"):
        return ""
    block_bytes = device["geometry"]["pages_per_block"] * device["geometry"]["page_size_bytes"]
    told = []
    for run in results.document["runs"]:
        mount, daily_bytes = run.get("mount"), known["bytes_per_day"] * (lasting(run) or 0.0)
        cut_bytes = mount["erases"] * block_bytes if mount else 0
        if cut_bytes > LITTLE * daily_bytes:
            told.append(f"{units.share(cut_bytes / (cut_bytes + daily_bytes))} under {run['label']}")
    at = f"{listed(told)}, at {rate(results.document)}" if told else ""
    return f" Years leave out its erases: one such cut per day shortens them by {at}." if told else ""


def _least_worn(results: Outcome, ranked: list[str]) -> list[str]:
    """Runs without a forecast that erased less than all with one."""
    whole = {run["label"]: run["erases"]["total"] for run in results.document["runs"] if not run["end_of_life"]}
    fewest = min((whole[label] for label in ranked if label in whole), default=0)
    less = [f"{label} {units.count(erases)}" for label, erases in whole.items() if erases < fewest]
    if not less:
        return []
    of = " of the slice" if device_of(results.document).get("slice_bytes") else ""
    start = f"The ranking leaves out those that wear the device least: erases{of} of {', '.join(less)} while measuring"
    return [f"{start}, against {units.count(fewest)} or more of those with a forecast."]


def _alone(one: _Forecast) -> str:
    verb = "was" if one.life["is_measured"] else "is"
    return f"Under {one.label} the device {verb} read-only after {_bytes(one.life)} of host writes{_years(one)}."


def _ranking(forecast: list[_Forecast], *, is_all: bool) -> str:
    """The longest life, those whose ranges reach it, the shortest; `is_all`: of all runs shown."""
    best, worst = forecast[0], forecast[-1]
    peers = [one.label for one in forecast[1:] if not best.is_longer(one)]
    among = "" if is_all else "Of those with a forecast, "
    if len(peers) == len(forecast) - 1:
        return (
            f"{among}{'Lives' if is_all else 'lives'} are too close to be ranked: {_bytes(best.life)} of host writes"
            f"{_years(best)} under {best.label} to {_bytes(worst.life)} under {worst.label}."
        )
    also = f"; it may live as long under {', '.join(peers)}" if peers else ""
    is_clear = all(one.is_longer(worst) for one in forecast[:-1])
    least = "It lives shortest under" if is_clear else "The least, though not clearly, is that under"
    longest = f"{among}{'Under' if is_all else 'under'} {best.label} the device lives longest"
    return (
        f"{longest}: {_bytes(best.life)} of host writes{_years(best)}{also}. "
        f"{least} {worst.label}: {_bytes(worst.life)}."
    )


def _bytes(life: Lifetime) -> str:
    if life["is_measured"]:
        return f"{units.written(life['written_bytes'])} (measured)"
    return f"{units.written(life['written_bytes'])} ({_span(life)})"


def _span(life: Lifetime) -> str:
    return f"{units.written(life['low_bytes'])} to {units.written(life['high_bytes'])}"


def _years(one: _Forecast) -> str:
    """How long that takes; nothing where the run could not write as fast as the workload does."""
    lasts = _lasts(one.life["years"], one.is_behind, f" at {one.rate}")
    return lasts and f", {lasts}"


def _lasts(years: float, is_behind: bool | None, at: str = "") -> str:  # noqa: FBT001 - of a run
    """A time at a rate; nothing where the run could not write as fast, with an if where unknown."""
    return "" if is_behind else f"{units.years(years)}{at}{f' {IF_KEPT_UP}' if is_behind is None else ''}"


def column(stacks: Sequence[Sequence[Outcome]]) -> tuple[list[str], bool, list[float | None]]:
    """The cells of a column of lives, each the mean of points that differ in their seeds alone.

    They are of one kind: forecasts where each stack has one, else all are of even wear, as the
    second value says. A cell is empty where nothing is known. Then their years.
    """
    ends = [[_spares_gone(point) for point in points] for points in stacks]
    is_even = not all(None not in lives for lives in ends)
    means = [_mean_years(points, is_even=is_even) for points in stacks]
    return [_told(points, mean) for points, mean in zip(stacks, means, strict=True)], is_even, means


def _spares_gone(point: Outcome) -> Lifetime | None:
    endurance = point.document["runs"][0].get("endurance")
    return endurance["spares_gone"] if endurance else None


def _mean_years(points: Sequence[Outcome], *, is_even: bool) -> float | None:
    lives = []
    for point in points:
        forecast, allowed, rate = _spares_gone(point), even_bytes(point), point.document.get("write_rate")
        if not is_even and forecast:
            lives.append(forecast["years"])
        elif is_even and allowed is not None and rate:
            lives.append(allowed / (rate["bytes_per_day"] * DAYS_A_YEAR))
    return fmean(lives) if lives and len(lives) == len(points) else None


def _told(points: Sequence[Outcome], mean: float | None) -> str:
    if mean is None:
        return ""
    behind = {_is_behind(point, point.document["runs"][0]) for point in points}
    return _lasts(mean, True if True in behind else None if None in behind else False) or NOT_KEPT_UP


def even_bytes(point: Outcome) -> float | None:
    """Bytes that the host may write under even wear, by a run's write amplification.

    None where that is not known, or of a device that was still in its first turn.
    """
    run = point.document["runs"][0]
    return None if is_in_first_turn(run) else _allowed(point, run)


def rows(results: Outcome) -> list[Json]:
    """The table: one row per run, if any has a forecast; cells as `COLUMNS`."""
    runs = results.document["runs"]
    known = [run["endurance"] for run in runs if run.get("endurance")]
    if not any(endurance["first_block"] or endurance["spares_gone"] for endurance in known):
        return []
    of_slice = " (slice)" if device_of(results.document).get("slice_bytes") else ""
    return [{"label": run["label"], "cells": _cells(run, _is_behind(results, run), of_slice)} for run in runs]


def _cells(run: Run, is_behind: bool | None, of_slice: str) -> list[str]:  # noqa: FBT001 - of a run
    endurance = run.get("endurance")
    first, last = (endurance["first_block"], endurance["spares_gone"]) if endurance else (None, None)
    cells = [units.written(first["written_bytes"] if first else None)]
    erases = units.count(run["erases"]["total"]) + of_slice
    if last is None:
        return [*cells, *[units.plain(None)] * 4, erases]
    return [
        *cells,
        units.written(last["written_bytes"]),
        "measured" if last["is_measured"] else _span(last),
        units.digits(last["drive_writes_per_day"]),
        _lasts(last["years"], is_behind) or NOT_KEPT_UP,
        erases,
    ]
