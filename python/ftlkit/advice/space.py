"""What can be tried: stacks and their parameters, with the ranges that the registry declares.

A search begins with every mapping as it is by default, and changes one thing of a stack at a time:
the size of its log, its RAM, what its RAM is shared among, a word, or a number. RAM has a
logarithmic scale of eight steps a doubling (64, 72, 80 … KiB), from the least that works on the
device to a ceiling. Numbers are halved and doubled, up to eight times their default. Times are what
the hardware is, not what one chooses, and are never searched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._util.stacks import mapping
from ftlkit.api import catalogue
from ftlkit.sweeps import values

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ftlkit.results.document import Json

FLOOR_BYTES = 1 << 10
"""The least RAM that a cache or a buffer is tried with, unless its own least is above."""

NOT_TO_BE_BUILT = frozenset({("victims", "opt")})
"""Values of parameters that know the future and so exist in a simulation alone."""

NOT_SEARCHED = frozenset({"pslc_static", "pslc_dynamic", "pslc_direct", "log_blocks"})
"""Parameters that few devices allow, and the second one of two that set the same.

A stack that comes with them keeps them.
"""

PROBES = {"demand-paged": "dftl", "log-buffer": "fast"}
"""Families that do otherwise than `page` on a device in use; of each the mapping to look at.

In the order in which they are tried: a demand-paged mapping takes little RAM and seldom has to
merge.
"""

_STEPS = 8
"""Sizes a doubling."""
_HALVED_LOGS = 2
"""So often a log is halved for a buffer."""
_OCTAVES = 3
"""How many doublings a number is searched to either side of its default."""
_FROM_ZERO = 7
"""A number whose default is 0, for off or for automatic, is searched at 0, 1, 2, 4 … 64."""


@dataclass(frozen=True)
class Head:
    """A stack's beginning, with the parts that may go behind it."""

    text: str
    tails: tuple[str, ...]
    """Each empty, or parts with a plus in front of each."""


