"""Lists what is public: `make api` writes docs/api anew, and `--check` says what has changed.

The facade crate `ftlkit` is listed whole, and of `ftlkit-ftl` the traits that others implement,
with their methods. The list is that of cargo-public-api (`cargo install cargo-public-api`), which
needs a nightly compiler beside the one of the project (`rustup toolchain install nightly`).
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "api"

TRAITS = (
    "api::classifier::Classifier",
    "api::layout::WearScheme",
    "api::mapping::Mapping",
    "api::mapping::MappingBuilder",
    "api::mapping::Scheme",
    "api::victim::VictimPolicy",
    "api::wear::BlockFacts",
    "api::wear::WearPolicy",
    "engines::page_map::policy::PageMapScheme",
    "engines::page_map::policy::StreamPolicy",
    "write_buffer::policy::BufferPolicy",
    "write_buffer::policy::BufferScheme",
)
"""The traits that are meant to stay (docs/write-your-own.md)."""


def items(crate: str) -> list[str]:
    """The public items of a crate, a line each."""
    # Blanket and derived implementations are the same for each type and say nothing.
    command = ["cargo", "+nightly", "public-api", "--package", crate, "-sss"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.splitlines()


def of_traits(lines: list[str]) -> list[str]:
    """The lines of the traits that others implement."""
    names = "|".join(re.escape(name) for name in TRAITS)
    return [line for line in lines if re.match(rf"pub (?:\w+ )*ftlkit_ftl::(?:{names})\b", line)]


def lists() -> dict[Path, str]:
    """Each list with its text."""
    return {
        FOLDER / "ftlkit.txt": "\n".join(items("ftlkit")) + "\n",
        FOLDER / "traits.txt": "\n".join(of_traits(items("ftlkit-ftl"))) + "\n",
    }


def main() -> int:
    """Write the lists, or compare them."""
    found = lists()
    if "--check" not in sys.argv[1:]:
        FOLDER.mkdir(exist_ok=True)
        for path, text in found.items():
            path.write_text(text, encoding="utf-8")
        return 0
    kept = {path: path.read_text(encoding="utf-8") if path.exists() else "" for path in found}
    changes = [
        line
        for path, text in found.items()
        for line in difflib.unified_diff(kept[path].splitlines(), text.splitlines(), str(path), "now", lineterm="")
    ]
    print("\n".join(changes) or "Nothing public has changed.")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
