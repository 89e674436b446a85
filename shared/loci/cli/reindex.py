"""`loci reindex`: rebuild the search index from the stored texts, on this machine or in a deployment on AWS."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.destination import refuse_folder
from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    JsonOption,
    named_owner,
    owner_name,
    short_list,
    shown_progress,
    value,
)
from loci.core.diagnosis import counted
from loci.core.errors import Refused
from loci.core.identity import Owner, UnnamedOwner
from loci.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from loci.documents.upkeep import ReindexSummary

INTERRUPTED = 130


def reindex(
    stack: Annotated[
        str | None,
        value(
            "Rebuild the index of a deployment on AWS. NAME is its gateway stack, such as loci-dev-gateway.",
            "--stack",
            "NAME",
        ),
    ] = None,
    tenant: Annotated[str | None, value("The tenant of the owner. Needs --subject.")] = None,
    subject: Annotated[
        str | None, value("The subject of the owner. Default: you, the person who uses this machine.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Rebuild the indexes of all owners.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the search index from the stored texts.

    Do this after the index was lost or replaced, or after the embedder changed. Loci reads every text and writes what
    is missing from the index, or came from another text or model. You can stop the command at any time: the next run
    continues from there. Servers may run meanwhile. If a text cannot be read, the exit code is 1. In an OpenSearch
    domain, an index that has grown is first copied into one with more shards.

    If the database on this machine is damaged, Loci repairs it first, and rebuilds the indexes of all owners.
    """
    if every and (tenant is not None or subject is not None):
        raise Refused("--all already means every owner", "Give --all, or --tenant and --subject, not both")
    named = None if every else named_owner(tenant, subject)
    settings = _settings(stack, data, config)
    from loci.compose import build_index_rebuild  # slow to load, and `--help` does not need it
    from loci.runtimes.local import mend_database

    mended = mend_database(settings) if settings.mode == "embedded" else None
    if mended:
        typer.echo(mended.what, err=True)
    rebuild = build_index_rebuild(settings)
    owners = [named] if named and not rebuild.is_after_damage else rebuild.owners()
    files = 0
    done: list[tuple[Owner, ReindexSummary]] = []
    try:
        if begun := rebuild.begin():
            typer.echo(begun, err=True)
        for owner in owners:
            if len(owners) > 1:
                typer.echo(owner_name(owner), err=True)
            with shown_progress() as progress:
                done.append((owner, rebuild.run(owner, progress)))
        files = rebuild.end()
    except KeyboardInterrupt:
        typer.echo("Stopped. Run the same command again to continue.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if done:
            typer.echo(json.dumps([_view(*one) for one in done]) if as_json else _text(done, files))
    if (mended and not mended.is_whole) or not all(summary.is_complete for _, summary in done):
        raise typer.Exit(1)


def _settings(stack: str | None, data: Path | None, config: Path | None) -> Settings:
    if stack is None:
        return load_settings({"data": data}, config)
    refuse_folder(data, config, "The documents")
    from loci.runtimes.aws import settings_of_stack  # slow to load, and `--help` does not need it

    return settings_of_stack(stack)


def _view(owner: Owner, summary: "ReindexSummary") -> dict[str, object]:
    names = {"tenant": owner.tenant, "subject": owner.subject}
    return {**({"key": owner.key} if isinstance(owner, UnnamedOwner) else names), **asdict(summary)}


def _text(done: Sequence[tuple[Owner, "ReindexSummary"]], files: int) -> str:
    rebuilt, unchanged = sum(one.rebuilt for _, one in done), sum(one.unchanged for _, one in done)
    lines = [f"{rebuilt:,} rebuilt, {unchanged:,} were up to date."]
    if unknown := sum(one.unknown for _, one in done):
        lines.append(f"Removed the passages of {counted(unknown, 'unknown document')}.")
    if files:
        lines.append(f"Wrote the passages of {counted(files, 'file')} again.")
    for owner, summary in done:
        of = f" of {owner_name(owner)}" if len(done) > 1 else ""
        lines += short_list(
            f"Found by words only{of}, as the model failed: run the command again", summary.without_vectors
        )
        lines += short_list(f"Failed{of}", [f"{one.path}: {one.reason}" for one in summary.failed])
    return "\n".join(lines)
