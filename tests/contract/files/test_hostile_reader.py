"""A parser that a file has taken over: it reaches nothing, and nothing that it says does harm."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from loci.adapters.local.confined_reader import BOUNDS, ConfinedReader
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import LOCAL
from loci.files.reading import TableSection, checked
from tests.contract.stores import in_folder
from tests.support.deno import STRONGEST
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.polling import until

PATIENT = replace(BOUNDS, seconds=2.0, grace_seconds=0.3, memory_bytes=256 << 20, disk_bytes=32 << 20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[ConfinedReader]:
    blobs = in_folder(folder).blobs
    blobs.write(LOCAL, "one", b"a,b\n1,2\n")
    reader = ConfinedReader(folder / "readers", runner_packages(), blobs, lambda: STRONGEST, PATIENT)
    yield reader
    reader.close()


def tables(reader: ConfinedReader) -> tuple[TableSection, ...]:
    """Those of the file; none if this machine was too slow for the short time that a reading has here."""
    try:
        return tuple(checked(reader.read(LOCAL, "one", "a.csv")).tables)
    except Refused:
        return ()


def _taken_over(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have this code run in the place of the parsers, which a file can make them do at worst."""
    monkeypatch.setattr("loci.adapters.local.confined_reader.PROGRAM", "answer = 'reading.json'\n" + code + "\n#")


@each(
    "code",
    [
        "open(answer, 'w').write('{')",
        "open(answer, 'w').write('[' * 100000)",
        """open(answer, 'w').write('{"reading": {"format": "exe", "sections": []}}')""",
        """open(answer, 'w').write('{"reading": {"format": "csv", "sections": [{"kind": "table", "rows": 7}]}}')""",
        """open(answer, 'w').write('{"unreadable": "' + 'x' * 9999 + '"}')""",
        "import os; os.symlink('/etc/passwd', answer)",
        "import os; os.mkfifo(answer)",
        "import os; os.mkdir(answer)",
        "pass",
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "held = bytearray(2 << 30)",
        "open(answer, 'wb').write(bytes(64 << 20))",
        "while True: pass",
    ],
)
def test_whatever_it_says_the_file_is_refused(
    reader: ConfinedReader, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    _taken_over(monkeypatch, code)
    with pytest.raises(Refused):
        checked(reader.read(LOCAL, "one", "a.csv"))
    monkeypatch.undo()
    assert until(lambda: tables(reader))


@each(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "open('/etc/passwd').read()",
        "import os; os.listdir(os.path.dirname(os.path.dirname(os.getcwd())))",
        "import subprocess; subprocess.run(['/bin/ls'])",
        "import os; os.fork()",
    ],
)
def test_it_reaches_nothing(reader: ConfinedReader, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    lines = "\n ".join(code.split("; "))
    reached = """open(answer, 'w').write('{"unreadable": "reached"}')"""
    held = """open(answer, 'w').write('{"unreadable": "held"}')"""
    _taken_over(monkeypatch, f"try:\n {lines}\n {reached}\nexcept OSError:\n {held}")
    with pytest.raises(LociError) as caught:
        checked(reader.read(LOCAL, "one", "a.csv"))
    assert "reached" not in str(caught.value)


def test_nothing_is_left_of_a_file_that_was_read(reader: ConfinedReader, folder: Path) -> None:
    assert until(lambda: tables(reader))
    assert not [*(folder / "readers").glob("executor-*")]


def test_without_the_runners_packages_it_says_how_to_install_them(tmp_path: Path) -> None:
    blobs = in_folder(tmp_path).blobs
    with pytest.raises(Unavailable, match="loci runner install"):
        ConfinedReader(tmp_path / "readers", tmp_path / "none", blobs, lambda: STRONGEST).read(LOCAL, "one", "a.csv")
