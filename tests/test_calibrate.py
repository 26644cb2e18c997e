"""`ftlkit calibrate`: reports are read, points made, and devices fitted, as far as points tell."""

import json
import math
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftlkit as fk
from conftest import Call
from disk import Disk, needs
from fio_reports import add_loads, drawn, report
from ftlkit.calibration import calibration, fio, starts, wording
from ftlkit.calibration.calibration import Calibration, _at, _checked, _spared, _Task, _usable
from ftlkit.calibration.certainty import Parameter, believed, beside, doubt, judged
from ftlkit.calibration.fit import Fit, Prior
from ftlkit.calibration.jobs import job_file
from ftlkit.calibration.model import Engine, Shape, depends_on
from ftlkit.calibration.points import (
    LATENCY,
    LOAD,
    PERCENTILES,
    READ,
    STEADY,
    TAILS,
    TRIMMED,
    WRITE,
    Point,
    held_out,
    of_jobs,
    with_counters,
)
from ftlkit.calibration.shapes import _ranked
from ftlkit.models.uniform import greedy

STORED = Path(__file__).parent / "fio" / "drawn-1.json"
"""What the printed jobs reported of the simulated device `drawn(1)`: `report` writes it anew."""

WITHIN = 0.05

SECONDS = 4
"""Of each measurement."""

SLOWER = 4
"""Times are so much longer than those of a drive: replies are late by tens of microseconds."""

SOME = (
    "fill-50,trimmed-4k-d1,trimmed-256k-d1,read-4k-d1,read-8k-d1,read-16k-d1,read-32k-d1,read-64k-d1,read-256k-d1,read-4k-d4,read-4k-d8,read-4k-d16,"
    "read-4k-d64,read-256k-d16,write-4k-d1,write-16k-d1,steady-50,steady-70,steady-85,steady-100"
)

KNOWN = ("device.pages_per_block=32", "device.channels=2", "device.dies_per_channel=4")


def entry(name: str = "r", rw: str = "randread", size: str = "4k", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - a report's
    """A job of a report."""
    figures = {"total_ios": 1000, "io_bytes": 4_096_000, "iops": 1e4, "lat_ns": {"mean": 1e5, "stddev": 0.0}}
    direction = rw.removeprefix("rand")
    options = {"rw": rw, "bs": size, "iodepth": "1"} | changes.pop("options", {})
    return {
        "jobname": name,
        "error": 0,
        "job options": options,
        direction: figures | changes.pop("figures", {}),
        **changes,
    }


def written(folder: Path, *entries: dict[str, Any], before: str = "", after: str = "") -> Path:
    """A report in a file."""
    path = folder / "drive.json"
    path.write_text(before + json.dumps({"fio version": "fio-3.33", "jobs": entries}) + after, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no JSON in it"),
        ("3;fio-3.33;read;0;0;16384", "terse output"),
        ("read: (groupid=0, jobs=1): err= 0\n  read: IOPS=12k, BW=1MiB/s", "output for people"),
        ('{"jobs": [', "line 1"),
        ('{\n "jobs": [1],\nfio: terminating on signal 2\n}', "line 3"),
        ('{"runs": []}', "has no `jobs`"),
        ('{"jobs": [1]}\n{"jobs": [1]}', "several reports"),
    ],
    ids=["empty", "terse", "people", "cut", "mixed", "other", "several"],
)
def test_what_is_no_report_is_named_with_the_next_step(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "drive.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(fk.UserError) as caught:
        fio.read(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert "--output-format=json" in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"error": 5}, "failed with error 5"),
        ({"figures": {"total_ios": 0}}, "did no read"),
        ({"figures": {"lat_ns": {}}}, "has no latencies"),
        ({"size": "4k-16k"}, "bs=4k-16k is not one size"),
        ({"size": "0"}, "bs=0 is no size of a request"),
        ({"options": {"bsrange": "4k-64k"}}, "bsrange=4k-64k is not one size"),
        ({"options": {"iodepth": "deep"}}, "iodepth=deep is no count from 1"),
        ({"figures": {"lat_ns": {"mean": 0}}}, "read.lat_ns.mean is 0, and must be a number above 0"),
        ({"figures": {"lat_ns": {"mean": float("nan")}}}, "read.lat_ns.mean is NaN, and must be"),
        ({"figures": {"lat_ns": {"mean": "fast"}}}, 'read.lat_ns.mean is "fast", and must be'),
        ({"figures": {"lat_ns": {"mean": -5}}}, "read.lat_ns.mean is -5, and must be"),
        ({"figures": {"lat_ns": {"mean": 1, "percentile": {"50.000000": "x"}}}}, 'percentile.median is "x"'),
        ({"figures": {"iops": -1}}, "read.iops is -1, and must be a number, 0 or more"),
        ({"figures": {"total_ios": float("inf")}}, "read.total_ios is Infinity, and must be"),
        ({"read": None}, "`read` is null, and must be an object"),
        ({"job options": None}, "`job options` is null, and must be an object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_job_that_says_nothing_is_named(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(fk.UserError, match=words) as caught:
        fio.read(written(tmp_path, entry("read-4k-d1", **changed)))
    assert "job read-4k-d1" in str(caught.value)


def test_a_job_that_is_no_object_is_named_by_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, entry(), "oops")  # type: ignore[arg-type]
    with pytest.raises(fk.UserError, match=f'{path}, job 2 of `jobs`: it is "oops", and must be an object'):
        fio.read(path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, entry())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [job.name for job in fio.read(path)] == ["r"]


