"""What makes two points the same: the resolved study, the engine, the trace's bytes.

Names and labels do not count, nor where a trace lies, nor the limit of memory: none of them changes
a result. A point whose key is in a store need not be run again, whichever sweep it came from.
"""

import functools
import hashlib
import json
from pathlib import Path

from ftlkit import _native
from ftlkit._native import UserError, __version__
from ftlkit._util import Json
from ftlkit._util.trace_files import trace_files

DIGITS = 32
"""Of a key: 128 bits, so that two points of any number of sweeps do not meet."""

_PIECE_BYTES = 1 << 20


@functools.cache
def engine() -> str:
    """The engine: its version, and a digest of the compiled module."""
    return f"{__version__}+{digest(Path(str(_native.__file__)))[:12]}"


def digest(path: Path) -> str:
    """A digest of a file's bytes, or of those of all files that a pattern names."""
    hashed = hashlib.blake2b(digest_size=16)
    try:
        for one in trace_files(path) or [path]:
            with one.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    hashed.update(piece)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. Give the path of a trace.") from None
    return hashed.hexdigest()


def key(resolved: Json, trace: str | None, of_engine: str) -> str:
    """The key of a point: of its resolved study, its trace's digest, and the engine."""
    counted = {name: value for name, value in resolved.items() if name != "name"}
    counted["run"] = {name: value for name, value in resolved["run"].items() if name != "memory_limit"}
    counted["ftl"] = [{name: value for name, value in layer.items() if name != "label"} for layer in resolved["ftl"]]
    if trace is not None:
        counted["workload"] = resolved["workload"] | {"trace": trace}
    text = json.dumps({"engine": of_engine, "study": counted}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def text_digest(text: str) -> str:
    """A digest of a text, as short as that of a file."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
