"""`loci clients`: list and end the connections of programs that came without a key (`oauth = "built-in"`)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.destination import StackOption, app_at
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, owner_name, printable
from loci.core.json import iso

if TYPE_CHECKING:
    from loci.auth.grants import Grant, Grants

cli = typer.Typer(
    help="List and end the connections of clients that a person has allowed on Loci's own page, without a key.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cli.command(name="list")
def list_clients(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the connections: which client, where it lives, in whose name, and what it may do."""
    grants = _open_grants(stack, data, config).list()
    if as_json:
        typer.echo(json.dumps([_view(one) for one in grants]))
        return
    for one in grants:
        typer.echo(
            f"{one.id}  {one.created}  {owner_name(one.owner):<24}  {printable(one.client_name)} ({one.place})"
            f"  {' '.join(one.scopes)}"
        )
    if not grants:
        typer.echo("No client is connected.")


@cli.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The connection's id, as `loci clients list` shows it.")],
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a connection. Loci refuses its tokens from the next request on, and asks before it connects again."""
    grant = _open_grants(stack, data, config).revoke(id)
    if as_json:
        typer.echo(json.dumps(_view(grant)))
    else:
        typer.echo(f"Ended the connection {grant.id} of {printable(grant.client_name)} ({grant.place}).")


def _open_grants(stack: str | None, data: Path | None, config: Path | None) -> "Grants":
    from loci.auth.grants import grants_of  # slow to load, and `--help` does not need it

    return grants_of(app_at(stack, data, config, "The clients"))


def _view(grant: "Grant") -> dict[str, object]:
    return {
        "id": grant.id,
        "client": grant.client,
        "client_name": grant.client_name,
        "place": grant.place,
        "owner": {"tenant": grant.owner.tenant, "subject": grant.owner.subject},
        "key": grant.by.key,
        "issuer": grant.by.issuer,
        "scopes": list(grant.scopes),
        "resource": grant.resource,
        "created": grant.created,
        "renewed": iso(grant.renewed),
    }
