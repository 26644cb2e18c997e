"""Pages, comments and messages are written in plain English, and spell each term in one way."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]

SENTENCE_WORDS = 30
PARAGRAPH_WORDS = 120
CELL_CHARACTERS = 160

_AMOUNTS = "RAM|pages|blocks|bytes|requests|operations|entries|bits|instructions|rows?|runs?|lines?|at most one|one"
_UNITS = "block|page|plane|die|channel|request|write|read|second|day|TB|core|seed|row|line|run|point|operation|stack"
PHRASES = (
    # "a" for "per"
    rf"(?:{_AMOUNTS}) an? (?:{_UNITS})",
    "(?:reads|writes|erases|programs) a (?:second|day|TB)",
    # a clause for a noun
    "what (?:is|was) (?:safe|left|known|asked|told|said|used)",
    "of which (?:most|each|the)",
    "whoever",
    "in hand that",
    "of the host's that",
    "that is written and not",
    r"what no \w+ write",
    "reasons that were measured",
    "the one to take",
    "the least that is",
    "reads are of pages",
    "up to which",
    # old, vague or colloquial
    "so many",
    "what shall|shall be",
    "sought",
    "heeds?",
    "is not known",
    "nothing is known of",
    "than it serves",
    "their like",
    "lies? about",
    "in every way it can",
    "makes a disk",
    "unless you say so",
    "when another is done",
    "for the missing",
    "and found again",
    "as good or better",
    "there was no time for",
    "held-out part refutes",
    "for each page written",
    "tells? the length",
    "closer together or further",
    "torn apart",
    "too, as many as",
    "everything was safe",
    "used again last",
    "with all that",
    "you by the hand",
    "rarely much",
    "seen fail",
)
"""Constructions that a reader has to take apart."""

OFFENCE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)

SPELLINGS = {
    "write amplification": r"write-amplification(?!_)",
    "garbage collection": r"garbage-collection|garbage collecting",
    "wear levelling": r"wear[- ]leveling|wear-levelling|wearlevel\w*",
    "over-provisioning": r"over ?provision\w*",
    "out-of-band": r"out of band",
    "utilisation": r"utilization",
    "write buffer": r"write-buffer(?!/)|writebuffer",
    "log block": r"log-blocks?(?! (?:mapping|scheme))|logblocks?",
    "data block": r"data-blocks?|datablocks?",
    "translation page": r"translation-pages?",
    "queue depth": r"queue-depth(?! (?:curve|sweep))|queuedepth",
    "file system": r"file-system|filesystems?",
    "open loop": r"openloop",
    "copy-back": r"copyback",
    "file type": r"filetypes?",
    "block device": r"blockdevices?",
    "bad block": r"badblocks?",
    "flash translation layer": r"flash-translation[- ]layer|flash translation-layer",
}
"""A term as docs/glossary.md spells it, and the spellings that are used in quotations at most."""

NOT_CHECKED = ("CHANGELOG.md", "docs/sources.md")
"""What was said of a release stays as it was said; titles of papers are as the papers have them."""


class Block(NamedTuple):
    """A paragraph, an item of a list or a row of a table, on one line."""

    line: int
    text: str
    is_row: bool


def blocks(page: str) -> Iterator[Block]:
    """What a page says, without code, headings, front matter and rulers of tables."""
    is_code, start, gathered = False, 0, list[str]()
    for number, line in enumerate([*page.splitlines(), ""], 1):
        text = line.strip().lstrip("> ")
        is_fence = text.startswith(("```", "~~~"))
        is_row = text.startswith("|")
        is_item = re.match(r"(?:[-*+]|\d+\.) ", text)
        if gathered and (is_fence or is_row or is_item or not text or text.startswith("#")):
            yield Block(start, " ".join(gathered), is_row=False)
            gathered = []
        is_code ^= is_fence
        if is_code or is_fence or not text or re.match(r"#|<|!!!|---$|\[\^?[\w-]+\]:|[|:\s-]+$", text):
            continue
        if is_row:
            yield Block(number, text, is_row=True)
            continue
        start = start if gathered else number
        gathered.append(re.sub(r"^(?:[-*+]|\d+\.) ", "", text))


def plain(text: str) -> str:
    """A text as it is read: code and formulas are one word each, a link is its words."""
    text = re.sub(r"``[^`]+``|`[^`]+`", "code", text)
    text = re.sub(r"\$[^$]+\$", "formula", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "")


def words(text: str) -> int:
    """The words of a text; signs between spaces are none."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def sentences(text: str) -> list[str]:
    """A paragraph cut where sentences end: a stop before a capital, a quotation or a number."""
    text = re.sub(r"\b(e\.g|i\.e|cf|pp?|vs)\. ", r"\1 ", text)
    return re.split(r"(?<=[.!?])[\"”)]*\s+(?=[\"“(]?[A-Z0-9]|code|ftlkit)", text)


