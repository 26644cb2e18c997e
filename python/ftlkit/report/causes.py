"""The causes of flash operations: the simulator's own table, for reports, charts and docs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ftlkit import _native

_COLOURS = (
    "#7f8a99",
    "#b08f26",
    "#2b93b5",
    "#c46a2d",
    "#6a5bb8",
    "#b5405f",
    "#5f8f8a",
    "#a8649c",
    "#4f8a3c",
    "#4c6fd1",
    "#0e9a78",
    "#c2453a",
    "#cf5f9b",
    "#7a6b2f",
)
"""The colour of each cause, by its number."""

CONTROLLER = "controller"
"""Time between a request's flash operations: no cause of the simulator, but a part of responses."""


@dataclass(frozen=True)
class Cause:
    """A cause, as it is shown."""

    name: str
    """As in results."""
    words: str
    """What a report calls it."""
    meaning: str
    """A sentence."""
    work: str
    """`host`, `mapping`, `moving`, `recovery` or `preparation`."""
    colour: str
    """Hexadecimal RGB."""


def _causes() -> dict[str, Cause]:
    causes = [
        Cause(cause["name"], cause["words"], cause["meaning"], cause["work"], _COLOURS[cause["number"]])
        for cause in json.loads(_native.causes())
    ]
    own = "Time of a request on the controller's RAM and registers, between flash operations."
    controller = Cause(CONTROLLER, "the controller's RAM and registers", own, CONTROLLER, "#857a5c")
    return {cause.name: cause for cause in [*causes, controller]}


CAUSES = _causes()
"""All causes by name, in the order in which bars stack them."""


def cause_name(cause: str) -> str:
    """What a cause is, in words; of results of another version, its name."""
    return CAUSES[cause].words if cause in CAUSES else cause.replace("_", " ")
