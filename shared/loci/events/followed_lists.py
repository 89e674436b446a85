"""Changes of the lists that clients get, read from the log of events: any process may have made them."""

from collections.abc import AsyncGenerator, Collection
from typing import Any, cast, get_args

from loci.core.errors import LociError
from loci.core.events import ListName
from loci.core.identity import Owner
from loci.events.api import LOOK_SECONDS, Events
from loci.events.event import EventBatch
from loci.mcp.threads import FOLLOWED, on_thread_of

ALL: frozenset[ListName] = frozenset(get_args(ListName))


async def followed_lists(events: Events, owner: Owner) -> AsyncGenerator[Collection[ListName]]:
    """Yield the lists that have changed since the last look, most often none, until the server stops.

    The first look says that no later change is missed. A server that changes its lists all the time causes one
    change of each list a look. Raises `Unavailable` if too many follow.
    """
    with events.followed_lists.open(owner) as waker:
        read = EventBatch((), await on_thread_of(FOLLOWED, events.log.end, owner))
        while not events.followed_lists.is_over:
            yield _changed(read)
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
