"""Shared parts of commands about OAuth: the options of a client, and the secret that nobody sees."""

import sys
from typing import Annotated

import typer

from loci.cli.terminal import printable
from loci.core.errors import Refused

ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="A right to ask for. Default: what the server wants."),
]
IssuerOption = Annotated[
    str | None,
    typer.Option(
        "--issuer",
        metavar="URL",
        help="With --client-id: who gives out tokens for the secret, if that is not the server itself.",
        show_default=False,
    ),
]
MachineOption = Annotated[
    str | None,
    typer.Option(
        "--client-id",
        metavar="ID",
        help="For OAuth client credentials: the client's id. Its secret is asked for.",
        show_default=False,
    ),
]


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
