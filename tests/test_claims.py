"""Conditional sentences of the verdict, each held against the run in which it happens.

Workloads are look-alikes of each family, a uniform one, and real traces where they are there; open
loop and closed.
"""

import itertools
from typing import Any

import pytest

import ftlkit as fk
from conftest import LONG, traces
from ftlkit.report.load import bottleneck, fifths, is_overloaded
from ftlkit.report.why import LARGE
from ftlkit.report.work import cache
from ftlkit.results.derived import time_by_cause, waiting

PRESETS = ("fin1", "fin2", "exchange", "web_0-cold", "hm_0-cold", "prxy_0-cold", "iozone-4", "pctrace")
UNIFORM = {
    "generator": {
        "requests": 8_000,
        "span": "128MiB",
        "write_share": 0.7,
        "sizes": "4KiB",
        "arrivals": {"poisson": {"mean_gap": "5ms"}},
    }
}
AUTO = {"preset": "slc-small", "capacity": "auto"}
STACKED = {"trace_device": "stacked", "addresses": "dense"}
TRACES: dict[str, dict[str, Any]] = {
    "cloudPhysicsIO.vscsi": {"addresses": "dense"},
    "financial1_first10k.ssdsim.ascii": STACKED,
    "tpcc-small.trace": STACKED | {"format": "mqsim"},
    "wsrch-small.trace": STACKED | {"format": "mqsim"},
    "disksim-valid-ascii.trace": STACKED,
}
WORKLOADS = [*PRESETS, "uniform", *TRACES]
WHOLE = "64MiB"
"""A mapping cache that holds every entry of these devices."""


def chosen(name: str) -> dict[str, Any]:
    """A workload with the options that it needs; a small device, so that collections happen."""
    if name == "uniform":
        return {"workload": UNIFORM, "device": {"preset": "slc-small", "capacity": "128MiB"}}
    if name in PRESETS:
        return {"workload": name, "requests": 8_000, "addresses": "dense", "device": AUTO}
    folder = traces()
    if folder is None:
        pytest.skip("no folder of real traces: set FTLKIT_TRACES")
    return {"workload": folder / name, "requests": 8_000, "device": AUTO} | TRACES[name]


BRIEF = [name for name in (*PRESETS, "uniform") if name not in ("exchange", "pctrace")]
"""Those that touch little enough to be prepared to a steady state in a moment."""

PREPARED = [
    (name, precondition, loop)
    for name in WORKLOADS
    for precondition in ("fill", "steady")
    for loop in ("open", "closed")
    if LONG or name in ("fin1", "uniform") or (name in BRIEF and (precondition, loop) == ("steady", "open"))
]
"""Workloads with each preparation and loop; some of these, or all with FTLKIT_LONG."""


@pytest.mark.parametrize(("name", "precondition", "loop"), PREPARED)
def test_a_cache_of_the_whole_map_saves_at_least_what_is_said(name: str, precondition: str, loop: str) -> None:
    ftls = [f"{ftl}{cmt}" for ftl in ("dftl", "cdftl", "rftl") for cmt in ("", f":cmt={WHOLE}")]
    runs = fk.compare(ftls=ftls, precondition=precondition, loop=loop, **chosen(name)).document["runs"]
    for run, whole in zip(runs[::2], runs[1::2], strict=True):
        assert whole["mapping_hit_ratio"] == pytest.approx(1, abs=1e-3)
        assert cache(whole) is None
        times = time_by_cause(run)
        all_ns = sum(times.values())
        saved = 1 - sum(time_by_cause(whole).values()) / all_ns
        share = (times.get("mapping", 0) + times.get("mapping_collection", 0)) / all_ns
        assert saved >= share - 0.01, run["label"]
        assert (cache(run) is not None) == (share >= 0.1), run["label"]


@pytest.mark.parametrize("name", WORKLOADS if LONG else BRIEF)
def test_a_steady_device_is_nearer_to_what_lasts(name: str) -> None:
    """The advice where write amplification rose while measuring on a merely filled device."""
    options = chosen(name)
    by_mode = {mode: fk.compare(ftls="page,dftl,fast", precondition=mode, **options) for mode in ("fill", "steady")}
    rise = {
        mode: [
            parts[-1] / parts[0] if (parts := fifths(run["series"]["write_amplification"])) else 1.0
            for run in results.document["runs"]
        ]
        for mode, results in by_mode.items()
    }
    cautions = [caution for caution in by_mode["fill"].verdict.cautions if "rose during the run" in caution]
    for label, filled, steady in zip(by_mode["fill"].labels, rise["fill"], rise["steady"], strict=True):
        if cautions and f"{label} from" in cautions[0]:
            assert steady < filled, label


@pytest.mark.parametrize("name", ["fin1", "web_0-cold", "uniform"])
def test_a_steady_device_collects(name: str) -> None:
    """The advice given where nothing was erased."""
    fresh = fk.compare(ftls="page,dftl", precondition="none", **chosen(name))
    assert any("No block was erased under page" in caution for caution in fresh.verdict.cautions)
    steady = fk.compare(ftls="page,dftl", precondition="steady", **chosen(name))
    assert not any("No block was erased" in caution for caution in steady.verdict.cautions)
    assert all(run["erases"]["total"] > 0 for run in steady.document["runs"])


def test_a_lower_load_and_a_closed_loop_end_an_overload() -> None:
    def behind(**options: Any) -> list[str]:  # noqa: ANN401 - any option
        results = fk.compare(ftls="page,fast", precondition="fill", **chosen("uniform"), **options)
        return [run["label"] for run in results.document["runs"] if is_overloaded(run)]

    assert behind(speedup=100.0) != []
    assert behind(speedup=0.5) == []
    assert behind(loop="closed") == []


