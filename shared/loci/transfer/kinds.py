"""Which kinds of things travel, and which belong to one machine."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import string
from loci.scratchpad.api import CAPACITY, ID, Scratchpad
from loci.transfer.items import SAME, TAKEN, Item, Kind, Loaded, Outcome, Receiver, Unreadable

TRAVELS: Final = {
    "documents": ("document",),
    "deleted": ("deleted",),
    "files": ("file", "file_version"),
    "capabilities": ("capability", "capability_code"),
    "servers": ("tool_server",),
    "runs": ("workflow", "workflow_value"),
    "results": ("scratchpad",),
}
"""The kinds of records in each kind of thing. Blobs go with the record that names them."""

STAYS: Final = {
    "places on one machine": ("root", "ingested_folder", "forgotten", "refused"),
    "secrets, keys, logins and what they allow": (
        *("api_key", "tool_secret", "tool_login", "pin", "pin_tries", "ended_visit", "ended_session"),
        *("oauth_client", "oauth_client_document", "oauth_code", "oauth_grant", "oauth_grant_id"),
        *("oauth_registrations", "oauth_remembered"),
    ),
    "what runs, waits or is locked": (
        *("approval", "errand", "executor", "executor-machine", "executor-run", "ingesting", "run"),
        *("scratchpad-promised", "turn", "unfinished", "workflow_owner", "workflow_slot", "workflow_waiting"),
    ),
    "what is made again from the rest, or counted": (
        *("capability_vectors", "embedded", "events", "events_count", "events_wanted", "language_tokens"),
        *("listed_tools", "notice_sent", "read", "said", "text", "tool_calls", "tool_followers", "tool_trail"),
        *("tool_vectors",),
    ),
}
"""The kinds of records that no archive has, by why. An archive with another kind than those above is refused."""


class ResultKind(Kind):
    """Results of tools. Images and other files among them stay where they are."""

    name = "results"
    largest = CAPACITY

    def __init__(self, scratchpad: Scratchpad) -> None:
        self._scratchpad = scratchpad

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        for one in sorted(self._scratchpad.list(owner), key=lambda one: one.id):
            if not one.media_type and (after is None or one.id > after):
                item = Item(self.name, one.id, {"tool": one.tool, "about": one.about}, {f"results/{one.id}": ""})
                yield Loaded(item, partial(self._read, owner, one.id))

    def label(self, item: Item) -> str:
        return f"{item.key} of {item.value['tool']}"

    def check(self, item: Item) -> None:
        string(item.value["tool"])
        string(item.value["about"])
        if [*item.blobs] != [f"results/{item.key}"] or not ID.fullmatch(item.key):
            raise ValueError(item.key)

    def look(self, to: Receiver, item: Item) -> Outcome:
        try:
            here = self._read(to.owner, item.key, "")
        except LociError:
            return TAKEN
        is_same = sha256(here).hexdigest() == item.blobs[f"results/{item.key}"]
        return SAME if is_same else Outcome("conflict", f"the result {item.key} is here with another text")

    def put(self, to: Receiver, one: Loaded) -> None:
        tool, about = string(one.item.value["tool"]), string(one.item.value["about"])
        text = one.only_blob.decode("utf-8", "replace")
        self._scratchpad.keep(to.owner, tool, text, one.item.key, about=about)

    def _read(self, owner: Owner, id: str, _: str) -> bytes:
        return self._scratchpad.read(owner, id).text.encode("utf-8", "replace")
