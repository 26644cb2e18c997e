"""A study that takes a moment, and claims over runs with known numbers."""

from pathlib import Path

from ftlkit import reproduce

STUDY = """
name = "tiny"
title = "Groups"
source = "a test"
about = "Larger groups."
holds = "Groups do nothing to BAST."
differs = "SAST takes time."
decides = "The clock."
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

[sweeps.n]
workloads = [{ preset = "fin1", requests = 4000, addresses = "wrap" }]
vary = { group_blocks = [1, 4] }
variants = [
    { label = "SAST", takes = ["group_blocks"], ftl = { name = "sast", log_blocks = "8" } },
    { label = "BAST", ftl = { name = "bast", log_blocks = "8" } },
]

[figures.time]
title = "Time"
kind = "lines"
sweep = "n"
x = "group_blocks"
metric = "flash_time_s"
axis = "s"

[figures.sizes]
title = "Sizes"
kind = "shares"
sweep = "n"
only = { variant = "SAST" }
x = "groups_of_"
metric = "size"
axis = "share"

[figures.groups]
title = "Groups over the run"
kind = "series"
sweep = "n"
only = { variant = "SAST", group_blocks = 4 }
metric = "gauges.groups"
axis = "groups so far"

[figures.over]
title = "Over BAST"
kind = "ratios"
sweep = "n"
only = { group_blocks = 4 }
against = "BAST"
metric = "flash_time_s"
axis = "times"

[claims.C1]
text = "BAST does not depend on groups."
source = "a test"
measure = { kind = "spread", sweep = "n", metric = "flash_time_s", of = "BAST" }
paper = "0 %"
reproduced = [0, 0]
partly = [0, 1]

[claims.C2]
text = "SAST takes no time."
source = "a test"
measure = { kind = "change_at_best", sweep = "n", metric = "flash_time_s", of = "SAST", against = "BAST" }
paper = "-100 %"
effect = "lower"
reproduced = [-1, -0.999]
partly = [-1, -0.998]
why = "Time passes."
command = "sleep"
"""

CLAIM = """
[claims."{id}"]
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
    study.write_text(STUDY.partition("[claims")[0] + text, encoding="utf-8")
    (only,) = reproduce.load(study).claims
    return reproduce.judge(only, points)
