"""A record store that notes which calls it gets, and passes each one on to a real store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordPage, RecordStore


@dataclass(frozen=True, slots=True)
class RecordedRecords:
    """The real store, and the calls so far as `(method, kind)`."""

    store: RecordStore
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def get(self, owner: Owner, kind: str, key: str) -> Record | None:
        self.calls.append(("get", kind))
        return self.store.get(owner, kind, key)

    def get_all(self, owner: Owner, kind: str, keys: Sequence[str]) -> dict[str, Record]:
        self.calls.append(("get_all", kind))
        return self.store.get_all(owner, kind, keys)

    def put(
        self,
        owner: Owner,
        kind: str,
        key: str,
        value: JsonObject,
        *,
        expect_version: str | None = None,
        expires_at: float | None = None,
        durable: bool = True,
    ) -> Record:
        self.calls.append(("put", kind))
        return self.store.put(
            owner, kind, key, value, expect_version=expect_version, expires_at=expires_at, durable=durable
        )

    def remove(
        self, owner: Owner, kind: str, key: str, *, expect_version: str | None = None, durable: bool = True
    ) -> bool:
        self.calls.append(("remove", kind))
        return self.store.remove(owner, kind, key, expect_version=expect_version, durable=durable)

    def put_keys(self, owner: Owner, kind: str, keys: Sequence[str], *, remove: Sequence[str] = ()) -> None:
        self.calls.append(("put_keys", kind))
        self.store.put_keys(owner, kind, keys, remove=remove)

    def remove_versions(self, owner: Owner, kind: str, versions: Mapping[str, str]) -> list[str]:
        self.calls.append(("remove_versions", kind))
        return self.store.remove_versions(owner, kind, versions)

    def owner_keys(self) -> list[str]:
        return self.store.owner_keys()

    def remove_all(self, owner: Owner) -> int:
        return self.store.remove_all(owner)

    def list(
        self, owner: Owner, kind: str, *, prefix: str = "", limit: int = 100, after: str | None = None
    ) -> RecordPage:
        self.calls.append(("list", kind))
        return self.store.list(owner, kind, prefix=prefix, limit=limit, after=after)
