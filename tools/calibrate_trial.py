"""Try `ftlkit calibrate` on drawn devices: how many of its 95 % intervals hold the truth.

    python tools/calibrate_trial.py own          # 40 devices of the model's class
    python tools/calibrate_trial.py outside      # 20 devices outside it
    python tools/calibrate_trial.py outside 3 4  # some of them
    python tools/calibrate_trial.py loads 2      # own, with latencies under load besides
    python tools/calibrate_trial.py settled 2    # the same without other writes, on a settled drive

The printed jobs run on each device in the simulator, and the reports are fitted without a look at
the device. Known are the capacity, the page size and the pages per block. Further places are more
devices. `FOLDER` in the environment keeps the reports.
"""

import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ftlkit as fk

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from collections.abc import Sequence

from fio_reports import add_loads, drawn, report
from ftlkit._util import Json

SHAPES = ((1, 4), (4, 1), (2, 4), (4, 2), (2, 8), (8, 2), (4, 4), (8, 1))
"""Channels and dies per channel."""

OWN, OUTSIDE = 40, 20

COUNTS = ("channels", "dies_per_channel")


def outside(place: int) -> tuple[str, Json, str]:
    """The name, device and translation layer of a device outside the model's class."""
    device = drawn(200 + place, shape=SHAPES[place % len(SHAPES)])
    program = int(device["program_latency"].removesuffix("ns"))
    blocks = device["blocks_per_plane"]
    tlc = {"cell": "tlc", "pages_per_block": 48, "blocks_per_plane": blocks}
    units = {"page_size": 16384, "mapping_unit": 4096, "pages_per_block": 24, "blocks_per_plane": blocks // 2}
    kinds: list[tuple[str, Json, str]] = [
        ("pslc", tlc | {"pslc_program_latency": f"{program // 5}ns"}, "page:pslc_static=8MiB"),
        ("units", units | {"blocks_per_plane": max(blocks // 2, 12)}, "page"),
        ("buffer", units | {"program_buffer": 4 << 20}, "page"),
        (
            "gc",
            {},
            ("page:victim=fifo", "page:victim=random", "page:gc=paced:gc_threshold=2", "page:streams=shared")[
                place // 5 % 4
            ],
        ),
        (
            "planes",
            {"planes_per_die": 2, "blocks_per_plane": blocks // 2, "multi_plane": True, "superblock": "die"},
            "page",
        ),
    ]
    name, changes, ftl = kinds[place % len(kinds)]
    made = device | changes
    keys = ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane", "pages_per_block", "page_size")
    return name, made | {"spare": 1 - made["capacity"] / math.prod(made[key] for key in keys)}, ftl


def tried(which: str, place: int, folder: Path) -> Json:
    """What a fit says of a device, beside the truth."""
    name, device, ftl = (
        outside(place) if which == "outside" else (which, drawn(100 + place, shape=SHAPES[place % 8]), "page")
    )
    path = folder / f"{which}-{place}.json"
    if not path.exists():
        report(device, path, ftl=ftl)
        if which in ("loads", "settled"):
            add_loads(path, device, is_settled_before=which == "settled")
    begin = time.process_time()
    known = [f"device.pages_per_block={device['pages_per_block']}"]
    made = fk.calibrate(path, settings=known).document
    return {"place": place, "name": name, "seconds": time.process_time() - begin, **judged(made, device)}


def judged(made: Json, device: Json) -> Json:
    """Which intervals hold the truth, and whether the shape is right or fits alike."""
    held, missed = [], {}
    shape = {}
    for one in made["parameters"]:
        if one["key"] in COUNTS:
            shape[one["key"]] = one
        elif one["state"] in ("determined", "roughly", "not noticed") and one["low"] is not None:
            true = float(str(device.get(one["key"], 0)).removesuffix("ns"))
            if one["low"] <= true <= one["high"]:
                held.append(one["key"])
            else:
                missed[one["key"]] = (one["low"], one["high"], true, one["state"])
    right = all(shape[key]["value"] == device[key] for key in COUNTS)
    alike = all(shape[key]["low"] is None or shape[key]["low"] <= device[key] <= shape[key]["high"] for key in COUNTS)
    found = "x".join(f"{shape[key]['value']:.0f}" for key in COUNTS)
    return {
        "shape": "x".join(str(device[key]) for key in COUNTS),
        "found": found,
        "right": "yes" if right else "alike" if alike else "NO",
        "held": len(held),
        "of": len(held) + len(missed),
        "missed": missed,
        "doubt": made["doubt"],
        "runs": made["runs"],
    }


def main(arguments: Sequence[str]) -> None:
    """Try the devices that are named, and print the counts."""
    which, places = arguments[0], [int(text) for text in arguments[1:]]
    places = places or list(range(OUTSIDE if which == "outside" else OWN))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("FOLDER", temporary))
        for place in places:
            rows.append(tried(which, place, folder))
            print(json.dumps(rows[-1]), flush=True)
    print(f"{sum(row['held'] for row in rows)} of {sum(row['of'] for row in rows)} intervals hold the truth")
    print(f"{sum(row['right'] != 'NO' for row in rows)} of {len(rows)} shapes are right or among those that fit alike")
    print(f"{sum(bool(row['doubt']) for row in rows)} of {len(rows)} devices are doubted")


if __name__ == "__main__":
    main(sys.argv[1:])
