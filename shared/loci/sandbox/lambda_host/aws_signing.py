"""Requests to AWS that are signed with lent credentials (Signature Version 4): an SDK would take a second to load."""

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Lent:
    """Credentials that end soon, and that may do next to nothing."""

    id: str
    secret: str
    token: str


def signed(
    lent: Lent, region: str, service: str, headers: Mapping[str, str], body: bytes, now: float
) -> dict[str, str]:
    """The headers of a POST to `/`, with those that sign it. `Host` is among the given ones."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    sent = {**headers, "X-Amz-Date": moment, "X-Amz-Security-Token": lent.token}
    lines = sorted((name.lower(), value.strip()) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    request = "\n".join(
        ["POST", "/", "", *(f"{name}:{value}" for name, value in lines), "", names, hashlib.sha256(body).hexdigest()]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{lent.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {
        **sent,
        "Authorization": f"{ALGORITHM} Credential={lent.id}/{scope}, SignedHeaders={names}, Signature={signature}",
    }