def test_text_of_fio_around_the_json_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, entry(), before="fio: a warning\n", after="\nDisk stats (read/write):\n")
    assert [job.name for job in fio.read(path)] == ["r"]


def test_microseconds_of_fio_2_are_nanoseconds(tmp_path: Path) -> None:
    old = {"lat_ns": None, "lat": {"mean": 101.0}, "clat": {"mean": 100.0, "percentile": {"50.000000": 98}}}
    (job,) = fio.read(written(tmp_path, entry(figures=old)))
    assert (job.mean_ns, job.median_ns) == (101e3, 99e3)


def test_entries_of_numjobs_are_one_job(tmp_path: Path) -> None:
    (job,) = fio.read(written(tmp_path, entry(), entry()))
    assert (job.depth, job.iops, job.requests) == (2, 2e4, 2000)


@pytest.mark.parametrize(("mean", "taken"), [(101e3, 101e3), (120e3, 100e3)], ids=["mean", "median"])
def test_a_tail_at_depth_one_gives_way_to_the_median(mean: float, taken: float, tmp_path: Path) -> None:
    figures = {"lat_ns": {"mean": mean}, "clat_ns": {"mean": mean, "percentile": {"50.000000": 100e3}}}
    fill = entry("fill", "write", "1m", options={"size": "64m"}, figures={"io_bytes": 64 << 20})
    points, _ = of_jobs(fio.read(written(tmp_path, fill, entry(figures=figures, options={"size": "64m"}))), 1 << 27)
    assert points[-1].measured == taken


def jobs_of(device: Any, folder: Path) -> tuple[list[Point], list[str]]:  # noqa: ANN401 - JSON
    """The points of jobs, without a run: each is an entry."""
    return of_jobs(fio.read(written(folder, *device)), 64 << 20)


def test_the_state_of_the_drive_decides_what_a_job_says(tmp_path: Path) -> None:
    area = {"size": str(64 << 20)}
    done = {"io_bytes": 64 << 20}
    many = {"io_bytes": 160 << 20}
    points, left_out = jobs_of(
        [
            entry("early", options=area),
            entry("fill", "write", "1m", options=area, figures=done),
            entry("late", options=area),
            entry("soon", "randwrite", options=area | {"norandommap": "1"}, figures=many),
            entry("torn", size="64k", options=area),
            entry("then", "randwrite", options=area | {"norandommap": "1"}, figures=many),
        ],
        tmp_path,
    )
    assert [(point.job, point.kind) for point in points] == [("fill", WRITE), ("late", READ), ("then", STEADY)]
    reasons = " ".join(left_out)
    assert "does not trim the drive" in reasons
    assert "early is not used: it reads an area never written" in reasons
    assert "soon is not used: write amplification has not settled" in reasons
    assert "torn is not used: it reads several pages" in reasons


def test_a_job_that_reads_and_writes_is_named_and_changes_the_drive(tmp_path: Path) -> None:
    area = {"size": str(64 << 20)}
    both = entry("both", "randrw", options=area, write={"total_ios": 4096, "io_bytes": 16 << 20})
    fill = entry("fill", "write", "1m", options=area, figures={"io_bytes": 64 << 20})
    reads = [entry("small", options=area), entry("large", size="64k", options=area)]
    points, left_out = jobs_of([fill, both, *reads], tmp_path)
    assert [point.job for point in points] == ["fill", "small"]
    reasons = " ".join(left_out)
    assert "both is not used: it does several things at once (rw=randrw). Give reads, writes and trims" in reasons
    assert "large is not used: it reads several pages at once where random writes" in reasons


