"""The facts to trust or repeat a report: workload, device, host, runs, study."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.results.derived import has_clock
from ftlkit.results.outcome import Outcome, device_of
from ftlkit.study.device_size import physical_bytes, preset
from ftlkit.study.keys import keys_of

if TYPE_CHECKING:
    from ftlkit.results.document import DeviceFacts, Document


_SAME_SIZE = 0.01
"""Capacities that differ by less are taken for one: sizes are rounded to blocks."""

BLOCK_BYTES = 8
"""A controller's state of a block under any mapping: its erases take 4 B, its valid pages or write
pointer 2 or 3, its use 1."""

OWN_WRITES = {"7450-like": 1.035, "7450-max-like": 1.035}
"""Bytes that a preset's drive programs per byte that simulated flash does, as for parity.

At a default slice and 42, 58, 75, 83 and 100 % in use, random writes had a WA 3 to 4 % below the
drive's; with the factor it is within 1 %. The whole preset is 3 % above the drive with it at 100 %,
1 % at 83 %. Other presets were fitted to a WA that has it.
"""

ONE_BIT_ERASES = 50_000
"""Cells of several bits survive fewer erases."""


def workload(document: Document, article: str = "a") -> str:
    """The workload, as a sentence names it."""
    name = document["workload"]["name"]
    return f"{article} generated workload" if name == "generated" else name


def asked(results: Outcome) -> list[tuple[str, list[str]]]:
    """Headings with their lines."""
    document = results.document
    return [
        ("Workload", _workload(document)),
        ("Device", _device(document)),
        ("Host and run", _host(document)),
        ("Translation layers", _layers(document)),
    ]


def _workload(document: Document) -> list[str]:
    workload = document["workload"]
    requests, span = several(workload["requests"], "request"), units.size(workload["span_bytes"])
    lines = [
        f"{workload['name']} ({workload['format']})",
        f"{requests} over {units.duration(workload['duration_ns'])}, up to address {span}",
        f"{several(workload['pages_read'], 'page')} read, {several(workload['pages_written'], 'page')} written",
    ]
    if document["study"].get("workload", {}).get("preset"):
        lines.append("generated: a statistical look-alike of the published trace, not the trace itself")
    return lines + workload["facts"]


def _device(document: Document) -> list[str]:
    device = device_of(document)
    geometry = ", ".join(f"{key.replace('_', ' ')} {_shown(key, value)}" for key, value in device["geometry"].items())
    latencies = ", ".join(
        f"{key.replace('_', ' ').removesuffix(' ns')} {_shown(key, value)}"
        for key, value in device["latencies"].items()
    )
    bad = several(device["bad_blocks"], "bad block")
    options = _options(document["study"].get("device", {}))
    scaled, slice_told = scaled_line(document), slice_line(document)
    of_slice = " (the slice)" if slice_told else ""
    return [
        device_line(document),
        *([scaled] if scaled else []),
        *([slice_told] if slice_told else []),
        *([own] if (own := own_writes_line(document)) else []),
        blocks_line(document),
        f"utilisation {units.share(device['utilisation'])}, {bad}{of_slice}",
        f"{geometry}{of_slice}",
        f"{latencies}{of_slice}",
        *([f"options: {', '.join(options)}"] if options else []),
    ]


def _options(device: Json) -> list[str]:
    """The priced options that the device was given, as in the study."""
    given = [
        key if value is True else f"{key} {value}"
        for key in keys_of("ability")
        if (value := device.get(key)) not in (None, False, "off")
    ]
    if device.get("mapping_unit"):
        given.append(
            f"mapping_unit {units.size(device['mapping_unit'])} on flash pages of {units.size(device['page_size'])}"
        )
    if device.get("programming"):
        given.append(f"programming {device['programming']}")
    if device.get("bit_errors", "none") != "none":
        given.append(f"bit errors {device['bit_errors']}")
    if device.get("initial_erases"):
        given.append(f"initial_erases {device['initial_erases']}")
    front = ("link_bandwidth", "link_latency", "controller_cores", "controller_latency")
    return given + [f"{key} {device[key]}" for key in front if device.get(key) not in (None, "0ns")]


def _shown(key: str, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if key.endswith("_ns"):
            return units.duration(value)
        if key == "page_size" or key.endswith("_bytes"):
            return units.size(value)
        return units.count(value) if isinstance(value, int) else units.plain(value)
    if isinstance(value, list):
        return "/".join(_shown(key, of_type) for of_type in value)
    return str(value)


def _host(document: Document) -> list[str]:
    study = document["study"]
    host = study.get("host", {})
    lines = [
        f"{_loop(host)}{clockless(document)}",
        preparation(document),
        f"seed {study.get('seed')}",
        *(verified(document) or ["not checked against the oracle; --verify does so, and takes longer"]),
    ]
    return [*lines, f"ftlkit {document['ftlkit']}"]


def clockless(document: Document) -> str:
    """Behind a comma, that runs have no clock, and which if others have one."""
    runs = document["runs"]
    without = [run["label"] for run in runs if not has_clock(run)]
    if not runs and document["study"].get("run", {}).get("clock", True) is not True:
        return ", without a clock"
    if not without:
        return ""
    return ", without a clock" + (f": {', '.join(without)}" if len(without) < len(runs) else "")


def _loop(host: Json) -> str:
    """How requests come."""
    return {
        "closed": f"closed loop, {host.get('queue_depth')} requests at once",
        "threads": "threads: requests arrive at the workload's own times, and each stream has at most "
        f"{host.get('queue_depth')} outstanding",
    }.get(host.get("loop", ""), "open loop: requests arrive at the workload's own times")


def preparation(document: Document) -> str:
    """How the devices were prepared, and why where the study left the choice."""
    chosen = document.get("precondition_chosen")
    if chosen is None:
        return f"preconditioning: {document['study'].get('run', {}).get('precondition', 'none')}"
    why = f" ({chosen['requested']}: {chosen['reason']})" if chosen["reason"] else ""
    share = document["study"].get("run", {}).get("in_use")
    full = f", {units.share(share)} of the capacity in use" if share else _all_in_use(document, chosen["mode"])
    return f"preconditioning: {chosen['mode']}{full}{why}"


def _all_in_use(document: Document, mode: str) -> str:
    """That more than the workload's addresses holds data, since no share was given."""
    device, chosen = device_of(document), document.get("precondition_chosen")
    spanned = document["workload"]["span_bytes"] / (device.get("slice_bytes") or device["logical_bytes"])
    if document["study"].get("workload", {}).get("addresses") == "dense" and chosen and chosen.get("live_pages"):
        spanned = (chosen.get("touched_pages") or 0) / (chosen.get("live_pages") or 1)
    is_full = mode in ("fill", "steady") and spanned < 1 - _SAME_SIZE
    return ", all of the capacity in use (no --in-use given)" if is_full else ""


