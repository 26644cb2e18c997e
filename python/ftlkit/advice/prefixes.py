"""The prefixes of a search: how short they may be, and why a goal may have no figure on them.

A device that is filled and then written collects only once its spare is used up, so a short prefix
may see none of what a long run is made of. Those are taken on which the reference does as on the
whole. Where none does, prefixes on a device in a steady state are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit.advice import life
from ftlkit.advice.measure import Measured, Runner, ratio, wall_s
from ftlkit.advice.query import REFERENCE, NoLifeError, Query
from ftlkit.advice.search_result import Rung, SearchResult, prefix_lengths
from ftlkit.report.drift import ENOUGH_ERASES

if TYPE_CHECKING:
    from ftlkit.advice.clock import Clock
    from ftlkit.advice.space import Space
    from ftlkit.sweeps.local import Local

STEADY = "steady"
LIKE = {"response": 1.5, "write_amplification": 1.25}
"""By which factors response and write amplification of the reference may be off on a prefix."""
STEP = 2.0
"""Least factor of flash work from one prefix to the next."""
UNPRICED = 1 / 6
"""The time of a page in preparation, which is not priced, over that of a page that is served.

On fin1 in a steady state it was a third with page and a ninth with dftl, by `wall_s`,
`measured_wall_s` and pages.
"""
_LOOKING = 0.2
"""The most of the time that is taken for choosing prefixes."""
TRYING, ENOUGH = 0.4, 24
"""The whole part is the only prefix if `ENOUGH` stacks can run on it in this share of the time."""


@dataclass(frozen=True)
class Ladder:
    """The prefixes of a search."""

    lengths: list[int]
    """Requests of each, ascending; the last is the whole searched part, prepared as asked."""
    precondition: str = ""
    """How the device is prepared for all but the last; empty: as asked."""
    whole: Measured | None = None
    """The reference on the whole part; None if there was no time."""
    unlike: list[str] = field(default_factory=list)
    """Probes that do otherwise on the first prefix than on the whole, if time forced its use."""


class Prefixes:
    """Chooses the prefixes of a search, by the runs that it makes on them."""

    def __init__(
        self, query: Query, space: Space, runner: Runner, executor: Local, result: SearchResult, clock: Clock
    ) -> None:
        self._query, self._space, self._runner, self._executor = query, space, runner, executor
        self._result, self._clock = result, clock
        self._precondition = ""
        self._runs: dict[tuple[int, str], dict[str, Measured]] = {}
        """What was run on each prefix to look it over: candidates like all others."""
        result.lengths = prefix_lengths(result.requests)

    def choose(self, tell: Callable[[str], None]) -> Ladder:
        """The shortest prefix that tells of the whole, and those behind it."""
        self._clock.limit(self._executor, self._clock.part_s(1 - _LOOKING))
        self._require_forecast(tell)
        chosen = self._ladder()
        self._result.lengths, self._precondition = chosen.lengths, chosen.precondition
        return chosen

    def precondition_of(self, requests: int) -> str:
        """How a prefix is prepared; the whole part is as asked (empty), whatever the others are."""
        return "" if requests == self._result.lengths[-1] else self._precondition

    def runs_on(self, rung: Rung) -> Mapping[str, Measured]:
        """What was run on a prefix to look it over."""
        return self._runs.get((rung.requests, rung.precondition), {})

    def require_goal(self, rung: Rung) -> None:
        """Raise a `UserError` if no run of a prefix has more than a bound for the goal."""
        runs, metric = self._result.of(rung), self._query.metric
        if runs and all(metric not in measured.point([metric], is_exact=True).costs for measured in runs):
            raise self.lacking(runs[0], rung.requests)

    def lacking(self, measured: Measured, requests: int) -> UserError:
        """The error that the goal has no figure, by a run on this many requests without one."""
        query, result, erases = self._query, self._result, self._erases(measured, requests)
        run_s = wall_s(measured, result.searched / requests)
        if query.goal == "life":
            return NoLifeError(f"--goal life: {life.lacking(query, result, measured, erases, run_s)}")
        return UserError(f"--goal {query.goal}: {_why_lacking(query)}")

    def erases_too_little(self, measured: Measured, requests: int) -> bool:
        """Whether no life is forecast from the searched part, by a run on a part of it."""
        return self._query.goal == "life" and self._erases(measured, requests) < ENOUGH_ERASES

    def _require_forecast(self, tell: Callable[[str], None]) -> None:
        """Raise a `UserError` if no life is forecast from the searched part, before anything else.

        Where the host's writes alone erase too little for it, the reference on that part tells.
        """
        searched = self._result.searched
        if self._query.goal != "life" or self._result.host_erases >= ENOUGH_ERASES:
            return
        tell("now page on the searched part, to see whether a life can be forecast")
        whole = self._prefix([REFERENCE], searched, "").get(REFERENCE)
        if whole is None or not whole.rows or whole.mean(self._query.metric) is not None:
            return
        raise self.lacking(whole, searched)

    def _erases(self, measured: Measured, requests: int) -> float:
        """How often the searched part erases a block on average, by a run on a part of it."""
        return self._result.searched / requests * life.wear(measured.rows[0])

    def _ladder(self) -> Ladder:
        """The prefixes: by what the probes do on them and on the whole, if there is time for it."""
        probes = self._space.probes()
        if self._clock.is_running and not self._affords_whole([REFERENCE, *probes]):
            return Ladder(self._with_the_goal())
        return ladder(
            self._forecasting() if self._clock.is_running and self._query.goal == "life" else self._result.lengths,
            self._prefix,
            self._query.metrics,
            probes=probes,
            may_prepare="precondition" not in self._query.options,
            affords=self._affords,
        )

    def _prefix(self, stacks: Sequence[str], requests: int, precondition: str) -> Mapping[str, Measured]:
        """Runs on a prefix, which are kept for the search."""
        measured = self._runner.prefix(stacks, requests, precondition)
        self._runs.setdefault((requests, precondition), {}).update(measured)
        return measured

    def _affords_whole(self, stacks: Sequence[str]) -> bool:
        """Whether there is time for some stacks on the whole, by runs on the shortest prefix."""
        shortest, last = self._result.lengths[0], self._result.lengths[-1]
        if shortest == last:
            return True
        runs = [measured for measured in self._prefix(stacks, shortest, "").values() if measured.rows]
        took = [wall_s(measured, last / shortest) for measured in runs]
        return bool(took) and max(sum(took) / self._executor.checks, *took) <= self._clock.part_s(_LOOKING)

    def _with_the_goal(self) -> list[int]:
        """The prefixes from the first where the reference has the goal's metric, as time allows."""
        lengths = self._forecasting() if self._query.goal == "life" else self._result.lengths
        for place, requests in enumerate(lengths):
            if requests == self._result.lengths[-1] or self._clock.part_s(1 - _LOOKING) >= self._clock.left_s:
                return lengths[place:]
            known = self._prefix([REFERENCE], requests, "").get(REFERENCE)
            if known is None or not known.rows or known.mean(self._query.metric) is not None:
                return lengths[place:]
        return lengths

    def _forecasting(self) -> list[int]:
        """The prefixes that erase enough for a forecast of a life, if they collect as the shortest.

        Others would cost time and tell nothing.
        """
        searched, shortest = self._result.searched, self._runs.get((self._result.lengths[0], ""), {}).get(REFERENCE)
        amplification = (shortest.mean("write_amplification") if shortest else None) or 1.0
        erases = max(1.0, amplification) * self._result.host_erases
        lengths = self._result.lengths
        return [requests for requests in lengths if erases * requests >= ENOUGH_ERASES * searched] or lengths[-1:]

    def _affords(self, whole: Sequence[Measured]) -> bool:
        """Whether there is time to try enough stacks on the whole part, by what some took there."""
        took = [wall_s(measured, 1.0) for measured in whole if measured.rows]
        if not self._clock.is_running or not took:
            return True
        return self._clock.part_s(TRYING) * self._executor.checks >= ENOUGH * sum(took) / len(took)


