"""Code: the one door to running callers' code."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from loci.code import computations, packages, python, typescript
from loci.code.parts import CodeParts
from loci.code.ports import Cancelled, never
from loci.code.python import LivingExecutor, PythonRun, python_answer, python_under_way
from loci.code.runs import PendingRun
from loci.code.table_queries import TableAnswer
from loci.code.typescript import TypeScriptRequest, TypeScriptRun, typescript_under_way
from loci.core.deadline import time_left
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.trust import Origin
from loci.documents.document import Document
from loci.files.file import StoredFile
from loci.sandbox.supervisor.daemon_threads import in_thread

StartedRun = PythonRun | TypeScriptRun | PendingRun
"""A run that goes on while its call waits."""
LARGEST_ARTIFACT = 25 << 20
"""Bytes of a file that code made and that may be stored."""
ANSWERING = 2.0
"""Seconds that remain of a request when its call stops waiting for a run."""


class Code:
    """Runs callers' code behind a wall: Python in executors that keep their variables, and TypeScript."""

    def __init__(self, parts: CodeParts) -> None:
        self.parts = parts

    @property
    def patience(self) -> float:
        """Seconds that a call waits for its run before it answers that the run goes on."""
        left = time_left()
        return self.parts.patience if left is None else max(0.0, min(self.parts.patience, left - ANSWERING))

    @property
    def starts_typescript_at_once(self) -> bool:
        """True if `start_typescript` asks no store and loads nothing, so that the event loop may call it."""
        return self.parts.detached_runs is None and self.parts.typescript.made is not None

    def create_python(self, owner: Owner) -> str:
        """Create an executor and return its id."""
        return self.parts.python.get().create(owner)

    def executors(self, owner: Owner) -> list[LivingExecutor]:
        """The executors of an owner, the one that was used last first. Raises `Unavailable` if there can be none."""
        return self.parts.python.get().all(owner)

    def end_executor(self, owner: Owner, id: str) -> None:
        """End an executor, with its variables and files. Raises `NotFound` if the owner has none with this id."""
        self.parts.python.get().end(owner, id)

    def start_python(
        self, caller: Caller, executor_id: str, code: str, cancelled: Cancelled = never
    ) -> PythonRun | PendingRun:
        """Start Python, on a thread or in another process.

        `cancelled` turns true when nobody wants the answer any more.
        """
        runner, detached_runs = self.parts.python.get(), self.parts.detached_runs
        if detached_runs is None:
            return runner.start(caller, executor_id, code, cancelled)
        runner.check(caller.owner, executor_id, code)
        request: JsonObject = {"id": executor_id, "code": code}
        return detached_runs.begin(caller, python.TOOL, request, runner.longest, python_under_way, cancelled)

    def start_computation(
        self, caller: Caller, id: str, parameters: JsonObject, cancelled: Cancelled = never
    ) -> PythonRun | PendingRun:
        """Start the computation of a document, on a thread or in another process."""
        here, detached_runs = self.parts.computations, self.parts.detached_runs
        if detached_runs is None:
            return here.start(caller, id, parameters, cancelled)
        here.prepare(caller.owner, id, parameters)
        request: JsonObject = {"id": id, "parameters": parameters}
        seconds = self.parts.python.get().longest + computations.ATTESTER_SECONDS
        return detached_runs.begin(caller, computations.TOOL, request, seconds, python_under_way, cancelled)

    def start_typescript(self, caller: Caller, request: TypeScriptRequest, cancelled: Cancelled = never) -> StartedRun:
        """Start TypeScript, on a thread or in another process.

        `cancelled` turns true when nobody wants the answer any more.
        """
        here, detached_runs = self.parts.typescript.get(), self.parts.detached_runs
        if detached_runs is None:
            return here.start(caller, request, cancelled)
        here.check(request)
        seconds, asked = request.timeout_ms / 1000, request.as_json()
        return detached_runs.begin(caller, typescript.TOOL, asked, seconds, typescript_under_way, cancelled)

    def computation_file(self, owner: Owner, document: Document, resource: str) -> tuple[str, bytes] | None:
        """The path and the content of a file that a computation names. None if it is not here."""
        return self.parts.computations.file_of(owner, document, resource)

    def check_typescript(self, request: TypeScriptRequest) -> None:
        """Raise `LociError` if the code may not run."""
        self.parts.typescript.get().check(request)

    def run_typescript(self, caller: Caller, request: TypeScriptRequest, cancelled: Cancelled = never) -> JsonObject:
        """Run TypeScript to its end, and return its answer. Raises `LociError` if it has none."""
        return self.parts.typescript.get().run(caller, request, cancelled)

    def query_tables(self, owner: Owner, memory_ids: Sequence[str], sql: str, limit: int) -> TableAnswer:
        """The tables of stored files, and what SQL says about them. `ds-0f…@2` is a version of a file."""
        return self.parts.tables.ask(owner, memory_ids, sql, limit)

    def save_artifact(
        self, owner: Owner, executor_id: str, file: str, name: str | None = None, origin: Origin | None = None
    ) -> StoredFile:
        """Keep a file that code made among the stored files, with its lineage."""
        content, lineage = self.parts.python.get().made_file(owner, executor_id, file, LARGEST_ARTIFACT)
        if origin and "origin" in lineage and (made := Origin.from_json(lineage["origin"])):
            origin = origin.with_sources(made.sources)
        lineage |= (origin.lineage() if origin else None) or {}
        return self.parts.files().add(owner, name or file, content, lineage)

    def do_job(self, job: JsonObject) -> None:
        """Drive a run that another process started, to its end. The job says which run."""
        if self.parts.detached_runs is not None:
            handlers = {
                python.TOOL: self._python_job,
                computations.TOOL: self._computation_job,
                typescript.TOOL: self._typescript_job,
            }
            self.parts.detached_runs.drive(job, handlers)
            if (typescript_runs := self.parts.typescript.made) is not None:
                typescript_runs.finish_learning()  # the answer is there, and this process may stop now

    @staticmethod
    def install_packages(folder: Path, say: Callable[[str], None]) -> bool:
        """Install the Python runner's packages in this folder. False: they were there already."""
        if packages.state(folder) == "ready":
            return False
        packages.install(folder, say)
        return True

    def close(self) -> None:
        """End every run: the server stops."""
        typescript, executors = self.parts.typescript.made, self.parts.executors.made
        ending = in_thread(typescript.close) if typescript is not None else None
        if executors is not None:
            executors.close()
        if ending is not None:
            ending.result()

    def _python_job(self, caller: Caller, request: JsonObject) -> JsonObject:
        return python_answer(self.parts.python.get().run(caller, str(request["id"]), str(request["code"])))

    def _computation_job(self, caller: Caller, request: JsonObject) -> JsonObject:
        values = cast("JsonObject", request["parameters"])
        return self.parts.computations.run(caller, str(request["id"]), values)

    def _typescript_job(self, caller: Caller, request: JsonObject) -> JsonObject:
        return self.parts.typescript.get().run(caller, TypeScriptRequest.from_json(request))
