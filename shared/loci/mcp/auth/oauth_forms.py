"""Requests to the authorization server, read strictly: each parameter once, in the form that the RFCs name."""

import base64
import binascii
import json
import re
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from starlette.datastructures import Headers

from loci.core.errors import Refused
from loci.mcp.auth.oauth_client import spelled
from loci.mcp.http.json_shape import check_shape
from loci.mcp.http.refusal import Refusal

MOST_FIELDS: Final = 30
GRANT_TYPES: Final = ("authorization_code", "refresh_token")
VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
"""RFC 7636, 4.1."""
NEEDED: Final = {
    "authorization_code": ("code", "code_verifier", "client_id"),
    "refresh_token": ("refresh_token", "client_id"),
}


class Wrong(Exception):
    """A request that no route sees, with its error of RFC 6749."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.description, self.status = error, description, status


def fields_of(encoded: bytes) -> dict[str, str]:
    """The parameters. Refuse one that comes twice: who checks it and who uses it could read different ones."""
    try:
        pairs = parse_qsl(encoded.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        what = f"The parameters are no form of at most {MOST_FIELDS} fields in UTF-8"
        raise Wrong("invalid_request", what) from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Wrong("invalid_request", "A parameter comes twice")
    if any("\0" in value for value in fields.values()):
        raise Wrong("invalid_request", "A parameter has a zero byte")
    if "redirect_uri" in fields:
        with suppress(Refused):  # then it is none that a client has, and is refused like any other
            fields["redirect_uri"] = spelled(fields["redirect_uri"])
    return {name: value for name, value in fields.items() if value}  # RFC 6749: an empty one counts as left out


def form_fields(headers: Headers, body: bytes) -> dict[str, str]:
    """The parameters of a posted form."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Wrong("invalid_request", "Send the parameters as application/x-www-form-urlencoded")
    return fields_of(body)


def completed(path: str, fields: dict[str, str], headers: Headers) -> dict[str, str]:
    """The fields, with the client that the header names, and those that the SDK wants but the RFCs do not."""
    fields = _with_client(fields, headers)
    if path == "/revoke":
        if "token" not in fields:
            raise Wrong("invalid_request", "token is missing")
        hint = fields.pop("token_type_hint", None)
        if hint in ("access_token", "refresh_token"):  # RFC 7009: others are ignored
            fields["token_type_hint"] = hint
        return {"client_secret": "", **fields}
    kind = fields.get("grant_type")
    if kind is None:
        raise Wrong("invalid_request", "grant_type is missing")
    if kind not in GRANT_TYPES:
        raise Wrong("unsupported_grant_type", f"grant_type must be one of {', '.join(GRANT_TYPES)}")
    for name in NEEDED[kind]:
        if name not in fields:
            raise Wrong("invalid_request", f"{name} is missing")
    if kind == "authorization_code" and not VERIFIER.fullmatch(fields["code_verifier"]):
        raise Wrong("invalid_request", "code_verifier must have 43 to 128 letters, digits, and any of -._~")
    return fields


def check_registration(body: bytes) -> None:
    """Refuse what would cost more to parse than a registration is worth, and redirects as nobody could ask for them."""
    try:
        check_shape(body)
        body.decode("utf-8")
    except (Refusal, UnicodeDecodeError) as error:
        raise Wrong("invalid_client_metadata", f"The registration is no small JSON object: {error}") from None
    try:
        told: Any = json.loads(body)
    except ValueError:  # the SDK says what is wrong with it
        return
    match told:
        case {"redirect_uris": [*redirects]}:
            try:
                for one in redirects:
                    spelled(str(one))
            except Refused as error:
                raise Wrong("invalid_redirect_uri", str(error)) from None
        case _:
            pass


def _with_client(fields: dict[str, str], headers: Headers) -> dict[str, str]:
    """Clients have no secrets here; one may name itself in the header all the same."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            name = unquote_plus(base64.b64decode(value.strip(), validate=True).decode().partition(":")[0])
        except (ValueError, binascii.Error):
            raise Wrong("invalid_client", "The header Authorization makes no sense", 401) from None
        if fields.setdefault("client_id", name) != name:
            raise Wrong("invalid_client", "The header and the form name different clients", 401)
    if "client_id" not in fields:
        raise Wrong("invalid_client", "client_id is missing", 401)
    return fields
