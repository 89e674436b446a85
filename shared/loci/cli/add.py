"""`loci add`: put files into the lake, and say what was read out of each."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.added import STDIN, Added, Stage, add_each, content_of, text, view
from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    JsonOption,
    KeyOption,
    here_only,
    open_app,
)
from loci.core.errors import Refused
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from loci.files.api import Files
    from loci.files.file import FileVersion
    from loci.files.stages import Stage as FileStage

READABLE = frozenset(
    (
        *("xlsx", "xlsm", "xls", "ods", "csv", "tsv", "pdf", "docx", "pptx"),
        *("html", "htm", "json", "md", "markdown", "txt", "text", "log"),
    )
)
"""The endings of the files that --recursive takes. A file that is named is tried whatever its ending is."""


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files: xlsx, xls, ods, csv, tsv, pdf, docx, pptx, html, json, md, txt. - reads one.",
        ),
    ],
    recursive: Annotated[
        bool,
        typer.Option(
            "--recursive", "-r", help="Add the files in folders too, if they look readable and are not hidden."
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the file, if there is only one.", show_default=False),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Add them to the Loci server at URL.", show_default=False),
    ] = None,
    key: KeyOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add files to the lake, to be searched, cited and computed on.

    A file that has the name of an older one becomes its new version. The same content again changes nothing. A running
    server sees the result at once. The exit code is 1 if a file could not be read; the summary says why.

    With --url, the files are sent to another Loci server, which reads them: only those that it does not have yet.

    Examples: loci add report.pdf costs/*.xlsx; loci add -r ~/papers; pbpaste | loci add - --name notes.md
    """
    if name is not None and len(paths) != 1:
        raise Refused("--name is for one file", "Add the others without it", code="TOO_MANY_FILES")
    if name is None and STDIN in paths:
        raise Refused("A file from standard input needs a name", "Add --name NAME.md", code="NAME_MISSING")
    wanted = [*_expanded(paths, recursive=recursive)]
    if url is None:
        done = _here(wanted, name, data, config)
    else:
        from loci.cli.remote_add import send  # only --url needs it

        done = send(wanted, name, url, key or os.environ.get("LOCI_KEY"))
    typer.echo(json.dumps(view(done)) if as_json else text(done))
    if any(one.reason for one in done):
        raise typer.Exit(1)


def _here(wanted: Sequence[str], name: str | None, data: Path | None, config: Path | None) -> list[Added]:
    files = open_app(data, config, here_only("Run: loci add FILE --url https://…/mcp --key KEY")).files
    before = {one.id: one.newest for one in files.listed(LOCAL)}
    done = add_each(wanted, lambda path, stage: _added(files, path, name, before, stage))
    files.upkeep.embed_missing(LOCAL)
    return done


def _expanded(paths: Sequence[str], *, recursive: bool) -> Iterator[str]:
    """The files behind the arguments: those that are named, and those in folders, in order."""
    for path in paths:
        found = Path(path).expanduser()
        if path == STDIN or not found.is_dir():
            yield path  # one that is missing is told later
        elif recursive:
            yield from map(str, _walked(found))
        else:
            raise Refused(f"{path} is a folder", "To add the files in it: loci add --recursive", code="IS_A_FOLDER")


def _walked(folder: Path) -> Iterator[Path]:
    for one in sorted(folder.iterdir()):
        if one.name.startswith(".") or one.is_symlink():
            continue
        if one.is_dir():
            yield from _walked(one)
        elif one.is_file() and one.suffix.lower().lstrip(".") in READABLE:
            yield one


def _added(files: "Files", path: str, name: str | None, before: "Mapping[str, FileVersion]", stage: Stage) -> Added:
    from loci.files.tools.file_views import fetched  # slow to load, and `--help` does not need them
    from loci.files.tools.lake_tools import ingestion

    def watch(reached: "FileStage") -> None:
        stage(reached.text)

    content, own_name = content_of(path, lambda size: files.check_size(path, size))
    file = files.summarized(LOCAL, files.add(LOCAL, name or own_name, content, watch=watch), watch)
    newest, known = file.newest, before.get(file.id)
    is_new = known is None or (known.number, known.sha256) != (newest.number, newest.sha256)
    row, facts = (one.model_dump(mode="json") for one in (ingestion(file), fetched(file, [], None)))
    return Added(path, None, row, facts, is_new)
