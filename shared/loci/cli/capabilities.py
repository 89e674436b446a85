"""`loci tools capabilities`: list, show and remove learned code."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.destination import OwnersTools, for_owner
from loci.cli.terminal import JsonOption, printable
from loci.core.diagnosis import counted
from loci.core.json import iso

if TYPE_CHECKING:
    from loci.gateway.capabilities.capability import Capability, Version

cli = typer.Typer(
    help="List, show and remove capabilities: code that worked, learned from runs with an intent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
IdArgument = Annotated[str, typer.Argument(help="The capability's id, such as cap_0123456789ab.")]


@cli.command(name="list")
@for_owner
def list_capabilities(
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """List the capabilities, the last used first."""
    known = opened.tools.capabilities.all(opened.owner)
    known.sort(key=lambda one: (-one.best.used_at, one.id))
    if as_json:
        typer.echo(json.dumps({"capabilities": [_view(one) for one in known]}))
        return
    for one in known:
        typer.echo(printable(f"{one.id}  {one.intent}"))
        typer.echo(printable(f"  {_record(one.best)}{_versions(one)}"))
    if not known:
        typer.echo("Nothing is learned yet. Loci learns code that pml_execute_code ran with an intent, if it worked.")


@cli.command()
@for_owner
def show(
    id: IdArgument,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Show a capability with its code. An id with a number, such as cap_0123456789ab.2, shows that version."""
    one = opened.tools.capabilities.get(opened.owner, id)
    if as_json:
        from loci.gateway.capability_tools import CapabilitiesAnswer, capability_view  # slow to load

        typer.echo(json.dumps(CapabilitiesAnswer(capabilities=[capability_view(one)]).model_dump(mode="json")))
        return
    typer.echo(printable(f"{one.capability.id}.{one.version.number}  {one.capability.intent}"))
    typer.echo(printable(f"  {_record(one.version)}{_versions(one.capability)}"))
    if one.version.tools:
        typer.echo(printable(f"  tools: {', '.join(one.version.tools)}"))
    if one.stored.needs:
        typer.echo(printable(f"  context: {', '.join(one.stored.needs)}"))
    typer.echo("\n" + "\n".join(printable(line) for line in one.stored.code.splitlines()))


@cli.command()
@for_owner
def remove(
    id: IdArgument,
    *,
    opened: OwnersTools,
) -> None:
    """Remove a capability with all its versions. Searches no longer find it."""
    gone = opened.tools.capabilities.delete(opened.owner, id)
    typer.echo(printable(f"Removed {gone.id}: {gone.intent}"))


def _record(one: "Version") -> str:
    runs = f"{one.successes:,} of {counted(one.successes + one.failures, 'run')} worked"
    return f"{runs}: a success rate of at least {one.success_rate:.2f}; last at {iso(one.used_at)}"


def _versions(one: "Capability") -> str:
    others = [f"{one.id}.{other.number}" for other in one.versions if other.number != one.best.number]
    return f"; other versions: {', '.join(others)}" if others else ""


def _view(one: "Capability") -> dict[str, object]:
    others = [other for other in reversed(one.versions) if other.number != one.best.number]
    versions = [{"id": f"{one.id}.{other.number}", **_counts(other)} for other in others]
    return {
        "id": one.id,
        "intent": one.intent,
        **_counts(one.best),
        "tools_used": [*one.best.tools],
        **({"other_versions": versions} if versions else {}),
    }


def _counts(one: "Version") -> dict[str, object]:
    return {"success_rate": round(one.success_rate, 3), "reuse_count": one.reuse_count}
