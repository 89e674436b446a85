"""An issuer of access tokens on the loopback: with one, a request is let in on AWS before any store is touched."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

AUDIENCE = "https://bench.invalid/mcp"
KEY_ID = "bench"


@dataclass(frozen=True, slots=True)
class Issuer:
    url: str
    token: str

    def settings(self) -> dict[str, str]:
        """What lets Loci accept the token."""
        return {"LOCI_OIDC_ISSUER": self.url, "LOCI_OIDC_AUDIENCE": AUDIENCE}


@contextmanager
def issuer() -> Generator[Issuer]:
    """An issuer and a token of its own, which is good for as long as the block lasts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    keys = {"keys": [{**public, "kid": KEY_ID, "alg": "ES256", "use": "sig"}]}

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = json.dumps(keys if self.path == "/keys" else {"issuer": url, "jwks_uri": f"{url}/keys"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Keys) as server:
        url, now = f"http://127.0.0.1:{server.server_port}", int(time.time())
        claims = {"iss": url, "aud": AUDIENCE, "sub": "bench", "iat": now, "exp": now + 600}
        token = jwt.encode(claims, key, algorithm="ES256", headers={"kid": KEY_ID})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield Issuer(url, token)
        finally:
            server.shutdown()
            thread.join()
