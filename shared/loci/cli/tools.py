"""`loci tools`: add, import, list, test and remove tool servers, log in at them, and look up their calls."""

import json
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli import capabilities
from loci.cli.credentials import prove_person
from loci.cli.destination import OwnersTools, for_owner
from loci.cli.terminal import JsonOption, error_view, owner_name, printable, value
from loci.core.diagnosis import counted
from loci.core.errors import LociError, Refused
from loci.core.json import iso

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loci.gateway.configuration import ConfiguredServer

cli = typer.Typer(
    help="Add, import, list, test and remove tool servers, accept their changes, and look up the calls of their tools."
    " Agents find the tools with pml_search_tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
cli.add_typer(capabilities.cli, name="capabilities")
NameArgument = Annotated[str, typer.Argument(help="The server's name: the first part of its tools' names.")]
EXAMPLES = """Examples: loci tools add memory -- npx -y @modelcontextprotocol/server-memory

loci tools add notes https://mcp.example.com/mcp --header 'Authorization: Bearer ${NOTES_TOKEN}'

loci tools add orders --openapi https://api.example.com/openapi.json --header 'X-Key: ${ORDERS_KEY}' --method get"""
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="A scope to ask for. Default: the scopes that the server wants."),
]
IssuerOption = Annotated[
    str | None,
    value("With --client-id: the authorization server, if it is not the server itself.", "--issuer", "URL"),
]
MachineOption = Annotated[
    str | None, value("For OAuth client credentials: the client's id. Loci asks for its secret.", "--client-id", "ID")
]
AnywayOption = Annotated[bool, typer.Option("--anyway", help="Add it also if its program does not start.")]


