"""What each kind of curve draws and tells: title, verdict, charts and table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit.curves import spare as spares
from ftlkit.curves.page import Chart, Drawing
from ftlkit.curves.service import LOAD, NEAR, PROBE_DEPTH, TOLD, Capacity, Point, kept_up, layers, of_layer
from ftlkit.report.facts import sliced
from ftlkit.report.rules import listed
from ftlkit.results.columns import COLUMNS
from ftlkit.study.device_size import preset
from ftlkit.sweeps.charts import band
from ftlkit.sweeps.summary import text

if TYPE_CHECKING:
    from ftlkit.curves.accesses import Accesses
    from ftlkit.curves.cache import Curve

BEHIND = "falls behind"
"""In place of response times past saturation."""

UNDECIDED = "undecided"
"""The same where a longer run may fall behind."""


_SAME = 0.01
"""Sizes that differ by less are taken for one, since they are rounded to blocks."""

FEW_LOOK_UPS = 2.0
"""Look-ups per page below which chance repeats pass for popularity in Che's approximation."""


def cache(accesses: Accesses, curve: Curve) -> Drawing:
    """Hit ratio over the size of the mapping cache."""
    metric = COLUMNS["mapping_hit_ratio"]
    names = [units.size(size) for size in curve.sizes]
    how, doubts = "one pass, every page", []
    if curve.share < 1:
        how = f"one pass, {units.share(curve.share)} of the pages (SHARDS)"
        size = f"{units.count(curve.pages)} pages, {units.share(curve.share)} of all (SHARDS)"
        doubts = [f"The curve is from a sample of {size}; --sample 1 looks at every page."]
    each = curve.accesses / len(set(accesses.pages))
    if each < FEW_LOOK_UPS:
        doubts.append(
            f"Each page was looked up {units.digits(each)} times on average, too few to tell popularity: Che's "
            "approximation may be too high."
        )
    lines = {how: curve.hit_ratios, "Che's approximation": curve.che}
    filled = "every page was written once before, in order" if accesses.filled else "the device was erased before"
    rows = [
        {"line": line, "x": name, "mean": ratio, "low": ratio, "high": ratio}
        for line, ratios in lines.items()
        for name, ratio in zip(names, ratios, strict=True)
    ]
    return Drawing(
        f"Hit ratio of the mapping cache on {_name(accesses.study)}",
        [
            f"{units.count(curve.accesses)} look-ups of {units.count(accesses.logical_pages)} logical pages; {filled}.",
            *([f"{sliced(part)}."] if (part := accesses.study["device"].get("slice")) else []),
            *doubts,
            "The cache is dftl's with cmt_policy=lru, 8 B per entry. Garbage collection does not use the cache.",
            "Che's approximation takes look-ups as independent draws; the first of a page misses, as in the workload.",
        ],
        "cmt",
        [Chart(metric, rows)],
        ["cmt", "hit ratio", "Che"],
        [
            [name, units.share(ours), units.share(model)]
            for name, ours, model in zip(names, curve.hit_ratios, curve.che, strict=True)
        ],
        accesses.study,
        [_enough(names, curve.hit_ratios)],
    )


NEARLY = 0.9
"""Share of the highest hit ratio that counts as reaching it."""


def _enough(names: Sequence[str], ratios: Sequence[float]) -> str:
    """The least cache that reaches nearly what any does."""
    most = max(ratios)
    place = next(place for place, ratio in enumerate(ratios) if ratio >= NEARLY * most)
    text = f"A cache of {names[place]} answers {units.share(ratios[place])} of the look-ups"
    if ratios[place] == most:
        return f"{text}, the most of the sizes shown."
    return f"{text}; the largest shown, {names[-1]}, answers {units.share(ratios[-1])}."


