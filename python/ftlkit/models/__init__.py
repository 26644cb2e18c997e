"""Analytical models from the papers, with the papers' own symbols, to lay beside a simulation.

A study file of a reproduction names a function and its arguments; what it gives has the name and
the unit of the metric that a simulation measures, so that both can stand in one figure.
"""

from collections.abc import Callable

from ftlkit._native import UserError
from ftlkit.models import rftl

FUNCTIONS: dict[str, Callable[..., dict[str, float]]] = {
    "rftl.baseline": lambda M, P_GC=1.0: {"lookup_us": rftl.baseline(M, P_GC=P_GC) / 1e3},  # noqa: N803 - the paper's symbols
    "rftl.rftl": lambda M, P: {"lookup_us": rftl.rftl(M, P=P) / 1e3},  # noqa: N803 - as above
    "rftl.copies": lambda replicas: {"extra_writes": rftl.extra_writes(replicas), "map_mb": rftl.map_mb(replicas)},
}
"""Functions by name; each gives values by metric."""


def evaluate(function: str, **arguments: float) -> dict[str, float]:
    """Call a model by name; an unknown name or argument, or a bad value, is a `UserError`."""
    if function not in FUNCTIONS:
        raise UserError(f"no model is called {function}; there are {', '.join(FUNCTIONS)}.")
    try:
        return FUNCTIONS[function](**arguments)
    except (TypeError, ValueError) as error:
        raise UserError(f"the model {function}: {error}.") from None
