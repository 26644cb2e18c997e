"""The part on which stacks are tried: how short it may be, and why a goal may have no figure there.

A device that is filled and then written collects only once its spare is used up, so a short prefix
may see none of what a long run is made of. One is taken on which the reference does as on the
whole. Where none does, prefixes on a device in a steady state are looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.advice import life
from ftlkit.advice.life import ENOUGH_ERASES
from ftlkit.advice.measure import ratio, wall_s
from ftlkit.advice.query import REFERENCE
from ftlkit.advice.search_result import prefix_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ftlkit.advice.clock import Clock
    from ftlkit.advice.measure import Measured, Runner
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import Rung, SearchResult
    from ftlkit.advice.space import Space
    from ftlkit.sweeps.local import Local

STEADY = "steady"
LIKE = {"response": 1.5, "write_amplification": 1.25}
"""By which factors response and write amplification of the reference may be off on a prefix."""
LESS = 2.0
"""A prefix is taken if the whole part takes at least so many times its flash work."""
UNPRICED = 1 / 6
"""The time of a page in preparation, which is not priced, over that of a page that is served.

On fin1 in a steady state it was a third with page and a ninth with dftl, by `wall_s`,
`measured_wall_s` and pages.
"""
_LOOKING = 0.2
"""The most of the time that is taken for choosing a prefix."""
_TRYING, _ENOUGH = 0.4, 24
"""The whole part is searched if so many stacks can run on it in this share of the time."""


@dataclass(frozen=True)
class Prefix:
    """A part of the workload on which stacks are tried."""

    requests: int
    precondition: str = ""
    """How the device is prepared; empty: as asked."""
    whole: Measured | None = None
    """The reference on the whole part; None if there was no time."""
    unlike: list[str] = field(default_factory=list)
    """Probes that do otherwise on it than on the whole, if time forced its use."""


class Prefixes:
    """Chooses the part on which stacks are tried, by the runs that it makes."""

    def __init__(
        self, query: Query, space: Space, runner: Runner, executor: Local, result: SearchResult, clock: Clock
    ) -> None:
        self._query, self._space, self._runner, self._executor = query, space, runner, executor
        self._result, self._clock = result, clock
        self._lengths = prefix_lengths(result.requests)
        self._runs: dict[tuple[int, str], dict[str, Measured]] = {}
        """What was run on each prefix to look it over: candidates like all others."""

    def choose(self, tell: Callable[[str], None]) -> Prefix:
        """The shortest prefix that tells of the whole."""
        self._clock.limit(self._executor, self._clock.part_s(1 - _LOOKING))
        probes, lengths, searched = self._space.probes(), self._lengths, self._result.searched
        if self._query.goal == "life":
            self._require_forecast(tell)
            # Others would cost time and tell nothing.
            enough = ENOUGH_ERASES * searched / (self._result.host_erases or 1e-9)
            lengths = [requests for requests in lengths if requests >= enough] or [searched]
        if self._clock.is_running and len(lengths) > 1:
            runs = [run for run in self._prefix([REFERENCE, *probes], lengths[0], "").values() if run.rows]
            took = [[wall_s(run, length / lengths[0]) for run in runs] for length in lengths]
            if took[-1] and self._affords(took[-1]):
                return Prefix(lengths[-1])
            takes_s = max(sum(took[-1]) / self._executor.checks, *took[-1], 0.0)
            if not took[-1] or takes_s > self._clock.part_s(_LOOKING):
                many = sum(bool(each) and self._affords(each) for each in took)
                return Prefix(self._with_the_goal(lengths[max(0, many - 1) :]))
        may_prepare = "precondition" not in self._query.options
        return chosen(lengths, self._prefix, self._query.metrics, probes, self._affords_runs, may_prepare=may_prepare)

    def runs_on(self, rung: Rung) -> Mapping[str, Measured]:
        """What was run on a prefix to look it over."""
        return self._runs.get((rung.requests, rung.precondition), {})

    def require_goal(self, rung: Rung) -> None:
        """Raise a `UserError` if no run of a prefix has more than a bound for the goal."""
        runs, metric = self._result.of(rung), self._query.metric
        if runs and all(metric not in measured.point([metric], is_exact=True).costs for measured in runs):
            raise self.lacking(runs[0], rung.requests)

    def lacking(self, measured: Measured, requests: int) -> UserError:
        """That the goal has no figure, by a run on so many requests that has none."""
        query, result = self._query, self._result
        erases, run_s = self._erases(measured, requests), wall_s(measured, result.searched / requests)
        why = life.lacking(query, result, measured, erases, run_s) if query.goal == "life" else _why_lacking(query)
        return UserError(f"--goal {query.goal}: {why}")

    def _require_forecast(self, tell: Callable[[str], None]) -> None:
        """Raise a `UserError` if no life is forecast from the searched part, before anything else.

        Where the host's writes alone erase too little for it, the reference on that part tells.
        """
        searched = self._result.searched
        if self._result.host_erases >= ENOUGH_ERASES:
            return
        tell("now page on the part that is searched, to see whether a life can be forecast")
        whole = self._prefix([REFERENCE], searched, "").get(REFERENCE)
        if whole is not None and whole.rows and whole.mean(self._query.metric) is None:
            raise self.lacking(whole, searched)

    def _erases(self, measured: Measured, requests: int) -> float:
        """How often the searched part erases a block on average, by a run on a part of it."""
        return self._result.searched / requests * life.wear(measured.rows[0])

    def _prefix(self, stacks: Sequence[str], requests: int, precondition: str) -> Mapping[str, Measured]:
        """Runs on a prefix, which are kept for the search."""
        measured = self._runner.prefix(stacks, requests, precondition)
        self._runs.setdefault((requests, precondition), {}).update(measured)
        return measured

    def _with_the_goal(self, lengths: Sequence[int]) -> int:
        """The first of some prefixes where the reference has the goal's metric, as time allows."""
        for requests in lengths[:-1]:
            known = self._prefix([REFERENCE], requests, "").get(REFERENCE)
            if known is None or not known.rows or known.mean(self._query.metric) is not None:
                return requests
        return lengths[-1]

    def _affords_runs(self, whole: Sequence[Measured]) -> bool:
        """Whether there is time to try enough stacks on the whole part, by what some took there."""
        return self._affords([wall_s(measured, 1.0) for measured in whole if measured.rows])

    def _affords(self, took_s: Sequence[float]) -> bool:
        if not self._clock.is_running or not took_s:
            return True
        return self._clock.part_s(_TRYING) * self._executor.checks >= _ENOUGH * sum(took_s) / len(took_s)


