"""Makes the answer of what a tool returns: whole, or a head that fits and is still valid under its output schema."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from loci.core.errors import LociError
from loci.core.identity import Caller, Owner
from loci.core.json import Json, bytes_in, content_of, media_in, without_media
from loci.core.scopes import READS, scope_of
from loci.mcp.head import BUDGET, EMPTY, cut_text, head
from loci.mcp.threads import on_thread

if TYPE_CHECKING:
    from loci.mcp.tool import LociTool  # commands show answers, too, and do without the SDK

KNOWS_STRUCTURE = "2025-06-18"
"""The first revision of the protocol with structured content."""
UNSAID = "2025-03-26"
"""The revision of clients over HTTP that do not say theirs."""
LONGEST_ABOUT = 80
"""Bytes, as JSON, of what a kept result says of its call."""
LARGEST_BLOCK = 1 << 20
"""Bytes of an image, a sound or another file that is a block of an answer. A larger one is a link."""
LARGEST_BLOCKS = 3 << 20
"""Bytes of all of them together: an answer of a Lambda function has 6 MB at most."""
MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+-]{1,80}")
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
ToolAnswer = CallToolResult | InputRequiredResult


class StoredResult(Protocol):
    """A result that was too large for its answer."""

    @property
    def id(self) -> str: ...


class ResultStore(Protocol):
    """Keeps results that are too large for an answer. The scratchpad is one."""

    def keep(
        self,
        owner: Owner,
        tool: str,
        text: str,
        *,
        about: str = "",
        call: str | None = None,
        scopes: Iterable[str] = READS,
    ) -> StoredResult:
        """Keep the whole result for its owner, in the place of an earlier result of the same call."""
        ...

    def keep_file(
        self, owner: Owner, tool: str, content: bytes, media_type: str, *, scopes: Iterable[str] = READS
    ) -> StoredResult:
        """Keep an image or another file for its owner."""
        ...

    def link(self, owner: Owner, id: str) -> str:
        """A URL for downloading a kept file."""
        ...


class ReadableResult(CallToolResult):
    """A result whose text is written for a model, and not its structure as JSON.

    Clients of revisions without structured content get the JSON: what they parse is the text.
    """


class ShortenedResult(ReadableResult):
    """A result that its tool has shortened. The whole is kept; its id is in the structure, and no text speaks of it."""

    whole: str = Field(exclude=True)


SEARCH_TOKENS, MOST_SEARCH_TOKENS = 750, 20_000
"""Tokens of the text of a search's answer, unless the caller asks for another number, and the most. They are counted so
that no model reads more: mostly it reads a fifth less."""
STRUCTURE = 3
"""The structure may have this many times the tokens of the text, unless the caller asks for a number of tokens: it has
a row for each result and names each field. Usually it has twice as many."""


def search_room(max_tokens: int | None) -> tuple[int, int]:
    """The tokens that the text of a search's answer and its structure may have."""
    return (max_tokens, max_tokens) if max_tokens else (SEARCH_TOKENS, STRUCTURE * SEARCH_TOKENS)


def readable_result(text: str, structure: dict[str, Any], whole: str | None) -> CallToolResult:
    """The answer in both forms; `whole` is all of it, if something was left out."""
    content = [TextContent(type="text", text=text)]
    if whole is None:
        return ReadableResult(content=[*content], structured_content=structure)
    return ShortenedResult(content=[*content], structured_content=structure, whole=whole)


@dataclass(frozen=True, slots=True)
class BudgetedCall:
    """A call whose result may be kept. A client reads it with the scopes that the call needs."""

    caller: Caller
    tool: str
    arguments: Mapping[str, Any]
    reads: bool
    """True: its tool changes nothing, so an equal call's result takes the place of this one's."""
    scopes: frozenset[str]


def is_none(value: object) -> bool:
    """True for a field that an answer leaves out."""
    return value is None


def as_text(plain: Any) -> str:
    """The text for clients that read no structured content."""
    return plain if isinstance(plain, str) else _JSON.encode(plain)


