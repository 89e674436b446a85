"""Deployments that accept an issuer's tokens."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loci.app import App
from loci.auth.issuer import AccessTokens
from loci.compose import build_app
from loci.core.identity import Caller
from loci.core.settings import Settings, load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import UvicornDoor, uvicorn_door
from tests.attack.issuer import PUBLIC, SCOPES, Issuer

Served = tuple[App, UvicornDoor]


@contextmanager
def accepting(issuer: Issuer, data: Path, **others: object) -> Generator[Served]:
    """A deployment as its clients see it."""
    app = build_app(_settings(issuer, data, **others))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield app, door


@dataclass(frozen=True, slots=True)
class Tokens:
    """`AccessTokens` for callers that have no event loop."""

    tokens: AccessTokens

    def caller_of(self, token: str, path: str) -> Caller:
        return asyncio.run(self.tokens.caller_of(token, path))


def tokens_of(issuer: Issuer, data: Path, clock: Callable[[], float], **others: object) -> Tokens:
    """What recognises the tokens, by itself. The clock is for the issuer's keys; a token's dates have their own."""
    return Tokens(AccessTokens(_settings(issuer, data, **others), clock))


def _settings(issuer: Issuer, data: Path, **others: object) -> Settings:
    given = {"oidc_issuer": issuer.url, "oidc_tenant_claim": "tenant", "oidc_scopes": SCOPES.replace(" ", ",")}
    return load_settings({"data": data, "log_level": "ERROR", "public_url": PUBLIC, **given, **others})
