"""How a person signed in who lets a client in: what they allow ends with it."""

from dataclasses import dataclass

from loci.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class SignedInBy:
    """An API key, or the OpenID Connect issuer. Neither: where nobody needs a credential."""

    key: str | None = None
    """The id of the key."""
    issuer: str | None = None

    def stored(self) -> JsonObject:
        """It, as records keep it."""
        return {"key": self.key, "issuer": self.issuer}


def signed_in_by(value: JsonObject) -> SignedInBy:
    """That of a record."""
    key, issuer = value["key"], value.get("issuer")
    if not isinstance(key, str | None) or not isinstance(issuer, str | None):
        raise TypeError("no sign-in")
    return SignedInBy(key, issuer)
