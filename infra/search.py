"""The search index: a managed OpenSearch domain, a Serverless collection, or none yet."""

import json

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_opensearchserverless as aoss
from aws_cdk import aws_opensearchservice as opensearch

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

VERSION = opensearch.EngineVersion.OPENSEARCH_2_19
MOST_ZONES = 3


def search(stack: Stack, stage: Stage) -> None:
    """What the stage's `search` names. No role may use it until there is an index to keep in it."""
    match stage.search:
        case "domain":
            _domain(stack, stage)
        case "serverless":
            _collection(stack, stage)
        case "none":
            pass


def name(stage: Stage) -> str:
    """The name of the domain or the collection: given here, so that the alarms need no reference to it."""
    return f"{stage.prefix}-search"


def _domain(stack: Stack, stage: Stage) -> None:
    """Reached over its public endpoint; it has no resource policy, so a request needs a role that allows it."""
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
            multi_az_with_standby_enabled=False,  # three nodes at least, and one of them idle
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


def _collection(stack: Stack, stage: Stage) -> None:
    """A NextGen collection in a group of its own, which bounds what it may cost."""
    called, size = name(stage), stage.serverless
    resource = {"ResourceType": "collection", "Resource": [f"collection/{called}"]}
    encryption = aoss.CfnSecurityPolicy(
        stack,
        "SearchEncryption",
        name=called,
        type="encryption",
        policy=json.dumps({"Rules": [resource], "AWSOwnedKey": True}),
    )
    network = aoss.CfnSecurityPolicy(
        stack,
        "SearchNetwork",
        name=called,
        type="network",
        # Public, as the domain's endpoint is: a request still needs a role and a data access policy that allow it.
        policy=json.dumps([{"Rules": [resource], "AllowFromPublic": True}]),
    )
    group = aoss.CfnCollectionGroup(
        stack,
        "SearchGroup",
        name=called,
        generation="NEXTGEN",
        standby_replicas="ENABLED",
        capacity_limits=aoss.CfnCollectionGroup.CapacityLimitsProperty(
            max_indexing_capacity_in_ocu=size.indexing_units, max_search_capacity_in_ocu=size.search_units
        ),
    )
    collection = aoss.CfnCollection(
        stack, "Search", name=called, type="VECTORSEARCH", collection_group_name=called, standby_replicas="ENABLED"
    )
    before: tuple[CfnResource, ...] = (encryption, network, group)
    for resource_before in before:
        collection.add_resource_dependency(resource_before)
    for kept in (*before, collection):  # a collection that stays is of no use without its policies
        kept.apply_removal_policy(defaults.removal(stage))


_ACKNOWLEDGED = {
    "AwsSolutions-OS1": "A network of one's own would cost a NAT gateway; without a resource policy SigV4 is the door",
    "AwsSolutions-OS3": "The callers are Lambda functions, which have no fixed addresses",
    "AwsSolutions-OS4": "Dedicated cluster managers pay from ten nodes on",
    "AwsSolutions-OS5": "There is no resource policy, so an unsigned request is refused",
    "AwsSolutions-OS7": "A single node has no second zone; from two nodes on there is zone awareness",
    "AwsSolutions-OS9[LogExport::SEARCH_SLOW_LOGS]": "Slow logs quote what people search for",
    "AwsSolutions-OS9[LogExport::INDEX_SLOW_LOGS]": "Slow logs quote what people store",
}
