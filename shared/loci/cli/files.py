"""`loci files`: list, show, search, read again and forget the files of the lake."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption, open_app, printable
from loci.core.diagnosis import counted
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from loci.files.api import Files
    from loci.files.file import StoredFile

cli = typer.Typer(name="files", help="The files of the lake.", no_args_is_help=True, rich_markup_mode=None)
NAMED = 10
"""The most files that `forget` names in its question."""

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME|ID...", help="Names, paths or ids of files.")]


@cli.command("list")
def list_files(
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the files, with what was read from each."""
    lake = open_app(data, config).files
    if as_json:
        from loci.files.tools.file_views import (  # slow to load, and a person reads the text
            LakeOverviewAnswer,
            overview,
        )

        found = overview(lake.listed(LOCAL, newest_first=True), None)
        typer.echo(json.dumps(LakeOverviewAnswer(result=found).model_dump(mode="json")))
        return
    files = lake.listed(LOCAL)
    for one in files:
        typer.echo(printable(_line(one)))
    if not files:
        typer.echo("There are no files yet. Add some with: loci add FILE")


@cli.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="The name or the id of a file.")],
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a file: its status, its versions, its sheets, and remarks about parts that could not be read."""
    from loci.files.file import RULES  # slow to load, and `--help` does not need it

    files = open_app(data, config).files
    [file] = _found(files, [name])
    versions = files.versions(LOCAL, file.id)
    if as_json:
        from loci.files.tools.file_views import fetched  # slow to load, and a person reads the text

        typer.echo(json.dumps({file.id: fetched(file, versions, None).model_dump(mode="json")}))
        return
    shown = file.shown
    by = "" if shown.summary_by == RULES else f" (by {shown.summary_by})"
    lines = [_line(file), f"  {shown.summary}{by}" if shown.summary else ""]
    lines += [f"  Sheets: {', '.join(shown.sheets)}"] if shown.sheets else []
    lines += [f"  Remark: {one}" for one in shown.remarks]
    lines += [f"  Version {one.number}  {one.added_at}  {one.bytes:,} bytes  {one.sha256[:12]}" for one in versions]
    typer.echo("\n".join(printable(line) for line in lines if line))


@cli.command()
def search(
    query: Annotated[str, typer.Argument(help="The question, in plain words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="The most files to show.")] = 5,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the files, as the tool search_memory does, and show the matching passages with their places."""
    from loci.files.search_query import FileScope, parsed  # slow to load, and `--help` does not need it

    if not query.strip():
        raise Refused("The question is empty", 'Ask something, such as "travel costs in May"', code="EMPTY_QUERY")
    files = open_app(data, config).files
    found = files.search(LOCAL, parsed(rewritten=query), limit=limit, scope=FileScope())
    if as_json:
        from loci.files.tools.search_views import whole_answer  # slow to load, and a person reads the text

        typer.echo(json.dumps(whole_answer(found).model_dump(mode="json")))
        return
    for place, one in enumerate(found.files, 1):
        typer.echo(printable(f"{place}. {one.file.full_path}  {one.file.id}"))
        for part in one.passages:
            typer.echo(printable(f"   {part.where.label}: {' '.join(part.text.split())}"))
    if not found.files:
        typer.echo(found.reason or "Nothing was found.")


@cli.command()
def read(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME|ID]...", help="Names or ids of files.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Read all files again.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read files again, for example after an update or a changed limit. Default: the files that are not read yet.

    The exit code is 1 if a file could not be read.
    """
    files = open_app(data, config).files
    if names and every:
        raise Refused("Name files or give --all, not both", "Leave one of them out", code="BAD_ARGUMENTS")
    wanted = _found(files, names) if names else files.listed(LOCAL) if every else files.waiting(LOCAL)
    done: list[StoredFile] = []
    for one in wanted:
        try:
            done.append(files.summarized(LOCAL, files.read_again(LOCAL, one.id)))
        except LociError as error:
            typer.echo(printable(f"{one.full_path}: {error}"), err=True)
    files.upkeep.embed_missing(LOCAL)
    failed = len(wanted) - sum(one.newest.status == "okay" for one in done)
    if as_json:
        typer.echo(json.dumps(_states(done)))
    else:
        typer.echo("\n".join([*(printable(_line(one)) for one in done), f"{len(wanted) - failed} read, {failed} not."]))
    if failed:
        raise typer.Exit(1)


@cli.command()
def forget(
    names: NamesArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove files from the lake, with all their versions. It asks first.

    The original files on your disk stay.
    """
    files = open_app(data, config).files
    found = _found(files, names)
    if not yes:
        lines = [f"Loci will remove {counted(len(found), 'file')} with all versions:"]
        lines += [f"  {printable(one.full_path)}  ({one.id})" for one in found[:NAMED]]
        lines += [f"  and {len(found) - NAMED:,} more"] if len(found) > NAMED else []
        typer.echo("\n".join(lines), err=True)
        typer.confirm("Forget them?", abort=True, err=True)
    removed = files.remove(LOCAL, [one.id for one in found])
    if as_json:
        typer.echo(json.dumps(_states(removed)))
    else:
        typer.echo(f"Forgot {counted(len(removed), 'file')}.")


def _found(files: "Files", names: Sequence[str]) -> "list[StoredFile]":
    """The files with these names or ids, each once. If some are unknown, the error names them."""
    held = files.listed(LOCAL)
    known = {word: [one] for one in held for word in (one.id, one.full_path)}
    names = [normalize("NFC", one) for one in names]  # as the lake writes them
    for name in names:
        known.setdefault(name, [one for one in held if one.name == name])
    if unknown := [one for one in names if not known[one]]:
        advice = "`loci files list` lists their names"
        raise NotFound(f"There is no file {', '.join(map(repr, unknown))}", advice, code="MEMORY_NOT_FOUND")
    if several := next((one for one in names if len(known[one]) > 1), None):
        paths = ", ".join(one.full_path for one in known[several][:NAMED])
        raise Refused(f"Several files are named {several}", f"Give the path of one: {paths}", code="AMBIGUOUS")
    return [*{known[one][0].id: known[one][0] for one in names}.values()]


def _line(file: "StoredFile") -> str:
    newest, shown = file.newest, file.shown
    parts = [shown.format or "?", f"version {shown.number}", counted(shown.chunks, "passage")]
    parts += [counted(shown.tables, "table")] if shown.tables else []
    state = ""
    if newest.status != "okay":
        state = f"  version {newest.number} {newest.status}" + (f": {newest.reason}" if newest.reason else "")
    return f"{file.full_path}  {file.id}  ({', '.join(parts)}){state}"


def _states(files: "Sequence[StoredFile]") -> dict[str, object]:
    from loci.files.tools.lake_tools import IngestionAnswer, ingestion  # slow to load, and a person reads the text

    return IngestionAnswer(result=[ingestion(one) for one in files]).model_dump(mode="json")
