"""Capabilities on the move, and tool servers without their secrets."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, string
from loci.core.stores import Record
from loci.transfer.items import SAME, TAKEN, Item, Kind, Loaded, Outcome, Receiver, Unreadable

if TYPE_CHECKING:
    from loci.gateway.api import Tools
    from loci.gateway.capabilities.capability import Capability
    from loci.gateway.capabilities.capability_store import StoredCode


class CapabilityKind(Kind):
    """Code that worked, with its record. It joins the code for the same intent that is here."""

    name = "capabilities"
    largest = 0

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        capabilities = self._tools().capabilities
        for one in capabilities.all(owner):
            if after is None or one.id > after:
                codes: dict[str, Json] = {
                    identity: {"code": code.code, "needs": [*code.needs]}
                    for identity, code in capabilities.codes(owner, one).items()
                }
                yield Loaded(Item(self.name, one.id, {**one.as_json(), "codes": codes}), _no_blob)

    def label(self, item: Item) -> str:
        return f"{item.key}: {item.value['intent']}"

    def check(self, item: Item) -> None:
        _capability(item)
        _codes(item)

    def look(self, to: Receiver, item: Item) -> Outcome:
        from loci.gateway.capabilities.capability import capability_id
        from loci.gateway.capabilities.capability_store import merged_capability
        from loci.gateway.capabilities.normal_form import identity_of
        from loci.gateway.capabilities.syntax import root_of

        wanted, codes = _capability(item), _codes(item)
        if wanted.id != capability_id(wanted.intent):
            return Outcome("left out", "its id is not that of its intent")
        for one in wanted.versions:
            root = root_of(codes[one.identity].code) if one.identity in codes else None
            if root is None or identity_of(root) != one.identity:
                return Outcome("left out", "its code is another than it says")
        known = next((one for one in self._tools().capabilities.all(to.owner) if one.id == wanted.id), None)
        return SAME if known is not None and merged_capability(known, wanted, 0.0) == known else TAKEN

    def put(self, to: Receiver, one: Loaded) -> None:
        self._tools().capabilities.restore(to.owner, _capability(one.item), _codes(one.item))


class ServerKind(Kind):
    """The way to reach each tool server. Every secret in it is replaced by its name."""

    name = "servers"
    largest = 0

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        for name, one in sorted(self._tools().portable(owner).items()):
            if after is None or name > after:
                value: JsonObject = {"entry": one.entry, "secrets": [*one.secrets]}
                yield Loaded(Item(self.name, name, value), _no_blob)

    def label(self, item: Item) -> str:
        needs = ", ".join(cast("list[str]", item.value["secrets"]))
        return f"{item.key} (needs {needs}: loci tools secret)" if needs else item.key

    def check(self, item: Item) -> None:
        from loci.gateway.configuration import checked_entry, checked_name

        checked_entry(checked_name(item.key), item.value["entry"])
        [string(one) for one in cast("list[Json]", item.value["secrets"])]

    def look(self, to: Receiver, item: Item) -> Outcome:
        from loci.gateway.configuration import checked_entry
        from loci.gateway.public_address import is_outside

        tools, name, entry = self._tools(), item.key, cast("Mapping[str, Any]", item.value["entry"])
        here = tools.portable(to.owner).get(name)
        if here is not None and here.entry != entry:
            return Outcome("conflict", f"the tool server {name} is here with another entry")
        if here is not None and not (here.is_restricted and to.programs):
            return SAME
        to_take_it = "To take it, import it on the machine itself" if to.from_afar else "To take it: --programs"
        if entry.get("command") and not to.programs:
            shown = " ".join([str(entry["command"]), *map(str, entry.get("args") or ())])
            return Outcome("left out", f"it starts a program of this machine ({shown[:200]}). {to_take_it}")
        try:
            tools.check_place(name, entry)
            if to.from_afar and not is_outside(checked_entry(name, entry)):
                return Outcome("left out", f"its address is none that everybody reaches by https. {to_take_it}")
            known = () if to.programs else tools.filled_here(to.owner, name, entry)
        except LociError as error:
            return Outcome("left out", error.what)
        if known:
            where = str(entry.get("url")).partition("?")[0]
            return Outcome(
                "left out", f"it would send the {', '.join(known)} of this machine to {where[:200]}. {to_take_it}"
            )
        return TAKEN

    def put(self, to: Receiver, one: Loaded) -> None:
        name, entry = one.item.key, one.item.value["entry"]
        self._tools().restore(to.owner, name, entry, no_variables=not to.programs, only_public=to.from_afar)


def _no_blob(name: str) -> bytes:
    raise KeyError(name)


def _capability(item: Item) -> "Capability":
    from loci.gateway.capabilities.capability import capability_of

    return capability_of(Record(item.key, item.value, ""))


def _codes(item: Item) -> "dict[str, StoredCode]":
    from loci.gateway.capabilities.capability_store import StoredCode

    told = cast("dict[str, JsonObject]", item.value["codes"])
    return {
        identity: StoredCode(item.key, string(one["code"]), tuple(map(string, cast("list[Json]", one["needs"]))), 0)
        for identity, one in told.items()
    }
