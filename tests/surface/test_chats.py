"""Conversations: each message is found by itself, is cited with its lines, and keeps the headings inside it."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import call, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = pytest.mark.anyio
on_every_index = pytest.mark.parametrize("app", RUNTIMES, indirect=True)
embedded = pytest.mark.parametrize("app", ["embedded"], indirect=True)

ANSWER = """\
Rest it overnight.

# Plan

Knead for ten minutes, then cover the bowl.

## Oven

Preheat the stone to 240 degrees.
"""
ASKED, NEXT, LAST = "How long does the dough rest?", "Which flour is best?", "Rye from the mill at Horn."


def chat(user: str, model: str) -> str:
    """Four messages. The first answer has headings of every level."""
    said = [(user, ASKED), (model, ANSWER), (user, NEXT), (model, LAST)]
    return "# Bread\n\n" + "\n".join(f"{speaker}{text}\n" for speaker, text in said)


CHATS = {
    "headings": chat("## User\n\n", "## Assistant\n\n"),
    "said": chat("##### You said:\n\n", "##### ChatGPT said:\n\n"),
    "names and times": chat("### Ann (10:32)\n\n", "### Bob (10:33)\n\n"),
    "names": chat("## Ann\n\n", "## Bob\n\n").replace("# Plan", "### Plan").replace("## Oven", "#### Oven"),
    "bold": chat("**User:** ", "**Assistant:** "),
    "bold lines": chat("**You**\n\n", "**Claude**\n\n"),
    "plain": chat("Human: ", "Assistant: "),
    "times": chat("[10:32] Ann: ", "[10:33] Bob: "),
    "Slack": chat("Ann  10:32 AM\n", "Bob  10:40 AM\n"),
}


def cited(text: str, row: dict[str, Any]) -> str:
    first, _, last = row["lines"].partition("-")
    return "\n".join(text.split("\n")[int(first) - 1 : int(last or first)])


async def found(connect: Connect, query: str) -> dict[str, Any]:
    [row] = (await call(connect, "search_documents", query=query, limit=1))["results"]
    return row


@on_every_index
@each("kind", CHATS)
async def test_a_message_is_found_by_itself(app: App, connect: Connect, tmp_path: Path, kind: str) -> None:
    text = CHATS[kind]
    take_in(app, written(tmp_path / "notes", {"bread.md": text}))
    oven, rye = await found(connect, "preheat the stone"), await found(connect, "rye from the mill")
    assert cited(text, oven).strip() == oven["snippet"].strip() == "Preheat the stone to 240 degrees."
    assert LAST in cited(text, rye) == rye["snippet"]
    # A section of an answer lies below its message, and holds no other message.
    above, others = oven["heading"].split(" > "), (rye.get("heading") or "Bread").split(" > ")
    assert above == [*others, "Plan", "Oven"]


@embedded
@each("kind", ["headings", "names and times"])
async def test_a_section_of_an_answer_ends_with_its_message(
    app: App, connect: Connect, tmp_path: Path, kind: str
) -> None:
    take_in(app, written(tmp_path / "notes", {"bread.md": CHATS[kind]}))
    row = await found(connect, "preheat the stone")
    plan = (await call(connect, "read_node_content", id=row["id"], heading="Plan"))["result"]
    assert ("Knead for ten" in plan, "Preheat" in plan, NEXT in plan) == (True, True, False)
    speaker = row["heading"].split(" > ")[1]
    message = (await call(connect, "read_node_content", id=row["id"], heading=speaker))["result"]
    assert ("overnight" in message, "Preheat" in message) == (True, True)


TERMINAL = """\
> how long does the dough rest?

⏺ Let me look.

⏺ Read(bread.md)
  ⎿  20 lines

⏺ It rests overnight.

> and which flour?

⏺ Rye from the mill at Horn.
"""
PHONE = """\
12/03/24, 10:32 - Ann: Where do we meet?
12/03/24, 10:33 - Bob Lee: At the old bridge.
Bring the oars!
12/03/24, 10:34 - Ann: Fine.
"""


@embedded
async def test_exports_of_plain_text_are_told_apart(app: App, connect: Connect, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", {"session.txt": TERMINAL, "phone.txt": PHONE}))
    parts = app.documents.parts
    held = {
        document.path: [one.text for one in parts.index.passages(LOCAL, COLLECTION) if one.document == document.id]
        for document in app.documents.newest(LOCAL)
    }
    assert [one.split("\n")[0] for one in held["notes/session.txt"]] == [
        "> how long does the dough rest?",
        "⏺ Let me look.",
        "> and which flour?",
        "⏺ Rye from the mill at Horn.",
    ]
    assert held["notes/phone.txt"][1] == "12/03/24, 10:33 - Bob Lee: At the old bridge.\nBring the oars!"
