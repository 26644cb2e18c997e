"""The papers' models against the papers' tables and numbers worked by hand."""

import pytest

import ftlkit
from ftlkit.models import rftl, uniform


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


def test_one_class_of_data_or_two_alike_cost_what_greedy_costs_on_large_blocks() -> None:
    for classes in ([(1.0, 1.0)], [(0.3, 0.3), (0.7, 0.7)]):
        assert uniform.separated(0.875, classes) == pytest.approx(uniform.greedy(0.875, 8192), rel=1e-3)


def test_classes_with_blocks_of_their_own_cost_the_least_of_all_splits() -> None:
    def split(share: float) -> float:
        hot, cold = 0.8 * 0.2 / share, 0.8 * 0.8 / (1 - share)
        return 0.8 * uniform.greedy(hot, 8192) + 0.2 * uniform.greedy(cold, 8192)

    tried = [split(0.2 + 0.01 * step) for step in range(1, 15)]
    best = uniform.separated(0.8, [(0.2, 0.8), (0.8, 0.2)])
    assert best == pytest.approx(min(tried), rel=5e-3)
    assert best <= min(tried) * 1.001


@pytest.mark.parametrize(
    ("utilisation", "classes", "named"),
    [
        (1.0, [(1.0, 1.0)], "utilisation = 1.0"),
        (0.8, [(0.5, 1.0)], "shares of the data"),
        (0.8, [(1.0, 0.5)], "shares of the writes"),
    ],
)
def test_classes_that_are_none_are_refused(utilisation: float, classes: list[tuple[float, float]], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        uniform.separated(utilisation, classes)
