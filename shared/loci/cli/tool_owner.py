"""Whose tool servers a command means: those of this machine, or of an owner of a deployment on AWS."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.terminal import here_only, named_owner, open_app
from loci.core.errors import Refused
from loci.core.identity import Owner

if TYPE_CHECKING:
    from loci.tools.api import Tools

StackOption = Annotated[
    str | None,
    typer.Option(
        "--stack",
        metavar="NAME",
        help="Those of a deployment on AWS. NAME is its gateway stack, such as loci-dev-gateway.",
        show_default=False,
    ),
]
TenantOption = Annotated[
    str | None, typer.Option(help="The tenant of their owner. Needs --subject.", show_default=False)
]
SubjectOption = Annotated[
    str | None,
    typer.Option(
        help="The subject of their owner. Default: you, or who has a key that names no owner.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True)
class OwnersTools:
    """An owner, and the tools of all."""

    owner: Owner
    tools: "Tools"


def open_tools(
    data: Path | None, config: Path | None, stack: str | None, tenant: str | None, subject: str | None
) -> OwnersTools:
    """Open them on this machine, or with the operator's credentials on AWS."""
    owner = named_owner(tenant, subject)
    if stack is None:
        return OwnersTools(owner, open_app(data, config, here_only("Name it with --stack")).tools)
    if data or config:
        raise Refused("The tool servers of a stack are not in a data folder", "Give --stack, or --data and --config")
    from loci.stacks import tools_of_stack  # slow to load, and `--help` does not need it

    return OwnersTools(owner, tools_of_stack(stack))
