"""The settings of Loci. The command line wins over the environment (LOCI_…), then config.toml, then the default."""

import base64
import binascii
import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo

from loci.core.errors import Misconfigured
from loci.core.ids import content_id

PREFIX = "LOCI_"
INSIDE = "LOCI_INSIDE"
"""The variable of each tool server that Loci starts: no program that the server starts in turn has a person."""
RecipientKind = Literal["json", "slack", "teams", "sns"]
_RECIPIENT: Final = re.compile(
    r"(?:(?P<kind>slack|teams):)?(?P<url>https?://(?:[^\s/?#@]*@)?(?P<host>[^\s/?#@]+)\S*)"
    r"|sns:(?P<topic>arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]{1,256})",
    re.ASCII,
)
WEBHOOK_PREFIX: Final = "whsec_"
SHORTEST_KEY, LONGEST_KEY = 24, 64
"""Bytes, as Standard Webhooks has it."""
ADVICE: Final = "Name https://…, slack:https://…, teams:https://… or, on AWS, sns:arn:…, with commas between them"


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _expanded(value: object) -> object:
    return Path(value).expanduser() if isinstance(value, str | Path) else value


Folder = Annotated[Path, BeforeValidator(_expanded)]
FUNCTION_ARN = r"^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]{1,128})?$"
Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""A list: an array in config.toml, separated by commas in the environment."""


def _data_folder() -> Path:
    from platformdirs import user_data_path  # not needed if the folder is set

    return user_data_path("loci", appauthor=False)


class AwsSettings(BaseModel):
    """The settings of a deployment on AWS: the templates set them, and the secrets that a stage names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str | None = Field(None, description="the DynamoDB table")
    bucket: str | None = Field(None, description="the S3 bucket")
    search: Literal["opensearch", "vectors"] = Field(
        "opensearch", description="where the index is: in an OpenSearch domain, or (vectors) in S3 Vectors"
    )
    vector_bucket: str | None = Field(None, description="with search = vectors: the vector bucket")
    search_url: str | None = Field(None, pattern=r"^https?://\S+$", description="the OpenSearch domain")
    search_index: str = Field("loci", pattern=r"^[a-z0-9][a-z0-9_.-]*$", description="the index in that domain")
    search_shards: int | None = Field(
        None, ge=1, description="the primary shards of that index; by default one for every 30 GB"
    )
    inference_function: str | None = Field(None, description="the function that embeds and reranks")
    run_python_function: str | None = Field(None, description="the function that runs callers' Python")
    run_deno_function: str | None = Field(None, description="the function that runs callers' TypeScript")
    run_role: str | None = Field(None, description="the role whose credentials a run of code gets")
    run_table: str | None = Field(None, description="the DynamoDB table whose rows are lent to runs of code")
    executor_bucket: str | None = Field(None, description="the S3 bucket of executors' variables and files")
    extract_function: str | None = Field(None, description="the function that reads files")
    errand_function: str | None = Field(None, description="the function that drives runs of code")
    connect_function: str | None = Field(None, description="the function that reaches tool servers")
    tool_functions: Words = Field((), description="the ARNs of Lambda functions that may be tool servers")
    workflow_machine: str | None = Field(None, description="the ARN of the state machine that moves workflows on")
    secret_key: str | None = Field(None, description="the ARN of the KMS key that closes the secrets of tool servers")
    runs_at_once: int = Field(8, ge=1, le=999, description="how many runs of code an owner may have under way")
    ingest_queue: str | None = Field(None, description="the queue of what is to be ingested")
    address_header: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="the header in which a proxy passes on who asks it; the last address in it counts, for the limits"
        " of registrations",
    )
    aside_queue: str | None = Field(None, description="the queue for uploads that cannot be ingested")
    secrets_from: str | None = Field(
        None, description="the secret in Secrets Manager with the signing secrets, if they are not set directly"
    )
    oidc_client_secret_from: str | None = Field(
        None, description="the secret in Secrets Manager that holds oidc_client_secret"
    )
    notify_from: str | None = Field(
        None, description="the secret in Secrets Manager with more places for notify, if their addresses are secret"
    )
    notify_secret_from: str | None = Field(None, description="the secret in Secrets Manager that holds notify_secret")
    language_model_key_from: str | None = Field(
        None, description="the secret in Secrets Manager that holds language_model_key"
    )


