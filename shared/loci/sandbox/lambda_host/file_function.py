"""Files in a function: each is read behind a wall, in a machine that reads the files of one owner."""

import gzip
import secrets
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.lambda_host.saved_state import ObjectError, copy_object, write_object
from loci.sandbox.supervisor.executor_files import plain_file, remove
from loci.sandbox.supervisor.executor_process import ExecutorEnded
from loci.sandbox.supervisor.fork_server_client import READERS, Forks, WorkFolders
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.wall.layers import offered

READING = "reading.json"

Answer = dict[str, Any]
ENDED: Answer = {"ended": "ended"}
"""The process just ended. Something else may have ended it, and not what is in the file: so it is tried once more."""


class FileReads:
    """Answers events, one after the other. A parser's answer goes to the bucket as it is, and is not believed here."""

    def __init__(self, runner: str, folder: str | None = None) -> None:
        self._folder = Path(folder or tempfile.mkdtemp(prefix="loci-"))
        python, cache = Path(runner, "bin", "python"), self._folder / "cache"
        self._forks = Forks(lambda: python, lambda: offered().layers, cache, drawing=False, packages=READERS)
        self._turn = threading.Lock()

    def prepare(self) -> None:
        """Import the parsers before somebody waits for them."""
        self._forks.prepare()

    def answer(self, event: Mapping[str, Any]) -> dict[str, str]:
        """Read the event's file, and write what was in it where it says. A ping has none: this machine has started."""
        said: Answer = {}
        if "ping" not in event:
            with self._turn:
                said = self._once(event)
                if said == ENDED:
                    said = self._once(event)
        answer = packed_answer(said)
        assert answer is not None  # noqa: S101 (it is short)
        return answer

    def close(self) -> None:
        """End all processes."""
        with self._turn:
            self._forks.close()
            remove(str(self._folder))

    def _once(self, event: Mapping[str, Any]) -> Answer:
        folder = self._folder / secrets.token_hex(8)
        try:
            return self._answer(event, folder)
        finally:
            remove(str(folder))

    def _answer(self, event: Mapping[str, Any], folder: Path) -> Answer:
        folders = WorkFolders(folder / "work", folder / "scratch", folder / "memory")
        file = folders.memory / "file"
        try:
            for one in (folders.work, folders.scratch, folders.memory):
                one.mkdir(parents=True, mode=0o700)
            copy_object(event["get"], file, event["largest_file"])
            file.chmod(0o444)
        except (ObjectError, OSError) as error:
            return {"failed": f"the file could not be copied: {error}"[:300]}
        try:
            process = self._forks.spawn(folders, Bounds(**event["bounds"]))
        except ExecutorEnded as ended:
            said = bytes(ended.output.stderr).decode(errors="replace")
            return {"failed": f"no program started that reads files: {said}"[:300]}
        answer = folders.work / READING
        arguments = ", ".join(repr(one) for one in (str(file), event["name"], str(answer)))
        try:
            process.run(f"from loci.files.extract.program import run; run({arguments})", _no_other)
        except ExecutorEnded as ended:
            return {"ended": ended.why}
        finally:
            process.end()
        content = plain_file(answer, event["largest_reading"])
        packed = gzip.compress(content, 5, mtime=0)
        try:
            write_object(event["put"], packed)
        except ObjectError as error:
            return {"failed": f"what was read could not be kept: {error}"[:300]}
        return {"read": len(content)}


def _no_other(_id: str, _name: str) -> dict[str, str]:
    return {"missing": "no other file"}
