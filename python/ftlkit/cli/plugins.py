"""`ftlkit plugins`: what installed packages add."""

from __future__ import annotations

import warnings

from rich.table import Table
from rich.text import Text

from ftlkit.cli.shell import OUT
from ftlkit.own.plugins import GROUP, bases_in_words
from ftlkit.own.plugins import plugins as loaded


def plugins() -> None:
    """List the FTLs and policies that installed packages add; say which cannot be loaded."""
    with warnings.catch_warnings():
        # The table names what is left out.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = loaded()
    if not found:
        OUT.print(
            f"No installed package adds anything. One does by an entry point in the group {GROUP}, which names a "
            f"class that derives from one of {bases_in_words()}.",
            highlight=False,
        )
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "kind", "package", "from"):
        table.add_column(heading)
    for plugin in found:
        table.add_row(*(Text(text) for text in (plugin.name, plugin.kind or "left out", plugin.package, plugin.place)))
    OUT.print(table)
    for plugin in found:
        if plugin.error:
            OUT.print(f"\n{plugin.name} is left out: {plugin.error}", highlight=False)
