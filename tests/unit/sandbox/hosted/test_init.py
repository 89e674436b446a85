"""INIT of the function that runs Python: Lambda begins it again after 10 s, and importing the packages takes long."""

import os
from pathlib import Path

import pytest

from tests.support.executors import runner_packages
from tests.support.functions import loaded
from tests.support.polling import until

SLOW = """#!/bin/sh
[ -p {wait} ] && read -r _ < {wait}
exec {python} "$@"
"""


def test_init_does_not_wait_for_the_packages_but_an_answer_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter of the runs does not begin before somebody writes to the pipe."""
    wait, slow = tmp_path / "wait", tmp_path / "bin" / "python"
    os.mkfifo(wait)
    slow.parent.mkdir()
    slow.write_text(SLOW.format(wait=wait, python=runner_packages() / "bin" / "python"))
    slow.chmod(0o755)
    monkeypatch.setenv("LOCI_RUNNER", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    function = loaded(Path("run_python"))
    try:
        until(lambda: began(wait))
        assert function.lambda_handler({"ping": True}, None) is not None
    finally:
        function.runs.close()


def began(pipe: Path) -> bool:
    """Let the interpreter that waits at the pipe begin, if there is one."""
    try:
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads
        return False
    pipe.unlink()
    os.write(writer, b"go\n")
    os.close(writer)
    return True