@cli.command()
@for_owner
def secret(
    name: Annotated[
        str | None, typer.Argument(help="Its name. The entries of servers refer to it as ${NAME}.", show_default=False)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the secret.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the names of all secrets.")] = False,
    *,
    opened: OwnersTools,
) -> None:
    """Store a secret for tool servers, such as a token. Loci asks for it, or reads it from standard input.

    Loci stores it encrypted, for its owner alone, and sends it only to the servers whose entries name it.
    """
    if list_names == (name is not None) or (remove and list_names):
        raise Refused("Either one secret is stored, or all are listed", "Give a name, or --list")
    tools, owner = opened.tools, opened.owner
    if name is None:
        typer.echo("\n".join(tools.secrets(owner)) or f"{owner_name(owner)} has no secrets.")
    elif remove:
        tools.forget_secret(owner, name)
        typer.echo(printable(f"Removed {name}."))
    else:
        tools.keep_secret(owner, name, _read_secret(name))
        typer.echo(printable(f"Stored {name} for {owner_name(owner)}. Entries name it as ${{{name}}}."))


def _read_secret(name: str) -> str:
    """Read the secret from a hidden prompt or a pipe. As an argument, it would stay in the shell's history."""
    if sys.stdin.isatty():
        return str(typer.prompt(printable(name), hide_input=True))
    return sys.stdin.read().rstrip("\r\n")


def _client_credentials(id: str | None, scope: list[str] | None, issuer: str | None) -> dict[str, object]:
    """The part of an entry for OAuth client credentials; empty without an id."""
    if id is None:
        if scope or issuer:
            raise Refused(
                "--scope and --issuer need --client-id", "Add --client-id, or log in with: loci tools login NAME"
            )
        return {}
    secret = _prompt_secret(f"Secret of {printable(id)}")
    if secret is None:
        raise Refused("Client credentials need a secret", "Type it, or give it on standard input")
    oauth = {"grant": "client_credentials", "client_id": id, "client_secret": secret}
    more = {"scope": " ".join(scope or []), "issuer": issuer}
    return {"oauth": oauth | {name: text for name, text in more.items() if text}}


def _prompt_secret(question: str) -> str | None:
    """Read a secret from a hidden prompt, or a line of standard input; None if it is empty."""
    if sys.stdin.isatty():
        return typer.prompt(question, default="", hide_input=True, show_default=False, err=True) or None
    return sys.stdin.readline().strip() or None


@cli.command(epilog=EXAMPLES)
@for_owner
def add(
    name: NameArgument,
    server: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL | -- COMMAND ARG...", help="Its URL, or the command that starts it.", show_default=False
        ),
    ] = None,
    openapi: Annotated[
        str | None,
        value("Instead: the URL of an OpenAPI document. Each operation of the API is a tool.", metavar="URL"),
    ] = None,
    function: Annotated[
        str | None,
        value("Instead: a Lambda function, with --stack. Its stage lists it in tool_functions.", "--lambda", "ARN"),
    ] = None,
    base_url: Annotated[
        str | None, value("With --openapi: the API's URL. Default: the one in its document.", metavar="URL")
    ] = None,
    method: Annotated[
        list[str] | None, value("With --openapi: a method whose operations are tools. Default: all.", metavar="METHOD")
    ] = None,
    query: Annotated[
        list[str] | None, value("With --openapi: a key that the API wants in the address.", metavar="NAME=VALUE")
    ] = None,
    header: Annotated[list[str] | None, value("A header for the URL.", metavar="NAME:VALUE")] = None,
    env: Annotated[list[str] | None, value("A variable for the command.", metavar="NAME=VALUE")] = None,
    seconds: Annotated[float | None, typer.Option(help="The time that a call may take. Default: 30.")] = None,
    allow: Annotated[
        list[str] | None, value("Tools that may be called, such as read_*. Default: all.", metavar="PATTERN")
    ] = None,
    deny: Annotated[list[str] | None, value("Tools that may not be called.", metavar="PATTERN")] = None,
    approve: Annotated[list[str] | None, value("Tools whose calls a person must approve.", metavar="PATTERN")] = None,
    destructive: Annotated[
        list[str] | None, value("Tools that may destroy something, whatever their server says.", metavar="PATTERN")
    ] = None,
    reads: Annotated[
        list[str] | None, value("Tools that change nothing, whatever their server says.", metavar="PATTERN")
    ] = None,
    session_per_client: Annotated[
        bool, typer.Option("--session-per-client", help="Give each client session a connection of its own.")
    ] = False,
    own_environment: Annotated[
        bool,
        typer.Option("--own-environment", help="Give the command no PATH, proxies and certificates of this machine."),
    ] = False,
    tools_only: Annotated[
        bool, typer.Option("--tools-only", help="Do not pass on its prompts and resources to clients.")
    ] = False,
    trust_views: Annotated[
        bool,
        typer.Option("--trust-views", help="Pass on its views (MCP Apps), which may call every tool that clients may."),
    ] = False,
    client_id: MachineOption = None,
    scope: ScopeOption = None,
    issuer: IssuerOption = None,
    anyway: AnywayOption = False,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Add a tool server, or change one, and ask it for its tools. If its program does not start, nothing changes.

    ${NAME} stands for a secret that `loci tools secret NAME` stored, or for an environment variable of Loci. Use it
    for tokens, so that they are not in the history of your shell.
    """
    entry: dict[str, object] = {"allow": allow or [], "deny": deny or [], "approve": approve or []}
    entry |= {"destructive": destructive or [], "reads": reads or [], "tools_only": tools_only}
    entry |= {"session_per_client": session_per_client, "own_environment": own_environment}
    if seconds is not None:
        entry["seconds"] = seconds
    if sum(map(bool, (server, openapi, function))) != 1:
        raise Refused("A tool server needs a URL, a command, --openapi or --lambda", "Give one of them")
    headers = dict(_pair(one, ":", "--header") for one in header or [])
    if openapi is not None:
        entry |= {
            "type": "openapi",
            "url": openapi,
            "headers": headers,
            "query": dict(_pair(one, "=", "--query") for one in query or []),
            "methods": [one.lower() for one in method or []],
        }
        entry |= {"base_url": base_url} if base_url else {}
    elif function is not None:
        entry |= {"function": function}
    elif not server or (len(server) == 1 and server[0].startswith(("http://", "https://", "${"))):
        entry |= {"url": (server or [""])[0], "headers": headers}
    else:
        entry |= {"command": server[0], "args": server[1:]}
    if env or "command" in entry:
        entry["env"] = dict(_pair(one, "=", "--env") for one in env or [])
    entry |= _client_credentials(client_id, scope, issuer)
    _close_and_show(opened, [_add(opened, name, entry, trust_views=trust_views, anyway=anyway)], as_json=as_json)


@cli.command(name="import")
@for_owner
def import_servers(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="Files with mcpServers. Default: the files of the clients on this machine."
        ),
    ] = None,
    anyway: AnywayOption = False,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Import the servers of other clients: Claude, Cursor, VS Code, Windsurf. Servers that Loci already has stay.

    Loci asks each for its tools. A server whose program does not start is not added; the exit code is 1 then. With
    --stack, only servers with an https address can be imported.
    """
    # Slow to load, and `--help` does not need them.
    from loci.cli.client_files import found_servers
    from loci.gateway.ports import ProgramFailed

    known = {one.name for one in opened.tools.servers(opened.owner)}
    added: list[ConfiguredServer] = []
    failed: list[tuple[str, LociError]] = []
    found, nowhere = found_servers(files)
    for name, entry, source in found:
        if name in known:
            typer.echo(printable(f"{name}: kept as it is ({source} has it too)"), err=True)
            continue
        try:
            added.append(_add(opened, name, entry, anyway=anyway))
        except LociError as error:
            typer.echo(printable(f"{name}, from {source}: {error}"), err=True)
            failed.append((name, error))
            continue
        known.add(name)
    for place in nowhere:
        typer.echo(printable(f"No servers in {place}"), err=True)
    if not (added or failed or as_json):
        typer.echo("There is nothing new to import.")
    is_missing = any(isinstance(error, ProgramFailed) for _, error in failed)
    told = [{"name": name, **error_view(error)} for name, error in failed]
    _close_and_show(opened, added, as_json=as_json, is_complete=not is_missing, failed=told)


