"""CloudFront in front of the API: one host, with the well-known paths at its root."""

import json
from pathlib import Path
from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins

from infra.acknowledged import acknowledge
from infra.stage import Stage
from loci.core.scopes import OF_PARTS, SCOPES

VIEWER_REQUEST = Path(__file__).resolve().parent / "edge" / "viewer_request.js"
ADDRESS_HEADER = "x-viewer-ip"
ORIGIN_HEADER = "x-loci-origin"
SHORTEST_READ_S = 30  # CloudFront's own default; above 60 the account needs a higher quota


def distribution(stack: Stack, stage: Stage, host: str, origin_secret: str) -> cloudfront.Distribution:
    """Create a distribution that forwards each request to the API, with the secret that opens it, and caches none."""
    certificate = _certificate(stack, stage)
    function = cloudfront.Function(
        stack,
        "ViewerRequest",
        runtime=cloudfront.FunctionRuntime.JS_2_0,
        code=cloudfront.FunctionCode.from_inline(viewer_request(stage)),
        comment="Answers requests without a credential, and adds the viewer's address",
    )
    origin = origins.HttpOrigin(
        host,
        origin_path=f"/{stage.name}",
        custom_headers={ORIGIN_HEADER: origin_secret},
        protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
        origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
        read_timeout=Duration.seconds(max(SHORTEST_READ_S, stage.gateway.timeout_s + 1)),
    )
    made = cloudfront.Distribution(
        stack,
        "Edge",
        comment=stage.prefix,
        default_behavior=cloudfront.BehaviorOptions(
            origin=cast("cloudfront.IOrigin", origin),
            allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
            cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
            # The API accepts only its own host name.
            origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
            function_associations=[
                cloudfront.FunctionAssociation(
                    function=function, event_type=cloudfront.FunctionEventType.VIEWER_REQUEST
                )
            ],
        ),
        http_version=cloudfront.HttpVersion.HTTP2_AND_3,
        domain_names=[stage.domain] if stage.domain else None,
        certificate=certificate,
        minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021 if certificate else None,
    )
    acknowledge(made, _ACKNOWLEDGED)
    return made


def viewer_request(stage: Stage) -> str:
    """Return the source of the viewer request function, with a line above it that sets SCOPES."""
    scopes: dict[str, list[str]] | None = None
    if stage.settings.get("oauth") == "built-in":
        scopes = {"": list(SCOPES)} | {path: list(some) for path, some in OF_PARTS.items()}
    elif "oidc_issuer" in stage.settings:
        scopes = {"": stage.settings.get("oidc_scopes", "").replace(",", " ").split()}
    return f"const SCOPES = {json.dumps(scopes)};\n{VIEWER_REQUEST.read_text('utf-8')}"


def _certificate(stack: Stack, stage: Stage) -> acm.ICertificate | None:
    return acm.Certificate.from_certificate_arn(stack, "Certificate", stage.certificate) if stage.certificate else None


_ACKNOWLEDGED = {
    "AwsSolutions-CFR1": "Keys decide who may use Loci, not countries",
    "AwsSolutions-CFR2": "The web ACL is at the API, and it blocks requests that bypass CloudFront",
    "AwsSolutions-CFR3": "CloudFront's log has query strings, which may contain an API key; the API logs each request",
    "AwsSolutions-CFR4": "Without your own domain, CloudFront's certificate decides on the TLS version",
}
