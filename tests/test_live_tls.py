"""TLS: with certificates nothing is served in the clear, nor to strangers to an authority."""

import contextlib
import socket
import subprocess
from pathlib import Path

import pytest

import ftlkit as fk
from disk import Disk, needs, run


def signed(folder: Path, authority: Path, name: str) -> Path:
    """A folder with a key and a certificate of that name, signed by an authority."""
    folder.mkdir()
    key, request, made = folder / f"{name}-key.pem", folder / f"{name}.csr", folder / f"{name}-cert.pem"
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
    names = folder / f"{name}.cnf"
    names.write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    by = ["-CA", authority / "ca-cert.pem", "-CAkey", authority / "ca-key.pem", "-CAcreateserial"]
    run("openssl", "x509", "-req", "-in", request, *by, "-days", "2", "-out", made, "-extfile", names)
    return folder


def trusting(authority: Path, *folders: Path) -> None:
    """Let these folders name the authority as theirs."""
    for folder in folders:
        (folder / "ca-cert.pem").write_bytes((authority / "ca-cert.pem").read_bytes())


def authority(folder: Path) -> Path:
    """An authority of its own."""
    folder.mkdir()
    run(
        *["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority"],
        *["-keyout", folder / "ca-key.pem", "-out", folder / "ca-cert.pem"],
        *["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"],
    )
    return folder


def size(port: str, certificates: Path) -> subprocess.CompletedProcess[str]:
    """Ask for the size over TLS."""
    uri = f"nbds://localhost:{port}/?tls-certificates={certificates}"
    return subprocess.run(["nbdinfo", "--size", uri], capture_output=True, text=True, timeout=60, check=False)


def test_only_those_whom_the_authority_signed_are_served(tmp_path: Path) -> None:
    needs("openssl", "nbdinfo", "nbdcopy")
    ours, others = authority(tmp_path / "ours"), authority(tmp_path / "others")
    server, client = signed(tmp_path / "server", ours, "server"), signed(tmp_path / "client", ours, "client")
    stranger = signed(tmp_path / "stranger", others, "client")
    trusting(ours, server, client, stranger)
    disk = Disk(tmp_path, "page", capacity="16MiB")
    disk.start("--tls", server)
    plain = subprocess.run(["nbdinfo", disk.uri], capture_output=True, text=True, timeout=60, check=False)
    assert plain.returncode != 0
    disk.stop()
    line = disk.start("--tls", server, "--listen", "127.0.0.1:0", over_tcp=True).line
    port = line.rsplit(":", 1)[1].strip()
    answered = size(port, client)
    assert answered.returncode == 0, answered.stderr
    assert int(answered.stdout) == 16 << 20
    assert size(port, stranger).returncode != 0
    source = tmp_path / "source"
    source.write_bytes((b"encrypted" * 1_800_000).ljust(16 << 20, b"\0"))
    uri = f"nbds://localhost:{port}/?tls-certificates={client}"
    run("nbdcopy", "--flush", source, uri)
    run("nbdcopy", uri, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    disk.stop()


def test_handshakes_that_stand_still_keep_no_client_out(tmp_path: Path) -> None:
    needs("openssl", "nbdinfo")
    ours = authority(tmp_path / "ours")
    server, client = signed(tmp_path / "server", ours, "server"), signed(tmp_path / "client", ours, "client")
    trusting(ours, server, client)
    disk = Disk(tmp_path, "page", capacity="16MiB")
    line = disk.start("--tls", server, "--listen", "127.0.0.1:0", over_tcp=True).line
    port = line.rsplit(":", 1)[1].strip()
    with contextlib.ExitStack() as held:
        for _ in range(100):
            stream = held.enter_context(socket.create_connection(("127.0.0.1", int(port)), timeout=10))
            # STARTTLS is granted, then comes the beginning of a hello and no more.
            with contextlib.suppress(OSError):
                stream.recv(18)
                stream.sendall(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0")
                stream.recv(20)
                stream.sendall(b"\x16\x03\x01\x02")
        answered = size(port, client)
        assert answered.returncode == 0, answered.stderr
    disk.stop()


def test_a_key_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    needs("openssl")
    server = signed(tmp_path / "server", authority(tmp_path / "ours"), "server")
    (server / "server-key.pem").chmod(0o644)
    disk = Disk(tmp_path, "page", capacity="16MiB")
    with pytest.raises(fk.UserError, match="chmod 600"):
        fk.serve(disk.image, tls=server)
    with fk.serve(disk.image, tls=server, insecure=True):
        pass
    (server / "server-key.pem").chmod(0o640)
    with fk.serve(disk.image, tls=server):
        pass
