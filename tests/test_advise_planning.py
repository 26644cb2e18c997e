"""How a search spends its time: with a made-up clock and runs, whatever the machine does."""

import json
import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import ftlkit as fk
import sample
from advice import answer_of
from ftlkit import study
from ftlkit._native import UserError
from ftlkit.advice import run as advice_run
from ftlkit.advice import search_result
from ftlkit.advice.clock import ANSWERING_S, Clock, RunTimes
from ftlkit.advice.footprints import Builds
from ftlkit.advice.measure import Measured
from ftlkit.advice.query import Query, TooShortError
from ftlkit.advice.run import floors, heads
from ftlkit.advice.search import Search
from ftlkit.advice.search_result import SearchResult
from ftlkit.advice.space import Logs, Space, holders, wear_policies
from ftlkit.results.columns import COLUMNS
from ftlkit.sweeps import values

REQUESTS, BEGAN_S, CORES = 1_000_000, 1_000.0, 2
KIB = 1024
DOCUMENT = json.dumps(sample.document(runs=[sample.document()["runs"][0] | {"precondition": None}]))


class Machine:
    """Runs stacks in made-up time, until the time that the search gave them."""

    def __init__(self, us: Callable[[str], float], response_ns: Callable[[str], float]) -> None:
        """`us`: what a stack takes for a request; `response_ns`: its response time."""
        self.now_s, self.checks = BEGAN_S, CORES
        self.until_s: float | None = None
        self._us, self._response_ns = us, response_ns

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs on a prefix."""
        assert precondition in ("", "steady")
        return {stack: self._run(stack, requests, requests / 2) for stack in stacks if self._ends(stack, requests)}

    def held_out(self, stacks: Sequence[str], skip: int, seeds: int) -> dict[str, Measured]:
        """Runs over everything."""
        work = seeds * REQUESTS
        return {
            stack: self._run(stack, REQUESTS, REQUESTS - skip, seeds) for stack in stacks if self._ends(stack, work)
        }

    def _ends(self, stack: str, requests: float) -> bool:
        """Let the time of a run pass; whether it was done before it was ended."""
        done_s = self.now_s + 1e-6 * self._us(stack) * requests / CORES
        is_done = self.until_s is None or done_s <= self.until_s
        self.now_s = done_s if is_done else max(self.now_s, self.until_s or 0.0)
        return is_done

    def _run(self, stack: str, requests: float, measured: float, seeds: int = 1) -> Measured:
        settings = (setting.partition("=")[2] for part in stack.split("+") for setting in part.split(":")[1:])
        ram = sum(values.size(setting) or 0 for setting in settings if setting.endswith("B"))
        took_s = 1e-6 * self._us(stack) * requests
        row = dict.fromkeys(COLUMNS, 1) | {
            "label": stack,
            "event_hash": stack,
            "ram_bytes": ram + 4 * KIB,
            "response_mean_ns": self._response_ns(stack),
            "write_amplification": 2.0,
            "life_bytes": None,
            "is_overloaded": False,
            "end_of_life_request": None,
            "wall_s": took_s,
            "measured_wall_s": took_s * measured / requests,
            "pages_read": int(measured),
            "pages_programmed": int(measured),
            "erases": 100,
            "document": DOCUMENT,
        }
        return Measured(stack, [row] * seeds)


@cache
def known(*, levelled: bool) -> tuple[Any, Any, Any]:
    """All mappings, those that are refused, and the least RAM of each: asking takes seconds."""
    builds = Builds(
        fk.check_study(study.build("fin1", "page", "slc-small", {"requests": 10, "capacity": "auto"}))["device"]
    )
    mappings, refused = heads([], builds.refusal, levelled=levelled)
    return mappings, refused, floors(mappings, builds)


def searched(
    monkeypatch: pytest.MonkeyPatch,
    machine: Machine,
    budget_s: float | None,
    trials: int | None = None,
    goal: str = "mean",
    host_erases: float = float("inf"),
    defaults: tuple[str, ...] = (),
    logs: Logs | None = None,
) -> tuple[Query, SearchResult]:
    """What a search over all mappings comes to in made-up time."""
    monkeypatch.setattr("time.monotonic", lambda: machine.now_s)
    query = Query("fin1", ram_bytes=256 * KIB, budget_s=budget_s, trials=trials, goal=goal)
    mappings, refused, least = known(levelled=goal == "life")
    space = Space(mappings, 256 * KIB, least, logs)
    policies = tuple(wear_policies(mappings))
    result = SearchResult(
        REQUESTS,
        frozenset(space.heads),
        refused,
        1 << 30,
        wear_policies=policies,
        host_erases=host_erases,
        defaults=defaults,
    )
    made: Any = machine
    return query, Search(query, space, made, made, result, Clock(budget_s, BEGAN_S, ANSWERING_S)).run()


@pytest.mark.parametrize("seed", range(8))
def test_a_search_ends_within_its_budget_whatever_runs_take(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's choices
    slow: dict[str, float] = {}

    def us(stack: str) -> float:
        """Some mappings take a hundred times as long as others."""
        return slow.setdefault(stack.partition(":")[0], 10 ** chance.uniform(-1, 1.5))

    machine = Machine(us, lambda stack: 1e5 * (1 + len(stack)))
    budget_s = 10 ** chance.uniform(0.5, 3)
    came_to = None
    with suppress(UserError):
        came_to = searched(monkeypatch, machine, budget_s, trials=60)
    assert machine.now_s <= BEGAN_S + budget_s
    if came_to is None:
        return
    query, result = came_to
    advice = answer_of(query, result)
    # It says what to take only where every mapping was tried with half and with all of the RAM.
    is_whole = result.is_surveyed and bool(result.finalists)
    assert ("not enough time; best so far: " in advice.sentences[0]) >= (not is_whole), advice.sentences[0]
    assert ("B take " in advice.sentences[0]) <= is_whole, advice.sentences[0]
    # What is measured on the held-out part was the best of what was tried.
    if result.finalists:
        ranks = sorted(result.of(result.last), key=lambda measured: measured.mean("response_mean_ns") or 0)
        assert ranks[0].stack in result.finalists


class Slow(Machine):
    """One on which runs take time beside themselves, whether they are ended or not."""

    beside_s = 0.4
    least_ram = 0

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs on a prefix."""
        self.now_s += self.beside_s * len(stacks) / CORES
        measured = super().prefix(stacks, requests, precondition)
        for run in measured.values():
            run.rows[0]["ram_bytes"] += self.least_ram
        return measured


