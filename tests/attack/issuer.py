"""An OpenID Connect issuer on the loopback, and the tokens that it or somebody else makes."""

import base64
import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar, cast

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from loci.auth import issuer as issuer_module
from tests.attack.doors import PATIENCE

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PUBLIC = "https://loci.test"
CUT_OFF = b'{"keys": ['
"""A page that is announced one byte longer than it is."""

SCOPES = "loci.read loci.write"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer of the issuer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Issuer:
    """Serves its discovery document and its public keys, and signs whatever it is asked to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, PrivateKey] = {"rsa": new_rsa_key(), "ec": new_ec_key()}
        self.pages: dict[str, bytes] = {}
        """What is served in place of a document, by path."""
        self.asked: list[str] = []
        self.reached = threading.Event()
        """Set while a question waits for `free`."""
        self.free = threading.Event()
        self.free.set()

    def page(self, path: str) -> bytes | None:
        """What is served there."""
        self.asked.append(path)
        if not self.free.is_set():
            self.reached.set()
            self.free.wait()
        if path in self.pages:
            return self.pages[path]
        match path:
            case "/.well-known/openid-configuration":
                return json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys"}).encode()
            case "/keys":
                return json.dumps({"keys": [public_jwk(kid, key) for kid, key in self.keys.items()]}).encode()
            case _:
                return None

    def answer(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Given:  # noqa: ARG002
        """What it answers to a request."""
        page = self.page(path) if method == "GET" else None
        return Given(404) if page is None else Given(200, page)

    def claims(self, **changed: object) -> dict[str, Any]:
        """Those of a good token; a claim that is changed to Ellipsis is left out."""
        now = int(time.time())
        good = {
            "iss": self.url,
            "aud": f"{PUBLIC}/mcp",
            "sub": "ann",
            "tenant": "acme",
            "scope": SCOPES,
            "iat": now,
            "exp": now + 600,
        }
        return {name: value for name, value in (good | changed).items() if value is not ...}

    def token(self, kid: str = "rsa", **changed: object) -> str:
        """A token that the issuer signed with the key of that id."""
        return signed(self.claims(**changed), self.keys[kid], {"kid": kid})


def signed(
    claims: Mapping[str, Any], key: PrivateKey | str | None, header: Mapping[str, Any], algorithm: str | None = None
) -> str:
    """A token of these claims. The algorithm is the key's own where none is named."""
    algorithm = algorithm or ("RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256")
    return jwt.PyJWS().encode(json.dumps(claims).encode(), cast("Any", key), algorithm, dict(header))


def assembled(header: object, claims: object, signature: bytes = b"x") -> str:
    """A token of any three parts; a header or claims that are bytes are taken as they are."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (*parts, signature))


def new_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def new_ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def public_pem(key: PrivateKey) -> str:
    """The public half, as it is published."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def public_jwk(kid: str, key: PrivateKey) -> dict[str, Any]:
    """The public half, as it stands in the issuer's list."""
    if isinstance(key, rsa.RSAPrivateKey):
        return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}
    return {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


Made = TypeVar("Made", bound=Issuer)


@contextmanager
def issuing(make: Callable[[str], Made] = Issuer) -> Generator[Made]:
    """An issuer that can be reached until the block ends; Loci waits for it as long as a slow machine takes."""
    with _Pages(("127.0.0.1", 0), _Page) as server, pytest.MonkeyPatch.context() as patch:
        for patience in ("PATIENCE", "LONGEST_WAIT"):
            patch.setattr(issuer_module, patience, PATIENCE)
        server.issuer = made = make(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


class _Pages(ThreadingHTTPServer):
    daemon_threads = True
    issuer: Issuer


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        given = cast("_Pages", self.server).issuer.answer(self.command, self.path, body, dict(self.headers))
        self.send_response(given.status)
        for name, value in given.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(given.body) + (given.body == CUT_OFF)))
        self.end_headers()
        self.wfile.write(given.body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what Loci logs is looked at."""
