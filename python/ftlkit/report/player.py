"""The player: one page that shows flash at work, step by step, drawn from saved results alone.

It holds the traces of all runs (`run.flash_trace`): what each page of flash held when the window
began, and each operation since. Its script (`assets/player/`) follows the operations forwards and
back; two runs stand side by side on the same requests.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit._util.units import LATEST
from ftlkit.report import facts
from ftlkit.report.causes import CAUSES
from ftlkit.report.packing import NOTES, ROLES, pack
from ftlkit.report.page import template
from ftlkit.results.outcome import Outcome, device_of, simulated_bytes

if TYPE_CHECKING:
    from ftlkit.results.document import FlashTraceFacts

SCRIPTS = ("recording", "flash", "schedule", "words", "grid", "player")
"""The parts of the script, each after those that it uses."""

STATES: dict[str, str] = {
    "valid": "valid data",
    "log": "valid data in a log block",
    "map": "valid translation page",
    "record": "record for recovery",
    "stale": "stale: a newer version exists, or it was trimmed",
    "free": "free",
    "unusable": "unusable until it is erased",
    "bad": "in a bad block",
}
"""The states of a page, in the order of the legend."""

_MARKS: dict[str, str] = {
    "log": '<rect x="4.5" y="4.5" width="5" height="5" fill="none" stroke="var(--mark-log)"/>',
    "map": '<rect x="1" y="5" width="12" height="4" fill="var(--mark-map)"/>',
    "record": '<rect x="5" y="5" width="4" height="4" fill="var(--mark-record)"/>',
    "stale": '<path d="M2 12 12 2" stroke="var(--mark-stale)" stroke-width="1.5"/>',
    "free": '<rect x=".5" y=".5" width="13" height="13" fill="none" stroke="var(--mark-free)"/>',
    "unusable": '<path d="M2 12 12 2M2 2l10 10" stroke="var(--mark-unusable)" stroke-width="1.5"/>',
    "bad": '<path d="M2 12 12 2M2 2l10 10" stroke="var(--mark-bad)" stroke-width="1.5"/>',
}
"""The mark of a state beside its colour, as the script paints it."""


def page(results: Outcome) -> str:
    """The page's HTML."""
    document = results.document
    traces = [(run["label"], trace) for run in document["runs"] if (trace := run.get("flash_trace"))]
    if not traces:
        raise UserError(
            "these results hold no trace of flash: run the study with --player FILE.html, or with run.flash_trace set "
            'to a window such as "0ms..1s".'
        )
    runs = [_run(results, label, trace, index) for index, (label, trace) in enumerate(traces)]
    return template("player.html.j2").render(
        title=document["study"].get("name") or f"Flash at work: {facts.workload(document)}",
        document=document,
        device=_device(results),
        cautions=[sentence for label, trace in traces for sentence in _cautions(label, trace)],
        runs=runs,
        views=_views(len(runs)),
        states=STATES.items(),
        marks={name: _mark(name) for name in STATES},
        facts=_facts(runs),
        player_css=Markup(_asset("player.css")),  # noqa: S704 - our own file
        player_script=Markup("\n".join(_asset(f"{name}.js") for name in SCRIPTS)),  # noqa: S704 - our own files
    )


def _asset(name: str) -> str:
    return (resources.files("ftlkit.report") / "assets" / "player" / name).read_text(encoding="utf-8")


def _run(results: Outcome, label: str, trace: FlashTraceFacts, index: int) -> Json:
    """What the script is told of a run, and its trace."""
    if not trace["requests"]["number"]:
        raise UserError(
            f"{label}: no request begins in the window from {units.moment(trace['from_ns'])} to "
            f"{units.moment(trace['requested_to_ns'])}, so there is nothing to play. Give another --player-window."
        )
    device = device_of(results.document)
    geometry = device["geometry"]
    sizes, packed = pack(trace, geometry["pages_per_block"])
    logical, translation = _logical_pages(trace)
    return {
        "label": label,
        "data": f"trace-{index}",
        "packed": packed,
        "sizes": sizes,
        "firstRequest": trace["requests"]["number"][0],
        "dies": geometry["channels"] * geometry["dies_per_channel"],
        "blocksPerDie": geometry["planes_per_die"] * geometry["blocks_per_plane"],
        "pagesPerBlock": geometry["pages_per_block"],
        "logicalPages": max(logical, simulated_bytes(device) // geometry["page_size_bytes"]),
        "translationPages": translation,
    }


def _logical_pages(trace: FlashTraceFacts) -> tuple[int, int]:
    """One more than the highest logical page, and the highest translation page, on flash."""
    start, operations = trace["start"], trace["operations"]
    programmed = zip(operations["role"], operations["logical"], strict=True)
    named = [*zip(start["role"], start["logical"], strict=True), *programmed]
    data = (logical for role, logical in named if logical is not None and role != "translation")
    translation = (logical for role, logical in named if logical is not None and role == "translation")
    return max(data, default=-1) + 1, max(translation, default=-1) + 1


def _facts(runs: list[Json]) -> Json:
    """What the script is told of all runs."""
    return {
        "runs": [{key: value for key, value in run.items() if key != "packed"} for run in runs],
        "roles": ROLES,
        "notes": [*NOTES],
        "noteWords": NOTES,
        "causes": [{"name": cause.name, "words": cause.words, "work": cause.work} for cause in CAUSES.values()],
    }


def _views(runs: int) -> list[Json]:
    """One picture, or two side by side with the runs that they begin with."""
    return [{"title": "", "run": 0}] if runs == 1 else [{"title": "left", "run": 0}, {"title": "right", "run": 1}]


def _device(results: Outcome) -> str:
    document, device = results.document, device_of(results.document)
    geometry = device["geometry"]
    dies = geometry["channels"] * geometry["dies_per_channel"]
    blocks = geometry["planes_per_die"] * geometry["blocks_per_plane"]
    parts = [
        several(dies, "die"),
        f"{several(blocks, 'block')} a die",
        f"{several(geometry['pages_per_block'], 'page')} of {units.size(geometry['page_size_bytes'])} a block",
    ]
    return f"{facts.workload(document, 'A')} on {', '.join(parts)}; {facts.spare(device)}"


def _cautions(label: str, trace: FlashTraceFacts) -> list[str]:
    if trace["to_ns"] >= trace["requested_to_ns"]:
        return []
    limit, end = units.count(trace["limit"]), trace["to_ns"]
    return [
        (
            f"{label}: the player holds at most {limit} flash operations and as many requests, and the run has more. "
            f"It ends at {units.moment(end)}. For what comes later, give "
            f"--player-window {end // 1000 / 1000:.3f}ms..{LATEST}."
        )
    ]


def _mark(name: str) -> Markup:
    """The sign of a state in the legend."""
    square = f'<rect width="14" height="14" fill="var(--page-{name})"/>'
    return Markup(f'<svg viewBox="0 0 14 14" aria-hidden="true">{square}{_MARKS.get(name, "")}</svg>')  # noqa: S704
