"""The clients that people have: each finds its writes again, under every scheme."""

import json
import random
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import LONG
from disk import Disk, buffered, families, needs, run, schemes

SIZE = 64 << 20


def noise(path: Path, size: int) -> Path:
    """A file of data that does not repeat, with holes in it."""
    random_bytes = random.Random(4)  # noqa: S311 - data that repeat from run to run
    with path.open("wb") as file:
        for start in range(0, size, 1 << 20):
            if random_bytes.random() < 0.7:
                file.seek(start)
                file.write(random_bytes.randbytes(1 << 20))
        file.truncate(size)
    return path


def test_a_disk_without_room_ends_the_server_and_keeps_what_was_flushed(tmp_path: Path) -> None:
    needs("qemu-io", "prlimit")
    # One die, so that blocks are used from the front of the file.
    disk = Disk(tmp_path, "page", channels=1, dies_per_channel=1)
    with disk.start():
        run("qemu-io", "-f", "raw", "-c", "write -P 0x5a 0 4M", "-c", "flush", disk.uri)
        disk.limit_file(disk.image.stat().st_size // 2)
        filling = ["qemu-io", "-f", "raw", "-c", "write -P 0xa5 4M 56M", "-c", "flush", disk.uri]
        failed = subprocess.run(filling, capture_output=True, text=True, timeout=60, check=False)
        assert failed.returncode != 0, failed.stdout
        output = disk.fail()
        assert "the disk under the image failed" in output
        assert "serve it again" in output
    with disk.start():
        run("qemu-io", "-f", "raw", "-c", "read -P 0x5a 0 4M", disk.uri)


@pytest.mark.parametrize("ftl", schemes() if LONG else families())
def test_libnbd_and_qemu_find_a_disk(ftl: str, tmp_path: Path) -> None:
    needs("nbdinfo", "nbdcopy", "qemu-img")
    source = noise(tmp_path / "source", SIZE)
    with Disk(tmp_path, ftl) as disk:
        (export,) = json.loads(run("nbdinfo", "--json", disk.uri))["exports"]
        assert export["export-size"] == SIZE
        assert export["can_multi_conn"]
        assert export["can_fua"]
        assert export["block_size_preferred"] == 4096
        run("nbdcopy", source, disk.uri)
        run("nbdcopy", disk.uri, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == source.read_bytes()
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", source, disk.uri)
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", disk.uri, tmp_path / "copy.qcow2")
        run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", source, tmp_path / "copy.qcow2")
        run("qemu-img", "convert", "-n", "-f", "qcow2", "-O", "raw", tmp_path / "copy.qcow2", disk.uri)
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", source, disk.uri)
        extents = json.loads(run("nbdinfo", "--map", "--json", disk.uri))
        assert sum(extent["length"] for extent in extents) == SIZE
        assert {extent["description"] for extent in extents} == {"data", "hole,zero"}
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", source, tmp_path / "copy")


def test_the_name_of_the_export_is_a_hint_that_the_recorded_trace_keeps(tmp_path: Path) -> None:
    needs("nbdcopy", "nbdinfo")
    source = noise(tmp_path / "source", SIZE)
    disk = Disk(tmp_path, "page:streams=hints:hint_streams=2", channels=1, dies_per_channel=1)
    with disk.start("--record", tmp_path / "served.parquet"):
        hinted = disk.uri.replace(":///", ":///stream=1,temperature=7")
        run("nbdcopy", source, hinted)
        run("nbdcopy", disk.uri, tmp_path / "copy")
        refused = subprocess.run(
            ["nbdinfo", "--size", disk.uri.replace(":///", ":///hot")], capture_output=True, text=True, check=False
        )
        assert refused.returncode != 0
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    served = pl.read_parquet(tmp_path / "served.parquet")
    hints = served.select("op", "stream", "temperature", "file_type").unique()
    assert set(hints.filter(pl.col("op") == 1).rows()) == {(1, 1, 7, 0)}
    assert all(row[1:] in {(0, 0, 0), (1, 7, 0)} for row in hints.rows())


@pytest.mark.parametrize("ftl", [*schemes(), *buffered()] if LONG else [*families(), *buffered()[-1:]])
def test_fio_finds_what_it_wrote(ftl: str, tmp_path: Path) -> None:
    needs("fio")
    job = ["--ioengine=nbd", "--rw=randwrite", "--bs=4k", "--iodepth=16", "--verify=crc32c", "--verify_fatal=1"]
    length = ["--time_based", "--runtime=60"] if LONG else ["--number_ios=4000"]
    with Disk(tmp_path, ftl) as disk:
        output = run(
            *["fio", "--name=verify", *job, *length, f"--uri={disk.uri}", "--size=64M", "--fsync=32", "--randseed=7"],
            *["--verify_backlog=256", "--verify_state_save=0", "--output-format=json"],
            within_s=600,
        )
        (fio_job,) = json.loads(output[output.index("{") :])["jobs"]
        assert fio_job["error"] == 0
        assert fio_job["write"]["total_ios"] > 0
        assert fio_job["read"]["total_ios"] > 0
        assert fio_job["sync"]["total_ios"] > 0
