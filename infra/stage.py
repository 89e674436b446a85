"""The settings of a stage, read from the context in `cdk.json`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from loci.core.errors import Misconfigured
from loci.core.settings import FUNCTION_ARN, PREFIX, Recipient, recipients, settings_by_name

CONTEXT = Path(__file__).resolve().parent.parent / "cdk.json"
Positive = Annotated[int, Field(gt=0)]
Days = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]
"""The retention times that CloudWatch Logs allows."""
FROM_THE_STACKS = frozenset(
    {"mode", "auth", "log_level", "public_url", "table", "bucket", "secrets", "secrets_from"}
    | {"search", "search_url", "inference_function", "extract_function", "run_python_function", "run_deno_function"}
    | {"run_role", "run_table", "executor_bucket", "errand_function", "ingest_queue", "aside_queue"}
    | {"connect_function", "secret_key", "workflow_machine", "address_header"}
    | {"allowed_hosts", "data", "models", "host", "port"}  # behind CloudFront, Loci sees API Gateway's host
)
"""Settings that the stacks provide, or that a deployment must not change."""
GRACE_S = 1
"""The API times out before the function, so its log has the end of every request."""
LIKE = "like"
"""The key that names another stage: a stage has that one's values for all keys that it does not have itself."""
WITHOUT = "without"
"""The key with those that it does not take over: a `null` does not get through the CDK."""
UNRESERVED = 100
"""Executions that Lambda keeps for the functions without a reservation."""
NEAR_TIMEOUT = 0.9
SPARE_S = 5
"""A request that comes so close to the timeout of the gateway has used all of its time."""
ENDS_ITSELF = ("gateway", "workflow")
"""Functions that watch their time, and may use nearly all of it."""
SHORTEST_SLICE_S = 400
"""A task may take 300 s, and a slice begins none that could be cut off."""


class BadStage(Exception):
    """The context has no such stage, or one of its values is invalid."""


class Part(BaseModel):
    """A part of a stage. It accepts no unknown key, converts no value, and is frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FunctionSize(Part):
    """The memory, time and concurrency of a function."""

    memory_mb: int = Field(ge=128, le=10_240)
    timeout_s: int = Field(gt=0, le=900)
    reserved_concurrency: Positive | None = None


class Throttle(Part):
    """The requests that the API accepts, a second and at once."""

    rate: Positive
    burst: Positive


class Firewall(Part):
    """The web ACL of the API."""

    requests_per_address: int = Field(ge=10)
    requests_per_key: int = Field(1500, ge=10)


class OpenSearchDomain(Part):
    """The managed OpenSearch domain."""

    instance: str = Field(pattern=r"\.search$")
    nodes: Positive
    volume_gb: int = Field(ge=10)
    version: str = Field("2.19", pattern=r"^(2\.19|3\.\d+)$")
    name: str | None = Field(None, pattern=r"^[a-z][a-z0-9-]{2,27}$")


class IngestSize(FunctionSize):
    """The size of the ingestion. It begins no upload in the last 15 seconds of its time."""

    timeout_s: int = Field(ge=30, le=900)
    at_once: int = Field(ge=2, le=1000)


class InferenceSize(FunctionSize):
    """The size of the inference, and its models."""

    models: list[str] = []


class Existing(Part):
    """The restored data of an earlier deployment, which the stage uses instead of creating its own."""

    table: str | None = Field(None, pattern=r"^[a-zA-Z0-9_.-]{3,255}$")
    bucket: str | None = Field(None, pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    key: str | None = Field(None, pattern=r"^arn:[\w-]+:kms:[\w-]+:\d{12}:key/[\w-]+$")
    secret: str | None = Field(None, pattern=r"^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:\S+$")


class Backup(Part):
    """Daily backups of the table and the bucket."""

    days: int = Field(ge=1)
    copy_to: str | None = Field(None, pattern=r"^arn:[\w-]+:backup:[\w-]+:\d{12}:backup-vault:[\w-]+$")


class SandboxSize(Part):
    """The sizes of the functions that run callers' code."""

    run_python: FunctionSize
    run_deno: FunctionSize

    @property
    def functions(self) -> dict[str, FunctionSize]:
        """The sizes, by the function's folder."""
        return {"run_python": self.run_python, "run_deno": self.run_deno}

    @property
    def longest_s(self) -> int:
        """The longest time of a run, including the start of its machine."""
        return max(size.timeout_s for size in self.functions.values())


