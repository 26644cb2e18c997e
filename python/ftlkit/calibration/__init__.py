"""A drive's `[device]` table from what fio measured of it.

`jobs` writes the fio jobs, `fio` reads what they reported and `points` says what each is about.
`model` asks the simulator for the same figures of a device. `starts` has closed forms to begin
with, `fit` improves on them, `shapes` chooses channels and dies, and `certainty` says how sure each
value is. `calibration` puts all of it together.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from ftlkit._util.options import Option
from ftlkit.api import catalogue

PRESET = "nvme-tlc-1t"
"""Where what cannot be told comes from, unless another preset is named."""

FIT = "The fit"


class FitOptions(TypedDict, total=False):
    """What a device is fitted to, and what is known of it."""

    jobs: Annotated[str | None, Option("Fit these jobs alone, by commas.", "NAMES", FIT)]
    hold_out: Annotated[
        str | None, Option("Jobs to test the fit, by commas, or none; default: one of each group.", "NAMES", FIT)
    ]
    counters: Annotated[
        Mapping[str, float] | None,
        Option("Write amplification that the drive counted in a job: steady-85=2.1; may be repeated.", "JOB=WA", FIT),
    ]
    assume: Annotated[
        str,
        Option(
            "Device preset for values that the fit cannot determine.",
            "PRESET",
            FIT,
            names=catalogue.device_names,
            default=PRESET,
        ),
    ]
    settings: Annotated[
        Sequence[str],
        Option(
            "A known property of the drive, not fitted: device.channels=8; may be repeated.",
            "device.KEY=VALUE",
            FIT,
            ("--set",),
            default=(),
        ),
    ]