def test_a_measurement_of_no_requests_a_second_is_named(tmp_path: Path) -> None:
    fill = entry("fill", "write", "1m", options={"size": str(64 << 20)}, figures={"io_bytes": 64 << 20})
    prepares = entry("settle", "randwrite", figures={"iops": 0})
    deep = entry("deep", options={"iodepth": "2", "size": str(64 << 20)}, figures={"iops": 0})
    with pytest.raises(fk.UserError, match="job deep: iops is 0, and must be above 0"):
        jobs_of([fill, prepares, deep], tmp_path)


SHARES = {"percentile": {"50.000000": 9e4, "99.000000": 8e5, "99.900000": 2e6}}


def rated(name: str, rw: str, rate: str, **options: str) -> dict[str, Any]:
    """A job at a rate, one of group 7."""
    return entry(
        name,
        rw,
        options={"rate_iops": rate, "size": str(64 << 20), "iodepth": "32"} | options,
        figures={"lat_ns": {"mean": 1e5, "stddev": 0.0} | SHARES},
        groupid=7,
    )


def described(path: Path, description: str) -> Path:
    """A report whose description is another."""
    document = json.loads(path.read_text(encoding="utf-8")) | {"global options": {"description": description}}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_jobs_at_a_rate_are_one_load_with_percentiles(tmp_path: Path) -> None:
    jobs = [rated("reads", "randread", "5000"), rated("writes", "randwrite", "1000", rate_process="poisson")]
    path = described(written(tmp_path, *jobs), "capacity=67108864 before=settled")
    points, left_out = of_jobs(fio.read(path), 64 << 20, fio.before(path))
    assert left_out == []
    assert {point.rates for point in points} == {(5000.0, 1000.0)}
    assert [(point.row, point.measured) for point in points[::3]] == [("reads p50", 9e4), ("writes p50", 9e4)]
    assert [point.figure for point in points[:3]] == ["p50", "p99", "p99_9"]
    assert (points[0].depth, points[0].is_poisson, points[0].used) == (64, True, 1.0)
    fresh, why = of_jobs(fio.read(path), 64 << 20)
    assert fresh == []
    assert "reads, writes is not used: write amplification has not settled" in " ".join(why)


@pytest.mark.parametrize(
    ("text", "state"),
    [("", ("erased", 0.0)), ("before=full", ("full", 1.0)), ("x before=settled:93.5%", ("settled", 0.935))],
    ids=["none", "full", "share"],
)
def test_the_state_before_is_that_of_the_description(text: str, state: tuple[str, float], tmp_path: Path) -> None:
    assert fio.before(described(written(tmp_path, entry()), text)) == state


def test_a_drive_that_was_full_needs_no_fill(tmp_path: Path) -> None:
    path = described(written(tmp_path, entry("read", options={"size": "64m"})), "before=full")
    points, left_out = of_jobs(fio.read(path), 64 << 20, fio.before(path))
    assert ([point.kind for point in points], left_out) == ([READ], [])


@pytest.mark.parametrize(
    ("job", "description", "line"),
    [
        (rated("r", "randread", "10k"), "", "Write: rate_iops=10000"),
        (rated("r", "randread", "5000,1000"), "", "Write: rate_iops=5000"),
        (
            rated("r", "randrw", "5000,1000"),
            "",
            "rw=randread and rate_iops=5000, one with rw=randwrite and rate_iops=1000",
        ),
        (entry("r", options={"rate_iops": "5"}), "", "Write: clat_percentiles=1"),
        (entry("r"), "a before=ful b", "Write: description=a before=full:80% b"),
        (entry("r"), "before=settled:120%", "Write: description=before=settled:80%"),
    ],
    ids=["unit", "pair", "mixed", "percentiles", "state", "share"],
)
def test_a_wrong_row_of_a_load_has_the_right_line(
    job: dict[str, Any], description: str, line: str, tmp_path: Path
) -> None:
    path = described(written(tmp_path, job), description)
    with pytest.raises(fk.UserError) as caught:
        _ = (fio.read(path), fio.before(path))
    assert line in str(caught.value)


def latency(kind: str, size: int, measured: float) -> Point:
    return Point(f"{kind}-{size}", kind, True, True, size, 1, 0.5, LATENCY, measured, 0.01)  # noqa: FBT003 - a row


def test_the_page_is_the_smallest_write_that_reads_nothing_first() -> None:
    writes = [latency(WRITE, 4096, 900.0), latency(WRITE, 8192, 900.0), latency(WRITE, 16384, 700.0)]
    assert starts.page_size([*writes, latency(WRITE, 32768, 720.0)]) == 16384


