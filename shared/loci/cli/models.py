"""`loci models` and `loci runner`: what is downloaded, the models and the packages of the Python runner."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption
from loci.core.errors import Unavailable
from loci.core.settings import Settings, load_settings
from loci.model_store.models import DEFAULTS, KNOWN, Manifest, ModelsFolder, known
from loci.model_store.pull import pull as pull_model

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

cli = typer.Typer(
    help="List, download and check the models that embed and rerank.", no_args_is_help=True, rich_markup_mode=None
)
runner = typer.Typer(help="Install the packages of the Python runner.", no_args_is_help=True, rich_markup_mode=None)


@cli.command(name="list")
def list_models(data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the models with their state, size and licence. A * marks the models that Loci uses."""
    settings = load_settings({"data": data}, config)
    models = ModelsFolder(settings.models_folder)
    rows = [_row(manifest, models, _in_use(models, settings)) for manifest in _listed(models)]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    width = max(len(manifest.name) for manifest in _listed(models))
    for row in rows:
        mark, default = "*" if row["used"] else " ", "default" if row["default"] else ""
        cells = f"{mark} {row['name']:<{width}}  {row['kind']:<8}  {row['state']:<7}  {_megabytes(row['size']):>9}"
        typer.echo(f"{cells}  {row['licence']:<10}  {default}".rstrip())
    typer.echo(f"The models folder is {models.folder}. Download a model with: loci models pull NAME")


@cli.command()
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names from `loci models list`. Default: the two default models.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download models.

    Complete files are not downloaded again.
    """
    settings = load_settings({"data": data}, config)
    models = ModelsFolder(settings.models_folder)
    wanted = [known(name) for name in names or DEFAULTS.values()]
    for manifest in wanted:
        with _progress(manifest.name, quiet=as_json) as (bar, task):
            placed = pull_model(
                manifest, models, settings.model_hub, lambda done, total: bar.update(task, completed=done, total=total)
            )
        if not as_json:
            typer.echo(f"{manifest.name} is installed: {_megabytes(placed.manifest.size)} in {placed.folder}")
    if as_json:
        typer.echo(json.dumps([_row(manifest, models, _in_use(models, settings)) for manifest in wanted]))


@cli.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Names of models. Default: every installed model.")] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the installed models.

    Loci reads every byte, and compares the hashes with the hashes of the download.
    """
    models = ModelsFolder(load_settings({"data": data}, config).models_folder)
    faults = {name: models.check(name) for name in names or models.names()}
    damaged = [name for name, found in faults.items() if found]
    if as_json:
        typer.echo(json.dumps(faults))
        raise typer.Exit(1 if damaged else 0)
    if not faults:
        typer.echo(f"There are no models in {models.folder}. Download the defaults with: loci models pull")
    else:
        for name, found in faults.items():
            typer.echo(f"{name}: {'; '.join(found) or 'complete'}")
    if damaged:
        raise Unavailable(
            f"Damaged: {', '.join(damaged)}", f"Run: loci models pull {' '.join(damaged)}", code="MODEL_DAMAGED"
        )


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


def _listed(models: ModelsFolder) -> list[Manifest]:
    """Return the known models, in their installed versions if they have one, and then other installed models."""
    names = [manifest.name for manifest in KNOWN]
    here = {name: placed.manifest for name in [*names, *models.names()] if (placed := models.recorded(name))}
    return [here.get(manifest.name, manifest) for manifest in KNOWN] + [
        manifest for name, manifest in here.items() if name not in names
    ]


def _in_use(models: ModelsFolder, settings: Settings) -> set[str]:
    found = (models.in_use("embedder", settings.embedder), models.in_use("reranker", settings.reranker))
    return {placed.manifest.name for placed in found if placed}


def _row(manifest: Manifest, models: ModelsFolder, used: set[str]) -> dict[str, str | int | bool | None]:
    return {
        "name": manifest.name,
        "kind": manifest.kind,
        "state": models.state(manifest.name),
        "size": manifest.size,
        "licence": manifest.licence,
        "default": manifest.name in DEFAULTS.values(),
        "used": manifest.name in used,
    }


def _megabytes(size: object) -> str:
    return f"{size / 1e6:,.0f} MB" if isinstance(size, int) else "?"


@contextmanager
def _progress(name: str, *, quiet: bool) -> "Generator[tuple[Progress, TaskID], None, None]":
    """Show a progress bar on standard error if it is a terminal."""
    from rich.console import Console  # takes 0.1 s to load
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        yield bar, bar.add_task(name, total=None)


if __name__ == "__main__":  # the layer with a model is built with this command alone
    cli()