class Settings(BaseModel):
    """The settings that a person may choose, with their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["embedded", "aws"] = Field("embedded", description="where data is stored: on this machine, or on AWS")
    data: Folder = Field(default_factory=_data_folder, description="the data folder")
    models: Folder | None = Field(None, description="the models folder; all data folders share it")
    write_roots: Annotated[tuple[Folder, ...], BeforeValidator(_split)] = Field(
        (), description="more folders in which tools may write documents, besides the ingested ones"
    )
    follow_folders: bool = Field(
        True, description="loci serve keeps the documents of ingested folders current, as `loci watch` does"
    )
    use_gitignore: bool = Field(
        False, description="leave out of ingested folders what their `.gitignore` files name, as git does"
    )
    exclude: Words = Field(
        (), description="leave out of ingested folders what these patterns name, as lines of a `.gitignore` there would"
    )
    exclude_repositories: Words = Field(
        (), description="repositories whose sessions with coding agents `loci ingest --sessions` never reads, by name"
    )
    host: str = Field("127.0.0.1", description="the address to listen on")
    port: int = Field(8765, ge=0, le=65535, description="the port to listen on (0: any free port)")
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?$",
        description="the URL that clients use, such as https://loci.example.com",
    )
    auth: Literal["auto", "required", "open"] = Field(
        "auto",
        description="auto: on loopback, no key for the user who started Loci, and root; required: always a key; open:"
        " no key, one owner for everybody",
    )
    allowed_hosts: Words = Field((), description="accepted Host headers; name:* accepts any port")
    allowed_origins: Words = Field(
        (),
        description="origins whose pages may call Loci, besides its own, such as http://localhost:6274; * allows all",
    )
    secrets: Annotated[tuple[SecretStr, ...], BeforeValidator(_split)] = Field(
        (), description="signing secrets, newest first; in embedded mode Loci creates one in the data folder"
    )
    calls_per_month: int | None = Field(
        None, ge=1, description="how many tools each key may call in a month, if it has no cap of its own; default: any"
    )
    oauth: Literal["off", "built-in"] = Field(
        "off",
        description="built-in: clients without a key send the person to a page of Loci, where they sign in with a key"
        " and allow it; needs public_url",
    )
    oidc_issuer: str | None = Field(None, description="accept access tokens of this OpenID Connect issuer")
    oidc_audience: str | None = Field(None, description="the audience that tokens must name; default: the public URL")
    oidc_tenant_claim: str | None = Field(
        None, description="the claim that names the tenant; default: the issuer is the tenant"
    )
    oidc_scopes: Words = Field((), description="scopes that every token must have")
    oidc_client_id: str | None = Field(
        None,
        description="let people sign in at oidc_issuer on the pages of Loci, which is the client with this id there;"
        " its redirect URI is the public URL with /ui/signed-in",
    )
    oidc_client_secret: SecretStr | None = Field(None, description="the secret of that client, if it has one")
    tool_names: Literal["wire", "colon"] = Field(
        "wire", description="wire: list tools as pml_search_tools; colon: as pml:search_tools"
    )
    tools_read_only: bool = Field(
        False,
        description="call only those tools of other servers that say that they change nothing; code and workflows then"
        " call only such tools of Loci, too",
    )
    tools_approval: Literal["chosen", "destructive", "writes", "all"] = Field(
        "chosen",
        description="calls of other servers' tools, and calls by code and workflows, that a person must approve;"
        " chosen: those of the tools that `approve` of a server names; destructive: also those that may destroy"
        " something; writes: also those that may change something; all",
    )
    untrusted_writes: Literal["allow", "ask"] = Field(
        "allow",
        description="what tools write after their session has read texts of others (other servers, web pages, notes and"
        " files that come from these); allow: it is marked as foreign; ask: a person must approve it first, too",
    )
    tools_listed: Words = Field(
        (),
        description="other servers' tools that are listed beside Loci's own, such as github:* or memory:read_graph",
    )
    approval_wait: str = Field(
        "7d",
        pattern=r"^([1-9][0-9]{0,3}m|[1-9][0-9]?h|([12]?[1-9]|[123]0)d)$",
        description="how long a question to a person waits for an answer: 30m, 12h, 7d",
    )
    workflow_approval: Literal["policy", "person", "caller"] = Field(
        "policy",
        description="who may approve; policy: what `approve` of a server, tools_approval or a plan's `approve:"
        ' "human"` asks for, only a person, and what else a plan asks for also whoever calls pml_approval_response;'
        ' person: everything only a person; caller: everything but `approve: "human"` also the agent itself, which'
        " Loci says at each start",
    )
    pin_hash: SecretStr | None = Field(
        None,
        description="the hash of the PIN with which a person approves, for a server without a terminal: `loci pin"
        " --print` makes it; a PIN that `loci pin` stored counts before it",
    )
    notify: Annotated[tuple[SecretStr, ...], BeforeValidator(_split)] = Field(
        (),
        description="where a person is told that a question waits for them: https://… (JSON), slack:https://…,"
        " teams:https://…; on AWS also sns:ARN of a topic",
    )
    notify_secret: SecretStr | None = Field(
        None,
        description="what signs the JSON for https://… of notify, as Standard Webhooks has it: whsec_ and 24 to 64"
        " bytes in base64",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="the lowest level that is logged"
    )
    call_log_days: int = Field(
        90, ge=0, description="for how many days `loci log` has each call, without contents; 0: it has none"
    )
    pull_models: bool = Field(True, description="download missing models when the server starts")
    embedder: str | None = Field(None, description="the embedder; default: bge-small-en-v1.5, else any installed one")
    reranker: str | None = Field(None, description="the reranker; default: bge-reranker-base, else any installed one")
    rerank_seconds: float = Field(0.3, ge=0, le=20, description="how long a search may rerank; 0 turns reranking off")
    model_hub: str = Field(
        "https://huggingface.co", pattern=r"^https?://\S+$", description="where models are downloaded from"
    )
    language_model: str | None = Field(
        None,
        pattern=r"^(bedrock|openai):\S+$",
        description="the language model that rereads the best hits and writes summaries: bedrock:MODEL or openai:MODEL",
    )
    language_model_url: str = Field(
        "https://api.openai.com/v1", pattern=r"^https?://\S+$", description="the API of openai: models"
    )
    language_model_key: SecretStr | None = Field(None, description="the key for that API")
    language_model_seconds: float = Field(6, gt=0, le=25, description="how long a search waits for the language model")
    language_model_daily_tokens: int = Field(2_000_000, ge=0, description="tokens a day, for all instances together")
    deno: Folder | None = Field(
        None, description="the Deno that runs TypeScript; default: the one installed with Loci, else the one on PATH"
    )
    code_read_paths: Annotated[tuple[Folder, ...], BeforeValidator(_split)] = Field(
        (), description="paths that a caller may let TypeScript read; on AWS always none"
    )
    code_cache: bool = Field(True, description="answer repeated TypeScript from memory if the result cannot differ")

    runner: Folder | None = Field(None, description="the Python environment of run_memory_code")
    runner_seconds: float = Field(60, gt=0, le=900, description="the longest time of one Python run")
    runner_memory_mb: int = Field(1024, ge=64, description="the most memory that an executor's variables may take")
    file_roots: Annotated[tuple[Folder, ...], BeforeValidator(_split)] = Field(
        (), description="folders from which add_memory may take files of this machine; on AWS always none"
    )
    file_versions: int = Field(20, ge=0, le=500, description="how many older versions of a file Loci keeps")
    file_mb: int = Field(100, ge=1, le=5000, description="the largest file that Loci accepts")
    allow_unsandboxed: bool = Field(
        False, description="run callers' code even if this machine cannot sandbox it: a risk"
    )

    aws: AwsSettings = Field(default_factory=lambda: AwsSettings.model_validate({}))

    @model_validator(mode="before")
    @classmethod
    def _finds_those_of_aws(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the settings of a deployment without its name before theirs, as the environment has them."""
        on_aws = {name: given[name] for name in given.keys() & AwsSettings.model_fields.keys()}
        chosen = {name: value for name, value in given.items() if name not in on_aws}
        return {**chosen, "aws": {**chosen.get("aws", {}), **on_aws}} if on_aws else chosen

    @model_validator(mode="after")
    def _can_notify(self) -> Self:
        if self.notify:
            recipients([one.get_secret_value() for one in self.notify], on_aws=self.mode == "aws")
        if self.notify_secret:
            signing_key(self.notify_secret.get_secret_value())
        return self

    @property
    def base_url(self) -> str:
        """The URL that clients use."""
        # The address that means "listen everywhere" is not one that a client can connect to.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return (self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}").rstrip("/")

    @property
    def warnings(self) -> list[str]:
        """The sentences that Loci says at each start about what the settings open."""
        said: list[str] = []
        if self.auth == "open":
            said.append('auth = "open": everybody who reaches this server is you, and needs no key.')
        if self.workflow_approval == "caller":
            what = "agents themselves approve in workflows what the operator wants approved."
            said.append(f'workflow_approval = "caller": {what}')
        return said

    @property
    def approval_seconds(self) -> float:
        """How long a question to a person waits."""
        return float(self.approval_wait[:-1]) * {"m": 60, "h": 3600, "d": 86_400}[self.approval_wait[-1]]

    @property
    def signs_in_at(self) -> str | None:
        """The issuer at which people sign in to the pages; None: nowhere."""
        return self.oidc_issuer if self.oidc_client_id else None

    @property
    def runner_folder(self) -> Path:
        """The folder of the Python runner's packages. By default it is deleted together with Loci's own environment."""
        return self.runner or Path(sys.prefix) / "runner"

    @property
    def sessions_folder(self) -> str:
        """The folder of the documents that Loci makes of sessions, with all links followed."""
        return os.path.realpath(self.data / "sessions")

    @property
    def models_folder(self) -> Path:
        """The folder of the models."""
        from platformdirs import user_cache_path  # not needed if the folder is set

        return self.models or user_cache_path("loci", appauthor=False) / "models"


