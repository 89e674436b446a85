"""Things on the move that are kept for a while: finished workflows, and remembered results."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject, string
from loci.scratchpad.api import ID, Scratchpad
from loci.transfer.archived_run import LARGEST_RUN, read_run, written_run
from loci.transfer.items import Clash, Content, Item, LeftOut, Loaded, New, Same, Unreadable, Verdict, Wish, taken_each

if TYPE_CHECKING:
    from loci.workflows.api import Workflows
    from loci.workflows.run import Run

RUN, TEXT = "run", "text"
NO_WORKFLOWS: Final = "WORKFLOWS_UNAVAILABLE"
"""The code of the error of a deployment that runs none."""


class RunPart:
    """Workflows that have ended."""

    name = "runs"

    def __init__(self, workflows: "Callable[[], Workflows]") -> None:
        self._workflows = workflows

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        try:
            ended = self._workflows().ended(owner)
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return
        for id, run in sorted(ended.items()):
            if after is not None and id <= after:
                continue
            try:
                content = self._told(owner, id, run)
            except (NotFound, Refused) as error:
                yield Unreadable(id, str(error))
                continue
            about: JsonObject = {"status": run.status, "began": run.began, "ended": run.ended}
            yield Item(self.name, id, about, (Content.of(RUN, content),))

    def read(self, owner: Owner, key: str, _: str) -> bytes:
        return self._told(owner, key, self._workflows().ended_run(owner, key))

    def link(self, owner: Owner, key: str, content: str) -> None:
        """None: runs are small."""

    def check(self, item: Item) -> None:
        [content] = item.contents
        if content.name != RUN or not item.key.startswith("wf_") or not item.key.isidentifier():
            raise ValueError(item.key)

    def check_contents(self, loaded: Loaded) -> None:
        """Raise `Refused` if what it brings is no run."""
        read_run(loaded.item.key, loaded.load(RUN))

    def label(self, item: Item) -> str:
        return item.key

    def place(self, item: Item, _: Content) -> str:
        return f"runs/{item.key}.json"

    def largest(self, _: Item) -> int:
        return LARGEST_RUN

    def look(self, owner: Owner, item: Item, _: Wish) -> Verdict:
        try:
            return Same() if self._workflows().is_known(owner, item.key) else New()
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return LeftOut(error.what)

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        def take(one: Loaded) -> None:
            if self.look(owner, one.item, wish) == New():
                self._workflows().restore(owner, one.item.key, *read_run(one.item.key, one.load(RUN)))

        return taken_each(some, take)

    def _told(self, owner: Owner, id: str, run: "Run") -> bytes:
        return written_run(run, self._workflows().values(owner, id, run))


class ResultPart:
    """Results that the scratchpad keeps."""

    name = "results"

    def __init__(self, scratchpad: Scratchpad) -> None:
        self._scratchpad = scratchpad

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        for one in sorted(self._scratchpad.list(owner), key=lambda one: one.id):
            if one.media_type or (after is not None and one.id <= after):  # of a file, the text is a link to here
                continue
            try:
                text = self.read(owner, one.id, TEXT)
            except LociError as error:
                yield Unreadable(one.id, str(error))
                continue
            yield Item(self.name, one.id, {"tool": one.tool, "about": one.about}, (Content.of(TEXT, text),))

    def read(self, owner: Owner, key: str, _: str) -> bytes:
        return self._scratchpad.read(owner, key).text.encode("utf-8", "replace")

    def link(self, owner: Owner, key: str, content: str) -> None:
        """None: they are small."""

    def check(self, item: Item) -> None:
        string(item.about["tool"])
        string(item.about["about"])
        [content] = item.contents
        if content.name != TEXT or not ID.fullmatch(item.key):
            raise ValueError(item.key)

    def label(self, item: Item) -> str:
        return f"{item.key} of {item.about['tool']}"

    def place(self, item: Item, _: Content) -> str:
        return f"results/{item.key}.txt"

    def largest(self, _: Item) -> int:
        return self._scratchpad.capacity

    def look(self, owner: Owner, item: Item, _: Wish) -> Verdict:
        try:
            here = Content.of(TEXT, self.read(owner, item.key, TEXT))
        except LociError:
            return New()
        return Same() if here == item.contents[0] else Clash(f"the result {item.key} is here with another text")

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        return taken_each(some, lambda one: self._take(owner, one, wish))

    def _take(self, owner: Owner, one: Loaded, wish: Wish) -> None:
        looked = self.look(owner, one.item, wish)
        if isinstance(looked, New) or (isinstance(looked, Clash) and wish.both):
            about, text = one.item.about, one.load(TEXT).decode("utf-8", "replace")
            id = one.item.key if isinstance(looked, New) else None
            self._scratchpad.keep(owner, string(about["tool"]), text, id, about=string(about["about"]))
