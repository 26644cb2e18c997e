"""The page of an answer: a self-contained file with the advice, its fronts, trials and doubts."""

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
    from ftlkit.advice.answer import Answer, StackResult
    from ftlkit.results.document import Json


def page(answer: Answer) -> str:
    """The page's HTML."""
    query, result = answer.query, answer.result
    metrics = ["ram_bytes", *answer.metrics]
    return template("advice.html.j2").render(
        title=query.options.get("title") or f"Which translation layer for {query.workload}?",
        version=__version__,
        answer=answer,
        goal=goal(query),
        headings=[phrasing.named(metric) for metric in metrics],
        meanings=[COLUMNS[metric].meaning for metric in metrics],
        rows=[{"stack": stack, "cells": [_cell(stack, metric) for metric in metrics]} for stack in answer.stacks],
        figures=panels(answer),
        prefixes=trial_table.rungs(result),
        prefix_headings=trial_table.HEADINGS,
        fates=trial_table.fates(query, result),
        failures=confidence.failures(result),
        question=question(query),
        study=toml.written(query.document()),
        css=style(),
        script=own_script(),
        vega=drawing_script(),
    )


def _cell(stack: StackResult, metric: str) -> Json:
    estimate = phrasing.of(metric, stack.measured)
    return {
        "text": phrasing.text(metric, stack.measured),
        "sort": "" if estimate is None else repr(estimate.mean),
        "is_front": metric in stack.fronts,
    }
