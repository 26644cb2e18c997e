"""What can be tried: stacks and their parameters, with the ranges that the registry declares.

RAM is searched on a logarithmic scale of eight steps a doubling (64, 72, 80 … KiB), from the least that works on the
device to a ceiling. Of the other parameters a trial sets at most two of a part: numbers from an eighth to eight times
their default, words to any value. Times are what the hardware is, not what one chooses, and are never searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ftlkit import api, study
from ftlkit._native import UserError
from ftlkit.sweep import values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ftlkit.document import Json

FLOOR_BYTES = 1 << 10
"""The least RAM that a cache or a buffer is tried with, unless its own least is above."""

MOST_FLOOR_BYTES = 1 << 24
"""Where the least RAM of a part is not looked for any further."""

NOT_TO_BE_BUILT = frozenset({("victims", "opt")})
"""Values of parameters that know the future and so exist in a simulation alone."""

_UNREADABLE = "ftl.name: "
"""So begins what is said of a stack that cannot be on any device; else it does not fit this one."""

_TUNED = 2
"""So many parameters of a part, beside its RAM, are set to something else than their default at most."""
_STEPS = 8
"""Sizes a doubling."""
_OCTAVES = 3
"""How many doublings a number is searched to either side of its default."""
_FROM_ZERO = 7
"""A number whose default is 0, which stands for off or for automatic, is searched at 0, 1, 2, 4 … 64."""


class Chooser(Protocol):
    """Chooses values: a trial of Optuna, or a rule."""

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of some words."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""


@dataclass(frozen=True)
class Head:
    """A stack's beginning, with the parts that may go behind it."""

    text: str
    tails: tuple[str, ...]
    """Each empty, or parts with a plus in front of each."""


class Space:
    """The stacks that a search chooses from."""

    def __init__(self, heads: Sequence[Head], ceiling_bytes: int, floors: Mapping[str, int]) -> None:
        """`floors` has the least RAM of parameters, in bytes, by their keys such as `dftl.cmt`."""
        self.heads = {head.text: head for head in heads}
        self._ceiling, self._floors = ceiling_bytes, floors
        self._parameters = {part["name"]: part["parameters"] for part in api.parts()}

    def ask(self, chooser: Chooser) -> str:
        """A stack, as on the command line."""
        names = list(self.heads)
        head = self.heads[names[0] if len(names) == 1 else chooser.suggest_categorical("mapping", names)]
        tail = head.tails[0]
        if len(head.tails) > 1:
            tail = chooser.suggest_categorical(f"behind {head.text}", head.tails)
        text = head.text + tail
        return "+".join(self._part(part, chooser) for part in text.split("+"))

    def simpler(self, stack: str) -> list[str]:
        """The stack without one of the settings that are no RAM and were not asked for, each in turn; and without any.

        Settings may do nothing where they are, as the window of a policy that another one replaces.
        """
        parts = [part.split(":") for part in stack.split("+")]
        kept = self._asked_for()
        extra = [
            (name, each)
            for name, *settings in parts
            for each in settings
            if (name, each) not in kept and not is_ram(self._parameter(name, each))
        ]
        without = [{each} for each in extra] + ([set(extra)] if len(extra) > 1 else [])
        return [
            "+".join(":".join([name, *(each for each in rest if (name, each) not in gone)]) for name, *rest in parts)
            for gone in without
        ]

    def smaller(self, stack: str) -> list[str]:
        """The stack with half of one RAM that was not asked for, each in turn, where that is not below the least."""
        parts, kept, found = stack.split("+"), self._asked_for(), []
        for number, part in enumerate(parts):
            name, *settings = part.split(":")
            for place, each in enumerate(settings):
                parameter = self._parameter(name, each)
                half = (values.size(each.partition("=")[2]) or 0) // 2
                if (name, each) in kept or not is_ram(parameter) or half < self._floor(name, parameter):
                    continue
                fewer = [*settings[:place], f"{parameter['name']}={_written(half)}", *settings[place + 1 :]]
                found.append("+".join([*parts[:number], ":".join([name, *fewer]), *parts[number + 1 :]]))
        return found

    def _asked_for(self) -> set[tuple[str, str]]:
        """The settings that were asked for, each with its part."""
        asked = {part for head in self.heads.values() for tail in head.tails for part in (head.text + tail).split("+")}
        return {(part.partition(":")[0], each) for part in asked for each in part.split(":")[1:]}

    def _floor(self, owner: str, parameter: Json) -> int:
        """The least RAM that is tried."""
        return self._floors.get(f"{owner}.{parameter['name']}", max(FLOOR_BYTES, int(parameter["min"])))

    def _parameter(self, owner: str, setting: str) -> Json:
        found: Json = next(each for each in self._parameters[owner] if each["name"] == setting.partition("=")[0])
        return found

    def _part(self, text: str, chooser: Chooser) -> str:
        """A part with the settings that it came with and those that are chosen."""
        name, *given = text.split(":")
        fixed = {each.partition("=")[0] for each in given}
        free = [each for each in self._parameters[name] if each["name"] not in fixed and each["kind"] != "duration"]
        sizes = [each for each in free if is_ram(each)]
        chosen = [f"{each['name']}={self._size(name, each, chooser)}" for each in sizes]
        others = {each["name"]: each for each in free if not is_ram(each)}
        # By the text: what is left to tune differs with what the part came with.
        tuned = [chooser.suggest_categorical(f"tune {text} {slot}", ["", *others]) for slot in range(_TUNED) if others]
        for each in (others[key] for key in dict.fromkeys(tuned) if key):
            value = _value(f"{name}.{each['name']}", each, chooser)
            if value != each["default"]:
                chosen.append(f"{each['name']}={value}")
        # In order, so that one stack has one text.
        return ":".join([name, *sorted([*given, *chosen])])

    def _size(self, owner: str, parameter: Json, chooser: Chooser) -> str:
        key = f"{owner}.{parameter['name']}"
        low = self._floor(owner, parameter)
        high = max(low, min(self._ceiling, parameter["max"]))
        return _written(level(chooser.suggest_int(key, rank(low, up=True), max(rank(low, up=True), rank(high)))))


