"""`loci owners`: who has something here, and the deletion of everything that one of them has."""

import json
from typing import Annotated

import typer

from loci.cli.credentials import check_person
from loci.cli.destination import StackOption, app_at
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, owner_name
from loci.core.diagnosis import counted
from loci.core.errors import Refused
from loci.core.identity import UnnamedOwner

cli = typer.Typer(
    help="List the owners, and delete everything that one of them has.", no_args_is_help=True, rich_markup_mode=None
)


@cli.command("list")
def list_owners(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List everybody who has something, or a key.

    If nothing stored tells an owner's name, as of people who only came with tokens, the key in the stores is shown.
    On AWS this reads the whole table.
    """
    found = app_at(stack, data, config, "The owners").owners.all()
    if as_json:
        names = [None if isinstance(one, UnnamedOwner) else owner_name(one) for one in found]
        typer.echo(json.dumps([{"key": one.key, "name": name} for one, name in zip(found, names, strict=True)]))
        return
    for one in found:
        typer.echo(one.key if isinstance(one, UnnamedOwner) else f"{one.key}  {owner_name(one)}")
    if not found:
        typer.echo("Nobody has anything here.")


@cli.command("delete")
def delete_owner(
    owner: Annotated[str, typer.Argument(help="TENANT/SUBJECT, or the owner's key, as `loci owners list` shows them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking you to type the owner again.")] = False,
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete everything of one owner: documents, files, results, workflows, logins, uploads, shares and keys.

    It ends connections, too. This cannot be undone. If it is interrupted, or if requests of the owner were still
    running, repeat it: what is gone is no error. Folders that were ingested from this machine stay where they are. On
    AWS it reads the whole table.
    """
    check_person()
    app = app_at(stack, data, config, "The owners", whole=True)
    try:
        found = app.owners.named(owner)
        told = f"Type {owner} to delete everything that belongs to this owner"
        if not yes and typer.prompt(told, err=True) != owner:
            raise Refused("You typed another name", "Nothing was deleted", code="NOT_CONFIRMED")
        removed, backups = app.owners.remove(found), app.owners.backups()
    finally:
        app.close()
    if as_json:
        typer.echo(json.dumps({"owner": found.key, "removed": removed, "backups": list(backups)}))
        return
    parts = [counted(number, what) for what, number in removed.items() if number]
    typer.echo(f"Deleted {', '.join(parts)} of {owner}." if parts else f"{owner} has nothing here.")
    for line in backups:
        typer.echo(f"{line}.")
