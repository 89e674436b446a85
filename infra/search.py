"""The search index: a managed OpenSearch domain, or none.

A Serverless collection cannot hold it: those for vectors accept neither our ids nor a refresh.
"""

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_opensearchservice as opensearch

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

VERSION = opensearch.EngineVersion.OPENSEARCH_2_19
MOST_ZONES = 3
VERBS = ("es:ESHttpGet", "es:ESHttpHead", "es:ESHttpPost", "es:ESHttpPut")
"""The requests that the adapter sends. It never deletes an index."""


def search(stack: Stack, stage: Stage) -> str | None:
    """Return the URL of the stage's index; None if it has none."""
    return f"https://{_domain(stack, stage).domain_endpoint}" if stage.search == "domain" else stage.search_url


def name(stage: Stage) -> str:
    """Return the domain's name: with it, alarms and roles need no reference to the domain."""
    return f"{stage.prefix}-search"


def arn(stack: Stack, stage: Stage) -> str:
    """Return the ARN of the domain."""
    return stack.format_arn(service="es", resource="domain", resource_name=name(stage))


def _domain(stack: Stack, stage: Stage) -> opensearch.Domain:
    """Create the domain with a public endpoint and no resource policy: a request needs a role that allows it."""
    size = stage.opensearch
    zones = min(size.nodes, MOST_ZONES)
    domain = opensearch.Domain(
        stack,
        "Domain",
        domain_name=name(stage),
        version=VERSION,
        capacity=opensearch.CapacityConfig(
            data_node_instance_type=size.instance,
            data_nodes=size.nodes,
            multi_az_with_standby_enabled=False,  # it needs at least three nodes, and one of them is idle
        ),
        zone_awareness=opensearch.ZoneAwarenessConfig(
            enabled=zones > 1, availability_zone_count=zones if zones > 1 else None
        ),
        ebs=opensearch.EbsOptions(volume_size=size.volume_gb, volume_type=ec2.EbsDeviceVolumeType.GP3),
        encryption_at_rest=opensearch.EncryptionAtRestOptions(enabled=True),
        node_to_node_encryption=True,
        enforce_https=True,
        tls_security_policy=opensearch.TLSSecurityPolicy.TLS_1_2_PFS,
        removal_policy=defaults.removal(stage),
    )
    acknowledge(domain, _ACKNOWLEDGED)
    return domain


_ACKNOWLEDGED = {
    "AwsSolutions-OS1": "A VPC would need a paid NAT gateway; without a resource policy every request must be signed",
    "AwsSolutions-OS3": "The callers are Lambda functions, which have no fixed addresses",
    "AwsSolutions-OS4": "Dedicated cluster managers are worth their price from ten nodes on",
    "AwsSolutions-OS5": "There is no resource policy, so an unsigned request is refused",
    "AwsSolutions-OS7": "A single node has no second zone; with two nodes or more there is zone awareness",
    "AwsSolutions-OS9[LogExport::SEARCH_SLOW_LOGS]": "Slow logs quote what people search for",
    "AwsSolutions-OS9[LogExport::INDEX_SLOW_LOGS]": "Slow logs quote what people store",
}