def _add(
    opened: OwnersTools, name: str, entry: object, *, trust_views: bool = False, anyway: bool
) -> "ConfiguredServer":
    """Add the server, and ask it for its tools.

    Raises `ProgramFailed`, and changes nothing, if its program does not start. `anyway`: it is added all the same.
    """
    from loci.gateway.ports import ProgramFailed  # `--help` does not need it

    try:
        added = opened.tools.add(opened.owner, name, entry, trust_views=trust_views, must_start=not anyway)
    except ProgramFailed as error:
        advice = f"{error.resolution}. To add it all the same, give --anyway"
        raise ProgramFailed(f"Nothing was changed. {error.what}", advice) from None
    return _refresh(opened, name) if anyway else added


@cli.command(name="list")
@for_owner
def list_servers(
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """List the servers, with the tools that each listed last."""
    servers = opened.tools.servers(opened.owner)
    _show(opened, servers, as_json=as_json)
    if as_json:
        return
    if not servers:
        typer.echo("There are no tool servers. Add one with: loci tools add NAME URL")


@cli.command(name="test")
@for_owner
def ask_servers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of servers. Default: all.")
    ] = None,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Ask servers for their tools now. The exit code is 1 if one of them fails."""
    known = opened.tools.servers(opened.owner)
    _refresh_and_show(opened, names or [one.name for one in known if not one.entry.disabled], as_json=as_json)


@cli.command(name="accept")
@for_owner
def accept_changes(
    name: NameArgument,
    tools: Annotated[
        list[str] | None, typer.Argument(metavar="[TOOL]...", help="Names of its tools. Default: all.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask again.")] = False,
    *,
    opened: OwnersTools,
) -> None:
    """Show how a server has changed its tools since Loci first saw them, and accept the changes. It asks for your PIN.

    Until you accept them, Loci asks you before it calls a changed tool, whatever the server says about the tool.
    """
    changes = [one for one in opened.tools.changes(opened.owner, name) if not tools or one.name in tools]
    for one in changes:
        for line in (f"{name}:{one.name}", *(f"  {text}" for text in one.difference.split("\n"))):
            typer.echo(printable(line))
    if not changes:
        typer.echo("There is no change to accept.")
        return
    if not yes:
        typer.confirm(f"Accept {counted(len(changes), 'change')}?", abort=True)
    prove_person(*opened.place, needs_pin=True)
    opened.tools.accept(opened.owner, name, {one.name: one.version for one in changes})
    typer.echo("Accepted.")


@cli.command()
@for_owner
def remove(
    name: NameArgument,
    *,
    opened: OwnersTools,
) -> None:
    """Remove a server. Its tools are no longer found or called."""
    opened.tools.remove(opened.owner, name)
    typer.echo(printable(f"Removed {name}."))


@cli.command(name="log")
@for_owner
def show_log(
    limit: Annotated[int, typer.Option(min=1, help="The most calls to show.")] = 20,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Show the last calls of the servers' tools.

    A line shows the time, where the call came from, the tool, the outcome, the duration, and how the caller was
    recognised. Loci keeps the last 100 calls, without their arguments and results.
    """
    calls = opened.tools.last_calls(opened.owner, limit)
    if as_json:
        typer.echo(json.dumps({"calls": [asdict(one) | {"at": iso(one.at)} for one in calls]}))
        return
    for one in calls:
        typer.echo(printable(f"{iso(one.at)}  {one.door:<8}  {one.tool}  {one.outcome}  {one.ms:.0f} ms  {one.who}"))
    if not calls:
        typer.echo("No tool of a server has been called.")


