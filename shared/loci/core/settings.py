"""What an operator can set. Command line before environment (LOCI_…) before config.toml before the default."""

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from loci.core.errors import Misconfigured

PREFIX = "LOCI_"
# How the table on AWS is keyed: the stack makes it so, and the adapter relies on it.
TABLE_KEYS = ("pk", "sk")
TABLE_EXPIRY = "expires"
UPLOADS = "uploads"
"""What the keys of uploaded documents begin with: the stack says when something happens below it."""
UPLOADS_OF_LOCAL = f"{UPLOADS}/-/local/"
"""Of the person at a machine, whose keys `loci keys create` makes where it is not told of an owner."""


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _expanded(value: object) -> object:
    return Path(value).expanduser() if isinstance(value, str | Path) else value


Folder = Annotated[Path, BeforeValidator(_expanded)]
Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""A list: an array in config.toml, separated by commas in the environment."""


def _data_folder() -> Path:
    from platformdirs import user_data_path  # not needed where the folder is given

    return user_data_path("loci", appauthor=False)


class Settings(BaseModel):
    """Every setting, with its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["embedded", "aws"] = Field("embedded", description="where data lies: this machine, or AWS")
    data: Folder = Field(default_factory=_data_folder, description="the data folder")
    models: Folder | None = Field(None, description="the models folder, shared by all data folders")
    write_roots: Annotated[tuple[Folder, ...], BeforeValidator(_split)] = Field(
        (), description="folders that tools may write documents in, beside those that were ingested"
    )
    host: str = Field("127.0.0.1", description="the address to serve on")
    port: int = Field(8765, ge=0, le=65535, description="the port to serve on (0: any free one)")
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?$",
        description="the address that clients see, such as https://loci.example.com",
    )
    auth: Literal["auto", "required", "open"] = Field(
        "auto", description="auto: on loopback no key is needed; required: always; open: never, one owner for all"
    )
    allowed_hosts: Words = Field((), description="accepted Host headers; name:* accepts any port")
    allowed_origins: Words = Field((), description="accepted Origin headers beside those of this machine; * for all")
    secrets: Annotated[tuple[SecretStr, ...], BeforeValidator(_split)] = Field(
        (), description="signing secrets, newest first; embedded, one is made and kept in the data folder"
    )
    oidc_issuer: str | None = Field(None, description="accept access tokens of this OpenID Connect issuer")
    oidc_audience: str | None = Field(None, description="the audience they must name; the public URL by default")
    oidc_jwks_url: str | None = Field(None, description="the issuer's keys; found through discovery by default")
    oidc_algorithms: Words = Field(("RS256", "ES256"), description="accepted signature algorithms")
    oidc_tenant_claim: str | None = Field(None, description="the claim that names the tenant; the issuer by default")
    oidc_scopes: Words = Field((), description="scopes that every token must have")
    tool_names: Literal["wire", "colon"] = Field("wire", description="list tools as pml_search_tools or with a colon")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="what is logged")
    pull_models: bool = Field(True, description="at the first start, pull the models that are missing")
    embedder: str | None = Field(None, description="the embedder; by default bge-small-en-v1.5, else one that is here")
    reranker: str | None = Field(None, description="the reranker; by default bge-reranker-base, else one that is here")
    rerank_seconds: float = Field(0.3, ge=0, le=20, description="how long a search may rerank; 0 switches it off")
    model_hub: str = Field(
        "https://huggingface.co", pattern=r"^https?://\S+$", description="where models are pulled from"
    )
    language_model: str | None = Field(
        None,
        pattern=r"^(bedrock|openai):\S+$",
        description="bedrock:MODEL or openai:MODEL reads the best hits of a search again; none by default",
    )
    language_model_url: str = Field(
        "https://api.openai.com/v1", pattern=r"^https?://\S+$", description="where openai: models are asked"
    )
    language_model_key: SecretStr | None = Field(None, description="the key for them")
    language_model_key_from: str | None = Field(
        None, description="on AWS: the secret in Secrets Manager that holds the key, unless it is set"
    )
    language_model_seconds: float = Field(6, gt=0, le=25, description="how long a search may wait for it")
    language_model_daily_tokens: int = Field(2_000_000, ge=0, description="tokens a day, of all instances together")
    deno: Folder | None = Field(
        None, description="the Deno that runs TypeScript; by default the one beside Loci, else the one on the path"
    )
    code_read_paths: Annotated[tuple[Folder, ...], BeforeValidator(_split)] = Field(
        (), description="what callers' TypeScript may be allowed to read; on AWS always nothing"
    )
    code_cache: bool = Field(True, description="answer TypeScript that ran before from memory, where it cannot differ")
    table: str | None = Field(None, description="on AWS: the DynamoDB table")
    bucket: str | None = Field(None, description="on AWS: the S3 bucket")
    search_url: str | None = Field(None, pattern=r"^https?://\S+$", description="on AWS: the OpenSearch domain")
    search_index: str = Field("loci", pattern=r"^[a-z0-9][a-z0-9_.-]*$", description="on AWS: the index in it")
    inference_function: str | None = Field(None, description="on AWS: the function that embeds and reranks")
    run_python_function: str | None = Field(None, description="on AWS: the function that runs callers' Python")
    run_deno_function: str | None = Field(None, description="on AWS: the function that runs callers' TypeScript")
    run_role: str | None = Field(None, description="on AWS: the role whose credentials are lent to runs of code")
    secrets_from: str | None = Field(
        None, description="on AWS: the secret in Secrets Manager that holds the signing secrets, unless they are set"
    )

    runner: Folder | None = Field(
        None, description="the Python environment of run_memory_code; by default `runner` in Loci's own"
    )
    runner_seconds: float = Field(60, gt=0, le=900, description="how long one run of Python may take")
    runner_memory_mb: int = Field(1024, ge=64, description="memory that its variables may take")
    runner_disk_mb: int = Field(256, ge=1, description="disk that its files may take")
    runner_idle_minutes: float = Field(15, gt=0, description="after so long its variables are saved and it is ended")
    runner_matplotlib: bool = Field(True, description="whether its code may draw with matplotlib")
    allow_unsandboxed: bool = Field(
        False, description="run callers' code even where this machine has no wall to put around it: a risk"
    )

    @property
    def base_url(self) -> str:
        """The address that clients see."""
        # Every address is the one to listen on, and none to connect to.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return (self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}").rstrip("/")

    @property
    def runner_folder(self) -> Path:
        """Where the Python runner's packages lie: beside Loci's own, and removed with them."""
        return self.runner or Path(sys.prefix) / "runner"

    @property
    def models_folder(self) -> Path:
        """Where models lie."""
        from platformdirs import user_cache_path  # not needed where the folder is given

        return self.models or user_cache_path("loci", appauthor=False) / "models"


