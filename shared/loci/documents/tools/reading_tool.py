"""The tool that reads a document: its text as it is, and the facts that a caller needs to write it or read on."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult, TextContent
from pydantic import AliasChoices, BaseModel, Field

from loci.core.errors import LociError
from loci.core.identity import Caller
from loci.core.injections import LONGEST_WARNING, warning_of
from loci.core.trust import Trust, in_short, saw
from loci.documents.bundles import claim_of, is_computation
from loci.documents.document import DocumentText, owner_of
from loci.documents.foreign import foreign_of
from loci.markdown.excerpt import Excerpt, ExcerptRequest, Position
from loci.mcp.answers import as_text, is_none
from loci.mcp.head import BUDGET
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

NOT_UTF8 = (
    "Some of its bytes are not UTF-8 and are shown as \ufffd. If you replace the whole document, they are lost; if you"
    " append to it, replace other sections or add tags, they stay"
)

TRUST = "foreign: texts of others may be in it"
RUN_IT = "The tool run_computation computes its value: do not compute it another way"
MOST_MORE = 20
HEADING_LINE = re.compile(r"^#{1,6} ", re.MULTILINE)
SECTIONS = "; outline=true shows its sections"
ERROR_ROOM = 1200
"""Bytes of a document that could not be read."""
DocumentName = Annotated[
    str, Field(max_length=1024, validation_alias=AliasChoices("id", "path"), description="id or path of a note")
]
"""Writing says `path`, so that is understood, too."""


class OtherContent(BaseModel):
    """A further document of the same call, or why it could not be read."""

    id: str
    path: str | None = None
    hash: str | None = None
    result: str | None = None
    go_on: str | None = None
    owner: str | None = None
    note: str | None = Field(default=None, exclude_if=is_none)
    error: str | None = None
    trust: Trust | None = Field(default=None, exclude_if=is_none)
    sources: str | None = Field(default=None, exclude_if=is_none)


class Content(BaseModel):
    """A document, or a part of it."""

    result: str = Field(description="the markdown, unchanged")
    id: str
    path: str
    hash: str = Field(description="sha256 of the whole document")
    lines: str = Field(description="the lines that were read, such as 1-40")
    total_lines: int
    next_line: int | None = Field(description="if the answer was cut, the start_line of the rest")
    next_column: int | None = Field(description="if it was cut within a line, the start_column of the rest")
    go_on: str | None = Field(description="if it was cut, how to read the rest")
    trust: Trust | None = Field(default=None, description=TRUST, exclude_if=is_none)
    sources: str | None = Field(default=None, description="of those", exclude_if=is_none)
    note: str | None = Field(description="what to know of it: characters that are lost, words that address a model")
    owner: str | None = Field(default=None, exclude_if=is_none, description="who shares it, if not yours")
    more: list[OtherContent] = Field(
        default_factory=list[OtherContent], exclude_if=lambda value: not value, description="the documents of `more`"
    )


def reading_tool(app: "App") -> LociTool:
    """`read_node_content`."""

    def read_node_content(
        id: DocumentName,
        caller: Caller,
        heading: Annotated[str | None, Field(description="only this section")] = None,
        start_line: Annotated[int | None, Field(ge=1)] = None,
        end_line: Annotated[int | None, Field(ge=1)] = None,
        max_tokens: Annotated[int | None, Field(ge=1)] = None,
        start_column: Annotated[int | None, Field(ge=1, description="in a first line that was cut")] = None,
        outline: Annotated[bool, Field(description="only its headings, with their lines")] = False,
        more: Annotated[list[str], Field(max_length=MOST_MORE, description="further notes to read at once")] = [],  # noqa: B006
    ) -> Annotated[CallToolResult, Content]:
        """Read the markdown of a note, whole or in part; for files use read_memory.

        Take the `id` and the `lines` or `heading` of a search result. Long notes come in parts: `go_on` says how to
        read the next.
        """
        first = app.sharing.read(caller.owner, id, is_shown=False)
        others = [_read(app, caller, name) for name in more]
        texts = [one for one in (first, *others) if isinstance(one, DocumentText)]
        room = BUDGET - sum(map(_overhead, texts)) - ERROR_ROOM * (len(others) + 1 - len(texts))
        tokens = max_tokens and max(1, max_tokens // len(texts))

        def answered(room: int) -> tuple[Content, list[TextContent]]:
            rooms = _shares([_size(one.text) for one in texts], room)
            request = ExcerptRequest(heading, start_line, end_line, tokens, start_column, rooms.pop(0))
            view = _content(first, app.documents.outline(first) if outline else app.documents.excerpt(first, request))
            for one in others:
                if isinstance(one, OtherContent):
                    view.more.append(one)
                    continue
                part = _content(one, app.documents.excerpt(one, ExcerptRequest(most_tokens=tokens, room=rooms.pop(0))))
                view.more.append(OtherContent.model_validate(part.model_dump(include={*OtherContent.model_fields})))
            shown = [view.model_dump(exclude={"more"}), *(one.model_dump() for one in view.more)]
            return view, [TextContent(type="text", text=text) for one in shown for text in _texts(one)]

        view, blocks = answered(room)
        if len(as_text(view.model_dump()).encode()) > BUDGET:  # there are warnings, which few texts have
            view, blocks = answered(room - LONGEST_WARNING * len(texts))
        return CallToolResult(content=[*blocks], structured_content=view.model_dump())

    return loci_tool(read_node_content, title="Read a document", quick=True)


def _read(app: "App", caller: Caller, name: str) -> DocumentText | OtherContent:
    try:
        return app.sharing.read(caller.owner, name, is_shown=False)
    except LociError as error:
        return OtherContent(id=name, error=f"{error.code}: {error}"[: ERROR_ROOM // 4])


def _texts(view: dict[str, object]) -> list[str]:
    """The text of a document, and notes on it."""
    about = as_text({name: value for name, value in view.items() if name != "result" and value is not None})
    return [about] if view["result"] is None else [str(view["result"]), about]


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """The room of each text: all that it needs if that is little, else as much as other long ones have."""
    shares = [0] * len(sizes)
    for taken, at in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        shares[at] = max(1, min(sizes[at], room // (len(sizes) - taken)))
        room -= shares[at]
    return shares


def _size(text: str) -> int:
    """The bytes of the text as a string of JSON."""
    return len(as_text([text]).encode())


def _overhead(text: DocumentText) -> int:
    """The bytes that the answer's other fields take of a document, however long they are."""
    most = len(text.text)
    empty = _content(text, Excerpt("", most, most, most, Position(most, most), most))
    return len(as_text(empty.model_dump()).encode())


