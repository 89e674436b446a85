"""`loci watch` ends when it is told to."""

import gc
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loci.cli.main import cli
from loci.cli.watch import FileEvents


class Interrupted:
    """Garbage in whose finalizer Ctrl-C arrives: Python cannot raise from there."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_ends_it_even_if_its_exception_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    waits: list[int] = []

    def wait(_: FileEvents) -> set[str]:
        waits.append(1)
        assert len(waits) < 5, "it goes on"
        if len(waits) == 2:
            Interrupted()
            gc.collect()
        return set()

    monkeypatch.setattr(FileEvents, "wait", wait)
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        ended = CliRunner().invoke(cli, ["watch", str(tmp_path / "notes"), "--data", str(tmp_path / "data")])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert "Stopped." in ended.output
    assert ended.exit_code == 0
