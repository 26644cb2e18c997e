"""The simulator's table of keys: what a study may say of its device, workload, host and run."""

import json

from ftlkit._native import parts, study_keys

SECTION_OF = {key["name"]: key["section"] for key in json.loads(study_keys())}
"""The section of a study that each key stands in; the last of those that have one of that name."""

KIND_OF = {key["name"]: key["kind"] for key in json.loads(study_keys())}
"""What the value of each key is, as a type of Rust."""

_GROUP_OF = {key["name"]: key["group"] for key in json.loads(study_keys())}


def keys_of(group: str) -> list[str]:
    """The names of the keys of a group, such as `ability`."""
    return [name for name, its in _GROUP_OF.items() if its == group]


def kind_of(place: str) -> str | None:
    """What a bare letter means in a value of `dftl.cmt` or `device.capacity`: `size` or `count`."""
    owner, _, key = place.rpartition(".")
    kinds = {
        parameter["name"]: parameter["kind"]
        for part in json.loads(parts())
        if part["name"].casefold() == owner.casefold()
        for parameter in part["parameters"]
    }
    names = {"Bytes": "size", "Capacity": "size", "bytes": "size", "u32": "count", "u64": "count", "integer": "count"}
    return names.get(kinds.get(key) or KIND_OF.get(key, ""))
