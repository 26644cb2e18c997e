"""The live device: flash images, and servers that offer them as block devices.

>>> import ftlkit as fk
>>> fk.create_image("disk.img", "dftl:cmt=64KiB", device={"capacity": "64MiB"})  # doctest: +SKIP
>>> with fk.serve("disk.img") as device:  # doctest: +SKIP
...     print(device.uri)
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from typing_extensions import Unpack

from ftlkit import _native, study
from ftlkit._util import Json
from ftlkit._util.options import Option, typed_kwargs
from ftlkit._util.outputs import check_writable
from ftlkit.api.native_handle import Running
from ftlkit.own.images import keep, register_parts
from ftlkit.own.references import references
from ftlkit.study.builder import check_seed


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
    request: dict[str, Any] = {"image": str(path), "ftl": layer, "device": study.device_table(device or {})}
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
        super().__init__(_native.Server(json.dumps(options, default=str)))

    @property
    def uri(self) -> str:
        """What clients connect to."""
        uri: str = self.ready["uri"]
        return uri


Fault = Annotated[str | Path | None, Option("Faults at certain flash operations.", "SCRIPT.toml")]
Metrics = Annotated[str | None, Option("Answer Prometheus there, on /metrics.", "ADDRESS:PORT")]


class ServeOptions(TypedDict, total=False):
    """How an image is served."""

    socket: Annotated[str | Path | None, Option("Unix socket to listen on; default IMAGE.sock.", "PATH")]
    listen: Annotated[str | None, Option("Listen on TCP instead, for example 127.0.0.1:10809.", "ADDRESS:PORT")]
    latency: Annotated[
        str,
        Option("none: reply at once; modelled: reply when the modelled device would.", "none|modelled", default="none"),
    ]
    fault: Fault
    record: Annotated[str | Path | None, Option("Record the requests served as a trace.", "OUT.csv|OUT.parquet")]
    metrics: Metrics
    tls: Annotated[
        str | Path | None,
        Option("Serve over TLS alone, with server-cert.pem and server-key.pem of this folder.", "FOLDER"),
    ]
    clients: Annotated[int | None, Option("Simultaneous clients; default 16.", "N")]
    accept_damage: Annotated[bool, Option("Serve the rest of a damaged image.")]
    read_only: Annotated[bool, Option("Serve read-only; the image stays unchanged.")]
    insecure: Annotated[bool, Option("Allow other hosts without TLS, and a key readable by every user of this host.")]


@typed_kwargs(ServeOptions)
def serve(path: str | Path, **options: Unpack[ServeOptions]) -> Device:
    """Serve an image as a block device over NBD, in threads of its own.

    Raises `UserError` when the input is at fault.
    """
    return Device(opened(path, options))


def opened(path: str | Path, options: Mapping[str, object]) -> Json:
    """The request to serve an image, once its files are checked and its classes are known."""
    record, fault = (options.get(key) for key in ("record", "fault"))
    check_writable([None if record is None else Path(str(record))], [path, None if fault is None else str(fault)])
    register_parts(path)
    given = {key: value for key, value in options.items() if value is not None}
    return {"image": str(path)} | {
        key: str(value) if isinstance(value, Path) else value for key, value in given.items()
    }
