"""Numbers for people."""

from __future__ import annotations

import pytest

from ftlkit import units


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.000312, "312 µs"),
        (0.1365, "136 ms"),
        (179.4, "179 s"),
        (299.9999, "5 min 0 s"),
        (3_599.9, "60 min 0 s"),
        (7_199.0, "2 h 0 min"),
        (90_000.0, "25 h 0 min"),
    ],
)
def test_durations_never_have_sixty_seconds_or_minutes(seconds: float, shown: str) -> None:
    assert units.typed(units.duration(seconds * 1e9)) == shown
