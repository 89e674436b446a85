"""Lists: the first rows come with a page, and the others when its program asks for them."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.mcp.threads import THREADS
from loci.web.page import embedded
from loci.web.visitors import Visitors

FIRST: Final = 50
"""Rows that come with a page at most."""
MOST: Final = 2_000
"""Rows of an answer."""
ROOM: Final = 14_000
"""Bytes of rows in a page. With its program and its style a page stays below 60 KB."""
LARGEST: Final = 2_000_000
"""Bytes of rows in an answer. One of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""

Rows = Callable[[Owner], tuple[Iterable[JsonObject], int]]
"""Reads the rows of an owner's list, and how many there are. A row is made only if there is room for it."""


def first_rows(rows: Rows, owner: Owner, lists: int = 1) -> JsonObject:
    """The beginning of the list, as it comes with a page that has so many `lists`."""
    return _tagged(_listed(rows(owner), FIRST, ROOM // lists))


def list_route(visitors: Visitors, path: str, rows: Rows, what: str, threads: ThreadPoolExecutor = THREADS) -> Route:
    """The route at which the program of a page asks for rows, as often as it likes."""

    def listed(owner: Owner, request: Request) -> JsonObject:
        return live(_listed(rows(owner), min(number_in(request, "most") or FIRST, MOST), LARGEST))

    return Route(path, visitors.facts(listed, what, threads), methods=["GET"])


def live(facts: JsonObject) -> JsonObject:
    """Add a tag, which the page shows when it asks again, and the time by the server's clock."""
    return {**_tagged(facts), "now": time.time()}


def number_in(request: Request, name: str) -> int | None:
    """A number in the query; None if there is none."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None


def _tagged(facts: JsonObject) -> JsonObject:
    return {**facts, "tag": content_id(embedded(facts))}


def _listed(found: tuple[Iterable[JsonObject], int], most: int, room: int) -> JsonObject:
    rows, total = found
    shown: list[Json] = []
    for one in rows:
        room -= len(embedded(one).encode()) + 1
        if room < 0 or len(shown) == most:
            break
        shown.append(one)
    return {"rows": shown, "total": total}
