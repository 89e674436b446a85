"""A sandbox of this machine that does not start says why, and Loci logs it."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from loci.code.packages import find_deno
from loci.compose import build_app
from loci.core.settings import Settings
from loci.mcp.server import build_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.surface.results import error_of, structured

pytestmark = [
    pytest.mark.anyio,
    needs_deno,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has a wall"),
]
LIBRARY = "error while loading shared libraries: libz.so.1: cannot open shared object file"


def says_why(program: Path, _: Path) -> None:
    """As the loader of programs does if a library is missing."""
    program.write_text(f"#!/bin/sh\necho {shlex.quote(LIBRARY)} >&2\nexit 127\n")
    program.chmod(0o755)


def may_not_be_executed(program: Path, whole: Path) -> None:
    shutil.copy(whole, program)
    program.chmod(0o644)


def crashes(program: Path, _: Path) -> None:
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)


def ends_at_once(program: Path, _: Path) -> None:
    """Whatever it is asked, it says a version and nothing else."""
    program.write_text("#!/bin/sh\necho 'deno 9.9.9 (stable)'\n")
    program.chmod(0o755)


def crashes_later(program: Path, whole: Path) -> None:
    """It answers which folders it needs, or its version, and crashes once it is to serve."""
    answering = f'case "$1$2" in -I-c|--version) exec {shlex.quote(str(whole))} "$@";; esac'
    program.write_text(f"#!/bin/sh\n{answering}\nkill -SEGV $$\n")
    program.chmod(0o755)


def is_cut_off(program: Path, _: Path) -> None:
    """The first bytes of a program, as after a download that was interrupted."""
    program.write_bytes(Path(sys.executable).resolve().read_bytes()[:100])
    program.chmod(0o755)


BROKEN: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "library": (says_why, LIBRARY),
    "permission": (may_not_be_executed, "Permission denied"),
    "crash": (crashes, "-11"),
    "no more words": (ends_at_once, ""),
    "late crash": (crashes_later, ""),
    "cut off": (is_cut_off, ""),
}


async def failure_of(settings: dict[str, Any], tool: str, code: str) -> dict[str, Any]:
    app = build_app(Settings.model_validate(settings))
    try:
        async with Client(build_server(app), mode="2026-07-28") as client:
            arguments: dict[str, Any] = {"code": code}
            if tool == "run_memory_code":
                made = await client.call_tool("create_memory_code_runner", {})
                arguments["executor_id"] = structured(made)["result"]["executor_id"]
            result = await client.call_tool(tool, arguments)
    finally:
        app.close()
    return error_of(result)


@each("tool", ["run_memory_code", "pml_execute_code"])
@each("cause", BROKEN)
async def test_the_caller_and_the_log_say_why_nothing_runs(
    tool: str, cause: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil, why = BROKEN[cause]
    folder = tmp_path / f"{cause} {tool}"
    runner, deno = folder / "runner" / "bin" / "python", folder / "deno"
    runner.parent.mkdir(parents=True)
    spoil(runner, runner_packages() / "bin" / "python")
    spoil(deno, find_deno(None))
    told = {"data": folder / "data", "models": folder / "models", "runner": folder / "runner", "deno": deno}
    error = await failure_of(told, tool, "2 + 2")
    assert error["code"] == "SANDBOX_START"
    assert why in error["message"]
    assert "did not start (" in error["message"] or "did not start: " in error["message"]  # always with a reason
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    reasons = [line["reason"] for line in logged if line["message"] == "sandbox did not start"]
    assert len(reasons) == 1
    assert why in reasons[0]