class Space:
    """The stacks that a search chooses from."""

    def __init__(
        self, heads: Sequence[Head], ceiling_bytes: int, floors: Mapping[str, int], logs: Logs | None = None
    ) -> None:
        """`floors` has the least RAM of parameters, in bytes, by their keys such as `dftl.cmt`.

        `logs` has the sizes of logs by mapping; of a mapping that it leaves out none is searched.
        """
        self._families: dict[str, str] = {scheme["name"]: scheme["family"] for scheme in catalogue.schemes()}
        self.heads = {head.text: head for head in self._in_turn(heads)}
        self.ceiling, self._floors = ceiling_bytes, floors
        self._logs = logs or {}
        self._beside: dict[str, int] = {}
        parts = catalogue.parts()
        self._parameters = {part["name"]: part["parameters"] for part in parts}
        self._kinds: dict[str, str] = {part["name"]: part["kind"] for part in parts}
        asked = {part for head in heads for tail in head.tails for part in (head.text + tail).split("+")}
        self._asked_for = {(part.partition(":")[0], setting) for part in asked for setting in part.split(":")[1:]}
        """The settings that were asked for, each with its part."""
        self._needs = {name: needs(parameters) for name, parameters in self._parameters.items()}

    def _in_turn(self, heads: Sequence[Head]) -> list[Head]:
        """The beginnings by turns of their families: a search cut short has tried most families."""
        order = list(PROBES)
        ranks: dict[str, tuple[int, int]] = {}
        turns: dict[str, int] = {}
        # The looked-at mapping of a family first; a sort keeps the registry's order of the others.
        for head in sorted(heads, key=lambda head: head.text.partition(":")[0] not in PROBES.values()):
            family = self.family(head.text)
            place = order.index(family) if family in order else len(order)
            ranks[head.text] = (turns.setdefault(family, 0), place)
            turns[family] += 1
        return sorted(heads, key=lambda head: ranks[head.text])

    def family(self, stack: str) -> str:
        """The family of a stack's mapping."""
        return self._families[mapping(stack)]

    def stacks(self, *, with_tails: bool) -> list[str]:
        """Every mapping as it is by default, with what is behind it; if `with_tails` each of it."""
        return [head.text + tail for head in self.heads.values() for tail in head.tails[: None if with_tails else 1]]

    def within(self, stack: str) -> str:
        """A stack with the largest log that fits, and half of the ceiling for caches of more."""
        shares = self._logs.get(mapping(stack), {})
        now = self._log_of(stack)
        if now in shares and shares[now] > self.ceiling:
            stack = self._with_log(stack, [share for share in shares if shares[share] <= self.ceiling][-1])
        taken = sum(size.size_bytes for size in self._sizes(stack, with_defaults=True))
        return stack if taken <= self.ceiling // 2 else self.sized(stack, self.ceiling // 2)

    def least(self) -> dict[str, str]:
        """By each beginning the stack of it with the least RAM."""
        stacks = {head.text: head.text + head.tails[0] for head in self.heads.values()}
        least = {head: self.sized(stack, 0) for head, stack in stacks.items()}
        return {
            head: self._with_log(stack, next(iter(self._logs[mapping(stack)]))) if self._log_of(stack) else stack
            for head, stack in least.items()
        }

    def sized(self, stack: str, ram_bytes: float) -> str:
        """The stack with so much RAM shared alike among its sizes that were not asked for."""
        sizes = self._sizes(stack, with_defaults=True)
        for size in sizes:
            most = min(ram_bytes / len(sizes), size.parameter["max"])
            share = level(rank(max(int(most), level(0))))
            stack = _resized(stack, size, max(self._floor(size.owner, size.parameter), share))
        return stack

    def filled(self, stack: str, ram_bytes: float) -> list[str]:
        """The stack, which takes so much RAM, with all that there is; then with a little less."""
        shares, now, unused = self._logs.get(mapping(stack), {}), self._log_of(stack), self.ceiling - ram_bytes
        if now in shares:
            larger = [share for share in shares if shares[share] - shares[now] <= unused]
            return [self._with_log(stack, larger[-1])] if larger else [stack]
        most = max(0.0, unused + sum(size.size_bytes for size in self._sizes(stack, with_defaults=True)))
        return [self.sized(stack, most), self.sized(stack, most * (1 - 1 / (2 * _STEPS)))]

    def bound(self, least: Mapping[str, float]) -> dict[str, float]:
        """Leave out the beginnings whose `least` RAM, in bytes, is above the ceiling; these."""
        over = {text: ram for text, ram in least.items() if ram > self.ceiling}
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
        required = self._asked_for
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
        """The stack with one setting that is no size set otherwise, words and switches first.

        A number is set to the next ones of its scale. None is set otherwise that was asked for, or
        that would not act.
        """
        parts = [part.split(":") for part in stack.split("+")]
        required = self._asked_for
        words: list[str] = []
        numbers: list[str] = []
        for number, (name, *settings) in enumerate(parts):
            written = dict(setting.split("=", 1) for setting in settings)
            for parameter in self._parameters[name]:
                key, kind = parameter["name"], parameter["kind"]
                if key in NOT_SEARCHED or kind == "duration" or is_size(parameter):
                    continue
                if (name, f"{key}={written.get(key)}") in required:
                    continue
                others = [setting for setting in settings if setting.partition("=")[0] != key]
                for value in _others(parameter, written.get(key, parameter["default"])):
                    chosen = [] if value == parameter["default"] else [f"{key}={value}"]
                    acting = self._acting(name, sorted([*others, *chosen]), required)
                    if {*chosen} <= {*acting}:
                        changed = [*parts[:number], acting, *parts[number + 1 :]]
                        made = words if kind in ("choice", "switch") else numbers
                        made.append("+".join(":".join(part) for part in changed))
        return [*words, *numbers]

    def rebuffered(self, stack: str) -> list[str]:
        """The stack with each other buffer of the same size; none if its own was asked for."""
        before, _, last = stack.rpartition("+")
        name, *settings = last.split(":")
        if not before or self._kinds[name] != "buffer" or any((name, each) in self._asked_for for each in settings):
            return []
        size = [setting for setting in settings if setting.startswith("ram=")]
        return [f"{before}+{':'.join([other, *size])}" for other, _ in self._buffers(before) if other != name]

    def smaller(self, stack: str) -> list[str]:
        """The stack with one size of RAM halved, each in turn.

        None is halved that was asked for or would be below its least.
        """
        return [_resized(stack, size, half) for size in self._sizes(stack) if (half := self._half(size)) is not None]

    def relogged(self, stack: str, unused_bytes: float = math.inf) -> list[str]:
        """The stack with each smaller log, and with each larger one that the unused RAM allows.

        First come the doublings and halvings, the nearest first, then the steps between them.
        """
        shares, now = self._logs.get(mapping(stack), {}), self._log_of(stack)
        if now not in shares:
            return []
        order = list(shares)
        steps = {share: abs(order.index(share) - order.index(now)) for share in order if share != now}
        near = sorted(steps, key=lambda share: (steps[share] % _LOG_STEPS, steps[share]))
        return [self._with_log(stack, share) for share in near if shares[share] - shares[now] <= unused_bytes]

    def _log_of(self, stack: str) -> str:
        """The size of a stack's log; empty if it has none, or if it was asked for."""
        name, *settings = stack.partition("+")[0].split(":")
        given = {setting.partition("=")[0]: setting for setting in settings}
        fixed = [key for key in given if (name, given[key]) in self._asked_for and is_log_name(key)]
        if name not in self._logs or fixed or "log_blocks" in given:
            return ""
        default = next(parameter["default"] for parameter in self._parameters[name] if is_log(parameter))
        return given.get(_LOG, f"={default}").partition("=")[2]

    def _with_log(self, stack: str, share: str) -> str:
        head, *others = stack.split("+")
        name, *settings = head.split(":")
        default = next(parameter["default"] for parameter in self._parameters[name] if is_log(parameter))
        chosen = [] if share == default else [f"{_LOG}={share}"]
        rest = [setting for setting in settings if setting.partition("=")[0] != _LOG]
        return "+".join([":".join([name, *sorted([*rest, *chosen])]), *others])

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
        may go before it, if it has none; alone, and with half of another size, or of its log. Of
        each sharing the largest that may fit comes first, then the next smaller one: what is cached
        takes some bytes more than its size. The first buffer comes before all others.
        """
        sizes = self._sizes(stack, with_defaults=True)
        buffers = [_Size(stack.count("+") + 1, name, parameter, 0) for name, parameter in self._buffers(stack)]
        cuts: list[tuple[_Size | None, str, int]] = [(None, stack, 0)]
        halves = [(size, level(rank(half))) for size in sizes if (half := self._half(size)) is not None]
        cuts += [(size, _resized(stack, size, half), size.size_bytes - half) for size, half in halves]
        shares, now = self._logs.get(mapping(stack), {}), self._log_of(stack)
        below = list(shares)[: list(shares).index(now)] if now in shares else []
        halved = below[-_LOG_STEPS::-_LOG_STEPS][:_HALVED_LOGS]
        cuts += [(None, self._with_log(stack, share), int(shares[now] - shares[share])) for share in halved]
        shared = []
        for group in ([*sizes, *buffers[:1]], buffers[1:]):
            for (less, rest, freed_bytes), more in ((cut, more) for cut in cuts for more in group):
                top = rank(min(more.size_bytes + unused_bytes + freed_bytes, more.parameter["max"]))
                least = max(more.size_bytes + 1, self._floor(more.owner, more.parameter))
                tried = [
                    _resized(rest, more, larger) for larger in (level(top), level(max(0, top - 1))) if larger >= least
                ]
                if more != less and tried:
                    shared.append(tried)
        return shared

    def halvings(self, stack: str) -> list[str]:
        """The stack with half of the ceiling for its sizes, a quarter and so on to the least."""
        halves = [self.ceiling >> power for power in range(1, self.ceiling.bit_length())]
        return list(dict.fromkeys(self.sized(stack, half) for half in halves))

    def _sizes(self, stack: str, *, with_defaults: bool = False) -> list[_Size]:
        """The sizes of RAM of a stack that were not asked for, as they are written.

        With `with_defaults` also those that are not written.
        """
        required, sizes = self._asked_for, []
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

    def _floor(self, owner: str, parameter: Json) -> int:
        """The least RAM that is tried."""
        return self._floors.get(f"{owner}.{parameter['name']}", max(FLOOR_BYTES, int(parameter["min"])))

    def _parameter(self, owner: str, setting: str) -> Json:
        parameter: Json = next(
            candidate for candidate in self._parameters[owner] if candidate["name"] == setting.partition("=")[0]
        )
        return parameter


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
    chosen = [] if _written(size_bytes) == size.parameter["default"] else [f"{key}={_written(size_bytes)}"]
    # In order, so that one stack has one text.
    parts[size.part] = [name, *sorted([*others, *chosen])]
    return "+".join(":".join(part) for part in parts)


def is_ram(parameter: Json) -> bool:
    """Whether a parameter is an amount of RAM, by what the registry says of it."""
    return bool(parameter["kind"] == "bytes" and parameter["meaning"].startswith("RAM"))


_LOG, _LOG_STEPS = "log_space", 2
"""The parameter that sets the size of a log, and its steps a doubling."""
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
    return [f"{parameter['min']:g}", *_numbers(parameter, _LOG_STEPS)]


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


def _words(parameter: Json) -> list[str]:
    """The values of a choice or a switch that can be built."""
    names = parameter["of"] if parameter["kind"] == "choice" else ["true", "false"]
    return [name for name in names if (parameter["name"], name) not in NOT_TO_BE_BUILT]


def _others(parameter: Json, now: str) -> list[str]:
    """What a parameter may be set to in place of a value."""
    if parameter["kind"] in ("choice", "switch"):
        return [value for value in _words(parameter) if value != now]
    scale = _bytes(parameter) if parameter["kind"] == "bytes" else _numbers(parameter)
    if now not in scale:
        return []
    place = scale.index(now)
    return [*scale[place + 1 : place + 2], *scale[max(0, place - 1) : place]]


def _bytes(parameter: Json) -> list[str]:
    """The sizes that are tried where they are no RAM, ascending."""
    middle = values.size(parameter["default"]) or 0
    sizes = [middle << power >> _OCTAVES for power in range(2 * _OCTAVES + 1)]
    in_range = [size for size in sizes if max(512, parameter["min"]) <= size <= parameter["max"]]
    return [parameter["default"] if size == middle else _written(size) for size in in_range]


def _numbers(parameter: Json, steps: int = 1) -> list[str]:
    """The values of a number that are tried, ascending; a ratio with so many steps a doubling."""
    default = _number(parameter["default"])
    if parameter["kind"] == "integer":
        tried = (
            [0, *(2**power for power in range(_FROM_ZERO))]
            if default == 0
            else [round(default * 2.0**power) for power in range(-_OCTAVES, _OCTAVES + 1)]
        )
        return [str(number) for number in dict.fromkeys(tried) if parameter["min"] <= number <= parameter["max"]]
    numbers = [default * 2.0 ** (power / steps) for power in range(-steps * _OCTAVES, steps * _OCTAVES + 1)]
    in_range = [number for number in numbers if parameter["min"] <= number <= parameter["max"]]
    return list(dict.fromkeys(parameter["default"] if number == default else f"{number:.2g}" for number in in_range))


def _number(text: str) -> float:
    """A default as a number; `20%` is 0.2."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def wear_policies(heads: Sequence[Head]) -> list[str]:
    """The wear policies that may go behind some beginnings, in the registry's order."""
    tails = {tail for head in heads for tail in head.tails}
    return [part["name"] for part in catalogue.parts() if part["kind"] == "wear policy" and f"+{part['name']}" in tails]
