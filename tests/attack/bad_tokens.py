"""Tokens that must not let anybody in, each wrong in one way."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable

from tests.attack.issuer import PUBLIC, Issuer, assembled, new_ec_key, new_rsa_key, public_pem, signed


def by_public_key(issuer: Issuer) -> str:
    """The classic confusion: an HMAC whose secret is what everybody knows."""
    unsigned = assembled({"alg": "HS256", "kid": "rsa"}, issuer.claims()).rpartition(".")[0]
    mac = hmac.digest(public_pem(issuer.keys["rsa"]).encode(), unsigned.encode(), hashlib.sha256)
    return f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def with_other_claims(issuer: Issuer) -> str:
    """A good signature under what was not signed."""
    header, _, signature = issuer.token().split(".")
    return f"{header}.{assembled({}, issuer.claims(sub='bob')).split('.')[1]}.{signature}"


BAD: dict[str, Callable[[Issuer], str]] = {
    "expired": lambda issuer: issuer.token(exp=int(time.time()) - 120),
    "not yet valid": lambda issuer: issuer.token(nbf=int(time.time()) + 120),
    "issued in the future": lambda issuer: issuer.token(iat=int(time.time()) + 120),
    "for another audience": lambda issuer: issuer.token(aud="https://loci.test.evil.test/mcp"),
    "for the host alone": lambda issuer: issuer.token(aud=PUBLIC),
    "for another endpoint": lambda issuer: issuer.token(aud=f"{PUBLIC}/mcp/documents"),
    "for nobody": lambda issuer: issuer.token(aud=[]),
    "for numbers": lambda issuer: issuer.token(aud=[1, 2]),
    "of another issuer": lambda issuer: issuer.token(iss="https://evil.test"),
    "of nearly the issuer": lambda issuer: issuer.token(iss=f"{issuer.url}/"),
    "of a list of issuers": lambda issuer: issuer.token(iss=[issuer.url]),
    "without aud": lambda issuer: issuer.token(aud=...),
    "without iss": lambda issuer: issuer.token(iss=...),
    "without sub": lambda issuer: issuer.token(sub=...),
    "without exp": lambda issuer: issuer.token(exp=...),
    "without iat": lambda issuer: issuer.token(iat=...),
    "exp in words": lambda issuer: issuer.token(exp="tomorrow"),
    "exp beyond numbers": lambda issuer: issuer.token(exp=float("inf")),
    "exp that is no number": lambda issuer: issuer.token(exp=float("nan")),
    "exp in a list": lambda issuer: issuer.token(exp=[1]),
    "an empty subject": lambda issuer: issuer.token(sub=""),
    "a subject of a number": lambda issuer: issuer.token(sub=5),
    "a subject beyond bounds": lambda issuer: issuer.token(sub="x" * 600),
    "half a character for a subject": lambda issuer: issuer.token(sub="\ud800"),
    "Loci's own tenant": lambda issuer: issuer.token(tenant="", sub="local"),
    "no tenant": lambda issuer: issuer.token(tenant=...),
    "a tenant of null": lambda issuer: issuer.token(tenant=None),
    "a list of tenants": lambda issuer: issuer.token(tenant=["acme"]),
    "an ID token": lambda issuer: issuer.token(token_use="id"),
    "signed by somebody else": lambda issuer: signed(issuer.claims(), new_rsa_key(), {"kid": "rsa"}),
    "of an unknown key": lambda issuer: signed(issuer.claims(), new_rsa_key(), {"kid": "other"}),
    "of no key": lambda issuer: signed(issuer.claims(), issuer.keys["rsa"], {}),
    "RSA by the EC key": lambda issuer: signed(issuer.claims(), new_rsa_key(), {"kid": "ec"}),
    "EC by the RSA key": lambda issuer: signed(issuer.claims(), new_ec_key(), {"kid": "rsa"}),
    "an algorithm that is not accepted": lambda issuer: assembled({"alg": "RS1", "kid": "rsa"}, issuer.claims()),
    "no algorithm": lambda issuer: signed(issuer.claims(), None, {"kid": "rsa"}, "none"),
    "no algorithm, in capitals": lambda issuer: assembled({"alg": "NONE", "kid": "rsa"}, issuer.claims(), b""),
    "no algorithm at all": lambda issuer: assembled({"kid": "rsa"}, issuer.claims()),
    "a list of algorithms": lambda issuer: assembled({"alg": ["RS256"], "kid": "rsa"}, issuer.claims()),
    "the public key as a secret": by_public_key,
    "a key that it brings along": lambda issuer: signed(
        issuer.claims(), new_rsa_key(), {"kid": "rsa", "jwk": {"kty": "oct", "k": "AA"}, "jku": "http://127.0.0.1:9/"}
    ),
    "an unknown extension that is critical": lambda issuer: signed(
        issuer.claims(), issuer.keys["rsa"], {"kid": "rsa", "crit": ["x"], "x": 1}
    ),
    "a key id of a number": lambda issuer: assembled({"alg": "RS256", "kid": 1}, issuer.claims()),
    "a path for a key id": lambda issuer: assembled({"alg": "RS256", "kid": "../../dev/null"}, issuer.claims()),
    "a header in a list": lambda issuer: assembled([], issuer.claims()),
    "a deep header": lambda issuer: assembled(b"[" * 5_000, issuer.claims()),
    "claims in a list": lambda _: assembled({"alg": "RS256", "kid": "rsa"}, []),
    "another end": lambda issuer: issuer.token()[:-4] + "AAAA",
    "cut off": lambda issuer: issuer.token()[:-40],
    "unsigned": lambda issuer: issuer.token().rpartition(".")[0] + ".",
    "with other claims": with_other_claims,
    "garbage": lambda _: "garbage",
    "garbage in three parts": lambda _: "a.b.c",
    "two dots": lambda _: "..",
    "four dots": lambda issuer: issuer.token() + "..",
    "beyond ASCII": lambda _: "\xe9.\xe9.\xe9",
    "30 KB": lambda issuer: issuer.token(padding="x" * 22_000),
}
