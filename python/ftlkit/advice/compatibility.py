"""What fits a device and with how much RAM: mappings, what goes with each; why others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit import study
from ftlkit._native import UserError
from ftlkit.advice.space import FLOOR_BYTES, Head, is_ram
from ftlkit.api import catalogue, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.results.document import Json

MOST_FLOOR_BYTES = 1 << 24
"""Where the least RAM of a part is not looked for any further."""

_UNREADABLE = "ftl.name: "
"""So begins what is said of a stack that cannot be on any device; else it does not fit this one."""


def heads(stacks: Sequence[str], fits: Callable[[str], str], *, levelled: bool) -> tuple[list[Head], dict[str, str]]:
    """The stacks to choose from, and the mappings that do not fit the device, each with the reason.

    If there are `stacks`, of these alone. Else every mapping alone and with each write buffer in
    front of it; where `levelled`, with each wear policy too. `fits` says why a stack cannot be; it
    is empty for one that can. A `UserError` is raised for one of `stacks` that no device has: a
    name, a key or a value that does not exist.
    """
    refused: dict[str, str] = {}
    tails_by_head: dict[str, list[str]] = {}
    if stacks:
        for stack in stacks:
            head, plus, rest = stack.partition("+")
            reason = fits(stack)
            if reason.startswith(_UNREADABLE):
                raise UserError(f"--ftl {stack}: {reason.removeprefix(_UNREADABLE)}")
            if reason:
                refused[stack] = reason
            else:
                tails_by_head.setdefault(head, []).append(plus + rest)
        return [Head(head, tuple(tails)) for head, tails in tails_by_head.items()], refused
    parts = catalogue.parts()
    names = {
        kind: [part["name"] for part in parts if part["kind"] == kind] for kind in ("mapping", "wear policy", "buffer")
    }
    wear = ["", *(f"+{name}" for name in names["wear policy"] if name != "none")] if levelled else [""]
    for mapping in names["mapping"]:
        reason = fits(mapping)
        if reason:
            refused[mapping] = reason
            continue
        policies = [policy for policy in wear if not policy or not fits(mapping + policy)]
        buffers = ["", *(f"+{name}" for name in names["buffer"] if not fits(f"{mapping}+{name}"))]
        tails_by_head[mapping] = [policy + buffer for buffer in buffers for policy in policies]
    return [Head(head, tuple(tails)) for head, tails in tails_by_head.items()], refused


def floors(heads: Sequence[Head], fits: Callable[[str], str], smallest: int = FLOOR_BYTES) -> dict[str, int]:
    """The least RAM of each parameter with which its part fits, by doubling from `smallest` on."""
    least = {}
    parts = {part["name"]: part for part in catalogue.parts()}
    for name, over in {part.partition(":")[0]: head.text for head in heads for part in _parts_of(head)}.items():
        for parameter in filter(is_ram, parts[name]["parameters"]):
            size = max(smallest, parameter["min"])
            setting = f"{name}:{parameter['name']}"
            before = "" if parts[name]["kind"] == "mapping" else f"{over}+"
            while size < MOST_FLOOR_BYTES and fits(f"{before}{setting}={size}B"):
                size *= 2
            least[f"{name}.{parameter['name']}"] = size
    return least


def _parts_of(head: Head) -> list[str]:
    return [part for tail in head.tails for part in (head.text + tail).split("+")]


def one_request() -> Json:
    """The least workload that there is, for what does not depend on it."""
    return {"preset": catalogue.workloads()[0]["name"], "requests": 1, "addresses": "wrap"}


def fitting(device: Json) -> Callable[[str], str]:
    """Tells why a stack cannot work on a device: what a study with one request is refused for."""

    def fits(stack: str) -> str:
        try:
            compare.check_study({"device": device, "workload": one_request(), "ftl": [study.scheme(stack)]})
        except UserError as error:
            return str(error)
        return ""

    return fits