def spare(device: DeviceFacts) -> str:
    """The flash that the host does not see, as a share of all flash and of what it sees."""
    return spare_text(device["spare"])


def spare_text(share: float) -> str:
    """A spare space as `device.spare` and as over-provisioning."""
    return f"spare {units.share(share)} (OP {units.share(share / (1 - share))})"


def device_line(document: Document) -> str:
    """The device of the runs in a line: name, origin, size, dies, cells and spare."""
    device = device_of(document)
    sizes = f"{units.size(device['logical_bytes'])} for the host on {units.size(device['physical_bytes'])} of flash"
    reason = f"; capacity {device['capacity_reason']}" if device.get("capacity_reason") else ""
    return f"Device {device_name(device)}: {sizes}, {dies(document)}, {spare(device)}{reason}"


def device_name(device: DeviceFacts) -> str:
    """The preset of a device, and where it comes from."""
    return {
        "default": f"{device['preset']}, the default since no device was named",
        "keys": f"given by its keys, the others those of {device['preset']}",
    }.get(device.get("named_by", "preset"), device["preset"])


def dies(document: Document) -> str:
    """Number of dies, and their cells where known."""
    device = device_of(document)
    count = several(device["geometry"]["channels"] * device["geometry"]["dies_per_channel"], "die")
    # Where all pages of a cell take the same time, the key does not tell its bits: endurance may.
    cell = device["latencies"].get("cell", "slc")
    limits = [endurance["limit"] for run in document["runs"] if (endurance := run.get("endurance"))]
    is_known = cell != "slc" or min(limits, default=0) >= ONE_BIT_ERASES
    return f"{count} of {cell.upper()}" if is_known else count


def scaled_line(document: Document) -> str | None:
    """How a preset was scaled to a given capacity; nothing where it was not.

    Channels and dies stay, so its speed does, too.
    """
    device = device_of(document)
    if device.get("named_by", "preset") != "preset" or device.get("capacity_reason"):
        return None
    own = preset(device["preset"])
    dies = device["geometry"]["channels"] * device["geometry"]["dies_per_channel"]
    if not own or dies != own["channels"] * own["dies_per_channel"]:
        return None
    times = device["physical_bytes"] / physical_bytes(own)
    if abs(times - 1) < _SAME_SIZE:
        return None
    sizes = [units.size(size / dies) for size in (device["physical_bytes"], physical_bytes(own))]
    more = f"--set device.dies_per_channel={math.ceil(times * own['dies_per_channel'])}"
    kind, end = ("larger", f"; a drive of this size has more dies ({more})") if times > 1 else ("smaller", "")
    return f"Scaled by {kind} dies: {dies} of {sizes[0]} ({device['preset']}: {sizes[1]}), with the preset's speed{end}"


def slice_line(document: Document) -> str | None:
    """Which slice stood for the device; nothing for the whole."""
    part = device_of(document).get("slice_bytes")
    return sliced(part) if part else None


