"""What runs in threads of its own until it is stopped: a served image, a mounted one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from ftlkit._util import Json

if TYPE_CHECKING:
    from typing_extensions import Self


class Native(Protocol):
    """What the compiled module starts."""

    def ready(self) -> str:
        """Where it is and what there is, as JSON."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it has ended."""

    def stop(self) -> str:
        """Stop it; what was saved, as JSON."""


class Running:
    """An image in use; a context manager that stops it in good order."""

    def __init__(self, native: Native) -> None:
        self._native = native
        self.ready: Json = json.loads(native.ready())
        """Where it is and what there is."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it has ended by itself, as when somebody unmounts it."""
        return self._native.wait(seconds)

    def stop(self) -> Json:
        """Stop in good order: serve no more, put all writes on the disk; what was saved."""
        summary: Json = json.loads(self._native.stop())
        return summary

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
