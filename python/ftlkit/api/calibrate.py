"""`fk.calibrate`: a drive's `[device]` table from what fio measured of it.

>>> import ftlkit as fk
>>> drive = fk.calibrate("drive.json")  # doctest: +SKIP
>>> drive.save("device.toml")  # doctest: +SKIP
>>> fk.compare("fin1", "page,dftl", device="device.toml")  # doctest: +SKIP
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from typing_extensions import Unpack

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import write
from ftlkit._util.progress import Silent, Watcher
from ftlkit.calibration import FitOptions, wording
from ftlkit.calibration.calibration import Calibration, Question, calibrated


class CalibratedDevice:
    """A fitted device, with what each parameter rests on and how sure it is."""

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    @property
    def device(self) -> Json:
        """The `[device]` table, as `device=` of other functions takes it."""
        return wording.device(self.calibration)

    @property
    def toml(self) -> str:
        """The same as TOML, with how sure each value is."""
        return wording.toml(self.calibration)

    @property
    def document(self) -> Json:
        """Everything as JSON: device, parameters with intervals, points with errors, notes."""
        return wording.document(self.calibration)

    @property
    def sentences(self) -> list[str]:
        """What came of it, in sentences."""
        return wording.sentences(self.calibration)

    def save(self, path: str | Path) -> None:
        """Write the device as `.toml`, or everything as `.json`."""
        path = Path(path)
        text = json.dumps(self.document, indent=1) + "\n" if path.suffix == ".json" else self.toml
        write(path, text.encode(), self.calibration.files)

    def __repr__(self) -> str:
        shape = self.calibration.shape
        return f"<ftlkit.CalibratedDevice, {shape.channels} channels of {shape.dies_per_channel} dies>"


@typed_kwargs(FitOptions)
def calibrate(
    files: str | Path | Sequence[str | Path],
    *,
    capacity: int | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[FitOptions],
) -> CalibratedDevice:
    """Fit a device to fio's JSON reports, given in the order in which the jobs ran.

    `capacity` is the drive's size in bytes, where the reports do not state it.
    """
    paths = [files] if isinstance(files, (str, Path)) else list(files)
    question = Question(
        files=tuple(Path(path) for path in paths),
        capacity=capacity,
        jobs=options.get("jobs"),
        hold_out=options.get("hold_out"),
        counters=options.get("counters"),
        preset=options["assume"],
        given=_given(options["settings"]),
    )
    return CalibratedDevice(calibrated(question, watcher or Silent()))


def _given(settings: Iterable[str]) -> Json:
    """The keys of `[device]` that are stated."""
    made: Json = {}
    for setting in settings:
        place, equals, value = setting.partition("=")
        owner, key = study.placed(place)
        if not equals or owner != "device":
            raise UserError(f"--set {setting}: state a key of the drive, such as device.channels=8.")
        if key in ("capacity", "blocks_per_plane", "preset"):
            other = "--assume" if key == "preset" else "--capacity"
            raise UserError(f"--set {setting}: give {other} instead.")
        made[key] = study.value(place, value.strip())
    return made
