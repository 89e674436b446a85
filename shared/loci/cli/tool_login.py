"""`loci tools login` and `logout`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.destination import OwnersTools, for_owner
from loci.cli.terminal import JsonOption, printable, value
from loci.cli.tool_secrets import ScopeOption, hidden_secret
from loci.cli.tools import NameArgument, show_asked
from loci.core.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping


@for_owner
def login(
    name: NameArgument,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser", help="Open no browser: print the address, and take the one it led to from standard input."
        ),
    ] = False,
    scope: ScopeOption = None,
    client_id: Annotated[
        str | None,
        value("An app that you have registered, such as at GitHub. Its secret is asked for.", "--client-id", "ID"),
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
    """Log in at a tool server in the browser, and ask it for its tools.

    Loci registers itself where the server's tokens are given out, keeps them encrypted, and renews them by itself. Log
    in again for other rights.
    """
    # Slow to load, and `--help` needs none of it.
    from loci.cli.login_callback import LoginCallback
    from loci.gateway.ports import Consent

    tools, owner = opened.tools, opened.owner
    oauth = tools.get(owner, name).entry.oauth
    with LoginCallback(port or (oauth.callback_port if oauth else None)) as callback:

        def ask(url: str, issuer: str) -> "Mapping[str, str]":
            callback.expect(url)
            _show_address(url, issuer, opens=not no_browser)
            if no_browser:
                callback.listen_to_keyboard()
            return callback.answer()

        def secret(client_id: str) -> str | None:
            return hidden_secret(f"Secret of {printable(client_id)} (none: press Enter)")

        asked = " ".join(scope or []) or None
        tools.log_in(owner, name, Consent(callback.url, ask), scope=asked, client_id=client_id, secret=secret)
    typer.echo(printable(f"Logged in at {name}."), err=True)
    show_asked(opened, [name], as_json=as_json)


@for_owner
def logout(
    name: NameArgument,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Forget the login at a tool server, and have its tokens revoked."""
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
    if not (url.isascii() and url.isprintable()):
        raise Refused("The address of the login is not safe to open", "Ask who runs the server to mend that")
    typer.echo(f"Log in at {printable(issuer)}:\n\n{url}\n", err=True)
    if opens:
        import webbrowser

        if not webbrowser.open(url):
            typer.echo("No browser could be opened. Open the address yourself.", err=True)
    else:
        typer.echo("Then paste the address here to which the browser was led, and press Enter:", err=True)
