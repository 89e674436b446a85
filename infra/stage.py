"""The settings of a stage, read from the context in `cdk.json`."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from loci.core.settings import PREFIX, Settings

Positive = Annotated[int, Field(gt=0)]
Days = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]
"""The retention times that CloudWatch Logs allows."""
FROM_THE_STACKS = frozenset(
    {"mode", "auth", "log_level", "public_url", "table", "bucket", "secrets", "secrets_from"}
    | {"search_url", "inference_function", "run_python_function", "run_deno_function", "run_role"}
    | {"allowed_hosts", "data", "models", "host", "port"}  # behind CloudFront, Loci sees API Gateway's host
)
"""Settings that the stacks provide, or that a deployment must not change."""
GRACE_S = 1
"""The API times out before the function, so its log has the end of every request."""
LONGEST_S = 899


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


class OpenSearchDomain(Part):
    """The managed OpenSearch domain."""

    instance: str = Field(pattern=r"\.search$")
    nodes: Positive
    volume_gb: int = Field(ge=10)


class IngestSize(FunctionSize):
    """The size of the ingestion."""

    at_once: int = Field(ge=2, le=1000)


class InferenceSize(FunctionSize):
    """The size of the inference, and its models."""

    models: list[str] = []


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
    localstack: bool
    architecture: Literal["x86_64", "arm64"]
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"]
    log_days: Days
    gateway: FunctionSize
    rotate: FunctionSize
    ingest: IngestSize
    inference: InferenceSize | None = None
    sandbox: SandboxSize | None = None
    throttle: Throttle
    requests_per_address: int = Field(ge=10)
    account_log_role: bool
    edge: bool
    domain: str | None = None
    certificate: str | None = Field(None, pattern=r"^arn:[\w-]+:acm:us-east-1:\d{12}:certificate/[\w-]+$")
    rotation_days: int = Field(ge=1, le=1000)
    noncurrent_days: Positive
    search: Literal["domain", "none"]
    search_url: str | None = Field(None, pattern=r"^http://(127\.0\.0\.1|localhost|\[::1\]):\d+$")
    opensearch: OpenSearchDomain
    alarm_email: str | None = Field(None, pattern=r"^[^@\s]+@[^@\s]+$")
    budget_usd: Positive | None = None
    settings: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        """The prefix of the names of its resources."""
        return f"loci-{self.name}"

    @property
    def retains(self) -> bool:
        """True if its table and bucket stay when the stacks are deleted."""
        return self.removal == "retain"

    @property
    def searches(self) -> bool:
        """True if there is an index, and so an ingestion."""
        return self.search == "domain" or self.search_url is not None

    @property
    def infers(self) -> bool:
        """True if there is a function that embeds and reranks."""
        return self.searches and self.inference is not None

    @property
    def functions(self) -> dict[str, FunctionSize]:
        """The sizes of Loci's functions, by the function's folder."""
        sizes: dict[str, FunctionSize] = {"gateway": self.gateway, "rotate": self.rotate}
        if self.searches:
            sizes["ingest"] = self.ingest
        if self.inference and self.infers:
            sizes["inference"] = self.inference
        if self.sandbox:
            sizes |= self.sandbox.functions
        return sizes

    def timeout_s(self, name: str) -> int:
        """Return the timeout of a function. The gateway drives runs of code, so it needs at least their time."""
        size = self.functions[name]
        if name != "gateway":
            return size.timeout_s
        return min(LONGEST_S, max(size.timeout_s, self.sandbox.longest_s if self.sandbox else 0)) + GRACE_S

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.domain is None) != (self.certificate is None):
            raise ValueError("domain and certificate must be set together")
        if self.domain is not None and not self.edge:
            raise ValueError("domain is the domain of CloudFront: it needs edge")
        if self.localstack and (self.edge or self.search != "none" or self.sandbox):
            raise ValueError(
                "LocalStack has neither CloudFront nor OpenSearch: edge must be false and search none; it builds no "
                "images: sandbox must be null"
            )
        if self.search_url and not self.localstack:
            raise ValueError("search_url is for LocalStack: elsewhere the stacks create the domain")
        if "language_model_key" in self.settings:
            raise ValueError("settings has 'language_model_key': keep it in a secret, and set language_model_key_from")
        if not self.settings.get("language_model_key_from", "arn:").startswith("arn:"):
            raise ValueError("settings has a language_model_key_from that the role cannot name: it must be an ARN")
        for setting in self.settings:
            if setting not in Settings.model_fields:
                raise ValueError(f"settings has {setting!r}, which is not a setting of Loci")
            if setting in FROM_THE_STACKS:
                raise ValueError(f"settings has {setting!r}: the stacks set {PREFIX}{setting.upper()} themselves")
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
        return Stage.model_validate({**known[name], "name": name})
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"]))
        raise BadStage(f"Stage {name!r} in cdk.json: {f'{key}: ' if key else ''}{fault['msg']}") from None