def _refresh_and_show(opened: OwnersTools, names: list[str], *, as_json: bool) -> None:
    """Ask the servers for their tools, and show the answers."""
    _close_and_show(opened, [_refresh(opened, name) for name in names], as_json=as_json)


def _close_and_show(
    opened: OwnersTools,
    found: "Sequence[ConfiguredServer]",
    *,
    as_json: bool,
    is_complete: bool = True,
    **more: object,
) -> None:
    opened.tools.close()
    _show(opened, found, as_json=as_json, **more)
    if not is_complete or any(one.failure for one in found):
        raise typer.Exit(1)


def _show(opened: OwnersTools, servers: "Sequence[ConfiguredServer]", *, as_json: bool, **more: object) -> None:
    from loci.cli.server_views import text, view  # slow to load, and `--help` does not need them

    logins = opened.tools.logins(opened.owner)
    if as_json:
        typer.echo(json.dumps({"servers": [view(opened, one, logins.get(one.name)) for one in servers], **more}))
        return
    warnings = opened.tools.parts.gateway.warnings(opened.tools.known(opened.owner))
    for one in servers:
        typer.echo(text(one, logins.get(one.name), warnings))


def _refresh(opened: OwnersTools, name: str) -> "ConfiguredServer":
    server = opened.tools.get(opened.owner, name)
    try:
        return opened.tools.ask(opened.owner, name)
    except LociError as error:
        return replace(server, failure=str(error))


def _pair(text: str, sign: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise Refused(f"{option} {text.partition(sign)[0]!r} has no {sign!r}", f"Write it as NAME{sign}VALUE")
    return name.strip(), value.strip()


@cli.command()
@for_owner
def login(
    name: NameArgument,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser",
            help="Open no browser: print the address, and read the address that it leads to from standard input.",
        ),
    ] = False,
    scope: ScopeOption = None,
    client_id: Annotated[
        str | None,
        value("An app that you have registered, for example at GitHub. Loci asks for its secret.", "--client-id", "ID"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="PORT",
            min=1,
            max=65535,
            help="The port of the callback, if the app was registered with one. Default: any that is free.",
            show_default=False,
        ),
    ] = None,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Log in to a tool server in the browser, and ask it for its tools.

    Loci registers itself with the server's authorization server, stores the tokens encrypted, and renews them by
    itself. Log in again for other rights.
    """
    # Slow to load, and `--help` needs none of it.
    from loci.gateway.login_callback import LoginCallback, login_address
    from loci.gateway.ports import Consent

    tools, owner = opened.tools, opened.owner
    oauth = tools.get(owner, name).entry.oauth
    with LoginCallback(port or (oauth.callback_port if oauth else None)) as callback:

        def ask(url: str, issuer: str) -> "Mapping[str, str]":
            callback.expect(url)
            _show_address(login_address(url), issuer, opens=not no_browser)
            if no_browser:
                callback.listen_to_keyboard()
            return callback.answer()

        def secret(client_id: str) -> str | None:
            return _prompt_secret(f"Secret of {printable(client_id)} (none: press Enter)")

        asked = " ".join(scope or []) or None
        tools.log_in(owner, name, Consent(callback.url, ask), scope=asked, client_id=client_id, secret=secret)
    typer.echo(printable(f"Logged in at {name}."), err=True)
    _refresh_and_show(opened, [name], as_json=as_json)


@cli.command()
@for_owner
def logout(
    name: NameArgument,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Log out of a tool server, and have its tokens revoked."""
    login = opened.tools.logins(opened.owner).get(name)
    revoked = opened.tools.log_out(opened.owner, name)
    opened.tools.close()
    if as_json:
        typer.echo(json.dumps({"name": name, "revoked": revoked}))
        return
    typer.echo(printable(f"Logged out of {name}."))
    if login is not None and not revoked:
        typer.echo(printable(f"{login.issuer} cannot revoke tokens: remove Loci there in your account's settings."))


def _show_address(url: str, issuer: str, *, opens: bool) -> None:
    """Print the address, and open it in a browser if there is one."""
    typer.echo(f"Log in at {printable(issuer)}:\n\n{url}\n", err=True)
    if opens:
        import webbrowser

        if not webbrowser.open(url):
            typer.echo("No browser could be opened. Open the address yourself.", err=True)
    else:
        typer.echo("Then paste the address that the browser was sent to here, and press Enter:", err=True)
