"""Reproductions: study files, measures, verdicts and the page, on a study that takes a moment."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce

ROOT = Path(__file__).parent.parent

STUDY = """
name = "tiny"
title = "Groups"
source = "a test"
about = "Larger groups."
assumptions = ["None."]

[study]
seed = 1
[study.device]
preset = "slc-small"
capacity = "64MiB"
spare = 0.2
pages_per_block = 64
[study.host]
loop = "closed"
queue_depth = 1
[study.run]
precondition = "fill"
samples = 4

[[sweeps]]
id = "n"
workloads = [{ preset = "fin1", requests = 4000, addresses = "wrap" }]
vary = { group_blocks = [1, 4] }
variants = [
    { label = "SAST", takes = ["group_blocks"], ftl = { name = "sast", log_blocks = "8" } },
    { label = "BAST", ftl = { name = "bast", log_blocks = "8" } },
]

[[figures]]
id = "time"
title = "Time"
kind = "lines"
sweep = "n"
x = "group_blocks"
metric = "flash_time_s"
axis = "s"
paper = "Nothing."

[[figures]]
id = "sizes"
title = "Sizes"
kind = "shares"
sweep = "n"
only = { variant = "SAST" }
x = "groups_of_"
metric = "size"
axis = "share"
paper = "Nothing."

[[figures]]
id = "groups"
title = "Groups over the run"
kind = "series"
sweep = "n"
only = { variant = "SAST", group_blocks = 4 }
metric = "gauges.groups"
axis = "groups so far"
paper = "Nothing."

[[figures]]
id = "over"
title = "Over BAST"
kind = "ratios"
sweep = "n"
only = { group_blocks = 4 }
against = "BAST"
metric = "flash_time_s"
axis = "times"
paper = "Nothing."

[[claims]]
id = "C1"
kind = "measured"
text = "BAST does not depend on groups."
source = "a test"
measure = { kind = "spread", sweep = "n", metric = "flash_time_s", of = "BAST" }
paper = "0 %"
reproduced = [0, 0]
partly = [0, 1]
unit = "%"

