"""Commands that are imported when they are called."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

from ftlkit.cli.shell import Command

if TYPE_CHECKING:
    from collections.abc import Callable


class Later(TyperCommand):
    """A name and a line of help; whatever else is asked of it, the command itself answers."""

    place = ""
    """The module of `ftlkit.cli` and the name in it, `module:name`."""

    def loaded(self) -> Any:  # noqa: ANN401 - as declared by typer
        """The command itself."""
        module, name = self.place.split(":")
        command: Callable[..., object] | typer.Typer = getattr(importlib.import_module(f"ftlkit.cli.{module}"), name)
        if not isinstance(command, typer.Typer):
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
            alone.command(self.name, cls=Command)(command)
            return get_command(alone)
        group = get_group(command)
        group.name = self.name
        return group

    def make_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as declared by typer
        """A context of the command itself: parsing, help, completion and the call are its own."""
        return self.loaded().make_context(*arguments, **options)


def later(place: str) -> type[Later]:
    """The class of the command at `module:name`."""
    return type("Later", (Later,), {"place": place})
