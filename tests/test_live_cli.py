"""`ftlkit image | serve | stat | fault`: what a user types, and what comes of it."""

import json
import random
import signal
import socket
import stat
import subprocess
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from conftest import Call
from disk import Disk, needs, run
from ftlkit.cli import live


def test_an_image_is_made_described_and_found_sound(call: Call, tmp_path: Path) -> None:
    created = call(
        "image", "create", "d.img", "--ftl", "dftl:cmt=8KiB", "--capacity", "32MiB", "--set", "device.spare=0.25"
    )
    assert "ftlkit serve d.img" in created.output
    document = json.loads(call("image", "info", "d.img", "--json").output)
    assert ":cmt=8KiB:" in document["description"]["stack"]
    assert document["logical_bytes"] == 32 << 20
    assert document["disk_bytes"] < document["file_bytes"] / 10
    assert "in good order" in call("image", "info", "d.img").output
    assert "sound" in call("image", "check", "d.img").output
    again = call("image", "create", "d.img", exits=2)
    assert "exists" in again.output
    with (tmp_path / "d.img").open("r+b") as file:
        file.truncate(document["file_bytes"] // 2)
    checked = call("image", "check", "d.img", exits=1)
    assert "truncated" in checked.output
    missing = call("image", "check", "missing.img", exits=2)
    assert "ftlkit image create" in missing.output


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["image", "create", "x.img", "--capacity", "auto"], "give a size"),
        (["image", "create", "x.img", "--ftl", "dtfl"], "page, block"),
        (["image", "create", "x.img", "--ftl", "dftl:cmt=1"], "dftl.cmt"),
        (["image", "create", "x.img", "--set", "host.loop=open"], "no host"),
        (["image", "create", "x.img", "--set", "device.gc_yields=true"], "for simulations"),
        (
            ["image", "create", "x.img", "--ftl", "page+static:threshold=4", "--set", "static.threshold=3"],
            "static.threshold is given with the translation layer already (4)",
        ),
        (["image", "info", "none.img"], "ftlkit image create"),
        (["serve", "none.img"], "ftlkit image create"),
        (["serve", "none.img", "--latency", "slow"], "none or modelled"),
        (["serve", "none.img", "--listen", "somewhere"], "127.0.0.1:10809"),
        (["serve", "none.img", "--listen", "0.0.0.0:10809"], "--insecure"),
        (["image", "create", "x.img", "--capacity", "16MiB", "--seed", str(2**63)], "from 0 to"),
        (["stat", "none.img"], "ftlkit serve"),
        (["fault", "none.img", "melt"], "cut, restore"),
        (["fault", "none.img", "restore", "--stay-off"], "belong to cut"),
    ],
)
def test_mistakes_are_said_in_a_paragraph(call: Call, arguments: list[str], part: str) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    ended = call(*arguments, exits=2)
    assert part in ended.output
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_modelled_device_tells_how_late_its_replies_were(call: Call, tmp_path: Path) -> None:
    needs("nbdcopy")
    disk = Disk(tmp_path, "page", capacity="16MiB")
    disk.start("--latency", "modelled", "--metrics", "127.0.0.1:0")
    metrics = disk.metrics()
    (tmp_path / "data").write_bytes(b"ftl" * 100_000)
    run("nbdcopy", tmp_path / "data", disk.uri)
    late = fk.stat(disk.image)["lateness_ns"]
    assert late["count"] > 0
    assert 0 <= late["p50"] <= late["p99"] <= late["max"]
    assert "late replies" in call("stat", disk.image).output
    with urllib.request.urlopen(metrics) as answer:  # noqa: S310 - our own server
        assert 'ftlkit_reply_lateness_seconds{quantile="0.99"}' in answer.read().decode()
    disk.stop()


