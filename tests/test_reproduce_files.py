"""Reproductions of file workloads: recorded once, served by all layers, and analyzed."""

from pathlib import Path

import pytest

import ftlkit as fk
from ftlkit import reproduce
from ftlkit.api import traces
from reproduction import CLAIM, STUDY

FILES = """
[sweeps.files]
workloads = [{ label = "PM", files = { personality = "postmark", operations = 6_000 } }]
vary = { "files.interval" = [1_000, 2_000] }
variants = [
    { label = "saw", ftl = { name = "fast+saw" } },
    { label = "dynamic", ftl = { name = "fast+dynamic" } },
    { label = ".c", file_type = ".c" },
]

[figures.prediction]
title = "Prediction"
kind = "series"
sweep = "files"
only = { variant = ".c", "files.interval" = 1_000 }
metric = "f_over_phi"
axis = "f over φ"
"""
OF_FILES = FILES + CLAIM.format(
    id="F", kind="measured", measure='kind = "value", of = ".c", only = { "files.interval" = 1_000 }'
).replace('sweep = "n", metric = "flash_time_s"', 'sweep = "files", metric = "f_over_phi_mean"')


def _of_files(study: Path) -> reproduce.Plan:
    text = STUDY.partition("[sweeps")[0] + OF_FILES + "reproduced = [0.8, 1.2]\npartly = [0.0, 2.0]\n"
    shared = "[study.files]\nscale = 0.5\nfiles = 2_000\nvolume_bytes = 67_108_864\n"
    study.write_text(text.replace("[study.device]", shared + "[study.device]"), encoding="utf-8")
    return reproduce.load(study)


def test_a_file_workload_is_recorded_once_for_all_layers_and_tells_what_its_analyzer_found(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = []
    generate = traces.generate_files

    def counted(*arguments: object, **keys: object) -> object:
        recorded.append(arguments[0])
        return generate(*arguments, **keys)  # type: ignore[arg-type]

    monkeypatch.setattr("ftlkit.api.traces.generate_files", counted)
    done = reproduce.reproduce(_of_files(study))
    done.page(tmp_path / "page.html")
    assert [recording["interval"] for recording in recorded] == [500, 1000]  # type: ignore[index]
    assert {recording["operations"] for recording in recorded} == {3000}  # type: ignore[index]
    assert {recording["files"] for recording in recorded} == {1000}  # type: ignore[index]
    assert {recording["volume_bytes"] for recording in recorded} == {32 << 20}  # type: ignore[index]
    hashes = {(p.variant, p.keys["files.interval"]): p.run["event_hash"] for p in done.points if p.results}
    assert len(hashes) == 4
    assert len({p.run["host_pages_written"] for p in done.points if p.results}) == 1, (
        "the same writes, with other degrees"
    )
    assert hashes["saw", 1000] != hashes["dynamic", 1000], "only one of them looks at hints"
    (point,) = [p for p in done.points if p.variant == ".c" and p.keys["files.interval"] == 1000]
    assert len(set(map(len, point.series.values()))) == 1
    half = point.series["f_over_phi"][len(point.series["request"]) // 2 :]
    assert point.value("f_over_phi_mean") == pytest.approx(sum(half) / len(half))
    assert done.judgements[0].value == point.value("f_over_phi_mean")
    assert "f over φ" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("operations = 6_000", "seed = 1", "files.scale multiplies operations, .*say files.operations, too"),
        ('personality = "postmark"', 'personality = "tetris"', "tetris"),
        ('file_type = ".c"', 'file_type = ".nosuch"', "files of the type .nosuch"),
        ('files = { personality = "postmark", operations = 6_000 }', 'preset = "fin1"', "needs files"),
        ("scale = 0.5", 'scale = "all"', "files.scale = all: must be a number above 0"),
    ],
)
def test_what_is_wrong_with_a_file_workload_is_named(study: Path, old: str, new: str, words: str) -> None:
    _of_files(study)
    study.write_text(study.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(fk.UserError, match=words):
        reproduce.reproduce(reproduce.load(study))
