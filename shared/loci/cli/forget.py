"""`loci forget`: documents out of the library."""

import json
from typing import Annotated

import typer

from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable
from loci.core.identity import LOCAL
from loci.documents.document import Document

SHOWN = 10


def forget(
    names: Annotated[
        list[str], typer.Argument(metavar="PATH|ID...", help="Folders, documents by path, or by their ids.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take documents out: they are found no more. Their files stay where they are."""
    library = opened(data, config).documents.library
    documents = {document.id: document for name in names for document in library.matching(LOCAL, name)}
    if not yes:
        typer.echo(_question(list(documents.values())), err=True)
        typer.confirm("Forget them?", abort=True, err=True)
    library.remove(LOCAL, documents.values())
    typer.echo(json.dumps({"forgotten": sorted(documents)}) if as_json else f"Forgot {_count(len(documents))}.")


def _question(documents: list[Document]) -> str:
    kept = sum(document.root is None for document in documents)
    lines = [f"{_count(len(documents))} will be found no more:"]
    lines += [f"  {printable(document.path)}  ({document.id})" for document in documents[:SHOWN]]
    lines += [f"  and {len(documents) - SHOWN:,} more"] if len(documents) > SHOWN else []
    if kept < len(documents):
        lines.append("Files on this machine stay where they are; `loci ingest` takes them in again.")
    if kept:
        lines.append(f"The text of {_count(kept)} is kept here only, and goes with it.")
    return "\n".join(lines)


def _count(number: int) -> str:
    return f"{number:,} document{'' if number == 1 else 's'}"
