"""Python in a function: one executor in a machine that serves no other. What it keeps, whoever calls keeps for it."""

import secrets
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loci.sandbox.lambda_host import saved_variables, signed_objects
from loci.sandbox.lambda_host.packed import packed
from loci.sandbox.lambda_host.question_line import QuestionLine, opened
from loci.sandbox.lambda_host.run_report import ended, reported
from loci.sandbox.lambda_host.signed_objects import ObjectError
from loci.sandbox.lambda_host.work_folder import KeptFolder
from loci.sandbox.supervisor.exchange import Bounds, ExecutorEnded, FileLookup
from loci.sandbox.supervisor.executor_files import file_stamps, remove, written_files
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import ForkServer, WorkFolders, interpreter
from loci.sandbox.wall.probe import offered

STATE_SECONDS = 60.0
LARGEST_FILE = 256 << 20

Answer = dict[str, Any]


class PythonRuns:
    """PythonRuns orders, one after the other. Another executor takes the place of the one that was here."""

    def __init__(self, runner: str, folder: str | None = None) -> None:
        self._runner = Path(runner)
        self._folder = Path(folder or tempfile.mkdtemp(prefix="loci-"))
        self._turn = threading.Lock()
        self._server: ForkServer | None = None
        self._executor: ExecutorProcess | None = None
        self._id = ""
        self._kept = KeptFolder()
        self._process = ""
        """What is between two runs, as whoever calls names it."""

    def prepare(self) -> None:
        """Import everything, before there is somebody to wait for it."""
        with self._turn:
            self._forks(drawing=True)

    def answer(self, event: Mapping[str, Any]) -> dict[str, str]:
        """What became of the order."""
        with self._turn:
            told = self._answer(event)
        while (answer := packed(told)) is None:
            if not told["run"].get("pieces"):
                told["run"].update(stdout="", stderr="(too much was printed)", dropped=1)
            told["run"]["pieces"] = told["run"].get("pieces", [])[:-1]
        return answer

    def close(self) -> None:
        """End all processes."""
        with self._turn:
            self._end()
            if self._server is not None:
                self._server.close()
            remove(str(self._folder))

    def _answer(self, event: Mapping[str, Any]) -> Answer:
        bounds = Bounds(**event["bounds"])
        try:
            told, executor = self._awake(event, bounds)
        except ExecutorEnded as why:
            return {"began": "none", "run": ended(why, 0.0)}
        self._process = event["process"]  # from here on it is another than it was
        line = opened(event.get("line"), bounds.seconds)
        work = self._folders().work
        before = file_stamps(work)
        try:
            reply = executor.run(event["code"], self._memory(line))
        except ExecutorEnded as why:
            self._end()
            if why.why == "disk":
                self._emptied()
            return {**told, "run": ended(why, bounds.seconds)}
        finally:
            if line is not None:
                line.close()
        answer = {**told, "run": reported(reply), "written": written_files(before, file_stamps(work))}
        return {**answer, **self._saved(executor, event["save"]), **self._saved_files(event["save"])}

    def _awake(self, event: Mapping[str, Any], bounds: Bounds) -> tuple[Answer, ExecutorProcess]:
        """The executor as its last run left it, wherever that was; and how it came to be that."""
        if event["executor"] != self._id:
            self._end()
            self._emptied()
            self._id = event["executor"]
        here = self._executor
        if here is not None and here.ended is None and self._process == event["expected"]:
            return {"began": "kept"}, here
        self._end()
        files = self._filled(event)
        executor = self._spawned(event, bounds)
        state = event.get("state")
        if state is None:
            return {"began": "new", **files}, executor
        try:
            reply = executor.restore(list(saved_variables.read(state)), STATE_SECONDS)
        except (ExecutorEnded, ObjectError) as error:
            self._end()
            return {"began": "lost", "why": str(error)[:200], **files}, self._spawned(event, bounds)
        return {"began": "restored", "restored": reply.said, **files}, executor

    def _filled(self, event: Mapping[str, Any]) -> Answer:
        """The work folder as it was left; what is said of it where this machine had none."""
        work = self._folders().work
        if work.exists():
            return {}
        work.mkdir(parents=True, mode=0o700)
        self._kept.forget()
        if event.get("files") is None:
            return {"no_files": "they were too many to be kept"}
        try:
            self._kept.restore(work, event["files"], event["save"]["most"])
        except ObjectError as error:
            return {"no_files": f"they could not be read ({error})"}
        return {}

    def _spawned(self, event: Mapping[str, Any], bounds: Bounds) -> ExecutorProcess:
        folders = self._folders()
        for one in (folders.work, folders.scratch, folders.memory):
            one.mkdir(parents=True, exist_ok=True, mode=0o700)
        executor = self._executor = self._forks(drawing=event["drawing"]).spawn(folders, bounds)
        return executor

    def _saved(self, executor: ExecutorProcess, save: Mapping[str, Any]) -> Answer:
        content = saved_variables.Saved()
        try:
            reply = executor.save(content.take, save["most"], STATE_SECONDS)
        except ExecutorEnded as why:
            self._end()
            return {"unsaved": f"the variables could not be saved ({why.why})"}
        if reply.said.get("too_large"):
            return {"unsaved": f"the variables take more than {save['most'] >> 20} MB"}
        try:
            pieces = content.write(save["puts"])
        except ObjectError as error:
            return {"unsaved": f"the saved variables could not be kept ({error})"}
        return {"saved": {"pieces": pieces, "size": content.size, "said": reply.said}}

    def _saved_files(self, save: Mapping[str, Any]) -> Answer:
        try:
            digest = self._kept.save(self._folders().work, save["files"], save["most"])
        except ObjectError as error:
            return {"files_unsaved": str(error)[:200]}
        return {} if digest is None else {"files": digest}

    def _memory(self, line: QuestionLine | None) -> FileLookup:
        """Answers the executor's requests for stored files, with copies that it cannot change."""

        def memory(id: str, name: str) -> dict[str, str]:
            answer = line.ask({"file": id[:200], "name": name[:200]}) if line else None
            if answer is None:
                return {"missing": "Nobody answered: the time is up, or the line is broken"}
            if "missing" in answer:
                return {"missing": str(answer["missing"])}
            try:
                return {"path": str(self._copied(answer))}
            except (ObjectError, OSError) as error:
                return {"missing": f"The file could not be copied ({error})"}

        return memory

    def _copied(self, answer: Mapping[str, Any]) -> Path:
        path = self._folders().memory / answer["folder"] / answer["name"]
        if not path.is_file():
            arriving = self._folder / secrets.token_hex(8)
            arriving.write_bytes(signed_objects.read(answer["get"], LARGEST_FILE))
            arriving.chmod(0o444)
            path.parent.mkdir(exist_ok=True, mode=0o755)
            arriving.replace(path)
        return path

    def _forks(self, *, drawing: bool) -> ForkServer:
        if self._server is None or not self._server.is_alive:
            cache = self._folder / "cache"
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            python = interpreter(self._runner / "bin" / "python")
            self._server = ForkServer(python, offered().layers, cache, drawing=drawing)
        return self._server

    def _folders(self) -> WorkFolders:
        here = self._folder / "executor"
        return WorkFolders(here / "work", here / "scratch", here / "memory")

    def _emptied(self) -> None:
        self._kept.forget()
        remove(str(self._folder / "executor"))

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.end()
            self._executor = None
