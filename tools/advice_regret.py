"""Hold the answers of `ftlkit advise` against grids of stacks, and tell how much worse they are.

    python tools/advice_regret.py --budgets 20 --seeds 2 --traces FOLDER --json regret.json

Of each workload a grid of stacks is run over everything with seed 1 and measured on the held-out
part: every mapping as it is by default, each with other sizes of its log, its cache or its RAM, the
same with paced collections, some of these behind a write buffer, and of the best mappings for each
goal each other word and switch. The six best within the RAM and the best default run with three
seeds from that of the question on. An answer's regret is the mean cost of its stack there over the
least of these and of all answers to that goal with its seed, less one.
Hedged is an answer that says "best so far", and a refusal for want of time. With trials in place of
a budget (`--budgets 60t`) what is answered does not depend on the machine. `--draw N` asks the
first N of all questions in an order drawn at random, the same in each call.

Grids are kept in the store and run once. `--json FILE` keeps the cases, too: those that it has are
not asked again, so several calls may share the work. Recorded windows are asked about where
`--traces` names a folder that has them.
"""

import argparse
import json
import os
import random
import statistics
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent
from ftlkit._util.stacks import mapping
from ftlkit.advice.answer import Answer
from ftlkit.advice.choice import NOTHING, is_within_noise
from ftlkit.advice.clock import ANSWERING_S, Clock
from ftlkit.advice.footprints import Builds
from ftlkit.advice.measure import Measured, Runner
from ftlkit.advice.query import GOALS, Query
from ftlkit.advice.run import answered
from ftlkit.advice.search_result import prefix_lengths
from ftlkit.advice.space import Head, Space
from ftlkit.api import catalogue
from ftlkit.results.store import Store
from ftlkit.study import filled
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.traces import Traces, scratch

_KIB = 1 << 10
_ACCESS = {"columns": "time:ms, device, offset:B, size:B, op:1=read", "addresses": "dense"}
_DEVICES = {"trace_device": "stacked", "addresses": "dense"}
_SMALL = {"requests": 30_000, "settings": ["workload.span=256MiB"]}

WORKLOADS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "fin1": ("fin1", 64, _SMALL),
    "tpcc": ("tpcc", 32, _SMALL),
    "prxy_0": ("prxy_0", 32, _SMALL),
    "hm_0": ("hm_0", 32, _SMALL),
    "spc1": ("spc1", 32, _SMALL),
    "fin1-window": ("financial1_first10k.ssdsim.ascii", 24, _DEVICES),
    "hm105": ("msr-hm0-window-105.trace", 24, _ACCESS),
    "hm1370": ("msr-hm0-window-1370.trace", 24, _ACCESS),
    "CloudPhysics": ("cloudPhysicsIO.vscsi", 64, {"requests": 30_000, "addresses": "dense"}),
    "DiskSim": ("disksim-valid-ascii.trace", 24, {"requests": 30_000, **_DEVICES}),
    "own-log": ("log.csv", 32, {}),
    "own-hot": ("hot.csv", 32, {}),
}
"""The questions: each a workload or a file, the KiB of RAM, and the options."""
LOGS = (0.0001, 0.01, 0.02, 0.04, 0.08)
"""Sizes of a log in the grid."""
SHARES = (0.1, 0.3, 0.6, 0.9)
"""Sizes of a cache or buffer in the grid, as shares of the RAM that may be taken."""
BUFFERED = ("page", "fast", "faster", "kast", "superblock", "dftl", "jtl")
"""The mappings that the grid puts behind a buffer."""
FINALISTS = 6
"""The best of a grid by one seed, of which three tell the best."""
TURNED = 3
"""The best mappings for a goal of which a grid has each other word and switch, too."""
BEGIN, END = "<!-- regret -->", "<!-- /regret -->"
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
    tried: int = 0
    """Stacks that had been measured."""
    load: float = 0.0
    """Of the machine, when it was answered."""
    trials: int = 0
    """How many trials were asked for in place of a budget, which is 0 then."""
    is_noise: bool = False
    """Whether what it is over the best default is within the noise of the seeds, or under 0.5 %."""


