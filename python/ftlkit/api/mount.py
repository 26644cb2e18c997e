"""A flash image mounted: a FAT file system on a live device, whose files programs use.

>>> import ftlkit as fk
>>> fk.create_image("disk.img", "page+saw", device={"capacity": "64MiB"})  # doctest: +SKIP
>>> with fk.mount("disk.img", "folder", format=True) as mounted:  # doctest: +SKIP
...     Path("folder/notes.txt").write_text("hot")
...     print(fk.stat("disk.img")["files"])
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from typing_extensions import Unpack

from ftlkit import _native
from ftlkit._util.options import Option, declared, typed_kwargs
from ftlkit.api.live import Fault, Metrics, ServeOptions, opened
from ftlkit.api.native_handle import Running


class Mounted(Running):
    """An image that is mounted; a context manager that unmounts it in good order."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._mounted = _native.Mounted(json.dumps(options, default=str))
        super().__init__(self._mounted)

    def notice(self) -> str | None:
        """News for the user since the last call, such as that the flash is worn out."""
        return self._mounted.notice()

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(self.ready["folder"])


class MountOptions(TypedDict, total=False):
    """How an image is mounted."""

    format: Annotated[bool, Option("Make a FAT file system first; only on an empty image.")]
    record: Annotated[
        str | Path | None, Option("Record the requests, with their hints, as a trace.", "OUT.csv|OUT.parquet")
    ]
    interval: Annotated[int | None, Option("Writes between ratings of file types; default 10 000.", "N", least=1)]
    streams: Annotated[int | None, Option("Streams for hot and cold files; default 3.", "N", least=0)]
    code_page: Annotated[int | None, Option("Code page of short names, such as 850; default 437.", "N")]
    umask: Annotated[str | None, Option("Permissions withheld from files and folders; default 022.", "MASK")]
    exec: Annotated[bool, Option("Let files be executed.")]
    latency: Annotated[
        str,
        Option(
            "none: reply at once; modelled: each request takes as long as on the modelled device.",
            "none|modelled",
            default="none",
        ),
    ]
    fault: Fault
    metrics: Metrics
    accept_damage: Annotated[bool, Option("Mount the rest of a damaged image.")]
    read_only: Annotated[bool, Option("Mount read-only; the image stays unchanged.")]


@typed_kwargs(MountOptions)
def mount(path: str | Path, folder: str | Path, **options: Unpack[MountOptions]) -> Mounted:
    """Mount an image at an empty folder, as a FAT file system, in threads of its own.

    Code pages are 437, 850, 852, 866 and others of DOS. Worn-out flash is mounted for reading
    alone. Raises `UserError` when the input is at fault, or there is no FUSE; stopping raises it
    when the flash has worn out meanwhile and something that programs wrote is lost.
    """
    request = opened(path, options)
    own = {key: request.pop(key) for key in request.keys() & declared(MountOptions).keys() - declared(ServeOptions)}
    return Mounted({"folder": folder, "serve": request} | own)