def test_requests_that_arrive_at_once_need_a_closed_loop() -> None:
    options = chosen("iozone-4") | {"ftls": "page,fast", "precondition": "fill"}
    results = fk.compare(**options)
    assert results.document["workload"]["duration_ns"] == 0
    cautions = [caution for caution in results.verdict.cautions if "arrive" in caution]
    told = "All requests arrive at once, so response times only reflect their number. Use a closed loop"
    assert cautions == [f"{told} (--loop closed, in a study host.loop)."]
    assert not any("arrive" in caution for caution in fk.compare(**options, loop="closed").verdict.cautions)


@pytest.mark.parametrize("name", WORKLOADS)
def test_parts_of_response_times_add_up_and_those_of_the_distance_to_the_distance(name: str) -> None:
    runs = fk.compare(ftls="page,dftl,fast", precondition="fill", **chosen(name)).document["runs"]
    parts = [waiting(run) for run in runs]
    means = [run["response_ns"]["all"]["mean"] or 0.0 for run in runs]
    for run, mean, of_run in zip(runs, means, parts, strict=True):
        assert sum(of_run.values()) == pytest.approx(mean, rel=1e-6), run["label"]
        beyond = sum(of_run.get(part, 0.0) - parts[0].get(part, 0.0) for part in {*of_run, *parts[0]})
        assert beyond == pytest.approx(mean - means[0], abs=1e-6 * max(mean, means[0])), run["label"]


CURES: dict[str, tuple[str, str, dict[str, str], dict[str, float]]] = {
    "mapping": ("steady", "dftl", {"cmt": WHOLE}, {}),
    "collection": ("steady", "page", {}, {"spare": 0.5}),
    "merge": ("fill", "fast", {"name": "page"}, {}),
}
"""For a cause of waiting: the preparation, a scheme that has it, and what removes it."""


@pytest.mark.parametrize("cause", CURES)
@pytest.mark.parametrize("name", BRIEF)
def test_what_is_named_as_a_cause_is_saved_without_it(name: str, cause: str) -> None:
    """At least half of the time that the verdict gives to a cause goes when the cause does.

    Not in overload: there, response times measure how long the workload is.
    """
    options = chosen(name)
    precondition, ftl, settings, device = CURES[cause]
    document = fk.run(ftl=ftl, precondition=precondition, **options).document
    sick = document["runs"][0]
    if is_overloaded(sick):
        return
    options["device"] = options["device"] | device
    sound = fk.run(ftl={"name": ftl} | settings, precondition=precondition, **options).document["runs"][0]
    part = sum(
        time for (_, name_of_cause), time in waiting(sick).items() if name_of_cause in (cause, f"{cause}_collection")
    )
    before, after = (run["response_ns"]["all"]["mean"] or 0.0 for run in (sick, sound))
    if part >= LARGE * before:
        assert before - after >= part / 2


@pytest.mark.parametrize("name", WORKLOADS if LONG else [*BRIEF, *TRACES])
def test_no_order_of_requests_beats_the_bottleneck(name: str) -> None:
    options = chosen(name) | {"ftls": "page,dftl,fast", "precondition": "fill"}
    open_loop = fk.compare(**options).document["runs"]
    closed = fk.compare(**options, loop="closed", queue_depth=256).document["runs"]
    for offered, done in zip(open_loop, closed, strict=True):
        most, reached = bottleneck(offered), done["iops"]
        assert most is None or reached is None or reached <= 1.05 * most, offered["label"]
    # What was served in an overload is what a closed loop serves, and so is the order by it where
    # it is not close.
    options = chosen(name) | {"ftls": "page,dftl,fast", "precondition": "fill", "speedup": 1e4}
    overloaded = fk.compare(**options)
    runs = overloaded.document["runs"]
    if not all(is_overloaded(run) for run in runs):
        pytest.skip("arrives at once")
    served = [(run["iops"] or 0.0, done["iops"] or 0.0) for run, done in zip(runs, closed, strict=True)]
    for a, b in itertools.permutations(served, 2):
        if a[0] > 1.5 * b[0]:
            assert a[1] > b[1]


def test_a_filled_device_reads_flash() -> None:
    """The advice given where reads found nothing."""
    options = chosen("web_0-cold") | {"ftls": "page,dftl"}
    assert any(
        "never been written" in caution for caution in fk.compare(**options, precondition="none").verdict.cautions
    )
    filled = fk.compare(**options, precondition="fill")
    assert [run["reads_without_flash"] for run in filled.document["runs"]] == [0.0, 0.0]


@pytest.mark.parametrize("scheme", ["dftl", "waftl"])
def test_a_cmt_of_8_bytes_a_logical_page_misses_at_first_accesses_alone(scheme: str) -> None:
    def notes(cmt: str, precondition: str) -> dict[str, int]:
        ftl = f"{scheme}:cmt={cmt}"
        done = fk.compare("fin1", ftl, device=AUTO, requests=3_000, addresses="dense", precondition=precondition)
        return done.document["runs"][0]["notes"]

    small, whole, filled = notes("1KiB", "none"), notes("16MiB", "none"), notes("16MiB", "fill")
    for results in (whole, filled):
        assert results["clean_evictions"] == results["dirty_evictions"] == 0
    assert small["clean_evictions"] + small["dirty_evictions"] > 0
    assert whole["mapping_misses"] > 0, "of entries that nobody had asked for"
    if scheme == "dftl":
        assert filled["mapping_misses"] == 0, "filling was the first access to each"
