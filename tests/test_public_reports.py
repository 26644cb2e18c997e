"""Public files and bug reports of other tools, as small inputs of our own with the same facts.

The expected requests and figures follow from the reports' own units by hand.
"""

from pathlib import Path

import polars as pl
import pytest

import ftlkit as fk
from ftlkit._util import Json
from test_drive import life, sata, smartctl

BIOSNOOP = "time:s, -, -, device, op:rwbs, offset:sector, size:B, {}latency:ms, separator=blank"

TRACES: dict[str, tuple[str, dict[str, str], list[tuple[int, str, int, int]]]] = {
    # A write with a flush in front and FUA behind, which fio's replay took for a flush alone.
    "axboe/fio#1978": (
        "8,0 0 1 0.0 4 Q FWFS 17574472760 + 8 [jbd2]\n8,0 0 2 0.1 4 D FN [kworker]\n8,0 0 3 0.2 4 D WFS 8 + 8 [k]\n",
        {},
        [(0, "flush", 0, 0), (0, "write", 8_998_130_053_120, 4096), (0, "flush", 0, 0)],
    ),
    # Only events of dispatch, on a disk of Xen.
    "NetSys/disaggregation#1": (
        "202,16 7 50007 675.722691803 661 D W 95839968 + 80 [kswapd0]\n202,16 7 8 675.722791803 661 D R 8 + 8 [k]\n",
        {"blkparse_action": "D"},
        [(0, "write", 49_070_063_616, 40_960), (100_000, "read", 4096, 4096)],
    ),
    # Nine decimals, and no header behind grep; the first arrived 230 us before its time.
    "iovisor/bcc#1077": (
        "0.000000000 spin 17553 sdb R 0 4096 0.23\n0.000329000 spin 17553 sdb W 0 4096 0.20\n",
        {},
        [(0, "read", 0, 4096), (359_000, "write", 0, 4096)],
    ),
    # A column P of patterns.
    "iovisor/bcc#4279": (
        "TIME(s) COMM PID DISK T SECTOR BYTES P LAT(ms)\n11.27 kworker/u16:4 2784813 vda W 113638304 8192 R 5.5\n",
        {"columns": BIOSNOOP.format("-, ")},
        [(0, "write", 58_182_811_648, 8192)],
    ),
    # The kernel's words for operations.
    "iovisor/bcc#4646": (
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.001422 x 1 s WSM 41944043 524288 1.422\n1.003 y 2 s F 0 0 1\n",
        {"columns": BIOSNOOP.format("")},
        [(0, "write", 21_475_350_016, 524_288), (2_000_000, "flush", 0, 0)],
    ),
    # Sectors of 512 B, times in ns, and 0 writes.
    "umn-cris/MQSim traces/README.md": (
        "4851300 1 524288 16 0\n4864300 1 524304 16 1\n",
        {"format": "mqsim"},
        [(0, "write", 268_435_456, 8192), (13_000, "read", 268_443_648, 8192)],
    ),
    # Whole seconds, operations of SCSI, sectors.
    "1a1a11a/libCacheSim#38": (
        "1,5633898,2a,512,42932745\n1,5633899,28,4096,42932746\n",
        {},
        [(0, "write", 21_981_565_440, 512), (1_000_000_000, "read", 21_981_565_952, 4096)],
    ),
    # Bytes and ms where five numbers are mostly sectors.
    "MoatLab/IODA-SOSP21-AE#3": (
        "0.5 0 8192 4096 1\n1.25 0 16384 4096 0\n",
        {"columns": "time:ms, device, offset:B, size:B, op:1=read"},
        [(0, "read", 8192, 4096), (750_000, "write", 16_384, 4096)],
    ),
    # Version 2 without times: requests between two waits arrive at once.
    "axboe/fio#756": (
        "fio version 2 iolog\n/x add\n/x open\n/x write 2072348000 4000\n/x wait 4000 0\n/x read 0 4096\n/x close\n",
        {},
        [(0, "write", 2_072_348_000, 4000), (4_000_000, "read", 0, 4096)],
    ),
}


@pytest.mark.parametrize("source", TRACES)
def test_trace_of_a_report_has_its_requests(source: str, tmp_path: Path) -> None:
    text, options, expected = TRACES[source]
    (tmp_path / "trace.txt").write_text(text, encoding="utf-8")
    fk.trace_convert(tmp_path / "trace.txt", tmp_path / "out.csv", **options)  # type: ignore[arg-type]
    rows = pl.read_csv(tmp_path / "out.csv").select("time_ns", "op", "offset", "length").rows()
    assert rows == expected


UNIT_32_MIB = 32 << 20

DRIVES: dict[str, tuple[Json, Json, dict[str, float | None]]] = {
    # 1,277,863,316 units of 512,000 B are 654 TB; ours are of 1000 days, on 7.68 TB.
    "linux-nvme/nvme-cli#1745": (
        smartctl(units=0, used=0, user_capacity={"bytes": 7_681_501_126_656}),
        smartctl(units=1_277_863_316, used=20, day=1000, user_capacity={"bytes": 7_681_501_126_656}),
        {"host_written_bytes": 654.266e12, "dwpd": 0.08517, "days_left": 4000},
    ),
    # 349 TB and 12 % used, where another tool told the spare left, 100 %.
    "v-zhuravlev/zbx-smartctl#129": (
        smartctl(units=0, used=0),
        smartctl(units=682_594_316, used=12, day=730),
        {"host_written_bytes": 349.488e12, "days_left": 5353.3},
    ),
    # A drive beyond its rated life.
    "Napsty/check_smart#101": (
        smartctl(used=199),
        smartctl(used=200, day=10),
        {"days_left": 0},
    ),
    # Its unit is 32 MiB, which no name tells: named, and not taken for sectors.
    "smartmontools/smartmontools#312": (
        sata(("Total_LBAs_Written", 100, 1000), ("Percent_Lifetime_Remain", 90, 10)),
        sata(("Total_LBAs_Written", 100, 1233), ("Percent_Lifetime_Remain", 90, 10)),
        {"host_written_bytes": None},
    ),
    # Units in the names: 1000 x 32 MiB by the host, 1500 in flash.
    "Starosdev/scrutiny#93": (
        sata(("Host_Writes_32MiB", 100, 0), ("NAND_Writes_32MiB", 100, 0)),
        sata(("Host_Writes_32MiB", 100, 1000), ("NAND_Writes_32MiB", 100, 1500)),
        {"host_written_bytes": 1000 * UNIT_32_MIB, "write_amplification": 1.5},
    ),
}


@pytest.mark.parametrize("source", DRIVES)
def test_counters_of_a_report_have_its_figures(source: str, tmp_path: Path) -> None:
    before, after, expected = DRIVES[source]
    found = life(tmp_path, before, after | {"local_time": {"time_t": after["local_time"]["time_t"] or 864_000}})
    for name, value in expected.items():
        assert (found[name] and found[name]["value"]) == (None if value is None else pytest.approx(value, rel=1e-4))
