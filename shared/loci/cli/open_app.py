"""Loci as a command finds it."""

from collections.abc import Callable
from pathlib import Path

from loci.app import App
from loci.core.settings import Settings, load_settings


def opened(
    data: Path | None, config: Path | None, check: Callable[[Settings], object] = lambda settings: settings
) -> App:
    """The product on the command's settings. `check` may refuse them, before anything is made."""
    settings = load_settings({"data": data}, config)
    check(settings)
    from loci.compose import build_app  # after the command line was understood: help answers at once

    return build_app(settings)
