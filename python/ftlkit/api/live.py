"""The live device: flash images, and servers that offer them as block devices.

>>> import ftlkit as fk
>>> fk.create_image("disk.img", "dftl:cmt=64KiB", device={"capacity": "64MiB"})  # doctest: +SKIP
>>> with fk.serve("disk.img") as device:  # doctest: +SKIP
...     print(device.uri)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlkit import _native, study
from ftlkit._util.outputs import check_writable
from ftlkit.api.native_handle import Running
from ftlkit.own.images import keep, register_parts
from ftlkit.own.references import references
from ftlkit.study.builder import check_seed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ftlkit.results.document import Json


def create_image(
    path: str | Path,
    ftl: study.FtlChoice = "page",
    *,
    device: study.DeviceChoice | None = None,
    seed: int | None = None,
) -> Json:
    """Make a flash image for one translation layer; returns its description.

    `device` is a preset's name, a TOML file with a table `[device]`, or that table; its `capacity`
    must be a size. Raises `UserError` if the file exists, if the translation layer does not fit the
    device, or if the seed is out of range.
    """
    layer = study.scheme(ftl)
    references([layer])
    request: dict[str, Any] = {
        "image": str(path),
        "ftl": layer,
        "device": study.device_table(device or {}),
    }
    if seed is not None:
        check_seed(seed)
        request["seed"] = seed
    made: Json = json.loads(_native.image_create(json.dumps(request)))
    keep(path, layer)
    return made


def image_info(path: str | Path) -> Json:
    """Describe an image: translation layer, sizes, counts over its life; also while served."""
    register_parts(path)
    info: Json = json.loads(_native.image_info(str(path)))
    return info


def check_image(path: str | Path) -> Json:
    """The damage of an image that nobody serves; changes nothing. `is_sound` if there is none."""
    register_parts(path)
    report: Json = json.loads(_native.image_check(str(path)))
    return report


def stat(path: str | Path) -> Json:
    """Describe a served device: write amplification, wear, spare blocks, counts by cause."""
    statistics: Json = json.loads(_native.server_call(str(path), '"stat"'))
    return statistics


def fault(path: str | Path, request: Mapping[str, object] | str) -> str:
    """Let something go wrong in a device that is being served; returns what was done.

    `request` is `"restore"`, `{"cut": {"tear": "torn", "after": 10, "stay_off": False}}` or
    `{"at": {"kind": "program_fails", "after": 10}}`; `after` counts flash operations.
    """
    answer: Json = json.loads(_native.server_call(str(path), json.dumps({"fault": request})))
    done: str = answer["done"]
    return done


class Device(Running):
    """A device that is being served; a context manager that stops it in good order."""

    def __init__(self, options: Mapping[str, object]) -> None:
        super().__init__(_native.Server(json.dumps(options)))

    @property
    def uri(self) -> str:
        """What clients connect to."""
        uri: str = self.ready["uri"]
        return uri


def serve(  # noqa: PLR0913 - as many as there are options
    path: str | Path,
    *,
    socket: str | Path | None = None,
    listen: str | None = None,
    latency: str = "none",
    fault: str | Path | None = None,
    record: str | Path | None = None,
    metrics: str | None = None,
    tls: str | Path | None = None,
    clients: int | None = None,
    accept_damage: bool = False,
    read_only: bool = False,
    insecure: bool = False,
) -> Device:
    """Serve an image as a block device over NBD, in threads of its own.

    `socket` or `listen`, an address with a port, say where (by default a Unix socket beside the
    image); `latency` is `"none"` or `"modelled"`; `fault` is a script of faults; `record` a Parquet
    file that keeps the requests served; `metrics` an address for Prometheus; `tls` a folder of
    certificates; `clients` how many there may be at once. `accept_damage` serves what is left of a
    damaged image; `read_only` leaves the image as it is; `insecure` lets other hosts in without
    TLS. Raises `UserError` when the input is at fault.
    """
    register_parts(path)
    given: dict[str, Any] = {"latency": latency, "listen": listen, "metrics": metrics, "clients": clients}
    paths = {"socket": socket, "fault": fault, "record": record, "tls": tls}
    given |= {key: None if value is None else str(value) for key, value in paths.items()}
    check_writable([None if record is None else Path(record)], [path, fault])
    options = {key: value for key, value in given.items() if value is not None}
    flags = {"accept_damage": accept_damage, "read_only": read_only, "insecure": insecure}
    return Device({"image": str(path), **flags, **options})
