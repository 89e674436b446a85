"""The setting `oauth`: off, built-in, or the URL of an issuer, which is the same as the setting `oidc_issuer`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from loci.core.errors import Misconfigured

VALUES: Final = ("off", "built-in")
URL: Final = re.compile(r"https?://[^\s/?#]\S*")


def with_issuer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with an issuer in `oauth` as `oidc_issuer`. Raises `Misconfigured` if these are two issuers."""
    oauth, issuer = given.get("oauth", "off"), given.get("oidc_issuer")
    if oauth in VALUES:
        return dict(given)
    if not isinstance(oauth, str) or not URL.fullmatch(oauth):
        what = f"Setting 'oauth': {str(oauth)[:100]!r} is neither off, nor built-in, nor the URL of an issuer"
        raise Misconfigured(what, 'Set oauth = "off", "built-in", or a URL such as https://id.example.com')
    if issuer not in (None, oauth):
        what = f"Setting 'oauth' is the issuer {oauth[:200]}, and oidc_issuer is {str(issuer)[:200]}"
        raise Misconfigured(what, 'Remove one of them. For Loci\'s own sign-in beside that issuer: oauth = "built-in"')
    return {**given, "oauth": "off", "oidc_issuer": oauth}
