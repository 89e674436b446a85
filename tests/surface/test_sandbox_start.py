"""A sandbox that does not start says why: its caller reads it, and the gateway logs it, since its own role may not."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.code.packages import find_deno
from loci.compose import build_app
from loci.mcp.lambda_handler import job_handler
from loci.mcp.server import build_server
from tests.contract.executors import FUNCTION as RUN_PYTHON
from tests.contract.sandboxes import FUNCTION as RUN_DENO
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.functions import FUNCTIONS
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.surface.hosted import ERRAND, hosted
from tests.surface.results import error_of, structured, texts

pytestmark = [
    pytest.mark.anyio,
    needs_deno,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="functions run on Linux"),
]
ROOT = FUNCTIONS.parent
LIBRARY = "error while loading shared libraries: libpython3.13.so.1.0: cannot open shared object file"
FULL = "No space left on device"
# As Lambda's own runtime for Python tells it: a handler that cannot be imported fails at each call.
PROGRAM = """
import json, sys
from tests.support import lambda_worker, refused_calls
handler, refused, error = sys.argv[1:]
if refused:
    refused_calls.refuse(refused.split(","), error)
events, answers = lambda_worker._private_pipes()
try:
    function = lambda_worker.load(handler)
except ImportError as error:
    why = {"errorType": "Runtime.ImportModuleError", "errorMessage": f"Unable to import module 'handler': {error}"}
    function = lambda event, context: why
except Exception as error:
    why = {"errorType": type(error).__name__, "errorMessage": str(error)}
    function = lambda event, context: why
lambda_worker.work(function, events, answers, 60.0)
"""
Handler = Callable[[dict[str, Any], object], Any]


class FunctionFailed(Exception):
    """Lambda's answer instead of a handler's."""


@contextmanager
def function(
    handler: Path,
    folder: Path,
    *,
    loci: Path = ROOT / "shared",
    python: str = sys.executable,
    refused: str = "",
    error: str = "EPERM",
    **variables: str,
) -> Generator[Handler]:
    """A handler in a process of its own, as it is deployed."""
    packages = [str(loci), str(ROOT), sysconfig.get_paths()["purelib"]]
    told = {"PYTHONPATH": os.pathsep.join(packages), "TMPDIR": str(folder), "LOCI_RUNNER": str(runner_packages())}
    told |= {"LOCI_DENO": str(find_deno(None)), "PYTHONHOME": sys.base_prefix, **variables}
    process = subprocess.Popen(
        [python, "-c", PROGRAM, f"{handler}:lambda_handler", refused, error],
        executable=sys.executable,
        env={"PATH": os.environ["PATH"], **told},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asking, answering = process.stdin, process.stdout

    def ask(event: dict[str, Any], _: object) -> Any:
        print(json.dumps(event), file=asking, flush=True)
        answer = json.loads(answering.readline() or '{"errorType": "Runtime.ExitError", "errorMessage": "exit"}')
        if "errorType" in answer:
            raise type(answer["errorType"], (FunctionFailed,), {})(answer["errorMessage"])
        return answer

    try:
        yield ask
    finally:
        asking.close()
        process.wait(30)
        answering.close()


class Gateway:
    """A gateway in this process, and its functions in processes of their own."""

    def __init__(self, app: App, api: InvokeApi) -> None:
        self._app = app
        self._api = api

    async def ask(self, tool: str, **arguments: object) -> CallToolResult:
        async with Client(build_server(self._app), mode="2026-07-28") as client:
            return await client.call_tool(tool, arguments)

    async def two_and_two(self, name: str) -> CallToolResult:
        """Add two numbers there."""
        if name == RUN_DENO:
            return await self.ask("pml_execute_code", code="2 + 2")
        id = structured(await self.ask("create_memory_code_runner"))["result"]["executor_id"]
        return await self.ask("run_memory_code", executor_id=id, code="2 + 2")

    def put(self, name: str, handler: Handler) -> None:
        self._api.functions[name] = handler


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Gateway]:
    with invoke_api() as api, loopback_aws():
        app = build_app(hosted(tmp_path_factory.mktemp("models")))
        api.functions[ERRAND] = job_handler(app)
        yield Gateway(app, api)


def of(name: str) -> Path:
    return FUNCTIONS / ("run_deno" if name == RUN_DENO else "run_python") / "handler.py"


def without_a_module(name: str, folder: Path) -> AbstractContextManager[Handler]:
    """An image that lacks a file."""
    shutil.copytree(ROOT / "shared" / "loci" / "sandbox", folder / "loci" / "sandbox")
    shutil.copy(ROOT / "shared" / "loci" / "__init__.py", folder / "loci")
    (folder / "loci" / "sandbox" / "supervisor" / "limits.py").unlink()
    (folder / "loci" / "sandbox" / "supervisor" / "deno_messages.py").unlink()
    return function(of(name), folder, loci=folder)


def without_a_program(name: str, folder: Path) -> AbstractContextManager[Handler]:
    return function(of(name), folder, LOCI_RUNNER="/opt/nowhere", LOCI_DENO="/opt/nowhere/deno")


def without_libpython(name: str, folder: Path) -> AbstractContextManager[Handler]:
    """Interpreters that do not start with an empty environment: the sandbox's own, and the one with the packages."""
    broken = folder / "lang" / "bin" / "python"
    broken.parent.mkdir(parents=True)
    broken.write_text(f"#!/bin/sh\necho '{broken}: {LIBRARY}' >&2\nexit 127\n")
    broken.chmod(0o755)
    return function(of(name), folder, python=str(broken), LOCI_RUNNER=str(folder / "lang"))


