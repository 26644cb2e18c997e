"""Sweeps: points combine devices, workloads, translation layers and values of keys.

Called, `ftlkit.sweep` is the function `ftlkit.sweeping.sweep`: loading any part of this package
makes it an attribute of `ftlkit`, and the public function has the same name.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The type of this package, which can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - those of the function
        """Run a sweep."""
        return importlib.import_module("ftlkit.sweeping").sweep(*args, **kwargs)

    @property
    def __signature__(self) -> Any:  # noqa: ANN401 - that of the function
        """What it takes."""
        return importlib.import_module("ftlkit.sweeping").sweep.__signature__


sys.modules[__name__].__class__ = _Callable
