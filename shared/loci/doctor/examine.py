"""Everything that is checked, in order."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from loci.app import App
from loci.code.module import machine_checks
from loci.core.errors import LociError
from loci.core.finding import Finding, checked
from loci.core.settings import Settings, sourced_settings
from loci.doctor.data_folder import check_folder, check_secret, check_space
from loci.doctor.deployment import check_cloud
from loci.doctor.models_check import check_models
from loci.doctor.settings_check import check_settings
from loci.documents.checks.owner_checks import check_owners


@dataclass(frozen=True, slots=True)
class Openers:
    """How what is checked is reached."""

    app: Callable[[Settings], App]
    database: Callable[[Settings], str | None]
    """What is to be said of the embedded database; None where there is none yet."""
    secrets: Callable[[Settings], int]
    """How many signing secrets a deployment on AWS accepts."""


def examine(
    given: Mapping[str, object], config: Path | None, openers: Openers, *, fix: bool = False
) -> Iterator[Finding]:
    """Each check's finding as soon as it is known. With `fix`, what can be put right without loss is."""
    try:
        told = sourced_settings(given, config)
    except LociError as error:
        yield Finding("settings", "fault", error.what, error.resolution)
        return
    yield from check_settings(told)
    settings = told.settings
    if settings.mode == "embedded":
        yield from _machine(settings)
        yield from check_models(settings)
        yield from machine_checks(settings)
        stores = _database(settings, openers)
        yield from stores
        if not stores or any(one.state != "ok" for one in stores):
            return
    elif settings.inference_function is None:
        yield from check_models(settings)
    try:
        app = openers.app(_unsigned(settings))
    except LociError as error:
        yield Finding("stores", "fault", error.what, error.resolution)
        return
    if settings.mode == "aws":
        cloud = check_cloud(app, lambda: openers.secrets(settings))
        yield from cloud
        if any(one.state == "fault" for one in cloud) or settings.search_url is None:
            return
    yield from check_owners(app, fix=fix)


def _machine(settings: Settings) -> Iterator[Finding]:
    yield from checked("data folder", lambda: check_folder(settings.data))
    yield from checked("disk", lambda: check_space(settings.data))
    yield from checked("secret", lambda: check_secret(settings.data, len(settings.secrets)))


def _database(settings: Settings, openers: Openers) -> list[Finding]:
    """None where there is no data folder, of which that was said."""
    if not settings.data.is_dir():
        return []
    return checked("database", lambda: _opened(openers.database(settings)))


def _opened(said: str | None) -> Finding:
    if said is None:
        return Finding("database", "warning", "There is none yet", "Begin with: loci ingest PATH, or loci serve")
    return Finding("database", "ok", said)


def _unsigned(settings: Settings) -> Settings:
    """With a secret of its own: nothing is signed here, and the real one is neither needed nor made."""
    return settings.model_copy(update={"secrets": (SecretStr(secrets.token_hex(32)),)})
