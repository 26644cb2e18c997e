"""A request for advice: workload and device, goal, RAM and time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.sizes import quantity
from ftlkit.advice.study_file import refuse
from ftlkit.api import catalogue
from ftlkit.own.loading import resolved
from ftlkit.own.references import references
from ftlkit.report.cautions import FUTURE
from ftlkit.study import Options
from ftlkit.study.builder import check_seed
from ftlkit.sweeps import values
from ftlkit.sweeps.goals import TIMELESS, check

REFERENCE = "page"
"""What every answer is set against: the whole map in RAM."""


class TooLittleRamError(UserError):
    """No stack takes as little RAM as was asked for; `stack` takes least."""

    def __init__(self, text: str, stack: str) -> None:
        super().__init__(text)
        self.stack = stack


class TooShortError(UserError):
    """The time was too short to measure anything; `budget` names it, `advice` how much would do."""

    def __init__(self, budget: str, what: str, advice: str) -> None:
        super().__init__(f"{budget}: too short to try anything. {what}{advice}")
        self.budget, self.advice = budget, advice


class NoLifeError(UserError):
    """No life can be forecast, so none can be optimised; the text says how to get one."""


@dataclass(frozen=True)
class Goal:
    """The goal."""

    metric: str
    """The column of a run that decides."""
    words: str
    """The goal in words, as the end of a sentence."""


GOALS = {
    "mean": Goal("response_mean_ns", "the lowest mean response time"),
    "p99": Goal("response_p99_ns", "the lowest 99th percentile of the response time"),
    "p99-read": Goal("read_p99_ns", "the lowest 99th percentile of reads"),
    "p99-write": Goal("write_p99_ns", "the lowest 99th percentile of writes"),
    "wa": Goal("write_amplification", "the lowest write amplification"),
    "life": Goal("life_bytes", "the most bytes written until the device is read-only"),
    "ram": Goal("response_mean_ns", "the least RAM with a mean response time at most 10 % above the best one found"),
}

_MEANT = dict.fromkeys(("dwpd", "tbw", "endurance", "lifetime", "years", "wear"), "life")
_MEANT |= dict.fromkeys(("waf", "write_amplification", "gc"), "wa")
_MEANT |= dict.fromkeys(("latency", "response", "speed", "iops", "throughput"), "mean")
_MEANT |= dict.fromkeys(("tail", "p95", "p999", "max"), "p99") | {"cost": "ram", "memory": "ram", "dram": "ram"}
"""Other names for the goals: a life comes with its years and DWPD."""

PERCENTILES = {"p99": "requests", "p99-read": "reads", "p99-write": "writes"}
"""Goals that need many requests, and of which kind."""

FRONTS = ("response_mean_ns", "response_p99_ns", "write_amplification", "life_bytes")
"""What RAM can be set against."""

FINALISTS = 40
"""The most stacks that are measured on the held-out part and told."""

RAM_SLACK = 0.10
"""With the goal `ram`: by how much the response may be above the best one found."""

TRIALS, SEEDS, BUDGET, GOAL = 10_000, 3, "5min", "mean"
"""The most trials of any search; and by default, the seeds of the last runs, time and goal."""

MOST_SEEDS = 100

UNIT, SPARE = "device.mapping_unit", "device.spare"
"""The keys of a mapping unit, and of over-provisioning as a share of the flash."""

_STEPS = (1, 2, 3, 5, 10)
"""First digits of the minutes of an estimate."""

_OWN = {"run.skip": "the held-out part", "workload.requests": "--requests", "seed": "--seed", "run.clock": "--clock"}
"""Keys of a study that the search sets itself, and by what."""


@dataclass(frozen=True)
class Query:
    """A question."""

    workload: str
    device: str | None = None
    options: Options = field(default_factory=lambda: Options())  # noqa: PLW0108 - a typed dict is no callable type
    goal: str = GOAL
    ram_bytes: int | None = None
    """The most RAM that the advised stack may take; None: any."""
    budget_s: float | None = None
    """The seconds that the search may take; None: any."""
    trials: int | None = None
    """How many stacks are tried on the first prefix; None: as many as there is time for."""
    seeds: int = SEEDS
    ftl: str | None = None
    """The stacks to try, by commas; None: all mappings, alone and with what goes before them."""
    durable: bool = False
    """Whether stacks are left out that keep written data in RAM, where a power cut loses them."""

    units: tuple[int, ...] = ()
    """The mapping units to compare, the device's own first; empty: all where it names one."""
    is_by_amplification: bool = False
    """Whether a life was asked for, for which write amplification stands."""

    @property
    def levels_wear(self) -> bool:
        """Whether wear policies matter to the goal."""
        return self.goal == "life" or self.is_by_amplification

    @property
    def metric(self) -> str:
        """The column of a run that decides."""
        return GOALS[self.goal].metric

    @property
    def keeps_time(self) -> bool:
        """Whether runs have a clock: for goals that need times, and where it is asked for."""
        asked = self.options.get("clock")
        return self.goal not in TIMELESS if asked is None else asked is True

    @property
    def response(self) -> str:
        """The response time that is told; without a clock what stands for it."""
        if not self.keeps_time:
            return "write_amplification"
        return self.metric if self.goal in PERCENTILES else "response_mean_ns"

    @property
    def besides(self) -> list[str]:
        """The metrics that are told beside the goal's."""
        times = ["response_mean_ns"] if self.keeps_time else []
        return list(dict.fromkeys((self.response, *times, "write_amplification")))

    @property
    def metrics(self) -> list[str]:
        """The metrics of the fronts by which stacks are sifted."""
        metrics = list(dict.fromkeys((self.response, "write_amplification")))
        return [*metrics, "life_bytes"] if self.goal == "life" else metrics

    def check(self) -> None:
        """Refuse what cannot be answered, by a `UserError`."""
        check(self.goal, GOALS, _MEANT.get(self.goal.casefold(), ""))
        if self.trials is not None and not 1 <= self.trials <= TRIALS:
            raise UserError(f"--trials {self.trials}: must be from 1 to {TRIALS:,}.")
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise UserError(f"--seeds {self.seeds}: must be from 1 to {MOST_SEEDS}.")
        check_seed(self.options.get("seed", 1), self.seeds)
        if self.ftl is not None and not self.stacks():
            raise UserError(
                "--ftl: no translation layer is named. Give at least one, for example page,dftl, or leave --ftl out "
                "to have all of them tried."
            )
        if not self.keeps_time and self.goal not in TIMELESS:
            goals = " or ".join(f"--goal {goal}" for goal in TIMELESS)
            raise UserError(f"--no-clock: --goal {self.goal} compares response times. Leave it out, or take {goals}.")
        if "skip" in self.options:
            raise UserError("skip: the search sets it itself, for warm-ups and for the held-out part. Leave it out.")
        if self.ram_bytes is not None and self.ram_bytes < 1:
            raise UserError(f"ram = {self.ram_bytes}: must be 1 byte or more, or text such as 256KiB.")
        self._check_settings()

    def _check_settings(self) -> None:
        for setting in self.options.get("settings", ()):
            place = _place(setting)
            if place in _OWN:
                raise UserError(f"--set {setting}: the search sets {place} itself ({_OWN[place]}). Leave it out.")
            owner, _ = study.placed(place)
            if owner not in (*study.SECTIONS, *(part["name"] for part in catalogue.parts())):
                raise UserError(
                    f"--set {setting}: {owner or place} is no section of a study. Give a key of "
                    f"{', '.join(study.SECTIONS)}, such as device.spare."
                )
            if owner not in study.SECTIONS:
                raise UserError(
                    f"--set {setting}: parameters of translation layers are what is searched. To fix one, name it in "
                    f"--ftl, such as --ftl dftl:cmt=64KiB; --set takes keys of {', '.join(study.SECTIONS)}."
                )

    def with_unit(self, unit_bytes: int, capacity_bytes: int) -> Query:
        """The same question for the device with another mapping unit, which keeps its capacity."""
        options: Options = {**self.options}
        settings = [text for text in options.get("settings", ()) if _place(text) != "device.mapping_unit"]
        options["settings"] = [*settings, f"device.mapping_unit={values.plain(f'{unit_bytes}B')}"]
        # A capacity that follows from the workload would follow from its units.
        is_auto = options.get("capacity", "auto" if self.device is None else "") == "auto"
        if is_auto and "device.capacity" not in map(_place, settings):
            options["capacity"] = f"{capacity_bytes}B"
        return replace(self, options=options)

    def too_little_ram(self, stack: str, least: float, tried: int) -> TooLittleRamError:
        """An error that names the stack with the least RAM, in bytes, of those that were tried."""
        return TooLittleRamError(
            f"--ram {units.typed(units.size(self.ram_bytes))}: no tried stack needs so little on this device. "
            f"Of {tried} tried, {stack} needs least: {units.typed(units.size(least))} "
            f"({units.count(least)} bytes). Give at least that.",
            stack,
        )

    def stacks(self) -> list[str]:
        """The stacks that `--ftl` names; each must be one that there is."""
        names = [name.strip() for name in (self.ftl or "").split(",") if name.strip()]
        if names:
            references(study.named(self.ftl or ""))
        for name in names:
            if known := {f"{key}={value}" for key, value in FUTURE} & {*re.split("[:+]", name)}:
                raise UserError(
                    f"--ftl {name}: {known.pop()} decides by what the host will ask, so no controller can have it. "
                    "Leave it out; ftlkit compare takes it."
                )
        return list(dict.fromkeys(map(resolved, names)))

    def trace(self) -> str | None:
        """The path of the trace, if the workload is one."""
        path: str | None = self.document()["workload"].get("trace")
        return path

    def document(self) -> Json:
        """The study of the reference over the whole workload, as it was asked."""
        return study.build(self.workload, REFERENCE, self.device, self.options)


