"""`ftlkit mount`: the files of a flash image."""

from pathlib import Path
from typing import Annotated

import typer

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.api import mount as mounting
from ftlkit.cli import options
from ftlkit.cli.live import POLL_S, Image, Stopping, check_latency, say_faults_to_come
from ftlkit.cli.shell import say


@options.with_options(of=mounting.MountOptions)
def mount(
    path: Image,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="An empty folder, where its files appear.")],
    chosen: mounting.MountOptions = options.CHOSEN,
) -> None:
    """Mount an image as a FAT file system, until Ctrl-C, SIGTERM or fusermount3 -u FOLDER."""
    check_latency(chosen)
    record = chosen.get("record")
    with Stopping() as stopping:
        mounted = mounting.mount(path, folder, **chosen)
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
            _say_saved(path, folder, mounted.stop(), read_only=is_read_only)
    if record is not None:
        say(f"wrote {record}")


def _say_saved(path: Path, folder: Path, summary: Json, *, read_only: bool) -> None:
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
    done = "stopped" if summary["is_covered"] else "unmounted"
    say(f"{done} {path}: {requests}, {units.typed(units.size(host['bytes_written']))} written; {saved}")
    say_faults_to_come(summary)
    if summary["is_covered"]:
        say(
            f"warning: its mount, now without files, stays at {folder}, since something else was mounted over it: "
            f"unmount that, and then it (umount {folder}; without root fusermount3 -u {folder})"
        )
    elif summary["was_busy"]:
        say("warning: programs still had files open or worked in the folder; what they do there fails from now on")
