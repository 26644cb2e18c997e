"""The papers' models against the papers' tables and numbers worked by hand."""

from __future__ import annotations

import pytest

import ftlkit
from ftlkit.models import rftl


def test_the_three_equations_of_rftl_at_table_3() -> None:
    # A miss costs two reads of 25 us and a write of 200 us, and a wait of 900 us behind a
    # collection; a hit 100 ns.
    assert rftl.baseline(0.0) == pytest.approx(100)
    assert rftl.baseline(1.0) == pytest.approx(100 + 900_000 + 250_000)
    assert rftl.baseline(0.6) == pytest.approx(0.6 * 1_150_100 + 0.4 * 100)
    assert rftl.rftl(0.6, P=1.0) == pytest.approx(0.6 * 250_100 + 0.4 * 100)
    assert rftl.rftl(0.6, P=0.0) == pytest.approx(rftl.baseline(0.6, P_GC=1.0))
    assert rftl.rftl(0.6, P=0.25) == pytest.approx(0.6 * (250_100 + 675_000) + 0.4 * 100)


def test_table_1_of_rftl() -> None:
    rows = [(0, 200, 0.0), (1, 400, 0.4), (3, 800, 1.2), (7, 1600, 2.8), (15, 3200, 6.0)]
    for replicas, megabytes, extra in rows:
        assert rftl.map_mb(replicas) == megabytes
        assert rftl.extra_writes(replicas) == pytest.approx(extra)


def test_the_map_of_a_simulated_device_is_as_large_as_the_model_says() -> None:
    for replicas in (1, 3):
        ftl = {"name": "rftl", "replicas": str(replicas), "mapping_bytes": str(rftl.MAPPING_BYTES)}
        run = ftlkit.run_study(
            {
                "device": {"capacity": "64MiB", "channels": 4, "page_size": "4KiB"},
                "workload": {"generator": {"requests": 10, "span": "1MiB"}},
                "host": {"loop": "closed"},
                "ftl": [ftl],
            }
        ).document["runs"][0]
        assert run["footprint"]["flash_bytes"] == rftl.map_bytes(16384, 4096, replicas)
    # 100 GB of 4 KB, but for what does not fill the last translation page.
    assert rftl.map_bytes(25_000_000, 4096) == pytest.approx(1e6 * rftl.map_mb(0), rel=1e-4)


def test_copies_on_more_channels_are_always_cheaper_and_figure_6_has_all_its_curves() -> None:
    assert [rftl.idle_copy_probability(copies, 8) for copies in (2, 4, 6)] == [0.25, 0.5, 0.75]
    rows = rftl.curves([0.2, 0.6])
    assert len(rows) == 2 * 6
    at = {row["model"]: row["access_ns"] for row in rows if row["miss_ratio"] == 0.6}
    order = ["DFTL, P_GC = 0", "RFTL, P = 0.75", "RFTL, P = 0.25", "DFTL, P_GC = 1"]
    times = [float(at[model]) for model in order]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: rftl.baseline(1.5), "M = 1.5"),
        (lambda: rftl.rftl(0.5, P=-0.1), "P = -0.1"),
        (lambda: rftl.idle_copy_probability(9, 8), "N = 9"),
        (lambda: rftl.map_mb(-1), "replicas = -1"),
    ],
)
def test_values_out_of_range_are_named(call: object, named: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=named):
        call()
