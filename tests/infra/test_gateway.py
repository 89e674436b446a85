"""The way in: the API, its log, the firewall and, where the stage wants it, CloudFront."""

import json
from typing import Any

from infra.distribution import ADDRESS_HEADER
from loci.core.identity import LOCAL
from loci.documents.ingest.uploads import upload_prefix
from tests.infra.conftest import CERTIFICATE, Synthesised, of_each_stage
from tests.infra.synthesis import Stacks
from tests.infra.template import plain
from tests.support.each import each

STAGE = "AWS::ApiGateway::Stage"
METHOD = "AWS::ApiGateway::Method"
ACL = "AWS::WAFv2::WebACL"
DISTRIBUTION = "AWS::CloudFront::Distribution"
URL = "AWS::Lambda::Url"
OVERALL = "/*"
SECRET = "{{resolve:secretsmanager:<OriginSecret>:SecretString:::}}"
API = "https://<Api>.execute-api.<AWS::Region>.<AWS::URLSuffix>"


def rules(stacks: Stacks) -> dict[str, dict[str, Any]]:
    """The firewall's rules by name, in the order in which they are asked."""
    found = sorted(stacks.gateway.one(ACL)["Rules"], key=lambda rule: rule["Priority"])
    return {rule["Name"]: rule for rule in found}


def edge(stacks: Stacks) -> dict[str, Any]:
    return stacks.gateway.one(DISTRIBUTION)["DistributionConfig"]


@of_each_stage
def test_every_path_and_method_goes_to_the_gateway(stacks: Stacks) -> None:
    methods = stacks.gateway.of_type(METHOD).values()
    paths = {stacks.gateway.read(method["ResourceId"]) for method in methods}
    assert paths == {"<Api.RootResourceId>", "<Apiproxy>"}
    assert {method["HttpMethod"] for method in methods} == {"ANY"}
    assert {method["Integration"]["Type"] for method in methods} == {"AWS_PROXY"}
    assert all("<Gateway.Arn>" in stacks.gateway.read(method["Integration"]["Uri"]) for method in methods)


