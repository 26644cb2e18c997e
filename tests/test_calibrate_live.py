"""A blind trial: live devices with modelled latency are measured by fio, and fitted unseen."""

import os
import subprocess
from pathlib import Path

import pytest

import ftlkit as fk
from disk import Disk, needs
from fio_reports import drawn
from ftlkit.calibration.jobs import job_file

WITHIN = 0.05
SECONDS = 4
"""Of each measurement."""

SLOWER = 4
"""Times are so much longer than those of a drive: replies are late by tens of microseconds."""


@pytest.mark.skipif("FTLKIT_LONG" not in os.environ, reason="minutes of fio for each device; set FTLKIT_LONG=1")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_served_device_is_found_blind(seed: int, tmp_path: Path) -> None:
    needs("fio")
    # It is served over a link of its own: fio, the socket and the server.
    device = {key: value for key, value in drawn(seed, slower=SLOWER).items() if key != "link_latency"}
    report, jobs = tmp_path / "drive.json", tmp_path / "calibrate.fio"
    known = {key: value for key, value in device.items() if key not in ("capacity", "spare")}
    with Disk(tmp_path, "page", capacity=device["capacity"], spare=0.1, **known).start("--latency", "modelled") as disk:
        jobs.write_text(job_file(device["capacity"], disk.uri), encoding="utf-8")
        command = ["fio", "--output-format=json", f"--output={report}", str(jobs)]
        subprocess.run(command, env=os.environ | {"RUNTIME": str(SECONDS)}, check=True, timeout=1_800)
    made = fk.calibrate(report, settings=[f"device.pages_per_block={device['pages_per_block']}"])
    wrong = {}
    for parameter in made.document["parameters"]:
        served = device.get(parameter["key"])
        if parameter["state"] == "determined" and served is not None:
            true = float(str(served).removesuffix("ns"))
            if abs(parameter["value"] / true - 1) > WITHIN:
                wrong[parameter["key"]] = (parameter["value"], true)
    assert not wrong, made.toml