def ladder(
    lengths: Sequence[int],
    measure: Callable[[Sequence[str], int, str], Mapping[str, Measured]],
    metrics: Sequence[str],
    *,
    probes: Sequence[str],
    may_prepare: bool,
    affords: Callable[[Sequence[Measured]], bool],
) -> Ladder:
    """Choose among prefixes by what the reference and the probes do on them and on the whole.

    `measure` runs stacks on a prefix with a preparation, or as asked, and has what was in time. The
    reference must do on a prefix as on the whole, and so must the probes, one of each other family
    of mappings. If it does and they do not, the prefixes are taken only where `affords` says, of
    the runs on the whole, that there is no time to try every stack on the whole. The first of the
    metrics is the response. `may_prepare`: whether the preparation was left open.
    """
    last = lengths[-1]
    wholes = {stack: measured for stack, measured in measure([REFERENCE, *probes], last, "").items() if measured.rows}
    whole = wholes.pop(REFERENCE, None)
    if whole is None:
        return Ladder(list(lengths))
    otherwise = Ladder([last], "", whole)
    is_settled = affords([whole, *wholes.values()])
    for precondition in ("", STEADY) if may_prepare else ("",):
        references: dict[int, Measured] = {}
        for length in lengths[:-1]:
            reference = measure([REFERENCE], length, precondition).get(REFERENCE)
            if reference is not None and reference.rows and is_like(reference, whole, metrics):
                references[length] = reference
        off = {length: _unlike(measure(list(wholes), length, precondition), wholes, metrics) for length in references}
        alike = {length: measured for length, measured in references.items() if not off[length]}
        if alike:
            return Ladder(_spaced({**alike, last: whole}), precondition, whole)
        if references and not is_settled:
            spaced = _spaced({**references, last: whole})
            otherwise, is_settled = Ladder(spaced, precondition, whole, off.get(spaced[0], [])), True
    return otherwise


def _unlike(parts: Mapping[str, Measured], wholes: Mapping[str, Measured], metrics: Sequence[str]) -> list[str]:
    """The stacks that do otherwise on a prefix than on the whole."""
    return [
        stack for stack, measured in parts.items() if measured.rows and not is_like(measured, wholes[stack], metrics)
    ]


def is_like(part: Measured, whole: Measured, metrics: Sequence[str]) -> bool:
    """Whether a stack has the metrics of the whole on a part, and costs about as much there."""
    costs, expected = (measured.point(metrics, is_exact=True).costs for measured in (part, whole))
    limits = {metrics[0]: LIKE["response"], "write_amplification": LIKE["write_amplification"]}
    return costs.keys() == expected.keys() and all(
        1 / limit <= ratio(costs[metric], expected[metric]) <= limit
        for metric, limit in limits.items()
        if metric in expected
    )


def _spaced(measured: dict[int, Measured]) -> list[int]:
    """The longest prefix, then each time the longest with a `STEP`-th of its work or less."""
    lengths = sorted(measured, reverse=True)
    spaced = [lengths[0]]
    for length in lengths[1:]:
        if work(measured[length]) * STEP <= work(measured[spaced[-1]]):
            spaced.append(length)
    return sorted(spaced)


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
    """Why the goal has no figure in the searched part."""
    if query.goal == "wa":
        return "the workload writes nothing in the searched part, so there is none. Give another goal."
    return (
        "the workload neither reads nor writes in the searched part, so there is no response time. Give a "
        "workload that does, or more of its requests."
    )
