"""What proposes stacks: a study of Optuna, whose trials choose from the space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import optuna

from ftlkit.study.builder import of_32_bits

if TYPE_CHECKING:
    from ftlkit.advice.query import Query


class TrialChooser:
    """A trial of Optuna as what the space asks."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of some words."""
        return str(self._trial.suggest_categorical(name, list(choices)))

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """A whole number."""
        return self._trial.suggest_int(name, low, high)

    def suggest_log(self, name: str, shares: Sequence[str], default: str) -> str:  # noqa: ARG002 - drawn alike
        """One of some sizes of a log."""
        return shares[self._trial.suggest_int(name, 0, len(shares) - 1)]


def optuna_study(query: Query, metrics: int) -> optuna.Study:
    """The seeded sampler: TPE over RAM and this many metrics."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=of_32_bits(query.options.get("seed", 1)))
    return optuna.create_study(directions=["minimize"] * (1 + metrics), sampler=sampler)
