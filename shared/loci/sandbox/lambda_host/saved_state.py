"""An executor's variables and files on their way to the bucket and back: as bytes, which nobody opens on the way.

Each object has a link or a form that was signed for it. Nothing else of the bucket can be reached.
"""

import errno
import hashlib
import http.client
import io
import os
import secrets
import tarfile
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loci.sandbox.supervisor.executor_files import MOST_LOOKED_AT, FileStamps, file_stamps

SECONDS = 60.0
PIECE = 16 << 20
COPIED = 1 << 20
"""Bytes of a file that are copied at a time."""

Form = Mapping[str, Any]
"""A signed form of S3: where to send it, and its fields."""


class ObjectError(Exception):
    """An object could not be read or written."""


class CollectedVariables:
    """Collects what an executor hands over, and writes it once it has all: one that is cut off could not go on."""

    def __init__(self) -> None:
        self._content = bytearray()

    @property
    def size(self) -> int:
        return len(self._content)

    def take(self, content: bytes) -> None:
        """The next bytes."""
        self._content += content

    def write(self, forms: Sequence[Form]) -> list[str]:
        """Write the pieces with the forms, and return their hashes; `ObjectError` if that fails."""
        pieces = [bytes(self._content[at : at + PIECE]) for at in range(0, len(self._content), PIECE)]
        if len(pieces) > len(forms):
            raise ObjectError("there are more pieces than forms")
        for piece, form in zip(pieces, forms, strict=False):
            write_object(form, piece)
        return [hashlib.sha256(piece).hexdigest() for piece in pieces]


def read_variables(pieces: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """Read the pieces; `ObjectError` if one is gone or has changed."""
    for piece in pieces:
        content = read_object(piece["get"], 2 * PIECE)
        if hashlib.sha256(content).hexdigest() != piece["sha256"]:
            raise ObjectError("it is damaged")
        yield content


class SavedFolder:
    """An executor's work folder, as it was last saved."""

    def __init__(self) -> None:
        self._seen: FileStamps | None = {}

    def restore(self, folder: Path, where: Mapping[str, Any], most: int) -> None:
        """Unpack the saved files into the empty folder; `ObjectError` if they cannot be read."""
        content = read_object(where["get"], 2 * most)
        if hashlib.sha256(content).hexdigest() != where["sha256"]:
            raise ObjectError("they are damaged")
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise ObjectError(str(error)) from None
        self._seen = file_stamps(folder)

    def forget(self) -> None:
        """Note that the folder is empty."""
        self._seen = {}

    def renew(self) -> None:
        """Save the folder the next time, even if nothing has changed: what was saved last will expire."""
        self._seen = None

    def save(self, folder: Path, form: Form, most: int) -> str | None:
        """Save the folder and return the hash; None if nothing has changed. `ObjectError` if there is too much."""
        now = {name: stamp for name, stamp in file_stamps(folder).items() if "__pycache__" not in name}
        if now == self._seen:
            return None
        if len(now) >= MOST_LOOKED_AT or sum(size for size, _ in now.values()) > most:
            raise ObjectError(f"its files take more than {most >> 20} MB, or are more than {MOST_LOOKED_AT:,}")
        try:
            content = _archive(folder, now)
        except OSError as error:
            raise ObjectError(f"its files could not be read ({error.strerror})") from None
        write_object(form, content)
        self._seen = now
        return hashlib.sha256(content).hexdigest()


def _archive(folder: Path, files: FileStamps) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, (size, _) in sorted(files.items()):
            # The code does not run now. If it left a link in place of a file, the link is not followed.
            with open(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
                part = opened.read(size)
            entry = tarfile.TarInfo(name)
            entry.size = len(part)
            archive.addfile(entry, io.BytesIO(part))
    return content.getvalue()


def read_object(url: str, most: int) -> bytes:
    """Read the object; `ObjectError` if it is not there, or larger."""
    with _answered(urllib.request.Request(url)) as answer:  # noqa: S310 (the link is our own)
        content = answer.read(most + 1)
    if len(content) > most:
        raise ObjectError("it is larger than it may be")
    return content


def copy_object(url: str, path: Path, most: int) -> None:
    """Copy the object to a new file, piece by piece; `ObjectError` if it is not there, larger, or finds no room.

    Nothing is left of a file that was not copied whole.
    """
    try:
        with _answered(urllib.request.Request(url)) as answer, path.open("wb") as copied:  # noqa: S310
            while piece := answer.read(COPIED):
                if copied.tell() + len(piece) > most:
                    raise ObjectError("it is larger than it may be")
                copied.write(piece)
            if answer.length:  # urllib takes a broken connection for the end
                raise ObjectError("the connection broke")
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_object(form: Form, content: bytes) -> None:
    """Write the object; `ObjectError` if S3 refuses it, as if it is larger than the form allows."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in form["fields"].items()
    ]
    # The file comes last: S3 reads nothing behind it.
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="-"\r\n'
    parts += [f"{head}Content-Type: application/octet-stream\r\n\r\n".encode(), content]
    body = b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    with _answered(urllib.request.Request(form["url"], body, headers, method="POST")) as answer:  # noqa: S310
        answer.read(1000)


@contextmanager
def _answered(request: urllib.request.Request) -> Generator[http.client.HTTPResponse]:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            yield answer
    except urllib.error.HTTPError as error:
        error.close()
        raise ObjectError(f"S3 answers {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise ObjectError("the disk of the function is full") from None
        raise ObjectError(f"S3 cannot be reached ({error})") from None
