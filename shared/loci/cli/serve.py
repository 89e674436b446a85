"""`loci serve`: serve MCP over HTTP, or over stdio if a client starts it."""

import contextlib
import ctypes
import errno
import ipaddress
import os
import shlex
import signal
import socket
import stat
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, cast

import anyio
import typer

from loci.app import App
from loci.cli.terminal import ConfigOption, DataOption, Only, OnlyOption, printable, value
from loci.core.errors import Misconfigured, Refused
from loci.core.identity import LOCAL
from loci.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Generator

    from loci.cli.background import BackgroundThread

PATIENCE = 1.6
"""Seconds to end after SIGTERM: clients kill the server after two seconds."""
LEAVE_SECONDS = 5.0
"""Seconds after the end of everything until the process exits in any case."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt
FREED_MEMORY = {TRIM_THRESHOLD: 2 << 20, MMAP_THRESHOLD: 1 << 20}
"""The free bytes that a heap keeps, and the size of blocks outside of heaps. By default both grow over time."""


def serve(
    host: Annotated[str | None, value("The address to listen on. [127.0.0.1]", "--host", "H")] = None,
    port: Annotated[int | None, value("The port to listen on. [8765]", "--port", "P")] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve on standard input and output.")] = False,
    only: OnlyOption = None,
    models: Annotated[bool | None, value("Download missing models. [yes]", "--models/--no-models")] = None,
    cache: Annotated[bool | None, value("Answer repeated TypeScript from memory. [yes]", "--cache/--no-cache")] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Load example documents if there are no documents yet.")
    ] = False,
    first_key: Annotated[
        bool, typer.Option("--first-key", help="Create and show a key if other machines need one and there is none.")
    ] = False,
    install_runner: Annotated[
        bool,
        typer.Option(
            "--install-runner", help="Over HTTP: install the packages of the Python runner meanwhile, if absent."
        ),
    ] = False,
) -> None:
    """Serve MCP over HTTP or stdio.

    Loci serves over HTTP, by default at http://127.0.0.1:8765/mcp. It serves over stdio with --stdio, or if a client
    started it: standard input is then a pipe, and neither --host nor --port is given.
    """
    given = {"host": host, "port": port, "data": data, "pull_models": models, "code_cache": cache}
    settings = load_settings(given, config)
    _keep_little_freed_memory()
    # If watchfiles is installed, uvicorn loads it for a reload on changes, which Loci never uses.
    sys.modules.setdefault("watchfiles", cast("ModuleType", None))
    if stdio or (host is None and port is None and _started_by_a_client()):
        _serve_stdio(settings, only)
    elif only is None:
        with _until_interrupted():
            _serve_http(settings, example=example, first_key=first_key, install_runner=install_runner)
    else:
        raise Refused("Over HTTP, --only has no effect", f"Connect to the endpoint /mcp/{only}, or give --stdio")


def _keep_little_freed_memory() -> None:
    """Let the C library return freed memory. Otherwise a few large answers leave 40 MB with the server."""
    with contextlib.suppress(OSError, AttributeError):  # other C libraries do not have it
        for option, most in FREED_MEMORY.items():
            ctypes.CDLL(None).mallopt(option, most)


def _started_by_a_client() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # standard input is closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _serve_stdio(settings: Settings, only: Only | None) -> None:
    import loci.mcp.sdk  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from loci.compose import build_app  # slow to load, and `--help` does not need them
    from loci.mcp.server import build_server
    from loci.mcp.stdio import serve_stdio

    app = build_app(settings)
    _end_at_signals(app)
    answered = threading.Event()
    with _background_work(app, begin=answered):
        server = build_server(app, only or "all", tells_changes=settings.mode == "embedded")
        anyio.run(serve_stdio, server, answered.set)


def _end_at_signals(app: App) -> None:
    """Save unsaved state when a signal ends the server, and end the process. A second signal ends it at once."""

    def end(number: int) -> None:
        app.close(PATIENCE)
        os.kill(os.getpid(), number)

    def asked(number: int, _: object) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
        # In a thread of its own: whatever this one holds just now, it can let go.
        threading.Thread(target=end, args=(number,), name="ending").start()

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, asked)


@contextlib.contextmanager
def _until_interrupted() -> "Generator[None]":
    """Serve until a signal, and end the process soon after it."""
    # At a signal uvicorn closes its connections, and sends it again: then this raises KeyboardInterrupt, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        yield
    typer.echo("Stopped.")
    # Python waits for threads that are no daemons, and what they wait for may never come.
    leaving = threading.Timer(LEAVE_SECONDS, os._exit, [0])
    leaving.daemon = True
    leaving.start()


def _serve_http(settings: Settings, *, example: bool, first_key: bool, install_runner: bool) -> None:
    import uvicorn

    from loci.compose import build_app
    from loci.mcp.http.application import asgi
    from loci.mcp.http.connection import uvicorn_config
    from loci.mcp.module import tool_families

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # Not before: a start that failed would leave a key that nobody has seen.
            key = app.api_keys.create(LOCAL, "first")[1] if lacks_key else None
            _welcome(settings, key, on_loopback=on_loopback)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.end_streams()  # uvicorn would wait for them
            await super().shutdown(sockets)

    listener = _listen(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    app = build_app(settings)
    on_loopback = _is_loopback(settings.host)
    lacks_key = not on_loopback and _lacks_key(app)
    if lacks_key and not first_key:
        raise Misconfigured(
            f"Other machines can reach {settings.host}, and there is no API key",
            "Create a key with: loci keys create NAME (or set oidc_issuer), then start again",
        )
    families = tool_families(app)
    for family in families:
        _ = family.tools  # so that the first call does not wait for it
    # On AWS's stores each look at what other processes have changed would cost money.
    application = asgi(app, on_loopback=on_loopback, families=families, tells_changes=settings.mode == "embedded")
    config = uvicorn_config(application)
    with _background_work(app, example=example, install_runner=install_runner):
        Server(config).run(sockets=[listener])


def _background_work(
    app: App, *, begin: threading.Event | None = None, example: bool = False, install_runner: bool = False
) -> contextlib.ExitStack:
    """Start the background threads, and close the app at the end. On AWS, functions do the background work."""
    for line in app.settings.warnings:
        _say(line)
    work = contextlib.ExitStack()
    threads: list[BackgroundThread] = []
    if app.settings.mode == "embedded":
        from loci.cli.background import FollowThread, ResumeThread, RunnerThread, UpkeepThread
        from loci.runtimes.local import keep_room

        keep_room(app.settings)
        threads = [ResumeThread(app, begin), UpkeepThread(app, _say, begin, example=example)]
        threads += [FollowThread(app, lambda line: _say(printable(line)))] if app.settings.follow_folders else []
        threads += [RunnerThread(app, _say)] if install_runner else []
    for one in threads:
        work.enter_context(one)
    work.callback(app.close)  # before waiting for the threads: clients have little patience
    for one in threads:
        work.callback(one.stop)
    return work


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio turns off Nagle's algorithm only if the protocol is named. With it on, each answer waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        other = f"loci serve --port {port + 1}, or make run PORT={port + 1}"
        advice = f"Stop the program that uses that port, or choose another: {other}"
        raise Misconfigured(
            f"Cannot listen on {host}:{port} ({error.strerror})", advice if taken else "Correct --host or --port"
        ) from None
    listener.listen(1024)
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _lacks_key(app: App) -> bool:
    """Return whether nobody could show a credential: there is no key and no issuer, and not everybody may come in."""
    return app.settings.auth != "open" and not app.settings.oidc_issuer and not app.api_keys.exist()


def _welcome(settings: Settings, key: str | None, *, on_loopback: bool) -> None:
    from loci.mcp.http.address import is_open
    from loci.mcp.http.client_lines import client_lines

    needs_key = not is_open(settings, on_loopback=on_loopback)
    lines = client_lines(settings.base_url, needs_key=needs_key, key=key)
    pasted = "\n".join(f"{f'{client}:':<16}{line}" for client, line in lines.items())
    once = "Loci shows this key only once.\n" if key else ""
    where = _quoted(settings.data) if settings.mode == "embedded" else f"table {settings.aws.table}"
    typer.echo(
        f"Loci serves {settings.base_url}/mcp\n"
        f"Data in {where}, models in {_quoted(settings.models_folder)}\n\n"
        f"{pasted}\n"
        f"In a browser:   {settings.base_url}/ui\n"
        f"{once}\n"
        "Stop with Ctrl-C."
    )
    sys.stdout.flush()


def _quoted(path: Path) -> str:
    return shlex.quote(str(path.absolute()))
