"""`loci search`, `loci graph` and `loci forget`: find, show and remove documents."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption, open_app, printable, value
from loci.core.atomic_write import replace_file
from loci.core.diagnosis import counted, size_shown
from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL
from loci.documents.document import Document, is_session

if TYPE_CHECKING:
    from loci.app import App
    from loci.documents.tools.search_results import SearchResult
    from loci.graph.gaps import Gap
    from loci.graph.picture import Picture
    from loci.search.ranking import Ranking

NAMED = 10
"""The most documents that `loci forget` names in its question."""


def search(
    query: Annotated[
        str, typer.Argument(help="The question, in plain words. Put -- before it if it begins with a hyphen.")
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="The most documents to show.")] = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each result has its place.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the documents, as the tool search_documents does.

    It shows all results with their passages, without the tool's limit of tokens.
    """
    from loci.documents.tools.search_results import PASSAGE, render_results  # slow to load; `--help` does not need it

    found = open_app(data, config).sharing.search(LOCAL, query, limit=limit, room=PASSAGE)
    shown = render_results(found, query, explain=explain, tokens=sys.maxsize)
    if as_json:
        typer.echo(json.dumps(shown.model_dump(mode="json", exclude_none=not explain)))
        return
    for place, row in enumerate(shown.results, 1):
        typer.echo(_row_text(place, row))
    if not shown.results:
        typer.echo(shown.metadata.reason)
    if explain:
        typer.echo(_stages(found.ranking))


def graph(
    html: Annotated[Path | None, value("Write a page that works without a network.", "--html", "FILE")] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps/--no-gaps", help="Look for similar documents that no link joins.")
    ] = True,
    title: Annotated[str, typer.Option("--title", metavar="T", help="The title of the page.")] = "Loci",
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the graph of the documents as a page or JSON.

    The page contains the beginning of each document. A running server has the same page at /ui/graph.
    """
    if html is None and not as_json:
        raise Refused("No output was asked for", "Add --html FILE, --json, or both", code="NOTHING_TO_MAKE")
    from loci.web.graph_routes import facts, page_of  # slow to load, and `--help` does not need them

    app = open_app(data, config)
    shown = app.graph.picture(LOCAL, with_gaps=gaps).picture()
    if html is not None:
        written = _write(html, page_of(app, LOCAL, shown, title).html)
        counts = f"{len(shown.documents):,} documents, {len(shown.links):,} links, {len(shown.open):,} open links"
        found = f", {len(shown.gaps):,} gaps" if gaps else ""
        typer.echo(f"{printable(str(html))}: {counts}{found} ({size_shown(written)})", err=as_json)
    if as_json:
        typer.echo(json.dumps(facts(shown, _explained_gaps(app, shown))))


def forget(
    names: Annotated[
        list[str], typer.Argument(metavar="PATH|ID...", help="Folders, paths of documents, or ids of documents.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove documents from the index; files stay on disk.

    If the text of a document is stored in Loci only, the command deletes it. It asks first. Once no session with a
    coding agent is left, servers no longer read new ones.
    """

    def confirm(found: "Sequence[Document]") -> None:
        if not yes:
            typer.echo(_question(found), err=True)
            typer.confirm("Forget them?", abort=True, err=True)

    app = open_app(data, config)
    documents: Sequence[Document] = ()
    try:
        documents = app.documents.forget(LOCAL, names, confirm)
    except NotFound:
        if not {app.sessions.folder.name, app.sessions.folder.path}.issuperset(one.rstrip("/") for one in names):
            raise
        app.sessions.forget_all(LOCAL)
    app.sessions.forget(LOCAL, documents)
    if as_json:
        typer.echo(json.dumps({"forgotten": sorted(one.id for one in documents)}))
    else:
        typer.echo(f"Forgot {counted(len(documents), 'document')}.")


def _explained_gaps(app: "App", shown: "Picture") -> "list[Gap]":
    """The gaps of the picture, with the reasons for them."""
    from loci.graph.picture import MAX_GAPS, gap_threshold  # slow to load, and `--help` does not need it

    if shown.compared_by is None:
        return []
    found = app.graph.gaps(LOCAL, limit=MAX_GAPS, threshold=gap_threshold(shown.compared_by))
    pairs = {(one.source.id, one.target.id) for one in shown.gaps}
    return [one for one in found if (one.source.id, one.target.id) in pairs]


def _lines(lines: str) -> str:
    first, _, last = lines.partition("-")
    return f"line {first}" if first == last else f"lines {lines}"


def _row_text(place: int, row: "SearchResult") -> str:
    """A result as text: the document and its passages, as the tool shows them."""
    where = f"{row.id} > {row.heading or row.preview}"
    at = f"  ({_lines(row.lines)})" if row.lines else ""
    lines = [printable(f"{place}. {where}{at}  {row.score:.2f} {row.source}")]
    remarks = [one for one in (row.validity, row.trust and f"foreign: {row.sources}", row.claim) if one]
    lines += [f"   [{printable('; '.join(remarks))}]"] if remarks else []
    lines += _inset(row.snippet)
    for one in row.passages or ():
        lines += [printable(f"   {one.heading or 'and'}  ({_lines(one.lines)})"), *_inset(one.text)]
    if row.explain:
        known = {name: value for name, value in asdict(row.explain).items() if value is not None}
        shown = (
            f"{name} {value:.3f}" if isinstance(value, float) else f"{name} #{value}" for name, value in known.items()
        )
        lines.append(f"   [{', '.join(shown)}]")
    return "\n".join([*lines, ""])


def _inset(text: str) -> list[str]:
    return [f"   {printable(line)}" for line in text.splitlines()]


def _stages(ranking: "Ranking") -> str:
    return "\n".join(
        f"{one.stage:<15} {f'{one.ms:8.1f} ms' if one.ran else '   not run'}  {one.note}" for one in ranking.stages
    )


def _write(file: Path, text: str) -> int:
    """Write the whole text or nothing, and return the number of bytes."""
    content = text.encode()
    try:
        replace_file(file, content, mode=None, synced=False)
    except OSError as error:
        raise Refused(
            f"Cannot write {file} ({error.strerror})", "Name a file in an existing folder", code="CANNOT_WRITE"
        ) from None
    return len(content)


def _question(documents: "Sequence[Document]") -> str:
    stored = sum(document.root is None or is_session(document.properties) for document in documents)
    lines = [f"Loci will remove {counted(len(documents), 'document')} from the index:"]
    lines += [f"  {printable(document.path)}  ({document.id})" for document in documents[:NAMED]]
    lines += [f"  and {len(documents) - NAMED:,} more"] if len(documents) > NAMED else []
    if stored < len(documents):
        lines.append("Files on this machine stay; `loci ingest` adds them again.")
    if stored:
        lines.append(f"The text of {counted(stored, 'document')} exists in Loci only, and will be deleted.")
    return "\n".join(lines)
