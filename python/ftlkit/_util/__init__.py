"""What all parts use: units, output files, progress, calls into the simulator."""

from typing import Any

Json = dict[str, Any]
"""A JSON object: a document of the simulator, or a table of one."""