[[claims]]
id = "C2"
kind = "measured"
text = "SAST takes no time."
source = "a test"
measure = { kind = "change_at_best", sweep = "n", metric = "flash_time_s", of = "SAST", against = "BAST" }
paper = "-100 %"
effect = "lower"
reproduced = [-1, -0.999]
partly = [-1, -0.998]
unit = "%"
why = "Time passes."
command = "sleep"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_claims_are_judged_by_their_bounds(study: Path) -> None:
    done = reproduce.reproduce(reproduce.load(study))
    assert [(each.claim.id, each.verdict) for each in done.judgements] == [("C1", "reproduced"), ("C2", "not")]
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
        "BAST does not depend",
        "not reproduced",
        "Time passes.",
        "over BAST",
        "groups so far",
        "requests served",
        "measured: 1 reproduced",
        "<svg",
        "None.",
    ):
        assert words in text, words
    page = Loads()
    page.feed(text)
    assert page.found == []
    assert "<script" not in text


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('kind = "spread"', 'kind = "sprad"', "change_at_best"),
        ('of = "BAST"', 'of = "bast"', "BAST, SAST"),
        ('metric = "flash_time_s", of', 'metric = "flash_time", of', "gauges.log_utilisation"),
        ('kind = "lines"', 'kind = "line"', "lines, ratios, bars, heat, shares, series, cdf"),
        ('title = "Time"', 'titel = "Time"', "titel"),
        ('axis = "s"\n', "", "axis is missing in the figureplan time"),
        ('sweep = "n"\nx = "group', 'sweep = "m"\nx = "group', "the sweeps are n"),
        ("[[sweeps]]", "[[sweeps]", "Expected"),
        ('kind = "measured"', 'kind = "mesured"', "there are measured, calibrated, identity"),
        ('kind = "measured"\n', "", "kind is missing in the claim C1"),
        ('kind = "measured"', 'kind = "identity"', "a claim of the kind identity needs the bounds holds"),
        ("partly = [0, 1]", "partly = [0, 1]\nholds = [0, 0]", "the kind measured has no bounds holds"),
        ("partly = [0, 1]", "partly = [0.5, 1]", "partly = [0.5, 1]: must enclose reproduced = [0, 0]"),
        ("partly = [0, 1]", "partly = [1, 0]", "partly = [1, 0]: must be the lowest and the highest value"),
        ("partly = [0, 1]", "partly = [0, 1]\nseeds = 0", "seeds = 0: must be 1 or more"),
        ('of = "BAST" }', 'of = "BAST", key = "n" }', "key is no key of the measure spread"),
        (', against = "BAST"', "", "the measure change_at_best lacks the key against"),
        ('of = "BAST" }', 'of = "BAST", each = ["size"] }', "no run has the key size of each"),
        ('effect = "lower"\n', "", "takes one of lower, higher, similar"),
        ('command = "sleep"\n', "", "its why needs a command"),
        ('paper = "0 %"', 'paper = "0 %"\neffect = "similar"', "the measure spread takes none"),
        (
            "reproduced = [-1, -0.999]\npartly = [-1, -0.998]",
            "reproduced = [-1, 0]\npartly = [-1, 1]",
            "must leave out 0",
        ),
        (
            'requests = 4000, addresses = "wrap" }]',
            'requests = 4000, addresses = "wrap" }, { preset = "fin2", requests = 500, addresses = "wrap" }]',
            "over the workloads fin1, fin2 hides",
        ),
    ],
)
def test_a_wrong_study_is_refused_in_words(study: Path, tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in STUDY
    study.write_text(STUDY.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(fk.UserError, match=r"claim|figure|metric|run|key|missing|sweep|Expected|kind") as caught:
        reproduce.reproduce(reproduce.load(study)).page(tmp_path / "page.html")
    assert message in str(caught.value)


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

[[sweeps]]
id = "both"
workloads = [{ label = "writes", generator = { requests = 3000, span = "64MiB" } }]
vary = [{ M = 0.5, "host.queue_depth" = 1 }, { M = 0.5, "host.queue_depth" = 16 }]
variants = [
    { label = "model", takes = ["M"], model = { function = "rftl.baseline", P_GC = 0.5 } },
    { label = "dftl", ftl = { name = "dftl", cmt = "8KiB" } },
    { label = "rftl", ftl = { name = "rftl", replicas = "1", cmt = "8KiB" } },
]

[[figures]]
id = "lookups"
title = "Lookups"
kind = "lines"
sweep = "both"
x = "M"
metric = "lookup_us"
axis = "µs"
paper = "Nothing."

[[figures]]
id = "reads"
title = "Reads"
kind = "cdf"
sweep = "both"
only = { variant = ["dftl", "rftl"], "host.queue_depth" = 16 }
x = "mapping_read"
metric = "time, µs"
axis = "share"
paper = "Nothing."

[[claims]]
id = "C1"
kind = "measured"
text = "By the model a lookup takes half of 250 µs, half of 450 µs and half of 0.1 µs twice."
source = "a test"
measure = { kind = "value", sweep = "both", metric = "lookup_us", of = "model" }
paper = "350 µs"
partly = [350.0, 350.2]

[[claims]]
id = "C2"
kind = "measured"
text = "All mapping reads end."
source = "a test"
measure = { kind = "share_within", sweep = "both", metric = "mapping_read", us = 1e9, of = "dftl" }
paper = "1"
reproduced = [1.0, 1.0]
partly = [1.0, 1.0]
"""


def test_a_model_stands_beside_a_simulation(study: Path, tmp_path: Path) -> None:
    study.write_text(MODELS, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    # Half of all lookups miss: two reads of 25 us and a write of 200 us, and half of them wait for 900 us.
    assert [each.verdict for each in done.judgements] == ["partly", "reproduced"]
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
[[sweeps]]
id = "n"
workloads = [{ generator = { requests = 20_000, span = "64MiB", pattern = { mixed = [
    { weight = 4, pattern = "sequential", sizes = "16KiB", region = [0.0, 0.9] },
    { weight = 1, pattern = "uniform", sizes = "4KiB", region = [0.9, 1.0] },
] } } }]
variants = [{ label = "DFTL", ftl = { name = "dftl" } }, { label = "BDB", ftl = { name = "bdb" } }]
"""


def test_what_a_write_buffer_finds_and_what_collections_move(study: Path) -> None:
    study.write_text(STUDY.partition("[[sweeps]]")[0] + BUFFERED, encoding="utf-8")
    dftl, bdb = reproduce.reproduce(reproduce.load(study)).points
    # Of five requests four are four pages in a row; the last of these is followed by its neighbour four times of five.
    assert bdb.value("sequential_share") == pytest.approx((4 * 3 + 4 * 0.8) / 17, abs=0.02)
    assert dftl.value("sequential_share") == 0
    for point in (dftl, bdb):
        assert point.value("collection_operations") >= 2 * point.value("moved_pages") > 0
        assert point.value("mean_read_response_us") == 0
        assert point.value("mean_write_response_us") == pytest.approx(point.value("mean_response_us"))
    assert bdb.run["controller_ns"] > dftl.run["controller_ns"] == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("rftl.baseline", "rftl.base", "rftl.baseline, rftl.rftl"),
        ("P_GC = 0.5", "P_GC = 2.0", "P_GC = 2.0: must be from 0 to 1"),
        ("P_GC = 0.5", "P = 0.5", "unexpected keyword"),
        ("model = {", "ftl = { name = 'dftl' }, model = {", "either ftl or model"),
        ('metric = "lookup_us", of', 'metric = "iops", of', "there are lookup_us"),
        ('variant = ["dftl", "rftl"]', 'variant = "model"', "is a model"),
        ("classes = true", "classes = false", "run.classes"),
    ],
)
def test_a_wrong_model_is_refused_in_words(study: Path, tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in MODELS
    study.write_text(MODELS.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(fk.UserError, match=r"\w") as caught:
        reproduce.reproduce(reproduce.load(study)).page(tmp_path / "page.html")
    assert message in str(caught.value)


def test_names_are_found_and_unknown_ones_answered_with_the_list() -> None:
    assert reproduce.find("a-sast").name == "a-sast.toml"
    with pytest.raises(fk.UserError, match="a-sast"):
        reproduce.find("b-sast")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("only = { group_blocks = 4 }\nagainst", "against", "with only"),
        ('against = "BAST"\nmetric = "flash', 'against = "BAST"\nmetric = "gauges.groups', "BAST"),
        ('against = "BAST"\nmetric', 'against = "bast"\nmetric', "bast has no flash_time_s above 0"),
    ],
)
def test_ratios_want_one_run_each_and_something_to_divide_by(
    study: Path, tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in STUDY
    study.write_text(STUDY.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(fk.UserError, match=r"\w") as caught:
        reproduce.reproduce(reproduce.load(study)).page(tmp_path / "page.html")
    assert message in str(caught.value)


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_every_study_file_is_whole_and_explains_what_differs(path: Path) -> None:
    plan = reproduce.load(path)
    assert plan.name == path.stem
    assert plan.claims
    assert plan.figures


def test_the_study_of_owl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "owl.toml")
    plan.study["device"] |= {"capacity": "64MiB", "spare": 0.05}
    for workload in (each for sweep in plan.sweeps for each in sweep.workloads if "trace" not in each):
        workload["addresses"] = "wrap"
        workload.get("generator", workload)["requests"] = 8000
    done = reproduce.reproduce(plan)
    done.page(tmp_path / "page.html")
    assert [each.claim.id for each in done.judgements] == [claim.id for claim in plan.claims]
    moved = {point.variant for point in done.points if point.value("notes.evacuations") > 0}
    assert {"OWL", "lazy"} <= moved
    assert "OWL-nc" not in moved


def test_the_study_of_waftl_gives_all_its_figures_and_judges_all_its_claims_on_a_small_device(tmp_path: Path) -> None:
    plan = reproduce.load(ROOT / "studies" / "waftl.toml")
    printed = {each["name"] for each in fk.workloads() if each["source"] == "WAFTL, table III"}
    assert {each["preset"] for sweep in plan.sweeps for each in sweep.workloads} == printed
    plan.study["device"] |= {"capacity": "32MiB", "spare": 0.4, "channels": 2}
    for sweep in plan.sweeps:
        for workload in sweep.workloads:
            workload.update({"span": "16MiB", "requests": 7_000 if "fin" in workload["preset"] else 1_300})
        for key, value in (("device.capacity", "32MiB"), ("device.spare", 0.4)):
            for table in sweep.vary:
                table.update({key: value} if key in table else {})
        for variant in sweep.variants:
            blocks = int(variant.ftl.get("zone_blocks", 0))
            variant.ftl.update({"zone_blocks": str(min(max(blocks // 32, 1), 4))} if blocks else {})
    done = reproduce.reproduce(plan)
    done.page(tmp_path / "page.html")
    assert [each.claim.id for each in done.judgements] == [claim.id for claim in plan.claims]
    # The tables of the paper are told at full size in the study; here each is four bytes a page of 32 MiB.
    tables = {point.variant: point.value("mapping_table_bytes") for point in done.points if point.sweep == "full size"}
    assert tables["page"] == tables["DFTL"] == 4 * 8192
    for point in done.points:
        share = point.results["gauges"].get("pmb_share") if point.results else None
        if share is not None:
            assert point.value("mapping_table_bytes") == pytest.approx(4 * 128 + share * 4 * 8192)


CLAIM = """
[[claims]]
id = "{id}"
kind = "{kind}"
text = "A sentence."
source = "a test"
measure = {{ sweep = "n", metric = "flash_time_s", {measure} }}
paper = "a number"
"""


def claim(kind: str, measure: str, bounds: str, name: str = "C") -> str:
    """A claim of the test study; bounds are further lines."""
    return CLAIM.format(id=name, kind=kind, measure=measure) + bounds + "\n"


def made(value: float, n: int = 1, variant: str = "SAST", workload: str = "fin1", seed: int = 0) -> reproduce.Point:
    """A run of a model that gave this, in place of a simulation's."""
    return reproduce.Point("n", workload, variant, {"n": n}, None, {"flash_time_s": value}, seed)


def judged(study: Path, text: str, points: list[reproduce.Point]) -> reproduce.Judgement:
    """What becomes of one claim over runs with known numbers."""
    study.write_text(STUDY.partition("[[claims]]")[0] + text, encoding="utf-8")
    (only,) = reproduce.load(study).claims
    return reproduce.judge(only, points)


def test_only_measured_claims_count_as_reproduced(study: Path) -> None:
    texts = [
        claim("measured", 'kind = "value", of = "SAST"', "reproduced = [1, 1]\npartly = [1, 1]", "M"),
        claim("calibrated", 'kind = "value", of = "SAST"', "holds = [1, 1]", "C"),
        claim("identity", 'kind = "value", of = "SAST"', "holds = [1, 1]", "I"),
        claim("identity", 'kind = "value", of = "SAST"', "holds = [2, 2]", "J"),
    ]
    judgements = [judged(study, text, [made(1.0)]) for text in texts]
    assert [each.verdict for each in judgements] == ["reproduced", "holds", "holds", "fails"]
    assert reproduce.counted(judgements) == (
        "measured: 1 reproduced, 0 partly reproduced, 0 not reproduced; "
        "calibrated: 1 holds, 0 do not hold; identity: 1 holds, 1 does not hold"
    )


def test_a_mean_does_not_hide_what_a_workload_gives(study: Path) -> None:
    # On the first 12 % longer, on the second half as long: the mean of both is a gain.
    points = [
        made(1.12),
        made(1.0, variant="BAST"),
        made(0.5, workload="fin2"),
        made(1.0, variant="BAST", workload="fin2"),
    ]
    measure = 'kind = "change", of = "SAST", against = "BAST", each = ["workload"]'
    bounds = 'unit = "%"\neffect = "lower"\nreproduced = [-1, -0.01]\npartly = [-1, 0]'
    found = judged(study, claim("measured", measure, bounds), points)
    assert [(row.label, row.verdict) for row in found.rows] == [("fin1", "not"), ("fin2", "reproduced")]
    assert found.verdict == "not"
    assert found.text == "fin1: +12.0 %; fin2: -50.0 %"


def test_a_mean_over_a_key_shows_what_it_is_taken_of(study: Path) -> None:
    points = [made(1.0, 1), made(3.0, 2)]
    (row,) = judged(study, claim("measured", 'kind = "value", of = "SAST"', "partly = [2, 2]"), points).rows
    assert (row.value, row.text) == (2.0, "2 [n 1: 1, n 2: 3]")


def test_all_seeds_must_lie_within_bounds(study: Path) -> None:
    bounds = 'seeds = 3\nunit = "%"\nreproduced = [0.1, 0.3]\npartly = [0.0, 1.0]'
    text = claim("measured", 'kind = "value", of = "SAST"', bounds)
    inside = judged(study, text, [made(0.1, seed=0), made(0.3, seed=1), made(0.2, seed=2)])
    assert inside.verdict == "reproduced"
    assert inside.text == "20.0 % (10.0 % to 30.0 %, 3 seeds)"
    assert judged(study, text, [made(0.1, seed=0), made(0.33, seed=1), made(0.17, seed=2)]).verdict == "partly"
    assert judged(study, text, [made(0.1, seed=0), made(-0.1, seed=1), made(0.6, seed=2)]).verdict == "not"


def test_only_what_a_claim_asks_for_is_run_with_further_seeds(study: Path) -> None:
    text = claim("measured", 'kind = "spread", of = "SAST"', "seeds = 2\npartly = [0, 9]")
    study.write_text(STUDY.partition("[[claims]]")[0] + text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert [(point.variant, point.seed) for point in done.points] == [
        ("SAST", 0), ("SAST", 0), ("BAST", 0), ("BAST", 0), ("SAST", 1), ("SAST", 1),
    ]  # fmt: skip
    first, second = (done.points[each].value("flash_time_s") for each in (0, 4))
    assert first != second
    assert len(done.judgements[0].rows[0].values) == 2


def test_the_most_that_any_workload_gains_is_found(study: Path) -> None:
    points = [
        made(0.9),
        made(1.0, variant="BAST"),
        made(1.2, workload="fin2"),
        made(2.0, variant="BAST", workload="fin2"),
    ]
    bounds = 'unit = "%"\neffect = "lower"\nreproduced = [-0.5, -0.3]\npartly = [-1, 0]'
    found = judged(study, claim("measured", 'kind = "change_up_to", of = "SAST", against = "BAST"', bounds), points)
    assert (found.text, found.verdict) == ("-40.0 %", "reproduced")


def test_a_spread_over_workloads_is_that_of_all_of_them(study: Path) -> None:
    points = [
        made(2.0),
        made(2.0, variant="BAST"),
        made(3.0, workload="fin2"),
        made(2.0, variant="BAST", workload="fin2"),
    ]
    text = 'kind = "workload_spread", of = "{}"'
    varies = judged(study, claim("measured", text.format("SAST"), "reproduced = [0.05, 9]\npartly = [0.01, 9]"), points)
    assert (varies.value, varies.verdict) == (0.5, "reproduced")
    assert judged(study, claim("identity", text.format("BAST"), "holds = [0, 0]"), points).verdict == "holds"
    assert judged(study, claim("identity", text.format("SAST"), "holds = [0, 0]"), points).verdict == "fails"


def test_a_metric_is_more_sensitive_if_it_spreads_more(study: Path) -> None:
    measure = 'kind = "sensitivity", of = "A", with = "erases"'
    text = claim("measured", measure, "reproduced = [0.01, 9]\npartly = [0, 9]")
    values = [{"flash_time_s": time, "erases": erases} for time, erases in ((1.0, 10.0), (3.0, 11.0))]
    points = [reproduce.Point("n", "fin1", "A", {"n": n}, None, each) for n, each in enumerate(values)]
    found = judged(study, text, points)
    assert found.verdict == "reproduced"
    assert found.value == pytest.approx(1.9)
    swapped = text.replace('"flash_time_s"', '"erases"').replace('with = "erases"', 'with = "flash_time_s"')
    assert judged(study, swapped, points).verdict == "not"


def test_an_order_is_judged_by_its_weakest_step(study: Path) -> None:
    measure = 'kind = "order", rising = ["A", "B", "C"]'
    text = claim("measured", measure, "reproduced = [0, 9]\npartly = [-0.1, 9]")
    rising = [made(1.0, variant="A"), made(1.0, variant="B"), made(2.0, variant="C")]
    assert judged(study, text, rising).verdict == "reproduced"
    falling = [made(1.0, variant="A"), made(2.0, variant="B"), made(1.0, variant="C")]
    found = judged(study, text, falling)
    assert (found.value, found.verdict) == (-0.5, "not")
    with pytest.raises(fk.UserError, match="must not go below 0"):
        judged(study, claim("measured", measure, "reproduced = [-0.1, 9]\npartly = [-0.1, 9]"), rising)


def test_the_best_of_several_is_compared_with_the_best_of_the_others(study: Path) -> None:
    measure = 'kind = "change_at_best", of = "A", against = ["B", "C"]'
    bounds = 'effect = "lower"\nreproduced = [-1, -0.01]\npartly = [-1, 0]'
    points = [made(2.0, 1, "A"), made(1.0, 2, "A"), made(1.5, 1, "B"), made(0.8, 2, "C")]
    found = judged(study, claim("measured", measure, bounds), points)
    assert found.value == pytest.approx(0.25)
    assert found.verdict == "not"


def test_an_optimum_at_the_edge_of_a_sweep_is_no_optimum(study: Path) -> None:
    best = claim("measured", 'kind = "best", of = "SAST", key = "n"', "reproduced = [4, 4]\npartly = [4, 8]")
    assert judged(study, best, [made(3.0, 2), made(1.0, 4), made(2.0, 8)]).verdict == "reproduced"
    at_edge = judged(study, best, [made(1.0, 4), made(2.0, 8)])
    assert (at_edge.verdict, at_edge.text) == ("partly", "4; the sweep's edge")
    rise = claim(
        "measured", 'kind = "rise_at_edges", of = "SAST", key = "n"', "reproduced = [0.01, 9]\npartly = [0, 9]"
    )
    inside = judged(study, rise, [made(3.0, 2), made(1.0, 4), made(2.0, 8)])
    assert (inside.value, inside.verdict) == (1.0, "reproduced")
    falling = judged(study, rise, [made(3.0, 2), made(2.0, 4), made(1.0, 8)])
    assert (falling.value, falling.verdict) == (-0.5, "not")
    with pytest.raises(fk.UserError, match="must leave out 0"):
        judged(study, rise.replace("[0.01, 9]", "[0, 9]"), [])


def test_gains_are_ordered_by_workload(study: Path) -> None:
    # A takes half the time of B on one workload, nine tenths on another, as long on the third.
    times = {"fin1": 0.5, "fin2": 0.9, "fin3": 1.0}
    points = [made(time, variant="A", workload=name) for name, time in times.items()]
    points += [made(1.0, variant="B", workload=name) for name in times]
    measure = 'kind = "workload_order", of = "A", against = "B", rising = {}'
    bounds = "reproduced = [0.01, 1]\npartly = [0, 1]"
    gains = judged(study, claim("measured", measure.format('["fin1", ["fin2", "fin3"]]'), bounds), points)
    assert gains.value == pytest.approx(0.4)
    assert gains.verdict == "reproduced"
    assert judged(study, claim("measured", measure.format('["fin2", "fin1"]'), bounds), points).verdict == "not"


def test_a_line_is_told_from_a_curve(study: Path) -> None:
    text = claim(
        "measured", 'kind = "correlation", of = "SAST", key = "n"', "reproduced = [0.95, 1]\npartly = [0.5, 1]"
    )
    line = judged(study, text, [made(1.0 + 2.0 * n, n) for n in (0, 16, 32, 64)])
    assert line.verdict == "reproduced"
    assert line.value == pytest.approx(1.0)
    curve = judged(study, text, [made(0.001 * 1.2**n, n) for n in (0, 16, 32, 64)])
    assert curve.verdict == "partly"
    assert judged(study, text, [made(-float(n), n) for n in (0, 16, 32)]).value == pytest.approx(-1.0)
    assert judged(study, text, [made(7.0, n) for n in (0, 16, 32)]).verdict == "not"
    with pytest.raises(fk.UserError, match="two points always lie on a line"):
        judged(study, text, [made(1.0, 0), made(2.0, 64)])
    with pytest.raises(fk.UserError, match="must leave out 0"):
        judged(study, text.replace("[0.95, 1]\npartly = [0.5, 1]", "[0, 1]\npartly = [0, 1]"), [])


def test_two_metrics_agree_as_far_as_they_order_runs_alike(study: Path) -> None:
    measure = 'kind = "agreement", with = "erases", of = ["A", "B", "C"]'
    text = claim("measured", measure, "reproduced = [1, 1]\npartly = [0.6, 1]")

    def both(times: str, erases: str) -> list[reproduce.Point]:
        values = [
            {"flash_time_s": float(time), "erases": float(erase)} for time, erase in zip(times, erases, strict=True)
        ]
        return [reproduce.Point("n", "fin1", name, {}, None, each) for name, each in zip("ABC", values, strict=True)]

    assert judged(study, text, both("123", "579")).verdict == "reproduced"
    one_pair_swapped = judged(study, text, both("123", "597"))
    assert one_pair_swapped.verdict == "partly"
    assert one_pair_swapped.value == pytest.approx(2 / 3)
    assert judged(study, text, both("123", "559")).value == pytest.approx(2 / 3), (
        "equal in one of them only is no order"
    )
    assert judged(study, text, both("113", "559")).verdict == "reproduced"
    assert judged(study, text, both("123", "975")).value == 0.0
    with pytest.raises(fk.UserError, match="a single run has no order"):
        judged(study, text.replace('["A", "B", "C"]', '"A"'), both("123", "579"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("gauges.groups", "gauges.grups", "has no series gauges.grups; there are time_ns"),
        ("gauges.groups", "gauges", "has no series gauges;"),
        ('axis = "groups so far"', 'axis = "groups so far"\nscale = "logarithmic"', "there are linear, log"),
        (', group_blocks = 4 }\nmetric = "g', ' }\nmetric = "g', "several runs of a variant on a workload"),
    ],
)
def test_a_series_wants_one_run_a_variant_and_a_column_that_is_there(
    study: Path, tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in STUDY
    study.write_text(STUDY.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(fk.UserError, match="figure groups") as caught:
        reproduce.reproduce(reproduce.load(study)).page(tmp_path / "page.html")
    assert message in str(caught.value)


TRACED = """
[[sweeps]]
id = "traces"
workloads = [{ label = "recorded", trace = "recorded.csv", addresses = "dense" }]
variants = [{ label = "BAST", ftl = { name = "bast", log_blocks = "8" } }]

[[figures]]
id = "recorded"
title = "Recorded"
kind = "lines"
sweep = "traces"
x = "n"
metric = "flash_time_s"
axis = "s"
paper = "Nothing."

[[figures]]
id = "time"
"""


def test_a_trace_that_is_not_at_hand_is_left_out_and_named(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTLKIT_TRACES", str(tmp_path))
    text = STUDY.replace('\n[[figures]]\nid = "time"\n', TRACED.replace('x = "n"', 'x = "size"'), 1)
    text = text.replace('variants = [{ label = "BAST"', 'vary = { size = [1] }\nvariants = [{ label = "BAST"', 1)
    study.write_text(text, encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert done.absent == ["recorded.csv"]
    done.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "left out: recorded.csv" in page
    assert "Not run: none of its recorded traces is at hand." in page

    rows = [f"{1000 * each},host,0,Write,{4096 * (each % 50)},4096,0" for each in range(1, 200)]
    (tmp_path / "recorded.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = reproduce.reproduce(reproduce.load(study))
    assert done.absent == []
    assert [point.variant for point in done.points if point.workload == "recorded"] == ["BAST"]
