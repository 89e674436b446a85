"""The surroundings of code: Deno, and nothing of the machine that it was not given."""

import re
import socket

import pytest

from tests.support.deno import needs_deno
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]


async def test_it_runs_in_deno(desk: Desk) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", await desk.value("Deno.version.deno"))


async def test_plain_javascript_runs(desk: Desk) -> None:
    code = "var doubled = []; for (var n of [1, 2]) { doubled.push(n * 2) } return doubled"
    assert await desk.value(code) == [2, 4]


async def test_typescript_with_types_runs(desk: Desk) -> None:
    code = """
interface Item { name: string; price?: number }
enum Kind { Cheap, Dear }
const kind = <T extends Item>(item: T): Kind => (item.price ?? 0) > 10 ? Kind.Dear : Kind.Cheap;
const items: Item[] = context.items as Item[];
return items.map((item): string => Kind[kind(item)]!);
"""
    items = [{"name": "pen", "price": 2}, {"name": "desk", "price": 200}, {"name": "air"}]
    assert await desk.value(code, context={"items": items}) == ["Cheap", "Dear", "Cheap"]


async def test_it_cannot_reach_the_network_the_environment_or_files(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "CANARY")
    secret = desk.readable.parent / "secret.txt"
    assert secret.read_text() == "CANARY"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        for code in (
            f"await (await fetch('http://127.0.0.1:{server.getsockname()[1]}')).text()",
            f"await Deno.connect({{hostname: '127.0.0.1', port: {server.getsockname()[1]}}}); 1",
            "Deno.env.get('AWS_SECRET_ACCESS_KEY')",
            f"Deno.readTextFileSync({str(secret)!r})",
            f"(await import('node:fs')).readFileSync({str(secret)!r}, 'utf8')",
            f"Deno.writeTextFileSync({str(desk.readable / 'made')!r}, 'x')",
        ):
            told = await desk.failure(code)
            assert told["code"] == "CODE_ERROR"
            assert "CANARY" not in str(told)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not (desk.readable / "made").exists()
