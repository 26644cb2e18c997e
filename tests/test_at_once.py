"""How many runs, points or trials go on at once: one meaning of `--threads` for every command."""

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._util.at_once import MOST, at_once, cores
from ftlkit.sweeps.local import Local

COMMANDS = ["compare fin1", "sweep fin1", "advise fin1", "torture", "curve load fin1", "curve depth fin1"]


@pytest.mark.parametrize("number", ["99999999999999999999", "65537", "0", "-1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_out_of_range_are_refused_with_the_limit(command: str, number: str, call: Call) -> None:
    done = call(*command.split(), "--threads", number, exits=2)
    said = " ".join(done.stderr.split())
    assert f"--threads {number}: must be from 1 to {MOST:,}, and at most one per core runs at once." in said


def test_no_more_go_on_at_once_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Local(MOST).checks == at_once(MOST) == at_once(None) == cores()
    assert fk.torture("page", minutes=0.0001, threads=600)["threads"] == cores()
    monkeypatch.setattr("ftlkit._util.at_once.cores", lambda: 8)
    assert [at_once(threads) for threads in (1, 7, 8, 9, None)] == [1, 7, 8, 8, 8]