def own(name: str, folder: Path) -> Path:
    """A trace of one's own: a log that is appended to, or few hot places among many cold ones."""
    chance = random.Random(name)  # noqa: S311 - places, no secrets
    lines, end = ["time_ns,op,offset,length,stream,device"], 0
    for request in range(20_000):
        at = request * 2_000_000
        if name == "log.csv" and chance.random() < 0.7:
            lines.append(f"{at},write,{end},16384,0,a")
            end = (end + 16_384) % (128 << 20)
        else:
            place = chance.randrange(1024) if chance.random() < 0.9 else chance.randrange(65_536)
            lines.append(f"{at},{'write' if chance.random() < 0.8 else 'read'},{place * 4096},4096,0,a")
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


def grid(ram_bytes: int, builds: Builds) -> list[str]:
    """The stacks of a grid that fit the device; some may take too much RAM."""
    stacks: list[str] = []
    for part in catalogue.parts():
        if part["kind"] != "mapping" or part["family"] == "python":
            continue
        name, keys = part["name"], {parameter["name"] for parameter in part["parameters"]}
        own = [name, *(f"{name}:log_space={size}" for size in LOGS if "log_space" in keys)]
        sizes = sorted(keys & {"cmt", "ctp", "ram"})
        for share in SHARES if sizes else ():
            each = int(share * ram_bytes / len(sizes))
            own.append(":".join([name, *(f"{key}={each}B" for key in sizes)]))
        stacks += [*own, *(f"{stack}:gc=paced" for stack in own if "gc" in keys)]
    for name in BUFFERED:
        bases = [stack for stack in stacks if stack.partition(":")[0] == name]
        stacks += [
            f"{stack}+{buffer}:ram={int(share * ram_bytes)}B"
            for stack in bases[::2]
            for buffer in ("lru", "bplru")
            for share in SHARES[1::2]
        ]
    built = [stack for stack in stacks if not builds.refusal(stack)]
    ram = builds.ram((stack.partition("+")[0] for stack in built), ram_bytes)
    return [stack for stack in built if ram[stack.partition("+")[0]] <= ram_bytes]


class Held:
    """What the stacks of a grid cost on the held-out part of a workload."""

    def __init__(self, name: str, goals: Sequence[str], store: Path, traces: Path) -> None:
        self.name = name
        workload, kib, options = WORKLOADS[name]
        if workload.endswith(".csv"):
            workload = str(own(workload, store))
        elif "." in workload:
            workload = str(traces / workload)
        chosen: Any = {"precondition": "steady", **options, "seed": 1}
        self.query = Query(workload, options=chosen, ram_bytes=kib * _KIB)
        document = self.query.document()
        self._device = watched(lambda control: filled(document, control), Silent())["device"]
        text = json.dumps(document["workload"])
        info = json.loads(watched(lambda control: _native.trace_info(text, 1, control), Silent()))
        self._skip = prefix_lengths(int(info["requests"]))[-1]
        self._store, self._ram = Store(store, create=True, lazily=True), kib * _KIB
        builds = Builds(self._device)
        stacks = grid(self._ram, builds)
        self._defaults = [stack for stack in stacks if ":" not in stack and "+" not in stack]
        self.runs = self.of(stacks, 1)
        turned = dict.fromkeys(stack for goal in goals for stack in self._turned(GOALS[goal].metric))
        self.runs |= self.of([stack for stack in turned if not builds.refusal(stack)], 1)

    def _turned(self, metric: str) -> list[str]:
        """The best of the best mappings with each other word and switch."""
        best: dict[str, str] = {}
        for stack in self._order(metric):
            best.setdefault(mapping(stack), stack)
        space = Space([Head(name, ("", "+lru", "+bplru")) for name in best], self._ram, {})
        return [other for stack in list(best.values())[:TURNED] for other in space.turned(stack)]

    def _order(self, metric: str) -> list[str]:
        """The stacks of the grid that take no more RAM than asked for, the best first."""
        within = [each for each, run in self.runs.items() if (run.mean("ram_bytes") or 0) <= self._ram]
        costs = {each: cost for each in within if (cost := self.runs[each].point([metric]).costs.get(metric))}
        return sorted(costs, key=lambda each: costs[each])

    def asked(self, seed: int) -> Query:
        """The question with a seed."""
        return replace(self.query, options={**self.query.options, "seed": seed})

    def of(self, stacks: Sequence[str], seeds: int, first: int = 1) -> dict[str, Measured]:
        """Some stacks on the held-out part."""
        with scratch() as folder:
            runner = Runner(self.asked(first), self._device, self._store, Local(None), Traces(folder))
            runner.watch = Silent
            return {stack: run for stack, run in runner.held_out(stacks, self._skip, seeds).items() if run.rows}

    def case(self, goal: str, budget: str, seed: int, answer: Answer) -> Case:
        """An answer beside the grid."""
        metric, stack = answer.query.metric, answer.advised.stack
        order = self._order(metric)
        default = next(each for each in order if each in self._defaults)
        # The least of over a hundred runs of one seed is mostly luck.
        runs = self.of([*dict.fromkeys([stack, default, *order[:FINALISTS]])], 3, seed)
        costs = {each: cost for each, run in runs.items() if (cost := run.point([metric]).costs.get(metric))}
        best = min(costs, key=lambda each: costs[each])
        mine = costs.get(stack, float("inf"))
        hedged = "best so far" in answer.sentences[0]
        tried = len(answer.result.tried)
        is_noise = mine <= NOTHING * costs[default] or is_within_noise(metric, runs[default], runs[stack])
        return Case(
            self.name,
            goal,
            *of_text(budget)[:1],
            seed,
            stack,
            mine / costs[best] - 1,
            mine / costs[default] - 1,
            hedged,
            best,
            tried,
            os.getloadavg()[0],
            of_text(budget)[1],
            is_noise,
        )


