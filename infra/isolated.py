"""A network that leads only to the table and to one part of the bucket."""

from typing import cast

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_route53resolver as resolver

from infra import runs
from infra.acknowledged import acknowledge
from infra.stacks.data import Data
from infra.stage import Stage

ZONES = 2
HTTPS = 443
ALLOWED, OTHERS = 100, 200
STATE = "*/executors/*"
"""The objects that a run may reach. It needs a signed link for each."""


def network(stack: Stack, stage: Stage, data: Data) -> ec2.Vpc:
    """Create subnets without a route out, two gateway endpoints, and a resolver that knows two names."""
    vpc = ec2.Vpc(
        stack,
        "Network",
        max_azs=ZONES,
        nat_gateways=0,
        create_internet_gateway=False,
        restrict_default_security_group=False,  # that needs a function of the CDK, and nothing uses that group
        subnet_configuration=[
            ec2.SubnetConfiguration(name="Isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=20)
        ],
    )
    acknowledge(vpc, {"AwsSolutions-VPC7": "It has no way out, and its endpoints name everything that they allow"})
    objects = vpc.add_gateway_endpoint("Objects", service=ec2.GatewayVpcEndpointAwsService.S3)
    objects.add_to_policy(_through(["s3:GetObject", "s3:PutObject"], data.bucket.arn_for_objects(STATE)))
    rows = vpc.add_gateway_endpoint("Rows", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
    lent = _through(runs.LENT, data.table.table_arn)
    lent.add_condition("ArnEquals", {"aws:PrincipalArn": runs.role_arn(stack, stage)})
    rows.add_to_policy(lent)
    _know_only(stack, vpc, [f"{data.bucket.bucket_name}.s3", "dynamodb"])
    return vpc


def doors(stack: Stack, vpc: ec2.Vpc) -> ec2.SecurityGroup:
    """Allow nothing in, and HTTPS out: the routes and the endpoints limit where it leads."""
    group = ec2.SecurityGroup(
        stack,
        "Doors",
        vpc=cast("ec2.IVpc", vpc),
        description="Runs of code",
        allow_all_outbound=False,
    )
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "The two endpoints")
    return group


def _through(actions: list[str], resource: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        principals=[cast("iam.IPrincipal", iam.AnyPrincipal())], actions=actions, resources=[resource]
    )


def _know_only(stack: Stack, vpc: ec2.Vpc, hosts: list[str]) -> None:
    """Answer DNS for these hosts only: otherwise DNS would be a way out of the network."""
    names = [f"{host}.{stack.region}.{stack.url_suffix}" for host in hosts]
    known = resolver.CfnFirewallDomainList(stack, "Known", domains=names)
    others = resolver.CfnFirewallDomainList(stack, "Others", domains=["*"])
    rule = resolver.CfnFirewallRuleGroup.FirewallRuleProperty
    group = resolver.CfnFirewallRuleGroup(
        stack,
        "Names",
        firewall_rules=[
            rule(
                action="ALLOW",
                priority=ALLOWED,
                firewall_domain_list_id=known.attr_id,
                # AWS controls the names that these names lead to.
                firewall_domain_redirection_action="TRUST_REDIRECTION_DOMAIN",
            ),
            rule(action="BLOCK", block_response="NODATA", priority=OTHERS, firewall_domain_list_id=others.attr_id),
        ],
    )
    resolver.CfnFirewallRuleGroupAssociation(
        stack, "NamesHere", firewall_rule_group_id=group.attr_id, vpc_id=vpc.vpc_id, priority=101
    )
