"""The costs of a stage by the list prices in `prices.toml`: idle, counted in its templates, and for what it does."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRICES: dict[str, Any] = tomllib.loads((Path(__file__).resolve().parent / "prices.toml").read_text("utf-8"))
MONTH, MILLION, GB, ASSUMED = PRICES["month"], PRICES["million"], PRICES["gb"], PRICES["assumed"]
HOURS, THOUSAND, ONE_MILLION, MB_PER_GB = 730, 1000, 1_000_000, 1024
FUNCTION, DOMAIN = "AWS::Lambda::Function", "AWS::OpenSearchService::Domain"
VECTORS = "AWS::S3Vectors::VectorBucket"

Resource = Mapping[str, Any]
"""The properties of a resource in a template."""
Costs = dict[str, float]
"""US dollars, by what they are for."""


class UnknownPrice(Exception):
    """The price list does not know a resource, so nobody can say what it costs."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """All that the templates of a stage deploy: the type and the properties of each resource."""

    resources: tuple[tuple[str, Resource], ...]

    @classmethod
    def by(cls, templates: Iterable[Mapping[str, Any]]) -> "Deployed":
        """Read the templates."""
        every = (one for template in templates for one in template["Resources"].values())
        return cls(tuple((one["Type"], one.get("Properties", {})) for one in every))

    def has(self, type: str) -> bool:
        """Return whether there is a resource of the type."""
        return any(its == type for its, _ in self.resources)

    def function(self, name: str) -> Resource | None:
        """Return the function of `functions/<name>`, if it is deployed."""
        functions = (properties for type, properties in self.resources if type == FUNCTION)
        return next((one for one in functions if one["FunctionName"].endswith(f"-{name}")), None)

    @property
    def index_is_in_vectors(self) -> bool:
        """True if the index is in S3 Vectors."""
        return self.has(VECTORS)

    @property
    def model_is_in_gateway(self) -> bool:
        """True if the gateway runs a model itself."""
        gateway = self.function("gateway") or {}
        return "LOCI_MODELS" in gateway.get("Environment", {}).get("Variables", {})

    def runs(self, name: str, seconds: float) -> float:
        """Return the price of one call of the function that takes so long; 0 if it is not deployed."""
        function = self.function(name)
        if function is None:
            return 0
        of_memory = PRICES["gb_second"][function["Architectures"][0]] * function["MemorySize"] / MB_PER_GB
        return seconds * of_memory + MILLION["function"] / ONE_MILLION


def idle(deployed: Deployed) -> Costs:
    """Return the costs of a month with no data and one call in each hour: without any, Loci sends no metrics."""
    costs: Costs = {}
    for type, properties in deployed.resources:
        for what, amount in _of_a_month(type, properties):
            costs[what] = costs.get(what, 0) + amount
    return {**costs, "Loci's own metrics": len(ASSUMED["metrics"]) * MONTH["custom_metric"]}


def _of_a_month(type: str, properties: Resource) -> Iterator[tuple[str, float]]:
    count = COUNTED.get(type)
    if count:
        yield from count(properties)
    elif type not in PRICES["resources"]["free"] + PRICES["resources"]["by_use"]:
        raise UnknownPrice(f"infra/prices.toml does not know {type}: add it to free or to by_use, or count it")


def _domain(properties: Resource) -> Iterator[tuple[str, float]]:
    nodes, instance = properties["ClusterConfig"]["InstanceCount"], properties["ClusterConfig"]["InstanceType"]
    if instance not in PRICES["hour"]:
        raise UnknownPrice(f"infra/prices.toml does not know the hour of {instance}")
    yield "OpenSearch nodes", nodes * HOURS * PRICES["hour"][instance]
    yield "OpenSearch storage", nodes * properties["EBSOptions"]["VolumeSize"] * MONTH["search_gb"]


def _image(properties: Resource) -> Iterator[tuple[str, float]]:
    if properties.get("PackageType") == "Image":
        name = properties["FunctionName"].rpartition("-")[2]
        if name not in ASSUMED["image_gb"]:
            raise UnknownPrice(f"infra/prices.toml does not know how large the image of {name} is")
        yield "container images", ASSUMED["image_gb"][name] * MONTH["image_gb"]


def _firewall(properties: Resource) -> Iterator[tuple[str, float]]:
    yield "firewall", MONTH["web_acl"] + len(properties["Rules"]) * MONTH["web_acl_rule"]


def _alarm(properties: Resource) -> Iterator[tuple[str, float]]:
    watched = [one for one in properties.get("Metrics", []) if "MetricStat" in one]
    yield "alarms", max(1, len(watched)) * MONTH["alarm_metric"]


def _poll(_: Resource) -> Iterator[tuple[str, float]]:
    yield "polls of the queue of uploads", ASSUMED["polls"]["a_month"] * MILLION["queue"] / ONE_MILLION


def _endpoint(properties: Resource) -> Iterator[tuple[str, float]]:
    if properties.get("VpcEndpointType", "Gateway") != "Gateway":
        raise UnknownPrice("infra/prices.toml knows gateway endpoints only, which are free")
    yield from ()


def _each(what: str, price: float) -> Callable[[Resource], Iterator[tuple[str, float]]]:
    return lambda _: iter([(what, price)])


COUNTED: dict[str, Callable[[Resource], Iterator[tuple[str, float]]]] = {
    DOMAIN: _domain,
    "AWS::SecretsManager::Secret": _each("secrets", MONTH["secret"]),
    FUNCTION: _image,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::CloudWatch::Dashboard": _each("dashboard", MONTH["dashboard"]),
    "AWS::KMS::Key": _each("keys", MONTH["key"]),
    "AWS::WAFv2::WebACL": _firewall,
    "AWS::Lambda::EventSourceMapping": _poll,
    "AWS::Route53Resolver::FirewallDomainList": lambda properties: iter(
        [("names of the DNS firewall", len(properties["Domains"]) * MONTH["dns_name"])]
    ),
    "AWS::EC2::VPCEndpoint": _endpoint,
}
