"""Changes of the lists that clients get, read from the log of events: any process may have made them."""

from collections.abc import AsyncGenerator, Collection
from typing import Any, NamedTuple, cast, get_args

from loci.core.errors import LociError
from loci.core.events import ListName
from loci.core.identity import Owner
from loci.events.api import LOOK_SECONDS, Events
from loci.events.event import EventBatch
from loci.mcp.threads import FOLLOWED, on_thread_of

ALL: frozenset[ListName] = frozenset(get_args(ListName))


class Look(NamedTuple):
    """The lists that have changed since the last look, and whether anything has happened."""

    lists: Collection[ListName]
    is_busy: bool


async def followed_lists(events: Events, owner: Owner) -> AsyncGenerator[Look]:
    """Yield what each look finds, most often nothing, until the server stops.

    The first look says that no later change is missed. A server that changes its lists all the time causes one
    change of each list a look. Raises `Unavailable` if too many follow.
    """
    with events.followed_lists.open(owner) as waker:
        read = EventBatch((), await on_thread_of(FOLLOWED, events.log.end, owner))
        while not events.followed_lists.is_over:
            yield Look(_changed(read), is_busy=bool(read.events) or read.has_gap)
            if not read.is_more:
                await waker.wait(LOOK_SECONDS)
            try:
                read = await on_thread_of(FOLLOWED, events.log.after, owner, read.place)
            except LociError:  # the store fails just now: the next look may succeed
                read = EventBatch((), read.place)


def _changed(read: EventBatch) -> Collection[ListName]:
    if read.has_gap:
        return ALL
    named = {
        str(one)
        for _, event in read.events
        if event.kind == "server"
        for one in cast("list[Any]", event.fields.get("lists") or [])
    }
    return [one for one in sorted(ALL) if one in named]
