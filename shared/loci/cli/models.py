"""`loci models`: list, pull, check."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.core.errors import Unavailable
from loci.core.settings import Settings, load_settings
from loci.model_store.manifests import DEFAULTS, KNOWN, Manifest, known
from loci.model_store.models_folder import ModelsFolder
from loci.model_store.pull import pull as pull_model

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

cli = typer.Typer(help="Models: what embeds and reranks.", no_args_is_help=True, rich_markup_mode=None)


@cli.command(name="list")
def list_models(data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the models: whether they are here, how large, and under which licence. A * marks what is used."""
    settings = load_settings({"data": data}, config)
    shelf = ModelsFolder(settings.models_folder)
    rows = [_row(manifest, shelf, _used(shelf, settings)) for manifest in _manifests(shelf)]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    width = max(len(manifest.name) for manifest in _manifests(shelf))
    for row in rows:
        mark, default = "*" if row["used"] else " ", "default" if row["default"] else ""
        cells = f"{mark} {row['name']:<{width}}  {row['kind']:<8}  {row['state']:<7}  {_shown(row['size']):>9}"
        typer.echo(f"{cells}  {row['licence']:<10}  {default}".rstrip())
    typer.echo(f"They lie in {shelf.folder}. Bring one with: loci models pull NAME")


@cli.command()
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="The models, as `loci models list` names them; the two defaults without.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring models. What was cut off goes on where it was; what is here and whole stays."""
    settings = load_settings({"data": data}, config)
    shelf = ModelsFolder(settings.models_folder)
    wanted = [known(name) for name in names or DEFAULTS.values()]
    for manifest in wanted:
        with _progress(manifest.name, quiet=as_json) as (bar, task):
            placed = pull_model(
                manifest, shelf, settings.model_hub, lambda done, total: bar.update(task, completed=done, total=total)
            )
        if not as_json:
            typer.echo(f"{manifest.name} is here: {_shown(placed.manifest.size)} in {placed.folder}")
    if as_json:
        typer.echo(json.dumps([_row(manifest, shelf, _used(shelf, settings)) for manifest in wanted]))


@cli.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="The models; all that are here without.")] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read every byte of the models that are here: are they what was pulled?"""
    shelf = ModelsFolder(load_settings({"data": data}, config).models_folder)
    faults = {name: shelf.check(name) for name in names or shelf.names()}
    if as_json:
        typer.echo(json.dumps(faults))
    elif not faults:
        typer.echo(f"There are no models in {shelf.folder}. Bring the defaults with: loci models pull")
    else:
        for name, found in faults.items():
            typer.echo(f"{name}: {'; '.join(found) or 'whole'}")
    damaged = [name for name, found in faults.items() if found]
    if damaged:
        raise Unavailable(
            f"Not whole: {', '.join(damaged)}", f"Run: loci models pull {' '.join(damaged)}", code="MODEL_DAMAGED"
        )


def _manifests(shelf: ModelsFolder) -> list[Manifest]:
    """Those that Loci knows, as they lie here where they do; then others that lie here."""
    names = [manifest.name for manifest in KNOWN]
    here = {name: placed.manifest for name in [*names, *shelf.names()] if (placed := shelf.recorded(name))}
    return [here.get(manifest.name, manifest) for manifest in KNOWN] + [
        manifest for name, manifest in here.items() if name not in names
    ]


def _used(shelf: ModelsFolder, settings: Settings) -> set[str]:
    found = (shelf.in_use("embedder", settings.embedder), shelf.in_use("reranker", settings.reranker))
    return {placed.manifest.name for placed in found if placed}


def _row(manifest: Manifest, shelf: ModelsFolder, used: set[str]) -> dict[str, str | int | bool | None]:
    return {
        "name": manifest.name,
        "kind": manifest.kind,
        "state": shelf.state(manifest.name),
        "size": manifest.size,
        "licence": manifest.licence,
        "default": manifest.name in DEFAULTS.values(),
        "used": manifest.name in used,
    }


def _shown(size: object) -> str:
    return f"{size / 1e6:,.0f} MB" if isinstance(size, int) else "?"


@contextmanager
def _progress(name: str, *, quiet: bool) -> "Generator[tuple[Progress, TaskID], None, None]":
    """A bar on standard error, where somebody looks at it."""
    from rich.console import Console  # 0.1 s, which help does not pay
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


if __name__ == "__main__":  # where a container image is made, which has no other command
    cli()
