"""Classes of one's own under flash images: an image names its parts, and `IMAGE.own` their files.

Plugins need no such file, since each process finds them by name. What the file names is imported
when the image is opened, so take it only from those whose programs you would run.
"""

import json
from pathlib import Path

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.own.plugins import plugins
from ftlkit.own.references import Reference, references, register


def _beside(image: str | Path) -> Path:
    return Path(f"{image}.own")


def keep(image: str | Path, layer: Json) -> None:
    """Note where the classes of a new image are, if they are in files."""
    found = [one for one in references([layer]) if one.home.endswith(".py")]
    if found:
        _beside(image).write_text(json.dumps([one._asdict() for one in found], indent=1) + "\n", encoding="utf-8")


def register_parts(image: str | Path) -> None:
    """Make the classes known that an image may name. Their code may have changed since."""
    plugins()
    beside = _beside(image)
    if not beside.exists():
        return
    try:
        found = [Reference(**one) for one in json.loads(beside.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{beside}: cannot be read as the classes of {image}: {error}.") from None
    register(found, is_same=False)
