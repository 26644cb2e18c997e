"""Pages have budgets of words, so that they are read to the end.

`python tests/test_words.py` prints them.

A word has a letter or a digit. What a program writes is counted apart: whole pages, text between
two marks, and the rows of the tables of keys.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PAGE = 2_500
"""Most words by hand on a page."""
LONGER = {"docs/timing.md": 2_620}
"""Pages over it, with the words that they have. A number may fall, and never rises."""
BY_HAND, ALL = 43_700, 55_700
"""Most words of all pages. By hand they may fall, and never rise (the aim was 45,000); all of them
rise with generated parts alone."""

WRITTEN = ("docs/columns.md", "docs/sources.md")
WRITTEN_PART = re.compile(r"<!-- ([\w-]+) -->.*?<!-- (?:/|end of )\1 -->", re.DOTALL)
WRITTEN_ROW = {"docs/study.md": re.compile(r"^\| `.*$", re.MULTILINE)}


def count(text: str) -> int:
    """The words of a text."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def by_hand(name: str, text: str) -> str:
    """What a person wrote of a page."""
    own = "" if name in WRITTEN else WRITTEN_PART.sub("", text)
    return WRITTEN_ROW[name].sub("", own) if name in WRITTEN_ROW else own


def counted() -> dict[str, tuple[int, int]]:
    """Words by hand and words in all, by page."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a checkout of git")
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8") for name in listed.stdout.split() if (ROOT / name).exists()
    }
    return {name: (count(by_hand(name, text)), count(text)) for name, text in texts.items()}


def sums() -> tuple[int, int]:
    """Words by hand and words in all, of all pages."""
    hand, total = zip(*counted().values(), strict=True)
    return sum(hand), sum(total)


def test_page_keeps_its_budget_of_words() -> None:
    over = {name: hand for name, (hand, _) in counted().items() if hand > LONGER.get(name, PAGE)}
    assert over == {}


def test_longer_pages_are_longer() -> None:
    """A page that keeps the common budget leaves the list."""
    assert [name for name in LONGER if counted()[name][0] <= PAGE] == []


def test_all_pages_keep_the_budgets_of_words() -> None:
    hand, total = sums()
    assert hand <= BY_HAND
    assert total <= ALL


@pytest.mark.parametrize(
    ("name", "text", "hand"),
    [
        pytest.param("docs/a.md", "One word – `and` 2.", 4, id="signs"),
        pytest.param("docs/a.md", "One\n<!-- it -->\n| two |\n<!-- /it -->\nthree", 2, id="marks"),
        pytest.param("docs/a.md", "One\n<!-- it -->\n| two |\n<!-- end of it -->\nthree", 2, id="other marks"),
        pytest.param("docs/study.md", "One\n| key |\n| `two` | three |", 2, id="keys"),
        pytest.param("docs/columns.md", "One", 0, id="a whole page"),
    ],
)
def test_words_by_hand_are_counted_without_those_of_programs(name: str, text: str, hand: int) -> None:
    assert count(by_hand(name, text)) == hand


if __name__ == "__main__":
    rows = [(*words, page) for page, words in counted().items()]
    sys.stdout.writelines(f"{hand:6} {total:6} {page}\n" for hand, total, page in [*sorted(rows), (*sums(), "all")])