def offences(page: str) -> list[str]:
    """What a page has against the rules, with its lines."""
    seen = []
    for line, text, is_row in blocks(page):
        said = plain(text)
        if is_row:
            cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", said))
            seen += [f"{line}: a cell of {len(cell)} characters" for cell in cells if len(cell) > CELL_CHARACTERS]
        else:
            counted = ((words(sentence), sentence) for sentence in sentences(said))
            seen += [f"{line}: a sentence of {n} words: {each[:60]}…" for n, each in counted if n > SENTENCE_WORDS]
            if words(said) > PARAGRAPH_WORDS:
                seen.append(f"{line}: a paragraph of {words(said)} words")
        seen += [f"{line}: “{found[0].lower()}”" for found in OFFENCE.finditer(said)]
        own = re.sub(r"[\"“][^\"”]*[\"”]", "", said)
        spelled = [(term, re.findall(rf"\b(?:{others})\b", own, re.IGNORECASE)) for term, others in SPELLINGS.items()]
        seen += [f"{line}: “{other}” is spelled “{term}”" for term, found in spelled for other in found]
    return seen


def pages() -> list[str]:
    """Every page that the repository keeps."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a checkout of git")
    return [name for name in listed.stdout.splitlines() if name not in NOT_CHECKED and (ROOT / name).exists()]


def test_pages_keep_the_rules_of_prose() -> None:
    found = {name: offences((ROOT / name).read_text(encoding="utf-8")) for name in pages()}
    assert len(found) > 20
    assert [f"{name}:{each}" for name, seen in found.items() for each in seen] == []


def test_terms_with_one_spelling_are_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    assert [term for term in SPELLINGS if term not in glossary] == []


@pytest.mark.parametrize(
    ("page", "offence"),
    [
        pytest.param("word " * 31 + ".", "1: a sentence of 31 words", id="a long sentence"),
        pytest.param("Short.\n\n- One.\n- " + "`a b` " * 31, "4: a sentence of 31 words", id="in a list, with code"),
        pytest.param("Of one word. " * 41, "1: a paragraph of 123 words", id="a long paragraph"),
        pytest.param("> There were\n> so many\n", "1: “so many”", id="a phrase over two lines"),
        pytest.param(f"| a | {'b' * 161} |", "1: a cell of 161 characters", id="a long cell"),
        pytest.param("Its write-amplification is 2.", "1: “write-amplification” is spelled", id="a spelling"),
        pytest.param("| filesystem |", "1: “filesystem” is spelled", id="a spelling in a table"),
    ],
)
def test_an_offence_is_seen(page: str, offence: str) -> None:
    seen = offences(page)
    assert len(seen) == 1
    assert seen[0].startswith(offence)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("word " * 30 + ".", id="a sentence at the limit"),
        pytest.param(f"```sh\n{'word ' * 99}\n```\n# {'word ' * 40}", id="code and headings"),
        pytest.param(f"It is {'good ' * 20}. Is it {'bad ' * 20}?", id="two sentences"),
        pytest.param(f"See [{'x'}]({'a/' * 40}). `write-amplification` is a name.", id="addresses and code"),
        pytest.param("| a |\n|---|\n| " + "b" * 160 + " |", id="a cell at the limit"),
    ],
)
def test_good_prose_is_not_blamed(page: str) -> None:
    assert offences(page) == []
