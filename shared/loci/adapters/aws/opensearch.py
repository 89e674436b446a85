"""The OpenSearch client, the translation of its errors, and batches of writes."""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from loci.adapters.aws.clients import SET_CREDENTIALS, SET_REGION, new_session
from loci.core.deadline import time_for
from loci.core.errors import Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

Json = dict[str, Any]
"""A JSON object in a request or an answer."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECONDS = 20.0
SHARE = 1 / 4
"""The share of a request's time for one answer: 6 s behind the API."""
CONNECTIONS = 10
BLOCKED = "index write (api)"
"""The words of OpenSearch for a block that `loci reindex` has set."""
LARGEST_REQUEST = 4 * 1024**2
"""The most bytes of a request. The smallest domains accept 10 MiB."""


class OpenSearchCluster:
    """A domain of Amazon OpenSearch Service, or a node on this machine. Its client is loaded at the first call.

    Serverless collections do not work: vector collections support neither custom ids nor a refresh.
    """

    def __init__(self, url: str) -> None:
        if find_spec("opensearchpy") is None:
            raise Misconfigured(
                "OpenSearch needs opensearch-py", "Install Loci with its extra: pip install 'loci-mcp[aws]'"
            )
        self.url = url

    @cached_property
    def client(self) -> "OpenSearch":
        from opensearchpy import OpenSearch, Urllib3HttpConnection  # takes 0.2 s; only a search needs it

        class InTime(Urllib3HttpConnection):
            """Waits for each answer no longer than the request may."""

            def perform_request(self, *asked: Any, timeout: float | None = None, **more: Any) -> Any:
                seconds = time_for(timeout or SECONDS, of_all=SHARE)
                return super().perform_request(*asked, timeout=seconds, **more)  # pyright: ignore[reportUnknownMemberType]

        signed: dict[str, Any] = {} if self._is_local() else {"http_auth": self._signature()}
        return OpenSearch(
            self.url,
            connection_class=InTime,
            pool_maxsize=CONNECTIONS,
            timeout=SECONDS,
            max_retries=1,
            retry_on_timeout=True,  # safe: every write has an id, so repeating it changes nothing
            retry_on_status=(429, 502, 503, 504),
            **signed,
        )

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "client" in self.__dict__:
            self.client.close()

    def _is_local(self) -> bool:
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname in LOOPBACK

    def _signature(self) -> object:
        from opensearchpy import Urllib3AWSV4SignerAuth

        session = new_session()
        credentials, region = session.get_credentials(), session.region_name
        if credentials is None:
            raise Misconfigured(f"{self.url} takes only signed requests, and there are no credentials", SET_CREDENTIALS)
        if not region:
            raise Misconfigured(f"{self.url} takes only signed requests, and there is no region", SET_REGION)
        return Urllib3AWSV4SignerAuth(credentials, region, "es")


def put_action(id: str, source: Json, routing: str | None = None) -> bytes:
    """The write that stores a chunk."""
    return _line({"index": {"_id": id, **_routed(routing)}}) + _line(source)


def delete_action(id: str, routing: str | None = None) -> bytes:
    """The write that deletes a chunk."""
    return _line({"delete": {"_id": id, **_routed(routing)}})


def _routed(routing: str | None) -> Json:
    return {"routing": routing} if routing else {}


def send(
    client: "OpenSearch", index: str, routing: str | None, writes: Iterable[bytes], *, is_later: bool = False
) -> None:
    """Send all writes in order, in as few requests as possible. Searches see them at once, or a moment later.

    Without one `routing` for all of them, each write has its own.
    """
    some: list[bytes] = []
    size = 0
    for write in writes:
        if some and size + len(write) > LARGEST_REQUEST:
            _send(client, index, routing, some, refresh="false")
            some, size = [], 0
        some.append(write)
        size += len(write)
    if some:
        _send(client, index, routing, some, refresh="false" if is_later else "true")


def _send(client: "OpenSearch", index: str, routing: str | None, writes: list[bytes], *, refresh: str) -> None:
    params = {"refresh": refresh, **_routed(routing)}
    answer = client.bulk(body=b"".join(writes), index=index, params=params)
    errors = [done["index"] for done in answer["items"] if "error" in done.get("index", {})]
    if not errors:
        return
    status, reason = errors[0]["status"], errors[0]["error"].get("reason", "")
    if status == 400:
        raise Refused(f"OpenSearch cannot hold a chunk of this document ({reason})", "Shorten its path and its tags")
    raise failed(f"the index {index}", str(status), reason)


def _line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@contextmanager
def translate_errors(what: str) -> Generator[None, None, None]:
    """Turn the errors of a call about `what` into `LociError`s."""
    from opensearchpy import exceptions

    try:
        yield
    except exceptions.ConnectionTimeout as error:
        raise Unavailable(
            f"OpenSearch took too long to answer for {what}",
            "Try again, or ask for less at once. If it lasts, the domain is overloaded or too small",
            code="SEARCH_TOO_SLOW",
        ) from error
    except exceptions.ConnectionError as error:
        raise Unavailable(
            f"OpenSearch cannot be reached ({error.error})",
            "Check its endpoint, the network and the security groups, then try again",
        ) from error
    except (exceptions.AuthenticationException, exceptions.AuthorizationException) as error:
        if BLOCKED in str(error):
            raise failed(what, str(error.status_code), str(error)) from error
        raise Unavailable(
            f"OpenSearch did not allow {what} ({error.status_code})",
            "Allow this role es:ESHttp* on the domain, in its policy and in the domain's",
        ) from error
    except exceptions.TransportError as error:
        raise failed(what, str(error.status_code), error.error) from error


def failed(what: str, status: str, reason: str) -> Unavailable:
    """The `LociError` for an error answer of OpenSearch."""
    if BLOCKED in reason:
        return Unavailable(
            f"OpenSearch takes no writes for {what} while it is copied", "Try again in a minute, or run loci reindex"
        )
    if status == "404":
        return Unavailable(
            f"OpenSearch no longer has {what}",
            "Run loci reindex: it creates the index again",
        )
    return Unavailable(
        f"OpenSearch did not serve {what} ({status}, {reason})",
        "Try again. If it fails again, check the domain's health, its free space and its logs",
    )
