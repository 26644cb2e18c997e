"""`ftlkit image | serve | stat | fault`: a flash image as a block device."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typing_extensions import Self

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.api import live
from ftlkit.cli import options
from ftlkit.cli.options import option
from ftlkit.cli.shell import FOUND, OUT, Command, Group, print_facts, print_json, say

image = typer.Typer(cls=Group, help="Make, describe and check flash images.", no_args_is_help=True)

Image = Annotated[Path, typer.Argument(metavar="IMAGE", help="The flash image.")]

POLL_S = 0.2
"""How often a server is looked at; signals are heard between two looks."""

MOST_AFTER = 2**64 - 1
"""The most flash operations that a fault can wait for: as many as are counted."""

SLOW_MOUNT_S = 1.0
"""How long a modelled device must recover before that is worth a line."""


@image.command(cls=Command)
@options.with_options("settings", "seed")
def create(
    path: Image,
    ftl: Annotated[str, option("The translation layer; dftl:cmt=32KiB sets a parameter of it.", "NAME")] = "page",
    device: options.Device = None,
    capacity: Annotated[str | None, option("Logical size, for example 1GiB; default: the preset's.", "SIZE")] = None,
    chosen: study.Options = options.CHOSEN,
) -> None:
    """Make an image: a new flash device in a sparse file, for one translation layer."""
    scheme, table = study.image(ftl, device, capacity, chosen.get("settings", []))
    made = live.create_image(path, scheme, device=table, seed=chosen.get("seed"))
    layer = "+".join(study.parts(made["stack"]))
    say(f"made {path}: {layer}, {units.typed(units.size(_logical(made)))} on {_flash(made)}")
    say(f"serve it: ftlkit serve {path}")


@image.command(cls=Command)
def info(path: Image, as_json: options.AsJson = False) -> None:
    """Describe an image; works while it is served, too."""
    info = live.image_info(path)
    if as_json:
        print_json(info)
        return
    described = info["description"]
    state = (
        "being served"
        if info["is_served"]
        else "in good order"
        if info["is_clean"]
        else "was not stopped in good order; the next start recovers it"
    )
    print_facts(
        [
            ("image", str(path)),
            ("state", state),
            ("translation layer", described["stack"]),
            ("logical size", units.size(info["logical_bytes"])),
            ("flash", _flash(described)),
            ("file", f"{units.size(info['file_bytes'])}, {units.size(info['disk_bytes'])} of it on the disk"),
            ("served", several(info["starts"], "time")),
            *((name.replace("_", " "), units.count(number)) for name, number in info["life"].items()),
        ],
        "bold",
    )


@image.command(cls=Command)
def check(path: Image, as_json: options.AsJson = False) -> None:
    """Check every byte of an image that nobody serves, and recover it on a copy in memory.

    The exit code is 1 if anything is damaged. What a host that lost power leaves is no damage.
    """
    report = live.check_image(path)
    if as_json:
        print_json(report)
    else:
        for sentence in (*report["problems"], *report["host_loss"]):
            OUT.print(sentence, soft_wrap=True)
        if report["unreadable_pages"]:
            pages = ", ".join(str(page) for page in report["unreadable_pages"])
            more = report["unreadable_count"] - len(report["unreadable_pages"])
            OUT.print(f"unreadable logical pages: {pages}" + (f" and {more} more" if more else ""), soft_wrap=True)
        pages = several(report["programmed_pages"], "page")
        OUT.print(f"{path}: {_verdict(report)}. {pages} programmed.", soft_wrap=True)
    if not report["is_sound"]:
        raise typer.Exit(FOUND)


def _verdict(report: Json) -> str:
    """What a check comes to."""
    if not report["is_sound"]:
        return "damaged; what is listed above cannot be trusted, the rest can"
    if report["host_loss"]:
        return "sound; its host lost power and left it as listed above, which the next start mends"
    return "sound"


@options.with_options(of=live.ServeOptions)
def serve(path: Image, chosen: live.ServeOptions = options.CHOSEN) -> None:
    """Serve an image as a block device over NBD, until Ctrl-C or SIGTERM."""
    check_latency(chosen)
    read_only, record = chosen.get("read_only", False), chosen.get("record")
    with Stopping() as stopping:
        device = live.serve(path, **chosen)
        for finding in device.ready["findings"]:
            say(f"{path}: {finding}")
        for warning in device.ready["warnings"]:
            say(f"warning: {warning}")
        size = units.typed(units.size(device.ready["logical_bytes"]))
        how = ", for reading alone" if read_only else ""
        say(f"serving {path} ({device.ready['ftl']}, {size}{how}) at {device.uri}")
        if device.ready["mount_s"] >= SLOW_MOUNT_S:
            say(f"the modelled device recovers for {units.duration(device.ready['mount_s'] * 1e9)} before it answers")
        if device.ready["metrics"]:
            say(f"metrics at {device.ready['metrics']}")
        try:
            while not stopping.asked and not device.wait(POLL_S):
                pass
        finally:
            _say_saved(path, device.stop(), read_only=read_only)
    if record is not None:
        say(f"wrote {record}")


def check_latency(chosen: Mapping[str, object]) -> None:
    """Refuse a model of latency that there is not."""
    if chosen["latency"] not in ("none", "modelled"):
        raise UserError(f"--latency {chosen['latency']}: must be none or modelled.")


def stat(path: Image, as_json: options.AsJson = False) -> None:
    """Show the state of a served device, like the SMART page of a drive."""
    statistics = live.stat(path)
    if as_json:
        print_json(statistics)
    else:
        print_facts(_stat_rows(statistics), "bold")


def fault(
    path: Image,
    what: Annotated[
        str,
        typer.Argument(metavar="FAULT", help="cut, restore, program_fails, erase_fails, read_fails or read_corrected."),
    ],
    after: Annotated[int, option("Flash operations before it.", "N", least=0)] = 0,
    tear: Annotated[
        str | None,
        option(
            "Of a cut: progress of the interrupted operation: before, unseen, torn, after.",
            "before|unseen|torn|after",
        ),
    ] = None,
    stay_off: Annotated[bool, option("Of a cut: until restore gives the power back.", flags=("--stay-off",))] = False,
) -> None:
    """Inject a fault into a served device: a power cut, or a flash operation that fails."""
    kinds = ("program_fails", "erase_fails", "read_fails", "read_corrected")
    if what not in ("cut", "restore", *kinds):
        raise UserError(f"{what}: must be one of cut, restore, {', '.join(kinds)}.")
    if what != "cut" and (tear is not None or stay_off):
        raise UserError(f"--tear and --stay-off belong to cut, not to {what}.")
    if after > MOST_AFTER:
        raise UserError(f"--after {after}: must be from 0 to {MOST_AFTER}, flash operations before the fault.")
    if tear not in (None, "before", "unseen", "torn", "after"):
        raise UserError(f"--tear {tear}: must be one of before, unseen, torn, after.")
    if what == "restore":
        say(live.fault(path, "restore"))
    elif what == "cut":
        say(live.fault(path, {"cut": {"tear": tear, "after": after, "stay_off": stay_off}}))
    else:
        say(live.fault(path, {"at": {"kind": what, "after": after}}))


class Stopping:
    """Hear Ctrl-C and SIGTERM from here to the end; a second one ends the process."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)

    def _ask(self, number: int, _frame: object) -> None:
        self.asked = True
        signal.signal(number, signal.SIG_DFL)


