"""Prompts, resources and templates of tool servers, under the names and addresses that Loci gives them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, cast

from loci.core.json import Json, JsonObject

if TYPE_CHECKING:
    from loci.gateway.configuration import ServerEntry

Kind = Literal["prompt", "resource", "template"]
Method = Literal["prompts/get", "resources/read", "completion/complete"]
ADDRESS: Final = "loci://tools/"
"""The beginning of the address of each resource. The name of its server follows, and then its own URI as it is."""
VIEW: Final = "ui://"
"""The beginning of the URI of a view: a page that calls tools on the connection on which it came."""

VIEWS: Final = "ui://loci/"
"""The beginning of the address of each view. The name of its server follows, and the rest of its own URI."""
LINK: Final = "ui/resourceUri"
"""The older name in `_meta` of what `resourceUri` in its `ui` names."""
NO_VIEW: Final = (
    "(The server sent a view. Loci passes on only views that the operator trusts: they can call every tool.)"
)
NO_VIEW_BLOCK: Final[JsonObject] = {"type": "text", "text": NO_VIEW}


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
        return view_address(self.server, self.uri) if is_view(self.uri) else f"{ADDRESS}{self.server}/{self.uri}"

    @property
    def said(self) -> JsonObject:
        """The offer as it is stored and sent."""
        return cast("JsonObject", asdict(self))


def restored_offers(value: Json) -> tuple[Offer, ...]:
    """Read offers as they are stored. Records from before there were any have none."""
    return tuple(Offer(**one) for one in cast("list[dict[str, Any]]", value or []))


def is_view(uri: object) -> TypeGuard[str]:
    """True if this is the URI of a view, as the protocol spells it."""
    return isinstance(uri, str) and uri.startswith(VIEW)


def is_like_view(uri: object) -> bool:
    """True if a client might take it for the URI of a view."""
    return str(uri).strip().lower().startswith(VIEW)


def view_address(server: str, uri: str) -> str:
    """The address at Loci of a server's view. It leads to this server only, whatever name the server gave the view."""
    return f"{VIEWS}{server}/{uri.removeprefix(VIEW)}"


def place_of(address: str) -> tuple[str, str]:
    """The server and its own URI behind an address; the URI is empty if this is the address of nothing."""
    for beginning, scheme in ((VIEWS, VIEW), (ADDRESS, "")):
        if address.startswith(beginning):
            server, _, rest = address.removeprefix(beginning).partition("/")
            return server, scheme + rest if rest else ""
    return "", ""


def is_passed_on(entry: "ServerEntry", server: str, name: str, uri: str = "") -> bool:
    """True if the operator passes this offer on. What a person must approve is not passed on: nobody would ask them."""
    if entry.disabled or entry.tools_only or (is_like_view(uri) and not (entry.trust_views and is_view(uri))):
        return False
    names: Mapping[str, None] = dict.fromkeys((name, f"{server}:{name}", *([uri] if uri else [])))

    def fits(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(one, pattern) for pattern in patterns for one in names)

    return not (fits(entry.deny) or fits(entry.approve)) and (not entry.allow or fits(entry.allow))


def with_trusted_views(result: JsonObject, server: str | None) -> JsonObject:
    """The result of a call or a prompt, with the views of this server under their addresses at Loci.

    None: no view is trusted, and none is left, nor what names one.
    """

    def block(one: Json) -> Json:
        if not isinstance(one, dict):
            return one
        plain, inner = _with_trusted_names(one, server), one.get("resource")
        if one.get("type") == "resource" and isinstance(inner, dict):
            placed = _placed(_with_trusted_names(inner, server), server)
            return (placed and {**plain, "resource": placed}) or NO_VIEW_BLOCK
        return _placed(plain, server) or NO_VIEW_BLOCK

    def message(one: Json) -> Json:
        return {**one, "content": block(one.get("content"))} if isinstance(one, dict) else one

    plain = _with_trusted_names(result, server)
    for name, clean in (("content", block), ("messages", message)):
        if isinstance(parts := plain.get(name), list):
            plain[name] = [clean(one) for one in parts]
    return plain


def _placed(value: JsonObject, server: str | None) -> JsonObject | None:
    """The block or resource with its address at Loci if it is a view; None if that is not trusted."""
    uri = value.get("uri")
    if not is_like_view(uri):
        return value
    return {**value, "uri": view_address(server, uri)} if server is not None and is_view(uri) else None


def _with_trusted_names(value: JsonObject, server: str | None) -> JsonObject:
    meta = value.get("_meta")
    if not isinstance(meta, dict) or not any(map(_names_view, meta)):
        return {**value}
    kept = {name: one for name, one in meta.items() if not _names_view(name)}
    if server is not None:
        ui, link = meta.get("ui"), meta.get(LINK)
        if isinstance(ui, dict):
            named = ui.get("resourceUri")
            own = {"resourceUri": view_address(server, named)} if is_view(named) else {}
            kept["ui"] = {**{name: one for name, one in ui.items() if name != "resourceUri"}, **own}
        if is_view(link):
            kept[LINK] = view_address(server, link)
    return {**value, "_meta": kept}


def _names_view(name: str) -> bool:
    return name == "ui" or name.startswith(("ui/", "openai/", "mcpui.dev/"))
