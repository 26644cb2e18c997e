"""The notebooks of `examples/notebooks` run from top to bottom, and what they show is HTML.

Cells run here one after the other in one namespace, without a kernel of Jupyter.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from markupsafe import escape

import ftlkit as fk
from ftlkit.report.chart import Chart
from own_stacks import forget_own

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a notebook writes and registers is gone when it ends."""
    monkeypatch.chdir(tmp_path)
    yield
    forget_own()


def cells(notebook: Path) -> list[str]:
    """The code of a notebook, cell by cell."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def run(code: str, namespace: dict[str, object], name: str) -> object:
    """Run a cell; the value of its last expression, as a notebook shows it."""
    body = ast.parse(code, name).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), namespace)  # noqa: S102 - our own notebook
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)  # noqa: S307 - our own notebook


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_runs_and_shows_tables(notebook: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = [run(code, namespace, f"{notebook.stem}, cell {i}") for i, code in enumerate(cells(notebook))]
    pages = [value._repr_html_() for value in shown if isinstance(value, fk.Results | fk.Swept)]
    charts = [value for value in shown if isinstance(value, Chart)]
    assert charts
    for chart in charts:
        page = chart._repr_html_()
        assert page.count("<svg") > 1, "a picture and a legend"
        assert all(str(escape(name)) in page for name in chart.legend)
        assert "<script" not in page
    assert pages
    for page in pages:
        assert page.count("<table>") == 1
        assert page.count("<tr>") > 1
        assert "<script" not in page


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_what_they_showed(notebook: Path) -> None:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_a_cell_that_fails_fails_the_notebook() -> None:
    with pytest.raises(ZeroDivisionError):
        run("x = 1\nx / 0", {}, "a cell")


@pytest.mark.parametrize("seed", range(10))
def test_torture_finds_what_the_text_says_whatever_the_seed(seed: int) -> None:
    code = cells(FOLDER / "your-own-ftl.ipynb")
    torture = next(cell for cell in code if "fk.torture" in cell)
    namespace: dict[str, object] = {"__name__": "__main__"}
    run(
        "import ftlkit as fk\n" + next(cell for cell in code if "class Append" in cell).partition("\n\n\nfk.")[0],
        namespace,
        "",
    )
    run(torture.replace("minutes=0.1", f"minutes=0.02, seed={seed}"), namespace, "torture")
    finding = namespace["finding"]
    assert isinstance(finding, dict)
    said = " ".join([finding["message"], *finding["explanation"]])
    reasons = ("is marked bad", "is not on the device", "has no method trim", "has no method recover")
    assert any(reason in said for reason in reasons), said


def test_there_are_three() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["first-comparison", "your-own-ftl", "your-own-trace"]
