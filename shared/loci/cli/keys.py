"""`loci keys`: create, list and revoke API keys."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.destination import StackOption, app_at
from loci.cli.pin import prove_person
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, named_owner, owner_name, value
from loci.core.errors import Refused

LONGEST_NAME = 100

cli = typer.Typer(
    help="Create, list and revoke API keys. A client with a key acts as the owner of that key.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cli.command()
def create(
    name: Annotated[str, typer.Argument(help="A name that tells you what the key is for, such as laptop.")] = "default",
    tenant: Annotated[str | None, value("The tenant of the key's owner. Needs --subject.")] = None,
    subject: Annotated[
        str | None, value("The subject of the key's owner. Default: you, the person who uses this machine.")
    ] = None,
    person: Annotated[
        bool,
        typer.Option(
            "--person",
            help="For yourself, to sign in to the pages: it may approve what only a person may. Give it to no client.",
        ),
    ] = False,
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key. Loci shows it only once."""
    owner = named_owner(tenant, subject)
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise Refused(f"A key's name has 1 to {LONGEST_NAME} printable characters", "Choose another name")
    if person:
        prove_person(stack, data, config)
    key, text = app_at(stack, data, config, "The keys").api_keys.create(owner, name, is_person=person)
    if as_json:
        typer.echo(json.dumps({**asdict(key), "key": text}))
    elif person:
        typer.echo(f"{text}\n\nLoci shows this key only once. Sign in to the pages with it, and give it to no client.")
    else:
        typer.echo(f"{text}\n\nLoci shows this key only once. Clients send it as: Authorization: Bearer {text}")


@cli.command(name="list")
def list_open_keys(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the keys. Loci does not store the keys themselves, only their hashes."""
    keys = app_at(stack, data, config, "The keys").api_keys.list()
    if as_json:
        typer.echo(json.dumps([asdict(key) for key in keys]))
        return
    for key in keys:
        state = f"revoked {key.revoked}" if key.revoked else "valid"
        name = f"{key.name} (a person's)" if key.is_person else key.name
        typer.echo(f"{key.id}  {key.created}  {state:<28}  {owner_name(key.owner):<24}  {name}")
    if not keys:
        typer.echo("There are no keys. Create one with: loci keys create NAME")


@cli.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `loci keys list` shows it.")],
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key. Loci refuses it from the next request on."""
    key = app_at(stack, data, config, "The keys").api_keys.revoke(id)
    typer.echo(json.dumps(asdict(key)) if as_json else f"Revoked {key.id} ({key.name}).")
