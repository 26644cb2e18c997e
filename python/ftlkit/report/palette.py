"""Colours: one per run and one per cause, the same in every chart and table.

The hues stay apart for the common kinds of colour blindness and keep a contrast of 3:1 or more on
white and on the dark background alike, so one palette serves both. Runs differ in dash and point
shape as well, for print and for those who see no hue.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ftlkit.report.causes import CAUSES

_HUES = ("#3b7dd8", "#d97706", "#0e9a78", "#c44f9c", "#7c6fd6", "#c2453a", "#8b8a1d", "#7a828e")
_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 4), (12, 3), (1, 3), (6, 2, 1, 2))
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")

CAUSE_COLOURS: dict[str, str] = {cause.name: cause.colour for cause in CAUSES.values()}
"""Colour of each cause, in the order in which bars stack them."""


WEAR_COLOURS = ("#46327e", "#277f8e", "#6ece58", "#fde725")
"""Colours of the wear map, from the fewest erases to the most; the second is the mean.

They are those of matplotlib's viridis, whose lightness rises for every kind of sight.
"""


@dataclass(frozen=True)
class Style:
    """How one run is drawn everywhere."""

    colour: str
    dash: tuple[int, ...]
    shape: str


def styles(labels: Sequence[str]) -> dict[str, Style]:
    """A style for each run by its place; from the ninth on, hues repeat with other dashes."""
    return {
        label: Style(
            _HUES[i % len(_HUES)],
            _DASHES[(i + i // len(_HUES)) % len(_DASHES)],
            _SHAPES[(i + i // len(_HUES)) % len(_SHAPES)],
        )
        for i, label in enumerate(labels)
    }
