"""The tools that are measured: how texts are taken in, and what an agent gets to read of an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loci.app import App
from loci.core.identity import Owner
from tests.quality.sets import Retrieval, Text
from tests.support.files.sheets import workbook

LONGEST_NAME, LONGEST_SHEET = 100, 31
NOT_IN_A_SHEET = re.compile(r"[\[\]:*?/\\]|^'|'$")
NOT_IN_A_NAME = re.compile(r"[^\w .,()'&+-]+")


@dataclass(frozen=True, slots=True)
class Shown:
    """What an answer shows."""

    texts: Sequence[tuple[str, Sequence[str]]]
    """The ids of what was found, best first, and their passages."""
    match: str


class Door(Protocol):
    name: str
    surface: str
    tool: str
    argument: str

    def fill(self, app: App, owner: Owner, texts: Sequence[Text]) -> dict[str, Text]:
        """Make these the owner's texts, and return each by the id that answers name."""
        ...

    def shown(self, content: Mapping[str, Any]) -> Shown: ...


class Documents:
    """Markdown, found by `search_documents`."""

    name, surface, tool, argument = "documents", "/mcp/documents", "search_documents", "query"

    def fill(self, app: App, owner: Owner, texts: Sequence[Text]) -> dict[str, Text]:
        library = app.documents.parts.library
        added = {library.add(owner, text.path, text.markdown.encode()).id: text for text in texts}
        library.remove(
            owner, [had for had in library.documents(owner) if had.id not in added]
        )  # a kept one may have more
        return added

    def shown(self, content: Mapping[str, Any]) -> Shown:
        rows: list[dict[str, Any]] = content["results"]
        texts = [(row["id"], [row["snippet"], *(one["text"] for one in row.get("passages", ()))]) for row in rows]
        return Shown(texts, content["metadata"]["match"])


class Files:
    """Tables as workbooks and passages as texts, read behind the wall, found by `search_memory`."""

    name, surface, tool, argument = "files", "/mcp/files", "search_memory", "parsed_query"

    def fill(self, app: App, owner: Owner, texts: Sequence[Text]) -> dict[str, Text]:
        taken, added = set[str](), dict[str, Text]()
        for text in texts:
            name = NOT_IN_A_NAME.sub(" ", text.title or text.id).strip()[:LONGEST_NAME]
            name = f"{name} {len(taken)}" if name in taken else name
            taken.add(name)
            file = app.files.add(owner, f"{name}.xlsx" if text.rows else f"{name}.txt", _content(text))
            if file.newest.status != "okay":
                raise SystemExit(f"{name} was not read: {file.newest.reason}")
            app.files.parts.ingest.embed(owner, file.id)
            added[file.id] = text
        for had in app.files.listed(owner):
            if had.id not in added:
                app.files.remove(owner, had.id)
        return added

    def shown(self, content: Mapping[str, Any]) -> Shown:
        rows: list[dict[str, Any]] = content["result"]["results"]
        return Shown(
            [(row["id"], [one["text"] for one in row["passages"]]) for row in rows], content["result"]["match"]
        )


def doors(one: Retrieval) -> list[Door]:
    """Documents, and files where a set is of tables, or of passages with the words of their answers."""
    homes = one.homes()
    says = sum(any(homes[id].evidence(question) for id in question.answers) for question in one.questions)
    is_files = not one.has_passages and 2 * says >= len(one.questions)
    return [Documents(), Files()] if is_files else [Documents()]


def _content(text: Text) -> bytes:
    if not text.rows:
        return text.markdown.encode()
    sheet = NOT_IN_A_SHEET.sub(" ", text.title.rpartition(" — ")[2]).strip()[:LONGEST_SHEET].strip()
    return workbook({sheet or "Sheet": text.rows})