def question(  # noqa: PLR0913 - as many as there are options
    workload: str,
    options: Options,
    *,
    device: str | None = None,
    ftl: str | None = None,
    goal: str = GOAL,
    ram: str | int | None = None,
    budget: str | float | None = None,
    trials: int | None = None,
    seeds: int = SEEDS,
    durable: bool = False,
    vary: Sequence[str] = (),
    prefix: str = "",
) -> Query:
    """The question that the command and Python ask, checked; a `UserError` says what is wrong.

    RAM is in bytes or text such as 256KiB, the budget in seconds or text such as 5min; it has a
    default if no trials are given. `prefix` stands before the name of an option in an error.
    """
    refuse(workload)
    if compared := _units(vary):
        own = f"{UNIT}={values.plain(f'{compared[0]}B')}"
        options = {**options, "settings": [*options.get("settings", ()), own]}
    if isinstance(budget, (int, float)):
        budget = f"{budget:f}s"
    elif budget is None and trials is None:
        budget = BUDGET
    query = Query(
        workload,
        device,
        options,
        goal,
        _size(f"{prefix}ram", ram) if isinstance(ram, str) else ram,
        None if budget is None else _seconds(f"{prefix}budget", budget),
        trials,
        seeds,
        ftl,
        durable,
        compared,
    )
    query.check()
    return query


