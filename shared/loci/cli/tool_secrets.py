"""`loci tools secret`, and the secrets and options of OAuth clients."""

import sys
from typing import Annotated

import typer

from loci.cli.destination import OwnersTools, for_owner
from loci.cli.terminal import owner_name, printable, value
from loci.core.errors import Refused

ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="A right to ask for. Default: what the server wants."),
]
IssuerOption = Annotated[
    str | None,
    value(
        "With --client-id: who gives out tokens for the secret, if that is not the server itself.", "--issuer", "URL"
    ),
]
MachineOption = Annotated[
    str | None, value("For OAuth client credentials: the client's id. Its secret is asked for.", "--client-id", "ID")
]


@for_owner
def secret(
    name: Annotated[
        str | None, typer.Argument(help="Its name: entries of servers write ${NAME}.", show_default=False)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget it.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the names of all secrets.")] = False,
    *,
    opened: OwnersTools,
) -> None:
    """Store a secret for tool servers, such as a token. It is asked for, or read from standard input.

    Loci stores it encrypted, for its owner alone, and shows it to nobody but the servers whose entries name it.
    """
    if list_names == (name is not None) or (remove and list_names):
        raise Refused("Either one secret is meant or all are listed", "Give a name, or --list")
    tools, owner = opened.tools, opened.owner
    if name is None:
        typer.echo("\n".join(tools.secrets(owner)) or f"{owner_name(owner)} has no secrets.")
    elif remove:
        tools.forget_secret(owner, name)
        typer.echo(printable(f"Removed {name}."))
    else:
        tools.keep_secret(owner, name, _asked(name))
        typer.echo(printable(f"Stored {name} for {owner_name(owner)}. Entries name it as ${{{name}}}."))


def _asked(name: str) -> str:
    """The secret: typed where nobody sees it, or piped. As an argument it would stay in the shell's history."""
    if sys.stdin.isatty():
        return str(typer.prompt(printable(name), hide_input=True))
    return sys.stdin.read().rstrip("\r\n")


def client_credentials(id: str | None, scope: list[str] | None, issuer: str | None) -> dict[str, object]:
    """The part of an entry that says so; empty without an id."""
    if id is None:
        if scope or issuer:
            raise Refused("--scope and --issuer need --client-id", "Give it too, or log in with: loci tools login NAME")
        return {}
    secret = hidden_secret(f"Secret of {printable(id)}")
    if secret is None:
        raise Refused("Client credentials need a secret", "Type it, or give it on standard input")
    oauth = {"grant": "client_credentials", "client_id": id, "client_secret": secret}
    more = {"scope": " ".join(scope or []), "issuer": issuer}
    return {"oauth": oauth | {name: text for name, text in more.items() if text}}


def hidden_secret(question: str) -> str | None:
    """A secret that is typed unseen, or comes on standard input; None: it is empty."""
    if sys.stdin.isatty():
        return typer.prompt(question, default="", hide_input=True, show_default=False, err=True) or None
    return sys.stdin.readline().strip() or None