@of_each_stage
def test_the_api_is_regional_and_waits_as_long_as_the_stage_says(stacks: Stacks) -> None:
    methods = stacks.gateway.of_type(METHOD).values()
    assert stacks.gateway.one("AWS::ApiGateway::RestApi")["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    assert {method["Integration"]["TimeoutInMillis"] for method in methods} == {stacks.stage.gateway.timeout_s * 1000}


@of_each_stage
def test_only_the_api_may_call_the_gateway(stacks: Stacks) -> None:
    permissions = stacks.gateway.of_type("AWS::Lambda::Permission").values()
    callers = {permission["Principal"] for permission in permissions}
    assert callers == {"apigateway.amazonaws.com"} | ({"*"} if stacks.stage.localstack else set())


@of_each_stage
def test_the_stage_throttles(stacks: Stacks) -> None:
    [setting] = stacks.gateway.one(STAGE)["MethodSettings"]
    assert (setting["HttpMethod"], setting["ResourcePath"]) == ("*", OVERALL)
    assert setting["ThrottlingRateLimit"] == stacks.stage.throttle.rate
    assert setting["ThrottlingBurstLimit"] == stacks.stage.throttle.burst


@of_each_stage
def test_the_access_log_is_json_without_query_or_headers(stacks: Stacks) -> None:
    logged = json.loads(stacks.gateway.one(STAGE)["AccessLogSetting"]["Format"])
    assert logged["path"] == "$context.path"
    allowed = ("$context.", "$context.identity.sourceIp")
    assert all(value.startswith(allowed) for value in logged.values())
    assert not [value for value in logged.values() if "query" in value.lower() or "header" in value.lower()]


@of_each_stage
def test_the_api_keeps_no_log_of_what_was_asked(stacks: Stacks) -> None:
    [setting] = stacks.gateway.one(STAGE)["MethodSettings"]
    assert (setting["LoggingLevel"], setting["DataTraceEnabled"]) == ("OFF", False)


@of_each_stage
def test_a_page_can_read_what_the_api_answers_itself(stacks: Stacks) -> None:
    answers = stacks.gateway.of_type("AWS::ApiGateway::GatewayResponse").values()
    assert {answer["ResponseType"] for answer in answers} == {"DEFAULT_4XX", "DEFAULT_5XX"}
    for answer in answers:
        headers = {name.rpartition(".")[2]: value for name, value in answer["ResponseParameters"].items()}
        assert headers["Access-Control-Allow-Origin"] == "'*'"
        assert "Retry-After" in headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in headers


def test_the_api_is_deployed_with_its_own_answers(dev: Stacks) -> None:
    waits = [plain(name) for name in dev.gateway.whole("AWS::ApiGateway::Deployment")["DependsOn"]]
    assert {"ApiRefused", "ApiFailed"} <= set(waits)


@each("stage", ["dev", "prod"])
def test_the_firewall_keeps_no_samples_of_what_was_asked(stacks_of: Synthesised, stage: str) -> None:
    acl = stacks_of(stage).gateway.one(ACL)
    seen = [part["VisibilityConfig"]["SampledRequestsEnabled"] for part in (acl, *acl["Rules"])]
    assert not any(seen)


@each("stage", ["dev", "prod"])
def test_the_firewall_stands_at_the_api(stacks_of: Synthesised, stage: str) -> None:
    template = stacks_of(stage).gateway
    association = template.one("AWS::WAFv2::WebACLAssociation")
    assert template.read(association["ResourceArn"]).endswith(f"/restapis/<Api>/stages/<ApiDeploymentStage{stage}>")
    assert template.read(association["WebACLArn"]) == "<Firewall.Arn>"


def test_without_cloudfront_the_rate_counts_by_address(dev: Stacks) -> None:
    name, rule = next(iter(rules(dev).items()))
    assert (name, rule["Action"]) == ("rate", {"Block": {}})
    assert rule["Statement"]["RateBasedStatement"] == {
        "AggregateKeyType": "IP",
        "Limit": 3000,
    }


@each("stage", ["solo", "local"])
def test_a_stage_can_do_without_firewall_and_cloudfront(stacks_of: Synthesised, stage: str) -> None:
    template = stacks_of(stage).gateway
    kinds = {resource["Type"].split("::")[1] for resource in template.resources.values()}
    assert not {"WAFv2", "CloudFront"} & kinds
    [setting] = template.one(STAGE)["MethodSettings"]
    assert setting["ThrottlingRateLimit"] > 0


@each("stage", ["dev", "prod"])
def test_the_rate_counts_by_key_too_wherever_it_comes_from(stacks_of: Synthesised, stage: str) -> None:
    stacks = stacks_of(stage)
    for header in ("authorization", "x-api-key"):
        rule = rules(stacks)[f"rate-{header}"]
        rate = rule["Statement"]["RateBasedStatement"]
        [key] = rate["CustomKeys"]
        assert (rule["Action"], rate["AggregateKeyType"]) == ({"Block": {}}, "CUSTOM_KEYS")
        assert stacks.stage.firewall
        assert rate["Limit"] == stacks.stage.firewall.requests_per_key
        assert key == {"Header": {"Name": header, "TextTransformations": [{"Priority": 0, "Type": "NONE"}]}}


def test_behind_cloudfront_the_rate_counts_by_the_viewers_address(prod: Stacks) -> None:
    rate = rules(prod)["rate"]["Statement"]["RateBasedStatement"]
    assert rate["AggregateKeyType"] == "FORWARDED_IP"
    assert rate["ForwardedIPConfig"] == {"HeaderName": "x-viewer-ip", "FallbackBehavior": "MATCH"}


def test_whoever_comes_around_cloudfront_is_blocked_first(prod: Stacks) -> None:
    name, rule = next(iter(rules(prod).items()))
    match = rule["Statement"]["NotStatement"]["Statement"]["ByteMatchStatement"]
    assert (name, rule["Action"]) == ("edge-only", {"Block": {}})
    assert match["FieldToMatch"] == {"SingleHeader": {"Name": "x-loci-origin"}}
    assert (match["PositionalConstraint"], prod.gateway.read(match["SearchString"])) == ("EXACTLY", SECRET)


def test_cloudfront_shows_the_secret_that_the_firewall_asks_for(prod: Stacks) -> None:
    [origin] = edge(prod)["Origins"]
    [header] = origin["OriginCustomHeaders"]
    assert (header["HeaderName"], prod.gateway.read(header["HeaderValue"])) == ("x-loci-origin", SECRET)


def test_cloudfront_puts_the_apis_stage_at_the_root(prod: Stacks) -> None:
    [origin] = edge(prod)["Origins"]
    assert f"https://{prod.gateway.read(origin['DomainName'])}{origin['OriginPath']}" == f"{API}/prod"


def test_cloudfront_speaks_tls_on_both_sides(prod: Stacks) -> None:
    [origin] = edge(prod)["Origins"]
    assert edge(prod)["DefaultCacheBehavior"]["ViewerProtocolPolicy"] == "https-only"
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    assert origin["CustomOriginConfig"]["OriginSSLProtocols"] == ["TLSv1.2"]


def test_cloudfront_passes_on_every_method_and_header_and_keeps_nothing(prod: Stacks) -> None:
    behaviour = edge(prod)["DefaultCacheBehavior"]
    assert {"GET", "POST", "DELETE", "OPTIONS"} <= set(behaviour["AllowedMethods"])
    assert behaviour["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"  # CachingDisabled
    assert behaviour["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"  # AllViewerExceptHostHeader


def test_cloudfront_outwaits_the_api(prod: Stacks) -> None:
    [origin] = edge(prod)["Origins"]
    assert origin["CustomOriginConfig"]["OriginReadTimeout"] > prod.stage.gateway.timeout_s


@of_each_stage
def test_cloudfront_is_where_the_stage_wants_it(stacks: Stacks) -> None:
    assert len(stacks.gateway.of_type(DISTRIBUTION)) == stacks.stage.edge


@each(
    ("stage", "address"),
    [
        ("dev", f"{API}/dev"),
        ("prod", "https://<Edge.DomainName>"),
        ("own domain", "https://loci.example.com"),
        ("local", f"{API}/local"),
    ],
)
def test_the_gateway_and_the_outputs_name_the_address_that_clients_see(
    stacks_of: Synthesised, stage: str, address: str
) -> None:
    template = stacks_of(stage).gateway
    variables = template.one("AWS::Lambda::Function")["Environment"]["Variables"]
    assert template.read(variables["LOCI_PUBLIC_URL"]) == address
    assert template.output("Endpoint") == f"{address}/mcp"
    assert f" {address}/mcp " in template.output("Connect")


@each(("stage", "header"), [("lets clients in", ADDRESS_HEADER), ("prod", ADDRESS_HEADER), ("dev", None)])
def test_registrations_count_by_the_viewers_address(stacks_of: Synthesised, stage: str, header: str | None) -> None:
    variables = stacks_of(stage).gateway.one("AWS::Lambda::Function")["Environment"]["Variables"]
    assert variables.get("LOCI_ADDRESS_HEADER") == header


def test_a_domain_of_ones_own_comes_with_its_certificate_and_a_new_tls(stacks_of: Synthesised) -> None:
    own = edge(stacks_of("own domain"))
    assert own["Aliases"] == ["loci.example.com"]
    assert own["ViewerCertificate"]["AcmCertificateArn"] == CERTIFICATE
    assert own["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"


OUTPUTS = {"Endpoint", "Connect", "CreateKey", "Function", "Table", "Bucket"}


@each(
    ("stage", "more"),
    [
        ("dev", {"Upload", "ExecutorBucket"}),
        ("no search", {"ExecutorBucket"}),
        ("no code", {"Upload"}),
        ("own domain", {"Upload", "ExecutorBucket", "PointDomainTo"}),
        ("local", {"FunctionUrl"}),
    ],
)
def test_the_outputs_are_what_a_client_and_an_operator_need(stacks_of: Synthesised, stage: str, more: set[str]) -> None:
    stacks = stacks_of(stage)
    outputs = {one for one in stacks.gateway.document["Outputs"] if not one.startswith("Exports")}
    assert outputs == {*OUTPUTS, *more}
    assert stacks.gateway.output("CreateKey") == f"loci keys create --stack {stacks.stage.prefix}-gateway"
    assert [stacks.gateway.output(name) for name in ("Table", "Bucket")] == ["<Table>", "<Bucket>"]


def test_uploads_go_below_the_owner_that_a_key_without_names_has(dev: Stacks) -> None:
    assert dev.gateway.output("Upload") == f"s3://<Bucket>/{upload_prefix(LOCAL)}"


@of_each_stage
def test_the_function_has_an_address_of_its_own_on_localstack_only(stacks: Stacks) -> None:
    assert len(stacks.gateway.of_type(URL)) == stacks.stage.localstack


def test_the_accounts_role_for_logs_is_there_before_the_stage_and_stays(dev: Stacks) -> None:
    account = dev.gateway.whole("AWS::ApiGateway::Account")
    assert any(name.startswith("ApiAccount") for name in dev.gateway.whole(STAGE)["DependsOn"])
    assert account["DeletionPolicy"] == "Retain"
