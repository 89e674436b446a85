"""The tools of every configured server, as each listed them last. No reader of the list waits for a server."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from loci.core.errors import LociError, NotFound, Refused
from loci.core.events import ListName, Tell, untold
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, iso
from loci.core.stores import Record, RecordStore, every, read_or_none, update
from loci.gateway.configuration import (
    NAME,
    ConfiguredServer,
    ServerEntry,
    ServerRules,
    checked_entry,
    checked_name,
)
from loci.gateway.offer import Offer, restored_offers
from loci.gateway.policy import word_of
from loci.gateway.ports import AskLater, Changed, ToolServers
from loci.gateway.server_config import ServerResolver
from loci.gateway.tool_changes import remembered, restored, stored, version_of
from loci.gateway.tool_server import SeenTool, UpstreamTool
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS

SERVER, LISTED = "tool_server", "listed_tools"
"""The kinds of records: how a server is reached, and its tools."""
FRESH = 24 * 3600.0
"""Seconds after which a list is asked for again when somebody uses it."""
AGAIN = 60.0
"""Seconds after which a server that failed is asked again when somebody uses its list: it may have recovered."""
CALM = 5.0
"""The least seconds between two lists after announced changes: a server may announce them all the time."""
MOST_PARSED = 200
NOT_OF_REACH = {
    *ServerRules.model_fields,
    *("destructive", "reads", "tools_only", "own_environment", "session_per_client", "trust_views"),
}
"""The fields of an entry that change nothing in the list of a server."""


class ToolList:
    """The servers of each owner and their tools, in the record store."""

    def __init__(
        self,
        records: RecordStore,
        servers: Callable[[Changed, ServerResolver], ToolServers],
        resolver: ServerResolver,
        clock: Callable[[], float] = time.time,
        *,
        ask_later: AskLater | None = None,
        tell: Tell = untold,
    ) -> None:
        """`servers` makes what reaches them. `ask_later`: has another process ask; None: a thread of this one."""
        self._records = records
        self.servers = servers(self.changed, resolver)
        self.resolver = resolver
        self._clock = clock
        self._elsewhere = ask_later
        self._tell = tell if ask_later is None else untold  # the other process does it
        self._is_closed = False
        self._turn = threading.Lock()
        self._asking: set[tuple[Owner, str]] = set()
        self._changed: set[tuple[Owner, str]] = set()
        """The servers that announced a change while they were asked: their answer may be older than the change."""
        self._parsed: dict[tuple[str, str], ConfiguredServer] = {}
        """The servers read last, by the versions of their records: each call reads them, and they rarely change."""

    def put(self, owner: Owner, name: str, value: object, *, trust_views: bool = False) -> ConfiguredServer:
        """Configure a server, or replace its entry. It is not asked for its tools yet."""
        entry = checked_entry(checked_name(name), value)
        self.resolver.check(owner, name, entry)
        return self._put(owner, name, entry.model_copy(update={"trust_views": trust_views}))

    def restore(self, owner: Owner, name: str, value: object, *, no_variables: bool, only_public: bool) -> None:
        """Configure a server from an archive. Its secrets may still be missing: the first use says which."""
        entry = checked_entry(checked_name(name), value)
        self.resolver.check_place(name, entry)
        self._put(owner, name, entry.model_copy(update={"no_variables": no_variables, "only_public": only_public}))

    def put_back(self, owner: Owner, name: str, before: ConfiguredServer | None) -> None:
        """Undo a `put`: the server has its earlier entry again, or is gone."""
        if before is None:
            self.remove(owner, name)
        else:
            self._put(owner, name, before.entry)

    def _put(self, owner: Owner, name: str, entry: ServerEntry) -> ConfiguredServer:
        """Write the entry, and forget its list, but not how its tools were seen."""
        before = self.find(owner, name)
        entry = self.resolver.closed(owner, entry)
        self._records.put(owner, SERVER, name, entry.as_json())

        def forgotten(held: Record | None) -> JsonObject | None:
            tools, kept = _listed(held)
            known = remembered((), _fit(tools), kept)
            return {"tools": [], "seen": stored(known)} if known or held else None

        update(self._records, owner, LISTED, name, forgotten, durable=False)
        server = ConfiguredServer(name, entry)
        self._tell_lists(owner, before or server, server, {"configured": 0})
        return server

    def rule(self, owner: Owner, name: str, rules: ServerRules) -> ConfiguredServer:
        """Change the rules for a server, and nothing else of its entry."""
        before = self.get(owner, name)

        def ruled(held: Record | None) -> JsonObject | None:
            return None if held is None else {**held.value, **rules.model_dump(mode="json")}

        update(self._records, owner, SERVER, name, ruled)
        now = self.get(owner, name)
        if now.entry.disabled:
            self.servers.close(owner, name)
        self._tell_lists(owner, before, now, {"ruled": 0})
        return now

    def accept(self, owner: Owner, name: str, versions: Mapping[str, str]) -> None:
        """Accept these tools as a person was shown them, each in that version.

        Raises `Refused` if one is another by now.
        """
        before = self.get(owner, name)

        def accepted(held: Record | None) -> JsonObject:
            tools, kept = _listed(held)
            now = {one.name: version_of(one) for one in tools if one.name in versions}
            if held is None or any(now.get(tool) != version for tool, version in versions.items()):
                raise Refused(f"{name} has changed its tools again", "Look at them again", code="CHANGED_AGAIN")
            seen = {tool: one for tool, one in kept.items() if tool not in versions}
            return {**held.value, "seen": stored(seen)}

        update(self._records, owner, LISTED, name, accepted, durable=False)
        self._tell_lists(owner, before, self.get(owner, name), {"accepted": len(versions)})

    def remove(self, owner: Owner, name: str) -> None:
        """Forget a server and its tools."""
        server = self.get(owner, name)
        self._records.remove(owner, SERVER, name)
        self._records.remove(owner, LISTED, name)
        self._tell_lists(owner, server, ConfiguredServer(name, server.entry), {"removed": 0})
        self.servers.close(owner, name)

    def get(self, owner: Owner, name: str) -> ConfiguredServer:
        """The server with this name. Raises `NotFound` if no server has it."""
        found = self.find(owner, name)
        if found is None:
            known = ", ".join(one.name for one in self.known(owner))
            raise NotFound(
                f"There is no tool server {name[:80]!r}",
                f"There are {known}" if known else "Add one with: loci tools add",
                code="SERVER_NOT_FOUND",
            )
        return found

    def find(self, owner: Owner, name: str) -> ConfiguredServer | None:
        """The server with this name; None if no server has it."""
        server = self._records.get(owner, SERVER, name) if NAME.fullmatch(name) else None
        return None if server is None else self._read(server, self._records.get(owner, LISTED, name))

    def all(self, owner: Owner, is_wanted: Callable[[Record], bool] = lambda _: True) -> list[ConfiguredServer]:
        """All servers with their tools, by name. Servers whose lists are old are asked again, in the background.

        `is_wanted`: false for the record of a server that need not be read: lists of tools are long.
        """
        found = self.known(owner, is_wanted)
        for one in found:
            if self._is_due(one):
                self.ask_later(owner, one.name)
        return found

    def _is_due(self, server: ConfiguredServer) -> bool:
        if server.entry.disabled:
            return False
        if server.failure is not None:
            return server.failed_at is None or self._clock() - server.failed_at > AGAIN
        return server.listed_at is None or self._clock() - server.listed_at > FRESH

    def known(self, owner: Owner, is_wanted: Callable[[Record], bool] = lambda _: True) -> list[ConfiguredServer]:
        """All servers with the tools that they listed last. No server is asked."""
        wanted = [one for one in every(self._records, owner, SERVER) if is_wanted(one)]
        listed = self._records.get_all(owner, LISTED, [one.key for one in wanted])
        servers = [self._read(one, listed.get(one.key)) for one in wanted]
        return [one for one in servers if one is not None]

    def ask(self, owner: Owner, name: str) -> ConfiguredServer:
        """Ask the server for its tools now. Raises `LociError` if it fails; the tools that it had stay known."""
        began, server = self._clock(), self.get(owner, name)
        if server.entry.disabled:
            raise Refused(
                f"The tool server {name} is turned off", "Turn it on, on the page /ui/tools", code="TOOL_DENIED"
            )
        try:
            tools = self.servers.tools(owner, server)
        except LociError as error:
            # Its connection ends because Loci does: that says nothing of the server.
            is_kept = not self._is_closed and self._keep(owner, server, began, None, str(error))
            if is_kept and server.failure is None:
                self._tell(owner, "server", {"server": name, "state": "down", "code": error.code})
            raise
        is_kept = self._keep(owner, server, began, tools, offers=self._offers(owner, server))
        asked = self.get(owner, name)
        counts: dict[str, int] = {}
        if is_kept and (server.failure is not None or server.listed_at is None):
            counts["up"] = len(tools)
        if changed := _changed(asked) - _changed(server):
            counts["changed"] = len(changed)
        self._tell_lists(owner, server, asked, counts or {"listed": len(tools)})
        return asked

    def _tell_lists(
        self, owner: Owner, before: ConfiguredServer, now: ConfiguredServer, counts: Mapping[str, int]
    ) -> None:
        """Tell what has happened, with the lists that are others now: all processes with clients of the owner read it.

        `counts`: the number of tools for each state.
        """
        lists = cast("list[Json]", _changed_lists(before, now))
        for state, count in counts.items():
            if lists or state in ("up", "changed"):
                fields: JsonObject = {"server": now.name, "state": state, "tools": count}
                self._tell(owner, "server", {**fields, "lists": lists} if lists else fields)

    def _offers(self, owner: Owner, server: ConfiguredServer) -> Sequence[Offer]:
        """The other things that the server has. Its tools count more: it may fail here."""
        if server.entry.tools_only:
            return ()
        try:
            return self.servers.offers(owner, server)
        except LociError:
            return server.offers

    def close(self) -> None:
        """End all connections: the server stops."""
        self._is_closed = True
        self.servers.close(for_good=True)

    def ask_later(self, owner: Owner, name: str) -> None:
        """Have the server asked in the background, unless it is being asked."""
        if self._elsewhere is not None:
            with suppress(LociError):  # it is tried again when somebody looks again
                self._elsewhere(owner, name)
            return
        self._ask_on_thread((owner, name))

    def changed(self, owner: Owner, name: str) -> None:
        """Have the server asked again soon, because it says that its tools have changed."""
        with self._turn:
            self._changed.add((owner, name))
        self._ask_on_thread((owner, name))

    def _ask_on_thread(self, key: tuple[Owner, str]) -> None:
        with self._turn:
            if key in self._asking:
                return
            self._asking.add(key)
        DAEMON_THREADS.start(lambda: self._ask_quietly(key))

    def _ask_quietly(self, key: tuple[Owner, str]) -> None:
        """Ask the server, and again if it says meanwhile, or soon after, that its tools have changed."""
        is_asking = True
        try:
            while is_asking:
                with self._turn:
                    has_changed = key in self._changed
                    self._changed.discard(key)
                with suppress(LociError):  # its record says why
                    self.ask(*key)
                if has_changed:
                    time.sleep(CALM)
                with self._turn:
                    is_asking = key in self._changed
                    if not is_asking:
                        self._asking.discard(key)
        finally:
            if is_asking:  # a bug ended it
                with self._turn:
                    self._asking.discard(key)

    def _keep(
        self,
        owner: Owner,
        server: ConfiguredServer,
        began: float,
        tools: Sequence[UpstreamTool] | None,
        failure: str | None = None,
        offers: Sequence[Offer] | None = None,
    ) -> bool:
        """Keep the outcome of asking that began then. False: asking that began later has left its own already."""
        asked_at, of = self._clock(), _state(server.entry)

        def outcome(held: Record | None) -> JsonObject | None:
            other = held and held.value.get("began")
            if isinstance(other, float) and began < other <= self._clock():  # or else a clock was wrong
                return None
            listed, kept = _listed(held)
            is_same = held is not None and held.value.get("of") == of
            now = tools if tools is not None else listed if is_same else ()
            before = restored_offers(held.value.get("offers")) if held and is_same else ()
            return {
                "of": of,
                "tools": [one.said for one in now],
                "offers": [one.said for one in (before if offers is None else offers)],
                "at": server.listed_at if failure else asked_at,
                "failure": failure,
                "failed_at": asked_at if failure else None,
                "began": began,
                "seen": stored(remembered(_fit(now), _fit(listed), kept)),
            }

        return update(self._records, owner, LISTED, server.name, outcome, durable=False) is not None

    def _read(self, server: Record, listed: Record | None) -> ConfiguredServer | None:
        """The server of these records; None if its own is not readable. No two records have the same version."""
        versions = (server.version, listed.version if listed else "")
        known = self._parsed.get(versions)
        if known is None and (found := read_or_none(server, self._configured)) is not None:
            known = self._with_tools(found, listed)
            if listed is not None and listed.is_damaged:
                return known
            with self._turn:
                if len(self._parsed) >= MOST_PARSED:
                    self._parsed.clear()
                self._parsed[versions] = known
        return known

    @staticmethod
    def _configured(record: Record) -> ConfiguredServer:
        return ConfiguredServer(record.key, ServerEntry.model_validate(record.value))

    def _with_tools(self, server: ConfiguredServer, record: Record | None) -> ConfiguredServer:
        def read(record: Record) -> ConfiguredServer:
            at, failure = cast("float | None", record.value["at"]), cast("str | None", record.value["failure"])
            failed_at = cast("float | None", record.value.get("failed_at"))
            listed, kept = _listed(record)
            tools = tuple(
                replace(one, seen=kept.get(one.name), word=word_of(one, server.entry)) for one in _fit(listed)
            )
            unfit = tuple(one for one in listed if one.fault)
            offers = restored_offers(record.value.get("offers"))
            return replace(
                server, tools=tools, unfit=unfit, offers=offers, listed_at=at, failure=failure, failed_at=failed_at
            )

        if record is not None and record.value.get("of") == _state(server.entry):
            return read_or_none(record, read) or server
        return server


def _listed(record: Record | None) -> tuple[Sequence[UpstreamTool], dict[str, SeenTool]]:
    """The tools as the server listed them last, and what is remembered of them. From a damaged record all are new."""

    def read(record: Record) -> tuple[Sequence[UpstreamTool], dict[str, SeenTool]]:
        tools = cast("list[dict[str, Any]]", record.value["tools"])
        return [UpstreamTool(**one) for one in tools], restored(record.value.get("seen"))

    return read_or_none(record, read) or ((), {} if record is None else {"": SeenTool("")})


def _changed_lists(before: ConfiguredServer, now: ConfiguredServer) -> list[ListName]:
    """The lists that are others now."""

    def of(server: ConfiguredServer) -> dict[ListName, object]:
        rules = server.entry.model_dump(include={*ServerRules.model_fields})
        prompts = [one for one in server.offers if one.kind == "prompt"]
        resources = [one for one in server.offers if one.kind != "prompt"]
        return {"tools": (rules, server.tools), "prompts": (rules, prompts), "resources": (rules, resources)}

    old, new = of(before), of(now)
    return [name for name, one in old.items() if one != new[name]]


def _fit(tools: Sequence[UpstreamTool]) -> list[UpstreamTool]:
    """The tools that can be called."""
    return [one for one in tools if one.fault is None]


def _changed(server: ConfiguredServer) -> set[str]:
    return {one.name for one in server.tools if one.seen is not None}


def _state(entry: ServerEntry) -> str:
    """Changes with each change of how the server is reached: its tools may be others then."""
    return content_id(entry.model_dump_json(exclude=NOT_OF_REACH))


def listed_time(server: ConfiguredServer) -> str:
    """The time at which the server listed its tools last, for people."""
    return "never" if server.listed_at is None else iso(server.listed_at)


def tools_of(servers: Sequence[ConfiguredServer]) -> Iterator[tuple[ConfiguredServer, UpstreamTool]]:
    """All tools, each with its server."""
    for server in servers:
        for tool in server.tools:
            yield server, tool
