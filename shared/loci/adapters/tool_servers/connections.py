"""`ToolServers` on the official client, over standard input and output and over HTTP, in one thread of its own."""

import asyncio
import atexit
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from loci.adapters.tool_servers.diagnostics import PendingRequest, cancelled_call, server_failed, timed_out
from loci.core.cancellation import Cancellation
from loci.core.deadline import time_for, time_to_end
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.server_questions import ServerAnswers
from loci.gateway.offer import Method, Offer
from loci.gateway.ports import Changed
from loci.gateway.tool_server import Endpoint, LambdaFunction, ToolServer, UpstreamTool

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

    from loci.adapters.tool_servers.function_transport import Invoke
    from loci.adapters.tool_servers.upstream import Upstream

T = TypeVar("T")
Notes = SimpleQueue[Callable[[], None] | None]
"""Functions that the loop queues for the waiting thread to call."""
JOIN_SECONDS = 5.0


class LoopThread:
    """An event loop in a thread of its own, started when first needed. It does not keep the process from ending."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def run(
        self,
        work: Coroutine[Any, Any, T],
        seconds: float,
        notes: Notes | None = None,
        cancelled: Cancellation | None = None,
    ) -> T:
        """Do the work in the loop, and wait for it. Raises `TimeoutError` if it takes longer, or is cancelled.

        It is cancelled in both cases. It does not begin once the thread has ended for good.
        """
        until = time.monotonic() + seconds
        with self._turn:
            if self._is_over:
                work.close()
                raise TimeoutError
            future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            with nullcontext() if cancelled is None else cancelled.telling(future.cancel):
                if notes is not None:
                    future.add_done_callback(lambda _: notes.put(None))
                    self._read(notes, until)
                return future.result(max(0.0, until - time.monotonic()))
        except concurrent.futures.CancelledError:
            raise TimeoutError from None
        finally:
            future.cancel()  # does nothing to what is done

    def stop(self, *, for_good: bool = False) -> None:
        """End the thread. What still runs in it is cancelled."""
        with self._turn:
            self._is_over = self._is_over or for_good
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(JOIN_SECONDS)

    def _read(self, notes: Notes, until: float) -> None:
        """Call the functions that the loop queues, such as reports of progress, until it has finished."""
        with suppress(Empty):
            while (left := until - time.monotonic()) > 0 and (note := notes.get(timeout=left)) is not None:
                note()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="tool servers", daemon=True)
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # cancels at its end what still runs
        runner.get_loop().run_forever()
        # A task that is cancelled before it begins drops what it was to wait for, and Python complains.
        loop.run_until_complete(asyncio.sleep(0))


Progress = Callable[[float, float | None, str | None], None]
CLIENT = "loci.adapters.tool_servers.upstream"
CLOSE_SECONDS = 10.0
IDLE_SECONDS = 300.0
"""Seconds for which a connection without calls is kept."""
LIST_SECONDS = 60.0
"""The time for all pages of a server's tools, however long a call may take."""
MOST_SESSIONS = 15
"""Other client sessions with connections of their own to one server of an owner. The longest unused ones end."""
MOST_UPSTREAMS = 1000
"""The number of known servers above which servers without a connection are forgotten."""
MARGIN_SECONDS = 0.02
"""Seconds beyond the time of a call after which the waiting thread gives up, if the loop is too busy to do so."""


