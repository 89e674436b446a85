"""Shares: the folders of owners that others may read, each with the giver, the receiver and the day since."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import quote

from loci.auth.api_keys import ApiKeys
from loci.core.errors import Refused
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, iso, string
from loci.core.stores import Record, RecordStore, every, readable
from loci.documents.document import Document, is_session

KIND: Final = "share"
SHARED: Final = "shared"
"""The first part of the paths and ids of what others share."""
MOST: Final = 20
"""The folders that one owner may share with another: each is a search of its own."""
MOST_ASKED: Final = 1_000
"""The owners of whom it is remembered that nobody shares with them."""


@dataclass(frozen=True, slots=True)
class Share:
    """A folder of the giver that the receiver may read."""

    folder: str
    giver: Owner
    receiver: Owner
    since: str
    roots: tuple[str, ...] = ("",)
    """The ids of the ingested folders that it is in (empty: documents that Loci keeps itself). Another folder that gets
    its name later is not shared."""

    @property
    def key(self) -> str:
        """The key of its record. All that one owner receives stands together."""
        return f"{self.receiver.key}/{self.giver.key}/{content_id(self.folder, length=32)}"

    @property
    def id(self) -> str:
        return content_id(self.key, length=32)

    @property
    def giver_name(self) -> str:
        """The giver's name, as the receiver sees it."""
        return name_for(self.receiver, self.giver)

    @property
    def receiver_name(self) -> str:
        """The receiver's name, as the giver sees it."""
        return name_for(self.giver, self.receiver)

    @property
    def above(self) -> str:
        """The beginning of the receiver's names of all that this giver shares: `shared/ann/`."""
        return f"{SHARED}/{self.giver_name}/"

    @property
    def place(self) -> str:
        """The receiver's name of the folder: `shared/ann/notes`."""
        return self.above + self.folder

    def covers(self, document: Document) -> bool:
        """True if the receiver may read the document. Sessions with coding agents stay with their owner."""
        is_in = document.path.startswith(f"{self.folder}/") and (document.root or "") in self.roots
        return is_in and not is_session(document.properties)


def name_for(reader: Owner, named: Owner) -> str:
    """The name of an owner as a part of a path: without the tenant for a reader of the same tenant.

    A tenant or a subject is one part each, whatever signs it has. No other owner has the name for the same reader.
    """
    is_near = reader.tenant == named.tenant and named.subject != LOCAL.subject
    parts = (named.subject,) if is_near or not named.tenant else (named.tenant, named.subject)
    return "/".join(
        "".join(one if one.isprintable() and one not in "%/#" else quote(one, "") for one in part) for part in parts
    )


