"""A flash image mounted: a FAT file system on a live device, whose files programs use.

>>> import ftlkit as fk
>>> fk.create_image("disk.img", "page+saw", device={"capacity": "64MiB"})  # doctest: +SKIP
>>> with fk.mount("disk.img", "folder", format=True) as mounted:  # doctest: +SKIP
...     Path("folder/notes.txt").write_text("hot")
...     print(fk.stat("disk.img")["files"])
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlkit import _native
from ftlkit._util.outputs import check_writable
from ftlkit.api.native_handle import Running
from ftlkit.own.images import register_parts

if TYPE_CHECKING:
    from collections.abc import Mapping


class Mounted(Running):
    """An image that is mounted; a context manager that unmounts it in good order."""

    def __init__(self, options: Mapping[str, object]) -> None:
        self._mounted = _native.Mounted(json.dumps(options))
        super().__init__(self._mounted)

    def notice(self) -> str | None:
        """News for the user since the last call, such as that the flash is worn out."""
        return self._mounted.notice()

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(self.ready["folder"])


def mount(  # noqa: PLR0913 - as many as there are options
    path: str | Path,
    folder: str | Path,
    *,
    format: bool = False,  # noqa: A002 - as the option is called
    record: str | Path | None = None,
    interval: int | None = None,
    streams: int | None = None,
    code_page: int | None = None,
    umask: str | None = None,
    exec: bool = False,  # noqa: A002 - as the option is called
    latency: str = "none",
    fault: str | Path | None = None,
    metrics: str | None = None,
    accept_damage: bool = False,
    read_only: bool = False,
) -> Mounted:
    """Mount an image at an empty folder, as a FAT file system, in threads of its own.

    `format` makes the file system first, on a new image. `record` is a Parquet or CSV file that
    keeps the requests with their hints. `interval` is how many write requests there are until types
    of files are rated anew (10 000 without it), `streams` how many streams their degrees are shared
    out among (3). `code_page` says which letters the bytes above 127 of short names are (437
    without it, or 850, 852, 866 and others of DOS). `umask` is the octal mask of permissions that
    files and folders are shown without ("022"), and `exec` lets files be executed. The others are
    those of `serve`. Worn-out flash is mounted for reading alone. Raises `UserError` when the
    input is at fault, or there is no FUSE; stopping raises it when the flash has worn out meanwhile
    and something that programs wrote is lost.
    """
    paths = {"fault": fault, "record": record}
    serve: dict[str, Any] = {key: None if value is None else str(value) for key, value in paths.items()}
    serve |= {"image": str(path), "latency": latency, "metrics": metrics}
    serve |= {"accept_damage": accept_damage, "read_only": read_only}
    check_writable([None if record is None else Path(record)], [path, fault])
    register_parts(path)
    own = {"folder": str(folder), "format": format, "interval": interval, "streams": streams, "code_page": code_page}
    own |= {"umask": umask, "exec": exec}
    return Mounted(_given(own) | {"serve": _given(serve)})


def _given(options: Mapping[str, object]) -> dict[str, object]:
    """The options that have a value."""
    return {key: value for key, value in options.items() if value is not None}
