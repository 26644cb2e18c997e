"""`ftlkit mount`: the files of a flash image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit.api import mount as mounting
from ftlkit.cli.live import POLL_S, Image, Stopping
from ftlkit.cli.shell import say

if TYPE_CHECKING:
    from ftlkit.results.document import Json


def mount(
    path: Image,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="An empty folder, where its files appear.")],
    format_: Annotated[
        bool, typer.Option("--format", help="Make a FAT file system first; only on an image that holds nothing.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(metavar="OUT.csv|OUT.parquet", help="Record the requests, with their hints, as a trace."),
    ] = None,
    interval: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Writes until types of files are rated anew; 10 000 without it."),
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Streams that hot and cold files are shared out among; 3 without it."),
    ] = None,
    code_page: Annotated[
        int | None,
        typer.Option(metavar="N", help="Letters of the short names of other systems, such as 850; 437 without it."),
    ] = None,
    umask: Annotated[
        str | None,
        typer.Option(metavar="MASK", help="Permissions that files and folders are shown without; 022 without it."),
    ] = None,
    exec_: Annotated[bool, typer.Option("--exec", help="Let files be executed.")] = False,
    latency: Annotated[
        str,
        typer.Option(
            metavar="none|modelled",
            help="none: reply at once; modelled: each request takes as long as on the modelled device.",
        ),
    ] = "none",
    fault: Annotated[
        Path | None, typer.Option(metavar="SCRIPT.toml", help="Faults at certain flash operations.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="ADDRESS:PORT", help="Answer Prometheus there, on /metrics.")
    ] = None,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="Mount what is left of a damaged image.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Mount it for reading alone; the image stays as it is.")
    ] = False,
) -> None:
    """Mount an image as a FAT file system, until Ctrl-C, SIGTERM or fusermount3 -u FOLDER."""
    if latency not in ("none", "modelled"):
        raise UserError(f"--latency {latency}: must be none or modelled.")
    with Stopping() as stopping:
        mounted = mounting.mount(
            path,
            folder,
            format=format_,
            record=record,
            interval=interval,
            streams=streams,
            code_page=code_page,
            umask=umask,
            exec=exec_,
            latency=latency,
            fault=fault,
            metrics=metrics,
            accept_damage=accept_damage,
            read_only=read_only,
        )
        for finding in mounted.ready["findings"]:
            say(f"{path}: {finding}")
        size, free = (units.typed(units.size(mounted.ready[key])) for key in ("bytes", "free_bytes"))
        is_read_only = mounted.ready["is_read_only"]
        how = ", for reading alone" if is_read_only else ""
        say(f"mounted {path} ({mounted.ready['ftl']}{how}) at {folder}: {free} of {size} free; Ctrl-C unmounts it")
        if mounted.ready["is_worn_out"]:
            say(f"warning: the flash of {path} is worn out and takes no writes: copy the files to another disk")
        try:
            while not stopping.asked and not mounted.wait(POLL_S):
                if news := mounted.notice():
                    say(f"warning: {path}: {news}")
        finally:
            _say_saved(path, mounted.stop(), read_only=is_read_only)
    if record is not None:
        say(f"wrote {record}")


def _say_saved(path: Path, summary: Json, *, read_only: bool) -> None:
    host = summary["host"]
    if read_only:
        saved = "its files are as they were" if summary["is_worn_out"] else "the image is as it was"
    elif summary["is_saved"]:
        saved = "everything is on the disk"
        if summary["is_in_journal"]:
            saved += ", the last of it in the journal of the volume, which `ftlkit mount` and `ftlkit serve` read"
    else:
        saved = "the device has no power; mount it again to recover it"
    if summary["is_worn_out"] and not read_only:
        saved += ", and the flash is worn out: mount it again, and copy the files to another disk"
    requests = f"{several(host['reads'], 'read')}, {several(host['writes'], 'write')}"
    say(f"unmounted {path}: {requests}, {units.typed(units.size(host['bytes_written']))} written; {saved}")
    if summary["was_busy"]:
        say("warning: programs still had files open or worked in the folder; what they do there fails from now on")