def _told(text: DocumentText) -> tuple[str | None, ...]:
    """Notes on a document that do not depend on the part that is shown."""
    claim, is_run = claim_of(text.document), is_computation(text.document)
    return None if text.is_exact else NOT_UTF8, claim and claim.capitalize(), RUN_IT if is_run else None


def _content(text: DocumentText, part: Excerpt) -> Content:
    rest = part.rest
    column = rest.column if rest and rest.column > 1 else None
    following = {"start_line": rest and rest.line, "start_column": column, "end_line": rest and part.rest_ends}
    says = ", ".join(f"{name}={value}" for name, value in following.items() if value)
    sources = foreign_of(text.document, part.first_line, part.last_line)
    saw(sources)
    return Content(
        result=part.text,
        id=text.document.id,
        path=text.document.path,
        hash=text.sha256,
        lines=f"{part.first_line}-{part.last_line}",
        total_lines=part.total_lines,
        next_line=rest and rest.line,
        next_column=column,
        go_on=f"go on with {says}{SECTIONS if HEADING_LINE.search(text.text) else ''}" if rest else None,
        trust="foreign" if sources else None,
        sources=in_short(sources) or None,
        note=". ".join(filter(None, (*_told(text), warning_of(part.text)))) or None,
        owner=owner_of(text.document),
    )
