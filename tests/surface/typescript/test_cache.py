"""Results that are remembered, and those that are not."""

from pathlib import Path

import pytest

from loci.code.typescript import TypeScriptRequest
from loci.compose import build_app
from loci.core.identity import Caller, Owner
from loci.core.settings import load_settings
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.typescript.conftest import COMMITS, Desk

pytestmark = [pytest.mark.anyio, needs_deno]


async def test_the_same_code_is_answered_from_memory(desk: Desk) -> None:
    first = await desk.told("'once' + context.n; ", context={"n": 1})
    assert "cached" not in first
    assert await desk.told("'once' + context.n; ", context={"n": 1}) == {**first, "cached": True}


async def test_limits_that_are_not_given_are_those_of_the_reference(desk: Desk) -> None:
    defaults: dict[str, object] = {"timeout": 30_000, "memoryLimit": 512, "allowedReadPaths": []}
    assert "cached" not in await desk.told("'with the defaults'")
    assert (await desk.told("'with the defaults'", sandbox_config=defaults))["cached"] is True


@each(
    "other",
    [
        {"context": {"n": 2}},
        {"context": {"n": 1}, "sandbox_config": {"timeout": 5000}},
        {"context": {"n": 1}, "sandbox_config": {"memoryLimit": 256}},
        {"context": {"n": 1}, "intent": COMMITS},
    ],
)
async def test_another_context_limit_or_tool_set_is_another_run(desk: Desk, other: dict[str, object]) -> None:
    code = f"'other' + context.n; // {sorted(other)}"
    await desk.told(code, context={"n": 1})
    assert "cached" not in await desk.told(code, **other)


@each(
    ("code", "more"),
    [
        ("Math.random()", {}),
        ("new Date().getTime()", {}),
        ("(await import('node:os')).EOL", {}),
        ("(await github.listCommits()).length", {"intent": COMMITS}),
        ("throw new Error('again')", {}),
    ],
)
async def test_what_may_differ_is_not_remembered(desk: Desk, code: str, more: dict[str, object]) -> None:
    for _ in range(2):
        assert '"cached"' not in str(await desk.ask(code, **more))


async def test_what_was_read_is_read_again(desk: Desk) -> None:
    limits = {"allowedReadPaths": [str(desk.readable)]}
    file = desk.readable / "changing.txt"
    code = f"Deno.readTextFileSync({str(file)!r})"
    for text in ("one", "two"):
        file.write_text(text)
        assert await desk.value(code, sandbox_config=limits) == text


def test_another_owner_runs_it_anew(desk: Desk) -> None:
    request = TypeScriptRequest("'mine' + 1")
    told = [
        desk.app.code.start_typescript(Caller(Owner("", name), "local"), request).future.result(60)
        for name in ("ann", "bob", "ann")
    ]
    assert ["cached" in one for one in told] == [False, False, True]


def test_a_setting_switches_it_off(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path / "data", "code_cache": False}))
    caller = Caller(Owner("", "ann"), "local")
    told = [app.code.start_typescript(caller, TypeScriptRequest("1 + 1")).future.result(60) for _ in range(2)]
    app.close()
    assert ["cached" in one for one in told] == [False, False]
