"""Names, numbers and times of mounted files as programs see them, on any volume."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ftlkit as fk
from disk import needs
from mounting import Mount

IMPORTS = """
import importlib, pathlib, sys
at = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(at))
(at / "first_one.py").write_text("")
(at / "package").mkdir()
(at / "package" / "__init__.py").write_text("")
(at / "package" / "first_two.py").write_text("")
importlib.import_module("first_one")
importlib.import_module("package.first_two")
for i in range(5):
    (at / f"later_{i}.py").write_text("")
    (at / "package" / f"later_{i}.py").write_text("")
    importlib.import_module(f"later_{i}")
    importlib.import_module(f"package.later_{i}")
    (at / "package" / f"later_{i}.py").unlink()
"""

AS_NOBODY = """
import importlib.metadata, os, sys
import ftlkit as fk
fk.mount
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    fk.mount(sys.argv[1], sys.argv[2], format=True)
except fk.UserError as error:
    print(error)
"""


def test_python_imports_modules_made_after_the_first_import(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        mount.start("--format")
        process = subprocess.run(
            [sys.executable, "-c", IMPORTS, str(mount.at)], capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stderr


def test_listings_have_the_inode_numbers_of_files(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        at = mount.start("--format").at
        for name in ("one", "two", "three"):
            (at / name).touch()
        (at / "folder").mkdir()
        mount.stop()
        mount.start()
        listed = {entry.name: entry.inode() for entry in os.scandir(at)}
        assert len(set(listed.values())) == 4
        assert {name: (at / name).stat().st_ino for name in listed} == listed


def test_a_hidden_short_name_can_be_given(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        at = mount.start("--format").at
        with (at / "open").open("w+b") as file:
            file.write(b"still here")
            file.flush()
            (at / "open").unlink()
            assert not (at / "FTLKIT~1").exists()
            (at / "FTLKIT~1").write_bytes(b"another")
            (at / "FTLKIT~1").rename(at / "FTLKIT~2")
            file.seek(0)
            assert file.read() == b"still here"
        assert [path.name for path in at.iterdir()] == ["FTLKIT~2"]
        mount.stop()
        mount.check()


@pytest.mark.parametrize(
    "options", [("-F", "32"), ("-F", "32", "-S", "2048"), ("-S", "2048", "-s", "2"), ("-F", "16", "-s", "1")]
)
def test_what_mkfs_makes_is_mounted(tmp_path: Path, options: tuple[str, ...]) -> None:
    needs("mkfs.vfat", "fsck.vfat", "qemu-img")
    raw = tmp_path / "made"
    with raw.open("wb") as file:
        file.truncate(31 << 20)
    subprocess.run(["mkfs.vfat", *options, str(raw)], check=True, capture_output=True)
    with Mount(tmp_path, capacity="32MiB") as mount:
        mount.fill(raw)
        at = mount.start().at
        (at / "folder").mkdir()
        for i in range(50):
            (at / "folder" / f"File number {i}").write_bytes(bytes([i]) * 3_000)
        os.truncate(at / "folder" / "File number 7", 5 << 20)
        (at / "folder" / "File number 8").unlink()
        mount.stop()
        mount.check()
        mount.start("--read-only")
        assert (at / "folder" / "File number 7").read_bytes() == bytes([7]) * 3_000 + bytes((5 << 20) - 3_000)
        assert len(list((at / "folder").iterdir())) == 49


def _short_names(raw: Path, names: list[bytes]) -> None:
    """A volume whose root folder has empty files of these short names."""
    needs("mkfs.vfat")
    with raw.open("wb") as file:
        file.truncate(31 << 20)
    subprocess.run(["mkfs.vfat", "-F", "16", str(raw)], check=True, capture_output=True)
    with raw.open("r+b") as file:
        boot = file.read(512)
        field = {at: int.from_bytes(boot[at : at + 2], "little") for at in (11, 14, 22)}
        file.seek((field[14] + boot[16] * field[22]) * field[11])
        file.write(b"".join(name + b"\x20" + bytes(20) for name in names))


def test_short_names_of_another_system_are_files_of_their_own(tmp_path: Path) -> None:
    names = [b"\x8e       TXT", b"\x9a       TXT", b"\x9b       TXT", b"\x82       TXT", b"\x90       TXT"]
    _short_names(tmp_path / "made", names)
    with Mount(tmp_path, capacity="32MiB") as mount:
        mount.fill(tmp_path / "made")
        at = mount.start("--read-only", "--code-page", "850").at
        assert [path.name for path in at.iterdir()] == ["Ä.TXT", "Ü.TXT", "ø.TXT", "é.TXT", "É.TXT [slot 4]"]
        mount.stop()
        mount.start()
        listed = [path.name for path in at.iterdir()]
        assert listed == ["Ä.TXT", "Ü.TXT", "¢.TXT", "é.TXT", "É.TXT [slot 4]"]
        assert len({(at / name).stat().st_ino for name in listed}) == len(names)
        (at / "ü.txt").write_text("of the second alone", encoding="utf-8")
        assert (at / "Ä.TXT").read_bytes() == b""
        (at / "É.TXT [slot 4]").write_text("capital", encoding="utf-8")
        (at / "é.TXT").unlink()
        assert (at / "É.TXT").read_text(encoding="utf-8") == "capital"
        assert [path.name for path in at.iterdir()] == ["Ä.TXT", "Ü.TXT", "¢.TXT", "É.TXT"]
        mount.stop()
        mount.check()


def test_an_unknown_code_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fk.UserError, match=r"must be one of 437, 720, .*850, 852"):
        fk.mount(tmp_path / "none.img", tmp_path, code_page=1252)


def test_a_device_of_fuse_that_nobody_may_open_is_named() -> None:
    fuse = Path("/dev/fuse")
    if os.geteuid() != 0 or not fuse.exists() or fuse.stat().st_mode & 0o006:
        pytest.skip("this needs a /dev/fuse that others may not open, and root to become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        fk.create_image(at / "disk.img", "page", device={"capacity": "32MiB", "spare": 0.25})
        (at / "folder").mkdir()
        for path in (at, at / "folder", at / "disk.img"):
            os.chown(path, 65534, 65534)
        process = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(at / "disk.img"), str(at / "folder")],
            capture_output=True,
            text=True,
            check=False,
        )
    text = " ".join((process.stdout + process.stderr).split())
    assert process.returncode == 0, text
    assert "/dev/fuse cannot be opened" in text
    assert "chmod 666 /dev/fuse" in text
    assert "fusermount3" not in text