@pytest.mark.parametrize(("write_ns", "is_buffered"), [(20.0, True), (700.0, False)], ids=["buffer", "flash"])
def test_writes_faster_than_reads_come_from_a_buffer(write_ns: float, is_buffered: bool) -> None:  # noqa: FBT001 - a case
    points = [latency(READ, 4096, 80.0), latency(WRITE, 4096, write_ns)]
    assert starts.answers_from_buffer(points) == is_buffered


def test_reads_of_trimmed_addresses_are_points_of_their_own(tmp_path: Path) -> None:
    half = {"size": str(32 << 20)}
    other = half | {"offset": str(32 << 20)}
    points, left_out = jobs_of(
        [
            entry("trim", "trim", "1m", options={"size": str(64 << 20)}),
            entry("fill", "write", "1m", options=half, figures={"io_bytes": 32 << 20}),
            entry("across", options=half | {"offset": str(16 << 20)}),
            entry("nothing", options=other),
            entry("more", "write", "1m", options=other, figures={"io_bytes": 1 << 20}),
            entry("late", options=other),
        ],
        tmp_path,
    )
    assert [point.job for point in points if point.kind == TRIMMED] == ["nothing"]
    assert depends_on(next(point for point in points if point.kind == TRIMMED))[0] == "link_latency"
    assert "across is not used" in " ".join(left_out)
    assert "late is not used" in " ".join(left_out)


@pytest.mark.parametrize(("trimmed_ns", "is_flash"), [(20.0, False), (75.0, True)], ids=["link", "flash"])
def test_a_drive_that_reads_flash_for_nothing_is_noticed(trimmed_ns: float, is_flash: bool) -> None:  # noqa: FBT001 - a case
    points = [latency(READ, 4096, 80.0), latency(TRIMMED, 4096, trimmed_ns), latency(WRITE, 4096, 700.0)]
    usable, notes = _usable(points)
    assert [point.kind for point in usable] == ([READ, WRITE] if is_flash else [READ, TRIMMED, WRITE])
    assert bool(notes) == is_flash


def test_one_of_each_row_is_held_out() -> None:
    points = [latency(READ, 4096 << power, 1.0) for power in range(4)]
    assert held_out(points, None) == {"read-16384"}
    assert held_out(points, "none") == set()
    with pytest.raises(fk.UserError, match="Did you mean read-4096"):
        held_out(points, "read-4095")


def test_what_the_drive_counted_is_a_point_of_its_own() -> None:
    point = Point("steady-85", STEADY, True, True, 4096, 32, 0.85, "iops", 9e3, 0.01)  # noqa: FBT003 - a row
    iops, counted = with_counters([point], {"steady-85": 2.1})
    assert iops == point
    assert (counted.job, counted.figure, counted.measured) == ("steady-85", "write_amplification", 2.1)
    assert depends_on(counted) == ("spare",)


BOUND = Shape(channels=4, dies_per_channel=4, page_size=4096, pages_per_block=64, capacity=96 << 20)
"""With `SLOW_BUS`, channels and not dies limit its reads."""

SLOW_BUS = {
    "read_latency": 102_500.0,
    "transfer_latency": 45_300.0,
    "link_latency": 6_500.0,
    "program_latency": 5e5,
} | dict.fromkeys(("erase_latency", "controller_latency", "link_ns_per_byte"), 0.0)


def reads_of(shape: Shape, values: dict[str, float]) -> list[Point]:
    """What a device would have measured of its reads."""
    alone = [latency(READ, size, 1.0) for size in (4096, 16384, 32768, 65536)]
    deep = [replace(alone[0], job=f"d{depth}", depth=depth, figure="iops") for depth in (2, 16, 256)]
    engine = Engine({})
    asked = [*alone, *deep, latency(TRIMMED, 4096, 1.0)]
    return [replace(point, measured=engine.figure(point, shape, values)) for point in asked]


@pytest.mark.parametrize(("kinds", "within"), [((READ, TRIMMED), 0.01), ((READ,), 0.15)], ids=["link", "no-link"])
def test_the_start_knows_that_channels_limit_reads(kinds: tuple[str, ...], within: float) -> None:
    points = [point for point in reads_of(BOUND, SLOW_BUS) if point.kind in kinds]
    start = starts.values(points, BOUND, SLOW_BUS | {"read_latency": 58e3, "transfer_latency": 1e4, "link_latency": 0})
    for name in ("read_latency", "transfer_latency"):
        assert start[name] == pytest.approx(SLOW_BUS[name], rel=within), name


