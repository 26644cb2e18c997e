"""What all commands share: where they print, how an error ends them, and when they are imported.

A user's mistake is one paragraph and exit code 2, never a traceback. A bug, ours or a scheme's, is
exit code 3 and says how to report it. A command is imported when it is called.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command, get_group

from ftlkit._native import FtlBug, UserError
from ftlkit._util import units
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import STANDARD_OUTPUT, write
from ftlkit.cli.everyday import Typed, corrected, in_one_pattern, joined, near, refuse_empty
from ftlkit.study.keys import SECTION_OF

if TYPE_CHECKING:
    from rich.segment import Segment

    from ftlkit.sweeps.run import Sweep


class _Trimmed(Console):
    """A console whose lines end without the blanks that tables are padded with."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Hold blanks back until a word comes behind them; the end of a line drops them."""
        blanks: list[Segment] = []
        for segment in super().render(renderable, options):
            text = re.sub(" +\n", "\n", segment.text)
            if text.startswith("\n"):
                blanks.clear()
            word = text.rstrip(" ")
            if word or segment.control:
                yield from blanks
                blanks.clear()
                yield segment._replace(text=word)
            if word != text:
                blanks.append(segment._replace(text=text[len(word) :], control=None))
        yield from blanks


# Labels, paths and values are text: none is markup, and `:+1` is no picture of a thumb.
OUT = _Trimmed(markup=False, emoji=False, highlight=False)
ERR = _Trimmed(stderr=True, markup=False, emoji=False, highlight=False)

FOUND = 1
USER_ERROR = 2
BUG = 3
INTERRUPTED = 130

UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it cannot parse; its module differs by version."""

WIDE_COLUMNS = 100
"""From here on the column of what options take leaves their texts room for the longest word."""

REPORT_IT = (
    "This is a bug, not your mistake. Please report it with the command line, the study and this message; "
    "the run repeats exactly."
)


class _Plain:
    """Help that names what an option takes (`metavar`), and no types of the language."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as declared by typer
        """The parameters, flags and arguments without a type."""
        parameters = super().get_params(ctx)  # type: ignore[misc] # of the command that this is mixed into
        for parameter in parameters:
            parameter.get_runtime_param = Typed
            if isinstance(parameter, TyperArgument):
                parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign] # noqa: ARG005 - as declared
            elif isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
                parameter.metavar = ""
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as declared by typer
        """Help in which no word is cut: on a narrow screen, an option's text says what it takes."""
        _load_help()
        if Console().width < WIDE_COLUMNS:
            for parameter in super().get_params(ctx):  # type: ignore[misc] # of the command that this is mixed into
                if isinstance(parameter, TyperOption):
                    _narrow(parameter)
        super().format_help(ctx, formatter)  # type: ignore[misc] # as above


def _load_help() -> None:
    """Load typer's help without Markdown and tracebacks, which it imports and never needs here.

    They and the parsers behind them take longer to load than all else of the command.
    """
    idle = {
        f"rich.{name.lower()}": name for name in ("Markdown", "Traceback") if f"rich.{name.lower()}" not in sys.modules
    }
    for module, name in idle.items():
        stand_in = ModuleType(module)
        setattr(stand_in, name, object)
        sys.modules[module] = stand_in
    importlib.import_module("typer.rich_utils")
    for module in idle:
        del sys.modules[module]


def _narrow(option: TyperOption) -> None:
    """Move what an option takes, and its second name, into its text."""
    text, taken = option.help or "", option.metavar or ""
    is_told = all(word in text for word in re.findall(r"[\w:]+", taken))
    option.help = text if is_told else f"{escape(taken)}: {text}"
    if len(option.opts) > 1:
        option.help += f" Also {', '.join(option.opts[1:])}."
        option.opts = option.opts[:1]
    option.metavar = ""


class Command(_Plain, TyperCommand):
    """A subcommand."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as declared by typer
        """Parse what was typed, in the everyday forms that options do not have themselves."""
        parameters = self.get_params(ctx)
        refuse_empty(args, parameters)
        return super().parse_args(ctx, joined(args, parameters))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as declared by typer
        """Call it; `obj`, if given, is called first, since now Ctrl-C is answered."""
        if ctx.obj is not None:
            ctx.obj()
        try:
            return super().invoke(ctx)
        except UserError as error:
            from ftlkit.cli.option_names import as_typed, flags_of, possible  # noqa: PLC0415 - only errors need it

            ctx.find_root().meta["command"] = ctx
            flags = flags_of(self.params)
            raise UserError(possible(as_typed(str(error), ctx.params, flags), flags)) from error


class Group(_Plain, TyperGroup):
    """A command of subcommands."""


class Shell(Group):
    """The root command: runs a subcommand and turns exceptions into messages and exit codes."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as declared by typer
        """Keep what was typed for errors; `help NAME` is `NAME --help`."""
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as declared by typer
        """Load and run the subcommand."""
        warnings.showwarning = _warn  # type: ignore[assignment] # which takes all that it is given
        try:
            return super().invoke(ctx)
        except UserError as error:
            command = ctx.meta.get("command")
            _end(_with_correction(f"{error}", ctx.meta["typed"], ctx=command), USER_ERROR)
        except UsageError as error:
            below = error.ctx
            path = below.command_path.removeprefix(below.find_root().command_path) if below is not None else ""
            help_line = f"ftlkit{path} --help"
            message = _no_option(error) if hasattr(error, "possibilities") else error.format_message()
            _end(_with_correction(message, ctx.meta["typed"], help_line, error.ctx), USER_ERROR)
        except FtlBug as error:
            _end(f"Bug: {error}. {REPORT_IT}", BUG)
        except Interrupted:
            _end("Stopped. Nothing was written.", INTERRUPTED)
        except KeyboardInterrupt:
            _end("Stopped before everything was written.", INTERRUPTED)
        except BaseException as error:
            # PyO3 raises Rust panics as a class of its own that derives from BaseException and
            # cannot be imported.
            if type(error).__name__ != "PanicException":
                raise
            _end(f"Bug: the simulator panicked: {error}. {REPORT_IT}", BUG)


