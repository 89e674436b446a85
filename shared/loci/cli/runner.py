"""`loci runner`: the packages of the Python runner."""

import typer

from loci.cli.terminal import ConfigOption, DataOption
from loci.core.settings import load_settings

cli = typer.Typer(help="Install the packages of the Python runner.", no_args_is_help=True, rich_markup_mode=None)


@cli.callback()
def options() -> None:
    """Install the packages of the Python runner."""


@cli.command()
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
