"""`loci runner`: what run_memory_code needs."""

import typer

from loci.cli.options import ConfigOption, DataOption
from loci.core.settings import load_settings

cli = typer.Typer(help="The Python runner: its packages.", no_args_is_help=True, rich_markup_mode=None)


@cli.callback()
def options() -> None:
    """The Python runner: its packages."""


@cli.command()
def install(data: DataOption = None, config: ConfigOption = None) -> None:
    """Install the packages that run_memory_code has, in an environment of their own. What is there stays."""
    from loci.code.api import Code  # help answers at once

    folder = load_settings({"data": data}, config).runner_folder
    if Code.install_packages(folder, typer.echo):
        typer.echo("They are there: run_memory_code can be called")
    else:
        typer.echo(f"The runner's packages are in {folder}")