class Shares:
    """The shares of this deployment. A share holds from the moment its record is written until it is removed."""

    def __init__(
        self,
        records: RecordStore,
        api_keys: ApiKeys,
        clock: Callable[[], float],
        timer: Callable[[], float],
        *,
        none_seconds: float,
    ) -> None:
        """`none_seconds`: for how long it is remembered that an owner receives nothing. A share is never remembered."""
        self._records = records
        self._api_keys = api_keys
        self._clock = clock
        self._timer = timer
        self._none_seconds = none_seconds
        self._none: dict[str, float] = {}

    def received(self, owner: Owner) -> Sequence[Share]:
        """What others share with the owner, in the order of its places."""
        if self._none and self._none.get(owner.key, 0.0) > self._timer():
            return ()
        found = [one for one in self._all(f"{owner.key}/") if one.receiver.key == owner.key]
        if not found and self._none_seconds:
            if len(self._none) >= MOST_ASKED:
                self._none.clear()
            self._none[owner.key] = self._timer() + self._none_seconds
        return sorted(found, key=lambda one: one.place)

    def given(self, owner: Owner) -> Sequence[Share]:
        """What the owner shares with others."""
        found = (one for one in self._all() if one.giver.key == owner.key)
        return sorted(found, key=lambda one: (one.folder, one.receiver_name))

    def give(self, giver: Owner, folder: str, receiver: Owner, roots: Collection[str] = ("",)) -> Share:
        """Share the folder, or return the share that there is."""
        if receiver.key in (giver.key, SYSTEM.key):
            raise Refused("This is you, or nobody", "Name another owner of this server", code="OWNER_UNKNOWN")
        share = Share(folder, giver, receiver, iso(self._clock()), tuple(sorted(roots)))
        others = list(self._all(f"{receiver.key}/{giver.key}/"))
        held = next((one for one in others if one.folder == folder), None)
        if held and held.roots == share.roots:
            return held
        if len(others) >= MOST and not held:
            what = f"You share {MOST} folders with {share.receiver_name} already"
            raise Refused(what, "End one of these shares, or share a folder above them", code="TOO_MANY_SHARES")
        value: JsonObject = {"folder": folder, "giver": _pair(giver), "receiver": _pair(receiver), "since": share.since}
        value["roots"] = [*share.roots]
        self._records.put(SYSTEM, KIND, share.key, value)
        self._none.pop(receiver.key, None)
        return share

    def end(self, share: Share) -> None:
        """End the share: the next request of its receiver finds nothing of it."""
        self._records.remove(SYSTEM, KIND, share.key)

    def remove_all(self, owner: Owner) -> int:
        """End all that the owner gives and receives, and return the number."""
        mine = [one for one in self._all() if owner.key in (one.giver.key, one.receiver.key)]
        for one in mine:
            self.end(one)
        return len(mine)

    def named(self, giver: Owner, text: str) -> Owner:
        """The owner whom the giver means: TENANT/SUBJECT or a subject or the name of a key of their own tenant.

        The full name of somebody unknown is taken as it is: who comes with tokens only is in no list. So nobody learns
        from it who is on this server.
        """
        from loci.auth.grants import granting_owners  # slow to load, and no search needs it

        keys = [one for one in self._api_keys.list() if one.revoked is None]
        every = dict.fromkeys([LOCAL, *(one.owner for one in keys), *granting_owners(self._records)])
        known = [one for one in every if giver.tenant in ("", one.tenant) or one == LOCAL]
        for names in (
            [(one.name, one) for one in known],
            [(one.subject, one) for one in known],
            [(one.name, one.owner) for one in keys if one.owner in known],
        ):
            found = list(dict.fromkeys(one for name, one in names if name == text))
            if len(found) > 1:
                told = ", ".join(one.name for one in found)
                raise Refused(f"{text!r} may be several owners", f"Name one of them: {told}", code="OWNER_UNCLEAR")
            if found:
                return found[0]
        tenant, _, subject = text.rpartition("/")
        try:
            if tenant and subject and text.isprintable():
                return Owner(tenant, subject)
        except ValueError:
            pass
        advice = "Give the name as TENANT/SUBJECT: `loci owners list` shows the names"
        raise Refused(f"{text[:200]!r} names no owner that you can share with", advice, code="OWNER_UNKNOWN")

    def _all(self, prefix: str = "") -> Iterator[Share]:
        return readable(every(self._records, SYSTEM, KIND, prefix), share_of)


def share_of(record: Record) -> Share:
    """The share of a record."""
    value = record.value
    roots = tuple(map(string, cast("list[Json]", value["roots"])))
    owners = _owner(value["giver"]), _owner(value["receiver"])
    share = Share(string(value["folder"]), *owners, string(value["since"]), roots)
    if share.key != record.key or not share.folder:
        raise ValueError("another key than the share's own")
    return share


def _pair(owner: Owner) -> JsonObject:
    return {"tenant": owner.tenant, "subject": owner.subject}


def _owner(value: object) -> Owner:
    pair = cast("JsonObject", value)
    return Owner(string(pair["tenant"]), string(pair["subject"]))