@dataclass(frozen=True, slots=True)
class Sourced:
    """Settings, and where they come from."""

    settings: Settings
    sources: Mapping[str, str]
    """Of those that were set: the command line, a variable, or the path of a file."""


def load_settings(given: Mapping[str, object] | None = None, config: Path | None = None) -> Settings:
    """The settings of this process; `given` holds what the command line said."""
    return sourced_settings(given, config).settings


def sourced_settings(given: Mapping[str, object] | None = None, config: Path | None = None) -> Sourced:
    """The same with the source of each that was set."""
    said = {name: value for name, value in (given or {}).items() if value is not None}
    names = {name: PREFIX + name.upper() for name in Settings.model_fields}
    environment = {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}
    file = _file(said, environment, config)
    written = _read(file) if file else {}
    try:
        settings = Settings.model_validate({**written, **environment, **said})
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0])
        problem = "unknown setting" if fault["type"] == "extra_forbidden" else fault["msg"]
        raise Misconfigured(
            f"Setting {name!r}: {problem}",
            f"Correct it on the command line, in {names.get(name, 'the environment')} or in {file or 'config.toml'}",
        ) from None
    sources = {
        **dict.fromkeys(written, str(file)),
        **{name: names[name] for name in environment},
        **dict.fromkeys(said, "the command line"),
    }
    return Sourced(settings, sources)


def unknown_variables() -> list[str]:
    """Variables that look like settings and are none, sorted."""
    known = {PREFIX + name.upper() for name in (*Settings.model_fields, "config", "key")}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _file(said: Mapping[str, object], environment: Mapping[str, str], config: Path | None) -> Path | None:
    """The settings file: the one that was named, else config.toml in the data folder, if it is there."""
    named = config or os.environ.get(f"{PREFIX}CONFIG")
    if named:
        named = Path(named).expanduser()
        if not named.is_file():
            raise Misconfigured(f"There is no settings file {named}", "Correct --config or LOCI_CONFIG")
        return named
    above = {**environment, **said}
    if above.get("mode") == "aws":
        return None
    file = Path(str(above.get("data") or _data_folder())).expanduser() / "config.toml"
    return file if file.is_file() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file} is not valid TOML: {error}", "Correct that line, or remove the file") from None
    except OSError as error:
        raise Misconfigured(f"Cannot read {file} ({error.strerror})", "Correct its permissions") from None
