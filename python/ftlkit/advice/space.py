"""What can be tried: stacks and their parameters, with the ranges that the registry declares.

RAM is searched on a logarithmic scale of eight steps a doubling (64, 72, 80 … KiB), from the least
that works on the device to a ceiling. So is a log, from the smallest to the largest that fits. Of
the other parameters a trial sets at most two of a part:
numbers from an eighth to eight times their default, words to any value. Times are what the hardware
is, not what one chooses, and are never searched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Protocol

from ftlkit import study
from ftlkit._util import Json
from ftlkit._util.stacks import mapping
from ftlkit.api import catalogue
from ftlkit.report.cautions import FUTURE
from ftlkit.sweeps import values

FLOOR_BYTES = 1 << 10
"""The least RAM that a cache or a buffer is tried with, unless its own least is above."""

NOT_TO_BE_BUILT = frozenset({*FUTURE, ("copy_choice", "original")})
"""Values of parameters that know the future, or take out the mechanism that they belong to."""

_CLASSIFIERS = frozenset({("streams", "dac"), ("streams", "fadac"), ("streams", "sepbit")})
"""They copy less where writes are skewed, for more RAM."""

_PACED = frozenset({("gc", "paced"), ("write_misses", "background")})
"""Collections in small steps, and writes that wait for no map: nothing holds up the host for long.

The price is more copies.
"""

_BY_AGE = _CLASSIFIERS | {("victim", "cost-benefit"), ("victim", "cat")}
"""Choices by the age of data, which tells little before most data have been overwritten."""

NOT_SEARCHED = frozenset({"pslc_static", "pslc_dynamic", "pslc_direct", "log_blocks", "knowledge"})
"""Parameters that few devices allow, the second one of two that set the same, and knock-outs.

A stack that comes with them keeps them.
"""

PROBES = {"demand-paged": "dftl", "log-buffer": "fast"}
"""Families that do otherwise than `page` on a device in use; of each the mapping to look at.

In the order in which they are tried: a demand-paged mapping takes little RAM and seldom has to
merge.
"""

_KEPT = (0.5, 0.75)
"""What a size keeps of itself where its RAM is shared with another; repeated, it finds the rest."""

_PIONEERS = 3
"""Mappings of a family that are tried before it is known how their families do."""

_TUNED = 2
"""Most parameters of a part, beside its RAM, that differ from their default."""
_STEPS = 8
"""Sizes a doubling."""
_HALVINGS = 40
"""More than lie between the largest ceiling and the least RAM; sizes below that fall together."""
_OCTAVES = 3
"""How many doublings a number is searched to either side of its default."""
_FROM_ZERO = 7
"""A number whose default is 0, for off or for automatic, is searched at 0, 1, 2, 4 … 64."""


class Chooser(Protocol):
    """Chooses values: a trial of Optuna, or a rule."""

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of some words."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""

    def suggest_log(self, name: str, shares: Sequence[str], default: str) -> str:
        """One of some sizes of a log, which ascend."""


@dataclass(frozen=True)
class Head:
    """A stack's beginning, with the parts that may go behind it."""

    text: str
    tails: tuple[str, ...]
    """Each empty, or parts with a plus in front of each."""