def _no_option(error: Any) -> str:  # noqa: ANN401 - its class differs by version of typer
    """An unknown option: the commands that have it, or the options of its command like it."""
    message = f"No such option: {error.option_name}"
    root = error.ctx.find_root().command
    if having := [path for path, flags in _flags(root, "") if error.option_name in flags]:
        return f"{message} here. Commands that have it: {', '.join(having)}"
    flags = [flag for _, flags in _flags(error.ctx.command, "") for flag in flags]
    key = error.option_name.lstrip("-").replace("-", "_")
    if key in SECTION_OF and "--set" in flags:
        return f"{message}. It is a key of the study: --set {SECTION_OF[key]}.{key}=VALUE"
    own = near(error.option_name, flags)
    return f"{message} (Possible options: {', '.join(own)})" if own else message


def _flags(command: Any, path: str) -> Iterator[tuple[str, list[str]]]:  # noqa: ANN401 - as declared by typer
    """The options of a command and of those below it, by their paths."""
    whole = command.loaded() if isinstance(command, Later) else command
    yield path, [flag for one in whole.params for flag in (*one.opts, *one.secondary_opts)]
    for name, below in getattr(whole, "commands", {}).items():
        yield from _flags(below, f"{path} {name}".lstrip())


def _with_correction(error: str, typed: list[str], otherwise: str | None = None, ctx: Any = None) -> str:  # noqa: ANN401 - of the command, as declared by typer
    """An error, with the command line that was meant where the error says which word was."""
    parameters = ctx.command.params if ctx is not None else []
    taken = {flag: one.metavar for one in parameters if one.metavar for flag in one.opts if flag.startswith("--")}
    line = corrected(error, typed, taken)
    if line is None and any(one.name in ("workload", "source") for one in parameters):
        line = in_one_pattern(error, typed)
        error += ". Name the files of one trace by one quoted pattern" if line else ""
    line = line or otherwise
    return f"Error: {error}" + (f"\nTry: {line}" if line else "")


def screen(*outputs: Path | None) -> Console:
    """Where a command shows what came of it: standard output, unless a file was asked for there."""
    return ERR if STANDARD_OUTPUT in outputs else OUT


def _warn(message: Warning | str, *_place: object) -> None:
    """Print a warning as the paragraph that it is, without the line that gave it."""
    say(f"Warning: {message}")


def _end(message: str, code: int) -> None:
    say(message)
    raise typer.Exit(code)


def say(message: str) -> None:
    """Print a paragraph to standard error: wrapped by words on a terminal, one line elsewhere."""
    ERR.print(message, soft_wrap=not ERR.is_terminal)


def print_json(document: object) -> None:
    """Print a document to standard output."""
    OUT.file.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def print_facts(facts: Iterable[tuple[str, str]], style: str = "") -> None:
    """Print names, each with a text beside it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style=style)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(name), Text(units.typed(text)))
    OUT.print(table)


def table(headings: Sequence[str], rows: Iterable[Iterable[str]], *, numbers: bool = False) -> Table:
    """A table without lines; where it has numbers, all behind the first column are to the right."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for place, heading in enumerate(headings):
        made.add_column(Text(heading), justify="right" if numbers and place else "left")
    for row in rows:
        made.add_row(*(Text(units.typed(cell)) for cell in row))
    return made


def save(path: Path | None, made: Callable[[], bytes], inputs: Iterable[str | Path | None] = ()) -> None:
    """Write a file, where one was asked for, and say so."""
    if path is not None:
        write(path, made(), inputs)
        if path != STANDARD_OUTPUT:
            say(f"wrote {path}")


def say_kept(store: Path) -> None:
    """Say where runs are kept."""
    say(f"Runs are kept in {store}, and reused from there (--store).")


@contextmanager
def kept_when_stopped(store: Path, show: Callable[[Sweep], None] = lambda _: None) -> Iterator[None]:
    """Let Ctrl-C end runs of a sweep with a partial result, and the number that the store keeps."""
    try:
        yield
    except Interrupted as stop:
        from ftlkit.sweeps.run import Sweep  # noqa: PLC0415 - who is stopped has loaded it

        if not isinstance(stop.finished, Sweep) or not stop.finished.rows:
            raise
        with suppress(UserError):  # No point can be shown yet.
            show(stop.finished)
        progress = f"{len(stop.finished.rows)} of {stop.finished.points} runs are in {store}"
        say(f"Stopped. {progress}; the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None


class _LaterModule(ModuleType):
    """Stands for a library until it is used: help and completion use nothing of it."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the library has
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


class Later(TyperCommand):
    """A name and a line of help; whatever else is asked of it, the command itself answers."""

    place = ""
    """The module of `ftlkit.cli` and the name in it, `module:name`."""

    def loaded(self) -> Any:  # noqa: ANN401 - as declared by typer
        """The command itself."""
        sys.modules.setdefault("polars", _LaterModule("polars"))
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