def chosen(
    lengths: Sequence[int],
    measure: Callable[[Sequence[str], int, str], Mapping[str, Measured]],
    metrics: Sequence[str],
    probes: Sequence[str],
    affords: Callable[[Sequence[Measured]], bool],
    *,
    may_prepare: bool,
) -> Prefix:
    """Choose among prefixes by what the reference and the probes do on them and on the whole.

    `measure` runs stacks on a prefix with a preparation, or as asked, and has what was in time. The
    reference must do on a prefix as on the whole, and so must the probes, one of each other family
    of mappings. If it does and they do not, a prefix is taken only where `affords` says, of the
    runs on the whole, that there is no time to try every stack on the whole. The first of the
    metrics is the response. `may_prepare`: whether the preparation was left open.
    """
    last = lengths[-1]
    wholes = {stack: measured for stack, measured in measure([REFERENCE, *probes], last, "").items() if measured.rows}
    whole = wholes.get(REFERENCE)
    if whole is None:
        return Prefix(lengths[0])
    unlike: Prefix | None = None
    for precondition in ("", STEADY) if may_prepare else ("",):
        for length in lengths[:-1]:
            reference = measure([REFERENCE], length, precondition).get(REFERENCE)
            if reference is None or not reference.rows or not is_like(reference, whole, metrics):
                continue
            if LESS * work(reference) > work(whole):
                break
            parts = measure([stack for stack in wholes if stack != REFERENCE], length, precondition)
            off = [stack for stack, run in parts.items() if run.rows and not is_like(run, wholes[stack], metrics)]
            if not off:
                return Prefix(length, precondition, whole)
            unlike = unlike or Prefix(length, precondition, whole, off)
    return Prefix(last, "", whole) if unlike is None or affords(list(wholes.values())) else unlike


def is_like(part: Measured, whole: Measured, metrics: Sequence[str]) -> bool:
    """Whether a stack has the metrics of the whole on a part, and costs about as much there."""
    costs, expected = (measured.point(metrics, is_exact=True).costs for measured in (part, whole))
    limits = {metrics[0]: LIKE["response"], "write_amplification": LIKE["write_amplification"]}
    return costs.keys() == expected.keys() and all(
        1 / limit <= ratio(costs[metric], expected[metric]) <= limit
        for metric, limit in limits.items()
        if metric in expected
    )


def work(measured: Measured) -> float:
    """The pages that a run reads and programs, warm-up and preparation included.

    A page of the preparation counts as `UNPRICED` pages. The sum says what a run costs and is the
    same on every machine, so that the same number of trials gives the same answer.
    """
    row = measured.rows[0]
    prepared = json.loads(row["document"])["runs"][0].get("precondition") or {}
    # A page that a collection programs was read before.
    before = float(prepared.get("pages_written") or 0) * (2 * float(prepared.get("page_write_amplification") or 1) - 1)
    before *= UNPRICED
    # The warm-up is as long as what is measured.
    return before + 2 * float(row["pages_read"] + row["pages_programmed"])


def _why_lacking(query: Query) -> str:
    """Why the goal has no figure in the part that is searched."""
    if query.goal == "wa":
        return "the workload writes nothing in the part that is searched, so there is none. Give another goal."
    return (
        "the workload neither reads nor writes in the part that is searched, so there is no response time. Give a "
        "workload that does, or more of its requests."
    )