def _units(vary: Sequence[str]) -> tuple[int, ...]:
    """The mapping units to compare; no other key is varied."""
    sizes: list[int] = []
    for text in vary:
        axis = values.parse(text)
        if axis.key != UNIT:
            raise UserError(
                f"--vary {text}: advice compares mapping units alone, such as --vary {UNIT}=16KiB,64KiB. "
                f"ftlkit curve spare tells what {SPARE} buys, and ftlkit sweep runs all values of a key."
            )
        sizes += [quantity("size", f"--vary {UNIT}", value) for value in axis.values()]
    return tuple(sizes)


def _place(setting: str) -> str:
    """The key that a setting of `--set` sets."""
    return setting.partition("=")[0].strip()


def _size(option: str, text: str) -> int:
    size_bytes = quantity("size", option, text)
    if text.strip().isdecimal() or not 1 <= size_bytes < 1 << 50:
        raise UserError(f"{option} {text}: must be a size with a unit, from 1B to 1024TiB, such as 256KiB or 4m.")
    return size_bytes


def _seconds(option: str, text: str) -> float:
    seconds = quantity("duration", option, text) / 1e9
    if not 0 < seconds <= 30 * 86_400:
        raise UserError(f"{option} {text}: must be above 0 and at most 720h, such as 90s or 5min.")
    return seconds


def enough(s: float) -> str:
    """A budget for what takes so long, in round minutes: an estimate is no finer than that."""
    minutes, power = s / 60, 10 ** max(0, math.floor(math.log10(max(s / 60, 1))))
    return f"about --budget {next(step * power for step in _STEPS if step * power >= minutes)}min"


def duration(s: float) -> str:
    """Seconds as people read them."""
    return units.duration(s * 1e9)
