"""`loci approve --watch` beside a server on the same data folder."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.polling import until
from tests.support.serving import LOCI, call, clean_environment, loci, post, serving

JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"


@contextmanager
def watching(data: Path) -> Generator[Callable[[], str]]:
    """The command on a terminal; what it has printed until now."""
    ours, its = pty.openpty()
    command = [*LOCI, "approve", "--watch"]
    process = subprocess.Popen(command, env=clean_environment(data), stdin=subprocess.DEVNULL, stdout=its)
    os.close(its)
    os.set_blocking(ours, False)
    printed = bytearray()

    def read() -> str:
        with suppress(OSError):  # nothing now, or it has ended
            printed.extend(os.read(ours, 1 << 16))
        return printed.decode()

    try:
        yield read
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_person_who_watches_sees_each_new_question_and_hears_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    added = loci(data, "tools", "add", "journal", "--", sys.executable, str(JOURNAL), str(tmp_path / "journal"))
    assert added.returncode == 0, added.stderr

    def ask(value: str) -> None:
        task = {"id": "t1", "tool": "journal:deploy", "arguments": {"value": value}, "approve": "human"}
        answer = post(f"{server.url}/mcp", call("pml_execute_dag", {"workflow": {"tasks": [task]}}))
        assert answer.status == 200, answer.text

    with serving(data) as server:
        ask("first")
        with watching(data) as printed:
            until(lambda: '{"value": "first"}' in printed(), 60)
            assert "\a" not in printed()
            ask("second")
            until(lambda: '{"value": "second"}' in printed(), 60)
        assert "t1 wants to call journal:deploy" in printed().partition("\a")[2]
        assert printed().count("\a") == 1
