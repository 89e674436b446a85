"""What each role may do: this and no more."""

from typing import Any

from tests.infra.synthesis import Stacks
from tests.infra.template import Template, listed

OWN = {
    "xray:PutTelemetryRecords xray:PutTraceSegments": ("*",),  # X-Ray has no resources
}
ROTATE = {
    **OWN,
    "logs:CreateLogStream logs:PutLogEvents": ("<RotateLog.Arn>",),
    "secretsmanager:DescribeSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue "
    "secretsmanager:UpdateSecretVersionStage": ("<Secret>",),
}
GATEWAY = {
    **OWN,
    "logs:CreateLogStream logs:PutLogEvents": ("<GatewayLog.Arn>",),
    "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query": ("<Table.Arn>",),
    "s3:DeleteObject s3:GetObject s3:PutObject": ("<Bucket.Arn>/*",),
    "s3:ListBucket": ("<Bucket.Arn>",),
    "secretsmanager:GetSecretValue": ("<Secret>",),
}
# API Gateway asks for it by name, once in an account and region.
MANAGED = ("arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",)


def allowed(template: Template) -> dict[str, dict[str, tuple[str, ...]]]:
    """Role -> actions -> resources."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for policy in template.of_type("AWS::IAM::Policy").values():
        statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
        for role in policy["Roles"]:
            of_role = found.setdefault(template.read(role), {})
            for statement in statements:
                assert statement["Effect"] == "Allow"
                actions = " ".join(sorted(listed(statement["Action"])))
                of_role[actions] = tuple(template.read(resource) for resource in listed(statement["Resource"]))
    return found


def test_the_rotation_may_touch_its_secret_and_its_log(stacks: Stacks) -> None:
    assert allowed(stacks.data) == {"<RotateRole>": ROTATE}


def test_the_gateway_may_use_the_table_the_bucket_the_secret_and_its_log(stacks: Stacks) -> None:
    assert allowed(stacks.gateway) == {"<GatewayRole>": GATEWAY}


def test_nobody_may_use_the_search_index_yet(stacks: Stacks) -> None:
    actions = {
        action
        for template in stacks.templates.values()
        for _, statement in template.statements()
        for action in listed(statement["Action"])
    }
    assert not {action for action in actions if action.startswith(("es:", "aoss:"))}


def test_no_statement_allows_every_action_of_a_service(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for resource, statement in template.statements():
            if statement["Effect"] == "Allow":
                assert not [action for action in listed(statement["Action"]) if "*" in action], resource


def test_no_statement_but_that_for_traces_allows_every_resource(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for _, statement in template.statements():
            if statement["Effect"] == "Allow" and "*" in listed(statement.get("Resource", ())):
                assert set(statement["Action"]) == {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}


def test_each_role_is_one_services_own(stacks: Stacks) -> None:
    trusted = {
        name: role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        for template in stacks.templates.values()
        for name, role in template.of_type("AWS::IAM::Role").items()
    }
    functions = {name: {"Service": "lambda.amazonaws.com"} for name in ("GatewayRole", "RotateRole")}
    logs = {"ApiCloudWatchRole": {"Service": "apigateway.amazonaws.com"}} if stacks.stage.account_log_role else {}
    assert trusted == {**functions, **logs}


def test_only_api_gateways_role_for_logs_has_a_policy_of_aws(stacks: Stacks) -> None:
    for template in stacks.templates.values():
        for name, role in template.of_type("AWS::IAM::Role").items():
            managed = tuple(template.read(policy) for policy in role.get("ManagedPolicyArns", ()))
            assert managed == (MANAGED if name == "ApiCloudWatchRole" else ())