class Space:
    """The stacks that a search chooses from."""

    def __init__(
        self,
        heads: Sequence[Head],
        ceiling_bytes: int,
        floors: Mapping[str, int],
        logs: Logs | None = None,
        map_bytes: float = math.inf,
    ) -> None:
        """`floors` has the least RAM of parameters, in bytes, by their keys such as `dftl.cmt`.

        `logs` has the sizes of logs by mapping; of a mapping that it leaves out none is searched.
        Caches of the map take at most `map_bytes`, with which the reference has all of it.
        """
        self._families: dict[str, str] = {scheme["name"]: scheme["family"] for scheme in catalogue.schemes()}
        self.heads = {head.text: head for head in self._in_turn(heads)}
        self._ceiling, self._floors, self._map_bytes = ceiling_bytes, floors, map_bytes
        self._logs = logs or {}
        self._beside: dict[str, int] = {}
        parts = catalogue.parts()
        self._parameters = {part["name"]: part["parameters"] for part in parts}
        self._kinds: dict[str, str] = {part["name"]: part["kind"] for part in parts}
        self._needs = {name: needs(parameters) for name, parameters in self._parameters.items()}

    def _in_turn(self, heads: Sequence[Head]) -> list[Head]:
        """The beginnings by turns of their families: a search cut short has tried most families."""
        order = list(PROBES)
        ranks: dict[str, tuple[int, int]] = {}
        turns: dict[str, int] = {}
        # The looked-at mapping of a family first, then the newest: it has what earlier ones taught.
        newest = list(reversed(heads))
        for head in sorted(newest, key=lambda head: head.text.partition(":")[0] not in PROBES.values()):
            family = self.family(head.text)
            place = order.index(family) if family in order else len(order)
            ranks[head.text] = (turns.setdefault(family, 0), place)
            turns[family] += 1
        return sorted(heads, key=lambda head: ranks[head.text])

    def pioneers(self) -> list[str]:
        """The first beginnings of each family, which tell whether the others are worth the time."""
        by_family: dict[str, list[str]] = {}
        for text in self.heads:
            by_family.setdefault(self.family(text), []).append(text)
        return [text for text in self.heads if text in by_family[self.family(text)][:_PIONEERS]]

    def family(self, stack: str) -> str:
        """The family of a stack's mapping."""
        return self._families[mapping(stack)]

    @staticmethod
    def is_by_age(stack: str) -> bool:
        """Whether a stack chooses victims or classes by age: a short prefix may misjudge it."""
        settings = {tuple(setting.split("=")) for setting in re.split("[:+]", stack)}
        return not settings.isdisjoint(_BY_AGE)

    def ask(self, chooser: Chooser) -> str:
        """A stack, as on the command line."""
        names = list(self.heads)
        head = self.heads[names[0] if len(names) == 1 else chooser.suggest_categorical("mapping", names)]
        tail = head.tails[0]
        if len(head.tails) > 1:
            tail = chooser.suggest_categorical(f"behind {head.text}", head.tails)
        text = head.text + tail
        return "+".join(self._part(part, chooser) for part in text.split("+"))

    def least(self) -> dict[str, str]:
        """By each beginning the stack of it with the least RAM."""
        return {head.text: self.ask(Rule(head, _least)) for head in self.heads.values()}

    def switches(self, head: Head) -> list[tuple[str, str]]:
        """A mapping's switches that were not set, each with the value that is not its default."""
        name, *given = head.text.split(":")
        return [
            (parameter["name"], "false" if parameter["default"] == "true" else "true")
            for parameter in self._parameters[name]
            if parameter["kind"] == "switch"
            and parameter["name"] not in NOT_SEARCHED
            and parameter["name"] not in {setting.partition("=")[0] for setting in given}
        ]

    def words(self, head: Head, chosen: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """A mapping's parameters that were not set, with each word of theirs that is `chosen`."""
        name, *given = head.text.split(":")
        return [
            (parameter["name"], word)
            for parameter in self._parameters[name]
            for word in parameter.get("of") or ()
            if (parameter["name"], word) in chosen
            and parameter["name"] not in {setting.partition("=")[0] for setting in given}
        ]

    def bound(self, least: Mapping[str, float]) -> dict[str, float]:
        """Leave out the beginnings whose `least` RAM, in bytes, is above the ceiling.

        Returns these. Of the others what they take beside their caches is taken off the ceiling of
        the caches.
        """
        over = {text: ram for text, ram in least.items() if ram > self._ceiling}
        stacks = self.least()
        for text, ram in least.items():
            name, *settings = stacks[text].partition("+")[0].split(":")
            sizes = [
                values.size(setting.partition("=")[2]) or 0
                for setting in settings
                if is_ram(self._parameter(name, setting))
            ]
            beside = int(ram) - sum(sizes)
            self._beside[name] = min(beside, self._beside.get(name, beside))
        self.heads = {text: head for text, head in self.heads.items() if text not in over}
        return over

    def probes(self) -> list[str]:
        """A stack of each family of mappings that does otherwise than the reference in use."""
        probes: dict[str, str] = {}
        for head in self.heads.values():
            if self.family(head.text) in PROBES:
                probes.setdefault(self.family(head.text), head.text + head.tails[0])
        return list(probes.values())

    def simpler(self, stack: str) -> list[str]:
        """The stack without each of its free settings in turn, and without any of them.

        Free are those that are no RAM and were not asked for. Settings may do nothing where they
        are, as the window of a policy that another one replaces.
        """
        parts = [part.split(":") for part in stack.split("+")]
        required = self._asked_for()
        extra = [
            (name, setting)
            for name, *settings in parts
            for setting in settings
            if (name, setting) not in required and not is_size(self._parameter(name, setting))
        ]
        without = [{pair} for pair in extra] + ([set(extra)] if len(extra) > 1 else [])
        return [
            "+".join(
                ":".join(self._acting(name, [setting for setting in rest if (name, setting) not in gone], required))
                for name, *rest in parts
            )
            for gone in without
        ]

    def turned(self, stack: str) -> list[str]:
        """The stack with each of its words and switches set to each other value, one at a time.

        None is set otherwise that was asked for, or that would not act. Where wear policies are
        searched, it comes under each other one, too.
        """
        parts = [part.split(":") for part in stack.split("+")]
        required = self._asked_for()
        name, *settings = stack.partition("+")[0].split(":")
        behind = {
            tail
            for head in self.heads.values()
            if (given := head.text.split(":"))[0] == name and {*given[1:]} <= {*settings}
            for tail in head.tails
        }
        stacks = [
            other
            for other in with_policies(stack, wear_policies(list(self.heads.values())))
            if "".join(f"+{name}" for name in study.parts(other)[1:]) in behind
        ]
        for number, (name, *settings) in enumerate(parts):
            written = dict(setting.split("=", 1) for setting in settings)
            for parameter in self._parameters[name]:
                key = parameter["name"]
                if parameter["kind"] not in ("choice", "switch") or key in NOT_SEARCHED:
                    continue
                if (name, f"{key}={written.get(key)}") in required:
                    continue
                others = [setting for setting in settings if setting.partition("=")[0] != key]
                for value in _words(parameter):
                    if value == written.get(key, parameter["default"]):
                        continue
                    chosen = [] if value == parameter["default"] else [f"{key}={value}"]
                    acting = self._acting(name, sorted([*others, *chosen]), required)
                    if {*chosen} <= {*acting}:
                        stacks.append(
                            "+".join(":".join(part) for part in [*parts[:number], acting, *parts[number + 1 :]])
                        )
        return stacks

    def smaller(self, stack: str) -> list[str]:
        """The stack with one size of RAM halved, each in turn.

        None is halved that was asked for or would be below its least.
        """
        return [_resized(stack, size, half) for size in self._sizes(stack) if (half := self._half(size)) is not None]

    def logs(self, name: str) -> dict[str, float]:
        """The sizes of a mapping's log, ascending, each with the mapping's RAM in bytes."""
        return dict(self._logs.get(name, {}))

    def relogged(self, stack: str, unused_bytes: float = math.inf) -> list[tuple[str, float]]:
        """The stack with each smaller log, and with each larger one that the unused RAM allows.

        Each comes with the RAM that it takes more, below 0 if it takes less; the nearest are first.
        """
        name, *settings = stack.partition("+")[0].split(":")
        given = {setting.partition("=")[0]: setting for setting in settings}
        shares = self._logs.get(name, {})
        keys = [key for key in given if (name, given[key]) in self._asked_for() and is_log_name(key)]
        if not shares or keys or "log_blocks" in given:
            return []
        default = next(parameter["default"] for parameter in self._parameters[name] if is_log(parameter))
        now = given.get(_LOG, f"={default}").partition("=")[2]
        if now not in shares:
            return []
        order = list(shares)
        near = sorted((share for share in order if share != now), key=lambda s: abs(order.index(s) - order.index(now)))
        others = [setting for setting in settings if setting.partition("=")[0] != _LOG]
        made = []
        for share in near:
            chosen = [] if share == default else [f"{_LOG}={share}"]
            mapping = ":".join([name, *sorted([*others, *chosen])])
            made.append(("+".join([mapping, *stack.split("+")[1:]]), shares[share] - shares[now]))
        return [(other, more) for other, more in made if more <= unused_bytes]

    def fitted(self, stack: str, excess_bytes: int) -> str | None:
        """The stack with its largest size smaller by what it takes too much, if that may be."""
        size = max(self._sizes(stack, with_defaults=True), key=lambda size: size.size_bytes, default=None)
        if size is None:
            return None
        smaller = level(rank(max(0, size.size_bytes - excess_bytes)))
        return _resized(stack, size, smaller) if smaller >= self._floor(size.owner, size.parameter) else None

    def refilled(self, stack: str, unused_bytes: int) -> list[list[str]]:
        """The stack with its RAM, and some that it leaves unused, shared otherwise.

        What is unused goes into each of its caches and buffers in turn, and into each buffer that
        may go before it, if it has none; alone, with half of another size, and with a quarter of
        it. Of each sharing the largest that may fit comes first, then the next smaller one: what is
        cached takes some bytes more than its size.
        """
        sizes = self._sizes(stack, with_defaults=True)
        buffers = [_Size(stack.count("+") + 1, name, parameter, 0) for name, parameter in self._buffers(stack)]
        largest = max(sizes, key=lambda size: size.size_bytes, default=None)
        cuts: list[tuple[_Size | None, str, int]] = [(None, stack, 0)]
        for kept, size in product(_KEPT, sizes):
            kept_bytes = level(rank(int(kept * size.size_bytes)))
            if kept_bytes >= self._floor(size.owner, size.parameter):
                cuts.append((size, _resized(stack, size, kept_bytes), size.size_bytes - kept_bytes))
        smaller = [(other, int(-more)) for other, more in self.relogged(stack, -1.0)]
        # The nearest size of a log is half as large again, so each second one is half of another.
        cuts += [(None, other, freed) for other, freed in smaller[1::2]]
        shared = []
        for less, rest, freed_bytes in cuts:
            more_bytes = unused_bytes + freed_bytes
            for more in (*sizes, *(buffers if less in (None, largest) else ())):
                top = rank(int(min(more.size_bytes + more_bytes, self._most(more.owner, more.parameter))))
                least = max(more.size_bytes + 1, self._floor(more.owner, more.parameter))
                tried = [
                    _resized(rest, more, larger) for larger in (level(top), level(max(0, top - 1))) if larger >= least
                ]
                if more != less and tried:
                    shared.append(tried)
        return shared

    def _sizes(self, stack: str, *, with_defaults: bool = False) -> list[_Size]:
        """The sizes of RAM of a stack that were not asked for, as they are written.

        With `with_defaults` also those that are not written.
        """
        required, sizes = self._asked_for(), []
        for number, part in enumerate(stack.split("+")):
            name, *settings = part.split(":")
            written = dict(setting.split("=", 1) for setting in settings)
            for parameter in filter(is_ram, self._parameters[name]):
                key = parameter["name"]
                is_meant = (name, f"{key}={written[key]}") not in required if key in written else with_defaults
                if is_meant:
                    size_bytes = values.size(written.get(key, parameter["default"])) or 0
                    sizes.append(_Size(number, name, parameter, size_bytes))
        return sizes

    def _half(self, size: _Size) -> int | None:
        """Half of a size; None if that is below the least that is tried."""
        half = size.size_bytes // 2
        return half if half >= self._floor(size.owner, size.parameter) else None

    def _buffers(self, stack: str) -> list[tuple[str, Json]]:
        """The buffers that may go before a stack, each with its size; none if it has one."""
        mapping, *others = stack.split("+")
        name, *settings = mapping.split(":")
        part_names = [part.partition(":")[0] for part in others]
        names = {
            added
            for head in self.heads.values()
            if name == head.text.partition(":")[0] and {*head.text.split(":")[1:]} <= {*settings}
            for *before, added in (tail.split("+")[1:] for tail in head.tails if tail)
            if self._kinds.get(added) == "buffer" and before == part_names
        }
        return [(kind, next(filter(is_ram, self._parameters[kind]))) for kind in self._kinds if kind in names]

    def _acting(self, name: str, settings: Sequence[str], required: Collection[tuple[str, str]]) -> list[str]:
        """A part with its settings, less those that act only with a value that is not there.

        So does the window of a policy that is not chosen. Those that are to be `kept` stay.
        """
        values = {parameter["name"]: parameter["default"] for parameter in self._parameters[name]}
        values |= {key: value for key, _, value in (setting.partition("=") for setting in settings)}
        needed = self._needs[name]
        acting = [
            setting
            for setting in settings
            if (name, setting) in required
            or (key := setting.partition("=")[0]) not in needed
            or values[needed[key][0]] == needed[key][1]
        ]
        return [name, *acting]

    def _asked_for(self) -> set[tuple[str, str]]:
        """The settings that were asked for, each with its part."""
        query = {part for head in self.heads.values() for tail in head.tails for part in (head.text + tail).split("+")}
        return {(part.partition(":")[0], setting) for part in query for setting in part.split(":")[1:]}

    def _floor(self, owner: str, parameter: Json) -> int:
        """The least RAM that is tried."""
        return self._floors.get(f"{owner}.{parameter['name']}", max(FLOOR_BYTES, int(parameter["min"])))

    def _most(self, owner: str, parameter: Json) -> float:
        """The most RAM that is tried; the caches of a mapping share what the whole map takes."""
        if not is_map_cache(parameter):
            return float(parameter["max"])
        share = self._map_bytes / sum(map(is_map_cache, self._parameters[owner]))
        return min(float(parameter["max"]), max(share, self._floor(owner, parameter)))

    def _parameter(self, owner: str, setting: str) -> Json:
        parameter: Json = next(
            candidate for candidate in self._parameters[owner] if candidate["name"] == setting.partition("=")[0]
        )
        return parameter

    def _part(self, text: str, chooser: Chooser) -> str:
        """A part with the settings that it came with and those that are chosen."""
        name, *given = text.split(":")
        fixed = {setting.partition("=")[0] for setting in given}
        free = [
            parameter
            for parameter in self._parameters[name]
            if parameter["name"] not in fixed | NOT_SEARCHED and parameter["kind"] != "duration"
        ]
        sizes = [parameter for parameter in free if is_ram(parameter)]
        chosen = [f"{parameter['name']}={self._size(name, parameter, chooser)}" for parameter in sizes]
        if not any(map(is_log_name, fixed)):
            chosen += self._log(name, chooser)
        others = {parameter["name"]: parameter for parameter in free if not is_size(parameter)}
        # By the text: what is left to tune differs with what the part came with.
        tuned = [chooser.suggest_categorical(f"tune {text} {slot}", ["", *others]) for slot in range(_TUNED) if others]
        for parameter in (others[key] for key in dict.fromkeys(tuned) if key):
            value = _value(f"{name}.{parameter['name']}", parameter, chooser)
            if value != parameter["default"]:
                chosen.append(f"{parameter['name']}={value}")
        # In order, so that one stack has one text.
        return ":".join(self._acting(name, sorted([*given, *chosen]), {(name, setting) for setting in given}))

    def _log(self, name: str, chooser: Chooser) -> list[str]:
        """The size of a mapping's log as a setting; none without a log, or for its default."""
        shares = list(self._logs.get(name, ()))
        if not shares:
            return []
        default = next(parameter["default"] for parameter in self._parameters[name] if is_log(parameter))
        share = chooser.suggest_log(f"{name}.{_LOG}", shares, default)
        return [] if share == default else [f"{_LOG}={share}"]

    def _size(self, owner: str, parameter: Json, chooser: Chooser) -> str:
        key = f"{owner}.{parameter['name']}"
        low = self._floor(owner, parameter)
        high = max(low, int(min(self._ceiling - self._beside.get(owner, 0), self._most(owner, parameter))))
        return _written(level(chooser.suggest_int(key, rank(low, up=True), max(rank(low, up=True), rank(high)))))


@dataclass(frozen=True)
class _Size:
    """A size of RAM of a stack."""

    part: int
    """The place of its part in the stack."""
    owner: str
    """The part's name."""
    parameter: Json
    size_bytes: int


def _resized(stack: str, size: _Size, size_bytes: int) -> str:
    """A stack with another size; a part that it does not have is added."""
    parts = [part.split(":") for part in stack.split("+")]
    if size.part == len(parts):
        parts.append([size.owner])
    key = size.parameter["name"]
    name, *settings = parts[size.part]
    others = [setting for setting in settings if setting.partition("=")[0] != key]
    # In order, so that one stack has one text.
    parts[size.part] = [name, *sorted([*others, f"{key}={_written(size_bytes)}"])]
    return "+".join(":".join(part) for part in parts)


def holders(stack: str) -> list[str]:
    """The parts of a stack that keep acknowledged writes in RAM until a flush, by the registry."""
    return [name for name in study.parts(stack) if _holds_writes(name)]


@cache
def _holds_writes(name: str) -> bool:
    parts = (part for part in catalogue.parts() if part["name"] == name)
    return any(part["kind"] == "buffer" or part["write_buffer"] for part in parts)


def is_ram(parameter: Json) -> bool:
    """Whether a parameter is an amount of RAM, by what the registry says of it."""
    return bool(parameter["kind"] == "bytes" and parameter["meaning"].startswith("RAM"))


def is_map_cache(parameter: Json) -> bool:
    """Whether a parameter is RAM that holds a part of the map and nothing else."""
    return is_ram(parameter) and bool(parameter["meaning"].startswith("RAM of the cached"))


_LOG = "log_space"
Logs = Mapping[str, Mapping[str, float]]
"""By mapping the sizes that its log may have on a device, ascending, each with its RAM in bytes."""


def is_log_name(name: str) -> bool:
    """Whether a parameter of this name sets the size of a log."""
    return name in (_LOG, "log_blocks")


def is_log(parameter: Json) -> bool:
    """Whether a parameter is the size of a log, whose map takes RAM."""
    return bool(parameter["name"] == _LOG)


def is_size(parameter: Json) -> bool:
    """Whether a parameter decides how much RAM a part takes: RAM, or the size of a log."""
    return is_ram(parameter) or is_log_name(parameter["name"])


def log_shares(parameter: Json) -> list[str]:
    """The sizes that are tried of a log, ascending: the smallest that there is, then by steps."""
    return [f"{parameter['min']:g}", *_numbers(parameter)]


def needs(parameters: Sequence[Json]) -> dict[str, tuple[str, str]]:
    """Parameters that act only with one value of another, by what the registry says of them.

    A meaning names that value before anything else: it begins with `With KEY = VALUE`, or its first
    clause names a policy, whose hyphen tells it from a word.
    """
    policies = {value: other["name"] for other in parameters for value in other.get("of", ()) if "-" in value}
    names = {parameter["name"] for parameter in parameters}
    needed: dict[str, tuple[str, str]] = {}
    for parameter in parameters:
        clause = re.split("[;.]", parameter["meaning"])[0]
        match = re.match(r"With (\w+) = ([\w-]+)", clause)
        if match and match[1] in names:
            needed[parameter["name"]] = (match[1], match[2])
            continue
        named = [
            word for word in re.findall(r"[\w-]+", clause) if policies.get(word, parameter["name"]) != parameter["name"]
        ]
        if len(named) == 1:
            needed[parameter["name"]] = (policies[named[0]], named[0])
    return needed


def level(place: int) -> int:
    """The size at a place of the scale of sizes: 8, 9, 10 … 15, 16, 18, 20 … bytes."""
    return (_STEPS + place % _STEPS) << (place // _STEPS)


def rank(size: int, *, up: bool = False) -> int:
    """The place of the largest size up to this one; with `up`, of the least from this one on."""
    place = 0
    while level(place + 1) <= size:
        place += 1
    return place + 1 if up and level(place) < size else place


def _written(size: int) -> str:
    """A size as one types it: 80KiB."""
    return values.plain(f"{size}B")


def _value(key: str, parameter: Json, chooser: Chooser) -> str:
    """A parameter that is no amount of RAM."""
    kind, default = parameter["kind"], parameter["default"]
    if kind in ("choice", "switch"):
        return chooser.suggest_categorical(key, _words(parameter))
    if kind == "bytes":
        least, middle = max(512, parameter["min"]), values.size(default) or 512
        low, high = max(least, middle >> _OCTAVES), min(parameter["max"], max(middle, least) << _OCTAVES)
        return _written(level(chooser.suggest_int(key, rank(low, up=True), rank(high))))
    numbers = _numbers(parameter)
    return numbers[chooser.suggest_int(key, 0, len(numbers) - 1)] if len(numbers) > 1 else default


def _words(parameter: Json) -> list[str]:
    """The values of a choice or a switch that can be built, and are worth a search."""
    names = parameter["of"] if parameter["kind"] == "choice" else ["true", "false"]
    return [name for name in names if (parameter["name"], name) not in NOT_TO_BE_BUILT]


def _numbers(parameter: Json) -> list[str]:
    """The values of a number that are tried, ascending."""
    default = _number(parameter["default"])
    if parameter["kind"] == "integer":
        tried = (
            [0, *(2**power for power in range(_FROM_ZERO))]
            if default == 0
            else [round(default * 2.0**power) for power in range(-_OCTAVES, _OCTAVES + 1)]
        )
        return [str(number) for number in dict.fromkeys(tried) if parameter["min"] <= number <= parameter["max"]]
    numbers = [default * 2.0 ** (power / 2) for power in range(-2 * _OCTAVES, 2 * _OCTAVES + 1)]
    in_range = [number for number in numbers if parameter["min"] <= number <= parameter["max"]]
    return list(dict.fromkeys(parameter["default"] if number == default else f"{number:.2g}" for number in in_range))


def _number(text: str) -> float:
    """A default as a number; `20%` is 0.2."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


class Rule:
    """Chooses by a rule and remembers what it chose, so that Optuna can begin with it."""

    def __init__(
        self,
        head: Head,
        size: Callable[[int, int], int],
        turned: Sequence[tuple[str, str]] = (),
        tail: str = "",
        log: str = "",
    ) -> None:
        """`turned` are settings of the mapping with their values; nothing else is tuned.

        `tail` is what goes behind the mapping, by default the first that may. `log` is the size of
        its log: the smallest with the least RAM, else by default that of the mapping.
        """
        self.params: dict[str, str | int] = {}
        self.sizes: list[int] = []
        """The sizes that it chose, in bytes."""
        self._log = log
        self._head, self._size, self._turned = head, size, turned
        self._tail = tail

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """The mapping of the rule with its first tail, and what is turned."""
        owner = self._head.text.partition(":")[0]
        ruled = {
            "mapping": self._head.text,
            f"behind {self._head.text}": self._tail or choices[0],
            **{f"tune {self._head.text} {slot}": key for slot, (key, _) in enumerate(self._turned)},
            **{f"{owner}.{key}": value for key, value in self._turned},
        }
        chosen = ruled.get(name, choices[0])
        self.params[name] = chosen
        return chosen

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """The size of the rule."""
        chosen = min(max(self._size(low, high), low), high)
        self.params[name] = chosen
        self.sizes.append(level(chosen))
        return chosen

    def suggest_log(self, name: str, shares: Sequence[str], default: str) -> str:
        """The log of the rule, or the largest below it that fits."""
        chosen = self._log or (shares[0] if self._size is _least else default)
        if chosen not in shares:
            chosen = shares[-1]
        self.params[name] = shares.index(chosen)
        return chosen


Proposals = dict[str, dict[str, "str | int"]]
"""What is proposed to Optuna, by the stack that it comes to."""


def halves(space: Space) -> Proposals:
    """What a search begins with: every mapping with half of the ceiling."""
    return _proposed(space, [Rule(head, _half) for head in space.heads.values()])


def collecting(space: Space, *, timeless: bool) -> Proposals:
    """Each mapping with half of the ceiling as it copies least, or holds up the host least."""
    heads = space.heads.values()
    if timeless:
        rules = [Rule(head, _half, [word]) for head in heads for word in space.words(head, _CLASSIFIERS)]
    else:
        rules = [Rule(head, _half, words) for head in heads if (words := space.words(head, _PACED))]
    return _proposed(space, rules)


def logs(space: Space, heads: Sequence[str], ram_bytes: float) -> Proposals:
    """Some mappings with each second size of their log that takes no more RAM, the largest first.

    The first mapping comes first, with all of them.
    """
    rules = []
    for head in heads:
        shares = [share for share, ram in space.logs(head.partition(":")[0]).items() if ram <= ram_bytes]
        rules += [Rule(space.heads[head], _half, log=share) for share in (*shares[::-2], *shares[:1])]
    return _proposed(space, rules)


def levelled(space: Space, heads: Sequence[str]) -> Proposals:
    """Some mappings with half of the ceiling under each wear policy, the first mapping first."""
    policies = {f"+{policy}" for policy in wear_policies(list(space.heads.values()))}
    return _behind(space, heads, lambda tail: tail in policies)


def named(space: Space) -> Proposals:
    """Every stack that was named, with half of the ceiling."""
    return _behind(space, list(space.heads), lambda _: True)


def _behind(space: Space, heads: Sequence[str], is_meant: Callable[[str], bool]) -> Proposals:
    rules = [
        Rule(space.heads[head], _half, tail=tail)
        for head in heads
        for tail in space.heads[head].tails
        if is_meant(tail)
    ]
    return _proposed(space, rules)


def with_policies(stack: str, policies: Sequence[str]) -> list[str]:
    """The stack under each of some wear policies that it does not have, and under none."""
    head, *others = stack.split("+")
    kinds = {part["name"]: part["kind"] for part in catalogue.parts()}
    rest = [part for part in others if kinds[part.partition(":")[0]] != "wear policy"]
    now = [part.partition(":")[0] for part in others if part not in rest]
    chosen = [name for name in ("", *policies) if name not in ("none", *(now or [""]))]
    return ["+".join([head, *filter(None, [name]), *rest]) for name in chosen] if policies else []


def wear_policies(heads: Sequence[Head]) -> list[str]:
    """The wear policies that may go behind some beginnings, in the registry's order."""
    tails = {tail for head in heads for tail in head.tails}
    return [part["name"] for part in catalogue.parts() if part["kind"] == "wear policy" and f"+{part['name']}" in tails]


def others(space: Space) -> Proposals:
    """What it goes on with: every mapping with the least RAM, and with a quarter of the ceiling.

    With the least RAM each of a mapping's switches is turned, too: what costs RAM and what saves it
    may go together.
    """
    heads = list(space.heads.values())
    rules = [
        *(Rule(head, _least) for head in heads),
        *(Rule(head, _least, [turned]) for head in heads for turned in space.switches(head)),
        *(Rule(head, lambda _, high: high - 2 * _STEPS) for head in heads),
    ]
    return _proposed(space, rules)


def doublings(space: Space, heads: Sequence[str]) -> Proposals:
    """Some mappings with every size from the ceiling down in halves, the first mapping first.

    Sizes that are drawn leave holes in a front.
    """
    rules = [
        Rule(space.heads[head], lambda _low, high, halvings=halvings: high - halvings * _STEPS)  # type: ignore[misc] # a default
        for head in heads
        for halvings in range(_HALVINGS)
    ]
    return _proposed(space, rules)


def _proposed(space: Space, rules: Sequence[Rule]) -> Proposals:
    proposals: Proposals = {}
    for rule in rules:
        proposals.setdefault(space.ask(rule), rule.params)
    return proposals


def _least(low: int, _: int) -> int:
    return low


def _half(_: int, high: int) -> int:
    return high - _STEPS


def filling(space: Space, ram_bytes: int, takes: Callable[[str], float | None]) -> Proposals:
    """Every mapping with as much RAM as there is, by what it takes beside its caches.

    `takes` tells what a stack takes. Where there are several caches, they share alike.
    """
    rules = []
    for head in space.heads.values():
        rule = Rule(head, _half)
        took = takes(space.ask(rule))
        sizes = rule.sizes
        if took is None or not sizes:
            continue
        share_bytes = int(ram_bytes - took + sum(sizes)) // len(sizes)
        if share_bytes >= FLOOR_BYTES:
            rules.append(Rule(head, lambda _low, _high, share_bytes=share_bytes: rank(share_bytes)))  # type: ignore[misc] # a default
    return _proposed(space, rules)