class Stage(Part):
    """One stage: everything that the stacks need to know."""

    name: str = Field(pattern=r"^[a-z][a-z0-9]{0,11}$")
    removal: Literal["destroy", "retain"]
    existing: Existing = Existing(table=None, bucket=None, key=None, secret=None)
    backup: Backup | None = None
    localstack: bool
    architecture: Literal["x86_64", "arm64"]
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"]
    log_days: Days
    gateway: FunctionSize
    errand: FunctionSize = FunctionSize(memory_mb=1024, timeout_s=360)
    connect: FunctionSize = FunctionSize(memory_mb=1024, timeout_s=900)
    workflow: FunctionSize = FunctionSize(memory_mb=1024, timeout_s=900)
    rotate: FunctionSize
    ingest: IngestSize
    inference: InferenceSize | None = None
    model_in_gateway: Literal["all-MiniLM-L6-v2"] | None = None
    sandbox: SandboxSize | None = None
    extract: FunctionSize | None = None
    throttle: Throttle
    firewall: Firewall | None = None
    account_log_role: bool
    edge: bool
    domain: str | None = None
    certificate: str | None = Field(None, pattern=r"^arn:[\w-]+:acm:us-east-1:\d{12}:certificate/[\w-]+$")
    rotation_days: int = Field(ge=1, le=1000)
    noncurrent_days: Positive
    search: Literal["domain", "vectors", "none"]
    search_url: str | None = Field(None, pattern=r"^http://(127\.0\.0\.1|localhost|\[::1\]):\d+$")
    opensearch: OpenSearchDomain
    alarms: Literal["all", "few"]
    dashboard: bool
    alarm_email: str | None = Field(None, pattern=r"^[^@\s]+@[^@\s]+$")
    budget_usd: Positive | None = None
    budget_closes: bool = False
    """True: the API refuses all requests from the time when AWS knows that the budget is used up."""
    otel: dict[Annotated[str, Field(pattern=r"^OTEL_[A-Z_]+$")], str] = {}
    """Variables of OpenTelemetry: where the functions that answer calls send traces and metrics."""
    tool_functions: list[Annotated[str, Field(pattern=FUNCTION_ARN)]] = []
    """Functions that may be tool servers."""
    settings: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        """The prefix of the names of its resources."""
        return f"loci-{self.name}"

    def function_name(self, name: str) -> str:
        """Return a function's name. Other stacks use it: a reference would be an export, and lock the function."""
        return f"{self.prefix}-{name}"

    @property
    def retains(self) -> bool:
        """True if its table and bucket stay when the stacks are deleted."""
        return self.removal == "retain"

    @property
    def searches(self) -> bool:
        """True if there is an index, and so an ingestion."""
        return self.search != "none" or self.search_url is not None

    @property
    def infers(self) -> bool:
        """True if there is a function that embeds and reranks."""
        return self.searches and self.inference is not None

    @property
    def reads_files(self) -> bool:
        """True if there is a function that reads workbooks, PDFs and other files that need a parser."""
        return self.searches and self.extract is not None

    @property
    def isolated(self) -> dict[str, FunctionSize]:
        """The sizes of the functions in the network that leads nowhere, by the function's folder."""
        sizes = self.sandbox.functions if self.sandbox else {}
        return {**sizes, "extract": self.extract} if self.extract and self.reads_files else sizes

    @property
    def functions(self) -> dict[str, FunctionSize]:
        """The sizes of Loci's functions, by the function's folder."""
        sizes: dict[str, FunctionSize] = {"gateway": self.gateway, "connect": self.connect, "rotate": self.rotate}
        sizes["workflow"] = self.workflow
        if self.searches:
            sizes["ingest"] = self.ingest
        if self.inference and self.infers:
            sizes["inference"] = self.inference
        if self.sandbox:
            sizes["errand"] = self.errand
        return sizes | self.isolated

    @property
    def quota(self) -> int:
        """The concurrent executions that the account must have: AWS refuses reservations beyond. 0 without any."""
        reserved = sum(size.reserved_concurrency or 0 for size in self.functions.values())
        return reserved + UNRESERVED if reserved else 0

    def timeout_s(self, name: str) -> int:
        """Return the timeout of a function."""
        return self.functions[name].timeout_s + (GRACE_S if name == "gateway" else 0)

    def slow_s(self, name: str) -> float:
        """Return the seconds from which on a call of the function is too close to its timeout."""
        timeout = self.timeout_s(name)
        return timeout - SPARE_S if name in ENDS_ITSELF else timeout * NEAR_TIMEOUT

    @field_validator("settings")
    @classmethod
    def _names_a_known_way_in(cls, settings: dict[str, str]) -> dict[str, str]:
        if settings.get("oauth", "off") not in ("off", "built-in"):
            raise ValueError("settings has oauth, which is off or built-in; name an issuer as oidc_issuer")
        return settings

    @model_validator(mode="after")
    def _outlasts_its_runs(self) -> Self:
        if self.sandbox and self.errand.timeout_s <= self.sandbox.longest_s:
            raise ValueError("errand.timeout_s must be longer than each timeout_s of the sandbox: it waits for runs")
        return self

    @model_validator(mode="after")
    def _has_time_for_a_task(self) -> Self:
        if self.workflow.timeout_s < SHORTEST_SLICE_S:
            raise ValueError(
                f"workflow.timeout_s must be {SHORTEST_SLICE_S} or more: it begins no task that could be cut"
            )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.domain is None) != (self.certificate is None):
            raise ValueError("domain and certificate must be set together")
        if self.domain is not None and not self.edge:
            raise ValueError("domain is the domain of CloudFront: it needs edge")
        if self.localstack and (self.edge or self.firewall or self.search != "none" or self.sandbox or self.extract):
            raise ValueError(
                "LocalStack has neither CloudFront nor OpenSearch nor S3 Vectors nor WAF: edge must be false, firewall "
                "null, and search none; it builds no images: sandbox and extract must be null"
            )
        if self.search_url and not self.localstack:
            raise ValueError("search_url is for LocalStack: elsewhere the stacks create the domain")
        for setting in self.settings:
            if setting not in settings_by_name():
                raise ValueError(f"settings has {setting!r}, which is not a setting of Loci")
            if setting in FROM_THE_STACKS:
                raise ValueError(f"settings has {setting!r}: the stacks set {PREFIX}{setting.upper()} themselves")
        return self

    @model_validator(mode="after")
    def _keeps_secrets_elsewhere(self) -> Self:
        for name in ("language_model_key", "oidc_client_secret", "notify_secret"):
            if name in self.settings:
                raise ValueError(f"settings has {name!r}: keep it in a secret, and set {name}_from")
        for name in ("language_model_key", "oidc_client_secret", "notify_secret", "notify"):
            if not self.settings.get(f"{name}_from", "arn:").startswith("arn:"):
                raise ValueError(f"settings has a {name}_from that the role cannot name: it must be an ARN")
        return self

    @property
    def recipients(self) -> list[Recipient]:
        """The places to which `notify` sends notices. Raises `Misconfigured`."""
        words = [one.strip() for one in self.settings.get("notify", "").split(",")]
        return recipients([one for one in words if one], on_aws=True)

    @model_validator(mode="after")
    def _can_notify(self) -> Self:
        try:
            told = self.recipients
        except Misconfigured as error:
            raise ValueError(str(error)) from None
        if any(one.kind in ("slack", "teams") for one in told):
            raise ValueError("settings has the address of a chat in notify: keep it in a secret, and set notify_from")
        return self

    @model_validator(mode="after")
    def _has_a_firewall_for_its_edge(self) -> Self:
        if self.edge and self.firewall is None:
            raise ValueError("edge needs the firewall, which refuses requests that bypass CloudFront")
        return self

    @model_validator(mode="after")
    def _lets_clients_find_the_way_in(self) -> Self:
        if self.settings.get("oauth") == "built-in" and not self.edge and not self.localstack:
            raise ValueError("settings has oauth, which needs edge: clients look for its paths at the root of the host")
        return self

    @model_validator(mode="after")
    def _lends_none_of_its_functions(self) -> Self:
        own = [one for one in self.tool_functions if ":function:loci-" in one]
        if own:
            raise ValueError(f"tool_functions has {own[0]}: Loci's own functions are no tool servers")
        return self

    @model_validator(mode="after")
    def _has_a_budget_that_closes(self) -> Self:
        if self.budget_closes and self.budget_usd is None:
            raise ValueError("budget_closes needs budget_usd")
        return self

    @model_validator(mode="after")
    def _uses_its_model(self) -> Self:
        model = self.model_in_gateway
        if model is None:
            return self
        if self.inference:
            raise ValueError("model_in_gateway and inference exclude each other: set one of them to null")
        if not self.searches:
            raise ValueError("model_in_gateway makes vectors for search, which is none")
        if self.settings.get("embedder", model) != model:
            raise ValueError(f"settings has another embedder than model_in_gateway, which is {model}")
        return self


