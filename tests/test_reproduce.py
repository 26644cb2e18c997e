"""Reproductions: study files, the page and what is refused, on a study that takes a moment."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce
from ftlkit.reproduce.page import draw
from reproduction import STUDY, claim

ROOT = Path(__file__).parent.parent


def test_claims_are_judged_by_their_bounds(study: Path) -> None:
    done = reproduce.reproduce(reproduce.load(study))
    assert [(judgement.claim.id, judgement.verdict) for judgement in done.judgements] == [
        ("C1", "no control"),
        ("C2", "not"),
    ]
    assert done.judgements[0].text == "+0.0 %"
    assert len(done.points) == 4
    sast = [point for point in done.points if point.variant == "SAST"]
    assert sast[0].keys == {"group_blocks": 1}
    assert sast[0].value("flash_time_s") == pytest.approx(done.points[2].value("flash_time_s"), rel=1.0)
    assert sast[0].value("gauges.groups") > sast[1].value("gauges.groups") > 0


class Loads(HTMLParser):
    """Everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(  # noqa: D102 - the parser's
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        self.found += [f"{tag} {name}={value}" for name, value in attrs
                       if name in ("src", "href") and value and not value.startswith(("#", "data:"))]  # fmt: skip


def test_the_page_shows_claims_figures_and_reasons_and_loads_nothing(study: Path, tmp_path: Path) -> None:
    done = reproduce.reproduce(reproduce.load(study))
    done.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in (
        "Groups",
        "What the workloads can show",
        "<em>What holds</em>: Groups do nothing to BAST.",
        "<em>What does not</em>: SAST takes time.",
        "<em>What decides</em>: The clock.",
        "BAST does not depend",
        "not reproduced",
        "Time passes.",
        "over BAST",
        "groups so far",
        "requests served",
        "measured: 0 reproduced, 1 no control",
        "<svg",
        "None.",
    ):
        assert words in text, words
    page = Loads()
    page.feed(text)
    assert page.found == []
    assert "<script" not in text


MODELS = """
name = "models"
title = "Models"
source = "a test"
about = "A model beside a simulation."
assumptions = []

[study]
[study.device]
preset = "slc-small"
capacity = "64MiB"
spare = 0.2
channels = 2
[study.host]
loop = "closed"
[study.run]
precondition = "fill"
classes = true

[sweeps.both]
workloads = [{ label = "writes", generator = { requests = 3000, span = "64MiB" } }]
vary = [{ M = 0.5, "host.queue_depth" = 1 }, { M = 0.5, "host.queue_depth" = 16 }]
variants = [
    { label = "model", takes = ["M"], model = { function = "rftl.baseline", P_GC = 0.5 } },
    { label = "dftl", ftl = { name = "dftl", cmt = "8KiB" } },
    { label = "rftl", ftl = { name = "rftl", replicas = "1", cmt = "8KiB" } },
]

[figures.lookups]
title = "Lookups"
kind = "lines"
sweep = "both"
x = "M"
metric = "lookup_us"
axis = "µs"

[figures.reads]
title = "Reads"
kind = "cdf"
sweep = "both"
only = { variant = ["dftl", "rftl"], "host.queue_depth" = 16 }
x = "mapping_read"
metric = "time, µs"
axis = "share"

[claims.C1]
text = "By the model a lookup takes half of 250 µs, half of 450 µs and half of 0.1 µs twice."
source = "a test"
measure = { kind = "value", sweep = "both", metric = "lookup_us", of = "model" }
paper = "350 µs"
partly = [350.0, 350.2]

[claims.C2]
text = "All mapping reads end."
source = "a test"
measure = { kind = "share_within", sweep = "both", metric = "mapping_read", us = 1e9, of = "dftl" }
paper = "1"
reproduced = [1.0, 1.0]
partly = [1.0, 1.0]
"""


WRONG_STUDIES = [
    ('kind = "spread"', 'kind = "sprad"', "change_at_best"),
    ('of = "BAST"', 'of = "bast"', "BAST, SAST"),
    ('metric = "flash_time_s", of', 'metric = "flash_time", of', "gauges.log_utilisation"),
    ('kind = "lines"', 'kind = "line"', "lines, ratios, bars, heat, shares, series, cdf"),
    ('title = "Time"', 'titel = "Time"', "titel"),
    ('axis = "s"\n', "", "axis is missing in the figure time"),
    ('sweep = "n"\nx = "group', 'sweep = "m"\nx = "group', "the sweeps are n"),
    ("[sweeps.n]", "[sweeps.n", "Expected"),
    ("[claims.C1]", '[claims.C1]\nkind = "mesured"', "there are measured, calibrated, identity"),
    ('paper = "0 %"\n', "", "paper is missing in the claim C1"),
    ("[claims.C1]", '[claims.C1]\nkind = "identity"', "a claim of the kind identity needs the bounds holds"),
    ("partly = [0, 1]", "partly = [0, 1]\nholds = [0, 0]", "the kind measured has no bounds holds"),
    ("partly = [0, 1]", "partly = [0.5, 1]", "partly = [0.5, 1]: must enclose reproduced = [0, 0]"),
    ("partly = [0, 1]", "partly = [1, 0]", "partly = [1, 0]: must be the lowest and the highest value"),
    ("partly = [0, 1]", "partly = [0, 1]\nseeds = 0", "seeds = 0: must be 1 or more"),
    ('of = "BAST" }', 'of = "BAST", key = "n" }', "key is no key of the measure spread"),
    (', against = "BAST"', "", "the measure change_at_best lacks the key against"),
    ('of = "BAST" }', 'of = "BAST", each = ["size"] }', "no run has the key size of each"),
    ('effect = "lower"', 'effect = "less"', "takes one of lower, higher, similar"),
    ('effect = "lower"\nreproduced = [-1, -0.999]\npartly = [-1, -0.998]', "reproduced = [-1, 0]", "leave out 0"),
    ('command = "sleep"\n', "", "its why needs a command"),
    ('paper = "0 %"', 'paper = "0 %"\neffect = "similar"', "the measure spread takes none"),
    (
        'requests = 4000, addresses = "wrap" }]',
        'requests = 4000, addresses = "wrap" }, { preset = "fin2", requests = 500, addresses = "wrap" }]',
        "over the workloads fin1, fin2 hides",
    ),
    # Ratios want one run each, and something to divide by.
    ("only = { group_blocks = 4 }\nagainst", "against", "with only"),
    ('against = "BAST"\nmetric = "flash', 'against = "BAST"\nmetric = "gauges.groups', "BAST"),
    ('against = "BAST"\nmetric', 'against = "bast"\nmetric', "bast has no flash_time_s above 0"),
    # A series wants one run a variant, and a column that is there.
    ("gauges.groups", "gauges.grups", "figure groups: SAST has no series gauges.grups; there are time_ns"),
    ("gauges.groups", "gauges", "figure groups: SAST has no series gauges;"),
    (
        'axis = "groups so far"',
        'axis = "groups so far"\nscale = "logarithmic"',
        "figure groups: scale = logarithmic: there are linear, log",
    ),
    (', group_blocks = 4 }\nmetric = "g', ' }\nmetric = "g', "figure groups: several runs of a variant on a workload"),
]
WRONG_MODELS = [
    ("rftl.baseline", "rftl.base", "rftl.baseline, rftl.rftl"),
    ("P_GC = 0.5", "P_GC = 2.0", "P_GC = 2.0: must be from 0 to 1"),
    ("P_GC = 0.5", "P = 0.5", "unexpected keyword"),
    ("model = {", "ftl = { name = 'dftl' }, model = {", "one of ftl, model, statistics = true and file_type"),
    ('metric = "lookup_us", of', 'metric = "iops", of', "there are lookup_us"),
    ('variant = ["dftl", "rftl"]', 'variant = "model"', "has no runs"),
    ("classes = true", "classes = false", "run.classes"),
]


@pytest.mark.parametrize(
    ("text", "before", "after", "message"),
    [*((STUDY, *row) for row in WRONG_STUDIES), *((MODELS, *row) for row in WRONG_MODELS)],
    ids=lambda value: value if len(value) < 99 else value[9:13],
)
def test_a_wrong_study_is_refused_in_words(
    study: Path, tmp_path: Path, text: str, before: str, after: str, message: str
) -> None:
    assert before in text
    study.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(fk.UserError, match=re.escape(message)):
        reproduce.reproduce(reproduce.load(study)).page(tmp_path / "page.html")


def test_a_model_stands_beside_a_simulation(study: Path, tmp_path: Path) -> None:
    study.write_text(MODELS, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    # Half of all lookups miss: two reads of 25 us and a write of 200 us, and half of them wait for
    # 900 us.
    assert [judgement.verdict for judgement in done.judgements] == ["partly", "no control"]
    assert [point.value("lookup_us") for point in done.points if point.variant == "model"] == pytest.approx([350.1] * 2)
    dftl, deeper = (point for point in done.points if point.variant == "dftl")
    assert deeper.value("iops") > 1.5 * dftl.value("iops")
    assert deeper.value("mapping_read_us") > dftl.value("mapping_read_us") > 25
    assert dftl.value("mapping_hit_ratio") == pytest.approx(1 - dftl.value("mapping_miss_ratio"))
    (rftl, _) = (point for point in done.points if point.variant == "rftl")
    assert rftl.value("mapping_writes") == pytest.approx(2 * dftl.value("mapping_writes"), rel=0.1)
    done.page(tmp_path / "page.html")
    assert "Lookups" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_claim_that_no_run_decides_is_not_measured(study: Path) -> None:
    models = "".join(line for line in MODELS.splitlines(keepends=True) if "ftl = {" not in line)
    study.write_text(models, encoding="utf-8")
    with pytest.raises(fk.UserError, match="claim C1: it is measured, but the sweep both has only models"):
        reproduce.load(study)


BUFFERED = """
[sweeps.n]
workloads = [{ generator = { requests = 20_000, span = "64MiB", pattern = { mixed = [
    { weight = 4, pattern = "sequential", sizes = "16KiB", region = [0.0, 0.9] },
    { weight = 1, pattern = "uniform", sizes = "4KiB", region = [0.9, 1.0] },
] } } }]
variants = [{ label = "DFTL", ftl = { name = "dftl" } }, { label = "BDB", ftl = { name = "bdb" } }]
"""


def test_what_a_write_buffer_finds_and_what_collections_move(study: Path) -> None:
    study.write_text(STUDY.partition("[sweeps")[0] + BUFFERED, encoding="utf-8")
    dftl, bdb = reproduce.reproduce(reproduce.load(study)).points
    # Of five requests four are four pages in a row; the last of these is followed by its neighbour
    # four times of five.
    assert bdb.value("sequential_share") == pytest.approx((4 * 3 + 4 * 0.8) / 17, abs=0.02)
    assert dftl.value("sequential_share") == 0
    for point in (dftl, bdb):
        assert point.value("collection_operations") >= 2 * point.value("moved_pages") > 0
        assert point.value("mean_read_response_us") == 0
        assert point.value("mean_write_response_us") == pytest.approx(point.value("mean_response_us"))
    assert (bdb.run["controller_ns"] or 0) > 0 == dftl.run["controller_ns"]


def test_names_are_found_and_unknown_ones_answered_with_the_list() -> None:
    assert reproduce.find("a-sast").name == "a-sast.toml"
    with pytest.raises(fk.UserError, match="a-sast"):
        reproduce.find("b-sast")


def test_an_overloaded_run_decides_no_claim_by_any_metric(study: Path, tmp_path: Path) -> None:
    """SAST and BAST serve requests 10 000 times as fast as they came, and 1000 times as slowly."""
    text = STUDY.partition("[figures")[0].replace('loop = "closed"\nqueue_depth = 1\n', 'loop = "open"\n')
    text = text.replace("group_blocks = [1, 4] }", 'group_blocks = [4], "workload.speedup" = [10_000, 0.001] }')
    measure = 'kind = "value", of = "SAST", each = ["workload.speedup"]'
    for metric in ("mean_response_us", "flash_time_s", "erases", "gauges.groups"):
        text += claim("measured", measure, "partly = [0, 1e9]", metric).replace("flash_time_s", metric)
    slow = 'kind = "value", of = "SAST", only = { "workload.speedup" = 0.001 }'
    text += claim("measured", slow, "partly = [0, 1e9]", "slow")
    study.write_text(text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert [point.is_overloaded for point in done.points] == [True, True, False, False]
    *apart, alone = done.judgements
    for judgement in apart:
        rows = {row.label: (row.verdict, bool(row.values), row.note) for row in judgement.rows}
        assert rows == {
            "workload.speedup 10000": (
                "open",
                False,
                "overloaded: fin1, SAST, group_blocks 4, workload.speedup 10000",
            ),
            "workload.speedup 0.001": ("partly", True, ""),
        }, judgement.claim.id
        assert judgement.verdict == "open"
    assert alone.verdict == "partly"
    assert reproduce.counted(done.judgements) == (
        "measured: 0 reproduced, 1 partly reproduced, 0 not reproduced, 4 open"
    )
    done.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    overloaded = page.partition("Overloaded runs")[2].partition("</section>")[0]
    assert overloaded.count("<li>") == 2
    assert "<li>fin1, BAST, group_blocks 4, workload.speedup 10000</li>" in overloaded


TRACED = """
[sweeps.traces]
workloads = [{ label = "recorded", trace = "recorded.csv", addresses = "dense" }]
variants = [{ label = "BAST", ftl = { name = "bast", log_blocks = "8" } }]

[figures.recorded]
title = "Recorded"
kind = "lines"
sweep = "traces"
x = "n"
metric = "flash_time_s"
axis = "s"

[figures.time]
"""


def test_a_trace_that_is_not_at_hand_is_left_out_and_named(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTLKIT_TRACES", str(tmp_path))
    text = STUDY.replace("\n[figures.time]\n", TRACED.replace('x = "n"', 'x = "size"'), 1)
    text = text.replace('variants = [{ label = "BAST"', 'vary = { size = [1] }\nvariants = [{ label = "BAST"', 1)
    measure = 'kind = "value", of = "BAST", each = ["workload"]'
    text += claim("measured", measure, "partly = [0, 9]", "C3").replace('sweep = "n"', 'sweep = "traces"')
    study.write_text(text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert done.absent == ["recorded.csv"]
    assert [judgement.verdict for judgement in done.judgements] == ["no control", "not", "open"]
    assert done.judgements[2].text == "recorded: left out: recorded.csv is not at hand"
    assert done.failed == []
    done.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "left out: recorded.csv" in page
    assert "Not run: none of its recorded traces is at hand." in page

    rows = [f"{1000 * number},host,0,Write,{4096 * (number % 50)},4096,0" for number in range(1, 200)]
    (tmp_path / "recorded.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert done.absent == []
    assert done.judgements[2].verdict == "partly"
    assert [point.variant for point in done.points if point.workload == "recorded"] == ["BAST"]


KEYED = """
[sweeps.n]
workloads = [
    { preset = "fin1", requests = 2000, addresses = "wrap", keys = { log_blocks = 8 } },
    { label = "other", preset = "tpcc", requests = 2000, addresses = "wrap", keys = { log_blocks = 16 } },
]
variants = [
    { label = "BAST", takes = ["log_blocks"], ftl = { name = "bast" } },
    { label = "requests", statistics = true },
]

[claims.C1]
kind = "calibrated"
text = "Small requests."
source = "a test"
paper = "62 %, 99.17 %"
holds = [-0.03, 0.03]
measure = { kind = "off_by", of = "requests", printed = { fin1 = 0.62, other = 0.9917 }, each = ["workload"] }
sweep = "n"
metric = "small_request_share"
"""


def test_a_workload_sets_keys_of_its_own_and_is_described(study: Path) -> None:
    study.write_text(STUDY.partition("[sweeps")[0] + KEYED, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    bast = [point for point in done.points if point.variant == "BAST"]
    assert [point.keys for point in bast] == [{"log_blocks": 8}, {"log_blocks": 16}]
    assert [point.value("gauges.log_blocks") for point in bast] == [8, 16]
    assert done.judgements[0].verdict == "holds"
    described = [point for point in done.points if point.variant == "requests"]
    shares = [sum(point.value(f"{size}_request_share") for size in ("small", "medium", "large")) for point in described]
    assert shares == pytest.approx([1, 1])
    with pytest.raises(fk.UserError, match="no metric iops of requests; there are small_request_share"):
        described[0].value("iops")
    measured = study.read_text(encoding="utf-8").replace("calibrated", "measured")
    study.write_text(measured.replace("\nholds = [", "\npartly = ["), encoding="utf-8")
    assert reproduce.load(study).claims, "of a sweep with runs a claim may be measured"
    without_runs = study.read_text(encoding="utf-8").replace(
        '    { label = "BAST", takes', '    # { label = "BAST", takes'
    )
    study.write_text(without_runs, encoding="utf-8")
    with pytest.raises(fk.UserError, match="it is measured, but the sweep n has only models or statistics"):
        reproduce.load(study)
    study.write_text(without_runs.replace("statistics = true", "statistics = false"), encoding="utf-8")
    with pytest.raises(fk.UserError, match="the variant requests must have one of ftl, model, statistics"):
        reproduce.load(study)


def test_variants_stand_below_each_other_where_there_is_one_workload(study: Path) -> None:
    plan = reproduce.load(study)
    (over,) = (figure for figure in plan.figures if figure.id == "over")
    done = reproduce.reproduce(plan)
    ((_, alone),) = draw(over, done.points)
    assert ">SAST<" in alone
    others = [replace(point, workload="other") for point in done.points]
    ((_, beside),) = draw(over, [*done.points, *others])
    assert ">other<" in beside
    assert ">other<" not in alone
    assert ">fin1<" not in alone, "the only workload is no place on an axis"
    assert ">fin1<" in beside
