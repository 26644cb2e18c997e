"""Stacks with parts of one's own, run on a small device."""

import pytest

import ftlkit as fk
from ftlkit.api import catalogue
from ftlkit.own import registry


def compared(*stacks: fk.study.FtlChoice) -> list[tuple[str, str, float | None]]:
    """Label, event hash and write amplification of stacks on a small device that is full."""
    results = fk.compare(
        "fin1",
        list(stacks),
        device={"preset": "slc-small", "capacity": "8MiB", "channels": 2, "spare": 0.6},
        requests=8000,
        addresses="wrap",
        precondition="fill",
    )
    runs = results.document["runs"]
    return [(run["label"], run["event_hash"], run["page_write_amplification"]) for run in runs]


def refused(stack: fk.study.FtlChoice, words: str) -> None:
    """Hold that a stack is a user error, in these words."""
    with pytest.raises(fk.UserError, match=words):
        compared(stack)


def forget_own() -> None:
    """Take all classes of one's own out of the lists again."""
    assert [part for part in dict.fromkeys(registry.registered.values()) if not fk.forget(part)] == []
    assert registry.registered == {}
    assert catalogue.names() == catalogue.built_in()
