"""`loci search`: a question answered in the terminal."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable
from loci.core.identity import LOCAL
from loci.search.ranking import Hit, Ranking

ROOM = 400


def search(
    query: Annotated[str, typer.Argument(help="The question, in plain words. Behind --, it may begin with a hyphen.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Documents at most.")] = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each result came to its place.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the documents, as search_documents does."""
    from loci.documents.ingest.index_writer import (
        COLLECTION,  # after the command line was understood: help answers at once
    )

    app = opened(data, config)
    ranking = app.documents.search.find(LOCAL, COLLECTION, query, limit=limit, room=ROOM)
    if as_json:
        typer.echo(json.dumps({"results": [_view(hit) for hit in ranking.hits], "reason": ranking.reason}))
        return
    for place, hit in enumerate(ranking.hits, 1):
        typer.echo(_shown(place, hit, explain=explain))
    if not ranking.hits:
        empty = not app.documents.library.documents(LOCAL)
        typer.echo("There are no documents yet. Take some in with: loci ingest PATH" if empty else ranking.reason)
    if explain:
        typer.echo(_stages(ranking))


def _view(hit: Hit) -> dict[str, object]:
    return {
        "id": hit.chunk.document,
        "score": hit.score,
        "source": hit.source,
        "heading": list(hit.chunk.heading),
        "lines": [hit.chunk.first_line, hit.chunk.last_line],
        "snippet": hit.snippet,
        "explain": asdict(hit.why),
    }


def _shown(place: int, hit: Hit, *, explain: bool) -> str:
    where = " > ".join([hit.chunk.document, *hit.chunk.heading])
    head = f"{place}. {where}  (lines {hit.chunk.first_line}-{hit.chunk.last_line})  {hit.score:.2f} {hit.source}"
    lines = [printable(head), *(f"   {printable(line)}" for line in hit.snippet.splitlines())]
    if explain:
        known = {name: value for name, value in asdict(hit.why).items() if value is not None}
        shown = (
            f"{name} {value:.3f}" if isinstance(value, float) else f"{name} #{value}" for name, value in known.items()
        )
        lines.append(f"   [{', '.join(shown)}]")
    return "\n".join([*lines, ""])


def _stages(ranking: Ranking) -> str:
    return "\n".join(
        f"{one.name:<15} {f'{one.ms:8.1f} ms' if one.ran else '   not run'}  {one.note}" for one in ranking.stages
    )