def is_ram(parameter: Json) -> bool:
    """Whether a parameter is an amount of RAM, by what the registry says of it."""
    return bool(parameter["kind"] == "bytes" and parameter["meaning"].startswith("RAM"))


def level(place: int) -> int:
    """The size at a place of the scale of sizes: 8, 9, 10 … 15, 16, 18, 20 … bytes."""
    return (_STEPS + place % _STEPS) << (place // _STEPS)


def rank(size: int, *, up: bool = False) -> int:
    """The place of the largest size that is at most so large; with `up`, of the least that is at least so large."""
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
        names = parameter["of"] if kind == "choice" else ["true", "false"]
        return chooser.suggest_categorical(
            key, [each for each in names if (parameter["name"], each) not in NOT_TO_BE_BUILT]
        )
    if kind == "bytes":
        least, middle = max(512, parameter["min"]), values.size(default) or 512
        low, high = max(least, middle >> _OCTAVES), min(parameter["max"], max(middle, least) << _OCTAVES)
        return _written(level(chooser.suggest_int(key, rank(low, up=True), rank(high))))
    numbers = _numbers(parameter)
    return numbers[chooser.suggest_int(key, 0, len(numbers) - 1)] if len(numbers) > 1 else default


def _numbers(parameter: Json) -> list[str]:
    """The values of a number that are tried, ascending."""
    default = _number(parameter["default"])
    if parameter["kind"] == "integer":
        tried = (
            [0, *(2**power for power in range(_FROM_ZERO))]
            if default == 0
            else [round(default * 2.0**power) for power in range(-_OCTAVES, _OCTAVES + 1)]
        )
        return [str(each) for each in dict.fromkeys(tried) if parameter["min"] <= each <= parameter["max"]]
    found = [default * 2.0 ** (power / 2) for power in range(-2 * _OCTAVES, 2 * _OCTAVES + 1)]
    kept = [each for each in found if parameter["min"] <= each <= parameter["max"]]
    return list(dict.fromkeys(parameter["default"] if each == default else f"{each:.2g}" for each in kept))


def _number(text: str) -> float:
    """A default as a number; `20%` is 0.2."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


class Rule:
    """Chooses by a rule, and remembers what it chose, so that Optuna can be told to begin with it."""

    def __init__(self, head: Head, size: Callable[[int, int], int]) -> None:
        self.params: dict[str, str | int] = {}
        self._head, self._size = head, size

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """The mapping of the rule with its first tail; nothing is tuned."""
        chosen = self._head.text if name == "mapping" else choices[0]
        self.params[name] = chosen
        return chosen

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """The size of the rule."""
        chosen = min(max(self._size(low, high), low), high)
        self.params[name] = chosen
        return chosen


def first(space: Space) -> list[Mapping[str, str | int]]:
    """What a search begins with: every mapping with half of the ceiling, with the least RAM, and with a quarter.

    A mapping without RAM to choose is there once.
    """
    found: dict[str, Mapping[str, str | int]] = {}
    for size in (_half, lambda low, _: low, lambda _, high: high - 2 * _STEPS):
        for head in space.heads.values():
            rule = Rule(head, size)
            found.setdefault(space.ask(rule), rule.params)
    return list(found.values())


def _half(_: int, high: int) -> int:
    return high - _STEPS


def filling(space: Space, ram_bytes: int, takes: Callable[[str], float | None]) -> list[Mapping[str, str | int]]:
    """Every mapping with as much RAM as there is, by what it takes beside its caches; `takes` tells what a stack takes.

    Where there are several caches, they share alike.
    """
    found: list[Mapping[str, str | int]] = []
    for head in space.heads.values():
        rule = Rule(head, _half)
        took = takes(space.ask(rule))
        sizes = [level(place) for place in rule.params.values() if isinstance(place, int)]
        if took is None or not sizes:
            continue
        each = int(ram_bytes - took + sum(sizes)) // len(sizes)
        if each >= FLOOR_BYTES:
            filled = Rule(head, lambda _low, _high, each=each: rank(each))  # type: ignore[misc] # a default of its own
            space.ask(filled)
            found.append(filled.params)
    return found


def heads(stacks: Sequence[str], fits: Callable[[str], str], *, levelled: bool) -> tuple[list[Head], dict[str, str]]:
    """The stacks to choose from, and the mappings that do not fit the device, each with the reason.

    Of `stacks` alone if there are some. Else every mapping alone and with each write buffer in front of it; where
    `levelled`, with each wear policy too. `fits` says why a stack cannot be; it is empty for one that can.
    A `UserError` is raised for one of `stacks` that no device has: a name, a key or a value that does not exist.
    """
    refused: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    if stacks:
        for stack in stacks:
            head, plus, rest = stack.partition("+")
            reason = fits(stack)
            if reason.startswith(_UNREADABLE):
                raise UserError(f"--ftl {stack}: {reason.removeprefix(_UNREADABLE)}")
            if reason:
                refused[stack] = reason
            else:
                found.setdefault(head, []).append(plus + rest)
        return [Head(head, tuple(tails)) for head, tails in found.items()], refused
    parts = api.parts()
    names = {
        kind: [each["name"] for each in parts if each["kind"] == kind] for kind in ("mapping", "wear policy", "buffer")
    }
    wear = ["", *(f"+{name}" for name in names["wear policy"] if name != "none")] if levelled else [""]
    for mapping in names["mapping"]:
        reason = fits(mapping)
        if reason:
            refused[mapping] = reason
            continue
        policies = [each for each in wear if not each or not fits(mapping + each)]
        buffers = ["", *(f"+{name}" for name in names["buffer"] if not fits(f"{mapping}+{name}"))]
        found[mapping] = [policy + buffer for buffer in buffers for policy in policies]
    return [Head(head, tuple(tails)) for head, tails in found.items()], refused


def floors(heads: Sequence[Head], fits: Callable[[str], str]) -> dict[str, int]:
    """The least RAM of each parameter with which its part fits the device, found by doubling."""
    found = {}
    parts = {part["name"]: part for part in api.parts()}
    for name, over in {part.partition(":")[0]: head.text for head in heads for part in _parts_of(head)}.items():
        for parameter in filter(is_ram, parts[name]["parameters"]):
            size = max(FLOOR_BYTES, parameter["min"])
            setting = f"{name}:{parameter['name']}"
            before = "" if parts[name]["kind"] == "mapping" else f"{over}+"
            while size < MOST_FLOOR_BYTES and fits(f"{before}{setting}={size}B"):
                size *= 2
            found[f"{name}.{parameter['name']}"] = size
    return found


def _parts_of(head: Head) -> list[str]:
    return [part for tail in head.tails for part in (head.text + tail).split("+")]


def fitting(device: Json) -> Callable[[str], str]:
    """Tells why a stack cannot work on a device: what the simulator says of a study with one request."""

    def fits(stack: str) -> str:
        workload = {"preset": api.workloads()[0]["name"], "requests": 1, "addresses": "wrap"}
        try:
            api.check_study({"device": device, "workload": workload, "ftl": [study.scheme(stack)]})
        except UserError as error:
            return str(error)
        return ""

    return fits
