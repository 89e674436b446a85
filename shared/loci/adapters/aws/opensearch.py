"""A client of OpenSearch, and what its errors mean."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from loci.core.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECONDS = 20
CONNECTIONS = 10


class Domain:
    """A domain of Amazon OpenSearch Service, or a node on this machine. Nothing is loaded before the first call.

    Serverless collections will not do: those for vectors take neither ids of ours nor a refresh.
    """

    def __init__(self, url: str, service: str = "es") -> None:
        if find_spec("opensearchpy") is None:
            raise Misconfigured(
                "OpenSearch needs opensearch-py", "Install Loci with its extra: pip install 'loci-mcp[aws]'"
            )
        self.url = url
        self._service = service

    @cached_property
    def client(self) -> "OpenSearch":
        from opensearchpy import OpenSearch, Urllib3HttpConnection  # 0.2 s, which a request without a search saves

        signed: dict[str, Any] = {} if self._is_here() else {"http_auth": self._signature()}
        return OpenSearch(
            self.url,
            connection_class=Urllib3HttpConnection,
            pool_maxsize=CONNECTIONS,
            timeout=SECONDS,
            max_retries=2,
            retry_on_timeout=True,  # whatever is written may be written twice: it has an id
            retry_on_status=(429, 502, 503, 504),
            **signed,
        )

    def close(self) -> None:
        """Let go of the connections, if there were any."""
        if "client" in self.__dict__:
            self.client.close()

    def _is_here(self) -> bool:
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname in LOOPBACK

    def _signature(self) -> object:
        from botocore.session import get_session
        from opensearchpy import Urllib3AWSV4SignerAuth

        session = get_session()
        credentials, region = session.get_credentials(), session.get_config_variable("region")
        if credentials is None or not region:
            raise Misconfigured(
                f"{self.url} takes only signed requests, and there are no credentials or no region",
                "Set AWS_PROFILE or AWS_ACCESS_KEY_ID, and AWS_REGION",
            )
        return Urllib3AWSV4SignerAuth(credentials, region, self._service)


@contextmanager
def explained(what: str) -> Generator[None, None, None]:
    """Turns the errors of a call about `what` into ours."""
    from opensearchpy import exceptions

    try:
        yield
    except exceptions.ConnectionError as error:
        raise Unavailable(
            f"OpenSearch cannot be reached ({error.error})",
            "Check its endpoint, the network and the security groups, then try again",
        ) from error
    except (exceptions.AuthenticationException, exceptions.AuthorizationException) as error:
        raise Unavailable(
            f"OpenSearch did not allow {what} ({error.status_code})",
            "Allow this role es:ESHttp* on the domain, in its policy and in the domain's",
        ) from error
    except exceptions.TransportError as error:
        raise refused(what, str(error.status_code), error.error) from error


def refused(what: str, status: str, reason: str) -> Unavailable:
    """What is raised where OpenSearch answers with an error."""
    if status == "404":
        return Unavailable(f"OpenSearch no longer has {what}", "Ingest the documents again: it is made anew")
    return Unavailable(
        f"OpenSearch did not serve {what} ({status}, {reason})",
        "Try again; if it stays, check the domain's health, its free space and its logs",
    )
