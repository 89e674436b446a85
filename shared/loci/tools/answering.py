"""The process that reaches the tool servers of all owners: it answers the asks of the others."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from loci.core.deadline import within
from loci.core.errors import LociError
from loci.core.json import JsonObject
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.tools.asks import Ask, ReadPublic, ask_from_json, error_to_json
from loci.tools.ports import ToolServerError, ToolServers
from loci.tools.tool_list import ToolList

SPARE_SECONDS = 1.0
"""Of the time that this process has, to answer in."""
STOOD_STILL_SECONDS = 5.0
"""How long an idle connection is used again."""


class Answering:
    """Reads how a server is reached, and asks it. Every error that a caller can act on is an answer."""

    def __init__(
        self,
        tool_list: ToolList,
        servers: ToolServers,
        read_public: Callable[[str], bytes],
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """`read_public` returns what is at a public https address. `finish`: called before each answer."""
        self._finish = finish
        self._list = tool_list
        self._servers = servers
        self._read_public = read_public
        self._apart = _clocks_apart()

    def answer(self, event: Mapping[str, Any], seconds: float | None) -> dict[str, str]:
        """The answer, packed. `seconds` is the time for it."""
        self._wake()
        ask = ask_from_json(event)
        with nullcontext() if seconds is None else within(seconds - SPARE_SECONDS):
            try:
                said = self._asked(ask)
            except LociError as error:
                said = error_to_json(error)
        self._finish()
        return packed_answer(said) or packed_answer(error_to_json(_too_large(ask))) or {}

    def close(self) -> None:
        """End all connections."""
        self._servers.close()

    def _wake(self) -> None:
        """End the connections if the timers stood still while Lambda froze this process: nobody knows how old they are.

        Whether that happens differs: it was measured both ways. A call on a dead connection must not be repeated.
        """
        apart = _clocks_apart()
        if apart - self._apart > STOOD_STILL_SECONDS:
            self._servers.close()
        self._apart = apart

    def _asked(self, ask: Ask | ReadPublic) -> JsonObject:
        if isinstance(ask, ReadPublic):
            return {"text": self._read_public(ask.url).decode("utf-8", "replace")}
        if ask.tool is None:
            return {"tools": [one.said for one in self._list.ask(ask.owner, ask.server).tools]}
        server = self._list.get(ask.owner, ask.server)
        return {"result": self._servers.call(ask.owner, server, ask.tool, ask.arguments, seconds=ask.seconds)}


def _clocks_apart() -> float:
    """Grows while the clock of the timers stands still."""
    return time.time() - time.monotonic()


def _too_large(ask: Ask | ReadPublic) -> ToolServerError:
    what = f"The answer of the tool server {ask.server} has more than the 6 MB that Lambda passes on"
    return ToolServerError(what, "The call was made. Ask for less at once")
