"""Python in a function: one executor, in a machine that serves no other. The caller keeps what must stay."""

import secrets
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from loci.sandbox.lambda_host.function_answer import end_to_json, packed_answer, reply_to_json
from loci.sandbox.lambda_host.questions import QuestionLine, open_line
from loci.sandbox.lambda_host.saved_state import (
    CollectedVariables,
    ObjectError,
    SavedFolder,
    copy_object,
    read_variables,
)
from loci.sandbox.supervisor import variables
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.executor_files import file_stamps, remove, written_files
from loci.sandbox.supervisor.executor_process import (
    ExecutorEnded,
    ExecutorProcess,
    FileLookup,
    NamedCall,
    failed_to_start,
)
from loci.sandbox.supervisor.fork_server_client import Forks, WorkFolders
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.supervisor.variables import Start, Unsaved, start_to_json
from loci.sandbox.wall.layers import offered

LARGEST_FILE = 256 << 20
SAVE_SECONDS = 5.0
"""Seconds to save the variables, while somebody waits for the answer."""

Answer = dict[str, Any]


class PythonRuns:
    """Answers events, one after the other. Another executor takes the place of the one that was here."""

    def __init__(self, runner: str, folder: str | None = None) -> None:
        self._folder = Path(folder or tempfile.mkdtemp(prefix="loci-"))
        self._forks = Forks(lambda: Path(runner, "bin", "python"), lambda: offered().layers, self._folder / "cache")
        self._turn = threading.Lock()
        self._executor: ExecutorProcess | None = None
        self._id = ""
        self._saved_folder = SavedFolder()
        self._process = ""
        """The name that the caller gave to the process after its last run."""

    def prepare(self) -> None:
        """Begin to import everything. Lambda gives an INIT 10 s, and a call meanwhile waits for the rest."""
        in_thread(self._forks.prepare)

    def answer(self, event: Mapping[str, Any]) -> dict[str, str]:
        """Run the event's code, and say what came of it. A ping has none: this machine has started."""
        if "ping" in event:
            self._forks.prepare()
            return packed_answer({}) or {}
        with self._turn:
            content = self._answer(event)
        while (answer := packed_answer(content)) is None:
            if not content["run"].get("pieces"):
                content["run"].update(stdout="", stderr="(too much was printed)", dropped=1)
            content["run"]["pieces"] = content["run"].get("pieces", [])[:-1]
        return answer

    def close(self) -> None:
        """End all processes."""
        with self._turn:
            self._end()
            self._forks.close()
            remove(str(self._folder))

    def _answer(self, event: Mapping[str, Any]) -> Answer:
        bounds = Bounds(**event["bounds"])
        try:
            executor, start, files = self._started(event, bounds)
        except (ExecutorEnded, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            ended = error if isinstance(error, ExecutorEnded) else ExecutorEnded("start", failed_to_start(why))
            return {"began": "none", "run": end_to_json(ended, 0.0)}
        begun = {**start_to_json(start), **files}
        self._process = event["process"]  # from here on the process is not what it was
        line = open_line(event.get("line"), bounds.seconds)
        work = self._folders().work
        before = file_stamps(work)
        try:
            reply = executor.run(event["code"], self._lookup(line), call=_caller(line), seconds=bounds.seconds)
        except ExecutorEnded as ended:
            self._end()
            if ended.why == "disk":
                self._empty()
            return {**begun, "run": end_to_json(ended, bounds.seconds)}
        finally:
            if line is not None:
                line.close()
        answer = {**begun, "run": reply_to_json(reply), "written": written_files(before, file_stamps(work))}
        return {**answer, **self._save(executor, event["save"]), **self._save_files(event["save"])}

    def _started(self, event: Mapping[str, Any], bounds: Bounds) -> tuple[ExecutorProcess, Start, Answer]:
        """The executor as its last run left it, wherever that was; and what to say of its files."""
        if event["executor"] != self._id:
            self._end()
            self._empty()
            self._id = event["executor"]
        here = self._executor
        if here is not None and (not here.is_alive or self._process != event["expected"]):
            self._end()
        files = {} if self._executor else self._restore_files(event)

        def spawn() -> ExecutorProcess:
            self._end()
            self._executor = self._spawned(bounds)
            return self._executor

        executor, start = variables.start(self._executor, spawn, _saved_variables(event.get("state")))
        return executor, start, files

    def _restore_files(self, event: Mapping[str, Any]) -> Answer:
        """Bring back the work folder, unless it is here. Say why, if that fails."""
        work = self._folders().work
        if work.exists():
            return {}
        work.mkdir(parents=True, mode=0o700)
        self._saved_folder.forget()
        if event.get("files") is None:
            return {"no_files": "they were too many to be kept"}
        try:
            self._saved_folder.restore(work, event["files"], event["save"]["most"])
        except ObjectError as error:
            remove(str(work))  # a part of them would be taken for all
            work.mkdir(mode=0o700)
            return {"no_files": f"they could not be read ({error})"}
        return {}

    def _spawned(self, bounds: Bounds) -> ExecutorProcess:
        folders = self._folders()
        for one in (folders.work, folders.scratch, folders.memory):
            one.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._forks.spawn(folders, bounds)

    def _save(self, executor: ExecutorProcess, save: Mapping[str, Any]) -> Answer:
        content = CollectedVariables()
        saved = variables.save(executor, content.take, save["most"], all_of_it=True, seconds=SAVE_SECONDS)
        if isinstance(saved, Unsaved):
            if executor.ended is not None:
                self._end()
            return {"unsaved": saved.why}
        try:
            pieces = content.write(save["puts"])
        except ObjectError as error:
            return {"unsaved": f"the saved variables could not be kept ({error})"}
        return {"saved": {"pieces": pieces, "size": content.size, "said": saved.said}}

    def _save_files(self, save: Mapping[str, Any]) -> Answer:
        if save.get("renew"):
            self._saved_folder.renew()
        try:
            digest = self._saved_folder.save(self._folders().work, save["files"], save["most"])
        except ObjectError as error:
            return {"files_unsaved": str(error)[:200]}
        return {} if digest is None else {"files": digest}

    def _lookup(self, line: QuestionLine | None) -> FileLookup:
        """Answers the executor's requests for stored files, with copies that it cannot change."""

        def lookup(id: str, name: str) -> dict[str, str]:
            answer = line.ask({"file": id[:1024], "name": name[:200]}) if line else None
            if answer is None:
                return {"missing": "Nobody answered: the time is up, or the line is broken"}
            if "missing" in answer:
                return {"missing": str(answer["missing"])}
            try:
                return {"path": str(self._copied(answer))}
            except (ObjectError, OSError) as error:
                return {"missing": f"The file could not be copied ({error})"}

        return lookup

    def _copied(self, answer: Mapping[str, Any]) -> Path:
        path = self._folders().memory / answer["folder"] / answer["name"]
        if not path.is_file():
            arriving = self._folder / secrets.token_hex(8)
            copy_object(answer["get"], arriving, LARGEST_FILE)
            arriving.chmod(0o444)
            path.parent.mkdir(exist_ok=True, mode=0o755)
            arriving.replace(path)
        return path

    def _folders(self) -> WorkFolders:
        here = self._folder / "executor"
        return WorkFolders(here / "work", here / "scratch", here / "memory")

    def _empty(self) -> None:
        self._saved_folder.forget()
        remove(str(self._folder / "executor"))

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.end()
            self._executor = None


def _caller(line: QuestionLine | None) -> NamedCall:
    """Passes the executor's calls of tools on."""

    def call(tool: str, arguments: str) -> dict[str, Any]:
        return (line.ask({"tool": tool, "arguments": arguments}) if line else None) or {"ok": False}

    return call


def _saved_variables(state: Any) -> Callable[[], Iterable[bytes]] | None:
    if state is None:
        return None

    def read() -> Iterable[bytes]:
        try:
            yield from read_variables(state)
        except ObjectError as error:
            raise variables.UnreadableError(str(error)) from None

    return read
