"""`loci keys`: create, list, revoke."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable
from loci.core.errors import Refused
from loci.core.identity import LOCAL, Owner
from loci.mcp.auth.api_keys import ApiKey, ApiKeys

LONGEST_NAME = 100

StackOption = Annotated[
    str | None,
    typer.Option(
        "--stack",
        metavar="NAME",
        help="The keys of a deployment on AWS: its gateway's stack, such as loci-dev-gateway.",
        show_default=False,
    ),
]

cli = typer.Typer(help="API keys: who shows one acts as its owner.", no_args_is_help=True, rich_markup_mode=None)


@cli.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for, such as laptop.")] = "default",
    tenant: Annotated[
        str | None, typer.Option(help="Tenant of the key's owner; with --subject.", show_default=False)
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="Subject of the key's owner; the person at this machine by default.", show_default=False),
    ] = None,
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and show it, once."""
    if (tenant is None) != (subject is None) or tenant == "" or subject == "":
        raise Refused("An owner has a tenant and a subject", "Give both --tenant and --subject, or neither")
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise Refused(f"A key's name has 1 to {LONGEST_NAME} printable characters", "Choose another name")
    owner = LOCAL if tenant is None or subject is None else Owner(tenant, subject)
    key, text = _keys(stack, data, config).create(owner, name)
    if as_json:
        typer.echo(json.dumps({**_view(key), "key": text}))
    else:
        typer.echo(f"{text}\n\nThis is shown once. Clients send it as: Authorization: Bearer {text}")


@cli.command(name="list")
def list_keys(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the keys. Their texts are not stored."""
    keys = _keys(stack, data, config).list()
    if as_json:
        typer.echo(json.dumps([_view(key) for key in keys]))
        return
    for key in keys:
        state = f"revoked {key.revoked}" if key.revoked else "good"
        typer.echo(f"{key.id}  {key.created}  {state:<28}  {_owner(key.owner):<24}  {key.name}")
    if not keys:
        typer.echo("There are no keys. Make one with: loci keys create NAME")


@cli.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `loci keys list` shows it.")],
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key: it is refused from now on."""
    key = _keys(stack, data, config).revoke(id)
    typer.echo(json.dumps(_view(key)) if as_json else f"Revoked {key.id} ({key.name}).")


def _keys(stack: str | None, data: Path | None, config: Path | None) -> ApiKeys:
    if stack is None:
        return opened(data, config).api_keys
    if data or config:
        raise Refused("A stack keeps its keys itself", "Give --stack, or --data and --config")
    from loci.compose import keys_of_stack  # after the command line was understood: help answers at once

    return keys_of_stack(stack)


def _view(key: ApiKey) -> dict[str, object]:
    return asdict(key)


def _owner(owner: Owner) -> str:
    return printable(f"{owner.tenant}/{owner.subject}" if owner.tenant else owner.subject)
