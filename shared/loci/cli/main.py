"""The command `loci`: its sub-commands, and how it reports a failure."""

import json
import os
import signal
import sys
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from loci.cli import capabilities, files, models, owners, service, tools
from loci.cli.add import add
from loci.cli.approve import approve
from loci.cli.call import EXAMPLES, call
from loci.cli.connect import EXAMPLES as CONNECT_EXAMPLES
from loci.cli.connect import connect
from loci.cli.credentials import clients, keys, pin
from loci.cli.doctor import doctor
from loci.cli.documents import forget, graph, search
from loci.cli.events import events
from loci.cli.ingest import ingest
from loci.cli.moving import export, import_
from loci.cli.reindex import reindex
from loci.cli.serve import serve
from loci.cli.terminal import ConfigOption, DataOption, error_view
from loci.cli.watch import watch
from loci.core.errors import LociError
from loci.core.full_disk import disk_error
from loci.core.settings import load_settings
from loci.core.version import version

cli = typer.Typer(
    name="loci",
    help="Loci: one MCP endpoint that gives an agent memory and tools.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
runner = typer.Typer(help="Install the packages of the Python runner.", no_args_is_help=True, rich_markup_mode=None)
cli.command()(serve)
cli.command()(ingest)
cli.command()(add)
cli.command()(watch)
cli.command()(reindex)
cli.command()(forget)
cli.command()(search)
cli.command()(graph)
cli.command()(export)
cli.command(name="import")(import_)
cli.command()(doctor)
cli.command(epilog=CONNECT_EXAMPLES)(connect)
cli.add_typer(files.cli, name="files")
tools.cli.add_typer(capabilities.cli, name="capabilities")
cli.add_typer(tools.cli, name="tools")
cli.command(epilog=EXAMPLES)(call)
cli.command()(approve)
cli.command()(pin)
cli.command()(events)
cli.add_typer(models.cli, name="models")
cli.add_typer(keys, name="keys")
cli.add_typer(clients, name="clients")
cli.add_typer(owners.cli, name="owners")
cli.add_typer(runner, name="runner")
cli.add_typer(service.cli, name="service")


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


@runner.callback()
def runner_options() -> None:
    """Install the packages of the Python runner."""


@runner.command()
def install(data: DataOption = None, config: ConfigOption = None) -> None:
    """Install the packages of run_memory_code.

    These are pandas, scikit-learn and others, in their own environment. If they are installed, nothing happens.
    """
    from loci.code.api import Code  # `--help` does not need it

    folder = load_settings({"data": data}, config).runner_folder
    if Code.install_packages(folder, typer.echo):
        typer.echo("The packages are installed: run_memory_code works now")
    else:
        typer.echo(f"The runner's packages are already installed in {folder}")


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
            try:
                print(json.dumps(error_view(error)), flush=True)
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter fails on it at its end
        sys.exit(1)


def _end(_: int, __: object) -> None:
    """End the command as SIGTERM does when its terminal is closed."""
    signal.raise_signal(signal.SIGTERM)