def spare(
    points: list[spares.Measured], request: Json, workload: str, facts: list[str], cautions: list[str]
) -> Drawing:
    """Write amplification over spare, beside theory."""
    metric = COLUMNS["page_write_amplification"]
    model = "uniform writes, greedy (Van Houdt 2013)"
    rows = [
        {
            "line": point.layer,
            "x": point.spare,
            "mean": point.page_write_amplification.mean,
            **band(point.page_write_amplification),
        }
        for point in points
    ]
    models = {point.spare: point.model for point in points}
    rows += [{"line": model, "x": spare, "mean": value, "low": value, "high": value} for spare, value in models.items()]
    clock = "" if any(point.has_clock for point in points) else ", without a clock"
    life, at = _short_life(points[0].life[:1])
    return Drawing(
        f"Write amplification over spare on {workload}{clock}",
        [
            *facts,
            "Pages programmed for each page that host writes touch, as theory counts.",
            "Measured in a run at each spare; a band is the 95 % interval over seeds.",
            *at,
            *_sizes(points),
            *([f"{sliced(*parts)}."] if (parts := [part for point in points if (part := point.slice_bytes)]) else []),
            f"Beside it, no model of this workload: {model}, single pages of the share in use, no block kept free.",
        ],
        spares.KEY,
        [Chart(metric, rows)],
        ["FTL", "spare", metric.heading, "uniform, greedy", *life],
        [
            [
                *(point.layer, point.spare, text(metric, point.page_write_amplification), metric.text(point.model)),
                *point.life[1:],
            ]
            for point in points
        ],
        request,
        _bought(points),
        cautions,
    )


def _short_life(head: Sequence[str]) -> tuple[list[str], list[str]]:
    """The head of a column of lives, and apart its conditions, which have no room in 80 columns."""
    parts = [re.fullmatch(r"(life) \((.*)\)(.*)", text) for text in head]
    return [(part[1] + part[3]) if part else text for part, text in zip(parts, head, strict=True)], [
        f"Life: {part[2]}." for part in parts if part
    ]


def _sizes(points: list[spares.Measured]) -> list[str]:
    """Which of data and flash differs between the spares, where one does."""
    least, most = (choose(points, key=lambda point: float(point.spare)) for choose in (min, max))
    for start, name in (
        ("Data in use are a share of the host's capacity, so they shrink", "data_bytes"),
        ("The host's capacity stays, so the flash grows", "flash_bytes"),
    ):
        low, high = getattr(least, name), getattr(most, name)
        if abs(high - low) > _SAME * low:
            return [f"{start}: {units.size(low)} at {least.spare}, {units.size(high)} at {most.spare}."]
    return []


def _bought(points: list[spares.Measured]) -> list[str]:
    """What the least and the most spare come to, a sentence a layer."""
    sentences = []
    for layer in dict.fromkeys(point.layer for point in points):
        mine = [point for point in points if point.layer == layer]
        ends = [
            f"{text(COLUMNS['page_write_amplification'], point.page_write_amplification)} at a spare of {point.spare} "
            f"(OP {units.share(spare / (1 - spare))})"
            for point in (mine[0], mine[-1])
            if (spare := float(point.spare)) < 1
        ]
        sentences.append(f"WA of {layer}: {' and '.join(ends)}.{_lasting(mine)}")
    return sentences


def _lasting(points: list[spares.Measured]) -> str:
    """Between which spares a layer's life reaches the warranty, behind a space."""
    known = sorted((float(point.spare), point.lasts, point) for point in points if point.lasts is not None)
    if not known:
        return ""
    years = f"{known[0][2].warranty:g} years of warranty"
    enough = next((place for place, (_, lasts, _) in enumerate(known) if lasts >= 1), len(known))
    if any(lasts < 1 for _, lasts, _ in known[enough:]):
        return ""
    if enough == len(known):
        return f" The drive does not last the {years} at any of these."
    spare = known[enough][0]
    least = f"a spare of {known[enough][2].spare} (OP {units.share(spare / (1 - spare))})"
    return f" The drive lasts the {years} from {least} on{f', not at {known[enough - 1][2].spare}' if enough else ''}."


