"""A data folder: that it can be written, and its signing secret."""

import os
import secrets
from pathlib import Path

from loci.core.errors import Misconfigured
from loci.core.signing import SHORTEST_SECRET


def make_writable(folder: Path) -> None:
    """Make the folder where there is none; `Misconfigured` where nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Misconfigured(
            f"Cannot write to the data folder {folder} ({error.strerror})",
            "Choose another with --data DIR or LOCI_DATA",
        ) from None


def kept_secret(path: Path) -> str:
    """The data folder's secret, made at the first start; of two first starts one wins for both."""
    try:
        if not path.exists():
            _make(path)
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise Misconfigured(f"Cannot keep a secret in {path} ({error.strerror})", "Free some space there") from None
    if len(secret) < SHORTEST_SECRET:
        raise Misconfigured(f"{path} holds no secret", "Restore it from a copy, or remove it: sessions begin anew")
    return secret


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
        except OSError:  # this file system has no links
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
