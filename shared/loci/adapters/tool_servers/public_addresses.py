"""Connections only to public addresses: a server on AWS must not be led into the network it runs in."""

import asyncio
import socket
import ssl
import threading
from concurrent.futures import Future
from typing import Any

import httpx2

from loci.gateway.configuration import is_public

LIMITS = httpx2.Limits(keepalive_expiry=4.0)
"""An idle connection is left before its server ends it, as Node's do after 5 s: a request at that moment would fail."""


class NotPublic(httpx2.ConnectError):
    """The name resolves to an address that is not public."""


class PublicAddresses(httpx2.AsyncBaseTransport):
    """Resolves the name itself, checks every address, and connects to just these: they cannot change in between."""

    def __init__(self, trusted: ssl.SSLContext | None = None) -> None:
        """`trusted` checks the certificates; without it, those are trusted that browsers trust."""
        self._transport = httpx2.AsyncHTTPTransport(verify=trusted or True, trust_env=False, limits=LIMITS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme != "https":
            raise NotPublic("only https is allowed here", request=request)
        host = request.url.raw_host.decode("ascii")
        addresses = await _addresses(host.strip("[]"), request.url.port or 443, request)
        for number, address in enumerate(addresses):
            try:
                return await self._transport.handle_async_request(_request_to(address, host, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):  # nothing was sent
                if number == len(addresses) - 1:
                    raise
        raise NotPublic("its name has no address", request=request)

    async def aclose(self) -> None:
        await self._transport.aclose()


async def _addresses(host: str, port: int, request: httpx2.Request) -> list[str]:
    """The addresses of the name, IPv4 first: Lambda has no IPv6. Raises `NotPublic` if one of them is not public."""
    try:
        found = await asyncio.wrap_future(_resolve(host, port))
    except (OSError, UnicodeError):
        raise httpx2.ConnectError("its name cannot be resolved", request=request) from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in sorted(found, key=lambda one: one[0] != socket.AF_INET)))
    if not all(is_public(address) for address in addresses):
        raise NotPublic("its address is not public", request=request)
    return addresses


def _resolve(host: str, port: int) -> Future[list[tuple[Any, ...]]]:
    """Ask the resolver, in a thread that no loop waits for at its end: it cannot be stopped."""
    said: Future[list[tuple[Any, ...]]] = Future()
    said.set_running_or_notify_cancel()

    def ask() -> None:
        try:
            said.set_result(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except BaseException as error:  # noqa: BLE001 (it is raised where somebody waits)
            said.set_exception(error)

    threading.Thread(target=ask, name="loci resolver", daemon=True).start()
    return said


def _request_to(address: str, host: str, request: httpx2.Request) -> httpx2.Request:
    """The same request, to the address. The certificate is checked against the name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )
