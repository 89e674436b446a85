"""The command `loci`: its sub-commands, and how it reports a failure."""

import json
import os
import signal
import sys
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from loci.core.errors import LociError
from loci.core.full_disk import disk_error
from loci.core.version import version

COMMANDS: Final = {
    "serve": ("serve:serve", "Serve MCP over HTTP or stdio."),
    "ingest": ("ingest:ingest", "Ingest documents from folders and files."),
    "add": ("add:add", "Add files to the lake, so that agents can search them, cite them and compute on them."),
    "watch": ("watch:watch", "Watch the ingested folders and keep their documents current, until Ctrl-C."),
    "reindex": ("reindex:reindex", "Rebuild the search index from the stored texts."),
    "forget": ("documents:forget", "Remove documents from the index; files stay on disk."),
    "search": ("documents:search", "Search the documents, as the tool search_documents does."),
    "graph": ("documents:graph", "Write the graph of the documents as a page or JSON."),
    "export": ("moving:export", "Export everything that you have into one archive."),
    "import": ("moving:import_", "Import an archive of `loci export`, or an export of another program."),
    "doctor": ("doctor:doctor", "Check everything that Loci relies on."),
    "connect": ("connect:connect", "Connect an MCP client on this machine to Loci."),
    "call": ("call:call", "Call a tool and print its result."),
    "approve": (
        "approve:approve",
        "Approve a step of a workflow or a call that waits for you, or list the open questions.",
    ),
    "pin": (
        "credentials:pin",
        "Set or change your PIN, with which you approve what only a person may, on the pages and with loci approve.",
    ),
    "events": ("events:events", "Follow calls, workflows, approvals, ingestion and tool servers as they happen."),
    "log": (
        "log:log",
        "Show who called which tool, when, from which client, and how it ended: yours only, without contents.",
    ),
    "hook": ("hook:hook", "Answer a hook of a coding client, whose JSON is on standard input."),
    "files": ("files:cli", "The files of the lake."),
    "tools": (
        "tools:cli",
        "Add, import, list, test and remove tool servers, accept their changes, and look up the calls of their tools.",
    ),
    "skills": (
        "skills:cli",
        "Write skills for clients that read them from files: how Loci's tools are used, and code that worked.",
    ),
    "models": ("models:cli", "List, download and check the models that embed and rerank."),
    "keys": ("credentials:keys", "Create, list and revoke API keys."),
    "clients": (
        "credentials:clients",
        "List and end the connections of clients that a person has allowed on Loci's own page, without a key.",
    ),
    "owners": ("owners:cli", "List the owners, and delete everything that one of them has."),
    "share": (
        "share:share",
        "Share a folder of your documents with another owner of this server, who may read and search it.",
    ),
    "runner": ("models:runner", "Install the packages of the Python runner."),
    "service": ("service:cli", "Start Loci at login, and look whether it runs."),
}
"""Each command with its function, or commands of its own, and its line in the help, in the order of the help."""


class LazyCommands(TyperGroup):
    """The commands by their lines. The module of one is loaded when it is run: all of them take half a second."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}

    def get_params(self, ctx: Any) -> Any:
        """The options. One that is absent is False: to read a None, typer loads pydantic, half of a command's start."""
        params = super().get_params(ctx)
        for one in params:
            one.default = one.default or False
        return params

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, command_of(name) if name else None, rest


@cache
def command_of(name: str) -> Any:
    """The command with its options, from its module."""
    place, _, attribute = COMMANDS[name][0].partition(":")
    module = import_module(f"loci.cli.{place}")
    found = getattr(module, attribute)
    if isinstance(found, typer.Typer):
        made = typer.main.get_group(found)
        made.name = name
        return made
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name=name, epilog=getattr(module, "EXAMPLES", None))(found)
    return typer.main.get_command(alone)


cli = typer.Typer(
    name="loci",
    cls=LazyCommands,
    help="Loci: one MCP endpoint that gives an agent memory and tools.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loci {version()}")
        raise typer.Exit


@cli.callback()
def options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Loci: one MCP endpoint that gives an agent memory and tools."""


def main() -> None:
    """Run the command. Print a `LociError` as one line, with --json also as JSON, and exit with code 1."""
    if not sys.stderr:  # it was closed: no other file may get its descriptor, which child processes inherit
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it
        signal.signal(signal.SIGHUP, _end)
    try:
        cli(prog_name="loci")
    except (LociError, OSError) as raised:
        error = disk_error(raised) if isinstance(raised, OSError) else raised
        if error is None:
            raise
        print(f"loci: {error}", file=sys.stderr)
        if "--json" in takewhile(lambda argument: argument != "--", sys.argv[1:]):
            from loci.cli.terminal import error_view  # most commands end well

            try:
                print(json.dumps(error_view(error)), flush=True)
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter fails on it at its end
        sys.exit(1)


def _end(_: int, __: object) -> None:
    """End the command as SIGTERM does when its terminal is closed."""
    signal.raise_signal(signal.SIGTERM)
