"""What differs between stages, read from the context in `cdk.json`."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from loci.core.settings import PREFIX, Settings

Positive = Annotated[int, Field(gt=0)]
Days = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]
"""For so long CloudWatch Logs can keep something."""
FROM_THE_STACKS = frozenset(
    {"mode", "auth", "log_level", "public_url", "table", "bucket", "secrets", "secrets_from"}
    | {"search_url", "inference_function", "run_python_function", "run_deno_function", "run_role"}
    | {"allowed_hosts", "data", "models", "host", "port"}  # behind CloudFront, Loci sees API Gateway's host
)
"""Settings that say where the stacks are, or that a deployment must not change."""
GRACE_S = 1
"""The API gives up first, so its log has the end of every request."""
LONGEST_S = 899


class BadStage(Exception):
    """The context names no such stage, or says of it what cannot be."""


class Part(BaseModel):
    """A part of a stage: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FunctionSize(Part):
    """What a function gets."""

    memory_mb: int = Field(ge=128, le=10_240)
    timeout_s: int = Field(gt=0, le=900)
    reserved_concurrency: Positive | None = None


class Throttle(Part):
    """What the API lets through, in all."""

    rate: Positive
    burst: Positive


class OpenSearchDomain(Part):
    """The managed OpenSearch domain."""

    instance: str = Field(pattern=r"\.search$")
    nodes: Positive
    volume_gb: int = Field(ge=10)


class IngestSize(FunctionSize):
    """What the ingestion gets."""

    at_once: int = Field(ge=2, le=1000)


class InferenceSize(FunctionSize):
    """What the inference gets."""

    models: list[str] = []


class SandboxSize(Part):
    """What the functions get that run callers' code."""

    run_python: FunctionSize
    run_deno: FunctionSize

    @property
    def functions(self) -> dict[str, FunctionSize]:
        """By their folders."""
        return {"run_python": self.run_python, "run_deno": self.run_deno}

    @property
    def longest_s(self) -> int:
        """What a run may take, its machine's start included."""
        return max(size.timeout_s for size in self.functions.values())


class Stage(Part):
    """One stage: everything that a stack may ask."""

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
        """What the names of its resources begin with."""
        return f"loci-{self.name}"

    @property
    def retains(self) -> bool:
        """Whether its table and bucket outlive the stacks."""
        return self.removal == "retain"

    @property
    def searches(self) -> bool:
        """Whether there is an index, and so something to ingest for."""
        return self.search == "domain" or self.search_url is not None

    @property
    def infers(self) -> bool:
        """Whether there is a function that embeds and reranks."""
        return self.searches and self.inference is not None

    @property
    def functions(self) -> dict[str, FunctionSize]:
        """Loci's own functions by their folders, with their sizes."""
        sizes: dict[str, FunctionSize] = {"gateway": self.gateway, "rotate": self.rotate}
        if self.searches:
            sizes["ingest"] = self.ingest
        if self.inference and self.infers:
            sizes["inference"] = self.inference
        if self.sandbox:
            sizes |= self.sandbox.functions
        return sizes

    def timeout_s(self, name: str) -> int:
        """The function's own, and for the gateway, which drives runs of code, what these take."""
        size = self.functions[name]
        if name != "gateway":
            return size.timeout_s
        return min(LONGEST_S, max(size.timeout_s, self.sandbox.longest_s if self.sandbox else 0)) + GRACE_S

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.domain is None) != (self.certificate is None):
            raise ValueError("domain and certificate come together")
        if self.domain is not None and not self.edge:
            raise ValueError("domain is CloudFront's: it needs edge")
        if self.localstack and (self.edge or self.search != "none" or self.sandbox):
            raise ValueError(
                "LocalStack has neither CloudFront nor OpenSearch: edge must be false and search none; it builds no "
                "images: sandbox must be null"
            )
        if self.search_url and not self.localstack:
            raise ValueError("search_url is for LocalStack: elsewhere the domain is the stacks' own")
        if "language_model_key" in self.settings:
            raise ValueError("settings has 'language_model_key': keep it in a secret, and set language_model_key_from")
        if not self.settings.get("language_model_key_from", "arn:").startswith("arn:"):
            raise ValueError("settings has a language_model_key_from that the role cannot name: it must be an ARN")
        for setting in self.settings:
            if setting not in Settings.model_fields:
                raise ValueError(f"settings has {setting!r}, which is no setting of Loci")
            if setting in FROM_THE_STACKS:
                raise ValueError(f"settings has {setting!r}: {PREFIX}{setting.upper()} is what the stacks make it")
        return self


def read_stage(name: object, stages: object) -> Stage:
    """The stage of that name; `BadStage` says which key is wrong, and how."""
    known_stages = TypeAdapter(dict[str, dict[str, object]])
    try:  # as a text it comes from the command line: --context stages=…
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