def test_a_server_tells_how_it_is_and_what_it_saved(tmp_path: Path) -> None:
    needs("nbdcopy")
    disk = Disk(tmp_path, "page", capacity="16MiB")
    disk.start("--metrics", "127.0.0.1:0", "--record", tmp_path / "served.parquet")
    metrics = disk.metrics()
    (tmp_path / "data").write_bytes((b"ftl" * 1_000_000).ljust(16 << 20, b"\0"))
    run("nbdcopy", "--flush", tmp_path / "data", disk.uri)
    stat = fk.stat(disk.image)
    assert stat["host"]["bytes_written"] >= 3_000_000
    assert stat["write_amplification"] == pytest.approx(1.0, abs=0.2)
    assert stat["lateness_ns"] is None
    with urllib.request.urlopen(metrics) as answer:  # noqa: S310 - our own server
        text = answer.read().decode()
    assert 'ftlkit_flash_operations_total{cause="host",op="program"}' in text
    assert fk.image_info(disk.image)["is_served"]
    assert "everything is on the disk" in disk.stop()
    assert fk.check_image(disk.image)["is_sound"]
    info = fk.image_info(disk.image)
    assert info["is_clean"]
    assert info["life"]["host_bytes_written"] == stat["host"]["bytes_written"]
    compared = fk.compare(tmp_path / "served.parquet", ["page", "dftl"], device={"capacity": "16MiB", "spare": 0.4})
    assert {run["label"] for run in compared.document["runs"]} == {"page", "dftl"}


@pytest.mark.parametrize(("name", "grown"), [("s.csv", "s.csv"), ("s.parquet", "s.parquet.part.csv")])
def test_a_killed_server_leaves_what_it_recorded_and_nothing_replaces_it(
    name: str, grown: str, call: Call, tmp_path: Path
) -> None:
    needs("nbdcopy")
    disk = Disk(tmp_path, "page", capacity="16MiB")
    disk.start("--record", tmp_path / name)
    (tmp_path / "data").write_bytes(random.Random(3).randbytes(16 << 20))  # noqa: S311 - no secret
    run("nbdcopy", "--flush", tmp_path / "data", disk.uri)
    host = fk.stat(disk.image)["host"]
    until = time.monotonic() + 10.0
    while (tmp_path / grown).read_text().count("write") < host["writes"] and time.monotonic() < until:
        time.sleep(0.05)
    disk.kill()
    left = fk.trace_info(tmp_path / grown)["statistics"]["total"]
    assert left["writes"] == host["writes"] > 0
    kept = (tmp_path / grown).read_bytes()
    refused = call("serve", disk.image, "--record", tmp_path / name, exits=2)
    assert "there already" in refused.output
    assert (tmp_path / grown).read_bytes() == kept


def test_each_row_of_the_statistics_has_a_name_of_its_own() -> None:
    names = ("reads", "bad_blocks", "gc_runs")
    statistics: Any = defaultdict(int, ftl="page", has_power=True, write_amplification=1.0, mapping_hit_ratio=None)
    statistics |= {
        "host": defaultdict(int),
        "erases": {"min": 0, "max": 0, "mean": 0.0},
        "spares": {"total": 156, "used": 156},
        "wear_map": [],
        "lateness_ns": None,
        "operations": [],
        "notes": [(name, 1) for name in names],
        "gauges": [],
        "files": None,
        "bad_blocks": 157,
    }
    rows = list(live._stat_rows(statistics))  # noqa: SLF001 - a device with bad blocks takes long to wear out
    assert len(dict(rows)) == len(rows), rows
    assert dict(rows)["bad blocks"] == "157, 1 of them since the power came on"


def test_power_cuts_are_staged_from_the_command_line(call: Call, tmp_path: Path) -> None:
    with Disk(tmp_path, "fast", capacity="16MiB") as disk:
        assert "recovered" in call("fault", disk.image, "cut").output
        assert "power" in call("fault", disk.image, "cut", "--stay-off").output
        assert "off" in call("stat", disk.image).output
        assert "power is back" in call("fault", disk.image, "restore").output
        assert "due after 3" in call("fault", disk.image, "program_fails", "--after", 3).output
        assert "translation layer" in call("stat", disk.image).output


