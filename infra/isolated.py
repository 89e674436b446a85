"""A network that leads only to the table and the bucket of runs, and containers in it that may do nothing."""

from dataclasses import dataclass
from typing import cast

from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_route53resolver as resolver

from infra import defaults, runs
from infra.acknowledged import acknowledge
from infra.stacks.data import Data
from infra.stage import FunctionSize, Stage

ZONES = 2
HTTPS = 443
ALLOWED, OTHERS = 100, 200
INTERFACES = [
    *("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"),
    *("ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"),
]
"""The actions that Lambda itself needs in the role of a function in a network."""


@dataclass(frozen=True, slots=True)
class Isolated:
    """The network that leads nowhere. `container` puts a function into it."""

    stack: Stack
    stage: Stage
    vpc: ec2.Vpc
    group: ec2.SecurityGroup

    def container(
        self, name: str, *, size: FunctionSize, image: lambda_.Code, description: str, storage_mb: int | None = None
    ) -> lambda_.Function:
        """Create the function of `functions/<name>`: a machine for each tenant, whose code may do nothing on AWS."""
        construct = defaults.in_template(name)
        role = _role(self.stack, self.stage, name)
        made = lambda_.Function(
            self.stack,
            construct,
            function_name=runs.function_name(self.stage, name),
            description=description,
            runtime=lambda_.Runtime.FROM_IMAGE,
            handler=lambda_.Handler.FROM_IMAGE,
            code=image,
            architecture=defaults.ARCHITECTURES[self.stage.architecture],
            memory_size=size.memory_mb,
            timeout=Duration.seconds(size.timeout_s),
            ephemeral_storage_size=Size.mebibytes(storage_mb) if storage_mb else None,
            reserved_concurrent_executions=size.reserved_concurrency,
            # Nothing can write to it. Without it, the CDK creates one that stays when the stack is deleted.
            log_group=defaults.log_group(self.stack, f"{construct}Log", self.stage),
            # Unchanged: the CDK would add a policy that lets it write to any log.
            role=role.without_policy_updates(),
            tenancy_config=lambda_.TenancyConfig.PER_TENANT,
            vpc=cast("ec2.IVpc", self.vpc),
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            security_groups=[cast("ec2.ISecurityGroup", self.group)],
        )
        made.node.add_dependency(role)
        return made


def isolated(stack: Stack, stage: Stage, data: Data) -> Isolated:
    """Create the network of this stack."""
    vpc = network(stack, stage, data)
    return Isolated(stack, stage, vpc, doors(stack, vpc))


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
    # A run also needs a signed link for each object.
    objects.add_to_policy(_through(["s3:GetObject", "s3:PutObject"], data.executors.arn_for_objects("*")))
    rows = vpc.add_gateway_endpoint("Rows", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
    lent = _through(runs.LENT, data.run_rows.table_arn)
    lent.add_condition("ArnEquals", {"aws:PrincipalArn": runs.role_arn(stack, stage)})
    rows.add_to_policy(lent)
    _know_only(stack, vpc, [f"{data.executors.bucket_name}.s3", "dynamodb"])
    return vpc


def doors(stack: Stack, vpc: ec2.Vpc) -> ec2.SecurityGroup:
    """Allow nothing in, and HTTPS out: the routes and the endpoints limit where it leads."""
    group = ec2.SecurityGroup(
        stack,
        "Doors",
        vpc=cast("ec2.IVpc", vpc),
        description="Runs of code, and parsers",
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


def _role(stack: Stack, stage: Stage, name: str) -> iam.Role:
    """Create a role with which Lambda connects the function to its network. The function itself may do nothing."""
    role = iam.Role(stack, f"{defaults.in_template(name)}Role", assumed_by=defaults.service("lambda.amazonaws.com"))
    role.add_to_policy(defaults.allow(INTERFACES, ["*"]))
    here = stack.format_arn(service="lambda", resource=f"function:{runs.function_name(stage, name)}")
    role.add_to_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["*"],
            resources=["*"],
            conditions={"ArnLike": {"lambda:SourceFunctionArn": [here, f"{here}:*"]}},
        )
    )
    acknowledge(role, {"AwsSolutions-IAM5[Resource::*]": "Lambda's interfaces have no names before they exist"})
    return role