def own_writes_line(document: Document) -> str | None:
    """The factor on WA for what a preset's drive writes for itself."""
    name = device_of(document)["preset"]
    factor = OWN_WRITES.get(name)
    told = f"WA of {name} leaves out the drive's own writes: multiply WA by {factor}, and divide lives by it"
    return told if factor else None


def blocks_bytes(document: Document) -> float:
    """The state of the drive's blocks; those of a slice may be shorter."""
    device, keys = device_of(document), document["study"].get("device", {})
    block_bytes = device["geometry"]["page_size_bytes"] * device["geometry"]["pages_per_block"]
    if device.get("slice_bytes"):
        planes, dies = keys["planes_per_die"], keys["channels"]
        together = {"plane": 1, "die": planes, "group": planes * dies}[keys["superblock"]]
        block_bytes = keys["pages_per_block"] * keys["page_size"] * together
    return BLOCK_BYTES * device["physical_bytes"] / block_bytes


def blocks_line(document: Document) -> str:
    """RAM for the blocks of the drive that no footprint has."""
    state = f"about {BLOCK_BYTES} B per block, {units.size(blocks_bytes(document))}"
    return f"RAM leaves out the state of blocks (use, valid pages, erases): {state}"


def sliced(*parts_bytes: int) -> str:
    """That slices stood for drives. How near they come stands in one place."""
    least, most = units.size(min(parts_bytes)), units.size(max(parts_bytes))
    part = f"a slice of {least}" if least == most else f"slices of {least} to {most}"
    return (
        f"Simulated: {part} with the drive's dies and spare, where WA, waits for GC and hits of caches come out "
        "low (docs/device.md, Slices); RAM and life are of the drive, erases of the slice"
    )


def intro(document: Document, given: Json | None = None) -> list[str]:
    """What runs were made on, as lines: the device, how the trace was read, how it was prepared.

    A point of a sweep is run with all its keys filled in; `given` is the study as it was given.
    """
    if given is not None:
        document = _as_given(document, given)
    prepared = preparation(document) + clockless(document)
    lines = (
        device_line(document),
        scaled_line(document),
        slice_line(document),
        own_writes_line(document),
        blocks_line(document),
        reading(document),
        *changes(document),
        f"{prepared[0].upper()}{prepared[1:]}",
    )
    return [f"{line}." for line in lines if line]


def _as_given(document: Document, given: Json) -> Document:
    """Results that say which of their keys were given, and which were chosen."""
    device: Json = {**device_of(document), "named_by": named_by(given.get("device", {}))}
    workload: Json = {**document["workload"]}
    if workload.get("read_as"):
        is_guessed = not {"format", "columns"} & given["workload"].keys()
        workload["read_as"] = workload["read_as"] | {"is_guessed": is_guessed}
    return {**document, "device": device, "workload": workload}  # type: ignore[typeddict-item] # the same keys


def named_by(device: Json) -> str:
    """How a `[device]` table chooses the device, as `DeviceFacts.named_by` says it."""
    if "preset" in device:
        return "preset"
    return "keys" if device.keys() - set(keys_of("size")) else "default"


def reading(document: Document) -> str | None:
    """How a trace was read, in a line; nothing for a workload that is generated."""
    workload = document["workload"]
    read = workload.get("read_as")
    if read is None:
        return None
    columns = f" ({read['columns']})" if read["columns"] else ""
    how = ", guessed from its content" if read["is_guessed"] else ""
    devices = sum(device["base_byte"] is not None for device in read["devices"])
    spread = f" on {devices} devices, laid out one after another" if devices > 1 else ""
    mean = units.size(workload.get("bytes", 0) / max(workload["requests"], 1))
    return (
        f"{workload['name']} read as {read['format']}{columns}{how}: times in {read['time_unit']}, "
        f"{several(workload['requests'], 'request')} over {units.duration(workload['duration_ns'])}{spread}, "
        f"addresses up to {units.size(workload['span_bytes'])}, {mean} per request"
    )


def changes(document: Document) -> list[str]:
    """Omissions from a workload and changes to it, one sentence each."""
    facts = [fact for fact in document["workload"]["facts"] if not fact.startswith("read as ")]
    return [f"{fact[0].upper()}{fact[1:]}" for fact in facts]


def verified(document: Document) -> list[str]:
    """The sentence on what the oracle has checked, if it has checked every run."""
    runs = document["runs"]
    if not runs or not all(run.get("proved") for run in runs):
        return []
    reads = several(sum(run["host_pages_read"] for run in runs), "page read")
    proved = "; or ".join(dict.fromkeys(str(run["proved"]) for run in runs))
    given = f"{reads} of the workload, and the whole device read back, gave what was written last"
    return [f"Verified by the oracle: {given} ({proved})."]


def _layers(document: Document) -> list[str]:
    lines = []
    for run in document["runs"]:
        parameters = ", ".join(f"{key} = {value}" for key, value in run["parameters"].items())
        lines.append(f"{run['label']}: {run['family']}{f'; {parameters}' if parameters else ''}")
    return lines