def quoted(text: str) -> str:
    """The text with a mark before each line: whatever it says, nobody takes it for words of Loci."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def tool_answer(tool: "LociTool", value: Any) -> ToolAnswer:
    """Turn a returned value into a result. A bare string is the text itself; anything else is one line of JSON."""
    if isinstance(value, CallToolResult | InputRequiredResult):
        return value
    metadata = tool.sdk_tool.fn_metadata
    if tool.sdk_tool.output_schema is None:
        return metadata.convert_result(value)
    plain = to_jsonable_python(value, by_alias=True)
    structured = {"result": plain} if metadata.wrap_output else plain
    return CallToolResult(content=[TextContent(type="text", text=as_text(plain))], structured_content=structured)


async def answer_within_budget(
    tool: "LociTool",
    arguments: Mapping[str, Any],
    value: Any,
    caller: Caller,
    results: ResultStore,
    *,
    revision: str | None,
) -> ToolAnswer:
    """Turn a returned value into a result, if it fits; else into its head, and keep the whole of it.

    `revision`: the revision of the protocol that the client speaks; None if it does not say.
    """
    result = tool_answer(tool, value)
    if not isinstance(result, CallToolResult) or result.is_error:
        return result
    call = BudgetedCall(caller, tool.sdk_tool.name, arguments, tool.reads, tool.scopes or frozenset(READS))
    structured = cast("object", result.structured_content)
    if isinstance(result, ReadableResult):
        fields = cast("dict[str, Any]", structured)
        if isinstance(result, ShortenedResult):
            fields |= (await on_thread(_keep, call, result.whole, results))[1]
        is_json = (revision or UNSAID) < KNOWS_STRUCTURE
        content = [TextContent(type="text", text=as_text(_bare(tool, fields)))] if is_json else result.content
        return CallToolResult(content=[*content], structured_content=fields)
    if tool.budget is None:
        return result
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    others = [block for block in result.content if not isinstance(block, TextContent)]
    is_text_whole = structured is None or result is not value
    plain = text if is_text_whole else as_text(_bare(tool, structured))
    fits = max(_length(one) for one in {text, plain}) <= tool.budget
    if fits:
        return await on_thread(with_light_blocks, call, result, results) if others else result
    line, kept = await on_thread(_keep, call, plain, results)
    if tool.sdk_tool.output_schema is None or not isinstance(structured, dict):
        shown = cut_text(plain, tool.budget)
    else:
        value = cast("dict[str, Any]", structured)
        kept = head(value, tool.sdk_tool.output_schema, tool.budget) | kept
        shown = as_text(_bare(tool, kept))
    content = [TextContent(type="text", text=shown), *others, TextContent(type="text", text=line)]
    cut = CallToolResult(content=content, structured_content=kept)
    return await on_thread(with_light_blocks, call, cut, results) if others else cut


class ToolOfServer(Protocol):
    """A tool of another server, as far as its results need."""

    @property
    def id(self) -> str: ...
    @property
    def reads(self) -> bool: ...


def server_result_within_budget(
    known: Callable[[], ToolOfServer],
    arguments: Mapping[str, Any],
    result: CallToolResult,
    caller: Caller,
    results: ResultStore,
) -> CallToolResult:
    """Return the result of another server's tool, also an error, with the head of its text, and keep the whole of it.

    Its structured content stays whole or goes: its server's schema does not hold for a part of it. `known` finds the
    tool, which a small result does not need.
    """
    if _is_small(result) and not any(_heavy(result.content)):
        return result
    tool = known()
    scopes = frozenset({scope_of("tools", writes=not tool.reads)})
    call = BudgetedCall(caller, tool.id, arguments, tool.reads, scopes)
    result = _said_once(result)
    if not _is_small(result):
        structured, text = cast("object", result.structured_content), _texts_in(result)
        told = _told(result)
        line, kept = _keep(call, _whole(text, structured), results)
        blocks = result.content if text else [TextContent(type="text", text=told), *result.content]
        result = CallToolResult(
            content=[*_beginning(blocks, BUDGET), TextContent(type="text", text=line)],
            structured_content=structured if _length(told) <= BUDGET else None,
            is_error=result.is_error,
            _meta={**(result.meta or {}), **{f"loci/{name}": value for name, value in kept.items()}},
        )
    return with_light_blocks(call, result, results)


def _is_small(result: CallToolResult) -> bool:
    return max(_length(_told(result)), _length(_texts_in(result))) <= BUDGET


def _told(result: CallToolResult) -> str:
    """The structured content as a text."""
    structured = cast("object", result.structured_content)
    return "" if structured is None else as_text(structured)


def _said_once(result: CallToolResult) -> CallToolResult:
    """The result without structured content that only repeats the images, sounds and files of its blocks.

    A text has what else it tells.
    """
    structured = cast("Json", result.structured_content)
    repeated = {content_of(one) for one in media_in(structured)}
    if not repeated or not repeated <= {_media_in(block)[1] for block in result.content}:
        return result
    told = TextContent(type="text", text=as_text(without_media(structured)))
    return result.model_copy(update={"content": [*result.content, told], "structured_content": None})


def _text_in(block: ContentBlock) -> str | None:
    """The text that a model reads in the block; None if it has another kind of content."""
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as inner):
            return inner.text
        case ResourceLink():
            return " ".join(filter(None, (block.uri, block.title or block.name, block.description)))
        case _:
            return None


def _texts_in(result: CallToolResult) -> str:
    return "\n".join(text for one in result.content if (text := _text_in(one)) is not None)


def _whole(text: str, structured: object) -> str:
    """All that the result says: its text, and its structured content unless the text says the same."""
    fields = cast("dict[str, object]", structured) if isinstance(structured, dict) else {}
    bare = fields["result"] if fields.keys() == {"result"} else cast("object", structured)
    try:
        says_the_same = structured is None or text == bare or json.loads(text) in (structured, bare)
    except (ValueError, RecursionError):
        says_the_same = False
    if says_the_same:
        return text
    return f"{text}\n{as_text(structured)}" if text else as_text(structured)


def _beginning(blocks: Sequence[ContentBlock], room: int) -> list[ContentBlock]:
    """The blocks, of whose texts the first that fit. Other blocks stay."""
    kept: list[ContentBlock] = []
    for block in blocks:
        text = _text_in(block)
        if text is None:
            kept.append(block)
        elif _length(text) < room:
            kept.append(block)
            room -= _length(text) + 1
        else:
            if room > 0 and not isinstance(block, ResourceLink):
                kept.append(TextContent(type="text", text=_shortened(text, room), annotations=block.annotations))
            room = 0
    return kept


def _shortened(text: str, room: int) -> str:
    """The head of the text. The head of JSON is JSON, too."""
    try:
        shown = as_text(head(json.loads(text), EMPTY, room)) if text.lstrip()[:1] in ("{", "[") else ""
    except (ValueError, RecursionError):
        shown = ""
    return shown if len(shown) > len("[]") else cut_text(text, room)


def with_light_blocks(call: BudgetedCall, result: CallToolResult, results: ResultStore) -> CallToolResult:
    """The result with a link in the place of each image, sound or file that is too large for an answer."""
    heavy = _heavy(result.content)
    if not any(heavy):
        return result
    pairs = zip(result.content, heavy, strict=True)
    content = [_linked(call, block, results) if is_heavy else block for block, is_heavy in pairs]
    return result.model_copy(update={"content": content})


def _heavy(blocks: Sequence[ContentBlock]) -> list[bool]:
    """True for each block that is too large, alone or with those before it."""
    found: list[bool] = []
    left = LARGEST_BLOCKS
    for block in blocks:
        size = bytes_in(_media_in(block)[1])
        found.append(size > min(LARGEST_BLOCK, left))
        left -= 0 if found[-1] else size
    return found


def _media_in(block: ContentBlock) -> tuple[str, str]:
    """The media type of the image, sound or file in the block, and its bytes in base64."""
    match block:
        case ImageContent() | AudioContent():
            return block.mime_type, block.data
        case EmbeddedResource(resource=BlobResourceContents() as inner):
            return inner.mime_type or "", inner.blob
        case _:
            return "", ""


def _linked(call: BudgetedCall, block: ContentBlock, results: ResultStore) -> ContentBlock:
    """The text that says where the block's content can be downloaded. Models and old clients read no links."""
    kind, data = _media_in(block)
    kind = kind if MEDIA_TYPE.fullmatch(kind) else "application/octet-stream"
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
        stored = results.keep_file(call.caller.owner, call.tool, content, kind, scopes=call.scopes)
        url = results.link(call.caller.owner, stored.id)
    except binascii.Error:
        return TextContent(type="text", text=f"Here was something of the type {kind} that is no base64.")
    except LociError as error:
        return TextContent(type="text", text=f"Here was something of the type {kind}. It could not be kept: {error}")
    served = "" if call.caller.over_http else ", while `loci serve` runs on this machine"
    text = (
        f"{kind}, {len(content):,} bytes: too large for an answer. Download it within an hour{served}: {url} "
        f"(scratchpad_read('{stored.id}') gives a new link)"
    )
    return TextContent(type="text", text=text, annotations=block.annotations)


