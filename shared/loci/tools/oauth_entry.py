"""The OAuth settings in the entry of a tool server."""

from typing import Annotated, Any, Literal, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

Grant = Literal["authorization_code", "client_credentials"]


def _joined(value: object) -> object:
    """Scopes as OAuth writes them: other clients have lists."""
    return " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value


class OAuthEntry(BaseModel):
    """The client that is registered by hand, and how it gets tokens. Also as Claude Code and Cursor spell it."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    grant: Grant = "authorization_code"
    client_id: str | None = Field(
        default=None, min_length=1, max_length=2000, validation_alias=AliasChoices("client_id", "clientId", "CLIENT_ID")
    )
    client_secret: str | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("client_secret", "clientSecret", "CLIENT_SECRET")
    )
    scope: Annotated[str | None, BeforeValidator(_joined)] = Field(
        default=None, validation_alias=AliasChoices("scope", "scopes")
    )
    issuer: str | None = None
    """The authorization server to which the secret may be sent, if it is at another address than the tool server."""
    token_url: str | None = Field(default=None, validation_alias=AliasChoices("token_url", "tokenUrl"))
    callback_port: int | None = Field(
        default=None, ge=1, le=65535, validation_alias=AliasChoices("callback_port", "callbackPort")
    )


def oauth_or_none(value: object) -> object:
    """Passes over what other clients write there that is no settings, such as `"auth": "oauth"`."""
    return cast("object", value) if isinstance(value, dict | OAuthEntry) else None
