"""What a study file may leave out stands in its plan as if it had been written."""

import re
from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce
from reproduction import STUDY

HEAD = STUDY.partition("[sweeps")[0]
SHORT = """
[let]
small = { requests = 4000, addresses = "wrap" }
traces = [{ base = "$small", preset = ["fin1", "fin2"] }, { base = "$small", preset = "tpcc", requests = 9 }]
time = { x = "n" }

[variants]
BAST = { ftl = { name = "bast", log_blocks = "8" } }
SAST = { base = "BAST", takes = ["group_blocks"], ftl = { name = "sast" } }
page = "page"

[sweeps.n]
workloads = "$traces"
vary = [{ group_blocks = [1, 4], "device.spare" = 0.2 }, { group_blocks = 8 }]
takes = ["victim"]
variants = ["SAST", { base = "BAST", label = "BAST, 9", ftl = { log_blocks = "9" } }, "page"]

[figures]
sweep = "n"
kind = "lines"
x = "group_blocks"

[figures.time]
title = "Time"
metric = "flash_time_s"
axis = "s"
only = { variant = "SAST", group_blocks = 4 }

[figures.other]
base = "time"
title = '''Other
    time'''
only.group_blocks = 8

[claims]
sweep = "n"
metric = "flash_time_s"
seeds = 3

[claims.C1]
text = "Less."
source = "a test"
measure = { kind = "change", of = "SAST", against = "page", each = ["workload"] }
paper = "-5 %"
reproduced = [-0.1, -0.01]
why = "Time passes."
figures = ["time", "other"]

[claims.C2]
base = "C1"
measure.of = "BAST, 9"
effect = "higher"
reproduced = [0.1, 1]
partly = [0, 1]
"""


def short(study: Path, before: str = "", after: str = "") -> reproduce.Plan:
    """The plan of the short study, with a part of it replaced."""
    assert before in SHORT
    study.write_text(HEAD + SHORT.replace(before, after, 1), encoding="utf-8")
    return reproduce.load(study)


def test_lists_of_tables_are_the_same_study(study: Path) -> None:
    named = reproduce.load(study)
    study.write_text(re.sub(r"(?m)^\[(sweeps|figures|claims)\.(\w+)\]$", r'[[\1]]\nid = "\2"', STUDY), encoding="utf-8")
    assert reproduce.load(study) == named


def test_a_sweep_has_what_its_workloads_and_variants_leave_out(study: Path) -> None:
    (sweep,) = short(study).sweeps
    shared = {"requests": 4000, "addresses": "wrap"}
    assert sweep.workloads == [
        shared | {"preset": "fin1"},
        shared | {"preset": "fin2"},
        {"preset": "tpcc", "requests": 9, "addresses": "wrap"},
    ]
    spare = {"device.spare": 0.2}
    assert sweep.points() == [{"group_blocks": 1} | spare, {"group_blocks": 4} | spare, {"group_blocks": 8}]
    assert [(variant.label, variant.takes, variant.ftl) for variant in sweep.variants] == [
        ("SAST", ["group_blocks", "victim"], {"name": "sast", "log_blocks": "8"}),
        ("BAST, 9", ["victim"], {"name": "bast", "log_blocks": "9"}),
        ("page", ["victim"], {"name": "page"}),
    ]
    tables = [*sweep.workloads, *(variant.ftl for variant in sweep.variants)]
    assert len({id(table) for table in tables}) == len(tables)


def test_figures_and_claims_have_what_stands_for_all_of_them_and_what_their_base_says(study: Path) -> None:
    plan = short(study)
    time, other = plan.figures
    assert (time.sweep, time.kind, time.paper) == ("n", "lines", "Not shown.")
    assert (other.id, other.title, other.metric) == ("other", "Other time", "flash_time_s")
    assert other.only == {"variant": "SAST", "group_blocks": 8}
    one, two = plan.claims
    assert (one.kind, one.effect, one.unit, one.partly, one.seeds) == ("measured", "lower", "%", [-1.0, 0.0], 3)
    assert one.command == 'ftlkit reproduce tiny (figures "Time" and "Other time")'
    assert two.measure == one.measure | {"of": "BAST, 9"}
    assert (two.text, two.effect, two.partly) == ("Less.", "higher", [0, 1])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"$traces"', '"$trace"', r"trace is no value in \[let\]; there are small, traces, time"),
        ('base = "BAST", takes', 'base = "FAST", takes', r"FAST is no variant in \[variants\]; there are BAST"),
        ('["SAST", {', '["LAST", {', r"LAST is no variant in \[variants\]; there are BAST, SAST, page"),
        ('base = "C1"', 'base = "C2"', "C2 is no claim above C2; there are C1"),
        ('base = "time"', 'base = "tim"', "tim is no figure above other; there are time"),
        ("[let]", "[[let]]", r"let is no table: write \[let\] above its keys"),
        ('figures = ["time", "other"]', 'figures = ["times"]', "times is no figure; there are time, other"),
    ],
)
def test_names_that_nothing_has_are_refused_with_those_that_there_are(
    study: Path, before: str, after: str, message: str
) -> None:
    with pytest.raises(fk.UserError, match=message):
        short(study, before, after)
