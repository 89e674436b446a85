"""The search index: a bucket of S3 Vectors, a managed OpenSearch domain, or none.

A Serverless collection cannot hold it: those for vectors accept neither our ids nor a refresh.
"""

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_opensearchservice as opensearch
from aws_cdk import aws_s3vectors as s3vectors
from aws_cdk import aws_ssm as ssm

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

MOST_ZONES = 3
VERBS = ("es:ESHttpGet", "es:ESHttpHead", "es:ESHttpPost", "es:ESHttpPut")
"""The requests that the adapter sends. Only `loci reindex` removes an index, with the alias that it moves to a copy."""
VECTOR_ACTIONS = (
    "s3vectors:DeleteVectors",
    "s3vectors:GetVectors",
    "s3vectors:PutVectors",
    "s3vectors:QueryVectors",
)


def search(stack: Stack, stage: Stage) -> None:
    """Create the domain, and a parameter with its URL: an export would lock the domain against a replacement."""
    if stage.search != "domain":
        return
    endpoint = _domain(stack, stage).domain_endpoint
    ssm.StringParameter(stack, "SearchUrl", parameter_name=_parameter(stage), string_value=f"https://{endpoint}")
    # The stacks of an earlier version import it until their own deployment, which comes after this one.
    stack.export_value(endpoint)


def url(stack: Stack, stage: Stage) -> str | None:
    """Return the URL of the stage's index, as it is when the stack is deployed; None if the stage has none."""
    if stage.search == "domain":
        return ssm.StringParameter.value_for_string_parameter(stack, _parameter(stage))
    return stage.search_url


def _parameter(stage: Stage) -> str:
    return f"/{stage.prefix}/search-url"


def vectors(stack: Stack, stage: Stage) -> None:
    """Create the vector bucket. The functions create an index in it for each owner and collection."""
    if stage.search == "vectors":
        made = s3vectors.CfnVectorBucket(stack, "Vectors", vector_bucket_name=vector_bucket(stage))
        made.apply_removal_policy(defaults.removal(stage))


def vector_bucket(stage: Stage) -> str:
    """Return the name of the vector bucket. Names of further ones, when it is full, begin with it."""
    return f"{stage.prefix}-vectors"


def access_to_vectors(stack: Stack, stage: Stage) -> list[iam.PolicyStatement]:
    """Allow to write and search in the vector buckets, and to make indexes, and buckets when they are full."""
    if stage.search != "vectors":
        return []

    def arn_of(resource_name: str) -> str:
        return stack.format_arn(service="s3vectors", resource="bucket", resource_name=resource_name)

    name = vector_bucket(stage)
    indexes, buckets = [arn_of(f"{name}/index/*"), arn_of(f"{name}-*/index/*")], [arn_of(name), arn_of(f"{name}-*")]
    return [
        defaults.allow(VECTOR_ACTIONS, indexes),
        defaults.allow(["s3vectors:CreateIndex"], [*buckets, *indexes]),
        defaults.allow(["s3vectors:CreateVectorBucket"], [buckets[1]]),
    ]


def name(stage: Stage) -> str:
    """Return the domain's name: with it, alarms and roles need no reference to the domain."""
    return stage.opensearch.name or f"{stage.prefix}-search"


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
        version=opensearch.EngineVersion.open_search(size.version),
        enable_version_upgrade=True,  # without it, another version would be another, empty domain
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
