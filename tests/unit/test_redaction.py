"""Redaction: each spelling of a secret is found, in time that grows with the text; what is no secret stays."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

from loci.core.json import Json
from loci.core.redaction import BLANK, Redaction
from tests.support.each import each
from tests.unit.linear.growth import faulty_growth
from tests.unit.linear.shapes import repeated

LONG = "A1b-" * 100 + "Z"
PEM = "-----BEGIN KEY-----\nab/cdef+ghi\nxyz=\n-----END KEY-----"
SECRETS = ("t0p-s3cret/t0ken", "pä\"ss\\wörd\n&<x>'y+z é日本😀", "hunter2!", '"quoted"start', "123456789", LONG, PEM)


def spellings(secret: str) -> dict[str, str]:
    """How programs write it."""
    content = secret.encode()
    written = {
        "text": secret,
        "JSON": json.dumps(secret),
        "JSON of UTF-8": json.dumps(secret, ensure_ascii=False),
        "JSON in JSON": json.dumps(json.dumps(secret)),
        "JSON of JavaScript": json.dumps(secret).replace("/", "\\/"),
        "path": quote(secret),
        "query": quote_plus(secret),
        "query in a query": quote(quote(secret, safe=""), safe=""),
        "page": html.escape(secret),
        "Python": repr(secret),
        "ASCII": ascii(secret),
        "bytes": repr(content),
        "hex": content.hex(),
        "HEX": content.hex().upper(),
    }
    for before in range(6):
        written[f"base64 {before}"] = base64.b64encode(b"u" * before + content + b"z" * (before % 3)).decode()
        written[f"base64 of a URL {before}"] = base64.urlsafe_b64encode(b"?" * before + content + b"z").decode()
        written[f"base64 of a query {before}"] = base64.b64encode(
            b"u" * before + quote(secret, safe="").encode()
        ).decode()
        written[f"query of base64 {before}"] = quote(written[f"base64 {before}"], safe="")
    return written


@each("secret", SECRETS)
def test_each_spelling_of_a_secret_is_blanked(secret: str) -> None:
    redaction, found = Redaction([secret]), dict[str, str]()
    for name, written in spellings(secret).items():
        for text in (written, f"before {written} behind", written * 3):
            shown = redaction.text(text)
            if shown == text or written in shown:
                found[name] = shown[:100]
    assert found == {}


def test_secrets_are_found_in_names_and_numbers() -> None:
    redaction = Redaction(["t0p-s3cret", "12345678"])
    value: Json = {"t0p-s3cret": {"list": ["x", "t0p-s3cret"], "number": 12345678, "no": [True, None, 1.5]}}
    shown = redaction.value(value)
    assert shown == {"***": {"list": ["x", "***"], "number": "***", "no": [True, None, 1.5]}}
    same: Json = {"content": ["t0p", 5]}
    assert redaction.value(same) is same


def test_a_secret_in_another_is_blanked_with_it() -> None:
    assert Redaction(["t0p-s3cret", "Bearer t0p-s3cret"]).text("Bearer t0p-s3cret, t0p-s3cret") == "***, ***"


def test_content_in_base64_stays_readable() -> None:
    shown = Redaction(["t0p-s3cret"]).value({"blob": base64.b64encode(b"A=t0p-s3cret\nB=2").decode()})
    assert base64.b64decode(shown["blob"], validate=True).endswith(b"\nB=2")


def test_a_short_secret_is_blanked_where_it_stands_alone_and_a_shorter_one_not() -> None:
    redaction = Redaction(["secret", "a", "1234", ""])
    assert redaction.value(["secret", "my secret, a 1234", "secrets", "asecret"]) == [
        BLANK,
        "my ***, a 1234",
        "secrets",
        "asecret",
    ]


@each("secret", ["t0p-s3cret/t0ken", '"/start/with+sign"', "a" * 16_383 + "b", "\\/" * 50])
def test_no_secret_and_no_text_makes_a_search_slow(secret: str) -> None:
    near = secret[:-1]
    for token in (near, base64.b64encode(near.encode()).decode(), near.encode().hex(), "\\", "%25", "&#0", " ", "a"):
        shape = repeated("", token[:400], "")
        assert faulty_growth(Redaction([secret]).text, shape, 250_000) is None, token[:40]
