"""The options that commands share, and their output on a terminal: safe text, progress and short lists."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from loci.core.diagnosis import counted
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.json import JsonObject

if TYPE_CHECKING:
    from loci.app import App
    from loci.core.settings import Settings
    from loci.documents.ingest.index_writer import Progress
    from loci.documents.ingest.outcome import LeftOut, MissingFolder

SHOWN = 20


def value(help: str, name: str | None = None, metavar: str | None = None) -> Any:
    """An option without a default value."""
    return typer.Option(*([name] if name else []), metavar=metavar, help=help, show_default=False)


DataOption = Annotated[Path | None, value("The data folder (or set LOCI_DATA).", "--data", "DIR")]
ConfigOption = Annotated[
    Path | None, value("The settings file. Default: config.toml in the data folder.", "--config", "FILE")
]
Only = Literal["core", "documents", "files", "tools", "search"]
OnlyOption = Annotated[Only | None, value("List only these tools over stdio, as /mcp/PART does.", "--only")]
KeyOption = Annotated[str | None, value("The API key for that server (or set LOCI_KEY).", "--key", "KEY")]
ExcludeOption = Annotated[
    list[str] | None,
    value("Leave out what GLOB names, as a line of .gitignore. Default: the setting exclude.", "--exclude", "GLOB"),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask if there are very many documents.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def open_app(
    data: Path | None,
    config: Path | None,
    check: "Callable[[Settings], object]" = lambda settings: settings,
    **given: object,
) -> "App":
    """Assemble Loci from the command's settings. `check` may refuse them before anything is created."""
    settings = command_settings(data, config, **given)
    check(settings)
    from loci.compose import build_app  # slow to load, and `--help` does not need it
    from loci.runtimes.local import keep_room

    app = build_app(settings)
    if settings.mode == "embedded":
        keep_room(settings)
    return app


def here_only(advice: str) -> "Callable[[Settings], None]":
    """A check for a command that works only in the data folder of this machine.

    `advice`: what to do on AWS instead. BUCKET in it stands for the name of the bucket.
    """

    def check(settings: "Settings") -> None:
        if settings.mode != "embedded":
            told = advice.replace("BUCKET", settings.aws.bucket or "BUCKET")
            raise Refused("These are the settings of a deployment on AWS", told, code="NOT_EMBEDDED")

    return check


def command_settings(data: Path | None, config: Path | None, **given: object) -> "Settings":
    """The settings of a command that prints a result. It logs only errors, unless the log level is set."""
    from loci.core.settings import sourced_settings  # `--help` does not need it

    found = sourced_settings({"data": data, **given}, config)
    wants_more = "log_level" in found.sources
    return found.settings if wants_more else found.settings.model_copy(update={"log_level": "ERROR"})


def error_view(error: LociError) -> JsonObject:
    """The error as JSON."""
    told: JsonObject = {"code": error.code, "message": error.what, "resolution": error.resolution}
    return {"error": told, **error.details}


def printable(text: str) -> str:
    """Return the text without control characters: a name or a document may hold commands to the terminal."""
    return "".join(one if one.isprintable() or one == "\t" else ascii(one)[1:-1] for one in text)


def owner_name(owner: Owner) -> str:
    """Return the owner's tenant and subject, for messages."""
    return printable(owner.name)


def named_owner(tenant: str | None, subject: str | None) -> Owner:
    """Return the owner whom the options name; the person who uses this machine if they name none."""
    if (tenant is None) != (subject is None) or tenant == "" or subject == "":
        raise Refused("An owner has both a tenant and a subject", "Give both --tenant and --subject, or neither")
    return LOCAL if tenant is None or subject is None else Owner(tenant, subject)


@contextmanager
def shown_progress() -> "Generator[Progress, None, None]":
    """Show a progress bar on a terminal, or else print a line at each tenth, on standard error."""
    if not sys.stderr.isatty():
        yield _print_tenths
        return
    from rich.console import Console  # takes 0.1 s to load, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)

    def show(done: int, total: int, path: str, note: str = "", /) -> None:
        bar.start()  # only now: a question may come before
        bar.update(task, completed=done, total=total, description=printable(f"{path}: {note}" if note else path))

    try:
        yield show
    finally:
        bar.stop()


def _print_tenths(done: int, total: int, path: str, note: str = "", /) -> None:
    if note:
        typer.echo(printable(f"{path}: {note}"), err=True)
    elif done == total or done * 10 // total > (done - 1) * 10 // total:
        typer.echo(f"{done:,} of {total:,}", err=True)


def short_list(title: str, lines: Sequence[str]) -> list[str]:
    """Return the title and the first lines below it; empty if there are no lines."""
    more = [f"  and {len(lines) - SHOWN:,} more: --json lists them all"] if len(lines) > SHOWN else []
    return [f"{title}:", *(f"  {printable(line)}" for line in lines[:SHOWN]), *more] if lines else []


def left_out_lines(left_out: "LeftOut") -> list[str]:
    """Return the line about files and folders that were skipped on purpose; empty without any."""
    counts = [
        f"{left_out.hidden:,} hidden" if left_out.hidden else "",
        f"{left_out.modules:,} node_modules" if left_out.modules else "",
        f"{left_out.ignored:,} named by exclude or .gitignore" if left_out.ignored else "",
    ]
    told = ", ".join(one for one in counts if one)
    return [f"Left out (folders and documents): {told}."] if told else []


def kept_line(kept: "MissingFolder") -> str:
    """Return the line about a folder that is suddenly empty, whose documents Loci keeps."""
    documents = counted(kept.documents, "document")
    return printable(
        f"{kept.folder} is empty now. Loci keeps its {documents} until the files are back"
        f" (to remove them: loci forget {kept.folder})"
    )