def test_the_true_shape_is_among_those_that_are_fitted() -> None:
    points = reads_of(BOUND, SLOW_BUS)
    assumed = SLOW_BUS | {"read_latency": 58e3, "transfer_latency": 1e4, "link_latency": 0.0}
    begins = {shape: starts.values(points, shape, assumed) for shape in starts.shapes(points, BOUND, ())}
    assert len(begins) > 10
    assert _ranked(points, begins, Engine({}), lambda: None)[0] == BOUND


@pytest.mark.parametrize("link_ns", [500.0, 2_500.0, 4_700.0])
def test_the_sum_of_link_and_controller_is_kept_however_a_fit_splits_it(link_ns: float) -> None:
    """Only their sum shows: 5 of the 80 us of a read."""
    names = ("link_latency", "controller_latency")
    priors = {"link_latency": Prior(0.0, 80e3), "controller_latency": Prior(0.0, 10e3)}
    values = dict(zip(names, (link_ns, 5_200.0 - link_ns), strict=True))
    apart, both = np.array([1 / 8, -1.0]), np.array([1.0, 1 / 8]) / 160
    covariance = 0.4 * np.outer(apart, apart) + np.outer(both, both)
    intervals = {"link_latency": (0.0, 6_000.0), "controller_latency": (0.0, 40_000.0)}
    fit = Fit(BOUND, values, names, 1.0, 20, covariance, {name: {} for name in names})
    made = judged(fit, priors, intervals, 80e3)
    assert made["controller_latency"].state == "assumed"
    assert made["link_latency"].state == "roughly"


def test_a_value_that_moved_with_what_is_assumed_is_rough() -> None:
    sure = Parameter("spare", 0.30, "determined", 0.29, 0.31)
    assert _at(sure, 0.305).state == "determined"
    assumed = _at(replace(sure, state="assumed"), 0.07)
    assert (assumed.value, assumed.low, assumed.high) == (0.07, None, None)
    moved = _at(sure, 0.20)
    assert (moved.state, moved.low, moved.high) == ("roughly", 0.20, 0.31)


@pytest.mark.parametrize(
    ("fitted_off", "held_off", "noise", "words"),
    [
        (0.01, 0.01, 0.01, ""),
        (0.01, 0.15, 0.05, ""),
        (0.01, 0.30, 0.01, "Modelled off by more than their noise: 1 of 5 points, h by 30.0 %"),
        (8.72, 0.01, 0.01, "Modelled off by more than their noise: 4 of 5 points, read-"),
    ],
    ids=["explained", "noise", "held-out", "fitted"],
)
def test_points_beyond_their_noise_refute_the_fit(fitted_off: float, held_off: float, noise: float, words: str) -> None:
    points = [replace(latency(READ, 4096 << power, 100.0), noise=noise) for power in range(4)]
    out = replace(points[0], job="h")
    checked = [*((point, 100 * (1 + fitted_off), False) for point in points), (out, 100 * (1 + held_off), True)]
    assert doubt(checked).startswith(words)
    assert bool(doubt(checked)) == bool(words)


def test_a_doubt_is_said_once_and_no_word_denies_it(fitted: tuple[dict[str, Any], Path]) -> None:
    assert fitted[0]["doubt"] == ""
    sure = [Parameter("spare", 0.3, "determined", 0.29, 0.31), Parameter("channels", 8.0, "given")]
    far = [(latency(READ, 4096, 100.0), 120.0, False)]
    assert [(one.state, one.low) for one in believed(sure, ("spare", "channels"))] == [
        ("roughly", None),
        ("given", None),
    ]
    made = Calibration(
        files=("drive.json",),
        preset="nvme-tlc-1t",
        shape=BOUND,
        values=SLOW_BUS | {"spare": 0.3},
        parameters=believed(sure, ("spare", "channels")),
        checked=far,
        notes=[],
        runs=1,
        given={"channels": 4},
        doubt="The model does not explain these measurements.",
        endurance=1000,
    )
    assert wording.sentences(made).count(made.doubt) == 1
    assert wording.toml(made).count(made.doubt) == 1
    assert "determined" not in wording.toml(made)
    assert wording.document(made)["doubt"] == made.doubt


def test_a_doubt_of_the_first_fit_outlives_what_is_assumed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []

    def far_at_first(*arguments: Any) -> list[tuple[Point, float, bool]]:  # noqa: ANN401 - as the function's own
        checks.append(1)
        return [(point, value * (1.5 if len(checks) == 1 else 1), out) for point, value, out in _checked(*arguments)]

    monkeypatch.setattr(calibration, "_checked", far_at_first)
    made = fk.calibrate(STORED, jobs=SOME, settings=KNOWN).document
    assert len(checks) > 1
    assert made["doubt"].startswith("Modelled off by more than their noise: 2")
    assert {one["state"] for one in made["parameters"]} <= {"roughly", "assumed", "given", "not noticed"}