def _say_saved(path: Path, summary: Json, *, read_only: bool) -> None:
    host = summary["host"]
    counted = ((summary["clients"], "client"), (host["reads"], "read"), (host["writes"], "write"))
    served = ", ".join(several(number, what) for number, what in counted)
    if read_only:
        saved = "the image is as it was"
    elif summary["is_saved"]:
        saved = "everything is on the disk"
    else:
        saved = "the device has no power; its next start recovers it"
    say(f"stopped serving {path}: {served}, {units.typed(units.size(host['bytes_written']))} written; {saved}")
    say_faults_to_come(summary)


def say_faults_to_come(summary: Json) -> None:
    """Say how many planned faults have met no operation, or one of another kind, if any."""
    if to_come := summary["faults_to_come"]:
        have = "has" if to_come == 1 else "have"
        say(f"{several(to_come, 'planned fault')} {have} not come: the device did fewer operations than planned")
    if missed := summary["missed_faults"]:
        say(f"{several(missed, 'planned fault')} did nothing: the operation there was of another kind")


def _stat_rows(statistics: Json) -> Iterator[tuple[str, str]]:
    host, erases, spares = statistics["host"], statistics["erases"], statistics["spares"]
    yield "translation layer", statistics["ftl"]
    yield "power", "on" if statistics["has_power"] else "off"
    yield "up", units.duration(statistics["uptime_s"] * 1e9)
    yield "clients", f"{units.count(statistics['clients'])} now, {units.count(statistics['clients_served'])} in all"
    yield "waited for others", f"at most {several(statistics['turns_waited_max'], 'turn')}"
    yield "read", f"{several(host['reads'], 'request')}, {units.size(host['bytes_read'])}"
    yield "written", f"{several(host['writes'], 'request')}, {units.size(host['bytes_written'])}"
    yield "trims, flushes", f"{units.count(host['trims'])}, {units.count(host['flushes'])}"
    valid = units.size(statistics["valid_pages"] * statistics["page_bytes"])
    yield (
        "valid pages",
        f"{units.count(statistics['valid_pages'])}, {valid} of {units.size(statistics['logical_bytes'])}",
    )
    yield "write amplification", units.plain(statistics["write_amplification"])
    if statistics["mapping_hit_ratio"] is not None:
        yield "mapping hit ratio", units.share(statistics["mapping_hit_ratio"])
    if statistics.get("buffer_hit_ratio") is not None:
        yield "buffer hit ratio", units.share(statistics["buffer_hit_ratio"])
    spread = f"{units.count(erases['min'])} to {units.count(erases['max'])}, mean {units.plain(erases['mean'])}"
    yield "erases a block", f"{spread}, of {units.count(statistics['endurance'])}"
    yield "wear", units.share(statistics["wear"])
    yield "wear map", _wear_map(statistics["wear_map"])
    notes = dict(statistics["notes"])
    new = notes.pop("bad_blocks", 0)
    since = f", {units.count(new)} of them since the power came on" if new else ""
    yield "bad blocks", units.count(statistics["bad_blocks"]) + since
    unused = max(0, spares["total"] - spares["used"])
    yield "spare blocks", f"{units.count(unused)} left of {units.count(spares['total'])}"
    late = statistics["lateness_ns"]
    if late is not None:
        known = f"median {units.duration(late['p50'])}, 99 % {units.duration(late['p99'])}"
        yield "late replies", f"{known}, at most {units.duration(late['max'])}"
    for operation in statistics["operations"]:
        yield f"{operation['cause']} {operation['op']}s".replace("_", " "), units.count(operation["count"])
    for name, number in notes.items():
        yield name.replace("_", " "), units.count(number)
    for name, number in statistics["gauges"]:
        yield name.replace("_", " "), units.plain(number)
    if statistics["files"] is not None:
        yield from _file_rows(statistics["files"])


