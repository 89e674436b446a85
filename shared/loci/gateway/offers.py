"""The prompts, resources and templates of tool servers: they are found, completed, and got or read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, cast
from urllib.parse import unquote

from loci.core.errors import NotFound, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.core.scopes import check_scopes, scope_of
from loci.core.telemetry import Calls, Door
from loci.core.trust import Readings
from loci.gateway.configuration import ConfiguredServer
from loci.gateway.gateway import LONGEST_SPELLING, NEAREST, reporting, wire_spelling
from loci.gateway.offer import (
    ADDRESS,
    VIEWS,
    Kind,
    Method,
    Offer,
    is_like_view,
    is_passed_on,
    is_view,
    place_of,
    view_address,
    with_trusted_views,
)
from loci.gateway.policy import Policy
from loci.gateway.tool_list import ToolList
from loci.gateway.tool_search import FoundTool, ToolIndex
from loci.gateway.tool_words import KnownOffer

READS: Final = scope_of("tools", writes=False)
LISTED: Final = 50
"""Prompts, resources or templates that are listed of a server. Others are found by a search, and read by their URIs."""
LARGEST: Final = 2_000_000
"""Characters of a prompt or a resource: a model reads less."""
MOST_VALUES: Final = 100
"""Values of a completion, as the protocol limits them."""
LONGEST_VALUE: Final = 1000
SURE: Final = 0.4
"""The score from which an offer is shown among tools: it has most words of the request."""


class Offers:
    """The offers of each owner's servers, as far as the operator passes them on."""

    def __init__(self, tool_list: ToolList, policy: Policy, calls: Calls, readings: Readings) -> None:
        self._list = tool_list
        self._policy = policy
        self._calls = calls
        self._readings = readings
        self._last: tuple[tuple[KnownOffer, ...], ToolIndex] | None = None

    def listed(self, owner: Owner, kind: Kind) -> list[tuple[str, Offer]]:
        """The first offers of each server, each with its name or address. This waits for no server."""
        found: list[tuple[str, Offer]] = []
        for server in self._list.all(owner):
            of_kind = [one for one in self._of([server]) if one.kind == kind]
            found += [(one.address, one) for one in of_kind[:LISTED]]
            if kind == "template" and (any_uri := self._any_uri(server)):
                found.append((any_uri.address, any_uri))
        names = self._names([one for _, one in found]) if kind == "prompt" else {}
        return [(names.get(one.id, address), one) for address, one in found]

    def find(self, query: str, servers: Sequence[ConfiguredServer], limit: int) -> list[tuple[FoundTool, KnownOffer]]:
        """The offers that have most words of the request, the best first."""
        passed = [one for one in self._of(servers) if not is_view(one.uri)]  # those are for clients
        if not passed:
            return []
        names = self._names([one for one in passed if one.kind == "prompt"])
        known = tuple(_known(one, names.get(one.id, "") if one.kind == "prompt" else one.address) for one in passed)
        last = self._last
        index = last[1] if last is not None and last[0] == known else ToolIndex(known)
        self._last = known, index
        found = [(one, cast("KnownOffer", one.tool)) for one in index.find(query, limit)]
        return [one for one in found if one[0].score >= SURE]

    def has_prompt(self, owner: Owner, name: str) -> bool:
        """True if a server has a prompt of this name."""
        return bool(self._prompts(owner, name))

    def prompt(self, caller: Caller, door: Door, name: str, arguments: JsonObject) -> JsonObject:
        """Get a prompt, as the protocol has it. Raises `NotFound` if no server has one of this name."""
        with reporting(self._calls, caller, door, arguments) as under_way:
            offer = self._prompt(caller.owner, name)
            params: JsonObject = {"name": offer.name, "arguments": {key: _text(one) for key, one in arguments.items()}}
            under_way.tool, under_way.is_upstream = f"{offer.server}:prompts/get", True
            server = self._list.get(caller.owner, offer.server)
            trusted = server.name if self._policy.shows_views(server.entry) else None
            return with_trusted_views(self._fetched(caller, server, "prompts/get", params), trusted)

    def resource(self, caller: Caller, door: Door, address: str) -> JsonObject:
        """Read a resource by its address, as the protocol has it. Each part has its address, and its own URI beside."""
        with reporting(self._calls, caller, door, {"uri": address}) as under_way:
            server, uri = self._located(caller.owner, address)
            name = server.name
            under_way.tool, under_way.is_upstream = f"{name}:resources/read", True
            result = self._fetched(caller, server, "resources/read", {"uri": uri})
            contents = cast("list[dict[str, Any]]", result.get("contents") or [])
            return {**result, "contents": [_here(name, uri, one) for one in contents]}

    def completed(
        self, caller: Caller, door: Door, of: str, argument: tuple[str, str], known: Mapping[str, str]
    ) -> tuple[list[str], bool]:
        """Complete an argument of a prompt, or a variable of the template at an address. True: there are more values.

        `argument`: its name, and what is typed so far. `known`: the other arguments. Raises `NotFound` and `Refused` as
        `prompt` and `resource` do. The calls of servers do not have it: a person who types asks at each key.
        """
        name, begun = argument
        typed: JsonObject = {**known, name: begun}
        with reporting(self._calls, caller, door, typed) as under_way:
            ref: JsonObject
            if of.startswith(ADDRESS):
                server, uri = self._located(caller.owner, of, "template")
                ref = {"type": "ref/resource", "uri": uri}
            else:
                offer = self._prompt(caller.owner, of)
                server = self._list.get(caller.owner, offer.server)
                ref = {"type": "ref/prompt", "name": offer.name}
            under_way.tool = f"{server.name}:completion/complete"
            params: JsonObject = {"ref": ref, "argument": {"name": name, "value": begun}}
            more: JsonObject = {"context": {"arguments": {**known}}} if known else {}
            return _values(self._fetched(caller, server, "completion/complete", params | more))

    def _prompt(self, owner: Owner, name: str) -> Offer:
        fitting = self._prompts(owner, name)
        if len(fitting) != 1:
            raise _unclear(name, [one.id for one in fitting], [one for one, _ in self.listed(owner, "prompt")])
        return fitting[0]

    def _located(self, owner: Owner, address: str, kind: Kind = "resource") -> tuple[ConfiguredServer, str]:
        """The server, and its own URI or template behind an address. Raises `Refused` if it is not passed on."""
        name, uri = place_of(address)
        if not uri:
            raise NotFound(f"There is no resource {address[:200]!r}", "Use one that resources/list has")
        server = self._list.get(owner, name)
        known = {one.uri: one for one in server.offers if one.kind == kind}
        # Some clients encode the spaces in an address.
        alike = (one for one in known if unquote(one) == unquote(uri) and is_view(one) is is_view(uri))
        uri = uri if uri in known else next(alike, uri)
        # A view has one address, which no result of another server can name.
        is_misplaced = is_like_view(uri) and not address.startswith(VIEWS)
        if is_misplaced or not self._passes(server, known[uri].name if uri in known else uri, uri):
            what = f"The operator does not pass on {uri[:200]!r} of the tool server {name}"
            raise Refused(what, "Use a resource that is listed, or ask the operator", code="TOOL_DENIED")
        return server, uri

    def _prompts(self, owner: Owner, name: str) -> list[Offer]:
        """The prompts with this id, else those with this wire spelling."""
        prompts = [one for one in self._of(self._list.all(owner)) if one.kind == "prompt"]
        wire = wire_spelling(name[:LONGEST_SPELLING])
        return [one for one in prompts if one.id == name] or [one for one in prompts if wire_spelling(one.id) == wire]

    def _fetched(self, caller: Caller, server: ConfiguredServer, method: Method, params: JsonObject) -> JsonObject:
        check_scopes(caller, [READS], f"{server.name}:{method}")
        if server.entry.session_per_client:
            server = replace(server, session=caller.session or caller.credential)
        try:
            result = self._list.servers.fetch(caller.owner, server, method, params)
        finally:
            if method != "completion/complete":  # that is for a person who types
                self._readings.note(caller, [f"tool server {server.name}"])
        if len(str(result)) > LARGEST:
            what = f"The tool server {server.name} answers with more than {LARGEST // 1_000_000} MB"
            raise Refused(what, "Ask for a smaller part, with a tool of the server", code="TOO_LARGE")
        return {name: one for name, one in result.items() if name not in ("_meta", "resultType", "ttlMs", "cacheScope")}

    def _passes(self, server: ConfiguredServer, name: str, uri: str = "") -> bool:
        return self._policy.approval != "all" and is_passed_on(server.entry, server.name, name, uri)

    def _of(self, servers: Sequence[ConfiguredServer]) -> list[Offer]:
        return [one for server in servers for one in server.offers if self._passes(server, one.name, one.uri)]

    def _any_uri(self, server: ConfiguredServer) -> Offer | None:
        """A template for the resources of a server that are not listed; None if all are."""
        count = sum(one.kind == "resource" for one in self._of([server]))
        if count <= LISTED:
            return None
        told = f"Any resource of {server.name}, by its own URI. {LISTED} are listed; pml_search_tools finds others."
        return Offer(server.name, "template", "resource", "{+uri}", f"Resources of {server.name}", told)

    @staticmethod
    def _names(prompts: Sequence[Offer]) -> dict[str, str]:
        """The name of each prompt, by its id: a spelling that every client accepts, unless two have the same."""
        spelled = Counter(wire_spelling(one.id) for one in prompts)
        return {one.id: wire if spelled[wire := wire_spelling(one.id)] == 1 else one.id for one in prompts}


