"""The rivals of a stack by what they take of RAM: the reference behind a write buffer.

A mapping that keeps data in RAM may lead by that alone. So the reference is tried with as much: its
map, and the rest of the RAM as a write buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit._util.stacks import mapping
from ftlkit.advice.query import REFERENCE

if TYPE_CHECKING:
    from ftlkit.advice.search_result import Rung, SearchResult
    from ftlkit.advice.space import Space

_AS_MUCH = 1.15
"""RAM sizes within this factor count as equal: there are eight steps per doubling."""


def rivals(space: Space, result: SearchResult, rung: Rung, stack: str) -> list[str]:
    """The reference behind each write buffer with the RAM of a stack; none if one was tried.

    None either where the map alone takes as much, or where the reference is not searched.
    """
    taken, alone = (tried.mean("ram_bytes") if (tried := rung.tried.get(name)) else None for name in (stack, REFERENCE))
    if REFERENCE not in space.heads or taken is None or alone is None or _is_reference(stack):
        return []
    known = [run for prefix in result.rungs for name, run in prefix.tried.items() if _is_rival(name)]
    if taken <= alone or any(_AS_MUCH * (run.mean("ram_bytes") or 0.0) >= taken for run in known):
        return []
    buffered = space.refilled(REFERENCE, int(taken - alone))
    # Of each buffer the largest size that fits.
    return [next((size for size in sizes if size not in rung.over), sizes[-1]) for sizes in buffered]


def _is_reference(stack: str) -> bool:
    """Whether a stack is the reference, with whatever settings and parts."""
    return mapping(stack) == REFERENCE


def _is_rival(stack: str) -> bool:
    """Whether a stack is the reference with another part, such as a write buffer."""
    return _is_reference(stack) and "+" in stack