def of_text(budget: str) -> tuple[float, int]:
    """A budget in seconds and a number of trials, of which one is 0."""
    return (0.0, int(budget[:-1])) if budget.endswith("t") else (float(budget), 0)


def advised(held: Held, goal: str, budget: str, seed: int) -> Answer:
    """An answer, with a store of its own."""
    budget_s, trials = of_text(budget)
    query = replace(held.asked(seed), goal=goal, budget_s=budget_s or None, trials=trials or None)
    with TemporaryDirectory() as folder:
        return answered(query, Path(folder) / "store", None, Clock(query.budget_s, time.monotonic(), ANSWERING_S))


def beside_all(cases: Sequence[Case]) -> list[Case]:
    """The cases by what any answer found, too: settings that gain most may be in no grid."""
    least: dict[tuple[str, str, int], float] = {}
    for case in filter(lambda case: case.stack, cases):
        # All over the same default.
        key, known = (case.workload, case.goal, case.seed), (1 + case.over_default) / (1 + case.regret)
        least[key] = min(known, least.get(key, known))
    return [
        replace(case, regret=round((1 + case.over_default) / least[case.workload, case.goal, case.seed] - 1, 9))
        if case.stack
        else case
        for case in cases
    ]


def told_regret(regret: float) -> str:
    """A regret as a share, from ten on as a factor."""
    return units.share(regret) if regret < 10 else units.factor(1 + regret)


