"""`ftlkit plugins`: what installed packages add."""

import warnings

from ftlkit.cli.shell import OUT, table
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
            f"class that derives from one of {bases_in_words()}."
        )
        return
    rows = [(plugin.name, plugin.kind or "left out", plugin.package, plugin.place) for plugin in found]
    OUT.print(table(["name", "kind", "package", "from"], rows))
    for plugin in found:
        if plugin.error:
            OUT.print(f"\n{plugin.name} is left out: {plugin.error}")
