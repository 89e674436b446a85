"""`loci keys`, `loci clients` and `loci pin`: who may reach Loci, and the PIN with which a person approves."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.auth.pins import Pins, check_new, no_pin, pin_hash, pins_of
from loci.cli.destination import StackOption, app_at
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, named_owner, open_app, owner_name, printable, value
from loci.core.errors import Refused
from loci.core.json import iso
from loci.core.settings import INSIDE

if TYPE_CHECKING:
    from loci.auth.grants import Grant, Grants


LONGEST_NAME = 100
MOST_DAYS = 3650

keys = typer.Typer(
    help="Create, list and revoke API keys. A client with a key acts as the owner of that key.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@keys.command("create")
def create_key(
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
    days: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=MOST_DAYS, help="Refuse the key after N days. Default: never.", show_default=False
        ),
    ] = None,
    calls_per_month: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Let the key call tools N times a month. Default: what the setting calls_per_month says.",
            show_default=False,
        ),
    ] = None,
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
    api_keys = app_at(stack, data, config, "The keys").api_keys
    key, text = api_keys.create(owner, name, is_person=person, days=days, calls_per_month=calls_per_month)
    if as_json:
        typer.echo(json.dumps({**asdict(key), "key": text}))
    elif person:
        typer.echo(f"{text}\n\nLoci shows this key only once. Sign in to the pages with it, and give it to no client.")
    else:
        typer.echo(f"{text}\n\nLoci shows this key only once. Clients send it as: Authorization: Bearer {text}")


@keys.command("list")
def list_keys(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the keys. Loci does not store the keys themselves, only their hashes."""
    app = app_at(stack, data, config, "The keys")
    api_keys = app.api_keys
    found = api_keys.list()
    caps = {key.id: key.calls_per_month or app.settings.calls_per_month for key in found}
    calls = {key.id: {"calls_this_month": api_keys.calls_made(key.id)} if caps[key.id] else {} for key in found}
    if as_json:
        typer.echo(json.dumps([{**asdict(key), **calls[key.id]} for key in found]))
        return
    for key in found:
        state = f"revoked {key.revoked}" if key.revoked else "valid"
        if key.expires and not key.revoked:
            state = f"{'expired' if api_keys.is_expired(key) else 'valid until'} {key.expires[:10]}"
        name = f"{key.name} (a person's)" if key.is_person else key.name
        for made in calls[key.id].values():
            name += f"  {made:,} of {caps[key.id]:,} calls this month"
        typer.echo(f"{key.id}  {key.created}  {state:<28}  {owner_name(key.owner):<24}  {name}")
    if not found:
        typer.echo("There are no keys. Create one with: loci keys create NAME")


@keys.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(help="The key's id, as `loci keys list` shows it.")],
    stack: StackOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key. Loci refuses it from the next request on."""
    key = app_at(stack, data, config, "The keys").api_keys.revoke(id)
    typer.echo(json.dumps(asdict(key)) if as_json else f"Revoked {key.id} ({key.name}).")


clients = typer.Typer(
    help="List and end the connections of clients that a person has allowed on Loci's own page, without a key.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@clients.command("list")
def list_clients(
    stack: StackOption = None, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the connections, with the client, its host, the owner, and what the client may do."""
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


@clients.command("revoke")
def revoke_client(
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


def pin(
    print_hash: Annotated[
        bool, typer.Option("--print", help="Do not store the PIN: print its hash, for LOCI_PIN_HASH of another server.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Set or change your PIN, with which you approve what only a person may, on the pages and with loci approve.

    No client and no tool server should know the PIN. Loci stores a slow hash of it. To change it, you need the old PIN.
    """
    check_person()
    if print_hash:
        typer.echo(pin_hash(_new()))
        return
    pins = _pins(data, config)
    old = asked_pin("Old PIN") if pins.is_set else None
    if old is not None:
        pins.check(old)
    pins.set(_new(), old)
    typer.echo("Your PIN is set.")


def _pins(data: Path | None, config: Path | None) -> Pins:
    app = open_app(data, config)
    return pins_of(app.settings, app.records)


def check_person() -> None:
    """Raise `Refused` in a program that a tool server started, since it is not a person."""
    if INSIDE in os.environ:
        what = "A tool server of Loci started this command, and only a person may use it"
        raise Refused(what, "Run it in a terminal of your own", code="NOT_A_PERSON")


def prove_person(stack: str | None, data: Path | None, config: Path | None, *, needs_pin: bool = False) -> None:
    """Require a person at a terminal, with their PIN if one is set, before an action that only a person may do.

    `needs_pin`: a PIN must be set. A deployment's stack needs no PIN: its AWS credentials are proof enough.
    """
    check_person()
    if stack is not None:
        return
    pins = _pins(data, config)
    if pins.is_set:
        pins.check(asked_pin())
    elif needs_pin:
        raise no_pin()
    else:
        check_terminal()


def check_terminal() -> None:
    """Raise `Refused` if standard input is not a terminal."""
    if not sys.stdin.isatty():
        what = "This command needs a person at a terminal"
        advice = "Run it in a terminal of your own. To approve and to share, there are pages: /ui/runs and /ui/settings"
        raise Refused(what, advice, code="NO_TERMINAL")


def asked_pin(prompt: str = "PIN") -> str:
    """Ask for the PIN at the terminal."""
    check_terminal()
    return typer.prompt(prompt, hide_input=True, err=True)


def _new() -> str:
    new = asked_pin("New PIN (at least 6 characters)")
    check_new(new)
    if asked_pin("Repeat the PIN") != new:
        raise Refused("The two PINs differ", "Try again", code="BAD_PIN")
    return new