def test_values_behind_a_write_buffer_have_no_interval(tmp_path: Path) -> None:
    """A pSLC cache programs pages twice, planes two at once: bandwidth tells neither."""
    report = json.loads(STORED.read_text(encoding="utf-8"))
    for job in report["jobs"]:
        if job["jobname"].startswith("write-"):
            job["write"] |= {"lat_ns": {"mean": 2e4}, "clat_ns": {"mean": 2e4}}
    path = tmp_path / "drive.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    made = fk.calibrate(path, jobs=SOME, settings=KNOWN).document
    parameters = {one["key"]: one for one in made["parameters"]}
    assert made["doubt"] == ""
    assert [parameters[key]["state"] for key in ("read_latency", "program_latency")] == ["determined", "roughly"]
    assert {parameters[key]["low"] for key in ("program_latency", "erase_latency", "spare")} == {None}
    assert "answers from a write buffer" in " ".join(made["notes"])


def test_what_is_assumed_has_no_interval(fitted: tuple[dict[str, Any], Path]) -> None:
    for parameter in fitted[0]["parameters"]:
        if parameter["state"] == "assumed":
            assert parameter["low"] is parameter["high"] is None, parameter
        elif parameter["low"] is not None:
            assert parameter["low"] <= parameter["value"] <= parameter["high"], parameter


def test_an_interval_holds_the_values_of_shapes_that_fit_alike() -> None:
    sure = Parameter("program_latency", 600e3, "determined", 590e3, 610e3)
    values = {"program_latency": 560e3}
    rival = Fit(BOUND, values, tuple(values), 1.0, 1, np.zeros((1, 1)), {})
    wide = beside(sure, [rival])
    assert (wide.state, wide.low, wide.high) == ("roughly", 560e3, 610e3)
    vague = beside(sure, [replace(rival, covariance=np.full((1, 1), 0.01), freedom=20)])
    assert vague.low == pytest.approx(560e3 * math.exp(-0.2086), rel=0.001)
    assert beside(sure, []) == sure
    assert beside(sure, [replace(rival, values={"program_latency": 595e3})]) == sure


def test_a_large_drive_is_scaled_to_its_write_amplification() -> None:
    """A smaller device stands for one of 2 million pages, within the noise of its run."""
    shape = Shape(channels=4, dies_per_channel=2, page_size=4096, pages_per_block=256, capacity=8 << 30)
    values = dict.fromkeys(("read_latency", "program_latency", "transfer_latency", "erase_latency"), 1e5)
    values |= dict.fromkeys(("link_latency", "controller_latency", "link_ns_per_byte"), 0.0) | {"spare": 0.2}
    point = Point("s", STEADY, True, True, 4096, 32, 1.0, "write_amplification", 1.0, 0.01)  # noqa: FBT003 - a row
    assert Engine({}).figure(point, shape, values) == pytest.approx(greedy(0.8, 256), rel=0.04)


