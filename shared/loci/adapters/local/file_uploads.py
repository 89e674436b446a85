"""`FileUploads` of the local server: a signed URL that takes the bytes of one file."""

from collections.abc import Callable

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import iso
from loci.core.signing import Seal
from loci.files.ports import ExpectedUpload, UploadTicket

SECONDS = 3600


class SealedUploads:
    """Signs URLs with the owner, the name and the size of a file. Nothing is stored until the bytes come."""

    def __init__(self, seal: Seal, base_url: str, clock: Callable[[], float]) -> None:
        self._seal = seal
        self._base_url = base_url
        self._clock = clock

    def begin(self, owner: Owner, name: str, bytes: int, *, whole: bool = False) -> UploadTicket:  # noqa: ARG002
        until = int(self._clock()) + SECONDS
        token = self._seal.close(
            {"tenant": owner.tenant, "subject": owner.subject, "name": name, "bytes": bytes, "until": until}
        )
        return UploadTicket(name, "PUT", f"{self._base_url}/files/{token}", iso(until))

    def finish(self, owner: Owner, upload_id: str) -> UploadTicket | str:  # noqa: ARG002
        """Refuse: a local server gets each file in one request."""
        raise NotFound("Files are not sent in parts here", "Send it to the URL of the upload", code="UPLOAD_UNKNOWN")

    def expected(self, token: str) -> ExpectedUpload:
        """The file that this token is for."""
        match self._seal.open(token):
            case {
                "tenant": str(tenant),
                "subject": str(subject),
                "name": str(name),
                "bytes": int(bytes),
                "until": int(until),
            }:
                if until <= self._clock():
                    raise NotFound("This link has expired", "Ask add_memory for a new one", code="LINK_EXPIRED")
                return ExpectedUpload(Owner(tenant, subject), name, bytes)
            case _:
                raise NotFound("This link is not valid", "Ask add_memory for a new one", code="LINK_INVALID")
