"""`loci share`: a person shares a folder of their documents with another owner, and ends that again."""

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.credentials import check_person, prove_person
from loci.cli.destination import StackOption, app_at
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, named_owner, printable, value
from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject

if TYPE_CHECKING:
    from loci.sharing.shares import Share, Shares


def share(
    folder: Annotated[
        str | None,
        typer.Argument(
            help="A folder of your documents, such as notes. Default: list what is shared, by you and with you."
        ),
    ] = None,
    receiver: Annotated[
        str | None, value("The owner who may read it: TENANT/SUBJECT, or the name of their key.", "--with", "NAME")
    ] = None,
    revoke: Annotated[
        bool,
        typer.Option(
            "--revoke", help="End it at once, also of a folder that others share with you: shared/NAME/FOLDER."
        ),
    ] = False,
    stack: StackOption = None,
    tenant: Annotated[str | None, value("The tenant of the owner who shares. Needs --subject.")] = None,
    subject: Annotated[str | None, value("The subject of the owner who shares. Default: you.")] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Share a folder of your documents with another owner of this server, who may read and search it.

    It asks for your PIN. What you or an agent puts into the folder later is shared, too. Sessions with coding agents,
    results and stored files stay yours.
    """
    owner = named_owner(tenant, subject)
    check_person()
    if folder is None and (revoke or receiver):
        raise Refused("Which folder?", "Name it: loci share FOLDER --with NAME, or loci share --revoke FOLDER")
    if folder is not None and not revoke:
        if receiver is None:
            raise Refused("With whom?", "Name an owner of this server: loci share FOLDER --with NAME")
        prove_person(stack, data, config, needs_pin=True)
    sharing = app_at(stack, data, config, "The shares", whole=folder is not None).sharing
    told: Json
    if folder is None:
        given, received = sharing.shares.given(owner), sharing.shares.received(owner)
        told = {"given": [_view(one) for one in given], "received": [_view(one) for one in received]}
        lines = [f"You share {one.folder} with {one.receiver_name} (since {one.since[:10]})" for one in given]
        lines += [f"{one.giver_name} shares {one.place} with you (since {one.since[:10]})" for one in received]
        lines = lines or ["Nothing is shared. Share a folder with: loci share FOLDER --with NAME"]
    elif revoke:
        ended = _end(sharing.shares, owner, folder, receiver)
        told = [_view(one) for one in ended]
        lines = [f"Ended: {one.folder} with {one.receiver_name}" for one in ended]
    else:
        made = sharing.give(owner, folder, receiver or "")
        whose = ["--tenant", tenant, "--subject", subject] if tenant and subject else []
        whose += ["--stack", stack] if stack else []
        end = shlex.join(["loci", "share", "--revoke", made.folder, "--with", made.receiver_name, *whose])
        told = _view(made)
        lines = [f"{made.receiver_name} may read {made.folder} from now on, as {made.place}. To end it: {end}"]
    for line in [json.dumps(told)] if as_json else map(printable, lines):
        typer.echo(line)


def _end(shares: "Shares", owner: Owner, folder: str, receiver: str | None) -> "list[Share]":
    """End what the owner shares under this name, with that owner or all, or what others share with them."""
    plain = folder.strip("/")
    given = (one for one in shares.given(owner) if one.folder == plain)
    ended = [one for one in given if receiver in (None, one.receiver_name, one.receiver.name)]
    ended += [one for one in shares.received(owner) if one.place == plain and receiver is None]
    if not ended:
        raise NotFound(f"{folder} is not shared like that", "List what is shared: loci share", code="SHARE_NOT_FOUND")
    for one in ended:
        shares.end(one)
    return ended


def _view(one: "Share") -> JsonObject:
    names: JsonObject = {"owner": one.giver.name, "with": one.receiver.name}
    return {"id": one.id, "folder": one.folder, "place": one.place, **names, "since": one.since}