@pytest.mark.parametrize("is_settled", [False, True], ids=["added", "alone"])
def test_loads_of_a_drawn_device_are_points(is_settled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    monkeypatch.setattr("fio_reports.LOADS", ((0.3, 0.2),))
    path = Path(shutil.copy(STORED, tmp_path))
    add_loads(path, drawn(1), is_settled_before=is_settled)
    points, left_out = of_jobs(fio.read(path), 96 << 20, fio.before(path))
    loads = [point for point in points if point.kind == LOAD]
    assert left_out == []
    assert {point.kind for point in points} == ({READ, LOAD} if is_settled else {READ, LOAD, STEADY, TRIMMED, WRITE})
    assert [(point.job, point.figure) for point in loads[::5]] == [("load-1-read", "p50"), ("load-1-write", "p99_9")]
    assert loads[0].rates[0] == pytest.approx(1.5 * loads[0].rates[1], rel=0.01)


def test_a_fit_to_loads_alone_begins_near_their_spare_and_program_time() -> None:
    engine, values = Engine({}), SLOW_BUS | {"erase_latency": 3e6, "spare": 0.3}
    shape = replace(BOUND, capacity=16 << 20)
    load = replace(latency(LOAD, 4096, 1.0), depth=64, used=1.0, is_poisson=True, is_write=True)
    points = [
        replace(one, measured=engine.figure(one, shape, values))
        for rates in ((1000.0, 1000.0), (1000.0, 6000.0))
        for one in (replace(load, rates=rates, figure=figure) for figure in PERCENTILES.values())
    ]
    far = values | {"spare": 0.07, "program_latency": 187e3}
    task = _Task(points, points, set(), [], shape, far, {}, 1000, engine)
    asked = {name: Prior(far[name], 1.5) for name in ("spare", "program_latency")}
    start = _spared(task, Fit(shape, far, (), 1.0, 1, np.zeros((0, 0)), {}), asked)
    assert start["spare"] == pytest.approx(0.3, abs=0.06)
    assert start["program_latency"] == pytest.approx(5e5, rel=0.05)
    given = _spared(task, Fit(shape, far, (), 1.0, 1, np.zeros((0, 0)), {}), {"spare": asked["spare"]})
    assert given["program_latency"] == far["program_latency"]


def test_latency_under_load_grows_with_the_rate() -> None:
    engine, values = Engine({}), SLOW_BUS | {"erase_latency": 3e6, "spare": 0.3}
    shape = replace(BOUND, capacity=16 << 20)
    point = Point(
        "l", LOAD, is_random=True, is_uniform=True, size=4096, depth=32, used=1.0, figure="p99", measured=1.0, noise=0.1
    )
    slow, fast = (replace(point, rates=rates, is_poisson=True) for rates in ((500.0, 500.0), (5000.0, 5000.0)))
    figures = [engine.figure(one, shape, values) for one in (slow, fast, replace(slow, is_write=True))]
    assert SLOW_BUS["read_latency"] < figures[0] < figures[1]
    assert figures[2] > values["program_latency"]
    # Percentiles of one load are of one run.
    assert engine.runs == 2


def test_latency_under_load_is_that_of_the_whole_device() -> None:
    """The small run of a point against a longer one of the device, with other draws."""
    device = drawn(1)
    names = ("read_latency", "program_latency", "erase_latency", "transfer_latency", "link_latency")
    values = {name: float(device[name].removesuffix("ns")) for name in names}
    values |= {"controller_latency": 0.0, "link_ns_per_byte": 0.0, "spare": device["spare"]}
    shape = Shape(2, 4, 4096, 32, device["capacity"])
    point = replace(latency(LOAD, 4096, 1.0), depth=64, used=1.0, rates=(2000.0, 2000.0), is_poisson=True)
    generator = {"requests": 60_000, "span": device["capacity"], "sizes": 4096, "write_share": 0.5}
    made = fk.run(
        workload={"generator": generator | {"arrivals": {"poisson": {"mean_gap": "250us"}}}},
        device={key: value for key, value in device.items() if key != "spare"},
        loop="threads",
        queue_depth=64,
        precondition="steady",
        samples=1,
        seed=5,
    )
    told: dict[str, Any] = dict(made.document["runs"][0]["response_ns"])
    engine = Engine({})
    for op in ("read", "write"):
        for share, figure in PERCENTILES.items():
            one = replace(point, figure=figure, is_write=op == "write")
            assert engine.figure(one, shape, values) == pytest.approx(told[op][figure], rel=2 * TAILS[share]), one.row


def test_printed_jobs_warn_and_are_jobs_of_fio(call: Call, tmp_path: Path) -> None:
    text = call("calibrate", "--print-jobs", "--capacity", "1GB", "--target", "/dev/null").stdout
    assert text.startswith("# WARNING: these jobs OVERWRITE THE WHOLE DEVICE.")
    assert "runtime=${RUNTIME}" in text
    assert "filename=/dev/null" in text
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    path = tmp_path / "calibrate.fio"
    path.write_text(text, encoding="utf-8")
    subprocess.run(["fio", "--parse-only", path], env=os.environ | {"RUNTIME": "1"}, check=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give the JSON that fio wrote"),
        (["--print-jobs"], "say how large the drive is"),
        (["--print-jobs", "--capacity", "8MiB"], "64 MiB or more"),
        (["--capacity", "many"], "is no size"),
        ([STORED, "--jobs", "read-4k-d3"], "Did you mean read-4k-d32"),
        ([STORED, "--hold-out", "read-4k-d3"], "there is no such job"),
        ([STORED, "--counters", "read-4k-d1=2"], "no job with settled random writes"),
        ([STORED, "--counters", "steady-85=0.1"], "for each byte that the host wrote"),
        ([STORED, "--set", "channels=8"], "state a key of the drive"),
        ([STORED, "--set", "device.chanels=8"], "chanels"),
        ([STORED, "--set", "device.capacity=8GiB"], "give --capacity instead"),
        ([STORED, "--assume", "nvme"], "nvme"),
        ([STORED, "--jobs", "read-4k-d1"], "1 point to fit; 4 with reads among them are the least"),
        ([STORED, "--out", "device.txt"], "must end in .toml"),
    ],
    ids=lambda value: " ".join(map(str, value[-2:])).replace(str(STORED), "") if isinstance(value, list) else "",
)
def test_mistakes_are_named_with_the_next_step(arguments: list[Any], words: str, call: Call) -> None:
    result = call("calibrate", *arguments, exits=2)
    assert words in " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What a fit of the stored report found, and the device's file."""
    folder = tmp_path_factory.mktemp("calibrated")
    made = fk.calibrate(STORED, jobs=SOME, settings=KNOWN)
    made.save(folder / "device.toml")
    made.save(folder / "all.json")
    return json.loads((folder / "all.json").read_text(encoding="utf-8")), folder / "device.toml"


