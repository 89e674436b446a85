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
from typer.core import TyperGroup

from loci.core.errors import LociError
from loci.core.full_disk import disk_error
from loci.core.version import version

COMMANDS: Final = {
    "serve": "serve:serve",
    "ingest": "ingest:ingest",
    "add": "add:add",
    "watch": "watch:watch",
    "reindex": "reindex:reindex",
    "forget": "documents:forget",
    "search": "documents:search",
    "graph": "documents:graph",
    "export": "moving:export",
    "import": "moving:import_",
    "doctor": "doctor:doctor",
    "connect": "connect:connect",
    "call": "call:call",
    "approve": "approve:approve",
    "pin": "credentials:pin",
    "events": "events:events",
    "files": "files:cli",
    "tools": "tools:cli",
    "models": "models:cli",
    "keys": "credentials:keys",
    "clients": "credentials:clients",
    "owners": "owners:cli",
    "runner": "models:runner",
    "service": "service:cli",
}
"""The function, or the commands of its own, of each command, in the order of the help."""


class LazyCommands(TyperGroup):
    """The commands. The module of one is loaded when the command is asked for: all of them take half a second."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = dict.fromkeys(COMMANDS)  # pyright: ignore[reportAttributeAccessIssue] (the names are read)

    def get_params(self, ctx: Any) -> Any:
        """The options. One that is absent is False: to read a None, typer loads pydantic, half of a command's start."""
        params = super().get_params(ctx)
        for one in params:
            one.default = one.default or False
        return params

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (typer gives it)
        return _command(cmd_name) if cmd_name in COMMANDS else None


@cache
def _command(name: str) -> Any:
    place, _, attribute = COMMANDS[name].partition(":")
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
