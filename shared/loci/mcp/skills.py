"""Skills (SEP-2640): texts that say how something is done, listed by the server, and read when a task needs one."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, RequestParams, TextResourceContents
from pydantic import Field

from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.trust import NoteReading
from loci.mcp.caller import caller_of
from loci.mcp.errors import answer_request
from loci.mcp.threads import on_thread

SKILL: Final = "skill://loci/"
FILE: Final = "/SKILL.md"
MARKDOWN: Final = "text/markdown"
TTL_MS: Final = 60_000
Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Skill:
    """A text with a name by which clients load it, and a description by which they choose it."""

    name: str
    """Small letters, digits and single hyphens, at most 64."""
    description: str
    body: str
    source: str = ""
    """The source, if it may have texts of others."""

    @classmethod
    def read(cls, text: str) -> "Skill":
        """The skill of a file with plain front matter."""
        _, front, body = text.split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in front.splitlines())
        return cls(fields["name"], fields["description"], body.strip())

    @property
    def uri(self) -> str:
        return f"{SKILL}{self.name}{FILE}"

    @property
    def text(self) -> str:
        """The file: JSON is YAML, so no description can add a field."""
        description = json.dumps(self.description, ensure_ascii=False)
        return f"---\nname: {self.name}\ndescription: {description}\n---\n\n{self.body}\n"

    @property
    def entry(self) -> JsonObject:
        """The skill as it is listed."""
        content = self.text.encode()
        file: JsonObject = {
            "uri": self.uri,
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "size": len(content),
        }
        return {
            "uri": self.uri,
            "frontmatter": {"name": self.name, "description": self.description},
            "resources": [file],
        }


@dataclass(frozen=True, slots=True)
class ModuleSkills:
    """The skills of one vertical."""

    of: Callable[[Owner], Sequence[Skill]]
    scope: str
    """A client that a person allowed needs it to see them."""


class SkillParams(RequestParams):
    uri: str = Field(max_length=300)


class Skills(Extension):
    """The skills extension: lists skills, each with the digest of its file, which `resources/read` gives."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, modules: Sequence[ModuleSkills], note: NoteReading) -> None:
        """`note`: notes that a caller gets texts of others, before they get them."""
        self._modules = modules
        self._note = note

    def methods(self) -> Sequence[MethodBinding]:
        return [
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", SkillParams, self._get),
        ]

    def all(self, caller: Caller) -> list[Skill]:
        """All that this caller may see."""
        return [skill for one in self._modules if caller.may(one.scope) for skill in one.of(caller.owner)]

    async def content(self, ctx: Context, uri: str) -> TextResourceContents:
        """The file of a skill."""
        found = await self._found(ctx, uri)
        if found.source:
            await on_thread(self._note, caller_of(ctx), [found.source])
        return TextResourceContents(uri=uri, mime_type=MARKDOWN, text=found.text)

    async def _list(self, ctx: Context, _: PaginatedRequestParams) -> HandlerResult:
        caller = caller_of(ctx)
        found = await answer_request(lambda: self.all(caller))
        return {"skills": [one.entry for one in found], "ttlMs": TTL_MS, "cacheScope": "private"}

    async def _get(self, ctx: Context, params: SkillParams) -> HandlerResult:
        found = await self._found(ctx, params.uri)
        return {"skill": found.entry, "ttlMs": TTL_MS, "cacheScope": "private"}

    async def _found(self, ctx: Context, uri: str) -> Skill:
        caller = caller_of(ctx)
        known = {one.uri: one for one in await answer_request(lambda: self.all(caller))}
        if uri not in known:
            raise MCPError(INVALID_PARAMS, f"There is no skill {uri[:200]!r}: skills/list lists them")
        return known[uri]
