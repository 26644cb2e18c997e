"""The simulator's table of keys: what a study may say of its device, workload, host and run."""

from __future__ import annotations

import json

from ftlkit._native import study_keys

SECTION_OF = {key["name"]: key["section"] for key in json.loads(study_keys())}
"""The section of a study that each key stands in; the last of those that have one of that name."""

_GROUP_OF = {key["name"]: key["group"] for key in json.loads(study_keys())}


def keys_of(group: str) -> list[str]:
    """The names of the keys of a group, such as `ability`."""
    return [name for name, its in _GROUP_OF.items() if its == group]
