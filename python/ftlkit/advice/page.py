"""The page of an answer: one self-contained file with the advice, its fronts, what was tried, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit.advice import confidence, phrasing, trial_table
from ftlkit.advice.answer import goal, question
from ftlkit.advice.charts import panels
from ftlkit.report.page import drawing_script, own_script, style, template
from ftlkit.results.metrics import COLUMNS
from ftlkit.study import toml

if TYPE_CHECKING:
    from ftlkit.advice.answer import Answer, Told
    from ftlkit.results.document import Json


def page(answer: Answer) -> str:
    """The page's HTML."""
    asked, found = answer.asked, answer.found
    metrics = ["ram_bytes", *answer.metrics]
    return template("advice.html.j2").render(
        title=asked.options.get("title") or f"Which translation layer for {asked.workload}?",
        version=__version__,
        answer=answer,
        goal=goal(asked),
        headings=[phrasing.named(metric) for metric in metrics],
        meanings=[COLUMNS[metric].meaning for metric in metrics],
        rows=[{"told": each, "cells": [_cell(each, metric) for metric in metrics]} for each in answer.told],
        figures=panels(answer),
        prefixes=trial_table.rungs(found),
        prefix_headings=trial_table.HEADINGS,
        fates=trial_table.fates(asked, found),
        failures=confidence.failures(found),
        question=question(asked),
        study=toml.written(asked.document()),
        css=style(),
        script=own_script(),
        vega=drawing_script(),
    )


def _cell(told: Told, metric: str) -> Json:
    found = phrasing.of(metric, told.measured)
    return {
        "text": phrasing.text(metric, told.measured),
        "sort": "" if found is None else repr(found.mean),
        "is_front": metric in told.fronts,
    }
