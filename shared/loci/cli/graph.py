"""`loci graph`: the documents and their links as a page, or as JSON."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable
from loci.core.errors import Refused
from loci.core.identity import LOCAL


def graph(
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page that needs no network.", show_default=False),
    ] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps/--no-gaps", help="Look for documents that are alike and not linked.")
    ] = True,
    title: Annotated[str, typer.Option("--title", metavar="T", help="The page's title.")] = "Loci",
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the documents and their links: on a page with --html, for programs with --json.

    The page holds the beginning of each document's text. A running server has the same page at /ui/graph.
    """
    if html is None and not as_json:
        raise Refused("There is nothing to make", "Say --html FILE, --json, or both", code="NOTHING_TO_MAKE")
    from loci.web.facts import facts  # after the command line was understood: help answers at once
    from loci.web.views import page_of, picture_for

    app = opened(data, config)
    shown = picture_for(app, LOCAL, with_gaps=gaps)
    if html is not None:
        written = _write(html, page_of(app, LOCAL, shown, title).html)
        counts = f"{len(shown.documents):,} documents, {len(shown.links):,} links, {len(shown.open):,} open links"
        found = f", {len(shown.gaps):,} gaps" if gaps else ""
        typer.echo(f"{printable(str(html))}: {counts}{found} ({written / 1e6:,.1f} MB)", err=as_json)
    if as_json:
        typer.echo(json.dumps(facts(shown)))


def _write(file: Path, text: str) -> int:
    """All of it or nothing; how many bytes."""
    content = text.encode()
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Refused(
            f"Cannot write {file} ({error.strerror})", "Name a file in a folder that is there", code="CANNOT_WRITE"
        ) from None
    return len(content)
