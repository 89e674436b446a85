"""`loci add`: add files to the lake, here or on another server, and report what was read from each."""

import hashlib
import json
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from loci.cli.destination import on_server
from loci.cli.remote_client import NoAnswerError, repeated
from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    JsonOption,
    KeyOption,
    error_view,
    here_only,
    open_app,
    printable,
    shown_progress,
    value,
)
from loci.core.diagnosis import counted
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import LOCAL
from loci.files.file import checked_path, file_id, name_of

if TYPE_CHECKING:
    from mcp import Client

    from loci.files.api import Files
    from loci.files.file import FileStage, FileVersion


READABLE = frozenset(
    (
        *("xlsx", "xlsm", "xls", "ods", "csv", "tsv", "pdf", "docx", "pptx"),
        *("html", "htm", "json", "md", "markdown", "txt", "text", "log"),
    )
)
"""The suffixes of the files that --recursive adds. A file that is named is added whatever its suffix."""
STDIN: Final = "-"
"""The path that stands for standard input."""
Stage = Callable[[str], None]
"""Called with the current step of a file."""
INLINE: Final = 256 << 10
"""The most bytes of a text that goes into a call. Larger and binary files are sent to a URL."""
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 4.0
"""Seconds between two checks of the state of a file."""
PATIENCE: Final = 900.0
"""Seconds to wait without any change of a file's state."""
SECONDS: Final = 300.0
"""Seconds that one request with bytes of a file may take."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to add."""

    file: str
    """The path on this machine, or the sign for standard input."""
    path: str
    """The path in the lake: the one below the folder that was named, or the name alone."""


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome for one file."""

    path: str
    failure: LociError | None = None
    """The error that kept it from being stored."""
    row: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer of the tool ingestion_status about the file, if it is stored."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer of the tool fetch_memory about the file, if it is stored."""
    is_new: bool = False

    @property
    def reason(self) -> str | None:
        """The reason why the file was not read, or None."""
        if self.failure is not None:
            return str(self.failure)
        return None if self.row["status"] == "okay" else self.row["reason"] or f"It is {self.row['status']}"

    @property
    def line(self) -> str:
        """The outcome as text."""
        if self.reason is not None:
            return f"{self.path}: {self.reason}"
        row, facts = self.row, self.facts
        parts = [facts.get("format") or "", f"version {row['version']}"]
        parts += [counted(facts["num_pages"], "page")] if facts.get("num_pages") else []
        parts += [counted(len(facts["sheet_names"]), "sheet")] if facts.get("sheet_names") else []
        parts += [counted(facts["num_tables"], "table")] if facts.get("num_tables") else []
        parts += [counted(row["num_chunks"], "passage")]
        unchanged = "" if self.is_new else "; unchanged"
        remarks = "".join(f"\n    {one}" for one in facts.get("remarks") or ())
        return f"{row.get('path') or row['name']}  {row['id']}  ({', '.join(parts)}{unchanged}){remarks}"


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files: xlsx, xls, ods, csv, tsv, pdf, docx, pptx, html, json, md, txt, png, jpg. - reads one.",
        ),
    ],
    recursive: Annotated[
        bool,
        typer.Option(
            "--recursive", "-r", help="Add the files in folders too, if they look readable and are not hidden."
        ),
    ] = False,
    name: Annotated[str | None, value("The name of the file, if there is only one.", "--name", "NAME")] = None,
    url: Annotated[str | None, value("Add them to the Loci server at URL.", "--url", "URL")] = None,
    key: KeyOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add files to the lake, so that agents can search them, cite them and compute on them.

    A file in a folder is known by its path below that folder, another by its name. If the lake has one of that path,
    it gets a new version. Adding the same content again changes nothing. A running server sees the result at once. The
    exit code is 1 if a file could not be read; the summary says why.

    With --url, send the files to another Loci server, which reads them. Files that it has already are not sent.

    Examples: loci add report.pdf costs/*.xlsx; loci add -r ~/papers; pbpaste | loci add - --name notes.md
    """
    if name is not None and len(paths) != 1:
        raise Refused("--name is for one file", "Add the others without it", code="TOO_MANY_FILES")
    if name is None and STDIN in paths:
        raise Refused("A file from standard input needs a name", "Add --name NAME.md", code="NAME_MISSING")
    wanted = _told_apart([*_expanded(paths, name, recursive=recursive)])
    sent_with = key or os.environ.get("LOCI_KEY")
    done = _here(wanted, data, config) if url is None else _send_files(wanted, url, sent_with)
    typer.echo(json.dumps(view(done)) if as_json else text(done))
    if any(one.reason for one in done):
        raise typer.Exit(1)


def _here(wanted: Sequence[Wanted], data: Path | None, config: Path | None) -> list[Added]:
    files = open_app(data, config, here_only("Run: loci add FILE --url https://…/mcp --key KEY")).files
    before = {one.id: one.newest for one in files.listed(LOCAL)}
    names = Counter(name_of(one.path) for one in wanted)
    alone = {one for one in wanted if names[name_of(one.path)] == 1}
    done = add_each(wanted, lambda one, stage: _added(files, one, before, stage, is_alone=one in alone))
    files.upkeep.embed_missing(LOCAL)
    return done


def _expanded(paths: Sequence[str], name: str | None, *, recursive: bool) -> Iterator[Wanted]:
    """The files that the arguments name, and the files in folders, in order."""
    for path in paths:
        found = Path(path).expanduser()
        if path == STDIN or not found.is_dir():
            yield Wanted(path, name or found.name)  # a missing file is reported later
        elif recursive:
            yield from (Wanted(str(one), name or one.relative_to(found).as_posix()) for one in _walked(found))
        else:
            again = f"loci add --recursive {shlex.quote(path)}"
            raise Refused(f"{path} is a folder", f"To add the files in it: {again}", code="IS_A_FOLDER")


def _told_apart(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Give different files that have the same path as much of the folders above them as tells them apart."""
    whole = {one.file: Path(one.file).expanduser().resolve().parts for one in wanted}
    paths = {whole[one.file]: one.path for one in wanted}
    while twice := {path for path, count in Counter(paths.values()).items() if count > 1}:
        for parts, path in paths.items():
            if path in twice:
                paths[parts] = "/".join(parts[-path.count("/") - 2 :])
    return [Wanted(one.file, paths[whole[one.file]]) for one in wanted]


def _walked(folder: Path) -> Iterator[Path]:
    for one in sorted(folder.iterdir()):
        if one.name.startswith(".") or one.is_symlink():
            continue
        if one.is_dir():
            yield from _walked(one)
        elif one.is_file() and one.suffix.lower().lstrip(".") in READABLE:
            yield one


def _added(
    files: "Files", wanted: Wanted, before: "Mapping[str, FileVersion]", stage: Stage, *, is_alone: bool
) -> Added:
    from loci.files.tools.file_views import fetched  # slow to load, and `--help` does not need them
    from loci.files.tools.lake_tools import ingestion

    def watch(reached: "FileStage") -> None:
        stage(reached.text)

    content = content_of(wanted.file, lambda size: files.check_size(wanted.file, size))
    file = files.summarized(LOCAL, files.add(LOCAL, wanted.path, content, is_alone=is_alone, watch=watch), watch)
    newest, known = file.newest, before.get(file.id)
    is_new = known is None or (known.number, known.sha256) != (newest.number, newest.sha256)
    row, facts = (one.model_dump(mode="json") for one in (ingestion(file), fetched(file, [], None)))
    return Added(wanted.file, None, row, facts, is_new)


def add_each(wanted: Sequence[Wanted], add: Callable[[Wanted, Stage], Added]) -> list[Added]:
    """Add the files one by one, and show the progress. If a file fails, the others are still added."""
    done: list[Added] = []
    with shown_progress() as progress:
        for number, one in enumerate(wanted, 1):

            def stage(text: str, path: str = one.file, before: int = number - 1) -> None:
                if sys.stderr.isatty():
                    progress(before, len(wanted), f"{path}: {text}")

            try:
                done.append(add(one, stage))
            except LociError as error:
                done.append(Added(one.file, error))
            if len(wanted) > 1 or done[-1].failure is None:
                progress(number, len(wanted), one.file)
    return done


def content_of(path: str, check_size: Callable[[int], None] = lambda _: None) -> bytes:
    """The content of a file, or of standard input."""
    if path == STDIN:
        return sys.stdin.buffer.read()
    found = Path(path).expanduser()
    try:
        check_size(found.stat().st_size)
        return found.read_bytes()
    except OSError as error:
        raise Refused(f"Cannot read it ({error.strerror})", "Correct the path or its permissions") from None


def view(done: Sequence[Added]) -> dict[str, object]:
    """The outcome as JSON: the answer of add_memory for all files, and the errors of files that are not stored.

    Raises the error if it is the only file.
    """
    match done:
        case [Added(path=path, failure=LociError() as error)]:
            raise type(error)(f"{path}: {error.what}", error.resolution, code=error.code)
        case _:
            failed = [{"path": one.path, **error_view(one.failure)} for one in done if one.failure]
            stored = [one.row for one in done if one.row]
            return {"result": stored, "upload": None, **({"failed": failed} if failed else {})}


def text(done: Sequence[Added]) -> str:
    """The outcome as text: each file, and the counts."""
    good = [one for one in done if one.reason is None]
    bad = [one for one in done if one.reason is not None]
    lines = ["\n".join(map(printable, one.line.split("\n"))) for one in good]
    lines += ["Not read:", *(f"  {printable(one.line)}" for one in bad)] if bad else []
    passages = sum(one.row["num_chunks"] for one in good)
    return "\n".join(
        [*lines, f"{counted(len(good), 'file')} read, {counted(passages, 'passage')}; {len(bad)} not read."]
    )


def _send_files(wanted: Sequence[Wanted], url: str, key: str | None) -> list[Added]:
    """Add the files to the server at the URL, one after the other."""
    import anyio.to_thread

    async def work(client: "Client") -> list[Added]:
        remote = RemoteAdd(client)
        return await anyio.to_thread.run_sync(lambda: add_each(wanted, remote.add), abandon_on_cancel=True)

    return on_server(url, key, work)


class RemoteAdd:
    """Adds one file after the other, on a thread beside the client's."""

    def __init__(self, client: "Client") -> None:
        import httpx2

        self._client = client
        self._http = httpx2.Client(timeout=SECONDS)

    def add(self, wanted: Wanted, stage: Stage) -> Added:
        """Send the file if the server does not have it, and wait until the server has read it."""
        content, path = content_of(wanted.file), checked_path(wanted.path)
        if not content:
            raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
        digest = hashlib.sha256(content).hexdigest()
        held = self._held(path, file_id(path))
        is_new = held is None or (held["sha256"], held["status"]) != (digest, "okay")
        id = self._send(path, content, stage) if is_new else file_id(path)
        row = self._read(path, id, digest, stage)
        facts = self._ask("fetch_memory", memory_ids=[row["id"]]).get(row["id"], {})
        return Added(wanted.file, None, row, facts, is_new)

    def _send(self, path: str, content: bytes, stage: Stage) -> str:
        """Send the file and return the id that the server tells: an older one knows a file by its name alone."""
        size = len(content)
        if (text := _text(content)) is not None:
            return self._ask("add_memory", name=path, text=text)["result"][0]["id"]
        upload: dict[str, Any] = self._ask("add_memory", name=path, upload_bytes=size)["upload"]
        id: str = upload["memory_id"]
        if "parts" not in upload:
            stage(f"sending {size / 2**20:.0f} MB")
            self._request(upload, content)
        while "parts" in upload:
            for part in cast("list[dict[str, Any]]", upload["parts"]):
                stage(f"sent {part['from'] >> 20} of {size >> 20} MB")
                self._request(part | {"method": "PUT"}, content[part["from"] : part["to"]])
            upload = self._ask("add_memory", upload_id=upload["upload_id"]).get("upload") or {}
        return id

    def _request(self, upload: Row, content: bytes) -> None:
        """Send the bytes as the upload ticket says, with retries."""
        import httpx2

        url = str(upload["url"])
        try:
            if upload["method"] == "POST":
                repeated(lambda: self._http.post(url, data=upload["fields"], files={"file": ("file", content)}))
            else:
                repeated(lambda: self._http.put(url, content=content))
        except NoAnswerError as failed:
            where = f"{httpx2.URL(url).scheme}://{httpx2.URL(url).netloc.decode()}"
            what = f"The file could not be sent to {where} ({failed})"
            raise Unavailable(what, "Run the same command again") from None

    def _read(self, path: str, id: str, digest: str, stage: Stage) -> Row:
        """Wait until the server has read this content, or has failed."""
        pause, waited = FIRST_PAUSE, 0.0
        known: Row | None = None
        while waited < PATIENCE:
            row = self._held(path, id)
            if row is not None and row["sha256"] == digest and row["status"] in ("okay", "error"):
                return row
            if row != known:
                known, waited = row, 0.0
            stage(str(row.get("stage") or row["status"]) if row and row["sha256"] == digest else "is on its way")
            time.sleep(pause)
            waited += pause
            pause = min(pause * 1.5, LONGEST_PAUSE)
        raise Unavailable(f"The server does not read it ({known and known['reason']})", "Ask ingestion_status later")

    def _held(self, path: str, id: str) -> Row | None:
        """The state of the file at this path: the file with this id, or one that was known by its name before."""
        row = self._status(id)
        if row is None and (name := name_of(path)) != path:
            older = self._status(file_id(name))
            return older if older and older.get("path") == path else None
        return row

    def _status(self, id: str) -> Row | None:
        """The state of the file, or None if the server does not know the id."""
        try:
            return self._ask("ingestion_status", memory_ids=[id])["result"][0]
        except LociError as error:
            if error.code != "MEMORY_NOT_FOUND":
                raise
            return None

    def _ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        import anyio.from_thread

        result = anyio.from_thread.run(self._client.call_tool, tool, arguments)
        if not result.is_error:
            return cast("dict[str, Any]", result.structured_content or {})
        from loci.mcp.errors import ERROR  # slow to load, and `--help` does not need it

        said = " ".join(block.text for block in result.content if block.type == "text")
        error = cast("dict[str, str]", (result.meta or {}).get(ERROR) or {})
        advice = error.get("resolution", "Check that the server is current")
        raise Refused(error.get("message", said), advice, code=error.get("code"))


def _text(content: bytes) -> str | None:
    """The content as text, if it can be part of a call."""
    try:
        return content.decode() if len(content) <= INLINE else None
    except UnicodeDecodeError:
        return None
