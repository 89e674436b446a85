"""Single requests at strangers' addresses: bounded in time and size, without redirects and cookies."""

import asyncio
import logging

import httpx2

from loci.adapters.tool_servers.public_addresses import PublicAddresses
from loci.gateway.ports import LoginFailed

SECONDS, CONNECT_SECONDS = 15.0, 10.0
LARGEST = 512 * 1024
"""Bytes of an answer."""
TRY_AGAIN = "Try again in a moment"
DOCUMENT_SECONDS, LARGEST_DOCUMENT = 5.0, 64 * 1024


class SmallRequests:
    """Sends single requests, on the way that calls take as well."""

    def __init__(
        self,
        *,
        only_public: bool,
        transport: PublicAddresses | None = None,
        largest: int = LARGEST,
        seconds: float | None = None,
    ) -> None:
        """`transport` is one that trusts other certificates."""
        self._only_public = only_public
        self._transport = transport
        self._largest = largest
        self._seconds = SECONDS if seconds is None else seconds
        for name in ("httpx2", "httpcore2", "mcp.client"):  # they log addresses and what servers say
            logging.getLogger(name).setLevel(logging.CRITICAL)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Return the whole answer, whatever its status is. Raises `LoginFailed` if none comes."""
        where = request.url.host
        transport = self._transport or (PublicAddresses() if self._only_public else None)
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None), transport=transport, trust_env=transport is None
        )
        request.headers["Accept-Encoding"] = "identity"
        request.headers.setdefault("Accept", "application/json")  # GitHub answers with a form otherwise
        try:
            async with asyncio.timeout(self._seconds), client:
                answer = await client.send(request, stream=True, follow_redirects=False)
                try:
                    content = await self._content(answer, where)
                finally:
                    await answer.aclose()
        except (TimeoutError, httpx2.TimeoutException):
            raise LoginFailed(f"{where} did not answer for {self._seconds:.0f} s", TRY_AGAIN) from None
        except httpx2.ConnectError as error:
            why = str(error).partition("\n")[0][:200] or "no connection"
            raise LoginFailed(f"{where} cannot be reached ({why})", TRY_AGAIN) from None
        except (httpx2.TransportError, httpx2.InvalidURL) as error:  # its text may contain a header
            raise LoginFailed(f"The connection to {where} failed ({type(error).__name__})", TRY_AGAIN) from None
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content, request=request)

    async def _content(self, answer: httpx2.Response, where: str) -> bytes:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise LoginFailed(f"{where} compresses its answers", "Ask who runs it to send them as they are")
        if "text/event-stream" in answer.headers.get("content-type", ""):
            return b""  # the tool server itself, which asks for no login
        content = b""
        async for part in answer.aiter_raw():
            content += part
            if len(content) > self._largest:
                raise LoginFailed(
                    f"{where} answers with more than {self._largest // 1024} KB", "Ask who runs it to mend that"
                )
        return content


def read_public(url: str, transport: PublicAddresses | None = None) -> bytes:
    """The bytes behind the address. Raises `LoginFailed` if it is no small JSON document, or does not come soon."""
    return asyncio.run(_read(url, transport))


async def _read(url: str, transport: PublicAddresses | None) -> bytes:
    request = httpx2.Request("GET", url, headers={"Accept": "application/json"})
    try:
        async with asyncio.timeout(DOCUMENT_SECONDS):
            answer = await SmallRequests(only_public=True, transport=transport, largest=LARGEST_DOCUMENT).send(request)
    except TimeoutError:
        raise LoginFailed(
            f"{request.url.host} did not answer for {DOCUMENT_SECONDS:.0f} s", "Try again in a moment"
        ) from None
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.status_code != 200 or not (kind == "application/json" or kind.endswith("+json")):
        what = f"{request.url.host} answers {answer.status_code} {kind[:50]!r} instead of a JSON document"
        raise LoginFailed(what, "Tell the makers of the client")
    return answer.content
