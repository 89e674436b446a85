"""Downloads one file: continues a broken download, and checks the result."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from loci.core.errors import LociError, NotFound, Unavailable
from loci.model_store.models_folder import CHUNK, sha256_of

if TYPE_CHECKING:
    from httpx2 import Client, Response

REDIRECTS = 5
PARTIAL_CONTENT = 206
SHA256, GIT_SHA1 = 64, 40
PLAIN = {"Accept-Encoding": "identity"}

OnBytes = Callable[[int], None]
"""Called with the number of bytes of the file that are here."""


@dataclass(frozen=True, slots=True)
class Server:
    """The name of a source of files, and advice for the person who must act if it fails."""

    name: str
    advice: str


@dataclass(frozen=True, slots=True)
class DownloadOffer:
    """The facts that a server gives about a file before the download."""

    url: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None
    """Its hash in git, if the server keeps it in git."""


class Downloads:
    """Downloads files. An unfinished file has `.part` after its name, and the next call continues it."""

    def __init__(self, client: "Client", server: Server) -> None:
        self._client = client
        self._server = server

    def offer(self, url: str) -> DownloadOffer:
        """Ask the server about the file. The model hub gives the hash in its first answer, before it redirects."""
        at = url
        for _ in range(REDIRECTS):
            answer = self._answer("HEAD", at)
            offer = _offer_in(url, answer)
            if not answer.is_redirect or offer.sha256 or offer.blob:
                return offer
            at = urljoin(at, answer.headers["location"])
        raise self._refused(url, "it redirects too often")

    def page(self, url: str) -> "Response":
        """A small page."""
        return self._answer("GET", url, follow=True)

    def fetch(self, offer: DownloadOffer, target: Path, on_bytes: OnBytes) -> str:
        """Download the file, check it against the offer, and return its SHA-256."""
        part = target.with_name(f"{target.name}.part")
        if offer.size is None:
            part.unlink(missing_ok=True)  # without a size it cannot be continued
        continued = part.exists()
        while not part.exists() or _size(part) < (offer.size or 0):
            self._stream(offer, part, on_bytes)
        found = sha256_of(part)
        if not _is_as_offered(part, found, offer):
            part.unlink()
            if continued:  # its beginning may be of another version of the file
                return self.fetch(offer, target, on_bytes)
            raise Unavailable(
                f"{self._server.name} sent another {target.name} than expected",
                "Try again. If it fails again, do not trust this server",
                code="MODEL_DAMAGED",
            )
        part.replace(target)
        return found

    def _stream(self, offer: DownloadOffer, part: Path, on_bytes: OnBytes) -> None:
        """Append one answer to the part. A broken connection keeps what arrived; if nothing did, that is an error."""
        import httpx2

        have = _size(part)
        headers = PLAIN | ({"Range": f"bytes={have}-"} if have else {})
        try:
            with self._client.stream("GET", offer.url, headers=headers, follow_redirects=True) as answer:
                self._check(offer.url, answer)
                with part.open("ab" if answer.status_code == PARTIAL_CONTENT else "wb") as file:
                    for piece in answer.iter_raw():
                        file.write(piece)
                        on_bytes(file.tell())
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


def _offer_in(url: str, answer: "Response") -> DownloadOffer:
    headers = answer.headers
    # A CDN sets ETags of its own. Only an ETag beside a commit is the hub's.
    tag = headers.get("x-linked-etag") or (headers.get("etag", "") if "x-repo-commit" in headers else "")
    tag = tag.removeprefix("W/").strip('"').lower()
    # The Content-Length of a redirect is that of its own body.
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
    # Git names a file by this hash; SHA-1 is not our choice.
    digest = hashlib.sha1(f"blob {_size(path)}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
