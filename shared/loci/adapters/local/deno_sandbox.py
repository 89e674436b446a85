"""TypeScript on this machine: Deno, behind the strongest wall that the machine offers."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loci.adapters.run_results import tool_answer, typescript_result
from loci.code.packages import find_deno
from loci.code.ports import Cancelled, Completed, Failed, ToolCall, never
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.sandbox.supervisor.deno_messages import TypeScriptJob
from loci.sandbox.wall.layers import Layer

if TYPE_CHECKING:
    from loci.sandbox.supervisor.deno_runs import DenoRunner


class DenoSandbox:
    """Runs each job in a process of its own. The first job starts everything."""

    def __init__(self, deno: Path | None, wall: Callable[[], frozenset[Layer]], spares: int = 2) -> None:
        self._deno = deno
        self._wall = wall
        self._spares = spares
        self._turn = threading.Lock()
        self._runner: DenoRunner | None = None
        self._layers: frozenset[Layer] = frozenset()
        self._is_closed = False

    def run(
        self,
        owner: Owner,  # noqa: ARG002 (each job has a process of its own)
        job: TypeScriptJob,
        call: ToolCall,
        cancelled: Cancelled = never,
    ) -> Completed | Failed:
        runner = self._ready()
        if job.limits.read_paths and not self._layers & {Layer.LANDLOCK, Layer.NAMESPACES}:
            raise Unavailable(
                "Without a wall, code may read no files here: links could lead it out of its folders",
                "Send what it needs as `context`",
                code="SANDBOX_UNAVAILABLE",
            )
        ran = runner.run(job, lambda tool, arguments: tool_answer(call, tool, arguments), cancelled)
        return typescript_result(ran)

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            if self._runner is not None:
                self._runner.close()
            self._runner = None

    def _ready(self) -> "DenoRunner":
        with self._turn:
            if self._is_closed:
                raise Unavailable("This server is ending", "Run the code again", code="SANDBOX_UNAVAILABLE")
            if self._runner is None:
                self._layers = self._wall()
                if os.name != "posix":
                    raise Unavailable("Loci does not run TypeScript on Windows", "Use WSL2", code="SANDBOX_UNAVAILABLE")
                from loci.sandbox.supervisor.deno_runs import (
                    DenoRunner,  # it needs POSIX processes
                )

                deno = find_deno(self._deno)
                self._runner = DenoRunner(str(deno), self._layers, self._spares)
            return self._runner
