"""Remembered results on the move: the texts that the scratchpad keeps."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import string
from loci.scratchpad.api import CAPACITY, ID, Scratchpad
from loci.transfer.items import SAME, TAKEN, Item, Kind, Loaded, Outcome, Receiver, Unreadable


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