def settings_by_name() -> dict[str, FieldInfo]:
    """Return all settings, those that a person may choose first."""
    return {name: one for name, one in Settings.model_fields.items() if name != "aws"} | AwsSettings.model_fields


@dataclass(frozen=True, slots=True)
class Sourced:
    """Settings, and the source of each one that was set."""

    settings: Settings
    sources: Mapping[str, str]
    """By name: "the command line", an environment variable, or the path of a file."""

    def value(self, name: str) -> object:
        """Return the value of the setting."""
        return getattr(self.settings.aws if name in AwsSettings.model_fields else self.settings, name)


def load_settings(given: Mapping[str, object] | None = None, config: Path | None = None) -> Settings:
    """Return the settings of this process; `given` holds those of the command line."""
    return sourced_settings(given, config).settings


def sourced_settings(given: Mapping[str, object] | None = None, config: Path | None = None) -> Sourced:
    """Return the settings, with the source of each one that was set."""
    said = {name: value for name, value in (given or {}).items() if value is not None}
    names = {name: PREFIX + name.upper() for name in settings_by_name()}
    environment = {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}
    file = _file(said, environment, config)
    written = _read(file) if file else {}
    try:
        settings = Settings.model_validate({**written, **environment, **said})
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][-1] if fault["loc"][0] == "aws" else fault["loc"][0])
        from difflib import get_close_matches  # only this error needs it

        unknown = fault["type"] == "extra_forbidden"
        near = get_close_matches(name, settings_by_name(), n=1) if unknown else []
        asked = f" (did you mean {near[0]!r}?)" if near else ""
        problem = f"unknown setting{asked}" if unknown else fault["msg"]
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
    """Return the environment variables that look like settings but are not, sorted."""
    known = {PREFIX + name.upper() for name in (*settings_by_name(), "config", "key", "inside")}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _file(said: Mapping[str, object], environment: Mapping[str, str], config: Path | None) -> Path | None:
    """Return the settings file: the one that was named, else config.toml in the data folder, if it exists."""
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


