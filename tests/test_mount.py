"""`ftlkit mount`: real programs on the files of an image, and its state after a kill."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest

import ftlkit as fk
from conftest import LONG, Call
from disk import needs, run
from mounting import Mount, needs_fuse

KILLS = 20 if LONG else 2

POSTMARK = """set location {folder}
set number 200
set transactions 1000
set size 500 10000
run
quit
"""


def _git(*arguments: object, at: Path) -> str:
    """Run git there, with an author and without the user's settings."""
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    process = subprocess.run(
        ["git", "-c", "core.symlinks=false", *(str(argument) for argument in arguments)],
        cwd=at,
        env=os.environ | who | {"GIT_CONFIG_GLOBAL": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def _repository(at: Path) -> Path:
    """A repository with some commits."""
    needs("git")
    at.mkdir()
    _git("init", "-q", "-b", "main", at=at)
    for i in range(5):
        folder = at / f"A folder {i}"
        folder.mkdir()
        for j in range(20):
            (folder / f"A file with a long name {j}.txt").write_text(f"{i} {j}\n" * 100 * j, encoding="utf-8")
        _git("add", "-A", at=at)
        _git("commit", "-q", "-m", f"Commit {i}", at=at)
    return at


def test_programs_use_its_files_and_others_read_them_afterwards(tmp_path: Path) -> None:
    source = _repository(tmp_path / "source")
    with Mount(tmp_path) as mount:
        mount.start("--format", "--interval", "50", "--record", str(tmp_path / "record.csv"))
        shutil.copytree(source, mount.at / "copy", ignore=shutil.ignore_patterns(".git"))
        _git("clone", "-q", source, mount.at / "clone", at=tmp_path)
        _git("fsck", "--strict", at=mount.at / "clone")
        assert _git("status", "--short", at=mount.at / "clone") == ""
        with sqlite3.connect(mount.at / "table.db") as table:
            table.execute("create table numbers (n)")
            for n in range(50):
                table.execute("insert into numbers values (?)", (n,))
                table.commit()
        table.close()
        until = time.monotonic() + 10.0
        while (stat := fk.stat(mount.image))["files"]["intervals"] < 5 and time.monotonic() < until:
            time.sleep(0.1)
        files = stat["files"]
        assert files["mounted_at"] == str(mount.at)
        assert files["intervals"] >= 5, "more than 250 writes were made, and half a second passed"
        types = {file_type["file_type"]: file_type for file_type in files["types"]}
        assert types[".txt"]["active"] >= 100
        assert stat["erases"]["max"] >= 0
        output = mount.stop()
        assert "everything is on the disk" in output
        assert "wrote" in output
        mount.check()
        mount.start("--read-only")
        assert _git("rev-parse", "HEAD", at=mount.at / "clone") == _git("rev-parse", "HEAD", at=source)
        for path in source.rglob("*.txt"):
            assert (mount.at / "copy" / path.relative_to(source)).read_bytes() == path.read_bytes()
        with sqlite3.connect(f"file:{mount.at}/table.db?mode=ro", uri=True) as table:
            assert table.execute("select sum(n) from numbers").fetchone() == (sum(range(50)),)
        table.close()
        with pytest.raises(OSError, match="Read-only file system"):
            (mount.at / "new").touch()
    results = fk.compare(tmp_path / "record.csv", ["page", "page+saw"], device={"capacity": "64MiB", "spare": 0.25})
    assert all(requests > 500 for requests in results.frame("runs")["requests"].to_list())
    hints = {line.split(",")[6] for line in (tmp_path / "record.csv").read_text(encoding="utf-8").splitlines()[1:]}
    assert len(hints) > 2, "types of files go along with their data"


def test_what_fat_has_not_is_refused_and_what_it_has_works(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        at = mount.start("--format").at
        file = at / "Upper.TXT"
        file.write_bytes(b"one")
        with pytest.raises(PermissionError):
            (at / "link").symlink_to(file)
        with pytest.raises(PermissionError):
            (at / "link").hardlink_to(file)
        with pytest.raises(PermissionError):
            os.mkfifo(at / "pipe")
        with pytest.raises(OSError, match="Invalid argument"):
            (at / "a:b").touch()
        with pytest.raises(OSError, match="File name too long"):
            (at / ("x" * 256)).touch()
        assert (at / "uPPER.txt").read_bytes() == b"one"
        file.chmod(0o444)
        assert file.stat().st_mode & 0o777 == 0o444
        file.chmod(0o644)
        assert file.stat().st_mode & 0o777 == 0o644
        for mode in (0o755, 0o600):
            with pytest.raises(PermissionError):
                file.chmod(mode)
            assert file.stat().st_mode & 0o777 == 0o644
        os.utime(file, (1_700_000_000, 1_700_000_000))
        assert file.stat().st_mtime == 1_700_000_000
        with file.open("ab") as more:
            more.write(b" two")
        os.truncate(file, 5)
        assert file.read_bytes() == b"one t"
        with (at / "gone").open("w+b") as gone:
            gone.write(b"still here")
            gone.flush()
            (at / "gone").unlink()
            gone.seek(0)
            assert gone.read() == b"still here"
        assert sorted(os.listdir(at)) == ["Upper.TXT"]  # noqa: PTH208 - names, as programs see them
        with pytest.raises(OSError, match="No space left"):
            (at / "large").write_bytes(bytes(80 << 20))
        file.write_bytes(b"not lost")
        (at / "large").unlink()
        assert file.read_bytes() == b"not lost"
        mount.stop()
        mount.check()


@pytest.mark.parametrize(
    ("ftl", "preset", "capacity"),
    [
        pytest.param("fast+saw", "slc-small", "48MiB", id="slc-small"),
        pytest.param("page+saw", "7450-like", "96MiB", id="7450-like"),
        pytest.param("dftl:cmt=64KiB+saw", "p5520-like", "96MiB", id="p5520-like"),
    ],
)
def test_what_was_synced_survives_kill_9(tmp_path: Path, ftl: str, preset: str, capacity: str) -> None:
    with Mount(tmp_path, ftl, capacity, preset=preset) as mount:
        mount.start("--format")
        safe: dict[str, bytes] = {}
        for kill in range(KILLS):
            folder = mount.at / f"round {kill}"
            folder.mkdir()

            def write(folder: Path = folder) -> None:
                for i in range(10_000):
                    name, content = f"file {i % 40}.txt", bytes([i % 251]) * (i * 997 % 30_000)
                    path = f"{folder.name}/{name}"
                    try:
                        with (folder / "new").open("wb") as new:
                            new.write(content)
                            new.flush()
                            os.fsync(new.fileno())
                        # Between the two lines the file is the old one or the new one.
                        safe.pop(path, None)
                        (folder / "new").rename(folder / name)
                        handle = os.open(folder, os.O_RDONLY)
                        os.fsync(handle)
                        os.close(handle)
                    except OSError:
                        return
                    safe[path] = content

            writer = threading.Thread(target=write)
            writer.start()
            writer.join(1.0 + kill * 0.1)
            mount.kill()
            writer.join()
            mount.start()
            wrong = [path for path, content in safe.items() if (mount.at / path).read_bytes() != content]
            assert not wrong, f"{len(wrong)} of {len(safe)} after kill {kill}: {wrong[:3]}"
            mount.stop()
            mount.check()
            mount.start()
        assert len(safe) > 5


def test_it_is_unmounted_although_it_is_busy(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        mount.start("--format")
        handle = os.open(mount.at / "open.txt", os.O_CREAT | os.O_WRONLY)
        os.write(handle, b"written")
        output = mount.stop()
        # Nobody is there any more whom the file could be closed at.
        with contextlib.suppress(OSError):
            os.close(handle)
        assert "still had files open" in output
        assert not list(mount.at.iterdir())
        assert (mount.start().at / "open.txt").read_text(encoding="utf-8") == "written"
        subprocess.run(["fusermount3", "-u", str(mount.at)], check=True)
        assert "everything is on the disk" in mount.ended()


def test_postmark_runs(tmp_path: Path) -> None:
    needs("postmark")
    with Mount(tmp_path) as mount:
        folder = mount.start("--format").at / "postmark"
        folder.mkdir()
        script = tmp_path / "script"
        script.write_text(POSTMARK.format(folder=folder), encoding="utf-8")
        process = subprocess.run(["postmark", str(script)], capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout + process.stderr
        assert "1000 total" in process.stdout or "transactions" in process.stdout
        mount.stop()
        mount.check()


def test_fio_verifies_what_it_wrote(tmp_path: Path) -> None:
    needs("fio")
    with Mount(tmp_path) as mount:
        mount.start("--format")
        run(
            "fio", "--name=m", f"--directory={mount.at}", "--size=2MiB", "--rw=randrw", "--bs=4k", "--fsync=128",
            "--verify=crc32c", "--verify_state_save=0", "--output-format=terse",
        )  # fmt: skip
        mount.stop()
        mount.check()


def test_what_cannot_be_mounted_is_said(call: Call, tmp_path: Path) -> None:
    needs_fuse()

    def refused(*arguments: object) -> str:
        result = call("mount", *arguments, exits=2)
        return " ".join(result.output.split())

    fk.create_image(tmp_path / "disk.img", "page", device={"capacity": "32MiB", "spare": 0.25})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "empty").mkdir()
    assert "mkdir" in refused("disk.img", "nowhere")
    assert "not empty" in refused("disk.img", "full")
    assert "--format" in refused("disk.img", "empty")
    assert "no image" in refused("none.img", "empty")
    (tmp_path / "text.img").write_text("no image", encoding="utf-8")
    refused("text.img", "empty")
    with fk.serve(tmp_path / "disk.img"):
        assert "being served" in refused("disk.img", "empty")
    with fk.mount(tmp_path / "disk.img", tmp_path / "empty", format=True) as mounted:
        (mounted.folder / "file").write_text("kept", encoding="utf-8")
        assert "being served" in refused("disk.img", "empty") or "not empty" in refused("disk.img", "empty")
    assert "holds data" in refused("--format", "disk.img", "empty")
    fk.create_image(tmp_path / "small.img", "page", device={"capacity": "16MiB", "spare": 0.25})
    assert "at least" in refused("--format", "small.img", "empty")
    assert "0 to 15" in refused("--format", "--streams", "16", "disk.img", "empty")
    with fk.mount(tmp_path / "disk.img", tmp_path / "empty", read_only=True) as mounted:
        assert (mounted.folder / "file").read_text(encoding="utf-8") == "kept"


def test_end_of_a_mount_leaves_what_others_mounted_at_its_folder(tmp_path: Path, call: Call) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root mounts a tmpfs")
    mount = Mount(tmp_path).start("--format")
    subprocess.run(["fusermount3", "-u", str(mount.at)], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mount.at)], check=True)
    try:
        (mount.at / "theirs").write_text("kept", encoding="utf-8")
        mount.ended()
        assert (mount.at / "theirs").read_text(encoding="utf-8") == "kept"
        (mount.at / "theirs").unlink()
        refused = call("mount", mount.image, mount.at, exits=2)
        assert "something is mounted at" in refused.stderr.replace("\n", " ")
    finally:
        subprocess.run(["umount", str(mount.at)], check=True)


def test_mount_below_another_is_said_to_stay_with_the_command(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root mounts a tmpfs")
    mount = Mount(tmp_path).start("--format")
    (mount.at / "file").write_text("kept", encoding="utf-8")
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mount.at)], check=True)
    said = mount.stop()
    assert "unmounted" not in said
    assert f"umount {mount.at};" in said
    for _ in range(2):
        subprocess.run(["umount", str(mount.at)], check=True)
    assert "unmounted" in mount.start().stop()


def test_planned_faults_that_never_come_are_told_as_by_serve(tmp_path: Path) -> None:
    script = tmp_path / "faults.toml"
    faults = [(3, "program_fails"), (10**8, "erase_fails"), (10**9, "cut")]
    script.write_text("".join(f'[[fault]]\noperation = {at}\nkind = "{kind}"\n' for at, kind in faults))
    mount = Mount(tmp_path).start("--format", "--fault", str(script))
    (mount.at / "file").write_text("kept", encoding="utf-8")
    assert "2 planned faults have not come" in mount.stop()


def test_files_are_executed_with_the_permissions_of_the_mount(tmp_path: Path) -> None:
    with Mount(tmp_path) as mount:
        program = mount.start("--format", "--exec", "--umask", "077").at / "program"
        program.write_text("#!/bin/sh\necho it runs\n")
        assert program.stat().st_mode & 0o777 == 0o700
        assert program.parent.stat().st_mode & 0o777 == 0o700
        assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == "it runs\n"
        program.chmod(0o755)
        with pytest.raises(PermissionError):
            program.chmod(0o644)
    with pytest.raises(fk.UserError, match="--umask 888: must be octal, from 000 to 777"):
        fk.mount(mount.image, mount.at, umask="888")
