"""The wheel and the sdist: files, metadata, and that they work where the project is absent.

`make test-all` names a wheel of the tests' own module in FTLKIT_WHEEL, `make wheel` that of a
release. FTLKIT_LONG=1 installs the sdist, too, which compiles everything for minutes.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename

import ftlkit as fk
from conftest import LONG

ROOT = Path(__file__).parents[1]
NAMED = os.environ.get("FTLKIT_WHEEL", "")
WHEEL = Path(NAMED)
built = pytest.mark.skipif(not NAMED, reason="no wheel was built; make test-all builds it and runs this")


def members() -> set[str]:
    """The files in the wheel."""
    with zipfile.ZipFile(WHEEL) as wheel:
        return set(wheel.namelist())


def test_the_package_sees_all_studies() -> None:
    inside = Path(fk.__file__).parent / "studies"
    names = {path.name for path in (ROOT / "studies").glob("*.toml")}
    assert names
    assert {path.name for path in inside.glob("*.toml")} == names


def test_what_is_cited_is_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [fk.__version__]
    assert f"({fk.__version__})" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@built
def test_one_wheel_serves_all_pythons() -> None:
    _, version, _, tags = parse_wheel_filename(WHEEL.name)
    assert str(version) == fk.__version__
    assert {(tag.interpreter, tag.abi) for tag in tags} == {("cp310", "abi3")}
    assert all(tag.platform != "linux_x86_64" for tag in tags), "an index takes only manylinux"


@built
def test_its_metadata_is_what_an_index_accepts() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(wheel.read(name), validate=True)
    assert metadata.license_expression == "Apache-2.0 OR MIT"
    assert metadata.license_files == ["LICENSE-APACHE", "LICENSE-MIT"]
    assert metadata.description_content_type is not None
    assert metadata.description_content_type.startswith("text/markdown")
    assert metadata.provides_extra is not None
    assert "ray" in metadata.provides_extra


@built
def test_everything_of_the_package_is_in_it() -> None:
    inside = members()
    package = ROOT / "python"
    files = [path for path in (package / "ftlkit").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {path.relative_to(package).as_posix() for path in files if path.suffix not in (".so", ".pyc")}
    wanted |= {f"ftlkit/studies/{path.name}" for path in (ROOT / "studies").glob("*.toml")}
    assert wanted <= inside
    strange = {name for name in inside - wanted if ".dist-info/" not in name and not name.endswith(".so")}
    assert strange == set()
    licences = [name for name in inside if "/licenses/LICENSE-" in name]
    assert len(licences) == 2


def _without_network() -> list[str]:
    """What runs a command without any network, where the system lets us."""
    alone = ["unshare", "--map-root-user", "--net"]
    try:
        done = subprocess.run([*alone, "true"], capture_output=True, timeout=10, check=False)
    except OSError:
        return []
    return alone if done.returncode == 0 else []


def installed(archive: Path, folder: Path) -> Path:
    """The programs of an environment that has an archive and what it needs, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, str(archive)], check=True, timeout=3600)
    return folder / "bin"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel."""
    return installed(WHEEL, tmp_path_factory.mktemp("clean") / "venv")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of all sources."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


def run(clean: Path, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in an empty folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [*_without_network(), str(clean / "ftlkit"), *arguments]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@built
def test_it_compares_in_a_clean_environment(clean: Path, tmp_path: Path) -> None:
    done = run(clean, tmp_path, "compare", "fin1", "--ftl", "page,dftl", "--requests", "2000", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "dftl" in done.stdout
    assert (tmp_path / "r.html").stat().st_size > 100_000


@built
def test_it_has_the_studies_with_it(clean: Path, tmp_path: Path) -> None:
    text = run(clean, tmp_path, "reproduce", "none").stderr
    assert set(re.findall(r"[\w-]+", text)) >= {path.stem for path in (ROOT / "studies").glob("*.toml")}


@built
def test_it_sweeps_with_workers_of_its_own(clean: Path, tmp_path: Path) -> None:
    done = run(clean, tmp_path, "sweep", "fin1", "--ftl", "page,dftl", "--requests", "1000", "--addresses", "dense")
    assert done.returncode == 0, done.stderr
    assert "2 points: 0 were in ftlkit-results" in done.stderr


@built
def test_it_runs_an_ftl_of_ones_own(clean: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "own_ftl_batched.py", tmp_path)
    options = ["--requests", "2000", "--addresses", "wrap", "--capacity", "64MiB", "--set", "device.spare=0.3"]
    done = run(clean, tmp_path, "compare", "fin1", "--ftl", "page,own_ftl_batched.py:Batched", *options)
    assert done.returncode == 0, done.stderr
    assert "batched" in done.stdout


def test_the_sdist_has_what_a_build_needs(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.iterdir()
    listed = ["git", "ls-files", "crates/*/src", "crates/*/Cargo.toml", "python", "Cargo.lock", "LICENSE-*"]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    tracked += [f"python/ftlkit/studies/{path.name}" for path in (ROOT / "studies").glob("*.toml")]
    assert {name for name in tracked if not (sources / name).exists()} == set()
    assert not list(sources.rglob("*.so"))
    tree = ["cargo", "tree", "--locked", "--offline", "--package", "ftlkit-py"]
    subprocess.run(tree, cwd=sources, check=True, capture_output=True)


@pytest.mark.skipif(not LONG, reason="compiles everything for minutes: FTLKIT_LONG=1 runs it")
def test_the_sdist_installs_with_a_compiler(sdist: Path, tmp_path: Path) -> None:
    done = run(installed(sdist, tmp_path / "venv"), tmp_path, "schemes", "page")
    assert done.returncode == 0, done.stderr
