"""Sweeps and fleets on a Ray cluster of two local nodes: the same points, whatever it suffers."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Call, Start, write_msr
from ftlkit.results.store import Store

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (pip install 'ftlkit[ray]')"
)
FLEET = "fleet --fleet 24 --requests 60000 --ftl page,dftl"
SWEEP = "sweep t.csv --ftl page,dftl --vary dftl.cmt=16KiB..64KiB:x2 --seeds 2 --set run.precondition=steady"
MARK = "FTLKIT_TEST_CLUSTER"
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2}
"""Who shares the machine must not run code in our cluster."""


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


class Cluster(NamedTuple):
    """Two nodes with a core each, the first of which is the head."""

    address: str
    nodes: list[subprocess.Popen[bytes]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of this machine."""
    port = _free_port()
    ray = Path(sys.executable).with_name("ray")
    common = [
        "--num-cpus=1",
        "--block",
        "--object-store-memory=100000000",
        "--disable-usage-stats",
        "--node-ip-address=127.0.0.1",
    ]
    head = ["--head", f"--port={port}", "--include-dashboard=false", f"--ray-client-server-port={_free_port()}"]
    nodes: list[subprocess.Popen[bytes]] = []
    try:
        for which in (head, [f"--address=127.0.0.1:{port}"]):
            with (tmp_path / "ray.log").open("a") as log:
                command = [str(ray), "start", *which, *common]
                # What they start has the mark as well, and so can be told from other clusters of
                # the machine.
                nodes.append(
                    subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | TOKEN | {MARK: str(port)})
                )
            _wait_for_port(port)
        yield Cluster(f"127.0.0.1:{port}", nodes)
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(60)


def _wait_for_port(port: int) -> None:
    until = time.monotonic() + 60
    while not _listens(port):
        assert time.monotonic() < until, "the cluster does not start"
        time.sleep(0.1)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _workers(address: str) -> list[int]:
    """Processes of a cluster that run a point just now."""
    mark = f"{MARK}={address.rpartition(':')[2]}".encode()
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if _read(folder / "cmdline").startswith(b"ray::point") and mark in _read(folder / "environ").split(b"\0")
    ]


def _busy(cluster: Cluster, process: subprocess.Popen[str], most: int) -> list[int]:
    """The workers of a process, once it has that many at work."""
    until = time.monotonic() + 120
    while len(workers := _workers(cluster.address)) < most and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert process.poll() is None, process.communicate(timeout=10)[1]
    return workers


def _family(process: int) -> list[int]:
    """A process, and all that it has started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(one for task in tasks for child in _read(task).split() for one in _family(int(child)))]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _points(store: Path) -> dict[str, Any]:
    """All results of a store, but for how long they took."""
    points = {}
    for row in Store(store).rows():
        document = json.loads(row["document"])
        for run in document["runs"]:
            for name in [name for name in run if name.startswith("wall") or name.endswith("wall_s")]:
                del run[name]
        points[row["key"]] = document
    return points


@needs_ray
def test_a_cluster_gives_the_same_points_though_a_worker_is_killed(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    write_msr(tmp_path / "t.csv", 30_000)
    process = start(*SWEEP.split(), "--on", "ray", "--store", "there", RAY_ADDRESS=cluster.address, **TOKEN)
    os.kill(_busy(cluster, process, 1)[0], signal.SIGKILL)
    errors = process.communicate(timeout=240)[1]
    assert process.returncode == 0, errors
    here = start(*SWEEP.split(), "--store", "here")
    assert here.wait(120) == 0
    assert len(_points(tmp_path / "here")) == 8
    assert _points(tmp_path / "here") == _points(tmp_path / "there")


@needs_ray
def test_a_fleet_gives_the_same_points_though_a_node_is_lost(cluster: Cluster, start: Start, tmp_path: Path) -> None:
    process = start(*FLEET.split(), "--on", "ray", "--store", "there", RAY_ADDRESS=cluster.address, **TOKEN)
    _busy(cluster, process, 2)
    # Ended politely a node would give its points back first.
    for lost in _family(cluster.nodes[1].pid):
        os.kill(lost, signal.SIGKILL)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    here = start(*FLEET.split(), "--threads", "1", "--store", "here")
    told = here.communicate(timeout=240)[0]
    assert len(_points(tmp_path / "here")) == 48
    assert _points(tmp_path / "here") == _points(tmp_path / "there")
    assert told.replace("here", "there") in out, "what Ray says of the node stands there, too"


@needs_ray
def test_a_cluster_that_is_not_there_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{_free_port()}"
    assert address in call("sweep", "fin1", "--on", f"ray://{address}", exits=2).stderr
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert address in call("sweep", "fin1", "--on", "ray", exits=2).stderr


def test_without_ray_it_is_said_how_to_have_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = call("sweep", "fin1", "--on", "ray", exits=2)
    assert "pip install 'ftlkit[ray]'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "mars"], ["--on mars", "local", "ray"]),
        (["--on", "ray", "--threads", "2"], ["--threads 2", "cluster"]),
    ],
)
def test_places_that_there_are_not(arguments: list[str], words: list[str], call: Call) -> None:
    result = call("sweep", "fin1", *arguments, exits=2)
    for word in words:
        assert word in result.stderr
