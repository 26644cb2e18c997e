"""The tool that holds ftlkit beside drives under load: its load, and the threads that send it."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ftlkit as fk
from tool_modules import load_tool

ROOT = Path(__file__).parents[1]


tool = load_tool("drive_latency")

DEVICE = {"channels": 2, "blocks_per_plane": 160, "pages_per_block": 32, "spare": 0.2}


def most_outstanding(log: pl.DataFrame) -> int:
    """Most requests that were under way at the same time."""
    begins = log.select(time="begin_ns", change=pl.lit(1))
    ends = log.select(time="end_ns", change=pl.lit(-1))
    steps = pl.concat([begins, ends]).sort("time", "change")["change"].cum_sum()
    return max(steps.to_list(), default=0)


def served(trace: Path, log: Path, host: dict[str, Any]) -> tuple[str, pl.DataFrame]:
    """Event hash and log of a small device under a load."""
    study = {
        "device": DEVICE,
        "workload": {"trace": str(trace)},
        "host": host,
        "run": {"precondition": "fill", "waiting": False},
        "ftl": [{"name": "page"}],
    }
    results = fk.run_study(study, threads=1, requests_out=log)
    return str(results.frame("runs")["event_hash"][0]), pl.read_parquet(log)


def test_the_load_has_the_rates_and_gaps_of_the_measurement() -> None:
    offered, seconds, units = 40_000.0, 10.0, 5000
    load = tool.arrivals(offered, seconds, units)
    assert load["time_ns"].is_sorted()
    writes = load.filter(pl.col("op") == 1).height
    assert writes / seconds == pytest.approx(offered, rel=0.01)
    reads = load.height - writes
    assert reads / seconds == pytest.approx(5000 + 0.01 * (offered - 5000) / 0.99, rel=0.02)
    measuring = load.filter(pl.col("stream") == 0)
    assert set(np.diff(measuring["time_ns"].to_numpy())) == {100_000}
    assert measuring["op"].mean() == pytest.approx(0.5, abs=0.01)
    is_multiple = load.filter(pl.col("time_ns") % 100_000 == 0)
    assert is_multiple.height == measuring.height
    for stream in range(1, 7):
        own = load.filter(pl.col("stream") == stream)
        gaps = np.diff(own["time_ns"].to_numpy())
        assert gaps.mean() == pytest.approx(6e9 * 0.99 / (offered - 5000), rel=0.02)
        # Exponential: as large as its mean, a share of 1/e above it, and no memory.
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
        assert (gaps > gaps.mean()).mean() == pytest.approx(np.exp(-1), abs=0.01)
        assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.02
        assert own["op"].mean() == pytest.approx(0.99, abs=0.003)
    places = np.bincount(load["offset"].to_numpy() // 4096, minlength=units)
    assert places.size == units
    assert places.var() / places.mean() == pytest.approx(1, abs=0.1), "uniform, with replacement"


def test_threads_with_places_enough_are_an_open_loop(tmp_path: Path) -> None:
    trace = tmp_path / "load.parquet"
    tool.arrivals(5100, 1.0, 8000).write_parquet(trace)
    open_hash, open_log = served(trace, tmp_path / "open.parquet", {"loop": "open"})
    own_hash, own_log = served(trace, tmp_path / "own.parquet", {"loop": "threads", "queue_depth": 60_000})
    assert own_hash == open_hash
    assert own_log.equals(open_log)


def test_threads_of_a_saturated_device_have_all_their_places_taken(tmp_path: Path) -> None:
    trace, seconds = tmp_path / "load.parquet", 1.0
    load = tool.arrivals(60_000, seconds, 8000)
    load.write_parquet(trace)
    _, log = served(trace, tmp_path / "log.parquet", {"loop": "threads", "queue_depth": tool.PLACES})
    assert most_outstanding(log) <= 7 * tool.PLACES
    writers = log.filter(pl.col("arrival_ns") % 100_000 != 0)
    begin, end = 0.3e9, 0.9e9
    overlap = float((writers["end_ns"].clip(begin, end) - writers["begin_ns"].clip(begin, end)).sum())
    assert overlap / (end - begin) == pytest.approx(6 * tool.PLACES, rel=0.001), "a free place is taken at once"
    assert (log["begin_ns"] >= log["arrival_ns"]).all()
    for stream in range(7):
        # A few requests of two threads arrive at the same nanosecond.
        arrivals = load.filter(pl.col("time_ns").is_unique(), pl.col("stream") == stream)["time_ns"]
        own = log.filter(pl.col("arrival_ns").is_in(arrivals.implode()))
        assert most_outstanding(own) <= tool.PLACES
        assert own.sort("arrival_ns", maintain_order=True)["begin_ns"].is_sorted(), "in the thread's order"


def test_percentiles_are_of_the_measuring_thread_between_two_moments() -> None:
    log = pl.DataFrame(
        {
            "kind": ["read", "read", "write", "write", "read"],
            "arrival_ns": [100_000, 200_000, 300_000, 400_001, 900_000],
            "begin_ns": [100_000, 210_000, 300_000, 400_001, 900_000],
            "end_ns": [150_000, 310_000, 309_000, 499_001, 990_000],
        }
    )
    found = tool.percentiles(log, 0.0, 0.0005)
    assert found["read_p50_us"] == 100
    assert found["read_max_us"] == 100
    assert found["write_max_us"] == 9
    assert found["writes_per_s"] == 4000


def test_every_measured_drive_has_a_row_at_each_rate() -> None:
    measured = pl.read_csv(tool.MEASURED)
    assert set(tool.DRIVES) <= set(measured["drive"])
    for drive in tool.DRIVES.values():
        assert drive.measured().height >= 15
    drive = tool.DRIVES["7450-pro-960"]
    pages = 16 * drive.blocks * drive.pages * 16  # 16 dies, 16 units a flash page
    assert drive.units / pages == pytest.approx(894.3 / 1080, rel=1e-4)


@pytest.mark.parametrize("name", tool.DRIVES)
def test_preset_states_the_differences_of_the_page(name: str) -> None:
    """The heaviest load with percentiles near the drive's, and saturation beyond it."""
    compared = next(each for each in fk.devices() if each["name"] == tool.DRIVES[name].preset)["compared"]
    table = tool.PAGE.read_text(encoding="utf-8").partition(f"<!-- latency-{name} -->")[2].partition("<!-- /")[0]
    rows = [[cell.split() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    near = {float(row[0][0]) for row in rows if float(row[3][1]) > 0.5 * float(row[3][0])}
    assert compared["writes_per_s"] in near
    written, ours = (float(text) for text in rows[-1][1])
    difference = round(100 * (ours / written - 1))
    words = f"{abs(difference)} % {'more' if difference > 0 else 'fewer'} writes than the drive"
    assert (words if difference else "saturates as the drive does") in compared["beyond"]