class Connections:
    """All connections of this process."""

    def __init__(
        self,
        changed: Changed = lambda _, __: None,
        *,
        only_public: bool = False,
        idle_seconds: float = IDLE_SECONDS,
        invoke: "Invoke | None" = None,
    ) -> None:
        """`changed` is called in the loop, perhaps very often. `only_public`: only https to public addresses, and no
        programs: for a server on AWS. `invoke`: reaches functions.
        """
        self._changed = changed
        self._only_public = only_public
        self._invoke = invoke
        self._idle_seconds = idle_seconds
        self._loop = LoopThread()
        self._upstreams: dict[tuple[Owner, str, str], Upstream] = {}
        """By the owner, the name of the server, and the client session if each has connections of its own."""
        self._ending: set[asyncio.Task[None]] = set()

    def tools(self, owner: Owner, server: ToolServer) -> Sequence[UpstreamTool]:
        seconds = min(server.seconds, LIST_SECONDS)
        return self._run(server, seconds, lambda pending: self._upstream(owner, server).tools(pending))

    def offers(self, owner: Owner, server: ToolServer) -> Sequence[Offer]:
        seconds = min(server.seconds, LIST_SECONDS)
        return self._run(server, seconds, lambda pending: self._upstream(owner, server).offers(pending))

    def fetch(self, owner: Owner, server: ToolServer, method: Method, params: JsonObject) -> JsonObject:
        return self._run(
            server, server.seconds, lambda pending: self._upstream(owner, server).fetch(pending, method, params)
        )

    def call(
        self,
        owner: Owner,
        server: ToolServer,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> JsonObject:
        notes: Notes | None = None if progress is None else SimpleQueue()
        told = None if progress is None or notes is None else _queued_progress(progress, notes)
        return self._run(
            server,
            server.seconds if seconds is None else seconds,
            lambda pending: self._upstream(owner, server).call(pending, tool, arguments, told, answers),
            notes,
            cancelled,
        )

    def close(
        self,
        owner: Owner | None = None,
        name: str | None = None,
        *,
        session: str | None = None,
        for_good: bool = False,
    ) -> None:
        if self._loop.is_running:
            with suppress(TimeoutError):
                self._loop.run(self._close(owner, name, session), time_to_end(CLOSE_SECONDS))
        if owner is name is session is None:
            self._loop.stop(for_good=for_good)
            atexit.unregister(self.close)

    async def _close(self, *wanted: Owner | str | None) -> None:
        def fits(key: tuple[Owner, str, str]) -> bool:
            return all(one in (None, part) for one, part in zip(wanted, key, strict=True))

        keys = [key for key in self._upstreams if fits(key)]
        ending = [self._upstreams.pop(key).close() for key in keys]
        await asyncio.gather(*ending, *self._ending)

    def _upstream(self, owner: Owner, server: ToolServer) -> "Upstream":
        key = owner, server.name, server.session
        known = self._upstreams.get(key)
        if known is not None and known.server == server:
            self._upstreams[key] = self._upstreams.pop(key)  # the last used is the last
            return known
        from loci.adapters.tool_servers.connection import UpstreamConnection
        from loci.adapters.tool_servers.upstream import Upstream

        of_sessions = [one for one in self._upstreams if one[:2] == key[:2] and one[2] and one != key]
        oldest = [self._upstreams.pop(one) for one in of_sessions[: -MOST_SESSIONS or None]] if server.session else []
        for one in [*([known] if known is not None else []), *oldest]:
            ending = asyncio.create_task(one.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

        def connect(server: ToolServer, **told: Any) -> UpstreamConnection:
            options = {"only_public": self._only_public, "idle_seconds": self._idle_seconds, "invoke": self._invoke}
            return UpstreamConnection(server, **options, **told)

        if len(self._upstreams) >= MOST_UPSTREAMS:
            self._upstreams = {key: one for key, one in self._upstreams.items() if one.is_in_use}
        self._upstreams[key] = Upstream(server, connect, lambda: self._changed(owner, server.name))
        return self._upstreams[key]

    def _run(
        self,
        server: ToolServer,
        seconds: float,
        work: Callable[[PendingRequest], Coroutine[Any, Any, T]],
        notes: Notes | None = None,
        cancelled: Cancellation | None = None,
    ) -> T:
        reach = server.reach
        is_https = isinstance(reach, Endpoint) and reach.url.lower().startswith("https://")
        if self._only_public and not (is_https or isinstance(reach, LambdaFunction)):
            raise server_failed(server, "only servers with an https address are allowed here", "Correct its address")
        if not self._loop.is_running:
            import_module(CLIENT)  # takes 0.5 s, in which the loop would serve nobody
            atexit.register(self.close)  # so that programs end when Loci does
        limit = time_for(seconds)
        pending = PendingRequest(limit)

        async def ask() -> T:
            return await work(pending)

        try:
            return self._loop.run(ask(), limit + MARGIN_SECONDS, notes, cancelled)
        except TimeoutError:
            if cancelled is not None and cancelled():
                raise cancelled_call(server, pending) from None
            raise timed_out(server, pending) from None


def _queued_progress(progress: Progress, notes: Notes) -> "ProgressFnT":
    """A function that queues progress for the waiting thread, so that it delays no other call."""
    told = progress

    async def note(progress: float, total: float | None, message: str | None) -> None:
        notes.put(lambda: told(progress, total, message))

    return note
