"""What every command takes."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The data folder (or LOCI_DATA).", show_default=False),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The settings file; config.toml in the data folder by default.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
