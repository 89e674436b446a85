"""The data folder: whether it can be used, and by whom."""

import shlex
import shutil
import tempfile
from pathlib import Path

from loci.core.finding import Finding
from loci.core.signing import SHORTEST_SECRET

LITTLE_SPACE = 500_000_000
"""Bytes."""
OTHERS = 0o077


def check_folder(folder: Path) -> Finding:
    """Nothing is made where there is none."""
    name = "data folder"
    if not folder.exists():
        return Finding(name, "warning", f"Nothing is in {folder} yet", "Begin with: loci ingest PATH, or loci serve")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        what = f"Cannot write to {folder} ({error.strerror})"
        return Finding(name, "fault", what, "Correct its permissions, or choose another with --data DIR or LOCI_DATA")
    if folder.stat().st_mode & OTHERS:
        return Finding(
            name, "warning", f"Other users may look into {folder}", f"Run: chmod 700 {shlex.quote(str(folder))}"
        )
    return Finding(name, "ok", f"{folder}, which only its user reads and writes")


def check_space(folder: Path) -> Finding | None:
    """Room for what comes."""
    if not folder.is_dir():
        return None
    free = shutil.disk_usage(folder).free
    what = f"{free / 1e9:,.1f} GB are free"
    if free < LITTLE_SPACE:
        return Finding("disk", "warning", f"Only {what}", "Free some: a full disk takes no document in")
    return Finding("disk", "ok", what)


def check_secret(folder: Path, given: int) -> Finding | None:
    """What sessions and links are signed with: `given` counts those that are set."""
    if given:
        return Finding("secret", "ok", f"{given} set")
    path = folder / "secret"
    if not folder.is_dir():
        return None
    if not path.exists():
        return Finding("secret", "ok", "None yet: the first start makes it")
    if len(path.read_text("utf-8").strip()) < SHORTEST_SECRET:
        advice = "Restore it from a copy, or remove it: sessions begin anew"
        return Finding("secret", "fault", f"{path} holds no secret", advice)
    if path.stat().st_mode & OTHERS:
        advice = (
            f"Run: chmod 600 {shlex.quote(str(path))}; if somebody may have read it, remove it: sessions begin anew"
        )
        return Finding("secret", "warning", f"Other users may read {path}", advice)
    return Finding("secret", "ok", f"{path}, which only its user reads")
