"""`loci connect`: add Loci to the configuration files of MCP clients on this machine."""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import typer

from loci.cli.client_config import ConfigChange, McpClient, mcp_clients, plan_change, read_entry, write
from loci.cli.client_hooks import HookClient, forget_address, hook_clients, hooks_of, note_address, plan_hooks
from loci.cli.destination import EndpointOption, endpoint_url, server_url, url_or_stack
from loci.cli.terminal import ConfigOption, JsonOption, KeyOption, Only, OnlyOption, command_settings, printable, value
from loci.core.errors import LociError, NotFound, Refused
from loci.core.json import Json, JsonObject

SCRIPTS: Final = ("loci", "loci-mcp")
"""The names of the command. The second is the package's name, for `uvx`."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
PLAIN: Final = re.compile(r"[ _-]")
EXAMPLES: Final = """Examples:

  loci connect

  loci connect cursor

  LOCI_KEY=loci_... loci connect vscode --url https://loci.example.com/mcp

  loci connect cursor --remove

  loci connect cursor --hooks"""


def connect(
    client: Annotated[
        str | None, typer.Argument(help="The client, such as cursor. Without it, list all clients.")
    ] = None,
    url: Annotated[
        str | None,
        value("Connect to the Loci at URL. Default: the client starts Loci on this machine.", "--url", "URL"),
    ] = None,
    stack: EndpointOption = None,
    key: KeyOption = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The name of the server in that file.")] = "loci",
    hooks: Annotated[
        bool, typer.Option("--hooks", help="Add hooks to Codex, Gemini CLI or Cursor, instead of the server.")
    ] = False,
    sessions: Annotated[
        bool | None,
        typer.Option(
            "--sessions/--no-sessions",
            help="With --hooks: make documents of your sessions with coding agents, too. A terminal asks once.",
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the server, or with --hooks the hooks.")] = False,
    only: OnlyOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the file without asking.")] = False,
    data: Annotated[Path | None, value("The data folder that the started Loci uses.", "--data", "DIR")] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Connect an MCP client on this machine to Loci.

    Loci shows its entry for the client's configuration file, asks you, keeps a copy of the file, and changes nothing
    else in it. A client that needs a key gets the one in --key or LOCI_KEY. Without a key, clients sign in if the
    server asks for it.

    With --hooks the client asks Loci for your notes when a session starts and at each prompt, and says where it keeps
    the session. Without CLIENT, all of these clients on this machine get them.
    """
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r} cannot be a server's name", "Use up to 40 letters, digits, - and _")
    if hooks:
        chosen = (
            [hooks_of(_find_client(client).name)] if client else [one for one in hook_clients() if one.client.is_here]
        )
        address = None if remove else url_or_stack(url, stack)
        _change_hooks(chosen, address, key, data, config, remove=remove, yes=yes, as_json=as_json)
        if not remove and address is None:
            _agree_to_sessions(sessions, data, config, can_ask=not (yes or as_json) and sys.stdin.isatty())
        return
    if client is None:
        _list(name, as_json=as_json)
        return
    known = _find_client(client)
    key = key or os.environ.get("LOCI_KEY")
    entry = None if remove else _entry(known, url_or_stack(url, stack), key, data, config, only)
    change = plan_change(known, name, entry)
    if change.is_none:
        done = f"{name} is not in {known.file}" if remove else f"{known.title} is connected already: {known.file}"
        _report(known, change, None, done, as_json=as_json)
        return
    _ask(known, name, entry, yes=yes, as_json=as_json)
    copy = write(change)
    done = f"{known.title} is {'no longer connected' if remove else 'connected'}. Restart it to apply the change."
    _report(known, change, copy, done, as_json=as_json)


