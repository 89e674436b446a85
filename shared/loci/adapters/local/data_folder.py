"""The data folder: makes sure that Loci can write to it, keeps the signing secret there, and sweeps it."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from loci.core.atomic_write import remove_if_left
from loci.core.errors import Misconfigured
from loci.core.full_disk import disk_error
from loci.core.signing import SHORTEST_SECRET

TEMPORARY = re.compile(r"\.[0-9a-f]{16}|\.[a-z0-9_]{8}|\.(?:secret|probe)-[0-9a-f]{8}|\.command-[0-9]+")
"""The names of temp files, of this version of Loci and of earlier ones."""


def make_writable(folder: Path) -> None:
    """Make the folder if it is missing. Raises `Misconfigured` if Loci cannot write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise disk_error(error, folder) or Misconfigured(
            f"Cannot write to the data folder {folder} ({error.strerror})",
            "Choose another with --data DIR or LOCI_DATA",
        ) from None


def load_secret(path: Path) -> str:
    """The secret in the file. The first start makes it; if two start at once, both get the same one."""
    try:
        if not path.exists():
            _make(path)
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        advice = "Check its permissions, and that there is space"
        raise disk_error(error, path) or Misconfigured(
            f"Cannot keep a secret in {path} ({error.strerror})", advice
        ) from None
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < SHORTEST_SECRET:
        raise Misconfigured(
            f"{path} holds no secret", "Restore it from a copy, or delete it: every session then starts again"
        )
    return secret


def sweep_data(folder: Path) -> None:
    """Remove what killed processes left: temp files, locks, and executors and readers that nobody had taken yet."""
    from loci.adapters.local.executors.executor_folder import ExecutorFolder  # a start does without

    for here, folders, names in os.walk(folder):
        if Path(here) == folder:
            folders[:] = {"blobs", "turns", "following"}.intersection(folders)
        for name in names:
            if Path(here) == folder / "turns" or TEMPORARY.fullmatch(name):
                remove_if_left(Path(here, name))
    for path in [*folder.glob("readers/executor-*"), *folder.glob("executors/executor-*")]:
        with suppress(OSError):
            ExecutorFolder(path).remove_left()


def _make(path: Path) -> None:
    scratch = path.with_name(f".secret-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(scratch, path)
        except FileExistsError:
            return
        except OSError:  # this file system has no hard links
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
