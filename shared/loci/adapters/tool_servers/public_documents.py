"""Small documents at public https addresses that strangers name."""

import asyncio

import httpx2

from loci.adapters.tool_servers.public_addresses import PublicAddresses
from loci.adapters.tool_servers.small_requests import SmallRequests
from loci.tools.ports import LoginFailed

SECONDS = 5.0
LARGEST = 64 * 1024


def read_public(url: str, transport: PublicAddresses | None = None) -> bytes:
    """The bytes behind the address. Raises `LoginFailed` if it is no small JSON document, or does not come soon."""
    return asyncio.run(_read(url, transport))


async def _read(url: str, transport: PublicAddresses | None) -> bytes:
    request = httpx2.Request("GET", url, headers={"Accept": "application/json"})
    try:
        async with asyncio.timeout(SECONDS):
            answer = await SmallRequests(only_public=True, transport=transport, largest=LARGEST).send(request)
    except TimeoutError:
        raise LoginFailed(f"{request.url.host} did not answer for {SECONDS:.0f} s", "Try again in a moment") from None
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.status_code != 200 or not (kind == "application/json" or kind.endswith("+json")):
        what = f"{request.url.host} answers {answer.status_code} {kind[:50]!r} instead of a JSON document"
        raise LoginFailed(what, "Tell the makers of the client")
    return answer.content
