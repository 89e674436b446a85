"""`loci tools secret`: the secrets that entries of tool servers name."""

import sys
from typing import Annotated

import typer

from loci.cli.terminal import ConfigOption, DataOption, owner_name, printable
from loci.cli.tool_owner import StackOption, SubjectOption, TenantOption, open_tools
from loci.core.errors import Refused


def secret(
    name: Annotated[
        str | None, typer.Argument(help="Its name: entries of servers write ${NAME}.", show_default=False)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget it.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the names of all secrets.")] = False,
    stack: StackOption = None,
    tenant: TenantOption = None,
    subject: SubjectOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Store a secret for tool servers, such as a token. It is asked for, or read from standard input.

    Loci stores it encrypted, for its owner alone, and shows it to nobody but the servers whose entries name it.
    """
    if list_names == (name is not None) or (remove and list_names):
        raise Refused("Either one secret is meant or all are listed", "Give a name, or --list")
    opened = open_tools(data, config, stack, tenant, subject)
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
