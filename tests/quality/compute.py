"""Questions that code answers: a client runs a snippet for each, as any caller would."""

import ast
import statistics
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp import Client

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.quality.tables import Computation, Computed, differences, tables_in

SNIPPETS = Path(__file__).parent / "snippets"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the faults of its answer, and how it was read if it can be read in several ways."""

    id: int
    wrong: tuple[str, ...]
    note: str
    milliseconds: float


async def asked(one: Computation, snippets: Path = SNIPPETS) -> list[Asked]:
    """Ask each question, in a new executor."""
    with tempfile.TemporaryDirectory() as data, serving_app(Path(data)) as app:
        ids = {
            id: app.files.add(LOCAL, file.name, file.content).id
            for id, file in tables_in(one.tables).stored.items()
            if isinstance(file.content, bytes)
        }
        async with Client(build_server(app, "files")) as client:
            return [await _asked(client, question, snippets / f"q{question.id}.py", ids) for question in one.questions]


def told(name: str, questions: list[Asked]) -> str:
    """Say how many answers are right, and what is wrong with the others."""
    wrong = [one for one in questions if one.wrong]
    middle = statistics.median(one.milliseconds for one in questions)
    lines = [f"{name}: {len(questions) - len(wrong)} of {len(questions)} right, {middle:.0f} ms a question (median)"]
    for one in wrong:
        lines += [f"  {one.id} is wrong: {'; '.join(one.wrong)}", *(f"    {line}" for line in one.note.splitlines())]
    if several := [str(one.id) for one in questions if one.note and not one.wrong]:
        lines.append(f"  right in one of several readings: {', '.join(several)}")
    return "\n".join(lines)


@contextmanager
def serving_app(data: Path) -> Generator[App]:
    """Loci on this folder."""
    app = build_app(load_settings({"data": data, "log_level": "ERROR"}))
    try:
        yield app
    finally:
        app.close()


async def _asked(client: Client, question: Computed, snippet: Path, ids: Mapping[str, str]) -> Asked:
    """Ask it. A snippet names its table by the table's name; here it gets the id that the lake gave the file."""
    if not snippet.exists():
        return Asked(question.id, (f"there is no snippet {snippet.name}",), "", 0.0)
    code = snippet.read_text("utf-8")
    for named, id in sorted(ids.items(), key=lambda one: -len(one[0])):
        code = code.replace(named, id)
    began = time.perf_counter()
    wrong = await _wrong(client, question, code)
    took = (time.perf_counter() - began) * 1000
    note = (ast.get_docstring(ast.parse(code)) or "").partition("\n\n")[2]
    return Asked(question.id, tuple(wrong), note, took)


async def _wrong(client: Client, question: Computed, code: str) -> list[str]:
    made = await _called(client, "create_memory_code_runner", {})
    if isinstance(made, str):
        return [made]
    ran = await _called(client, "run_memory_code", {**made, "code": code})
    return [ran] if isinstance(ran, str) else differences(question.values, ran["stdout"])


async def _called(client: Client, tool: str, arguments: dict[str, object]) -> dict[str, Any] | str:
    """The result, or the message of the error."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        return (answer.meta or {})["loci/error"]["message"]
    return cast("dict[str, Any]", answer.structured_content)["result"]
