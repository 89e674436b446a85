"""Machines without a wall, and without a Deno that will do."""

from pathlib import Path
from typing import NoReturn

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.packages import find_deno
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.core.json import Json
from loci.sandbox.supervisor.deno_messages import TypeScriptJob
from loci.sandbox.supervisor.deno_runs import DenoRunner
from loci.sandbox.wall.layers import Layer
from tests.support.deno import STRONGEST, Given, needs_deno, no_tool, run, sandbox, value
from tests.support.each import each


def _deno(folder: Path, says: str) -> Path:
    program = folder / "deno"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    return program


@needs_deno
def test_where_there_is_no_wall_nothing_runs() -> None:
    def no_wall() -> NoReturn:
        raise Unavailable("This machine offers no wall", "Use another", code="SANDBOX_UNAVAILABLE")

    with pytest.raises(Unavailable, match="no wall"):
        DenoSandbox(None, no_wall).run(LOCAL, TypeScriptJob("1"), no_tool)


@needs_deno
def test_who_accepts_the_risk_runs_behind_denos_own_permissions_and_reads_nothing() -> None:
    with sandbox(frozenset[Layer]()) as made:
        assert value(made, "1 + 1") == 2
        with pytest.raises(Unavailable, match="links"):
            run(made, "1", Given(read=("/etc",)))


def _no_answer(tool: str, _: Json) -> NoReturn:
    raise AssertionError(tool)


@needs_deno
def test_after_the_end_nothing_starts() -> None:
    """A run that comes too late must not leave a process behind."""
    with sandbox(STRONGEST) as made:
        assert value(made, "1 + 1") == 2
    with pytest.raises(Unavailable, match="ending"):
        run(made, "1 + 1")
    runner = DenoRunner(str(find_deno(None)), STRONGEST, 0)
    runner.close()
    late = runner.run(TypeScriptJob("1"), _no_answer)
    assert "this server is ending" in getattr(late.outcome, "message", "")


@each(
    ("says", "code"),
    [
        ("echo 'deno 2.5.1 (stable)'", "SANDBOX_UNAVAILABLE"),
        ("echo 'something else'", "SANDBOX_UNAVAILABLE"),
        ("exit 1", "SANDBOX_START"),
    ],
)
def test_a_deno_that_will_not_do_is_not_used(tmp_path: Path, says: str, code: str) -> None:
    with pytest.raises(Unavailable) as refused:
        find_deno(_deno(tmp_path, says))
    assert refused.value.code == code
    assert "pip install" in refused.value.resolution


def test_a_newer_deno_is_used(tmp_path: Path) -> None:
    assert find_deno(_deno(tmp_path, "echo 'deno 3.0.0 (stable)'")) == tmp_path / "deno"


@needs_deno
def test_a_deno_that_does_not_start_is_told(tmp_path: Path) -> None:
    broken = _deno(
        tmp_path, 'if [ "$1" = --version ]; then echo "deno 2.9.8"; else echo "no such luck" >&2; exit 3; fi'
    )
    made = DenoSandbox(broken, frozenset[Layer])
    ended = made.run(LOCAL, TypeScriptJob("1"), no_tool)
    made.close()
    assert "no such luck" in getattr(ended, "message", "")