def _wear_map(erases: list[int]) -> str:
    """A bar for each stretch of blocks, by the erases of its most worn block."""
    bars = "▁▂▃▄▅▆▇█"
    most = max(erases, default=0)
    return "".join(bars[count * (len(bars) - 1) // most] if most else bars[0] for count in erases)


def _file_rows(files: Json) -> Iterator[tuple[str, str]]:
    """Degrees by type of file, the hottest first."""
    yield "mounted at", files["mounted_at"]
    yield "intervals", f"{units.count(files['intervals'])} have ended; degrees go from 0 to {files['degrees']}"
    for file_type in files["types"]:
        active = f"{units.count(file_type['active'])} active, {units.plain(file_type['f'])} writes to each expected"
        yield f"degree of {file_type['file_type']}", f"{file_type['degree']} ({active})"


def _logical(described: Json) -> int:
    size: int = described["logical_pages"] * described["geometry"]["page_size_bytes"]
    return size


def _flash(described: Json) -> str:
    shape = described["geometry"]
    dies = shape["channels"] * shape["dies_per_channel"]
    blocks = dies * shape["planes_per_die"] * shape["blocks_per_plane"]
    size = blocks * shape["pages_per_block"] * shape["page_size_bytes"]
    return units.typed(
        f"{units.size(size)} of flash: {several(dies, 'die')}, {several(blocks, 'block')} of "
        f"{several(shape['pages_per_block'], 'page')} of {units.size(shape['page_size_bytes'])}"
    )
