"""When a flush is answered on a device without a capacitor."""

from pathlib import Path

import polars as pl
import pytest

import ftlkit as fk

UNITS = 4
"""Units of a flash page, which are programmed at once: in 40 us over the bus and 600 us."""


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_a_flush_waits_for_the_program_of_what_was_answered_before(depth: int, tmp_path: Path) -> None:
    """The last write of a page may still be programmed when the host flushes."""
    lines = ["time_ns,op,offset,length,stream,temperature,file_type,device"]
    for page in range(20):
        lines += [f"0,write,{(page * UNITS + unit) * 4096},4096,0,0,0,a" for unit in range(UNITS)]
        lines.append("0,flush,0,0,0,0,0,a")
    (tmp_path / "flushes.csv").write_text("\n".join(lines) + "\n")
    study = {
        "device": {
            "preset": "slc-small",
            "channels": 1,
            "dies_per_channel": 1,
            "page_size": "16KiB",
            "mapping_unit": "4KiB",
            "power_loss_protection": False,
            "program_latency": "600us",
            "transfer_latency": "40us",
            "spare": 0.3,
        },
        "workload": {"trace": str(tmp_path / "flushes.csv")},
        "host": {"loop": "closed", "queue_depth": depth},
        "run": {"precondition": "none"},
        "ftl": [{"name": "page"}],
    }
    fk.run_study(study, requests_out=tmp_path / "requests.parquet")
    ends = pl.read_parquet(tmp_path / "requests.parquet").sort("request")["end_ns"].to_list()
    flushes = ends[UNITS :: UNITS + 1]
    assert len(flushes) == 20
    # The bus moves the next page while nothing is programmed, so a page takes 640 us.
    assert all(end >= (number + 1) * 640_000 for number, end in enumerate(flushes)), flushes
