"""`BlobStore` in a folder: one file for each key, replaced atomically, with signed links that expire."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from loci.adapters.local.data_folder import Reserve
from loci.core.atomic_write import replace_file, sync
from loci.core.errors import NotFound, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.signing import Seal
from loci.core.stores import OWNER_KEY, LinkedContent, checked_key, verified_content

# The characters that no file system folds or normalises.
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
QUOTED = tuple(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in range(256))
# Every name ends in one of these, and quoting never produces them: the key continues in the folder, the key continues
# there behind a slash, or it ends here.
MORE, SLASH, LEAF = "+", "=", "@"
LONGEST_NAME = 200
ATTEMPTS = 10
"""Attempts of a write if its folder is removed meanwhile, together with the last other blob in it."""


class FolderBlobs:
    """Blobs in a folder with a sub-folder for each owner, and in that one for each part of a key before a slash."""

    def __init__(
        self,
        folder: Path,
        seal: Seal,
        base_url: str,
        clock: Callable[[], float],
        reserve: Reserve | None = None,
    ) -> None:
        self._folder = folder
        self._reserve = reserve
        self._seal = seal
        self._base_url = base_url
        self._clock = clock

    def read(self, owner: Owner, key: str) -> bytes:
        return self._read(owner.key, checked_key(key))

    def write(self, owner: Owner, key: str, content: bytes, *, durable: bool = True) -> None:
        path = self._path(owner.key, checked_key(key))
        with _translate_errors(self._folder):
            if self._reserve:
                self._reserve.before_write()
            _write_below(path, content, durable=durable)

    def remove(self, owner: Owner, key: str) -> None:
        path = self._path(owner.key, checked_key(key))
        with _translate_errors(self._folder):
            path.unlink(missing_ok=True)
            with suppress(OSError):  # another blob is there
                while path.parent.name.endswith((SLASH, MORE)):
                    path = path.parent
                    path.rmdir()

    def owner_keys(self) -> list[str]:
        with _translate_errors(self._folder):
            folders = self._folder.iterdir() if self._folder.is_dir() else ()
            return sorted(one.name for one in folders if OWNER_KEY.fullmatch(one.name))

    def list(self, owner: Owner, prefix: str = "") -> list[str]:
        if prefix:
            checked_key(prefix)
        root = self._folder / owner.key
        with _translate_errors(self._folder):
            below = prefix.rpartition("/")[0]
            keys = _keys(root, self._path(owner.key, f"{below}/-").parent if "/" in prefix else root)
            return sorted((key for key in keys if key.startswith(prefix)), key=str.encode)

    def remove_all(self, owner: Owner) -> int:
        number = len(self.list(owner))
        with _translate_errors(self._folder), suppress(FileNotFoundError):
            shutil.rmtree(self._folder / owner.key)
        return number

    def link(self, owner: Owner, key: str, seconds: int, name: str | None = None) -> str:
        with _translate_errors(self._folder):
            if not self._path(owner.key, checked_key(key)).is_file():
                raise _missing(key)
        claims: JsonObject = {"owner": owner.key, "key": key, "until": self._clock() + seconds}
        token = self._seal.close(claims if name is None else {**claims, "name": name})
        return f"{self._base_url}/blobs/{token}"

    def follow(self, token: str) -> LinkedContent:
        claims = self._seal.open(token)
        if claims is None:
            raise NotFound("This link is not valid", "Ask for a new one", code="LINK_INVALID")
        key, until = str(claims["key"]), claims["until"]
        if not isinstance(until, int | float) or until <= self._clock():
            raise NotFound("This link has expired", "Ask for a new one", code="LINK_EXPIRED")
        return LinkedContent(str(claims.get("name") or key.rsplit("/", 1)[-1]), self._read(str(claims["owner"]), key))

    def _read(self, owner_key: str, key: str) -> bytes:
        with _translate_errors(self._folder):
            try:
                return verified_content(key, self._path(owner_key, key).read_bytes())
            except FileNotFoundError:
                raise _missing(key) from None

    def _path(self, owner_key: str, key: str) -> Path:
        return place_of(self._folder / owner_key, key)


def place_of(root: Path, key: str) -> Path:
    """The file of the blob below the owner's folder."""
    *above, last = key.split("/")
    folders = [name for part in above for name in _names(part, SLASH)]
    return root.joinpath(*folders, *_names(last, LEAF))


def _names(part: str, end: str) -> list[str]:
    """The file names of a part of a key. The last one ends in `end`."""
    name = "".join(QUOTED[byte] for byte in part.encode())
    pieces = [name[at : at + LONGEST_NAME] for at in range(0, len(name), LONGEST_NAME)] or [""]
    return [*(piece + MORE for piece in pieces[:-1]), pieces[-1] + end]


def key_at(path: Path) -> str:
    """The key of the blob at that path below the owner's folder."""
    return unquote("".join(f"{name[:-1]}/" if name.endswith(SLASH) else name[:-1] for name in path.parts))


def _keys(root: Path, start: Path) -> Iterator[str]:
    for folder, _, names in os.walk(start, onerror=_unless_missing):
        for name in names:
            if name.endswith(LEAF):
                yield key_at(Path(folder, name).relative_to(root))


def _unless_missing(error: OSError) -> None:
    """Ignore a missing folder: the owner has no blobs. Any other error counts: an unreadable folder is not empty."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _missing(key: str) -> NotFound:
    return NotFound(f"There is nothing under {key!r}", "Check the key", code="BLOB_NOT_FOUND")


def _write_below(path: Path, content: bytes, *, durable: bool) -> None:
    """Write the file and the folders above it."""
    for left in reversed(range(ATTEMPTS)):
        new = [folder for folder in path.parents if not folder.exists()] if durable else []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content, synced=durable)
            if durable:
                sync(path.parent)
            for folder in new:
                sync(folder.parent)
        except (FileNotFoundError, FileExistsError):  # a folder went away, before or while it was looked at
            if not left:
                raise
        else:
            return


@contextmanager
def _translate_errors(folder: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise disk_error(error, folder) or Unavailable(
            f"Cannot use {folder} ({error.strerror})", "Check its disk space and permissions, then try again"
        ) from error
