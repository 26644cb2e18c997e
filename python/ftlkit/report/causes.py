"""The causes of flash operations: the simulator's own table, for reports, charts and docs."""

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
    "#3a8dae",
    "#8d5a3a",
    "#5f6f2a",
)
"""The colour of each cause, by its number."""

CONTROLLER = "controller"
LINK = "link"
"""Time beside flash operations: no causes of the simulator, but parts of responses."""


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
    own = "Time of a request at the controller's cores, RAM and registers, beside flash operations."
    controller = Cause(CONTROLLER, "controller cores, RAM and registers", own, CONTROLLER, "#857a5c")
    way = "Time of a request on the link to the host, and waiting for it."
    link = Cause(LINK, "the link to the host", way, LINK, "#6f7f8f")
    return {cause.name: cause for cause in [*causes, controller, link]}


CAUSES = _causes()
"""All causes by name, in the order in which bars stack them."""


def cause_name(cause: str) -> str:
    """What a cause is, in words; of results of another version, its name."""
    return CAUSES[cause].words if cause in CAUSES else cause.replace("_", " ")
