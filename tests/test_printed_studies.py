"""A study printed anywhere makes the same points again, to the event hash."""

import html
import json
import re
from pathlib import Path

import pytest

from conftest import Call
from ftlkit.results.store import Store
from ftlkit.study import toml

pytestmark = pytest.mark.usefixtures("no_pictures")

LOAD = ["fin1", "--requests", "600", "--addresses", "dense", "--seed", "3"]
DEVICE = ["--device", "thesis", "--capacity", "256MiB", "--set", "device.channels=2"]
OWN_DEVICE = '[device]\npage_size = "2KiB"\npages_per_block = 32\nspare = 0.2\n'
TWO_DEVICES = ["--device", "slc-small,own.toml"]

SWEEPS = {
    "one device": ["sweep", *LOAD, *DEVICE, "--ftl", "page,dftl", "--vary", "dftl.cmt=16KiB..32KiB:x2"],
    "two devices": ["sweep", *LOAD, *TWO_DEVICES, "--ftl", "page", "--vary", "device.spare=0.2,0.3", "--seeds", "2"],
    "own device": ["sweep", *LOAD, "--device", "own.toml", "--ftl", "page"],
    "two workloads": ["sweep", "fin2", *LOAD, *DEVICE, "--ftl", "page,fast"],
    "spare": ["curve", "spare", *LOAD, *DEVICE, "--spares", "0.2,0.3"],
    "load": ["curve", "load", *LOAD, *DEVICE, "--ftl", "page,dftl", "--loads", "500,700"],
    "depth": ["curve", "depth", *LOAD, *DEVICE, "--ftl", "page", "--depths", "1..4:x2"],
}


def _hashes(store: str) -> set[tuple[str, str]]:
    rows = Store(Path(store)).rows()
    return {(row["key"], json.loads(row["document"])["runs"][0]["event_hash"]) for row in rows}


def _printed(page: str) -> str:
    pattern = r'aria-label="The study">(?:<code>)?(.*?)(?:</code>)?</pre>'
    found = re.search(pattern, Path(page).read_text("utf-8"), re.DOTALL)
    assert found
    return html.unescape(found[1])


@pytest.mark.parametrize("arguments", SWEEPS.values(), ids=SWEEPS)
def test_study_of_page_makes_the_same_points(arguments: list[str], call: Call) -> None:
    Path("own.toml").write_text(OWN_DEVICE, encoding="utf-8")
    of_times = arguments[:2] in (["curve", "load"], ["curve", "depth"])
    files = ["--report", "page.html", *(["--json", "curve.json"] if of_times else [])]
    call(*arguments, "--store", "first", *files)
    if of_times:
        assert toml.written(json.loads(Path("curve.json").read_text("utf-8"))["study"]) == _printed("page.html")
    Path("study.toml").write_text(_printed("page.html"), encoding="utf-8")
    call("sweep", "study.toml", "--store", "again")
    first, again = _hashes("first"), _hashes("again")
    # A curve over load tries its layers in a closed loop first, which is no point of the curve.
    probes = {row["key"] for row in Store(Path("first")).rows() if json.loads(row["study"])["host"]["loop"] == "closed"}
    assert again == {point for point in first if arguments[1] == "depth" or point[0] not in probes}


def test_study_of_fleet_makes_the_points_of_its_first_volume(call: Call) -> None:
    with Path("all.csv").open("w", encoding="utf-8") as file:
        file.write("time_ns,op,offset,length,stream,device\n")
        file.writelines(f"{1000 * i},write,{4096 * (i * 7 % 400)},4096,0,v{i % 3}\n" for i in range(3000))
    call("trace", "split", "all.csv", "--out", "volumes")
    for store, source in {"split": ["volumes"], "drawn": ["--fleet", "2", "--requests", "500"]}.items():
        call(
            "fleet",
            *source,
            "--ftl",
            "page,dftl",
            "--vary",
            "device.spare=0.2,0.3",
            "--store",
            store,
            "--report",
            "p.html",
        )
        Path("study.toml").write_text(_printed("p.html"), encoding="utf-8")
        call("sweep", "study.toml", "--store", f"again-{store}")
        again = _hashes(f"again-{store}")
        assert len(again) == 4
        assert again < _hashes(store)


def test_study_of_comparison_makes_the_same_runs(call: Call) -> None:
    Path("own.toml").write_text(OWN_DEVICE, encoding="utf-8")
    for device in (DEVICE, ["--device", "own.toml"]):
        asked = ["compare", *LOAD, *device, "--ftl", "page,dftl:cmt=16KiB+lru"]
        call(*asked, "--report", "page.html", "--json", "first.json")
        Path("study.toml").write_text(_printed("page.html"), encoding="utf-8")
        call("run", "study.toml", "--json", "again.json")
        first, again = (json.loads(Path(f"{name}.json").read_text("utf-8"))["runs"] for name in ("first", "again"))
        assert [run["event_hash"] for run in first] == [run["event_hash"] for run in again]


def test_study_of_cache_curve_draws_the_same_curve(call: Call) -> None:
    asked = ["curve", "cache", *LOAD[:-2], "--device", "thesis", "--sizes", "1KiB..64KiB:x4"]
    call(*asked, "--report", "page.html", "--csv", "first.csv")
    study = toml.tomllib.loads(_printed("page.html"))
    assert study["device"]["preset"] == "thesis"
    assert study["workload"]["requests"] == 600
