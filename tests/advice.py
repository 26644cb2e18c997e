"""Answers to questions about stacks, for the tests of advice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ftlkit.advice.answer import Answer, answer
from ftlkit.advice.measure import Measured
from ftlkit.advice.query import Query
from ftlkit.advice.run import search_stacks
from ftlkit.advice.search_result import SearchResult
from ftlkit.results.store import Store
from ftlkit.sweeps.local import Local

FIN1: dict[str, Any] = {"requests": 6_000, "settings": ["workload.span=256MiB"]}
"""A device that does not begin to collect in the middle: all parts of the run are of a kind."""


def answer_of(query: Query, result: SearchResult) -> Answer:
    """The answer to what a search came to, which must have one."""
    advice = answer(query, result)
    assert advice is not None
    return advice


def sought(folder: Path, workload: str | Path = "fin1", **fields: Any) -> Answer:  # noqa: ANN401 - fields of a question
    """The answer to a question, by default on fin1 and an SLC device as large as the span."""
    if "device" not in fields:
        fields |= {"device": "slc-small", "options": {"capacity": "auto"} | fields.get("options", FIN1)}
    query = Query(str(workload), **({"options": FIN1} | fields))
    return answer_of(query, search_stacks(query, Store(folder / "store", create=True, lazily=True), Local()))


def with_columns(measured: Measured, **columns: Any) -> Measured:  # noqa: ANN401 - columns of a run
    """A stack whose runs have other figures."""
    return replace(measured, rows=[row | columns for row in measured.rows])