def without_sessions(name: str, folder: Path) -> AbstractContextManager[Handler]:
    return function(of(name), folder, refused="setsid")


def with_a_handler_that_raises(name: str, folder: Path) -> AbstractContextManager[Handler]:
    """A handler that fails when it is imported, with another error than that of an import."""
    handler = folder / "handler.py"
    handler.write_text(f'raise OSError("{FULL}")\n' + of(name).read_text())
    return function(handler, folder)


@contextmanager
def without_an_interpreter(_: str, folder: Path) -> Generator[Handler]:
    """A machine whose own interpreter ends before it takes an event. Lambda starts it again for each event."""
    bootstrap = folder / "bootstrap"
    bootstrap.write_text("#!/bin/sh\nexit 127\n")
    bootstrap.chmod(0o755)

    def ask(_event: dict[str, Any], _context: object) -> Any:
        raise exit_error(subprocess.run([bootstrap], check=False).returncode)

    yield ask


@contextmanager
def without_permission(_: str, folder: Path) -> Generator[Handler]:
    """A machine that may not execute its entry point."""
    entry = folder / "entry.sh"
    entry.write_text("")

    def ask(_event: dict[str, Any], _context: object) -> Any:
        try:
            subprocess.run([entry], check=False)
        except PermissionError:
            why = f"RequestId: 1 Error: fork/exec {entry}: permission denied"
            raise type("Runtime.InvalidEntrypoint", (FunctionFailed,), {})(why) from None

    yield ask


def exit_error(status: int) -> FunctionFailed:
    """Lambda's words for a machine whose interpreter has ended, whenever it did."""
    why = f"RequestId: 1 Error: Runtime exited with error: exit status {status}"
    return type("Runtime.ExitError", (FunctionFailed,), {})(why)


CAUSES = {
    "import": (without_a_module, "No module named 'loci.sandbox.supervisor."),
    "program": (without_a_program, "No such file or directory"),
    "library": (without_libpython, LIBRARY),
    "syscall": (without_sessions, "Operation not permitted"),
    "handler": (with_a_handler_that_raises, FULL),
    "interpreter": (without_an_interpreter, "exit status 127"),
    "permission": (without_permission, "permission denied"),
}


@each("name", [RUN_PYTHON, RUN_DENO])
@each("cause", CAUSES)
async def test_the_caller_and_the_log_say_why_nothing_runs(
    gateway: Gateway, cause: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken, why = CAUSES[cause]
    folder = tmp_path / f"{cause}-{name}"
    folder.mkdir()
    with broken(name, folder) as handler:
        gateway.put(name, handler)
        for _ in range(2):  # the second finds a machine that has failed before
            result = await gateway.two_and_two(name)
            assert result.is_error
            error = error_of(result)
            assert error["code"] == "SANDBOX_START"
            assert why in error["message"]
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    reasons = [line["reason"] for line in logged if line["message"] == "sandbox did not start"]
    assert len(reasons) == 2
    assert all(why in reason for reason in reasons)


@each("error", ["EPERM", "ENOSYS"])
@each("name", [RUN_PYTHON, RUN_DENO])
async def test_code_runs_where_signals_at_a_parents_end_and_handles_on_processes_are_refused(
    gateway: Gateway, name: str, error: str, tmp_path: Path
) -> None:
    refused = "PDEATHSIG,pidfd_open,pidfd_send_signal"
    with ExitStack() as there:
        gateway.put(name, there.enter_context(function(of(name), tmp_path, refused=refused, error=error)))
        for _ in range(2):
            result = await gateway.two_and_two(name)
            assert not result.is_error, texts(result)
            answer = structured(result)["result"]
            assert answer == 4 or answer["value"] == "4"


async def test_an_executor_that_is_signalled_by_its_id_is_still_ended(gateway: Gateway, tmp_path: Path) -> None:
    with function(of(RUN_PYTHON), tmp_path, refused="PDEATHSIG,pidfd_send_signal", error="ENOSYS") as handler:
        gateway.put(RUN_PYTHON, handler)
        id = structured(await gateway.ask("create_memory_code_runner"))["result"]["executor_id"]
        first = await gateway.ask("run_memory_code", executor_id=id, code="import os; os.close(11)")
        assert error_of(first)["code"].startswith("SANDBOX_")
        again = await gateway.ask("run_memory_code", executor_id=id, code="2 + 2")
        assert structured(again)["result"]["value"] == "4"


@each("name", [RUN_PYTHON, RUN_DENO])
async def test_code_that_ends_its_machine_is_no_start_that_failed(
    gateway: Gateway, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with function(of(name), tmp_path) as handler:

        def ended_by_its_run(event: dict[str, Any], context: object) -> Any:
            if "code" in event or "order" in event:
                raise exit_error(1)
            return handler(event, context)

        gateway.put(name, ended_by_its_run)
        if name == RUN_DENO:
            result = await gateway.ask("pml_execute_code", code="3 + 4")  # no other test's, which would be known
        else:
            result = await gateway.two_and_two(name)
    assert error_of(result)["code"] == "SANDBOX_EXITED"
    assert "sandbox did not start" not in capfd.readouterr().err
