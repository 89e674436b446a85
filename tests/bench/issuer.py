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

ISSUER = "https://issuer.invalid"
AUDIENCE = "https://bench.invalid/mcp"
KEY_ID = "bench"


@dataclass(frozen=True, slots=True)
class Issuer:
    keys_url: str
    token: str

    def settings(self) -> dict[str, str]:
        """What lets Loci accept the token."""
        return {"LOCI_OIDC_ISSUER": ISSUER, "LOCI_OIDC_AUDIENCE": AUDIENCE, "LOCI_OIDC_JWKS_URL": self.keys_url}


@contextmanager
def issuer() -> Generator[Issuer]:
    """An issuer and a token of its own, which is good for as long as the block lasts."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    document = json.dumps({"keys": [{**public, "kid": KEY_ID, "alg": "ES256", "use": "sig"}]}).encode()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "bench", "iat": now, "exp": now + 600}
    token = jwt.encode(claims, key, algorithm="ES256", headers={"kid": KEY_ID})
    with HTTPServer(("127.0.0.1", 0), Keys) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield Issuer(f"http://127.0.0.1:{server.server_port}/keys", token)
        finally:
            server.shutdown()
            thread.join()
