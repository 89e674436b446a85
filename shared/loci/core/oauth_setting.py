"""The setting `oauth`: off, built-in, or the URL of an issuer, which is the same as the setting `oidc_issuer`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from loci.core.errors import Misconfigured

VALUES: Final = ("off", "built-in")
URL: Final = re.compile(r"(?i:https?)://[^\s/?#]\S*")


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of several sources, the weakest first. An issuer of a stronger one counts, under either name."""
    given: dict[str, Any] = {}
    for layer in layers:
        if _is_issuer(layer.get("oauth")):
            given.pop("oidc_issuer", None)
        elif "oidc_issuer" in layer and _is_issuer(given.get("oauth")):
            del given["oauth"]
        given.update(layer)
    return given


def with_issuer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with an issuer in `oauth` as `oidc_issuer`. Raises `Misconfigured` if these are two issuers."""
    oauth, issuer = given.get("oauth", "off"), given.get("oidc_issuer")
    if oauth in VALUES:
        return dict(given)
    if not _is_issuer(oauth):
        what = f"Setting 'oauth': {str(oauth)[:100]!r} is neither off, nor built-in, nor the URL of an issuer"
        raise Misconfigured(what, 'Set oauth = "off", "built-in", or a URL such as https://id.example.com')
    if issuer is not None and _spelled(issuer) != _spelled(oauth):
        what = f"Setting 'oauth' is the issuer {oauth[:200]}, and oidc_issuer is {str(issuer)[:200]}"
        raise Misconfigured(what, 'Remove one of them. For Loci\'s own sign-in beside that issuer: oauth = "built-in"')
    # Tokens name their issuer letter by letter, and the setting that is made for it says how.
    return {**given, "oauth": "off", "oidc_issuer": issuer or oauth}


def _is_issuer(value: object) -> bool:
    return isinstance(value, str) and URL.fullmatch(value) is not None


def _spelled(issuer: object) -> str:
    """With scheme and host in small letters: those mean the same in capitals."""
    return re.sub(r"\A[^/]+//[^/?#]*", lambda found: found[0].lower(), str(issuer), count=1)
