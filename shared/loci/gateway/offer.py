"""Prompts, resources and templates of tool servers, under the names and addresses that Loci gives them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from loci.core.json import Json, JsonObject

if TYPE_CHECKING:
    from loci.gateway.configuration import ServerEntry

Kind = Literal["prompt", "resource", "template"]
Method = Literal["prompts/get", "resources/read"]
ADDRESS: Final = "loci://tools/"
"""The beginning of the address of each resource. The name of its server follows, and then its own URI as it is."""
VIEW: Final = "ui://"
"""The beginning of the URI of a view: a page that calls tools on the connection on which it came."""

NO_VIEW: Final = "(The server sent a view. Loci passes no views on: a view could call every tool here.)"


@dataclass(frozen=True, slots=True)
class Offer:
    """A prompt, a resource or a template of a tool server. All fields but the first two were written by others."""

    server: str
    kind: Kind
    name: str
    uri: str = ""
    """The server's own URI, or its template; empty for a prompt."""
    title: str | None = None
    description: str = ""
    more: JsonObject = field(default_factory=dict[str, Json])
    """Other fields of the protocol: the arguments of a prompt, the type and the size of a resource."""

    @property
    def id(self) -> str:
        """The id, such as `github:review`."""
        return f"{self.server}:{self.name}"

    @property
    def address(self) -> str:
        """The address of a resource, or of the resources of a template, at Loci."""
        return f"{ADDRESS}{self.server}/{self.uri}"

    @property
    def said(self) -> JsonObject:
        """The offer as it is stored and sent."""
        return cast("JsonObject", asdict(self))


def restored_offers(value: Json) -> tuple[Offer, ...]:
    """Read offers as they are stored. Records from before there were any have none."""
    return tuple(Offer(**one) for one in cast("list[dict[str, Any]]", value or []))


def is_passed_on(entry: "ServerEntry", server: str, name: str, uri: str = "") -> bool:
    """True if the operator passes this offer on. What a person must approve is not passed on: nobody would ask them."""
    if entry.tools_only or uri.lower().startswith(VIEW):
        return False
    names: Mapping[str, None] = dict.fromkeys((name, f"{server}:{name}", *([uri] if uri else [])))

    def fits(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(one, pattern) for pattern in patterns for one in names)

    return not (fits(entry.deny) or fits(entry.approve)) and (not entry.allow or fits(entry.allow))


def without_views(result: JsonObject) -> JsonObject:
    """The result of a call or a prompt without the views of its server, and without what names them."""

    def block(one: Json) -> Json:
        if not isinstance(one, dict):
            return one
        place = one.get("resource") if one.get("type") == "resource" else one
        if isinstance(place, dict) and str(place.get("uri")).strip().lower().startswith(VIEW):
            return {"type": "text", "text": NO_VIEW}
        return _without_names(one)

    def message(one: Json) -> Json:
        return {**one, "content": block(one.get("content"))} if isinstance(one, dict) else one

    plain = _without_names(result)
    for name, clean in (("content", block), ("messages", message)):
        if isinstance(parts := plain.get(name), list):
            plain[name] = [clean(one) for one in parts]
    return plain


def _without_names(value: JsonObject) -> JsonObject:
    meta = value.get("_meta")
    if not isinstance(meta, dict) or not any(map(_names_view, meta)):
        return {**value}
    return {**value, "_meta": {name: one for name, one in meta.items() if not _names_view(name)}}


def _names_view(name: str) -> bool:
    return name == "ui" or name.startswith(("ui/", "openai/", "mcpui.dev/"))
