"""Hold the answers of `ftlkit advise` against grids of stacks, and tell how much worse they are.

    python tools/advice_regret.py --budgets 20 --goals mean,wa --seeds 2 --json regret.json

Of each workload a grid of stacks is run over everything and measured on the held-out part, with
the seed of the question: every mapping as it is by default, each with other sizes of its log, its
cache or its RAM, and each of these behind a write buffer. An answer's regret is the cost of its
stack there over the least of the grid and of the answer itself within the same RAM, less one.
Hedged is an answer that begins with "not enough time". Grids are kept in the store and run once.

`--docs FILE` writes the table between the two marks in a page.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent
from ftlkit.advice.clock import ANSWERING_S, Clock
from ftlkit.advice.footprints import least_ram
from ftlkit.advice.measure import Measured, Runner
from ftlkit.advice.query import Query
from ftlkit.advice.run import answered, fitting
from ftlkit.advice.search_result import prefix_lengths
from ftlkit.api import catalogue
from ftlkit.results.store import Store
from ftlkit.study import filled
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.traces import Traces, scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.advice.answer import Answer

WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "fin1": ("fin1", {"requests": 30_000, "precondition": "steady"}),
    "tpcc": ("tpcc", {"requests": 30_000, "precondition": "steady"}),
    "prxy_0": ("prxy_0", {"requests": 30_000, "precondition": "steady"}),
    "hm_0": ("hm_0", {"requests": 30_000, "precondition": "steady"}),
    "iozone-4": ("iozone-4", {"requests": 30_000, "precondition": "steady"}),
    "spc1": ("spc1", {"requests": 30_000, "precondition": "steady"}),
}
"""The questions: each a workload with its options."""
LOGS = (0.0001, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08)
"""Sizes of a log in the grid."""
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Sizes of a cache or buffer in the grid, as shares of the RAM that may be taken."""
BUFFERED = ("page", "fast", "faster", "kast", "superblock", "dftl", "jtl")
"""The mappings that the grid puts behind a buffer."""
MARKS = ("<!-- regret: begin -->", "<!-- regret: end -->")
SMALL, LARGE = 0.05, 0.25
"""Regret up to which an answer is right, and above which it is wrong."""


@dataclass(frozen=True)
class Case:
    """One answer."""

    workload: str
    goal: str
    budget_s: float
    seed: int
    stack: str
    regret: float
    """Over the best of the grid within the RAM."""
    over_default: float
    """Over the best mapping as it is by default."""
    is_hedged: bool
    best: str


def grid(ram_bytes: int, fits: Any, device: Any) -> list[str]:  # noqa: ANN401 - a rule, and a table of a study
    """The stacks of a grid that fit the device and the RAM."""
    stacks: list[str] = []
    for part in catalogue.parts():
        if part["kind"] != "mapping" or part["family"] == "python":
            continue
        name, keys = part["name"], {parameter["name"] for parameter in part["parameters"]}
        stacks.append(name)
        stacks += [f"{name}:log_space={size}" for size in LOGS if "log_space" in keys]
        sizes = sorted(keys & {"cmt", "ctp", "ram"})
        for share in SHARES if sizes else ():
            each = int(share * ram_bytes / len(sizes))
            stacks.append(":".join([name, *(f"{key}={each}B" for key in sizes)]))
    for name in BUFFERED:
        bases = [stack for stack in stacks if stack.partition(":")[0] == name]
        stacks += [
            f"{stack}+{buffer}:ram={int(share * ram_bytes)}B"
            for stack in bases[::2]
            for buffer in ("lru", "bplru")
            for share in SHARES[1::2]
        ]
    built = [stack for stack in stacks if not fits(stack)]
    ram = least_ram({stack: stack for stack in built}, device, None)
    return [stack for stack in built if ram[stack] <= ram_bytes]


