"""Advice in Python: which translation layer, parameters and RAM suit a workload.

>>> import ftlkit as fk
>>> advice = fk.advise("fin1", ram="256KiB", budget="2min")  # doctest: +SKIP
>>> print(advice.advised, *advice.sentences)  # doctest: +SKIP
>>> advice.stacks.select("stack", "ram_bytes", "response_mean_ns")  # doctest: +SKIP
>>> advice.report("advice.html")  # doctest: +SKIP
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from typing_extensions import Unpack

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import write
from ftlkit._util.units import typed
from ftlkit.advice.clock import ANSWERING_S, Clock
from ftlkit.advice.query import FRONTS, SEEDS, question
from ftlkit.sweeps.traces import scratch

if TYPE_CHECKING:
    from ftlkit.advice.answer import Answer
    from ftlkit.report.chart import Chart


class Advice:
    """An answer: the stack to take, its cost, how sure that is, how to measure it again."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @property
    def advised(self) -> str:
        """The stack to take, as after `--ftl` and as `ftlkit.compare` takes it."""
        return self.answer.advised.stack

    @property
    def sentences(self) -> list[str]:
        """The advice, the first sentence alone if need be."""
        return [typed(sentence) for sentence in self.answer.sentences]

    @property
    def doubts(self) -> list[str]:
        """How sure it is."""
        return [typed(sentence) for sentence in self.answer.doubts]

    @property
    def cautions(self) -> list[str]:
        """What to be careful about."""
        return [typed(sentence) for sentence in self.answer.cautions]

    @property
    def command(self) -> str:
        """What measures the advised stack and the reference again, with the same figures."""
        return self.answer.command

    @property
    def is_cancelled(self) -> bool:
        """Whether Ctrl-C ended the search: this is what was found until then."""
        return self.answer.result.interrupted

    @cached_property
    def stacks(self) -> pl.DataFrame:
        """A row for each stack that was measured, by ascending RAM.

        `stack`, `is_advised`, then `ram_bytes` (bytes), `response_mean_ns` and `response_p99_ns`
        (nanoseconds), `write_amplification` (bytes programmed for each byte that the host wrote,
        from 0) and `life_bytes` (bytes): means over the seeds, null where a run has none.
        `NAME_half_width` is half of the 95 % interval of each, in its unit; 0 where one seed was
        run or all runs are the same.
        """
        metrics = ("ram_bytes", *FRONTS)
        rows = [
            {"stack": stack["stack"], "is_advised": stack["advised"]}
            | {name: (stack[name] or {}).get("mean") for name in metrics}
            | {f"{name}_half_width": (stack[name] or {}).get("half_width") for name in metrics}
            for stack in self.document["stacks"]
        ]
        numbers = {name: pl.Float64() for metric in metrics for name in (metric, f"{metric}_half_width")}
        return pl.DataFrame(rows, schema_overrides=numbers)

    @cached_property
    def document(self) -> Json:
        """The answer with all its numbers, as `--json` saves it."""
        from ftlkit.advice.document import document  # noqa: PLC0415 - only who asks needs it

        return document(self.answer)

    def save(self, path: str | Path) -> None:
        """Save the answer with all its numbers as JSON."""
        write(Path(path), self.written(), self._read())

    def written(self) -> bytes:
        """What `save` writes."""
        return json.dumps(self.document, ensure_ascii=False, indent=1).encode()

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file: the advice, its fronts and trials, how sure it is."""
        from ftlkit.advice.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        write(Path(path), page(self.answer).encode(), self._read())

    def _read(self) -> list[str | Path | None]:
        """What was read for it, which nothing may overwrite."""
        return [self.answer.query.trace()]

    def chart(self, name: str | None = None) -> Chart:
        """One chart of the report, for a notebook; the first unless named."""
        from ftlkit.advice.page import panels  # noqa: PLC0415 - as for the report
        from ftlkit.sweeps.charts import chosen  # noqa: PLC0415 - as for the report

        return chosen(panels(self.answer), name)

    def _repr_html_(self) -> str:
        """What a notebook shows: the advice, and the stacks that were measured."""
        from ftlkit.advice.page import fragment  # noqa: PLC0415 - as for the report

        return fragment(self.answer)

    def __repr__(self) -> str:
        return f"<ftlkit.Advice for {self.answer.query.workload}: {self.advised}>"


@typed_kwargs(study.Options)
def advise(  # noqa: PLR0913 - as many as there are options
    workload: str | Path,
    *,
    device: str | None = None,
    ftl: str | None = None,
    goal: str = "mean",
    ram: str | int | None = None,
    budget: str | float | None = None,
    trials: int | None = None,
    seeds: int = SEEDS,
    durable: bool = False,
    vary: Sequence[str] = (),
    store: str | Path | None = None,
    threads: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **options: Unpack[study.Options],
) -> Advice:
    """Search translation layers and parameters for a workload; say which to take, at what cost.

    `workload` is a preset's name or a trace's path, `device` a preset's name. `goal` is the metric
    to optimise: `mean` or `p99` response, `wa` (write amplification), `life`, or `ram` (the least
    RAM within 10 % of the best response). `ram` is the most that the stack may take, in bytes or as
    text such as `"256KiB"`. `budget` is how long to search, in seconds or as text such as `"5min"`;
    `trials` (1 to 10,000) how many stacks are tried on the first prefix instead: the same number
    and seed give the same answer. With neither it is five minutes. `ftl` names the stacks to
    search, by commas. `durable` leaves out those that keep written data in RAM, which a power cut
    loses. `vary` names mapping units to compare, such as `["device.mapping_unit=16KiB,64KiB"]`.
    Figures are means over `seeds` (1 to 100). `store` is a result cache; without it nothing
    is kept. `threads` run at once, by default one per core; `tell` hears a sentence now and then.
    The options are those of `study.Options` but `skip`, which the search sets itself.

    Ctrl-C ends the search with the answer so far; where the time is too short for a search, few
    requests are measured all the same. Raises `UserError` with advice where the input is at fault
    or no stack suits, and `Interrupted` if Ctrl-C came before anything was measured.
    """
    if not isinstance(workload, (str, Path)):
        raise UserError(f"workload = {workload!r}: advice takes a preset's name or a trace's path, and no table.")
    query = question(
        str(workload),
        options,
        device=device,
        ftl=ftl,
        goal=goal,
        ram=ram,
        budget=budget,
        trials=trials,
        seeds=seeds,
        durable=durable,
        vary=vary,
    )
    clock = Clock(query.budget_s, time.monotonic(), ANSWERING_S)
    from ftlkit.advice.run import answered  # noqa: PLC0415 - Optuna takes a second to load

    if store is None:
        with scratch() as folder:
            return Advice(answered(query, folder / "store", threads, clock, tell=tell))
    return Advice(answered(query, Path(store), threads, clock, tell=tell))