def _change_hooks(
    chosen: Sequence[HookClient],
    url: str | None,
    key: str | None,
    data: Path | None,
    config: Path | None,
    *,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Add the hooks to the files of these clients, or remove them."""
    if not chosen:
        names = ", ".join(one.client.name for one in hook_clients())
        raise NotFound(f"None of {names} is on this machine", "Install one first", code="CLIENT_NOT_FOUND")
    settings = command_settings(data, config)
    command = None if remove else [*_program(), "hook", *(["--data", str(settings.data.absolute())] if data else [])]
    changes = [(one, plan_hooks(one, command)) for one in chosen]
    for one, change in changes:
        if not as_json and not change.is_none:
            what = "without Loci's hooks" if remove else f"{', '.join(one.events)}: {' '.join(command or ())} …"
            typer.echo(printable(f"{change.file}: {what}"))
    _confirm([change.file for _, change in changes if not change.is_none], yes=yes, as_json=as_json)
    if not remove:
        here = settings.model_copy(update={"public_url": None}).base_url
        note_address(
            settings.data, server_url(url, "") if url else here, (key or os.environ.get("LOCI_KEY") or "").strip()
        )
    for one, change in changes:
        copy = None if change.is_none else write(change)
        state = "has no hooks of Loci" if remove else "asks Loci at its hooks. Restart it to apply the change"
        _report(one.client, change, copy, f"{one.client.title} {state}.", as_json=as_json)
    if remove:
        forget_address(settings.data)


def _agree_to_sessions(given: bool | None, data: Path | None, config: Path | None, *, can_ask: bool) -> None:
    """Remember that sessions may be read, if the person says so. It is asked until it is answered with yes."""
    if given is False or (given is None and not can_ask):
        return
    from loci.cli.terminal import here_only, open_app  # slow to load
    from loci.core.identity import LOCAL
    from loci.sessions.consent import HOME

    app = open_app(data, config, here_only("Send them from your machine: loci ingest --sessions --to URL"))
    with closing(app):
        question = "May Loci also make documents of your sessions with coding agents, without the secrets in them?"
        if app.sessions.consent(LOCAL) is None and (given or typer.confirm(question)):
            app.sessions.agree(LOCAL, [HOME], ())
            typer.echo("A running Loci reads them now and then; loci forget sessions takes all of them out.")


def _find_client(name: str) -> McpClient:
    clients = mcp_clients()
    plain = PLAIN.sub("", name.lower())
    for one in clients:
        if plain in (PLAIN.sub("", one.name), PLAIN.sub("", one.title.lower())):
            return one
    raise NotFound(
        f"Loci does not know the file of {name!r}",
        f"Choose one of {', '.join(one.name for one in clients)}, or see docs/connect.md for others",
        code="CLIENT_NOT_FOUND",
    )


def _entry(
    client: McpClient, url: str | None, key: str | None, data: Path | None, config: Path | None, only: Only | None
) -> JsonObject:
    if url is None:
        return client.command_entry(*_command(data, config, only))
    if data is not None or config is not None:
        raise Refused("A server at a URL has its own data and settings", "Leave out --data and --config, or the URL")
    endpoint = server_url(url, f"mcp/{only}") if only else endpoint_url(url)
    if key and not re.fullmatch(r"[\x21-\x7e]+", key.strip()):
        raise Refused("The key has characters that no key has", "Give the whole key, in --key or LOCI_KEY")
    return client.url_entry(endpoint, key.strip() if key else None)


def _command(data: Path | None, config: Path | None, only: Only | None) -> tuple[str, tuple[str, ...]]:
    """The command that starts this Loci, with absolute paths: a client starts it in another folder."""
    command, *first = _program()
    folder = data or os.environ.get("LOCI_DATA")
    given = [*(("--data", folder) if folder else ()), *(("--config", config) if config else ())]
    part = ("--only", only) if only else ()
    return command, (*first, "serve", "--stdio", *part, *(_absolute(one) for one in given))


def _program() -> list[str]:
    started = Path(sys.argv[0])
    found = str(started.absolute()) if started.stem in SCRIPTS and started.is_file() else None
    found = found or shutil.which("loci")
    return [found] if found else [sys.executable, "-m", "loci"]


def _absolute(one: str | Path) -> str:
    return str(one) if str(one).startswith("--") else str(Path(one).expanduser().absolute())


def _ask(client: McpClient, name: str, entry: JsonObject | None, *, yes: bool, as_json: bool) -> None:
    """Show the entry, without the key, and ask."""
    if not as_json:
        hidden = {
            key: dict.fromkeys(one, "***") if isinstance(one, dict) else one for key, one in (entry or {}).items()
        }
        shown = "nothing" if entry is None else json.dumps(hidden, ensure_ascii=False, indent=2)
        typer.echo(printable(f"{client.file}, {client.section}:"))
        typer.echo("\n".join(printable(line) for line in f"{name}: {shown}".split("\n")))
    _confirm([client.file], yes=yes, as_json=as_json)


def _confirm(files: Sequence[Path], *, yes: bool, as_json: bool) -> None:
    if yes or not files:
        return
    if as_json or not sys.stdin.isatty():
        raise Refused("Nothing was changed", "Give --yes to write this", code="NOT_CONFIRMED")
    typer.confirm(f"Write this to {printable(', '.join(map(str, files)))}?", abort=True)


def _report(client: McpClient, change: ConfigChange, copy: Path | None, done: str, *, as_json: bool) -> None:
    if as_json:
        view = {"client": client.name, "file": str(change.file), "changed": not change.is_none}
        typer.echo(json.dumps({**view, "copy": copy and str(copy)}))
        return
    typer.echo(printable(done))
    if copy is not None:
        typer.echo(printable(f"The old file, with its keys, was copied to {copy}"))
    if os.name == "posix" and change.file.exists() and change.file.stat().st_mode & 0o077:
        typer.echo(printable(f"Other users can read {change.file}: protect its keys with chmod 600"))


def _list(name: str, *, as_json: bool) -> None:
    rows = [_row(one, name) for one in mcp_clients()]
    if as_json:
        typer.echo(json.dumps({"clients": rows}))
        return
    for row in rows:
        typer.echo(printable(f"{row['client']:<15} {row['state']:<14} {row['file']}"))
        if row["problem"]:
            typer.echo(printable(f"{'':<15} {row['problem']}"))
    typer.echo("\nConnect a client with: loci connect CLIENT. Disconnect it with: loci connect CLIENT --remove")


def _row(client: McpClient, name: str) -> JsonObject:
    state, problem = "not here", None
    if client.is_here:
        try:
            state = _state(read_entry(client, name))
        except LociError as error:
            state, problem = "unreadable", str(error)
    return {
        "client": client.name,
        "title": client.title,
        "state": state,
        "file": str(client.file),
        "problem": problem,
    }


def _state(entry: Json) -> str:
    match entry:
        case None:
            return "not connected"
        case {"command": _}:
            return "connected"
        case _:
            return "by URL"