def table(cases: Sequence[Case]) -> str:
    """The cases as a table of a page: a row for each goal and budget."""
    cases = beside_all(cases)
    lines = [
        f"| goal | budget | answers | hedged | within {100 * SMALL:g} % | median regret | most, hedged | unhedged |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for goal, budget_s, trials in sorted({(case.goal, case.budget_s, case.trials) for case in cases}):
        mine = [case for case in cases if (case.goal, case.budget_s, case.trials) == (goal, budget_s, trials)]
        regrets = [case.regret for case in mine if case.stack]
        most = [
            told_regret(max((case.regret for case in mine if case.is_hedged is hedged), default=0.0))
            for hedged in (True, False)
        ]
        lines.append(
            f"| {goal} | {f'{trials} trials' if trials else f'{budget_s:g} s'} | {len(mine)} "
            f"| {sum(case.is_hedged for case in mine)} | {sum(regret <= SMALL for regret in regrets)} "
            f"| {units.share(statistics.median(regrets)) if regrets else 'none'} | {most[0]} | {most[1]} |"
        )
    right = sum(case.is_hedged or case.regret <= SMALL for case in cases)
    wrong = sum(not case.is_hedged and case.regret > LARGE for case in cases)
    worse = sum(bool(case.stack) and not case.is_noise for case in cases)
    least, most_load = (f"{pick(case.load for case in cases):.1f}" for pick in (min, max))
    told = (
        f"Of {len(cases)} answers {right} are within {100 * SMALL:g} % or hedged; {wrong} miss by over "
        f"{100 * LARGE:g} % unhedged; {worse} lose to the best default by more than noise. Machine load: {least} to "
        f"{most_load}."
    )
    return "\n".join([*lines, "", *textwrap.wrap(told, 100)])


def written(page: str, text: str) -> str:
    """A page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}"


def kept(file: Path | None) -> dict[Any, Case]:
    """The cases of a file, by their questions."""
    cases = [Case(**case) for case in json.loads(file.read_text(encoding="utf-8"))] if file and file.exists() else []
    return {(case.workload, case.goal, case.budget_s, case.trials, case.seed): case for case in cases}


def is_recorded(name: str) -> bool:
    """Whether a workload is a recorded window, which lies in the folder of traces."""
    return "." in WORKLOADS[name][0] and not WORKLOADS[name][0].endswith(".csv")


def ask(held: Held, goal: str, budget: str, seed: int) -> Case:
    """Ask about a goal with a budget, and hold the answer against the grid."""
    budget_s, trials = of_text(budget)
    try:
        return held.case(goal, budget, seed, advised(held, goal, budget, seed))
    except UserError as error:
        print(f"{held.name} {goal} {budget}: {error}", flush=True)
        return Case(held.name, goal, budget_s, seed, "", 0.0, 0.0, is_hedged=True, best="", trials=trials)


def main() -> None:
    """Ask, compare and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="workloads, by commas")
    parser.add_argument("--goals", default="mean,p99,wa", help="goals, by commas")
    parser.add_argument(
        "--budgets", default="20", help="budgets in seconds, or 60t for 60 trials, by commas; empty: only the grids"
    )
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each question")
    parser.add_argument("--draw", type=int, default=0, help="the first questions in an order drawn at random; 0: all")
    parser.add_argument("--store", type=Path, default=Path("out/regret"), help="the runs of the grids")
    parser.add_argument("--traces", type=Path, help="the folder with recorded traces")
    parser.add_argument("--json", type=Path, help="a file for the cases")
    parser.add_argument("--page", type=Path, help="the page with the table")
    asked = parser.parse_args()
    cases, grids = kept(asked.json), dict[str, Held]()
    names = [name for name in asked.workloads.split(",") if name and (asked.traces or not is_recorded(name))]
    goals, budgets = asked.goals.split(","), asked.budgets.split(",")
    questions = [*product(names, goals, budgets, range(1, asked.seeds + 1))]
    if asked.draw:
        random.Random(1).shuffle(questions)  # noqa: S311 - questions, no secrets
    for name, goal, budget, seed in questions[: asked.draw or None]:
        key = (name, goal, *of_text(budget or "0"), seed)
        if key in cases:
            continue
        if name not in grids:
            grids[name] = Held(name, goals, asked.store, asked.traces or Path())
            print(f"{name}: {len(grids[name].runs)} stacks in the grid", flush=True)
        if budget:
            cases[key] = ask(grids[name], goal, budget, seed)
            print(cases[key], flush=True)
        if budget and asked.json:
            text = json.dumps([vars(case) for case in cases.values()], indent=1)
            asked.json.write_text(text, encoding="utf-8")
    if cases:
        print(table(list(cases.values())))
    if cases and asked.page:
        page = written(asked.page.read_text(encoding="utf-8"), table(list(cases.values())))
        asked.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