def test_where_nothing_was_run_in_time_that_is_said_and_no_more_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Slow(lambda stack: 1.0 if stack == "page" else 1e6, lambda _: 1e5)
    machine.least_ram = 1 << 20
    with pytest.raises(UserError, match="too short"):
        searched(monkeypatch, machine, 20.0)
    assert machine.now_s <= BEGAN_S + 20.0 + 4 * machine.beside_s


@pytest.mark.parametrize(
    ("run_s", "slow", "least", "most"), [(1.0, 1.0, 8, 20), (12.0, 1.0, 1, 1), (100.0, 8.0, 1, 1), (100.0, 1.0, 0, 0)]
)
def test_a_machine_of_which_little_is_free_answers_by_few_requests(
    run_s: float, slow: float, least: int, most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After 40 of 60 s the machine had given a twelfth of them; then each run takes `run_s`."""
    machine = Machine(lambda _: 1e6 * CORES * run_s / 6_666, lambda stack: 1e5 + len(stack))
    machine.now_s += 40.0
    monkeypatch.setattr("time.monotonic", lambda: machine.now_s)
    monkeypatch.setattr(advice_run, "Local", lambda _: machine)
    monkeypatch.setattr(advice_run, "Runner", lambda *_: machine)
    monkeypatch.setattr(advice_run, "slowness", lambda *_: slow)
    query = Query("fin1", "slc-small", {"capacity": "auto"}, budget_s=60.0)
    clock = Clock(60.0, BEGAN_S, ANSWERING_S, 12.0)
    try:
        told = advice_run.answered(query, tmp_path, None, clock)
    except UserError:
        assert not least
        return
    stacks = [measured.stack for measured in told.result.of(told.result.last)]
    assert least <= len(stacks) <= most
    assert stacks[0] == "page"
    assert machine.now_s <= BEGAN_S + 60.0 or len(stacks) == 1
    measured = (
        f"{'page alone was' if most == 1 else f'{len(stacks)} stacks were'} measured over the first 6,666 requests"
    )
    assert measured in told.sentences[-1]
    assert "The machine left it 8 % of a core. Give" in told.sentences[-1]
    assert "ot enough time; best so far" in told.sentences[0]


def test_a_first_run_that_takes_too_long_leaves_time_for_fewer_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftlkit.advice.search.FEW", 5_000)
    machine = Machine(lambda _: 1e4, lambda _: 1e5)
    with pytest.raises(TooShortError, match="page had not ended on the first 8,230 requests"):
        searched(monkeypatch, machine, 60.0)
    assert machine.now_s <= BEGAN_S + 45.0


@pytest.mark.parametrize(("budget_s", "beside_s"), [(24.0, 0.4), (36.0, 1.0), (40.0, 1.0), (60.0, 0.4)])
def test_what_is_tried_leaves_the_held_out_part_its_time(
    monkeypatch: pytest.MonkeyPatch, budget_s: float, beside_s: float
) -> None:
    """The best of each family and the defaults are held out, of as many as were tried."""
    mappings, _, _ = known(levelled=False)
    # The best has many neighbours, of which each is better than the one before.
    machine = Slow(lambda _: 1.0, lambda stack: (1e5 if stack.startswith("dftl") else 1e6) - len(stack))
    machine.beside_s = beside_s
    defaults = tuple(head.text for head in mappings)[:12]
    _, result = searched(monkeypatch, machine, budget_s, defaults=defaults)
    assert len({*result.required} - result.finalists.keys()) <= 1
    assert "page" in result.finalists


@pytest.mark.parametrize("seed", range(4))
def test_where_time_is_scarce_the_defaults_are_held_out_and_none_is_better_than_the_advice(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's choices
    responses: dict[str, float] = {}
    machine = Slow(lambda _: 1.0, lambda stack: responses.setdefault(stack, 10 ** chance.uniform(5, 6)))
    mappings, _, _ = known(levelled=False)
    defaults = tuple(head.text for head in mappings)[:12]
    monkeypatch.setattr(RunTimes, "is_scarce", lambda *_: True)
    query, result = searched(monkeypatch, machine, chance.uniform(18.0, 22.0), defaults=defaults)
    told = answer_of(query, result)
    assert {*defaults} <= result.finalists.keys()
    assert responses[told.advised.stack] <= 1.005 * min(responses[stack] for stack in defaults)
    assert "not enough time; best so far: " in told.sentences[0]


def test_a_stack_that_was_run_to_look_around_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dftl` with its default cache is not proposed; it is run to see whether prefixes do."""
    machine = Machine(lambda _: 1.0, lambda stack: 1e5 if stack == "dftl" else 2e5)
    query, result = searched(monkeypatch, machine, 120.0, trials=60)
    assert "dftl" in result.last.tried
    advice = answer_of(query, result)
    assert advice.advised.stack == "dftl"


def test_with_too_little_time_families_were_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look over takes what it may, and what is left is not enough to try every mapping."""
    machine = Machine(lambda stack: 400.0 if stack == "page" else 300.0, lambda _: 1e5)
    query, result = searched(monkeypatch, machine, 20.0)
    families = {scheme["name"]: scheme["family"] for scheme in fk.schemes()}
    tried = {families[stack.partition(":")[0]] for stack in result.rungs[0].tried}
    assert {"demand-paged", "log-buffer"} <= tried
    assert result.untried
    advice = answer_of(query, result)
    assert "not enough time; best so far: " in advice.sentences[0]


def test_after_three_of_each_family_the_best_family_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of time `a-sast` was not tried on a log, where it lives longest."""
    families = {scheme["name"]: scheme["family"] for scheme in fk.schemes()}
    for best in ("log-buffer", "demand-paged"):
        members = tuple(name for name, family in families.items() if family == best)
        machine = Machine(lambda _: 1.0, lambda stack, best=members: 1e5 if stack.startswith(best) else 2e5)  # type: ignore[misc] # a default
        _, result = searched(monkeypatch, machine, None, trials=16)
        tried = {stack.partition(":")[0] for stack in result.rungs[0].tried}
        assert {"dftl", "fast", "adapt", "a-sast"} <= tried
        assert {*members} <= tried


class Unlike(Machine):
    """One on which no prefix does as the whole part."""

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs on a prefix, of which the short ones are slow."""
        measured = super().prefix(stacks, requests, precondition)
        slower = 1 if requests > REQUESTS / 2 else 2
        for run in measured.values():
            run.rows[0]["response_mean_ns"] *= slower
        return measured


def test_where_little_time_is_left_several_stacks_are_told_with_one_seed_and_not_one_with_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of one stack alone nothing can refute that it is the best."""
    quick = ("page", "dftl", "fast", "cdftl", "rftl")
    machine = Unlike(
        lambda stack: 1.0 if stack.startswith(quick) else 4.0,
        lambda stack: (1e5 if stack.startswith(quick) else 1e6) + len(stack),
    )
    _, result = searched(monkeypatch, machine, 21.0)
    assert [rung.requests for rung in result.rungs] == [result.searched]
    assert result.missed
    assert result.seeds == 1
    assert len(result.finalists) > 1


def test_too_few_trials_are_told_first_with_how_many_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(trials: int) -> str:
        asked, found = searched(monkeypatch, Machine(lambda _: 1.0, lambda stack: 1e5 + len(stack)), None, trials)
        return answer_of(asked, found).sentences[0]

    few = first(12)
    assert "too few trials; best so far: " in few
    said = re.search(r"mappings were tried; --trials (\d+) tries all of them", few)
    assert said, few
    # All of the RAM is a variation of the best, which counts as no trial.
    assert "too few trials" not in first(int(said[1]) // 2 + 3)
    assert re.match("With 256\N{NO-BREAK SPACE}KiB (.*)take ", first(int(said[1])))


@pytest.mark.parametrize("budget_s", [15.0, 30.0])
def test_a_budget_is_used_before_anything_is_said_to_have_had_no_time(
    monkeypatch: pytest.MonkeyPatch, budget_s: float
) -> None:
    machine = Machine(lambda _: 5.0, lambda stack: 1e5 + len(stack))
    query, result = searched(monkeypatch, machine, budget_s)
    left_s = BEGAN_S + budget_s - ANSWERING_S - 0.02 * budget_s - machine.now_s
    # What a run over everything takes.
    assert left_s <= 3 * 5e-6 * REQUESTS / CORES or result.dry
    answer_of(query, result)


class Buffered(Machine):
    """One on which a buffer before `dftl` and its cache gain, the latter up to 64 KiB."""

    def __init__(self, overhead: float, late: tuple[str, ...] = ()) -> None:
        """`overhead`: what a run takes of RAM over its sizes; `late` leads on shorter prefixes."""
        super().__init__(lambda _: 1.0, self._gained_ns)
        self._overhead, self._late = overhead, late

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs on a prefix."""
        measured = super().prefix(stacks, requests, precondition)
        for run in measured.values():
            if run.stack.startswith(self._late) and requests < REQUESTS / 2:
                run.rows[0]["response_mean_ns"] = 1.3e6 + len(run.stack)
        return measured

    def _run(self, stack: str, requests: float, measured: float, seeds: int = 1) -> Measured:
        made = super()._run(stack, requests, measured, seeds)
        cache, buffer = self._sizes(stack)
        ram = round(self._overhead * (4 + cache + buffer) * KIB)
        return Measured(stack, [row | {"ram_bytes": ram} for row in made.rows])

    def _gained_ns(self, stack: str) -> float:
        cache, buffer = self._sizes(stack)
        is_dftl, is_fab = stack.startswith("dftl"), "+fab" in stack
        return 1.5e6 - 2e3 * min(cache, 64) - 4e3 * buffer * is_fab if is_dftl else 1.6e6

    @staticmethod
    def _sizes(stack: str) -> tuple[float, float]:
        """The cache and the buffer in KiB; of `dftl` the cache is 64 KiB if it is not written."""
        written = dict(re.findall(r"(cmt|ram)=(\w+)", stack))
        cache, buffer = (values.size(written.get(key, "0B")) or 0 for key in ("cmt", "ram"))
        return (cache / KIB if "cmt" in written or not stack.startswith("dftl") else 64.0), buffer / KIB


@pytest.mark.parametrize("overhead", [1.0, 1.03])
def test_the_best_is_tried_with_its_ram_shared_between_cache_and_buffer(
    monkeypatch: pytest.MonkeyPatch, overhead: float
) -> None:
    """Sixty trials are spent before any buffer is proposed."""
    query, result = searched(monkeypatch, Buffered(overhead), None, trials=60)
    advice = answer_of(query, result)
    assert result.is_shared
    best = advice.advised.measured
    assert re.fullmatch(r"dftl:cmt=\w+\+fab:ram=\w+", best.stack)
    # Hardly any of the RAM that there is is left.
    assert 0.95 * 256 * KIB <= (best.mean("ram_bytes") or 0) <= 256 * KIB
    # As good as with all of it in the buffer, which gains most.
    assert (best.mean("response_mean_ns") or 0) <= 1.1 * (1.5e6 - 4e3 * (256 / overhead - 4))


def test_what_leads_only_on_the_whole_is_tried_there_with_its_ram_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    # On shorter prefixes this many mappings lead that none but these is tried so.
    others = ("cdftl", "rftl", "fast", "bast", "aps", "kast")
    _, found = searched(monkeypatch, Buffered(1.0, others), None, trials=60)
    first, last = found.rungs[0], found.last
    assert len(found.rungs) > 1
    assert not any("+" in stack for stack in first.tried if stack.startswith("dftl"))
    assert any("+fab" in stack for stack in last.tried if stack.startswith("dftl"))


def test_the_reference_is_tried_behind_a_buffer_with_the_ram_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps data in RAM leads all that do not, and not the reference with as much."""

    def response_ns(stack: str) -> float:
        buffer = values.size(match[1]) if (match := re.fullmatch(r"page\+fab:ram=(\w+)", stack)) else 0
        return 1e5 if (buffer or 0) >= 224 * KIB else 2e5 if stack.startswith("treeftl") else 9e5

    query, result = searched(monkeypatch, Machine(lambda _: 1.0, response_ns), None, trials=40)
    advice = answer_of(query, result)
    assert advice.advised.stack.startswith("page+fab:ram=")
    assert result.is_rivalled


@pytest.mark.parametrize("budget_s", [None, 60.0])
def test_the_best_is_tried_with_each_other_setting(monkeypatch: pytest.MonkeyPatch, budget_s: float | None) -> None:
    """Two that gain together, of which hardly any draw would have both."""

    def response_ns(stack: str) -> float:
        gains = 2e5 * ("load_before_write=false" in stack) + 2e5 * ("victim=fifo" in stack)
        return (1e6 if stack.startswith("treeftl") else 1.2e6) - gains

    _, result = searched(monkeypatch, Machine(lambda _: 1.0, response_ns), budget_s, trials=40)
    best = min(result.finalists.values(), key=lambda run: run.mean("response_mean_ns") or 0)
    assert best.mean("response_mean_ns") == 6e5
    assert result.is_turned


def test_another_that_is_near_to_the_best_is_tried_with_each_other_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings may gain more than those of the leader."""

    def response_ns(stack: str) -> float:
        gains = 2e5 * ("load_before_write=false" in stack) + 2e5 * ("victim=fifo" in stack)
        return {"cdftl": 1e6, "treeftl": 1.1e6}.get(stack.partition(":")[0], 3e6) - gains

    _, result = searched(monkeypatch, Machine(lambda _: 1.0, response_ns), None, trials=50)
    best = min(result.finalists.values(), key=lambda run: run.mean("response_mean_ns") or 0)
    assert best.mean("response_mean_ns") == 7e5
    # The leader comes first, so that a budget that ends there has all of its forms.
    turned = [stack for stack in result.rungs[0].tried if "victim=" in stack]
    first = next(place for place, stack in enumerate(turned) if stack.startswith("treeftl"))
    assert any(re.match("cdftl.*(:[^c]\\w+=.*){2}", stack) for stack in turned[:first])


class Misjudged(Machine):
    """`adapt` is slow on each prefix; on the held-out part it gains by its settings."""

    SIZES = ("0.0001", "0.015", "0.021", "0.03", "0.042", "0.06")

    def __init__(self) -> None:
        super().__init__(lambda _: 1.0, lambda stack: 1e6 if stack.startswith("fast") else 4e6)

    def held_out(self, stacks: Sequence[str], skip: int, seeds: int) -> dict[str, Measured]:
        """Runs over everything."""
        measured = super().held_out(stacks, skip, seeds)
        for run in measured.values():
            if run.stack.startswith("adapt") and "+" not in run.stack:
                log = re.search(r"log_space=([\d.]+)", run.stack)
                gained = self.SIZES.index(log[1] if log else "0.03") + 4 * ("transfer=never" in run.stack)
                run.rows[:] = [row | {"response_mean_ns": 1.45e6 - 1e5 * gained} for row in run.rows]
        return measured


@pytest.mark.parametrize("budget_s", [None, 60.0])
def test_what_leads_on_the_held_out_part_alone_is_tried_there_with_other_settings(
    monkeypatch: pytest.MonkeyPatch, budget_s: float | None
) -> None:
    logs = {name: dict.fromkeys(Misjudged.SIZES, 8.0 * KIB) for name in ("fast", "adapt")}
    query, result = searched(
        monkeypatch, Misjudged(), budget_s, trials=60, defaults=("page", "fast", "adapt"), logs=logs
    )
    best = answer_of(query, result).advised.stack
    assert best.startswith("adapt:")
    assert "log_space=0.06" in best
    assert "transfer=never" in best


def test_logs_of_mappings_that_trail_are_not_sized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of logs are slow, and the size of one gains less than they trail by."""

    def response_ns(stack: str) -> float:
        return {"dftl": 1e5, "adapt": 2e5}.get(stack.partition(":")[0], 9e5) + len(stack)

    logs = {name: dict.fromkeys(Misjudged.SIZES, 8.0 * KIB) for name in ("fast", "adapt")}
    _, result = searched(monkeypatch, Machine(lambda _: 1.0, response_ns), None, trials=60, logs=logs)
    sized = {re.split("[:+]", stack)[0] for stack in result.rungs[0].tried if "log_space=0.06" in stack}
    assert sized == {"adapt"}


class MisjudgedLog(Machine):
    """`adapt` gains by a buffer, and on the held-out part more by the RAM of its largest log."""

    LOGS = MappingProxyType({"0.0001": 8.0 * KIB, "0.03": 60.0 * KIB, "0.042": 90.0 * KIB, "0.06": 230.0 * KIB})

    def __init__(self) -> None:
        super().__init__(
            lambda _: 1.0, lambda stack: 9e5 if not stack.startswith("adapt") else 2e5 if "+" in stack else 3e5
        )

    def _run(self, stack: str, requests: float, measured: float, seeds: int = 1) -> Measured:
        made = super()._run(stack, requests, measured, seeds)
        log = re.search(r"log_space=([\d.]+)", stack)
        more = self.LOGS[log[1] if log else "0.03"] if stack.startswith("adapt") else 0.0
        gains = requests == REQUESTS and stack.endswith("log_space=0.06")
        gained = {"response_mean_ns": 1e5} if gains else {}
        return Measured(stack, [row | gained | {"ram_bytes": row["ram_bytes"] + more} for row in made.rows])


def test_the_ram_of_a_buffer_is_tried_as_a_log_on_the_held_out_part(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"adapt": MisjudgedLog.LOGS}
    query, result = searched(monkeypatch, MisjudgedLog(), None, trials=60, defaults=("page", "adapt"), logs=logs)
    best = answer_of(query, result).advised.stack
    assert "+" not in best
    assert "log_space=0.06" in best


class MisjudgedFamily(Machine):
    """Demand-paged mappings are slow on each prefix, most of all `rftl`, which leads elsewhere."""

    def __init__(self, dftl_ns: float) -> None:
        super().__init__(lambda _: 1.0, lambda stack: {"fast": 1e6, "dftl": dftl_ns}.get(stack.partition(":")[0], 6e6))

    def held_out(self, stacks: Sequence[str], skip: int, seeds: int) -> dict[str, Measured]:
        """Runs over everything."""
        measured = super().held_out(stacks, skip, seeds)
        for run in measured.values():
            us = {"dftl": 500, "rftl": 200, "page": 1000}.get(re.split("[:+]", run.stack)[0])
            run.rows[:] = [row | ({"response_mean_ns": us * 1e3} if us else {}) for row in run.rows]
        return measured


@pytest.mark.parametrize("budget_s", [None, 60.0])
@pytest.mark.parametrize("dftl_ns", [3e6, 5e5], ids=["another-was-chosen", "the-reference-differs"])
def test_where_a_family_was_misjudged_its_other_mappings_are_held_out(
    monkeypatch: pytest.MonkeyPatch, budget_s: float | None, dftl_ns: float
) -> None:
    machine = MisjudgedFamily(dftl_ns)
    query, result = searched(monkeypatch, machine, budget_s, trials=60, defaults=("page", "fast", "dftl"))
    assert answer_of(query, result).advised.stack.startswith("rftl")


@pytest.mark.parametrize("budget_s", [4.0, 40.0])
def test_without_time_to_share_the_ram_otherwise_it_is_said_first(
    monkeypatch: pytest.MonkeyPatch, budget_s: float
) -> None:
    query, result = searched(monkeypatch, Buffered(1.0), budget_s, trials=60)
    advice = answer_of(query, result)
    assert result.is_shared == (budget_s > 20)
    assert result.is_shared or "not enough time; best so far: " in advice.sentences[0]
    assert ("+fab" in advice.advised.stack) >= result.is_shared


DEFAULTS = ("page", "block", "bast", "fast", "faster", "dftl", "cdftl", "superblock", "adapt")


@pytest.mark.parametrize("budget_s", [8.0, 20.0, None])
def test_the_held_out_part_runs_each_family_and_default_or_there_was_not_enough_time(
    monkeypatch: pytest.MonkeyPatch, budget_s: float | None
) -> None:
    def response_ns(stack: str) -> float:
        # All forms of one mapping lead everything else.
        return 1_000.0 + len(stack) if stack.startswith("adapt") else 1_200.0 + len(stack)

    query, result = searched(
        monkeypatch, Machine(lambda _: 2.0, response_ns), budget_s, 60 if budget_s is None else None, defaults=DEFAULTS
    )
    families = {stack.partition("+")[0].partition(":")[0]: stack for stack in result.finalists}
    is_whole = {*DEFAULTS} <= {*result.finalists} and {"page", "block", "dftl", "adapt"} <= {*families}
    assert is_whole or budget_s is not None
    advice = answer_of(query, result)
    assert is_whole or "ot enough time" in advice.sentences[0]
    # Beside them the mappings take turns.
    others = [stack for stack in result.asked_for[1:] if stack not in {*DEFAULTS, *result.required}]
    names = [stack.partition("+")[0].partition(":")[0] for stack in others]
    assert len({*names[: len({*names})]}) == len({*names})


def test_a_victim_policy_by_age_is_held_out_though_a_prefix_beat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its gain may show only once the data have been overwritten."""

    def response_ns(stack: str) -> float:
        return (2_000.0 if Space.is_by_age(stack) else 1_000.0) + len(stack)

    _, result = searched(monkeypatch, Machine(lambda _: 2.0, response_ns), None, 60, defaults=("page",))
    by_age = {stack for stack in result.tried if Space.is_by_age(stack)}
    assert {"page:victim=cost-benefit", "page:victim=cat"} & by_age
    assert by_age & {*result.finalists}
    assert Space.is_by_age("dftl:cmt=4KiB:victim=cat+lru") > Space.is_by_age("page:victim=fifo+lru")


@pytest.mark.parametrize(
    ("goal", "settings"),
    [(goal, ("streams=dac", "streams=fadac", "streams=sepbit")) for goal in ("wa", "life")]
    + [(goal, ("gc=paced",)) for goal in ("mean", "p99")],
)
def test_ways_to_collect_are_among_the_first_stacks(
    monkeypatch: pytest.MonkeyPatch, goal: str, settings: tuple[str, ...]
) -> None:
    machine = Lasting(lambda _: 1.0, lambda stack: 1e5 + len(stack))
    _, result = searched(monkeypatch, machine, None, trials=30, goal=goal)
    first = list(result.rungs[0].tried)[: len(result.candidates) + 10]
    assert {f"page:{setting}" for setting in settings} <= {*first}
    # Where writes may wait for a map, pacing alone leaves the longest waits.
    assert goal in ("wa", "life") or any(stack.endswith(":gc=paced:write_misses=background") for stack in first)


def test_few_trials_fill_the_ram_of_what_may_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    """What trails by more than RAM can gain needs no more of it, and leaves no doubt."""

    def response_ns(stack: str) -> float:
        return (1e5 if stack.startswith(("dftl", "cdftl")) else 1.5e5 if stack.startswith("rftl") else 1e6) + len(stack)

    _, result = searched(monkeypatch, Machine(lambda _: 1.0, response_ns), None, trials=30)
    assert result.is_surveyed
    full = {"dftl:cmt=240KiB", "cdftl:cmt=120KiB:ctp=120KiB", "rftl:cmt=240KiB"}
    assert full <= result.rungs[0].tried.keys()
    assert "tpftl:cmt=240KiB" not in result.rungs[0].tried


def test_the_best_durable_stack_is_held_out_though_buffers_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer sets it beside a stack that loses unflushed writes."""

    def response_ns(stack: str) -> float:
        return (1_000.0 if holders(stack) else 2_000.0 if stack.startswith("cdftl") else 3_000.0) + len(stack)

    _, result = searched(monkeypatch, Machine(lambda _: 2.0, response_ns), None, 60)
    durable = [stack for stack in result.finalists if not holders(stack)]
    assert any(stack.startswith("cdftl") for stack in durable), durable


def test_many_forms_of_the_leader_do_not_crowd_out_another_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the better one on the held-out part."""

    def response_ns(stack: str) -> float:
        size = sum(values.size(size_text) or 0 for size_text in re.findall(r"=(\w+B)", stack)) / KIB
        slower = {"dftl": 1.0, "rftl": 1.15}.get(stack.partition(":")[0].partition("+")[0], 2.0)
        return slower * 1e6 / (1 + size / 64)

    monkeypatch.setattr("ftlkit.advice.search.FINALISTS", 4)
    _, result = searched(monkeypatch, Unlike(lambda _: 1.0, response_ns), None, trials=60)
    mappings = {stack.partition(":")[0].partition("+")[0] for stack in result.finalists}
    assert {"dftl", "rftl"} <= mappings
    assert "cdftl" not in mappings, "it is far from the best"


class Lasting(Machine):
    """One on which lives are forecast."""

    def _run(self, stack: str, requests: float, measured: float, seeds: int = 1) -> Measured:
        made = super()._run(stack, requests, measured, seeds)
        life = 3e12 if stack.endswith("+rejuvenator") else 1e12 - self._response_ns(stack)
        rows = [row | {"life_bytes": life, "is_life_measured": False, "host_written_bytes": 1e9} for row in made.rows]
        return Measured(stack, rows)


class Forecasting(Lasting):
    """One on which a life is forecast from this many requests on, and not before."""

    def __init__(self, us: float, least: int) -> None:
        super().__init__(lambda _: us, lambda stack: 1e5 + len(stack))
        self.of_the_reference: list[int] = []
        self._least = least

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs on a prefix."""
        self.of_the_reference += [requests] * ("page" in stacks)
        return super().prefix(stacks, requests, precondition)

    def _run(self, stack: str, requests: float, measured: float, seeds: int = 1) -> Measured:
        made = super()._run(stack, requests, measured, seeds)
        known = {} if requests >= self._least else {"life_bytes": None}
        document = json.loads(DOCUMENT)
        document["runs"][0]["endurance"] = {"refusal": "too few"}
        document["device"]["physical_bytes"] = 1 << 40
        return Measured(stack, [row | known | {"document": json.dumps(document)} for row in made.rows])


def test_prefixes_that_erase_too_little_for_a_forecast_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Forecasting(40.0, 600_000)
    # With its write amplification of 2 a third of the part is not enough, and all of it is.
    query, result = searched(monkeypatch, machine, 120.0, goal="life", host_erases=2.5)
    assert [rung.requests for rung in result.rungs] == [result.searched]
    # The shortest tells what runs take.
    assert sorted({*machine.of_the_reference})[1:] == [result.searched]
    answer_of(query, result)


def test_without_a_forecast_nothing_but_the_reference_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Forecasting(4.0, 2 * REQUESTS)
    with pytest.raises(UserError, match=r"--goal life: no life is forecast .*--requests \d+"):
        searched(monkeypatch, machine, 120.0, goal="life", host_erases=2.5)
    assert len(machine.of_the_reference) == 1
    assert machine.now_s - BEGAN_S < 2


def test_wear_policies_come_before_more_ram_where_life_is_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Lasting(lambda _: 30.0, lambda stack: 1e5 + len(stack))
    query, result = searched(monkeypatch, machine, 200.0, goal="life")
    begun = list(result.rungs[0].begun)
    with_policies = [place for place, stack in enumerate(begun) if "+" in stack]
    filled = [place for place, stack in enumerate(begun) if "=248KiB" in stack or "=240KiB" in stack]
    assert with_policies
    assert not filled or with_policies[0] < filled[0]
    assert not result.untried_policies
    advice = answer_of(query, result)
    assert "+rejuvenator" in advice.advised.stack
    assert "; the forecasts overlap, so this is not certain)" in advice.sentences[0]


def test_a_search_for_life_without_time_for_wear_policies_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Lasting(lambda _: 1.0, lambda stack: 1e5 + len(stack))
    asked, found = searched(monkeypatch, machine, None, trials=10, goal="life")
    for rung in found.rungs:
        # The best alone was tried under them.
        rung.tried = {stack: run for stack, run in rung.tried.items() if "+" not in stack}
    told = answer_of(asked, found)
    assert f"Wear policies that were not searched: {', '.join(found.wear_policies)}." in told.cautions
    assert "too few trials; best so far" in told.sentences[0]
    found.is_surveyed, found.candidates, found.is_out_of_trials = True, frozenset(found.mappings), False
    cut = answer_of(replace(asked, budget_s=30.0), found)
    assert "not enough time; best so far" in cut.sentences[0]
    assert "(no wear policy was tried)" in cut.sentences[0]


def test_a_search_that_was_stopped_gives_no_reason_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda stack: 400.0 if stack == "page" else 300.0, lambda _: 1e5)
    query, result = searched(monkeypatch, machine, 20.0)
    result.interrupted = True
    reasons = {fate.reason for fate in search_result.fates(query, result)}
    assert "not tried, since the search was stopped before" in reasons
    assert not any("time" in reason for reason in reasons)