def read_stage(name: object, stages: object) -> Stage:
    """Return the stage of that name, or raise `BadStage`, which names the wrong key."""
    known_stages = TypeAdapter(dict[str, dict[str, object]])
    try:  # on the command line (--context stages=…) it is text
        known = known_stages.validate_json(stages) if isinstance(stages, str) else known_stages.validate_python(stages)
    except ValidationError:
        raise BadStage("The context has no stages: run this beside cdk.json") from None
    if not isinstance(name, str) or name not in known:
        raise BadStage(f"There is no stage {name!r} in cdk.json: choose one of {', '.join(known)}")
    try:
        return Stage.model_validate({**_whole(name, known), "name": name})
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"]))
        raise BadStage(f"Stage {name!r} in cdk.json: {f'{key}: ' if key else ''}{fault['msg']}") from None


def stage_of_file(name: str) -> Stage:
    """Return the stage of that name in `cdk.json`; without one, end the command with the reason."""
    try:
        return read_stage(name, json.loads(CONTEXT.read_text("utf-8"))["context"]["stages"])
    except BadStage as error:
        sys.exit(str(error))


def _whole(name: str, known: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    own = dict(known[name])
    if LIKE not in own:
        return own
    other, without = own.pop(LIKE), own.pop(WITHOUT, [])
    if not isinstance(other, str) or other not in known or LIKE in known[other]:
        raise BadStage(f"Stage {name!r} in cdk.json: like: it must name a stage that is like no other")
    if not isinstance(without, list) or not all(key in Stage.model_fields for key in cast("list[object]", without)):
        raise BadStage(f"Stage {name!r} in cdk.json: without: it must be a list of keys of a stage")
    return {key: value for key, value in known[other].items() if key not in without} | own