def _known(offer: Offer, called: str) -> KnownOffer:
    arguments = cast("list[dict[str, Any]]", offer.more.get("arguments") or [])
    schema: JsonObject = {
        "properties": {str(one.get("name")): {"description": one.get("description")} for one in arguments}
    }
    return KnownOffer(offer.id, offer.title or "", f"{offer.description} {offer.uri}", schema, offer, called)


def _here(server: str, asked: str, content: dict[str, Any]) -> JsonObject:
    """A part of a resource under its address. A view comes with the rules for showing it."""
    if is_view(asked):
        ui = cast("dict[str, Any]", content.get("_meta") or {}).get("ui")
        return {
            **content,
            "uri": view_address(server, asked),
            "_meta": {"loci/uri": asked, **({"ui": ui} if isinstance(ui, dict) else {})},
        }
    own = str(content.get("uri") or asked)
    return {**content, "uri": f"{ADDRESS}{server}/{own}", "_meta": {"loci/uri": own}}


def _values(result: JsonObject) -> tuple[list[str], bool]:
    """The values that a person can be shown, and that fit in an argument. True: there are more."""
    match result.get("completion"):
        case {"values": list(values), **rest}:
            plain = [one for one in values if isinstance(one, str) and len(one) <= LONGEST_VALUE and one.isprintable()]
            return plain[:MOST_VALUES], rest.get("hasMore") is True or len(plain) > MOST_VALUES
        case _:
            return [], False


def _text(value: Json) -> Json:
    return value if isinstance(value, str) else str(value)


def _unclear(name: str, ids: Sequence[str], known: Sequence[str]) -> NotFound | Refused:
    if ids:
        return Refused(f"{name[:80]!r} may mean several prompts", f"Get the one you mean: {' or '.join(ids)}")
    near = ", ".join(get_close_matches(name[:400], known, NEAREST, 0.5))
    advice = f"The nearest are {near}" if near else "Use one that prompts/list has"
    return NotFound(f"There is no prompt {name[:80]!r}", advice, code="PROMPT_NOT_FOUND")
