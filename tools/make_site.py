"""Gathers the pages of the site below a folder, which mkdocs then builds: `make site`.

The pages are those of docs/, those that `ftlkit.docs` writes, ARCHITECTURE, DESIGN and CONTRIBUTING
below project/, a page of all commands, and one for each source file that a page links to. Markdown
as the sources write it differs from that of mkdocs in two things, which are changed on the way:
links to files outside docs/, and how far the lines below an item of a list are indented.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from typer.core import TyperCommand
from typer.main import get_command

from ftlkit import docs
from ftlkit.cli import app

ROOT = Path(__file__).parents[1]
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "DESIGN.md")
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml"}


def main(folder: Path) -> None:
    """Write all pages below `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = folder / "made"
    docs.write(made)
    pages = {f"docs/{path.relative_to(made)}": path.read_text(encoding="utf-8") for path in made.rglob("*.md")}
    shutil.rmtree(made)
    for path in sorted((ROOT / "docs").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            pages.setdefault(name, path.read_text(encoding="utf-8"))
        elif path.is_file():
            place = folder / name.removeprefix("docs/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    pages |= {name: (ROOT / name).read_text(encoding="utf-8") for name in PROJECT}
    pages["docs/commands.md"] = commands()
    sources: set[str] = set()
    for name, text in pages.items():
        write(folder, name, on_text(text, partial(linked, name, pages, sources)))
    for name in sources:
        write(folder, name, source(name))


def place_of(name: str) -> str:
    """Where a file of the repository is on the site."""
    if name == "README.md":
        return "index.md"
    if name in PROJECT:
        return f"project/{name}"
    return name.removeprefix("docs/") if name.startswith("docs/") else f"sources/{name}.md"


def write(folder: Path, name: str, text: str) -> None:
    """Write the page of a file of the repository."""
    path = folder / place_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def source(name: str) -> str:
    """The page of a source file."""
    path = ROOT / name
    if path.is_dir():
        inside = "\n".join(f"- `{each.name}`" for each in sorted(path.iterdir()) if not each.name.startswith("."))
        return f"# {name}\n\n{inside}\n"
    language = LANGUAGES.get(path.suffix, "text")
    return f"# {name}\n\n````{language}\n{path.read_text(encoding='utf-8')}````\n"


def on_text(page: str, change: Callable[[str], str]) -> str:
    """A page with its text changed; blocks of code change in their indentation alone."""
    parts = re.split(r"(?ms)(^[ >]*```.*?^[ >]*```[ ]*$)", page)
    whole = "".join(part if place % 2 else change(part) for place, part in enumerate(parts))
    return "\n".join(indented(whole.split("\n")))


def indented(lines: list[str]) -> Iterator[str]:
    """Lines with what lies below an item of a list four columns further in, as mkdocs wants it."""
    depths: list[int] = []
    is_code = False
    for line in lines:
        width = len(line) - len(line.lstrip(" "))
        item = re.match(r" *([-*+]|\d+\.) +", line)
        if line.strip() and not is_code:
            while depths and width < depths[-1]:
                depths.pop()
        shift = 4 * len(depths) - depths[-1] if depths else 0
        yield " " * shift + line if line.strip() else line
        is_code ^= line.lstrip().startswith("```")
        if item and not is_code:
            depths.append(item.end())


def linked(name: str, pages: dict[str, str], sources: set[str], text: str) -> str:
    """A text whose links lead to pages of the site; adds to `sources` the files that it needs."""

    def target(match: re.Match[str]) -> str:
        to, anchor = match[1], match[2] or ""
        if not to or re.match(r"[a-z]+:", to):
            return match[0]
        file = posixpath.normpath(PurePosixPath(name).parent / to)
        if file == "README.md":
            file = "docs/index.md"
        if file not in pages and not (file.startswith("docs/") and (ROOT / file).is_file()) and (ROOT / file).exists():
            sources.add(file)
        return f"]({posixpath.relpath(place_of(file), PurePosixPath(place_of(name)).parent)}{anchor})"

    return re.sub(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", target, text)


def commands() -> str:
    """The page of all commands with their arguments and options."""
    parts = ["# Commands", "", "Every command of `ftlkit`, as `--help` describes it.", ""]
    root = get_command(app)
    for name in root.commands:  # type: ignore[attr-defined] # a group
        parts += command(f"ftlkit {name}", whole(root.commands[name]))  # type: ignore[attr-defined]
    return "\n".join(parts)


def whole(found: TyperCommand) -> TyperCommand:
    """A command that is imported when it is needed, imported."""
    return found.loaded() if hasattr(found, "loaded") else found


def command(name: str, found: TyperCommand) -> Iterator[str]:
    """The section of a command, and of those below it."""
    yield from (f"## {name}", "", plain(found.help or ""), "")
    below = getattr(found, "commands", None)
    if below:
        for each in below:
            yield from command(f"{name} {each}", whole(below[each]))
        return
    yield from ("| option | default | meaning |", "|---|---|---|")
    for parameter in found.params:
        if parameter.name != "help":
            names = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
            if parameter.param_type_name == "argument":
                names = f"`{(parameter.metavar or parameter.name or '').upper()}`"
            shown = parameter.default if isinstance(parameter.default, int | float | str) else None
            default = "" if shown is None or shown is False or shown == "" else f"`{shown}`"
            meaning = plain(getattr(parameter, "help", None) or "")
            yield f"| {names} | {default} | {meaning} |".replace("\n", " ")
    yield ""


def plain(text: str) -> str:
    """A help text without the marks of its colours, for a cell of a table."""
    text = re.sub(r"\[/?(?:bold|dim|cyan|green|yellow|italic)[^\]]*\]", "", text)
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