class Held:
    """What the stacks of a grid cost on the held-out part of a workload."""

    def __init__(self, name: str, seed: int, ram_bytes: int, store: Path) -> None:
        workload, options = WORKLOADS[name]
        self.query = Query(workload, options={**options, "seed": seed}, ram_bytes=ram_bytes)  # type: ignore[typeddict-item] # options of a study
        self._device = watched(lambda control: filled(self.query.document(), control), Silent())["device"]
        self._skip = prefix_lengths(int(options["requests"]))[-1]
        self._store, self._ram = Store(store, create=True, lazily=True), ram_bytes
        self.stacks = grid(ram_bytes, fitting(self._device), self._device)
        self._defaults = [stack for stack in self.stacks if ":" not in stack and "+" not in stack]
        self.runs = self.of(self.stacks)

    def of(self, stacks: Sequence[str]) -> dict[str, Measured]:
        """Some stacks on the held-out part, with one seed."""
        with scratch() as folder:
            runner = Runner(self.query, self._device, self._store, Local(None), Traces(folder))
            runner.watch = Silent
            return {stack: run for stack, run in runner.held_out(stacks, self._skip, 1).items() if run.rows}

    def case(self, name: str, goal: str, budget_s: float, answer: Answer) -> Case:
        """An answer beside the grid."""
        metric, stack = answer.query.metric, answer.advised.stack
        runs = self.runs | self.of([stack])
        within = {each: run for each, run in runs.items() if (run.mean("ram_bytes") or 0) <= self._ram}
        costs = {each: cost for each, run in within.items() if (cost := run.point([metric]).costs.get(metric))}
        best = min(costs, key=lambda each: costs[each])
        default = min(costs[each] for each in self._defaults if each in costs)
        mine = costs.get(stack, float("inf"))
        hedged = "not enough time" in answer.sentences[0].lower()
        regrets = mine / costs[best] - 1, mine / default - 1
        return Case(name, goal, budget_s, self.query.options["seed"], stack, *regrets, hedged, best)


def advised(held: Held, goal: str, budget_s: float) -> Answer:
    """An answer, with a store of its own."""
    query = replace(held.query, goal=goal, budget_s=budget_s)
    with TemporaryDirectory() as folder:
        return answered(query, Path(folder) / "store", None, Clock(budget_s, time.monotonic(), ANSWERING_S))


def table(cases: Sequence[Case], ram: str) -> str:
    """The cases as a table of a page: a row for each workload, goal and budget."""
    lines = [
        f"| within {ram} | goal | budget | answers | median regret | largest unhedged | hedged | over best default |",
        "|---|---|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((case.workload, case.goal, case.budget_s) for case in cases)
    for key in keys:
        mine = [case for case in cases if (case.workload, case.goal, case.budget_s) == key]
        regrets = sorted(case.regret for case in mine)
        unhedged = [case.regret for case in mine if not case.is_hedged]
        largest = units.share(max(unhedged)) if unhedged else "none"
        over = max(case.over_default for case in mine)
        lines.append(
            f"| `{key[0]}` | {key[1]} | {key[2]:g} s | {len(mine)} | {units.share(regrets[len(regrets) // 2])} "
            f"| {largest} | {sum(case.is_hedged for case in mine)} | {100 * over:+.1f} % |"
        )
    right = sum(case.is_hedged or case.regret <= SMALL for case in cases)
    wrong = sum(not case.is_hedged and case.regret > LARGE for case in cases)
    lines += ["", f"{len(cases)} answers: {right} are right to 5 % or hedged; {wrong} miss by over 25 % unhedged."]
    return "\n".join(lines)


def written(page: Path, text: str) -> None:
    """Put a table between the marks of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        sys.exit(f"{page}: must have the lines {MARKS[0]} and {MARKS[1]}; the table goes between them.")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Ask, compare and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="workloads, by commas")
    parser.add_argument("--goals", default="mean,wa", help="goals, by commas")
    parser.add_argument("--budgets", default="20", help="budgets in seconds, by commas")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each question")
    parser.add_argument("--ram", type=int, default=256, help="KiB that a stack may take")
    parser.add_argument("--store", type=Path, default=Path("out/regret"), help="the runs of the grids")
    parser.add_argument("--json", type=Path, help="a file for the cases")
    parser.add_argument("--docs", type=Path, help="a page for the table")
    asked = parser.parse_args()
    cases: list[Case] = []
    for name in asked.workloads.split(","):
        for seed in range(1, asked.seeds + 1):
            held = Held(name, seed, asked.ram << 10, asked.store)
            print(f"{name}, seed {seed}: {len(held.runs)} stacks in the grid", flush=True)
            for goal, budget_s in product(asked.goals.split(","), map(float, asked.budgets.split(","))):
                try:
                    answer = advised(held, goal, budget_s)
                except UserError as error:
                    print(f"{name} {goal} {budget_s:g} s: {error}", flush=True)
                    continue
                cases.append(held.case(name, goal, budget_s, answer))
                print(cases[-1], flush=True)
        if asked.json:
            asked.json.write_text(json.dumps([vars(case) for case in cases], indent=1), encoding="utf-8")
    text = table(cases, f"{asked.ram} KiB")
    print(text)
    if asked.docs:
        written(asked.docs, text)


if __name__ == "__main__":
    main()
