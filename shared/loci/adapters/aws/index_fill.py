"""Fills the index of a deployment after it, its model or the rules of cutting changed: a slice with each message.

CloudFormation tells the queue when a deployment has ended. If the index is then another one than before, each owner
gets a record that says so, and a message.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.deadline import is_nearly_over
from loci.core.errors import Unavailable
from loci.core.identity import SYSTEM, Owner, UnnamedOwner
from loci.core.json import JsonObject
from loci.core.storage_keys import INDEX_FILLS
from loci.core.stores import RecordStore
from loci.documents.upkeep import Upkeep
from loci.files.upkeep import FileUpkeep

STATE: Final = "index"
"""The key of the records. That of Loci itself names the index; those of owners exist while it is filled for them."""
DOCUMENTS_A_MESSAGE: Final = 100
FILES: Final = "files"
"""The rest of the work after the documents."""
LAST_SHARE: Final = 0.3
"""The share of a message's time in which no further file is begun."""
REMEMBERED_S: Final = 60.0
"""Seconds for which a search remembers whether the index is whole."""
NOT_WHOLE: Final = "The index is being filled again after a deployment: what it lacks yet is not found. Search later"
QUEUE_RESOLUTIONS: Final = {"AccessDenied": "Allow this role to send messages to the queue of uploads"}


@dataclass(frozen=True, slots=True)
class IndexFill:
    """The work of the ingestion on an index that lacks what the stores have. All of it may be done twice."""

    index: Callable[[], str]
    """Returns the name of the index, its model and the rules of cutting: after another one, all is written again."""
    records: RecordStore
    owner_keys: Callable[[], list[str]]
    """Returns the keys of all owners that have stored texts or files."""
    documents: Upkeep
    files: FileUpkeep
    queue: str
    clients: Clients

    def take(self, notice: Any) -> bool:
        """Do what the message says. Return False if it is about something else."""
        match notice:
            case {"source": "aws.cloudformation"}:
                self._begin(self.index())
            case {"fill": {"index": str(index), "owner": str(key), "after": str() | None as after}}:
                if index == self.index():  # else a later deployment has begun again
                    self._go_on(index, UnnamedOwner(key), after)
            case _:
                return False
        return True

    def _begin(self, index: str) -> None:
        known = self.records.get(SYSTEM, INDEX_FILLS, STATE)
        if known is not None and known.value.get("index") == index:
            return
        for key in self.owner_keys():
            self.records.put(UnnamedOwner(key), INDEX_FILLS, STATE, {"index": index})
            self._send(index, key, None)
        self.records.put(SYSTEM, INDEX_FILLS, STATE, {"index": index})

    def _go_on(self, index: str, owner: Owner, after: str | None) -> None:
        if after != FILES:
            after = self.documents.fill(owner, after, most=DOCUMENTS_A_MESSAGE) or FILES
            self._send(index, owner.key, after)
            return

        def is_nearly_over_now() -> bool:
            return is_nearly_over(LAST_SHARE)

        self.files.index_again(owner, is_nearly_over_now)
        if not is_nearly_over_now():
            self.files.embed_missing(owner, is_nearly_over_now)
        if is_nearly_over_now():
            self._send(index, owner.key, FILES)
            return
        held = self.records.get(owner, INDEX_FILLS, STATE)
        if held is not None and held.value.get("index") == index:
            self.records.remove(owner, INDEX_FILLS, STATE, expect_version=held.version)

    def _send(self, index: str, key: str, after: str | None) -> None:
        message: JsonObject = {"fill": {"index": index, "owner": key, "after": after}}
        with translate_errors("SQS", "the queue of uploads", QUEUE_RESOLUTIONS):
            self.clients.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps(message), MessageGroupId=key)


@dataclass(slots=True)
class FillNotes:
    """Says of an owner's index that it is not whole yet."""

    records: RecordStore
    seen: dict[str, tuple[float, str | None]] = field(default_factory=dict[str, tuple[float, str | None]])
    """When each owner's record was last looked for, and what it said."""

    def __call__(self, owner: Owner) -> str | None:
        now = time.monotonic()
        at, note = self.seen.get(owner.key, (0.0, None))
        if not at or now - at > REMEMBERED_S:
            try:
                note = NOT_WHOLE if self.records.get(owner, INDEX_FILLS, STATE) else None
            except Unavailable:  # the search goes on without it
                return note
            self.seen[owner.key] = now, note
        return note
