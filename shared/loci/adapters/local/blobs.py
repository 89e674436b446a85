"""`BlobStore` in a folder: one file for each key, replaced atomically, with signed links that expire."""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from loci.core.errors import NotFound, Unavailable
from loci.core.identity import Owner
from loci.core.signing import Seal
from loci.core.stores import Linked, checked_key

# The characters that no file system folds or normalises.
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
QUOTED = tuple(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in range(256))
# Every file name ends in one of these, and quoting never produces them: the key continues in the folder, or ends here.
MORE, LEAF = "+", "@"
LONGEST_NAME = 200


class FolderBlobs:
    """Blobs in a folder with a sub-folder for each owner."""

    def __init__(self, folder: Path, seal: Seal, base_url: str, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._seal = seal
        self._base_url = base_url
        self._clock = clock

    def read(self, owner: Owner, key: str) -> bytes:
        return self._read(owner.key, checked_key(key))

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:
        path = self._path(owner.key, checked_key(key))
        with _explained(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, content, durable=durable)

    def remove(self, owner: Owner, key: str) -> None:
        with _explained(self._folder):
            self._path(owner.key, checked_key(key)).unlink(missing_ok=True)

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        if prefix:
            checked_key(prefix)
        with _explained(self._folder):
            keys = _keys(self._folder / owner.key)
            return sorted((key for key in keys if key.startswith(prefix)), key=str.encode)

    def link(self, owner: Owner, key: str, seconds: int) -> str:
        with _explained(self._folder):
            if not self._path(owner.key, checked_key(key)).is_file():
                raise _missing(key)
        token = self._seal.close({"owner": owner.key, "key": key, "until": self._clock() + seconds})
        return f"{self._base_url}/blobs/{token}"

    def follow(self, token: str) -> Linked:
        claims = self._seal.open(token)
        if claims is None:
            raise NotFound("This link is not valid", "Ask for a new one", code="LINK_INVALID")
        key, until = str(claims["key"]), claims["until"]
        if not isinstance(until, int | float) or until <= self._clock():
            raise NotFound("This link has expired", "Ask for a new one", code="LINK_EXPIRED")
        return Linked(key.rsplit("/", 1)[-1], self._read(str(claims["owner"]), key))

    def _read(self, owner_key: str, key: str) -> bytes:
        with _explained(self._folder):
            try:
                return self._path(owner_key, key).read_bytes()
            except FileNotFoundError:
                raise _missing(key) from None

    def _path(self, owner_key: str, key: str) -> Path:
        name = "".join(QUOTED[byte] for byte in key.encode())
        pieces = [name[at : at + LONGEST_NAME] for at in range(0, len(name), LONGEST_NAME)]
        return self._folder.joinpath(owner_key, *(piece + MORE for piece in pieces[:-1]), pieces[-1] + LEAF)


def _keys(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root, onerror=_unless_missing):
        for name in names:
            if name.endswith(LEAF):
                path = Path(folder, name).relative_to(root)
                yield unquote("".join(part[:-1] for part in path.parts))


def _unless_missing(error: OSError) -> None:
    """Ignore a missing folder: the owner has no blobs. Any other error counts: an unreadable folder is not empty."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _missing(key: str) -> NotFound:
    return NotFound(f"There is nothing under {key!r}", "Check the key", code="BLOB_NOT_FOUND")


def _replace(path: Path, content: bytes, *, durable: bool) -> None:
    """Write the file in one step. A reader, or a start after a crash, sees the old file or the new one."""
    descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    if not durable:
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _explained(folder: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"Cannot use {folder} ({error.strerror})", "Check its disk space and permissions, then try again"
        ) from error
