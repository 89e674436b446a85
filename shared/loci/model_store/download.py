"""One file from a server: continued where it was cut off, and checked."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from loci.core.errors import LociError, NotFound, Unavailable
from loci.model_store.shelf import CHUNK, sha256_of

if TYPE_CHECKING:
    from httpx2 import Client, Response

REDIRECTS = 5
PARTIAL_CONTENT = 206
SHA256, GIT_SHA1 = 64, 40
PLAIN = {"Accept-Encoding": "identity"}

Seen = Callable[[int], None]
"""Hears how many bytes of the file are here."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where files come from, in words for whoever must act when it fails."""

    name: str
    advice: str


@dataclass(frozen=True, slots=True)
class DownloadOffer:
    """What a server says of a file before it is brought."""

    url: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None
    """Its hash in git, where it is stored as such."""


class Downloads:
    """Brings files. A file that is not whole yet has `.part` behind its name, and is gone on with at the next call."""

    def __init__(self, client: "Client", server: Server) -> None:
        self._client = client
        self._server = server

    def offer(self, url: str) -> DownloadOffer:
        """What the server says of the file: the model hub tells its hash, and does so before it sends elsewhere."""
        at = url
        for _ in range(REDIRECTS):
            answer = self._answer("HEAD", at)
            told = _told(url, answer)
            if not answer.is_redirect or told.sha256 or told.blob:
                return told
            at = urljoin(at, answer.headers["location"])
        raise self._refused(url, "it redirects without end")

    def page(self, url: str) -> "Response":
        """A small answer, whole."""
        return self._answer("GET", url, follow=True)

    def bring(self, offer: DownloadOffer, target: Path, seen: Seen) -> str:
        """Put the file there, whole and as offered; its SHA-256."""
        part = target.with_name(f"{target.name}.part")
        if offer.size is None:
            part.unlink(missing_ok=True)  # nobody can say whether it is whole
        continued = part.exists()
        while not part.exists() or _size(part) < (offer.size or 0):
            self._stream(offer, part, seen)
        found = sha256_of(part)
        if not _is_as_offered(part, found, offer):
            part.unlink()
            if continued:  # perhaps it began with another version of the file
                return self.bring(offer, target, seen)
            raise Unavailable(
                f"{self._server.name} sent another {target.name} than was expected",
                "Try again; if it stays, do not use what it sends",
                code="MODEL_DAMAGED",
            )
        part.replace(target)
        return found

    def _stream(self, offer: DownloadOffer, part: Path, seen: Seen) -> None:
        """One answer into the part. Where the connection breaks, what came stays; nothing at all is an error."""
        import httpx2

        have = _size(part)
        headers = PLAIN | ({"Range": f"bytes={have}-"} if have else {})
        try:
            with self._client.stream("GET", offer.url, headers=headers, follow_redirects=True) as answer:
                self._check(offer.url, answer)
                with part.open("ab" if answer.status_code == PARTIAL_CONTENT else "wb") as file:
                    for piece in answer.iter_raw():
                        file.write(piece)
                        seen(file.tell())
            broken = None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            broken = str(error) or type(error).__name__
        if _size(part) <= have or (broken and offer.size is None):
            raise self._unreached(broken or "it sent nothing")

    def _answer(self, method: str, url: str, *, follow: bool = False) -> "Response":
        import httpx2

        try:
            answer = self._client.request(method, url, headers=PLAIN, follow_redirects=follow)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreached(str(error) or type(error).__name__) from None
        self._check(url, answer)
        return answer

    def _check(self, url: str, answer: "Response") -> None:
        if answer.status_code == 404:
            raise NotFound(f"{self._server.name} has no {url}", self._server.advice, code="MODEL_UNKNOWN")
        if answer.is_error:
            raise self._refused(url, f"{answer.status_code} {answer.reason_phrase}")

    def _refused(self, url: str, why: str) -> LociError:
        return Unavailable(
            f"{self._server.name} did not send {url} ({why})", self._server.advice, code="HUB_UNREACHABLE"
        )

    def _unreached(self, why: str) -> LociError:
        return Unavailable(
            f"{self._server.name} cannot be reached ({why})", self._server.advice, code="HUB_UNREACHABLE"
        )


def _told(url: str, answer: "Response") -> DownloadOffer:
    headers = answer.headers
    # A CDN's own ETag is anything; only one beside a commit is the hub's.
    tag = headers.get("x-linked-etag") or (headers.get("etag", "") if "x-repo-commit" in headers else "")
    tag = tag.removeprefix("W/").strip('"').lower()
    # The length of a redirect is that of its own few words.
    size = headers.get("x-linked-size") or ("" if answer.is_redirect else headers.get("content-length", ""))
    return DownloadOffer(
        url,
        int(size) if size.isdecimal() else None,
        tag if len(tag) == SHA256 else None,
        tag if len(tag) == GIT_SHA1 else None,
    )


def _is_as_offered(path: Path, found: str, offer: DownloadOffer) -> bool:
    if offer.size is not None and _size(path) != offer.size:
        return False
    if offer.sha256:
        return found == offer.sha256
    return offer.blob is None or _git_hash(path) == offer.blob


def _git_hash(path: Path) -> str:
    # Git's name for a file; SHA-1 is not our choice.
    digest = hashlib.sha1(f"blob {_size(path)}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