def wrong(parameters: list[dict[str, Any]], device: dict[str, Any]) -> dict[str, Any]:
    """The determined parameters that are farther from a device than allowed."""
    missed = {}
    for parameter in parameters:
        if parameter["state"] == "determined" and parameter["key"] in device:
            true = float(str(device[parameter["key"]]).removesuffix("ns"))
            if abs(parameter["value"] / true - 1) > WITHIN:
                missed[parameter["key"]] = (parameter["value"], true)
    return missed


def test_what_is_determined_is_the_devices_own(fitted: tuple[dict[str, Any], Path]) -> None:
    parameters = fitted[0]["parameters"]
    assert wrong(parameters, drawn(1)) == {}
    states = {parameter["key"]: parameter["state"] for parameter in parameters}
    assert {states[key] for key in ("read_latency", "program_latency")} == {"determined"}
    # Only with the controller, which is taken to be none.
    assert states["link_latency"] == "roughly"
    assert states["pages_per_block"] == states["channels"] == "given"


def test_points_that_were_held_out_are_met(fitted: tuple[dict[str, Any], Path]) -> None:
    out = [point for point in fitted[0]["points"] if point["is_held_out"]]
    assert {point["job"] for point in out} == {"read-32k-d1", "read-4k-d16", "steady-85"}
    assert max(abs(point["error"]) for point in out) < WITHIN


def test_each_parameter_names_jobs_of_the_report(fitted: tuple[dict[str, Any], Path]) -> None:
    jobs = {point["job"] for point in fitted[0]["points"]}
    sure = [parameter for parameter in fitted[0]["parameters"] if parameter["state"] == "determined"]
    assert sure
    for parameter in sure:
        assert parameter["jobs"], parameter["key"]
        assert set(parameter["jobs"]) <= jobs
    program = next(parameter for parameter in sure if parameter["key"] == "program_latency")
    assert program["jobs"][0].startswith(("write", "fill", "steady"))


def test_the_file_is_a_device_of_other_commands(fitted: tuple[dict[str, Any], Path]) -> None:
    text = fitted[1].read_text(encoding="utf-8")
    assert "read_latency" in text
    assert "# determined; " in text
    results = fk.run(workload="fin1", device=str(fitted[1]), requests=200, addresses="wrap")
    device = results.document["study"]["device"]
    assert (device["channels"], device["dies_per_channel"], device["capacity"]) == (2, 4, 96 << 20)


def test_a_fit_is_stopped_and_leaves_nothing(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stops(*_: object) -> float:
        signal.raise_signal(signal.SIGINT)
        return 1.0

    monkeypatch.setattr(Engine, "figure", stops)
    call("calibrate", STORED, "--out", tmp_path / "device.toml", exits=130)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("FTLKIT_LONG" not in os.environ, reason="minutes for each device; set FTLKIT_LONG=1")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_device_drawn_at_random_is_found(seed: int, tmp_path: Path) -> None:
    device = drawn(seed)
    report(device, tmp_path / "drive.json")
    made = fk.calibrate(tmp_path / "drive.json", settings=["device.pages_per_block=32"])
    assert wrong(made.document["parameters"], device) == {}, made.toml


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
    assert wrong(made.document["parameters"], device) == {}, made.toml


def test_the_job_file_states_the_capacity(tmp_path: Path) -> None:
    assert f"capacity={96 << 20}" in job_file(96 << 20, None)
    report_of_it = written(tmp_path, entry())
    assert fio.capacity(report_of_it) is None
    assert fio.capacity(STORED) == 96 << 20