def latency(
    kind: str,
    study: Json,
    points: list[Point],
    capacity: Capacity | None,
    *,
    facts: list[str],
    verdict: list[str],
    cautions: list[str],
) -> Drawing:
    """Requests served and response times, over load or over depth (`kind`)."""
    is_load = kind == LOAD
    name = _name(study)
    over = "offered load" if is_load else "queue depth"
    shown = [point for ftl in layers(points) for point in _drawn(of_layer(points, ftl), is_load=is_load)]
    known = [column for column in TOLD if any(column in point.estimates for point in points)]
    told = [column for column in known if column != "iops" or not is_load]
    head, names = _shortened([point.ftl for point in points])
    metrics = ["response_mean_ns", "response_p99_ns"] if is_load else ["iops", "response_mean_ns", "response_p99_ns"]
    return Drawing(
        f"{'Response time' if is_load else 'Requests served'} over {over} on {name}",
        [*facts, *(_load_notes(study, points, capacity) if is_load else _DEPTH_NOTES)],
        "requests that arrive a second" if is_load else "outstanding requests",
        [Chart(COLUMNS[metric], _rows(shown, metric, is_load=is_load)) for metric in metrics],
        [head, "offered" if is_load else "depth", *(TOLD[name] for name in told)],
        [[of, *_cells(point, told, is_load=is_load)] for of, point in zip(names, points, strict=True)],
        study,
        verdict,
        cautions,
        units.axis("") if is_load else "",
    )


_DEPTH_NOTES = (
    "A closed loop: a request is issued when one completes, so the number outstanding is constant.",
    "Each point is a run of the whole workload, on a freshly prepared device.",
)


_LOAD_NOTES = (
    "Requests arrive at the workload's own times, scaled to each load.",
    "Each point is a run of the whole workload, on a freshly prepared device.",
    f"An FTL {BEHIND} when offered load exceeds its throughput: its queue grows until the end.",
    "Past saturation, latency only reflects trace length, so those points are omitted.",
)


def _load_notes(study: Json, points: list[Point], capacity: Capacity | None) -> list[str]:
    """What to know of a curve over load.

    A closed loop of random reads and writes on `7450-like` served 82,000 requests a second, and an
    open loop 65,000: 4.4 reads per stop of a program or an erase, and 2.5. Where stops cost nothing
    both served 180,000 to 185,000.
    """
    notes = list(_LOAD_NOTES)
    if any(point.is_undecided for point in points):
        notes.append(
            f"A load is {UNDECIDED} above {units.share(NEAR)} of the busiest die's rate, which longer runs seldom "
            "change, or if its queue grows: there a longer run (--requests, or --repeat) decides."
        )
    if capacity is not None:
        served = ", ".join(f"{ftl} {units.rate(rate)}" for ftl, rate in capacity.served.items())
        notes.append(f"In a closed loop with {PROBE_DEPTH} outstanding, requests served a second: {served}.")
        devices = study.get("sweep", {}).get("devices", [study.get("device", {})])
        suspends = any((preset(str(one.get("preset", ""))) | one).get("suspend", "off") != "off" for one in devices)
        overloaded = [point for point in points if point.is_overloaded]
        below = dict.fromkeys(each.ftl for each in overloaded if each.over < capacity.served.get(each.ftl, 0))
        if suspends and below:
            notes.append(
                f"Arrivals sustain less than that under {listed(list(below))}, where programs stop for "
                "reads: those of a closed loop come together, so each stop serves more of them."
            )
    return notes


def _drawn(points: list[Point], *, is_load: bool) -> list[Point]:
    return kept_up(points) if is_load else points


def _rows(points: list[Point], metric: str, *, is_load: bool) -> list[Json]:
    return [
        {
            "line": point.ftl,
            "x": point.over if is_load else point.varied,
            "mean": point.estimates[metric].mean,
            **band(point.estimates[metric]),
        }
        for point in points
    ]


def _shortened(names: list[str]) -> tuple[str, list[str]]:
    """Names of layers with their heading; of one layer on several devices the devices alone."""
    parts = [name.rpartition(" on ") for name in names]
    is_one = len({layer for layer, *_ in parts}) == 1 and all(on for _, on, _ in parts)
    return ("device", [device for *_, device in parts]) if is_one else ("FTL", names)


def _cells(point: Point, told: Sequence[str], *, is_load: bool) -> list[str]:
    over = units.rate(point.over) if is_load else point.varied
    if not point.is_sustained:
        return [over, BEHIND if point.is_overloaded else UNDECIDED, *[""] * (len(told) - 1)]
    return [over, *(text(COLUMNS[name], point.estimates.get(name)) for name in told)]


def _name(resolved: Json) -> str:
    workload = resolved["workload"]
    return str(workload.get("preset") or Path(workload.get("trace") or "a generated workload").name)