def _keep(call: BudgetedCall, whole: str, results: ResultStore) -> tuple[str, dict[str, Any]]:
    """Keep the whole result, and return the line and the field that say where it is, or why it is nowhere."""
    # A tool that changes something may answer each call differently: each of its results is kept.
    same = json.dumps(call.arguments, sort_keys=True) if call.reads else None
    try:
        about = _about(call.arguments)
        entry = results.keep(call.caller.owner, call.tool, whole, about=about, call=same, scopes=call.scopes)
    except LociError as error:
        return f"This is the beginning of the result. The rest could not be kept: {error}", {"not_kept": error.what}
    return f"Results cached. Use scratchpad_read('{entry.id}') for full output", {"scratchpad_id": entry.id}


def _about(arguments: Mapping[str, Any]) -> str:
    """The call in a few words: what is looked for, else its arguments."""
    said = arguments.get("query") or ", ".join(f"{name}={as_text(value)}" for name, value in arguments.items())
    plain = " ".join(str(said)[:LONGEST_ABOUT].encode("utf-8", "replace").decode().split())
    return cut_text(plain, LONGEST_ABOUT)


def _bare(tool: "LociTool", structured: Any) -> Any:
    """The tool's own value, without the wrapper around a bare string or array."""
    return structured["result"] if tool.sdk_tool.fn_metadata.wrap_output else structured


def _length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def noted_list(values: Sequence[BaseModel | str], note: str | None) -> CallToolResult:
    """The list; the note is a second block of text."""
    plain = [one if isinstance(one, str) else one.model_dump(mode="json") for one in values]
    content = [TextContent(type="text", text=text) for text in (as_text(plain), note) if text]
    return CallToolResult(content=[*content], structured_content={"result": plain})