def test_ctrl_c_stops_in_good_order(tmp_path: Path) -> None:
    disk = Disk(tmp_path, "block", capacity="16MiB").start()
    assert disk.process is not None
    disk.process.send_signal(signal.SIGINT)
    assert "everything is on the disk" in disk.stop()
    assert fk.image_info(disk.image)["is_clean"]


def test_the_api_serves_within_the_process(tmp_path: Path) -> None:
    image = tmp_path / "a.img"
    fk.create_image(image, {"name": "page", "gc_threshold": 2}, device={"capacity": "64MiB"})
    with fk.serve(image) as device:
        assert device.uri.endswith("a.img.sock")
        assert fk.stat(image)["has_power"]
        assert "recovered" in fk.fault(image, {"cut": {}})
        with pytest.raises(fk.UserError, match="being served"):
            fk.serve(image)
    assert not fk.image_info(image)["is_served"]


def test_only_the_owner_may_use_sockets_and_image_whatever_the_umask(tmp_path: Path) -> None:
    disk = Disk(tmp_path, "page", capacity="16MiB")
    with disk.start(umask=0):
        control = disk.image.with_name(f"{disk.image.name}.control")
        for path in (disk.image, disk.socket, control):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_server_that_other_hosts_can_reach_says_so(tmp_path: Path) -> None:
    disk = Disk(tmp_path, "page", capacity="16MiB")
    disk.start("--listen", "0.0.0.0:0", "--insecure", over_tcp=True)
    assert any("warning" in line and "other hosts" in line for line in disk.before)
    disk.stop()


def test_clients_are_told_why_they_are_not_served(tmp_path: Path) -> None:
    needs("nbdinfo", "qemu-img")
    with Disk(tmp_path, "page", capacity="16MiB").start("--clients", 1) as disk:
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(disk.socket))
            first.recv(18)
            first.sendall(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0")
            first.recv(20)
            assert "1 clients are served already" in refusal(disk)
        fk.fault(disk.image, {"cut": {"stay_off": True}})
        assert "the device has no power" in refusal(disk)
        fk.fault(disk.image, "restore")
        run("nbdinfo", disk.uri)


def refusal(disk: Disk) -> str:
    """What a client is told that is not served."""
    command = ["qemu-img", "info", "-f", "raw", disk.uri]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode != 0
    return completed.stderr


def test_a_disk_that_is_full_at_the_start_can_be_read(tmp_path: Path) -> None:
    needs("nbdcopy", "qemu-io", "prlimit")
    (tmp_path / "data").write_bytes(b"kept" * (4 << 20))
    disk = Disk(tmp_path, "fast", capacity="16MiB")
    with disk.start():
        run("nbdcopy", "--flush", tmp_path / "data", disk.uri)
    before = disk.image.read_bytes()
    full = 4096
    output = disk.refuse(file_limit_bytes=full)
    assert "the disk under the image failed" in output
    assert "--read-only" in output
    assert "bug" not in output.lower()
    with disk.start("--read-only", file_limit_bytes=full):
        assert "for reading alone" in disk.line
        run("nbdcopy", disk.uri, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == (tmp_path / "data").read_bytes()
        (export,) = json.loads(run("nbdinfo", "--json", disk.uri))["exports"]
        assert export["is_read_only"]
        assert fk.stat(disk.image)["is_read_only"]
        with pytest.raises(AssertionError, match="qemu-io"):
            run("qemu-io", "-f", "raw", "-c", "write 0 4k", disk.uri)
        assert "the image is as it was" in disk.stop()
    assert disk.image.read_bytes() == before


def test_sigterm_ends_a_server_whose_sockets_were_removed(tmp_path: Path) -> None:
    disk = Disk(tmp_path, "page", capacity="16MiB").start()
    control = disk.image.with_name(f"{disk.image.name}.control")
    with socket.socket(socket.AF_UNIX) as dripping:
        dripping.connect(str(control))
        dripping.sendall(b"{")
        disk.socket.unlink()
        control.unlink()
        begun = time.monotonic()
        assert "everything is on the disk" in disk.stop()
        assert time.monotonic() < begun + 60
