"""Small things on the move: capabilities, and tool servers without their secrets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from loci.core.errors import LociError, NotFound
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, string
from loci.core.stores import Record
from loci.transfer.items import (
    Clash,
    Content,
    Item,
    LeftOut,
    Loaded,
    New,
    Same,
    Unreadable,
    Verdict,
    Wish,
    clashes,
    taken_each,
)

if TYPE_CHECKING:
    from loci.tools.api import Tools
    from loci.tools.capabilities.capability import Capability
    from loci.tools.capabilities.shelf import StoredCode


class _WithoutContents:
    """The common methods of parts whose things are told in one line."""

    def read(self, _owner: Owner, _key: str, _content: str) -> bytes:
        raise NotFound("It has no contents", "Export again")

    def link(self, owner: Owner, key: str, content: str) -> None:
        """None: there is nothing to give."""

    def place(self, _: Item, content: Content) -> str:
        raise ValueError(content.name)

    def largest(self, _: Item) -> int:
        return -1


class CapabilityPart(_WithoutContents):
    """Code that worked."""

    name = "capabilities"

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        capabilities = self._tools().capabilities
        for one in capabilities.all(owner):
            if after is not None and one.id <= after:
                continue
            codes: dict[str, Json] = {
                identity: {"code": code.code, "needs": [*code.needs]}
                for identity, code in capabilities.codes(owner, one).items()
            }
            yield Item(self.name, one.id, {**one.as_json(), "codes": codes})

    def check(self, item: Item) -> None:
        _capability(item)
        _codes(item)

    def label(self, item: Item) -> str:
        return f"{item.key}: {item.about['intent']}"

    def look(self, owner: Owner, item: Item, _: Wish) -> Verdict:
        from loci.tools.capabilities.capability import capability_id
        from loci.tools.capabilities.normal_form import identity_of
        from loci.tools.capabilities.shelf import merged_capability
        from loci.tools.capabilities.syntax import root_of

        wanted, codes = _capability(item), _codes(item)
        if wanted.id != capability_id(wanted.intent):
            return LeftOut("its id is not that of its intent")
        for one in wanted.versions:
            root = root_of(codes[one.identity].code) if one.identity in codes else None
            if root is None or identity_of(root) != one.identity:
                return LeftOut("its code is another than it says")
        known = next((one for one in self._tools().capabilities.all(owner) if one.id == wanted.id), None)
        return Same() if known is not None and merged_capability(known, wanted, 0.0) == known else New()

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        for one in some:
            if self.look(owner, one.item, wish) == New():
                self._tools().capabilities.restore(owner, _capability(one.item), _codes(one.item))
        return [None] * len(some)


class ServerPart(_WithoutContents):
    """How tool servers are reached. No secret is among it."""

    name = "servers"

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        from loci.tools.tool_changes import stored

        for name, one in sorted(self._tools().portable(owner).items()):
            if after is None or name > after:
                about: JsonObject = {"name": name, "entry": one.entry, "secrets": [*one.secrets]}
                yield Item(self.name, name, {**about, "seen": stored(self._tools().seen(owner, name))})

    def check(self, item: Item) -> None:
        from loci.tools.configuration import checked_entry, checked_name
        from loci.tools.tool_changes import restored

        checked_entry(checked_name(_server(item)), item.about["entry"])
        restored(item.about.get("seen"))
        [string(one) for one in cast("list[Json]", item.about["secrets"])]

    def label(self, item: Item) -> str:
        needs = ", ".join(cast("list[str]", item.about["secrets"]))
        return f"{_server(item)} (needs {needs}: loci tools secret)" if needs else _server(item)

    def look(self, owner: Owner, item: Item, wish: Wish) -> Verdict:
        return self._looked(owner, item, _server(item), wish)

    def _looked(self, owner: Owner, item: Item, name: str, wish: Wish) -> Verdict:
        from loci.tools.configuration import checked_entry
        from loci.tools.public_address import is_outside

        tools, entry = self._tools(), cast("Mapping[str, Any]", item.about["entry"])
        here = tools.portable(owner).get(name)
        if here is not None and here.entry != entry:
            return Clash(f"the tool server {name} is here with another entry")
        if here is not None and not (here.is_restricted and wish.programs):
            return Same()
        to_take_it = "To take it, import it on the machine itself" if wish.from_afar else "To take it: --programs"
        if entry.get("command") and not wish.programs:
            shown = " ".join([str(entry["command"]), *map(str, entry.get("args") or ())])
            return LeftOut(f"it starts a program of this machine ({shown[:200]}). {to_take_it}")
        try:
            tools.check_place(name, entry)
            if wish.from_afar and not is_outside(checked_entry(name, entry)):
                return LeftOut(f"its address is none that everybody reaches by https. {to_take_it}")
            known = () if wish.programs else tools.filled_here(owner, name, entry)
            if known:
                where = str(entry.get("url")).partition("?")[0]
                return LeftOut(f"it would send the {', '.join(known)} of this machine to {where[:200]}. {to_take_it}")
        except LociError as error:
            return LeftOut(error.what)
        return New()

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        return taken_each(some, lambda one: self._take(owner, one.item, wish))

    def _take(self, owner: Owner, item: Item, wish: Wish) -> None:
        from loci.tools.tool_changes import restored

        name = _server(item)
        looked = self._looked(owner, item, name, wish)
        if isinstance(looked, Clash) and wish.both:
            name = f"{name[:31]}-imported"
            looked = self._looked(owner, item, name, wish)
        match looked:
            case Clash():
                raise clashes(looked)
            case New():
                self._tools().restore(
                    owner,
                    name,
                    item.about["entry"],
                    restored(item.about.get("seen")),
                    no_variables=not wish.programs,
                    only_public=wish.from_afar,
                )
            case Same() | LeftOut():
                pass


def _server(item: Item) -> str:
    name = string(item.about["name"])
    if name != item.key:
        raise ValueError(name)
    return name


def _capability(item: Item) -> "Capability":
    from loci.tools.capabilities.capability import capability_of

    return capability_of(Record(item.key, item.about, ""))


def _codes(item: Item) -> "dict[str, StoredCode]":
    from loci.tools.capabilities.shelf import StoredCode

    told = cast("dict[str, JsonObject]", item.about["codes"])
    return {
        identity: StoredCode(item.key, string(one["code"]), tuple(map(string, cast("list[Json]", one["needs"]))), 0)
        for identity, one in told.items()
    }
