"""From varied keys to points: which combinations of values there are, and the study of each.

A key with a dot, such as `host.queue_depth`, is one of the study's sections; one without is a
parameter of translation layers. Reproductions and sweeps of the command line expand alike, here.
"""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ftlkit.results.document import Json


def combinations(tables: Sequence[Json]) -> list[Json]:
    """The points of tables of keys: each combination of listed values; without tables, one."""
    return [
        dict(zip(table, values, strict=True))
        for table in tables or [{}]
        for values in itertools.product(*(given if isinstance(given, list) else [given] for given in table.values()))
    ]


def of_study(keys: Json) -> Json:
    """Those of the varied keys that are keys of the study, such as `host.queue_depth`."""
    return {key: value for key, value in keys.items() if "." in key}


def taken(takes: Iterable[str], keys: Json) -> Json:
    """Those of the varied keys that a translation layer takes."""
    names = set(takes)
    return {key: value for key, value in keys.items() if key in names}


def placed(study: Json, keys: Json, seed: int = 0) -> Json:
    """A copy of a study with the keys that are its own set, and its seed raised by `seed`."""
    made = copy.deepcopy(study)
    for key, value in of_study(keys).items():
        table, _, name = key.partition(".")
        made.setdefault(table, {})[name] = value
    made["seed"] = made.get("seed", 1) + seed
    return made
