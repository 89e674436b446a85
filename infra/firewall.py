"""The web ACL of the API."""

from aws_cdk import Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2

from infra.acknowledged import acknowledge
from infra.distribution import ADDRESS_HEADER, ORIGIN_HEADER
from infra.stage import Firewall, Stage

Acl = wafv2.CfnWebACL
KEY_HEADERS = ("authorization", "x-api-key")


def protect(stack: Stack, stage: Stage, api: apigateway.RestApi, origin_secret: str | None) -> None:
    """Block addresses and keys with too many requests and, if there is an origin secret, all that bypass CloudFront."""
    if stage.firewall is None:
        acknowledge(api, {"AwsSolutions-APIG3": "The stage has no firewall: the API's throttles limit its requests"})
        return
    by_key = (_by_key(stage.firewall, header) for header in KEY_HEADERS)
    rules = [_rate(stage.firewall, forwarded=origin_secret is not None), *by_key]
    if origin_secret is not None:
        rules.insert(0, _through_the_edge(origin_secret))
    acl = Acl(
        stack,
        "Firewall",
        scope="REGIONAL",
        default_action=Acl.DefaultActionProperty(allow={}),
        rules=[
            Acl.RuleProperty(
                name=name,
                priority=priority,
                action=Acl.RuleActionProperty(block={}),
                statement=statement,
                visibility_config=_visible(f"{stage.prefix}-{name}"),
            )
            for priority, (name, statement) in enumerate(rules)
        ],
        visibility_config=_visible(stage.prefix),
    )
    wafv2.CfnWebACLAssociation(
        stack, "FirewallOfApi", resource_arn=api.deployment_stage.stage_arn, web_acl_arn=acl.attr_arn
    )


def _rate(size: Firewall, *, forwarded: bool) -> tuple[str, wafv2.CfnWebACL.StatementProperty]:
    """Limit requests by address. Behind CloudFront, count by the viewer's address instead."""
    by_header = Acl.ForwardedIPConfigurationProperty(header_name=ADDRESS_HEADER, fallback_behavior="MATCH")
    rate = Acl.RateBasedStatementProperty(
        aggregate_key_type="FORWARDED_IP" if forwarded else "IP",
        limit=size.requests_per_address,
        forwarded_ip_config=by_header if forwarded else None,
    )
    return "rate", Acl.StatementProperty(rate_based_statement=rate)


def _by_key(size: Firewall, header: str) -> tuple[str, wafv2.CfnWebACL.StatementProperty]:
    """Limit requests by the key or token that they show, from however many addresses. Others are not counted."""
    as_it_is = Acl.TextTransformationProperty(priority=0, type="NONE")
    shown = Acl.RateLimitHeaderProperty(name=header, text_transformations=[as_it_is])
    rate = Acl.RateBasedStatementProperty(
        aggregate_key_type="CUSTOM_KEYS",
        limit=size.requests_per_key,
        custom_keys=[Acl.RateBasedStatementCustomKeyProperty(header=shown)],
    )
    return f"rate-{header}", Acl.StatementProperty(rate_based_statement=rate)


def _through_the_edge(secret: str) -> tuple[str, wafv2.CfnWebACL.StatementProperty]:
    match = Acl.ByteMatchStatementProperty(
        field_to_match=Acl.FieldToMatchProperty(single_header={"Name": ORIGIN_HEADER}),
        positional_constraint="EXACTLY",
        search_string=secret,
        text_transformations=[Acl.TextTransformationProperty(priority=0, type="NONE")],
    )
    shown = Acl.StatementProperty(byte_match_statement=match)
    return "edge-only", Acl.StatementProperty(not_statement=Acl.NotStatementProperty(statement=shown))


def _visible(metric: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    # Sampled requests would show headers and query strings, and so keys, to everybody with access to the console.
    return Acl.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=metric, sampled_requests_enabled=False
    )