@dataclass(frozen=True, slots=True)
class Recipient:
    """One place to which notices go."""

    kind: RecipientKind
    address: str
    """An URL or an ARN. That of a chat is its secret: who knows it may write there."""
    where: str
    """Its host or its topic, for logs."""

    @property
    def key(self) -> str:
        """Names it in the store, where its address is not."""
        return content_id(self.kind, self.address)


def recipients(words: Sequence[str], *, on_aws: bool) -> list[Recipient]:
    """The places that the words name. Raises `Misconfigured`, without the word: it may be a secret."""
    return [_recipient(number, word, on_aws=on_aws) for number, word in enumerate(words, 1)]


def signing_key(secret: str) -> bytes:
    """The key in a secret of Standard Webhooks. Raises `Misconfigured` if it has none."""
    encoded = secret.strip()
    try:
        key = base64.b64decode(encoded.removeprefix(WEBHOOK_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not encoded.startswith(WEBHOOK_PREFIX) or not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        # Not `from`: the text of the error would hold the secret.
        raise Misconfigured(
            f"Setting 'notify_secret' is not {WEBHOOK_PREFIX} with {SHORTEST_KEY} to {LONGEST_KEY} bytes in base64",
            f'Make one with: echo "{WEBHOOK_PREFIX}$(openssl rand -base64 32)"',
        ) from None
    return key


def _recipient(number: int, word: str, *, on_aws: bool) -> Recipient:
    found = _RECIPIENT.fullmatch(word)
    if found is None:
        raise Misconfigured(f"Setting 'notify': number {number} in it is no place to tell a person", ADVICE)
    if topic := found["topic"]:
        if not on_aws:
            raise Misconfigured("Setting 'notify': only a deployment on AWS publishes to an SNS topic", ADVICE)
        return Recipient("sns", topic, topic.rpartition(":")[2])
    return Recipient(cast("RecipientKind", found["kind"] or "json"), found["url"], found["host"])
