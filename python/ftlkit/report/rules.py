"""Sentences as tables: a rule says when it holds, what it then says, and what to do next.

A template names facts, with a function of `units` behind the colon: `{share:share} of page reads`.
Of rules with one id, the first that holds speaks.
"""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ftlkit._util import units

T = TypeVar("T")


@dataclass(frozen=True)
class Rule(Generic[T]):
    """One row of a table."""

    id: str
    when: Callable[[T], Mapping[str, Any] | None]
    """The facts of the sentence where the rule holds; None, or none at all, where it does not."""
    template: str
    next: str = ""
    """The next step."""
    of_many: str = ""
    """What the id means for the points of a sweep; that of one rule is enough."""


@dataclass(frozen=True)
class Told:
    """What a rule said: its id, its facts, and the sentence."""

    kind: str
    facts: Mapping[str, Any]
    text: str


class _Units(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - any fact
        return str(getattr(units, format_spec)(value) if format_spec else value)


def say(template: str, facts: Mapping[str, Any]) -> str:
    """A template with its facts."""
    return _Units().vformat(template, (), facts)


def told(rules: Iterable[Rule[T]], about: T, known: Mapping[str, Any]) -> list[Told]:
    """What the rules of a table say, in its order; `known` are facts of every sentence."""
    found: dict[str, Told] = {}
    for rule in rules:
        if rule.id not in found and (facts := rule.when(about)):
            template = f"{rule.template} {rule.next}" if rule.next else rule.template
            found[rule.id] = Told(rule.id, facts, say(template, {**known, **facts}))
    return list(found.values())


MOST = 8
"""Sentences of an answer on a terminal: its tables and the report say the rest."""


def brief(parts: Sequence[Sequence[str]]) -> tuple[list[Sequence[str]], int]:
    """`MOST` sentences of parts, the weightiest part first; and how many are left."""
    kept: list[Sequence[str]] = []
    for part in parts:
        kept.append(part[: MOST - sum(map(len, kept))])
    return kept, sum(map(len, parts)) - sum(map(len, kept))


def listed(words: list[str]) -> str:
    """Words in a sentence: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
