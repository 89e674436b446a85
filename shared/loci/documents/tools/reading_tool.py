"""The tool that reads a document: its text as it is, and beside it what writing and going on need."""

from typing import Annotated

from mcp_types import CallToolResult, TextContent
from pydantic import AliasChoices, BaseModel, Field

from loci.core.identity import Caller
from loci.documents.content.excerpt import Excerpt, ExcerptRequest, Position
from loci.documents.document import DocumentText
from loci.documents.host import DocumentsHost
from loci.mcp.tool import BUDGET, LociTool, as_text, loci_tool

NOT_UTF8 = (
    "Some of its bytes are not UTF-8 and are shown as \ufffd. If you replace the whole document, they are lost; if you"
    " append to it, replace other sections or add tags, they stay"
)

DocumentName = Annotated[
    str,
    Field(
        max_length=1024,
        validation_alias=AliasChoices("id", "path"),
        description="a document's id or path",
    ),
]
"""Writing says `path`, so that is understood, too."""


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
    note: str | None = Field(description="why the text is not exactly what is in the file")


def reading_tool(app: DocumentsHost) -> LociTool:
    """`read_node_content`."""

    def read_node_content(
        id: DocumentName,
        caller: Caller,
        heading: Annotated[str | None, Field(description="only the section below this heading")] = None,
        start_line: Annotated[int | None, Field(ge=1, description="the first line to read")] = None,
        end_line: Annotated[int | None, Field(ge=1, description="the last line to read")] = None,
        max_tokens: Annotated[int | None, Field(ge=1, description="about the most tokens to return")] = None,
        start_column: Annotated[int | None, Field(ge=1, description="in the first line, if it was cut")] = None,
    ) -> Annotated[CallToolResult, Content]:
        """Read the markdown of a document, or a part of it.

        Use it after a search, with the `id` and the `lines` or `heading` of a result. Long documents come in parts:
        `go_on` says how to read the next.
        """
        text = app.documents.read(caller.owner, id)
        request = ExcerptRequest(heading, start_line, end_line, max_tokens, start_column, _room(text))
        view = _content(text, app.documents.excerpt(text, request)).model_dump()
        about = {name: value for name, value in view.items() if name != "result" and value is not None}
        blocks = [TextContent(type="text", text=str(view["result"])), TextContent(type="text", text=as_text(about))]
        return CallToolResult(content=[*blocks], structured_content=view)

    return loci_tool(read_node_content, title="Read a document", quick=True)


def _room(text: DocumentText) -> int:
    """The bytes that the answer's other fields leave for the text, however long they are."""
    most = len(text.text)
    empty = _content(text, Excerpt("", most, most, most, Position(most, most), most))
    return BUDGET - len(as_text(empty.model_dump()).encode())


def _content(text: DocumentText, part: Excerpt) -> Content:
    rest = part.rest
    column = rest.column if rest and rest.column > 1 else None
    following = {"start_line": rest and rest.line, "start_column": column, "end_line": rest and part.rest_ends}
    says = ", ".join(f"{name}={value}" for name, value in following.items() if value)
    return Content(
        result=part.text,
        id=text.document.id,
        path=text.document.path,
        hash=text.sha256,
        lines=f"{part.first_line}-{part.last_line}",
        total_lines=part.total_lines,
        next_line=rest and rest.line,
        next_column=column,
        go_on=f"go on with {says}" if rest else None,
        note=None if text.is_exact else NOT_UTF8,
    )
