"""The owners of a deployment, and the removal of everything that one of them has."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loci.auth.grants import granting_owners, remove_grants
from loci.core.errors import Refused
from loci.core.identity import LOCAL, SYSTEM, Owner, UnnamedOwner
from loci.core.stores import OWNER_KEY
from loci.workflows.runs import ACTIVE_OWNER, RUN, noted_owners

if TYPE_CHECKING:
    from loci.app import App

REASON: Final = "Everything of its owner is deleted"


class Owners:
    """The owners, each known by a name or, if nothing stored tells the name, by the key in the stores."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def all(self) -> list[Owner]:
        """Everybody who has something, or a key."""
        app = self._app
        told = [*app.api_keys.owners(), *granting_owners(app.records), *noted_owners(app.records)]
        names = {one.key: one for one in (LOCAL, *told)}
        found = {*app.records.owner_keys(), *app.blobs.owner_keys(), *(one.key for one in told)} - {SYSTEM.key}
        return [names.get(key) or UnnamedOwner(key) for key in sorted(found)]

    def named(self, text: str) -> Owner:
        """The owner with this name (`TENANT/SUBJECT`, or `local`) or key, who need not have anything any more."""
        known = [one for one in self.all() if text in (one.name, one.key)]
        if len(known) > 1:
            keys = ", ".join(one.key for one in known)
            raise Refused(f"{text} may be several owners", f"Name one of them by the key: {keys}", code="OWNER_UNCLEAR")
        tenant, _, subject = text.rpartition("/")
        if not known and not OWNER_KEY.fullmatch(text) and not (subject and (tenant or text == LOCAL.subject)):
            raise Refused(f"{text!r} names no owner", "Name one as `loci owners list` does", code="OWNER_UNKNOWN")
        unknown = UnnamedOwner(text) if OWNER_KEY.fullmatch(text) else Owner(tenant, subject)
        return self._checked(known[0] if known else unknown)

    def remove(self, owner: Owner) -> Counter[str]:
        """Remove everything that the owner has, and return how much of each. After an interruption, repeat it.

        The keys are revoked first, so that nothing is added meanwhile, and removed last, since they have the name.
        """
        app, records, counts = self._app, self._app.records, Counter[str]()
        self._checked(owner)
        for key in app.api_keys.list():
            if key.owner.key == owner.key and key.revoked is None:
                app.api_keys.revoke(key.id)
        counts["connection"] = remove_grants(records, owner)
        counts["share"] = app.sharing.shares.remove_all(owner)
        if records.list(owner, RUN, limit=1).records:
            counts["running workflow"] = app.workflows.abort_all(owner, REASON)
        app.finish()
        app.search_adapters.index.remove_all(owner)
        counts["record"] = records.remove_all(owner)
        counts["object"] = app.blobs.remove_all(owner) + app.arriving.remove_all(owner)
        # What a workflow or a request was still writing.
        counts["record"] += records.remove_all(owner)
        records.remove(SYSTEM, ACTIVE_OWNER, owner.key)
        counts["key"] = app.api_keys.remove_all(owner)
        # At the end: on this machine it also overwrites what was deleted.
        counts["object"] += app.runtime.remove_rest(owner)
        return counts

    def backups(self) -> Sequence[str]:
        """Say where copies are kept after the removal, and until when."""
        return self._app.runtime.backups()

    @staticmethod
    def _checked(owner: Owner) -> Owner:
        if owner.key == SYSTEM.key:
            raise Refused("This is Loci itself, which has the keys of all owners", "Name another owner")
        return owner
