"""A look-alike's verdict follows from runs of translation layers on the trace and on it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

import ftlkit as fk
from ftlkit.api import fit_validation
from ftlkit.api.fit_validation import QUESTIONS, STACKS, validate
from ftlkit.report.look_alike import verdict

GENERATOR: dict[str, Any] = {
    "requests": 1500,
    "span": "16MiB",
    "write_share": 0.7,
    "arrivals": {"poisson": {"mean_gap": "1ms"}},
    "pattern": {"zipf": {"theta": 1.1}},
}


def test_a_workload_is_a_good_look_alike_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_validation, "DRAWS", 1)
    found = validate({"generator": GENERATOR}, GENERATOR, seed=1, watcher=None)
    assert {row["stack"] for row in found["rows"]} == set(STACKS)
    assert {row["question"] for row in found["rows"]} == {question.words for question in QUESTIONS}
    assert all(row["error"] == 0 for row in found["rows"])
    lines = list(verdict(found))
    assert "Good for: write amplification, hit ratio, mean response." in lines
    assert not any(line.startswith("Not good") for line in lines)


def test_a_look_alike_that_differs_is_told_by_its_results() -> None:
    other = copy.deepcopy(GENERATOR) | {"pattern": "uniform", "write_share": 0.2}
    found = validate({"generator": GENERATOR}, other, seed=1, watcher=None)
    text = "\n".join(verdict(found))
    for question in QUESTIONS:
        rows = [row for row in found["rows"] if row["question"] == question.words]
        missed = [row["stack"] for row in rows if abs(row["error"]) > question.most]
        assert list(dict.fromkeys(missed)) == found["unmet"][question.words]
        for stack in missed:
            assert f"Not good for: {question.words} of " in text
            assert stack in text
    assert found["unmet"]["hit ratio"]


def test_the_draw_that_is_furthest_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    many = validate({"generator": GENERATOR}, GENERATOR, seed=1, watcher=None)["rows"]
    monkeypatch.setattr(fit_validation, "DRAWS", 1)
    for draw in range(3):
        monkeypatch.setattr(fit_validation, "compare", _seeded(draw))
        one = validate({"generator": GENERATOR}, GENERATOR, seed=1, watcher=None)["rows"]
        assert all(abs(worst["error"]) >= abs(row["error"]) for worst, row in zip(many, one, strict=True))


def _seeded(draw: int) -> Callable[..., fk.Results]:
    """`compare` whose second call, that of the look-alike, is another draw."""
    calls = iter((0, draw))
    return lambda *arguments, seed, **options: fk.compare(*arguments, seed=seed + next(calls), **options)


def test_layers_that_cannot_run_are_a_reason_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_validation, "STACKS", ("page", "nonesuch"))
    found = validate({"generator": GENERATOR}, GENERATOR, seed=1, watcher=None)
    said, reason = verdict(found)
    assert "not validated" in said
    assert "nonesuch" in reason
