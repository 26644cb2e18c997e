"""Curves: one pass gives the hit ratios of separate runs, and models meet their numbers."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import conftest
import ftlkit as fk
from conftest import Call
from ftlkit import _native, study
from ftlkit._util.units import typed
from ftlkit.curves import cache, distances, spare
from ftlkit.curves.accesses import Accesses, accesses
from ftlkit.models.uniform import greedy
from ftlkit.results.noise import estimate
from ftlkit.results.store import Store
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local

KIB = 1024
SIZES = [KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB]


def looked_up(workload: str | Path, **options: Any) -> Accesses:  # noqa: ANN401 - options of a comparison
    """The look-ups of a workload."""
    return accesses(study.build(workload, "dftl", None, options), _native.Control())  # type: ignore[arg-type] # as above


def run_ratios(workload: str | Path, sizes: list[int], **options: Any) -> list[float]:  # noqa: ANN401 - as above
    """Hit ratios of dftl with LRU, from a run at each size."""
    layers = [f"dftl:cmt_policy=lru:cmt={size}B" for size in sizes]
    return fk.compare(workload, layers, **options).runs["mapping_hit_ratio"].to_list()


def naive(pages: list[int], filled: int, entries: int) -> float:
    """The hit ratio of an LRU cache, by keeping one."""
    cached = list(range(max(0, filled - entries), filled))
    hits = 0
    for page in pages:
        if page in cached:
            hits += 1
            cached.remove(page)
        cached.append(page)
        del cached[:-entries]
    return hits / len(pages)


@pytest.mark.parametrize("filled", [0, 1, 7, 40])
def test_distances_are_those_of_a_cache_that_is_kept(filled: int) -> None:
    chance = random.Random(filled)  # noqa: S311 - a test's numbers
    pages = [min(int(chance.expovariate(0.1)), 39) for _ in range(600)]
    exact = distances.exact(pages, filled)
    for entries in range(1, 42):
        assert exact.hit_ratio(entries) == pytest.approx(naive(pages, filled, entries), abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"requests": 10_000, "addresses": "dense", "precondition": "fill"},
        {"requests": 10_000, "addresses": "dense", "precondition": "none"},
        {"requests": 10_000, "addresses": "dense", "settings": ["device.spare=0.05"], "seed": 7},
        {"requests": 5_000, "capacity": "256MiB", "addresses": "wrap", "loop": "closed", "queue_depth": 4},
        {"requests": 5_000, "align_offset": "512B", "addresses": "dense"},
    ],
)
def test_the_curve_is_that_of_separate_runs(options: dict[str, Any]) -> None:
    curve = cache.curve(looked_up("fin1", **options), SIZES)
    assert curve.hit_ratios == pytest.approx(run_ratios("fin1", SIZES, **options), abs=1e-12)


def test_partial_writes_trims_and_flushes_look_up_as_they_do(tmp_path: Path) -> None:
    chance = random.Random(3)  # noqa: S311 - a test's numbers
    lines = ["time_ms,op,offset,length"]
    for at in range(3_000):
        op = chance.choice(["read", "write", "write", "trim", "flush"])
        offset, length = 512 * chance.randrange(3_000), 512 * chance.randrange(1, 40)
        lines.append(f"{at},{op},{offset if op != 'flush' else 0},{length if op != 'flush' else 0}")
    trace = tmp_path / "mixed.csv"
    trace.write_text("\n".join(lines) + "\n")
    options: Any = {"columns": "time:ms, op, offset:B, size:B", "precondition": "none"}
    sizes = [64, 256, KIB, 2 * KIB]
    accesses = looked_up(trace, **options)
    assert cache.curve(accesses, sizes).hit_ratios == pytest.approx(run_ratios(trace, sizes, **options), abs=1e-12)
    # Served three times, the last time in part.
    again = options | {"repeat": 3, "requests": 7_000}
    curve = cache.curve(looked_up(trace, **again), sizes)
    assert curve.hit_ratios == pytest.approx(run_ratios(trace, sizes, **again), abs=1e-12)
    assert curve.hit_ratios != cache.curve(accesses, sizes).hit_ratios


def test_a_recorded_trace_has_the_curve_of_its_runs() -> None:
    folder = conftest.traces()
    if folder is None:
        pytest.skip("no real traces here; FTLKIT_TRACES names their folder")
    options: Any = {"requests": 30_000, "addresses": "dense"}
    trace, sizes = folder / "cloudPhysicsIO.vscsi", [4 * KIB, 64 * KIB]
    curve = cache.curve(looked_up(trace, **options), sizes)
    assert curve.hit_ratios == pytest.approx(run_ratios(trace, sizes, **options), abs=1e-12)


@pytest.mark.parametrize("workload", ["fin1", "fin2", "prxy_0-cold", "hm_0-cold"])
def test_a_sample_tells_the_curve_within_a_point(workload: str) -> None:
    """The smallest one that is taken, at every size, however few pages have most accesses."""
    accesses = looked_up(workload, requests=60_000, addresses="dense")
    pages = accesses.filled or len(set(accesses.pages))
    sizes = [KIB << step for step in range(11)]
    exact = cache.curve(accesses, sizes, 1)
    assert exact.pages == pages
    sampled = cache.curve(accesses, sizes, cache.LEAST_PAGES / pages)
    assert sampled.pages == pytest.approx(cache.LEAST_PAGES, abs=1)
    assert sampled.hit_ratios == pytest.approx(exact.hit_ratios, abs=0.01)
    assert sampled.hit_ratios != exact.hit_ratios


def test_a_sample_by_default_has_as_many_pages_as_tell_something(monkeypatch: pytest.MonkeyPatch) -> None:
    accesses = looked_up("fin1", requests=40_000, addresses="dense")
    monkeypatch.setattr(cache, "EXACT_UP_TO", 100)
    assert cache.curve(accesses, [KIB]).pages == pytest.approx(2 * cache.LEAST_PAGES, abs=1)


def test_a_sample_is_drawn_at_even_steps_down_the_list_by_accesses() -> None:
    pages = [page for page in range(100) for _ in range(1000 // (page + 1))]
    for share in (0.05, 0.25, 0.5, 0.9):
        drawn = distances.sample(pages, share)
        assert len(drawn) == distances.drawn_of(100, share) == round(100 * share)
    assert distances.sample(pages, 1) == set(range(100))
    assert distances.sample([1, 2, 2], 0.5, 3) == {1}


def test_that_a_curve_is_sampled_is_said(call: Call) -> None:
    small = ("fin1", "--requests", 20_000, "--addresses", "dense", "--sizes", "4KiB")
    result = call("curve", "cache", *small, "--sample", 0.5)
    assert "a sample of " in result.stderr
    assert "50.0 % of all (SHARDS)" in result.stderr
    assert "sample of" not in call("curve", "cache", *small).stderr


@pytest.mark.parametrize(("span", "is_told"), [("64MiB", True), ("1MiB", False)])
def test_that_pages_were_looked_up_too_seldom_for_the_model_is_said(span: str, call: Call, *, is_told: bool) -> None:
    """Of uniform look-ups the share of the map hits; from few of them the model has more."""
    result = call("curve", "cache", "randrw", "--bs", "4k", "--requests", 3_000, "--span", span, "--sizes", "8KiB")
    assert ("too few to tell popularity" in " ".join(result.stderr.split())) == is_told


@pytest.mark.parametrize("precondition", ["none", "fill"])
@pytest.mark.parametrize("workload", ["fin1", "prxy_0-cold"])
def test_no_line_exceeds_what_cold_misses_leave(workload: str, precondition: str) -> None:
    accesses = looked_up(workload, requests=3_000, addresses="dense", precondition=precondition)
    curve = cache.curve(accesses, [KIB << step for step in range(9)])
    for measured, model, misses in zip(curve.hit_ratios, curve.che, curve.cold, strict=True):
        assert max(measured, model) <= 1 - misses + 1e-12
    firsts = len(set(accesses.pages)) / len(accesses.pages)
    assert curve.cold[0] == pytest.approx(firsts, abs=0.01)
    assert firsts > 0.1, "a short workload, where they matter"


def test_the_numbers_of_a_curve_are_saved_and_those_of_python(call: Call, tmp_path: Path) -> None:
    arguments = ("fin1", "--requests", 2_000, "--addresses", "dense", "--sizes", "4KiB,16KiB")
    js, csv = tmp_path / "c.json", tmp_path / "c.csv"
    call("curve", "cache", *arguments, "--json", js, "--csv", csv)
    curve = fk.curve("fin1", requests=2_000, addresses="dense", sizes=["4KiB", 16 * KIB])
    assert json.loads(js.read_text())["points"] == curve.frame.to_dicts()
    assert csv.read_text() == curve.written(".csv").decode()
    shown = call("curve", "cache", *arguments, "--json", "-")
    assert json.loads(shown.stdout)["points"] == curve.frame.to_dicts()
    assert "hit ratio" in shown.stderr
    with pytest.raises(fk.UserError, match=r"\.json or \.csv"):
        curve.save(tmp_path / "c.txt")


def test_che_meets_independent_draws() -> None:
    generator = {"span": "4MiB", "requests": 60_000, "write_share": 0.5, "pattern": {"zipf": {"theta": 0.9}}}
    drawn = accesses({"workload": {"generator": generator}, "host": {"loop": "closed"}}, _native.Control())
    curve = cache.curve(drawn, [512, KIB, 2 * KIB, 4 * KIB])
    assert curve.che == pytest.approx(curve.hit_ratios, abs=0.01)


@pytest.mark.parametrize(
    ("utilisation", "pages_per_block", "expected"),
    [(0.75, 64, 2.1396), (0.8, 128, 2.6449), (0.85, 256, 3.4759), (0.9, 64, 4.8213), (0.93, 256, 7.1240)],
)
def test_greedy_meets_the_published_numbers(utilisation: float, pages_per_block: int, expected: float) -> None:
    assert greedy(utilisation, pages_per_block) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("in_use", [1, 0.8])
def test_spare_under_uniform_writes_is_near_its_model(in_use: float, tmp_path: Path) -> None:
    """Above it, by the blocks that a die keeps free."""
    generator = {"span": "device", "requests": 100_000, "write_share": 1.0, "pattern": "uniform"}
    options = {
        "workload": {"generator": generator},
        "device": {"preset": "slc-small", "blocks_per_plane": 256},
        "run": {"precondition": "steady", "in_use": in_use},
        "host": {"loop": "closed"},
        "ftl": [{"name": "page"}],
    }
    made = plans.with_more(plans.from_study(options), [values.parse("device.spare=0.15,0.25")], None)
    points = spare.measured(runs.run(made, Store(tmp_path / "s", create=True), Local()))
    assert [point.spare for point in points] == ["0.15", "0.25"]
    for point in points:
        assert point.model < point.page_write_amplification.mean < 1.1 * point.model


@pytest.mark.parametrize(
    ("device", "sizes"),
    [
        pytest.param(
            ("--device", "slc-small", "--set", "device.blocks_per_plane=128"),
            "Data in use are a share of the host's capacity, so they shrink: 92.2 MiB at 0.1, 81.9 MiB at 0.2.",
            id="device",
        ),
        pytest.param(
            ("--capacity", "64MiB"),
            "The host's capacity stays, so the flash grows: 71.5 MiB at 0.1, 80 MiB at 0.2.",
            id="capacity",
        ),
    ],
)
def test_spare_tells_sizes_that_change_with_it_and_lives(device: tuple[str, ...], sizes: str, call: Call) -> None:
    options = ("--bs", "4k", *device, "--ftl", "page", "--in-use", "80%", "--requests", 300_000)
    curve = call("curve", "spare", "randwrite", *options, "--spares", "0.1,0.2", "--store", "s")
    assert "at a spare of 0.1 (OP 11.1 %) and" in typed(" ".join(curve.stdout.split()))
    assert sizes in " ".join(curve.stderr.split())
    conditions = r"1 DWPD, [\d,]+ erases per block, by the preset [a-z-]+"
    assert curve.stdout.splitlines()[1].endswith("  life")
    assert re.search(rf"Life: {conditions}\.", " ".join(curve.stderr.split()))
    steady = (*options, "--precondition", "steady", "--no-clock")
    compared = call("compare", "randwrite", *steady, "--set", "device.spare=0.1").stdout
    (life,) = set(re.findall(r"[0-9.]+ years(?= at )", " ".join(compared.split())))
    assert curve.stdout.splitlines()[2].endswith(f"  {life}")
    swept = call("sweep", "randwrite", *steady, "--vary", "device.spare=0.1,0.2", "--store", "s").stdout
    assert re.search(rf"life \({conditions}\)", swept)
    assert life in swept


@pytest.mark.parametrize("years", [1.0, None, 90.0])
def test_spare_tells_from_where_a_life_reaches_the_warranty(years: float | None, call: Call) -> None:
    asked = ["curve", "spare", "randwrite", "--device", "slc-small", "--set", "device.blocks_per_plane=128"]
    asked += ["--requests", "300000", "--daily-writes", "2GB", "--spares", "0.1,0.2", "--store", "s"]
    lives = [float(life) for life in re.findall(r"^page .* ([0-9.]+)\syears$", call(*asked).stdout, re.MULTILINE)]
    assert len(lives) == 2
    warranty = years or sum(lives) / 2
    shown = " ".join(call(*asked, "--set", f"run.warranty_years={warranty}").stdout.split())
    if years == 1.0:
        assert lives[0] > 1
        assert "The drive lasts the 1 years of warranty from a spare of 0.1 (OP 11.1 %) on." in typed(shown)
    elif years is None:
        assert re.search(r"years of warranty from a spare of 0\.2 \(OP 25\.0 %\) on, not at 0\.1\.", typed(shown))
    else:
        assert "The drive does not last the 90 years of warranty at any of these." in typed(shown)


def test_spare_reads_traces_with_the_options_that_errors_name(call: Call, tmp_path: Path) -> None:
    lines = ["time_ms,op,offset,length", *(f"{at},write,{at % 50 * 4096},4096" for at in range(200))]
    (tmp_path / "mixed.csv").write_text("\n".join(lines) + "\n")
    curve = ("curve", "spare", "mixed.csv", "--spares", "0.1,0.2", "--precondition", "none")
    result = call(*curve, "--columns", "time:ms, op, offset:B, size:B", "--set", "page.victim=fifo")
    assert "0.2" in result.stdout
    assert "mixed.csv read as columns" in result.stderr
    assert "No block was erased" in result.stdout


def test_spare_cautions_of_data_that_the_workload_never_touches(call: Call, tmp_path: Path) -> None:
    options = ("--span", "8MiB", "--capacity", "64MiB", "--requests", 2000, "--spares", "0.2", "--report", "s.html")
    for in_use, is_said in ((), True), (("--in-use", "13%"), False):
        curve = call("curve", "spare", "randwrite", *options, *in_use)
        for text in (curve.stdout, (tmp_path / "s.html").read_text(encoding="utf-8")):
            assert ("untouched" in text) == is_said


def test_no_band_goes_below_zero() -> None:
    from ftlkit.sweeps.charts import band  # noqa: PLC0415 - the drawing libraries take a second to load

    interval = estimate([1.0, 9.0])
    assert interval.low < 0
    assert band(interval) == {"low": 0.0, "high": interval.high}


def test_the_page_of_a_curve_holds_it(call: Call, tmp_path: Path) -> None:
    call("curve", "cache", "fin1", "--requests", 2_000, "--addresses", "dense", "--report", "c.html")
    html = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Che" in html
    rows = json.loads(html.partition('id="spec-curve">')[2].partition("</script>")[0])["datasets"]
    assert {row["line"] for data in rows.values() for row in data} == {"one pass, every page", "Che's approximation"}
    asked = "curve spare fin1 --requests 500 --addresses dense --spares 0.1,0.2 --precondition fill --in-use 80%"
    result = call(*asked.split())
    assert "uniform, greedy" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cache", "fin1", "--sample", "0"], ["--sample 0", "above 0"]),
        (["cache", "fin1", "--sizes", "1MiB..16KiB:x2"], ["empty"]),
        (["cache", "fin1", "--sample", "1e-9", "--requests", "2000", "--addresses", "dense"], ["0 of", "8,192"]),
        (["cache", "fin1", "--sizes", "1KiB..1TiB:+1B"], ["1,099,511,626,753 sizes", "at most 1,000"]),
        (["cache", "fin1", "--sizes", "1ms"], ["--sizes: 1ms is no size"]),
        (["cache", "fin1", "--sizes", "1KiB,1024B"], ["--sizes: the value 1024B is there twice", "as 1KiB"]),
        (["cache", "fin1", "--sizes", "1KiB..64:x2"], ["--sizes 1KiB..64:x2", "one kind of unit"]),
        (["spare", "fin1", "--spares", "0.1..0.2"], ["--spares 0.1..0.2", "needs its step"]),
        (["spare", "fin1", "--spares", "0.1,0.10"], ["--spares: the value 0.10 is there twice"]),
        (["cache", "fin1", "--sizes", "large"], ["large is no size", "16KiB..4MiB:x2"]),
        (["cache", "fin1", "--precondition", "steady", "--requests", "100"], ["steady", "ftlkit sweep"]),
        (["cache", "none.csv"], ["none.csv"]),
        (["cache", "fin1", "--seed", f"{2**63}"], [f"--seed {2**63}: must be a whole number from 0"]),
        (["spare", "fin1", "--spares", "2,3", "--requests", "100"], ["spare", "2"]),
        (["spare", "fin1", "--ftl", "pag"], ["pag", "page"]),
    ],
)
def test_bad_input_is_answered(arguments: list[str], words: list[str], call: Call) -> None:
    result = call("curve", *arguments, exits=2)
    for word in words:
        assert word in " ".join(result.stderr.split())


@pytest.mark.parametrize(("curve", "has_share"), [("cache", False), ("load", True)])
def test_ways_out_are_those_of_the_command(curve: str, call: Call, tmp_path: Path, *, has_share: bool) -> None:
    rows = (f"{at},read,{at * 2 * 10**12},4096" for at in range(2))
    (tmp_path / "sparse.csv").write_text("\n".join(["time_ns,op,offset,length", *rows]))
    error = " ".join(call("curve", curve, "sparse.csv", "--capacity", "auto", exits=2).stderr.split())
    assert ("--in-use" in error) == has_share
    assert re.search("[.,] [Tt]ake a smaller device .*, (or )?prepare nothing [(]--precondition none[)]", error)


def test_a_trace_of_several_devices_is_refused(call: Call, tmp_path: Path) -> None:
    lines = [f"{128_166_372_000_000_000 + at},host,{at % 2},Write,{at * 4096},4096,500" for at in range(100)]
    (tmp_path / "two.csv").write_text("\n".join(lines) + "\n")
    result = call("curve", "cache", "two.csv", exits=2)
    assert "host_0" in result.stderr
    assert "--trace-device NAME" in " ".join(result.stderr.split())
    result = call("curve", "cache", "two.csv", "--trace-device", "stacked", exits=2)
    assert "a curve is of one device" in " ".join(result.stderr.split())


def test_one_device_of_a_trace_has_the_curve_of_its_runs(tmp_path: Path) -> None:
    chance = random.Random(2)  # noqa: S311 - a test's numbers
    lines = []
    for at in range(1_000):
        page = chance.randrange(200 + 400 * (at % 2))
        lines.append(f"{128_166_372_000_000_000 + 10_000 * at},host,{at % 2},Write,{page * 4096},4096,5")
    (tmp_path / "two.csv").write_text("\n".join(lines) + "\n")
    options: dict[str, Any] = {"trace_device": "host_1", "addresses": "dense", "precondition": "none", "requests": 400}
    sizes = [256, 1024, 4096]
    accesses = looked_up(tmp_path / "two.csv", **options)
    assert len(accesses.pages) == 400
    ratios = run_ratios(tmp_path / "two.csv", sizes, **options)
    assert cache.curve(accesses, sizes).hit_ratios == pytest.approx(ratios, abs=1e-12)
